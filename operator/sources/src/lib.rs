//! Fetches module packages and workspace sources: git, OCI, Flux artifacts, registries, archives. Nothing else fetches.
//!
//! What is fetched is hostile until it lies in the cache: every limit holds for what really comes, only plain files and
//! folders are made, and a guarded [`Reach`] holds for addresses after names are resolved. Credentials go to the place that
//! they are for and nowhere else, and into no error, log or pin. Nothing here reads a configuration's language.

#![allow(dead_code, reason = "packages of modules are next")]

mod address;
mod archive;
mod cache;
mod credentials;
mod fault;
mod fetcher;
mod git;
mod http;
mod limits;
mod pin;
mod range;
mod reach;
mod tree;

pub use address::redacted;
pub use cache::Content;
pub use credentials::{Credentials, Keyring};
pub use fault::{Fault, FaultKind};
pub use fetcher::Fetcher;
pub use git::{GitPlace, Reference};
pub use limits::Limits;
pub use pin::Pin;
pub use reach::Reach;
