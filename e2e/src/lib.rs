//! Cluster scenarios against a real API server.
