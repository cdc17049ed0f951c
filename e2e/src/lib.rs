//! What the cluster scenarios share: a namespace per test, operators as processes, kubectl, and waiting with an end.
//!
//! `cargo xtask e2e` starts the control plane and sets the environment that [`Bench::open`] reads. Scenarios stand in
//! `tests/`, look at the cluster as users do, by `kubectl`, and depend on nothing of the product but its binary.

mod bench;
mod namespace;
mod operator;

pub use bench::Bench;
pub use namespace::{Namespace, condition, reason};
pub use operator::Operator;
