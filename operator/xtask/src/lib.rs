//! What the development tool and the cluster tests share: the pinned tools, and a Kubernetes control plane made of them.
//!
//! `ashlar-e2e` depends on this library to have a control plane of its own; the commands of `cargo xtask` stand in
//! `main.rs`. Nothing here is part of the product, and nothing of the product may depend on it.
#![expect(
    clippy::print_stderr,
    reason = "a command line tool tells its progress on standard error"
)]

pub mod cluster;
pub mod layout;
pub mod process;
pub mod release;
pub mod tools;
