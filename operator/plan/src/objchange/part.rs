//! Reaching into objects that may be null or unknown as a whole.
//!
//! Part of the object-change rules: an attribute of a null object is null, of an unknown object unknown.

use std::{collections::BTreeMap, sync::Arc};

use ashlar_value::{Data, Path, PathStep, Type, Value, ops::OpError};

/// The attribute of a known object, or null or unknown of its type as the object is.
pub(super) fn part(object: &Value, name: &str, ty: impl FnOnce() -> Type) -> Value {
    let absent = |ty: Type| {
        if object.is_known() {
            Value::null(ty)
        } else {
            Value::unknown(ty)
        }
    };
    match object.data() {
        Data::Unknown(Type::Object(object), _) => {
            absent(object.get(name).map_or_else(ty, |attr| attr.ty.clone()))
        }
        _ => object.attr(name).unwrap_or_else(|| absent(ty())),
    }
}

/// The elements with their steps; none of a value that is null, unknown or no collection.
pub(super) fn elements(collection: &Value) -> Vec<(PathStep, Value)> {
    match collection.data() {
        Data::List(_, items) | Data::Tuple(items) => {
            let step = |at: usize| PathStep::Index(Value::number(at));
            items
                .iter()
                .enumerate()
                .map(|(at, item)| (step(at), item.clone()))
                .collect()
        }
        Data::Set(_, items) => items
            .iter()
            .map(|item| (PathStep::Index(item.clone()), item.clone()))
            .collect(),
        Data::Map(_, entries) => {
            let step = |key: &Arc<str>| PathStep::Index(Value::string(key));
            entries
                .iter()
                .map(|(key, item)| (step(key), item.clone()))
                .collect()
        }
        Data::Object(entries) => entries
            .iter()
            .map(|(name, item)| (PathStep::Attr(name.clone()), item.clone()))
            .collect(),
        _ => Vec::new(),
    }
}

/// How many elements a known collection has.
pub(super) fn count(collection: &Value) -> usize {
    collection
        .as_items()
        .map(<[Value]>::len)
        .or(collection.as_entries().map(BTreeMap::len))
        .unwrap_or(0)
}

/// The element that the step of another collection leads to; `None` where there is none.
pub(super) fn element_at(collection: &Value, step: &PathStep) -> Option<Value> {
    match step {
        PathStep::Attr(name) => collection.as_entries()?.get(name).cloned(),
        PathStep::Index(key) => match (key.data(), collection.data()) {
            (Data::String(name), Data::Map(_, entries) | Data::Object(entries)) => entries.get(name).cloned(),
            (Data::Number(at), Data::List(_, items) | Data::Tuple(items)) => {
                items.get(usize::try_from(at.to_i64()?).ok()?).cloned()
            }
            _ => None,
        },
    }
}

/// A list, set or tuple like `model` of these elements.
pub(super) fn items_like(model: &Value, items: Vec<Value>) -> Value {
    match model.data() {
        Data::List(element, _) => Value::list(element.clone(), items),
        Data::Set(element, _) => Value::set(element.clone(), items),
        _ => Value::tuple(items),
    }
    .with_marks(model.marks())
}

/// A map or object like `model` of these elements.
pub(super) fn entries_like(model: &Value, entries: BTreeMap<Arc<str>, Value>) -> Value {
    match model.data() {
        Data::Map(element, _) => Value::map_of(element.clone(), entries),
        _ => Value::object_of(entries),
    }
    .with_marks(model.marks())
}

/// Equal, whatever is known of unknown parts? Both without marks.
pub(super) fn same(a: &Value, b: &Value) -> bool {
    if a.is_wholly_known() != b.is_wholly_known() {
        return false;
    }
    if a.is_wholly_known() {
        return a == b;
    }
    match (a.data(), b.data()) {
        (Data::Unknown(a, _), Data::Unknown(b, _)) => a == b,
        (Data::List(a_type, a), Data::List(b_type, b)) => a_type == b_type && same_items(a, b),
        (Data::Set(a_type, a), Data::Set(b_type, b)) => a_type == b_type && same_items(a, b),
        (Data::Tuple(a), Data::Tuple(b)) => same_items(a, b),
        (Data::Map(a_type, a), Data::Map(b_type, b)) => a_type == b_type && same_entries(a, b),
        (Data::Object(a), Data::Object(b)) => same_entries(a, b),
        _ => false,
    }
}

fn same_items(a: &[Value], b: &[Value]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b))
}

fn same_entries(a: &BTreeMap<Arc<str>, Value>, b: &BTreeMap<Arc<str>, Value>) -> bool {
    a.len() == b.len()
        && a.iter()
            .zip(b)
            .all(|((a_name, a), (b_name, b))| a_name == b_name && same(a, b))
}

/// Transforms a value in a way that changes no type, which cannot fail.
pub(super) fn transform(value: &Value, mut change: impl FnMut(&Path, Value) -> Value) -> Value {
    let changed = value.transform::<OpError>(&mut |path, value| Ok(change(path, value)));
    changed.unwrap_or_else(|_| value.clone())
}
