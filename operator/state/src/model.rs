//! The state model.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use ashlar_addr::{
    AbsResource, ConfigResource, DeposedKey, InstanceKey, ModuleInstance, ProviderConfig, ResourceInstance,
};
use ashlar_value::{Marks, Path, Value};

/// All that is known of a workspace's objects.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct State {
    /// Identifies the history this state belongs to; empty until it is first written.
    pub lineage: String,
    /// Rises with each change that is written.
    pub serial: u64,
    /// By address, in Terraform's order.
    pub resources: BTreeMap<AbsResource, ResourceState>,
    /// Root outputs.
    pub outputs: BTreeMap<Arc<str>, OutputState>,
    /// Results of checks, as they stand in the file.
    pub check_results: Option<serde_json::Value>,
}

/// One resource.
#[derive(Clone, Debug, PartialEq)]
pub struct ResourceState {
    /// The provider configuration it was last managed with. Which of several, each instance tells.
    pub provider: ProviderConfig,
    /// By instance key.
    pub instances: BTreeMap<InstanceKey, InstanceState>,
}

/// One instance: its current object and those replaced but not yet destroyed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct InstanceState {
    /// The current object.
    pub current: Option<Arc<Object>>,
    /// Objects waiting to be destroyed.
    pub deposed: BTreeMap<DeposedKey, Arc<Object>>,
    /// Which of a repeated provider configuration it was last managed with. (OpenTofu)
    pub provider_key: InstanceKey,
}

impl ResourceState {
    /// The provider configuration that an instance was last managed with.
    pub fn provider_of(&self, key: &InstanceKey) -> ProviderConfig {
        let instance = self.instances.get(key);
        let which = instance.map_or(InstanceKey::None, |instance| instance.provider_key.clone());
        self.provider.with_key(which)
    }
}

/// One remote object as last known. Its attributes may be secrets: `Debug` does not show them.
#[derive(Clone, PartialEq)]
pub struct Object {
    /// Version of the schema the attributes follow.
    pub schema_version: i64,
    /// The attributes as JSON by that schema (compact or not).
    pub attributes: Arc<[u8]>,
    /// Where the attributes are sensitive.
    pub sensitive: Vec<Path>,
    /// What the provider stored with it.
    pub private: Arc<[u8]>,
    /// Ready or tainted.
    pub status: Status,
    /// What it depended on when it was last applied, transitively; sorted.
    pub dependencies: Arc<[ConfigResource]>,
    /// Must its replacement come before its destruction?
    pub create_before_destroy: bool,
    /// Is it only forgotten where it would be destroyed? (OpenTofu)
    pub skip_destroy: bool,
    /// Its identity.
    pub identity: Option<Identity>,
}

/// The identity of an object.
#[derive(Clone, PartialEq)]
pub struct Identity {
    /// Version of the identity schema.
    pub version: i64,
    /// The identity as JSON by that schema; empty where the type has an identity but this object has none.
    pub json: Arc<[u8]>,
}

/// Whether an object is as its configuration wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Complete.
    Ready,
    /// Creation did not complete; to be replaced.
    Tainted,
}

/// A root output.
#[derive(Clone, Debug, PartialEq)]
pub struct OutputState {
    /// The value, unmarked; of type dynamic constraint, so its own type counts.
    pub value: Value,
    /// Was it declared sensitive?
    pub sensitive: bool,
}

impl std::fmt::Debug for Object {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Object")
            .field("schema_version", &self.schema_version)
            .field("status", &self.status)
            .field("dependencies", &self.dependencies)
            .field("create_before_destroy", &self.create_before_destroy)
            .finish_non_exhaustive()
    }
}

impl std::fmt::Debug for Identity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Identity")
            .field("version", &self.version)
            .finish_non_exhaustive()
    }
}

impl State {
    /// The root outputs' values, those that are sensitive marked so.
    pub fn marked_outputs(&self) -> BTreeMap<Arc<str>, Value> {
        let outputs = self.outputs.iter();
        let marked = outputs.map(|(name, output)| {
            let value = output.value.clone();
            let value = if output.sensitive {
                value.with_marks(Marks::SENSITIVE)
            } else {
                value
            };
            (name.clone(), value)
        });
        marked.collect()
    }

    /// One instance, if it has any object.
    pub fn instance(&self, address: &ResourceInstance) -> Option<&InstanceState> {
        self.resources.get(&address.resource)?.instances.get(&address.key)
    }

