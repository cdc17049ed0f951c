//! The builtin functions as family tables.
