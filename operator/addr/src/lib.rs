//! Every address of the language: parse, print, order.
//!
//! Addresses are immutable, ordered as Terraform orders them, and `Display` and `FromStr` are exact inverses. An address
//! as a `String` exists only inside wire structs. Nothing here knows of configuration or state.
//! Source: Terraform `internal/addrs`.

mod action;
mod module;
mod parse;
mod provider;
mod resource;
mod target;
mod version;

pub use action::{ActionInstance, ConfigAction};
pub use module::{InstanceKey, Module, ModuleInstance};
pub use parse::ParseError;
pub use provider::{LocalProvider, Provider, ProviderConfig};
pub use resource::{AbsResource, ConfigResource, DeposedKey, Mode, Resource, ResourceInstance};
pub use target::Target;
pub use version::{Constraints, Version, VersionError};