    /// The current object of an instance.
    pub fn current(&self, address: &ResourceInstance) -> Option<&Arc<Object>> {
        self.instance(address)?.current.as_ref()
    }

    /// An object of an instance: the current one, or a deposed one.
    pub fn object(&self, address: &ResourceInstance, deposed: Option<DeposedKey>) -> Option<&Arc<Object>> {
        let instance = self.instance(address)?;
        match deposed {
            None => instance.current.as_ref(),
            Some(key) => instance.deposed.get(&key),
        }
    }

    /// Sets, replaces or (with `None`) removes an object: the current one, or a deposed one. Instances without objects and
    /// resources without instances go.
    pub fn set(
        &mut self,
        address: &ResourceInstance,
        deposed: Option<DeposedKey>,
        provider: &ProviderConfig,
        object: Option<Arc<Object>>,
    ) {
        if object.is_none() && self.instance(address).is_none() {
            return;
        }
        let resource = self
            .resources
            .entry(address.resource.clone())
            .or_insert_with(|| ResourceState {
                provider: provider.whole(),
                instances: BTreeMap::new(),
            });
        let instance = resource.instances.entry(address.key.clone()).or_default();
        if object.is_some() {
            resource.provider = provider.whole();
            instance.provider_key = provider.key.clone();
        }
        match (deposed, object) {
            (None, object) => instance.current = object,
            (Some(key), Some(object)) => {
                instance.deposed.insert(key, object);
            }
            (Some(key), None) => {
                instance.deposed.remove(&key);
            }
        }
        if instance.current.is_none() && instance.deposed.is_empty() {
            resource.instances.remove(&address.key);
        }
        if resource.instances.is_empty() {
            self.resources.remove(&address.resource);
        }
    }

    /// Turns the current object of an instance into a deposed one, or (`to` is `None`) the other way round. Nothing
    /// happens where there is no such object, or where its new place is taken.
    pub fn relocate(&mut self, address: &ResourceInstance, from: Option<DeposedKey>, to: Option<DeposedKey>) {
        if self.object(address, to).is_some() {
            return;
        }
        let instance = self
            .resources
            .get_mut(&address.resource)
            .and_then(|resource| resource.instances.get_mut(&address.key));
        let Some(instance) = instance else { return };
        let object = match from {
            None => instance.current.take(),
            Some(key) => instance.deposed.remove(&key),
        };
        match (to, object) {
            (None, object @ Some(_)) => instance.current = object,
            (Some(key), Some(object)) => {
                instance.deposed.insert(key, object);
            }
            (_, None) => {}
        }
    }

    /// The module instances that hold something, in their order.
    pub fn modules(&self) -> BTreeSet<ModuleInstance> {
        self.resources
            .keys()
            .map(|resource| resource.module.clone())
            .collect()
    }

    /// Moves a whole resource. What is at its new address is lost.
    pub fn move_resource(&mut self, from: &AbsResource, to: AbsResource) {
        if let Some(resource) = self.resources.remove(from) {
            self.resources.insert(to, resource);
        }
    }

    /// Moves an instance with all its objects. What is at its new address is lost.
    pub fn move_instance(&mut self, from: &ResourceInstance, to: &ResourceInstance) {
        let Some(resource) = self.resources.get_mut(&from.resource) else {
            return;
        };
        let Some(instance) = resource.instances.remove(&from.key) else {
            return;
        };
        let provider = resource.provider.clone();
        if resource.instances.is_empty() {
            self.resources.remove(&from.resource);
        }
        let target = self
            .resources
            .entry(to.resource.clone())
            .or_insert_with(|| ResourceState {
                provider,
                instances: BTreeMap::new(),
            });
        target.instances.insert(to.key.clone(), instance);
    }

    /// Every object with its address, current ones before deposed ones.
    pub fn objects(&self) -> impl Iterator<Item = (ResourceInstance, Option<DeposedKey>, &Arc<Object>)> {
        self.resources.iter().flat_map(|(resource, state)| {
            state.instances.iter().flat_map(move |(key, instance)| {
                let current = instance.current.iter().map(|object| (None, object));
                let deposed = instance.deposed.iter().map(|(key, object)| (Some(*key), object));
                current
                    .chain(deposed)
                    .map(move |(deposed, object)| (resource.instance(key.clone()), deposed, object))
            })
        })
    }

    /// Neither objects nor outputs?
    pub fn is_empty(&self) -> bool {
        self.resources.is_empty() && self.outputs.is_empty()
    }
}
