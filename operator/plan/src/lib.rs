//! Configuration, state and provider answers to an immutable plan.
