//! Syntax trees to the typed module, checked early.
//!
//! Stands between `syntax`/`eval` and the engine. It evaluates only constants; what the engine cannot run yet is refused
//! here at its line, never ignored. It never reads files and never asks a provider.

mod model;

pub use model::{
    DependsOn, IgnoreChanges, Lifecycle, Local, Module, Output, ProviderBlock, RequiredProvider,
    ResourceConfig,
};
