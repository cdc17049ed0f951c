//! What planning does with one instance: read what is stored, refresh it, plan it, judge the answer.
//!
//! `change` is shared with apply, which plans each instance once more. Source: Terraform
//! `internal/terraform/node_resource_abstract_instance.go` and its kin.

pub mod change;
pub mod conditions;
pub mod data;
pub mod managed;
mod open;
pub mod refresh;
pub mod removal;
pub mod stored;

use ashlar_addr::{ConfigResource, ProviderConfig, ResourceInstance};
use ashlar_config::ResourceConfig;
use ashlar_value::{Value, schema::Schema};
use std::sync::Arc;

use crate::{
    engine::Engine,
    values::{ModuleValues, Repetition},
};

/// One instance of a resource in the configuration.
pub struct Instance<'w, 'a> {
    /// The walk it belongs to.
    pub engine: &'w Engine<'a>,
    /// Its address.
    pub address: ResourceInstance,
    /// What expressions of its module refer to.
    pub module: Arc<ModuleValues<'a>>,
    /// Its resource's configuration.
    pub config: &'w ResourceConfig,
    /// Its provider's configuration.
    pub provider: ProviderConfig,
    /// Its schema.
    pub schema: &'w Schema,
    /// What `each` and `count` mean.
    pub repetition: Repetition,
    /// What it depends on by its configuration, transitively; sorted.
    pub dependencies: Arc<[ConfigResource]>,
    /// Does its replacement come before its destruction, by its own wish or a dependent's?
    pub create_before_destroy: bool,
}

/// An object as the engine holds it. `Debug` is not derived through values' marks: [`Value`] hides what is sensitive.
#[derive(Clone, Debug)]
pub struct Live {
    /// The attributes, marked.
    pub value: Value,
    /// What the provider stored with it.
    pub private: Arc<[u8]>,
    /// Ready or tainted.
    pub status: ashlar_state::Status,
    /// What it depended on.
    pub dependencies: Arc<[ConfigResource]>,
    /// As recorded.
    pub create_before_destroy: bool,
    /// As recorded: is it only forgotten where it would be destroyed? (OpenTofu)
    pub skip_destroy: bool,
    /// Its identity.
    pub identity: Option<Value>,
}

impl Live {
    /// Nothing where it is gone.
    pub fn present(self) -> Option<Self> {
        (!self.value.is_null()).then_some(self)
    }
}
