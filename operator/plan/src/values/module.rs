//! The values of one module instance, each filled in once.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{
        Arc, Mutex, OnceLock,
        atomic::{AtomicUsize, Ordering},
    },
};

use ashlar_addr::{InstanceKey, ModuleInstance, Resource};
use ashlar_config::Member;
use ashlar_value::Value;

use super::{
    Common,
    expansion::{Expansion, Repetition, combine},
    scope::InstanceScope,
};
use crate::engine::lock;

/// The values of one module instance.
pub struct ModuleValues<'a> {
    /// Which instance.
    pub address: ModuleInstance,
    /// The call's instance that it is; nothing for the root module.
    pub repetition: Repetition,
    pub(super) member: &'a Member,
    pub(super) common: Common<'a>,
    pub(super) variables: HashMap<Arc<str>, OnceLock<Value>>,
    pub(super) locals: HashMap<Arc<str>, OnceLock<Value>>,
    resources: HashMap<Resource, OnceLock<Value>>,
    actions: HashMap<ActionKey, OnceLock<BTreeMap<InstanceKey, Value>>>,
    outputs: BTreeMap<Arc<str>, OnceLock<Value>>,
    /// How many outputs are filled in.
    filled: AtomicUsize,
    pub(super) calls: HashMap<Arc<str>, OnceLock<Called<'a>>>,
}

/// Type and name of an action.
type ActionKey = (Arc<str>, Arc<str>);

/// A call that has been expanded.
pub(super) struct Called<'a> {
    pub(super) expansion: Expansion,
    pub(super) instances: BTreeMap<InstanceKey, Arc<ModuleValues<'a>>>,
    /// What references see, with the number of outputs that were there when it was made up.
    pub(super) seen: Mutex<Option<(usize, Value)>>,
}

impl<'a> ModuleValues<'a> {
    pub(super) fn new(
        member: &'a Member,
        address: ModuleInstance,
        repetition: Repetition,
        common: Common<'a>,
    ) -> Self {
        fn cells<'k, K: Clone + 'k, V, C: FromIterator<(K, OnceLock<V>)>>(
            keys: impl Iterator<Item = &'k K>,
        ) -> C {
            keys.map(|key| (key.clone(), OnceLock::new())).collect()
        }
        let module = &member.module;
        Self {
            address,
            repetition,
            member,
            common,
            variables: cells(module.variables.keys()),
            locals: cells(module.locals.keys()),
            resources: cells(module.resources.keys()),
            actions: cells(module.actions.keys()),
            outputs: cells(module.outputs.keys()),
            filled: AtomicUsize::new(0),
            calls: cells(module.calls.keys()),
        }
    }

    /// What the module's files declare.
    pub fn module(&self) -> &'a ashlar_config::Module {
        &self.member.module
    }

    /// Fills in a variable; the first filling counts.
    pub fn set_variable(&self, name: &str, value: Value) {
        if let Some(cell) = self.variables.get(name) {
            let _ = cell.set(value);
        }
    }

    /// Fills in a local value; the first filling counts.
    pub fn set_local(&self, name: &str, value: Value) {
        if let Some(cell) = self.locals.get(name) {
            let _ = cell.set(value);
        }
    }

    /// Fills in a whole resource; the first filling counts.
    pub fn set_resource(&self, resource: &Resource, value: Value) {
        if let Some(cell) = self.resources.get(resource) {
            let _ = cell.set(value);
        }
    }

    /// Fills in the configurations of an action's instances; the first filling counts.
    pub(crate) fn set_action(&self, kind: &Arc<str>, name: &Arc<str>, configs: BTreeMap<InstanceKey, Value>) {
        if let Some(cell) = self.actions.get(&(kind.clone(), name.clone())) {
            let _ = cell.set(configs);
        }
    }

    /// The configurations of an action's instances, if they are filled in. No expression refers to them.
    pub fn action(&self, kind: &Arc<str>, name: &Arc<str>) -> Option<&BTreeMap<InstanceKey, Value>> {
        self.actions.get(&(kind.clone(), name.clone()))?.get()
    }

    /// Fills in what the calling module sees of an output; the first filling counts.
    pub fn set_output(&self, name: &str, value: Value) {
        if let Some(cell) = self.outputs.get(name)
            && cell.set(value).is_ok()
        {
            self.filled.fetch_add(1, Ordering::Release);
        }
    }

    /// A resource's value, if it is filled in.
    pub fn resource(&self, resource: &Resource) -> Option<&Value> {
        self.resources.get(resource)?.get()
    }

    /// What is final of a resource that is not filled in yet. Where nothing is, as in an instance of the module that has none of the
    /// instances that were waited for, what is not final is not there.
    pub(super) fn final_part(&self, resource: &Resource) -> Option<Value> {
        let address = resource.within(self.address.clone());
        self.common.final_ones?.seen(&address).or_else(|| {
            let config = self.module().resources.get(resource)?;
            if config.for_each.is_some() {
                return Some(Value::object(Vec::<(Arc<str>, Value)>::new()));
            }
            config.count.as_ref().map(|_| Value::tuple(Vec::new()))
        })
    }

    /// The scope of expressions outside any instance.
    pub fn scope(&self) -> InstanceScope<'_, 'a> {
        self.instance_scope(Repetition::default(), None)
    }

    /// The scope of one instance's expressions; `this` is what `self` means.
    pub fn instance_scope(&self, repetition: Repetition, this: Option<Value>) -> InstanceScope<'_, 'a> {
        InstanceScope::new(self, repetition, this)
    }

    /// The scope of the conditions of an instance that could not be made, so that `self` means nothing.
    pub(crate) fn scope_of_absent(&self, repetition: Repetition) -> InstanceScope<'_, 'a> {
        self.instance_scope(repetition, None).of_absent()
    }

    /// Has a call of the module been expanded?
    pub fn has_expanded(&self, call: &str) -> bool {
        self.calls.get(call).is_some_and(|cell| cell.get().is_some())
    }

    /// What references to a call see: its outputs, by instance.
    pub(super) fn called(&self, name: &str) -> Option<Value> {
        let called = self.calls.get(name)?.get()?;
        let filled = |module: &Arc<ModuleValues<'a>>| module.filled.load(Ordering::Acquire);
        let count: usize = called.instances.values().map(filled).sum();
        let mut seen = lock(&called.seen);
        if let Some((before, value)) = &*seen
            && *before == count
        {
            return Some(value.clone());
        }
        let of = |module: &Arc<ModuleValues<'a>>| {
            // One that is not filled in yet is none that is asked for.
            let output = |(name, cell): (&Arc<str>, &OnceLock<Value>)| {
                (name.clone(), cell.get().cloned().unwrap_or_else(Value::dynamic))
            };
            Value::object(module.outputs.iter().map(output).collect::<Vec<_>>())
        };
        let instances = called
            .instances
            .iter()
            .map(|(key, module)| (key.clone(), of(module)))
            .collect();
        let value = combine(&called.expansion, instances);
        *seen = Some((count, value.clone()));
        Some(value)
    }
}
