//! Finds, launches and speaks to provider plugins (gRPC 5 and 6).
