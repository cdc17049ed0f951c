//! What the operator does, seen as its users see it: one program, so that scenarios run side by side.
//!
//! Each has a namespace of its own with the chart in it, and its operator has the rights of the chart's ServiceAccount.

mod approval;
mod bad_input;
mod crash;
mod failure;
mod interchange;
mod isolation;
mod kiln;
mod lifecycle;
mod limited;
mod replicas;
mod rights;
mod sidecars;
mod sources;
mod states;
mod views;
mod warm;
