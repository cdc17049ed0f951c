//! A resource's value where nothing is planned for it, or for some of its instances: made up of the objects that state holds,
//! whatever is configured.
//!
//! Used in a refresh-only run, in one that is limited, for what providers need in a destroy run without refresh, and by a console. Source: Terraform
//! `evaluationStateData.GetResource` in `internal/terraform/evaluate.go`.

use std::{collections::BTreeMap, sync::Arc};

use ashlar_addr::{AbsResource, InstanceKey};
use ashlar_config::ResourceConfig;
use ashlar_diag::Diags;
use ashlar_state::State;
use ashlar_value::{Type, Value, ops, schema::Schema};

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
    let instances = stored(state, resource, schema, |_| true)?;
    if instances.is_empty() && mode == Mode::Destroy {
        // It cannot be told how many there were.
        return Ok(Value::dynamic());
    }
    Ok(gather(config, instances, &schema.block.ty()))
}

/// What references to `resource` see where a run leaves some of its instances out: beside those that it has `known` values of,
/// those that state holds and of which nothing `is_gone`.
pub fn value_beside(
    schemas: &Schemas,
    state: &State,
    resource: &AbsResource,
    config: &ResourceConfig,
    known: BTreeMap<InstanceKey, Value>,
    is_gone: impl Fn(&InstanceKey) -> bool,
) -> Result<Value, Diags> {
    let schema = resource_schema(schemas, &config.provider_config.provider, &resource.resource)?;
    let mut instances = stored(state, resource, schema, |key| {
        !known.contains_key(key) && !is_gone(key)
    })?;
    instances.extend(known);
    Ok(gather(config, instances, &schema.block.ty()))
}

/// The values of the instances that state holds and that are wanted.
fn stored(
    state: &State,
    resource: &AbsResource,
    schema: &Schema,
    is_wanted: impl Fn(&InstanceKey) -> bool,
) -> Result<BTreeMap<InstanceKey, Value>, Diags> {
    let found = state.resources.get(resource);
    let instances = found.into_iter().flat_map(|found| &found.instances);
    instances
        .filter(|(key, _)| is_wanted(key))
        .map(|(key, instance)| {
            let value = match &instance.current {
                Some(object) => mark_sensitive(&schema.block, ashlar_state::decode_object(object, schema)?),
                None => Value::unknown(schema.block.ty()),
            };
            Ok((key.clone(), value))
        })
        .collect()
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
    // What is switched off is null; what is not there for another reason is not known.
    let absent = || match config.lifecycle.enabled {
        Some(_) => Value::null(ty.clone()),
        None => Value::dynamic(),
    };
    single.unwrap_or_else(absent)
}

fn index(key: &InstanceKey) -> Option<i64> {
    match key {
        InstanceKey::Int(index) => Some(*index),
        _ => None,
    }
}

/// The value with nulls where it is not known.
pub fn known_part(value: Value) -> Value {
    if value.is_wholly_known() {
        return value;
    }
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
