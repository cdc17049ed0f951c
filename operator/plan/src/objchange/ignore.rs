//! `lifecycle.ignore_changes`: the prior object's values in place of the configured ones.
//!
//! Applied to the configuration before the provider sees it, and once more to the plan of a provider on the old SDK,
//! which may alter what it was told to leave alone. Never on create. Values come without marks.
//! Source: Terraform `node_resource_abstract_instance.go` processIgnoreChanges.

use std::{borrow::Cow, collections::BTreeMap, sync::Arc};

use ashlar_value::{Data, Path, PathStep, Type, Value, ops, schema::Block};

use super::part::{element_at, entries_like, items_like, transform};

/// What to leave as it is.
#[derive(Clone, Copy, Debug)]
pub enum Ignore<'a> {
    /// Everything that can be configured.
    All,
    /// What stands at these paths; a last step with a text key names one key of a map.
    Paths(&'a [Path]),
}

/// The configuration to plan with.
pub fn ignore_in_config<'v>(
    schema: &Block,
    prior: &Value,
    config: &'v Value,
    ignore: Ignore<'_>,
) -> Cow<'v, Value> {
    match ignore {
        _ if prior.is_null() => Cow::Borrowed(config),
        Ignore::Paths(paths) => restore(prior, config, paths),
        // What only the provider can set must not look as if it were configured.
        Ignore::All => Cow::Owned(transform(prior, |path, value| {
            match schema.attribute_at(&path.0) {
                Some(attribute) if attribute.computed && !attribute.optional => Value::null(value.ty()),
                _ => value,
            }
        })),
    }
}

/// The plan of a provider on the old SDK with its changes to ignored parts undone.
pub fn ignore_in_planned<'v>(prior: &Value, planned: &'v Value, ignore: Ignore<'_>) -> Cow<'v, Value> {
    match ignore {
        _ if prior.is_null() => Cow::Borrowed(planned),
        Ignore::Paths(paths) => restore(prior, planned, paths),
        Ignore::All => Cow::Owned(prior.clone()),
    }
}

fn restore<'v>(prior: &Value, value: &'v Value, paths: &[Path]) -> Cow<'v, Value> {
    let mut restored = Cow::Borrowed(value);
    if value.is_null() {
        return restored;
    }
    for path in paths {
        let Some((last, before)) = path.0.split_last() else {
            continue;
        };
        // Only keys of maps may be missing on either side, so the map around the key is looked at.
        let (steps, key) = match last {
            PathStep::Index(key) if key.as_str().is_some() => (before, key.as_str()),
            _ => (path.0.as_slice(), None),
        };
        let at = Path(steps.to_vec());
        let (Ok(old), Ok(new)) = (at.apply(prior), at.apply(value)) else {
            continue;
        };
        if old == new {
            continue;
        }
        if let Some(changed) = replace(&restored, steps, &|found| put_back(found, &old, key)) {
            restored = Cow::Owned(changed);
        }
    }
    restored
}

/// The value with what stands at the path replaced; `None` if the path leads nowhere.
fn replace(value: &Value, steps: &[PathStep], with: &dyn Fn(&Value) -> Value) -> Option<Value> {
    let Some((step, rest)) = steps.split_first() else {
        return Some(with(value));
    };
    let inner = replace(&element_at(value, step)?, rest, with)?;
    match (step, value.data()) {
        (PathStep::Index(key), Data::List(_, items) | Data::Tuple(items)) => {
            let at = usize::try_from(key.as_number()?.to_i64()?).ok()?;
            let mut items = items.to_vec();
            *items.get_mut(at)? = inner;
            Some(items_like(value, items))
        }
        (PathStep::Attr(_) | PathStep::Index(_), Data::Map(_, entries) | Data::Object(entries)) => {
            let name = match step {
                PathStep::Attr(name) => name,
                PathStep::Index(key) => key.as_str()?,
            };
            let mut entries = BTreeMap::clone(entries);
            entries.insert(name.clone(), inner);
            Some(entries_like(value, entries))
        }
        _ => None,
    }
}

/// The old value in place of `found`; of a map only the one key, if there is one: restored, or removed where the old
/// map had none.
fn put_back(found: &Value, old: &Value, key: Option<&Arc<str>>) -> Value {
    let (element, is_null) = match found.data() {
        Data::Map(element, _) => (element, false),
        Data::Null(Type::Map(element)) => (&**element, true),
        // Of a map that is not known no single key can be left alone.
        Data::Unknown(Type::Map(_), _) => return found.clone(),
        _ => return old.clone(),
    };
    let Some(key) = key else { return old.clone() };
    let mut entries = found.as_entries().cloned().unwrap_or_default();
    match old.as_entries().and_then(|old| old.get(key)) {
        Some(old) => entries.insert(key.clone(), old.clone()),
        None => entries.remove(key),
    };
    if entries.is_empty() {
        return if is_null {
            found.clone()
        } else {
            Value::map_of(element.clone(), entries)
        };
    }
    let fallback = entries.clone();
    ops::map_of(entries)
        .unwrap_or_else(|| Value::object_of(fallback))
        .with_marks(found.marks())
}
