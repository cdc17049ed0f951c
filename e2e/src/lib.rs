//! What the cluster scenarios share: a namespace per test with the chart in it, operators as processes that have the
//! rights of the chart's ServiceAccount and no others, kubectl, and waiting with an end.
//!
//! `cargo xtask e2e` starts the control plane and sets the environment that [`Bench::open`] reads. Scenarios stand in
//! `tests/`, look at the cluster as users do, by `kubectl`, and depend on nothing of the product but its binary and its chart.

mod bench;
mod flux;
mod hosts;
mod namespace;
mod operator;
mod sidecar;
mod world;

pub use bench::Bench;
pub use flux::{Flux, KINDS as FLUX_KINDS};
pub use hosts::Hosts;
pub use namespace::{Namespace, condition, reason};
pub use operator::Operator;
pub use sidecar::Sidecar;
pub use world::World;
