//! The custom resource types, and nothing else.
