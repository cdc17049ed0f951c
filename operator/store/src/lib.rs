//! Keeps state, journal and plans in Secrets or files, and locks in Leases or on files.
//!
//! Two stores behind one port: [`file`] for local mode, [`kube`] for the operator. Both give, at the start of a run, the
//! state as it was saved with what the journal of a broken run adds, and take journal and state while it goes on. What
//! state and plan *mean* is not known here, and nothing kept here is ever shown: errors tell names and reasons only.

pub mod file;
pub mod kube;
mod lock_info;
mod recovery;

pub use lock_info::LockInfo;
pub use recovery::{Pulled, Recovered, StateOwner};
