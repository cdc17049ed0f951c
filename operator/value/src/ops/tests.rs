//! One table per operator.
