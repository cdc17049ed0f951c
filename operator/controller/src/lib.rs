//! observe, decide, act, publish.
