//! State model and the v4 file format.
