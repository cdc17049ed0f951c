//! What is final of resources while applying, instance by instance.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Mutex,
};

use ashlar_addr::{AbsResource, InstanceKey, ResourceInstance};
use ashlar_value::Value;

use super::expansion::{Expansion, combine};
use crate::engine::lock;

/// Values of instances as they become final while applying, for what refers to them by their keys and so waits for no other
/// instance of their resource.
#[derive(Default)]
pub struct FinalValues(Mutex<HashMap<AbsResource, FinalInstances>>);

#[derive(Default)]
struct FinalInstances {
    values: BTreeMap<InstanceKey, Value>,
    /// What references see. Made when it is asked for.
    seen: Option<Value>,
}

impl FinalValues {
    /// Keeps the value of an instance.
    pub fn set(&self, address: &ResourceInstance, value: Value) {
        let mut all = lock(&self.0);
        let instances = all.entry(address.resource.clone()).or_default();
        instances.values.insert(address.key.clone(), value);
        instances.seen = None;
    }

    /// The values of a resource's instances, as far as they are final.
    pub fn of(&self, resource: &AbsResource) -> BTreeMap<InstanceKey, Value> {
        let all = lock(&self.0);
        all.get(resource)
            .map_or_else(BTreeMap::new, |instances| instances.values.clone())
    }

    /// Forgets a resource.
    pub fn remove(&self, resource: &AbsResource) {
        lock(&self.0).remove(resource);
    }

    /// What references by key see of a resource: what is not final is not known, and what comes after all that is, not there.
    pub(super) fn seen(&self, resource: &AbsResource) -> Option<Value> {
        let mut all = lock(&self.0);
        let instances = all.get_mut(resource)?;
        if instances.seen.is_none() {
            let (last, _) = instances.values.last_key_value()?;
            let values = &instances.values;
            instances.seen = Some(match last {
                InstanceKey::None => values.get(last)?.clone(),
                InstanceKey::Int(last) => combine(&Expansion::Count(last.saturating_add(1)), values.clone()),
                InstanceKey::String(_) => {
                    let of = |(key, value): (&InstanceKey, &Value)| match key {
                        InstanceKey::String(key) => Some((key.clone(), value.clone())),
                        _ => None,
                    };
                    Value::object(values.iter().filter_map(of).collect::<Vec<_>>())
                }
            });
        }
        instances.seen.clone()
    }
}
