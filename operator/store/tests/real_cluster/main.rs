//! The store against a real API server, named by KUBECONFIG. Each test has a namespace of its own.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test")]

mod faults;
mod journal;
mod lock;
mod plans;
mod state;
mod world;
