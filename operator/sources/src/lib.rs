//! Fetches module packages and workspace sources: git, OCI, Flux artifacts, registries, archives. Nothing else fetches.
//!
//! What is fetched is hostile until it lies in the cache: every limit holds for what really comes, only plain files and
//! folders are made, and a guarded [`Reach`] holds for addresses after names are resolved. Credentials go to the place that
//! they are for and nowhere else, and into no error, log or pin. Nothing here reads a configuration's language.

mod address;
mod archive;
mod artifact;
mod bucket;
mod cache;
mod checksum;
mod client;
mod credentials;
mod discovery;
mod download;
mod fault;
mod fetcher;
mod folder;
mod git;
mod http;
mod limits;
mod module;
mod oci;
mod package;
mod pin;
mod range;
mod reach;
mod registry;
pub mod shelf;
mod subfolder;
mod tree;

pub use address::redacted;
pub use archive::{check_zip, unpack_into};
pub use artifact::OciRepository;
pub use cache::Content;
pub use client::{Client, Endpoint, Reply};
pub use credentials::{Credentials, Keyring};
pub use fault::{Fault, FaultKind};
pub use fetcher::Fetcher;
pub use git::{GitPlace, Reference, rsa_key};
pub use limits::Limits;
pub use module::{ModuleFault, Notice, Summary, package_name};
pub use oci::{OciPlace, OciReference};
pub use pin::Pin;
pub use reach::Reach;
pub use tree::digest as digest_of_files;
