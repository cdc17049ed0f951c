//! A resource's value where nothing is planned for it: made up of the objects that state holds, whatever is configured.
//!
//! Used in a refresh-only run, for what providers need in a destroy run without refresh, and by a console. Source: Terraform
//! `evaluationStateData.GetResource` in `internal/terraform/evaluate.go`.

use std::{collections::BTreeMap, sync::Arc};

use ashlar_addr::{AbsResource, InstanceKey};
use ashlar_config::ResourceConfig;
use ashlar_diag::Diags;
use ashlar_state::State;
use ashlar_value::{Type, Value, ops};

use crate::{
    engine::{Schemas, resource_schema},
    model::Mode,
    objchange::mark_sensitive,
};

/// What references to `resource` see.
pub fn stored_value(
    schemas: &Schemas,
    mode: Mode,
    state: &State,
    resource: &AbsResource,
    config: &ResourceConfig,
) -> Result<Value, Diags> {
    let schema = resource_schema(schemas, &config.provider_config.provider, &resource.resource)?;
    let ty = schema.block.ty();
    let mut instances = BTreeMap::new();
    if let Some(stored) = state.resources.get(resource) {
        for (key, instance) in &stored.instances {
            let value = match &instance.current {
                Some(object) => mark_sensitive(&schema.block, ashlar_state::decode_object(object, schema)?),
                None => Value::unknown(ty.clone()),
            };
            instances.insert(key.clone(), value);
        }
    }
    if instances.is_empty() && mode == Mode::Destroy {
        // It cannot be told how many there were.
        return Ok(Value::dynamic());
    }
    Ok(gather(config, instances, &ty))
}

/// The largest index that is taken for one.
const MOST_INSTANCES: i64 = 1_000_000;

/// A tuple, an object or the one instance, as the resource is configured. Nothing is told of a single object that is not
/// there, not even its type: a fault that only its absence makes would be none of the configuration's.
fn gather(config: &ResourceConfig, mut instances: BTreeMap<InstanceKey, Value>, ty: &Type) -> Value {
    if config.count.is_some() {
        let last = instances.keys().filter_map(index).max();
        if last.is_some_and(|last| last > MOST_INSTANCES) {
            // No count made this; whoever wrote such a key must not have a list of that length made.
            return Value::dynamic();
        }
        let at = |index| instances.remove(&InstanceKey::Int(index));
        let values = (0..=last.unwrap_or(-1)).map(at);
        return Value::tuple(
            values
                .map(|value| value.unwrap_or_else(|| Value::unknown(ty.clone())))
                .collect(),
        );
    }
    if config.for_each.is_some() {
        let named = instances.into_iter().filter_map(|(key, value)| match key {
            InstanceKey::String(name) => Some((name, value)),
            _ => None,
        });
        return Value::object(named.collect::<Vec<(Arc<str>, Value)>>());
    }
    let single = instances.remove(&InstanceKey::None);
    single.unwrap_or_else(Value::dynamic)
}

fn index(key: &InstanceKey) -> Option<i64> {
    match key {
        InstanceKey::Int(index) => Some(*index),
        _ => None,
    }
}

/// The value with nulls where it is not known.
pub fn known_part(value: Value) -> Value {
    let ty = value.ty();
    value
        .transform(&mut |_, part: Value| {
            Ok::<_, ops::OpError>(if part.is_known() {
                part
            } else {
                Value::null(part.ty())
            })
        })
        .unwrap_or_else(|_| Value::null(ty))
}
