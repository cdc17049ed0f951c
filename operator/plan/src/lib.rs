//! Configuration, state and provider answers to an immutable plan.

pub mod objchange;
