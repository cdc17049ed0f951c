//! Tree and scope to value; reference finder; schema decoding.
