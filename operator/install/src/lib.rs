//! Installs providers' packages: which versions there are, where a package is to be had, what it must be, and where it is kept.
//!
//! The way of a package: an [`Installation`] says which methods serve a provider; the [`Installer`] asks them for versions and for
//! the package of one, checks signatures and checksums, and keeps it in a [`Cache`] by its content. All HTTP goes through
//! `sources`, and so through its guards. Nothing here starts a provider, knows of runs, or decides which version is settled.

mod cache;
mod cli_config;
mod digests;
mod error;
mod hash;
mod hcl1;
mod installer;
mod lay;
mod method;
mod mirror;
mod network;
mod node;
mod oci;
mod offer;
mod platform;
mod registry;
mod remote;
mod room;
mod signature;
mod sums;
mod template;
mod unpack;
mod wanted;

pub use cache::{Cache, InUse};
pub use cli_config::{CliConfig, ConfigError};
pub use digests::Digests;
pub use error::InstallError;
pub use hash::Hashes;
pub use installer::{Installed, Installer, Notice};
pub use lay::{LayError, write_index};
pub use method::{Installation, Location, Method, Pattern, PatternError};
pub use mirror::{MirrorError, Mirrors, Package, providers_in};
pub use platform::{Platform, PlatformError};
pub use signature::SignatureError;
pub use sums::SumsError;
pub use template::Template;
pub use unpack::UnpackError;
