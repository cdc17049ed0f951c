//! Reaching into values: elements, attributes, lengths.

use std::{collections::btree_map, slice, sync::Arc};

use crate::{Bound, Data, Number, Refinement, Type, Value, ops::OpError};

use super::{
    equal::{answer, is_member, wrong_key},
    refine::{range, unknown_refined},
};

/// `collection[key]` for a list, tuple, map or object; key and element must have the right type already (number or
/// string). An unknown collection or key gives an unknown element. Marks of both; for an object, those of the key are
/// dropped.
pub fn index(collection: &Value, key: &Value) -> Result<Value, OpError> {
    if matches!(collection.data(), Data::Null(_)) || key.is_null() {
        return Err(OpError::new("a null value has no elements and is no key"));
    }
    let marks = match collection.data() {
        Data::Object(_) | Data::Unknown(Type::Object(_), _) => collection.marks(),
        _ => collection.marks().union(key.marks()),
    };
    Ok(element(collection, key)?.with_marks(marks))
}

fn element(collection: &Value, key: &Value) -> Result<Value, OpError> {
    match collection.data() {
        Data::Unknown(Type::Dynamic, _) => Ok(Value::dynamic()),
        Data::List(ty, items) => match position(key)? {
            None => Ok(Value::unknown(ty.clone())),
            Some(at) => items.get(at).cloned().ok_or_else(no_element),
        },
        Data::Unknown(Type::List(ty), _) => position(key).map(|_| Value::unknown(Type::clone(ty))),
        Data::Tuple(items) => match position(key)? {
            None => Ok(Value::dynamic()),
            Some(at) => items.get(at).cloned().ok_or_else(no_element),
        },
        Data::Unknown(Type::Tuple(types), _) => match position(key)? {
            None => Ok(Value::dynamic()),
            Some(at) => types.get(at).cloned().map(Value::unknown).ok_or_else(no_element),
        },
        Data::Map(ty, entries) => match name(key)? {
            None => Ok(Value::unknown(ty.clone())),
            Some(name) => entries.get(name).cloned().ok_or_else(no_element),
        },
        Data::Unknown(Type::Map(ty), _) => name(key).map(|_| Value::unknown(Type::clone(ty))),
        Data::Object(_) | Data::Unknown(Type::Object(_), _) => match name(key)? {
            None => Ok(Value::dynamic()),
            Some(name) => get_attr(collection, name),
        },
        _ => Err(OpError::new(format!(
            "a value of type {} has no elements to index",
            collection.ty().friendly_name()
        ))),
    }
}

fn no_element() -> OpError {
    OpError::new("there is no element with this key")
}

/// The key as a position, `None` while unknown.
fn position(key: &Value) -> Result<Option<usize>, OpError> {
    match key.data() {
        Data::Unknown(Type::Number | Type::Dynamic, _) => Ok(None),
        Data::Number(number) => number
            .to_i64()
            .and_then(|at| usize::try_from(at).ok())
            .map(Some)
            .ok_or_else(|| OpError::new("a whole number, zero or greater, is required as key")),
        _ => Err(wrong_key("number", key)),
    }
}

/// The key as a name, `None` while unknown.
fn name(key: &Value) -> Result<Option<&Arc<str>>, OpError> {
    match key.data() {
        Data::Unknown(Type::String | Type::Dynamic, _) => Ok(None),
        Data::String(name) => Ok(Some(name)),
        _ => Err(wrong_key("string", key)),
    }
}

/// Would [`index`] find an element? Unknown while either is; false for what cannot be indexed and for keys of a wrong
/// kind.
pub fn has_index(collection: &Value, key: &Value) -> Value {
    let marks = collection.marks().union(key.marks());
    let truth = match (collection.data(), key.data()) {
        (Data::Unknown(Type::Dynamic, _), _) => None,
        (
            Data::List(..) | Data::Unknown(Type::List(_) | Type::Tuple(_), _) | Data::Tuple(_),
            Data::Number(number),
        ) => {
            let at = number.to_i64().and_then(|at| usize::try_from(at).ok());
            match (collection.data(), at) {
                (Data::Unknown(Type::List(_), _), _) => None,
                (_, None) => Some(false),
                (Data::Unknown(Type::Tuple(types), _), Some(at)) => Some(at < types.len()),
                (_, Some(at)) => Some(collection.as_items().is_some_and(|items| at < items.len())),
            }
        }
        (Data::List(..) | Data::Tuple(_), Data::Unknown(Type::Number | Type::Dynamic, _))
        | (
            Data::Unknown(Type::List(_) | Type::Tuple(_), _),
            Data::Unknown(Type::Number | Type::Dynamic, _),
        )
        | (Data::Map(..) | Data::Object(_), Data::Unknown(Type::String | Type::Dynamic, _))
        | (
            Data::Unknown(Type::Map(_) | Type::Object(_), _),
            Data::Unknown(Type::String | Type::Dynamic, _),
        )
        | (Data::Unknown(Type::Map(_), _), Data::String(_)) => None,
        (Data::Map(_, entries) | Data::Object(entries), Data::String(name)) => {
            Some(entries.contains_key(name))
        }
        (Data::Unknown(Type::Object(object), _), Data::String(name)) => Some(object.get(name).is_some()),
        _ => Some(false),
    };
    answer(truth, marks)
}

/// Is the value a member of the set? Unknown while it, or a set that lacks it, is not wholly known.
pub fn has_element(set: &Value, member: &Value) -> Result<Value, OpError> {
    let marks = set.marks().union(member.marks_deep());
    let truth = match set.data() {
        Data::Unknown(Type::Set(_) | Type::Dynamic, _) => None,
        Data::Set(ty, members) => {
            let member_type = member.ty();
            if member_type != Type::Dynamic && *ty != Type::Dynamic && member_type != *ty {
                Some(false)
            } else if !member.is_known() {
                None
            } else if member_type != *ty {
                Some(false)
            } else if is_member(members, member) {
                Some(true)
            } else {
                set.is_wholly_known().then_some(false)
            }
        }
        _ => {
            return Err(OpError::new(format!(
                "a set is required, but the value is {}",
                set.ty().friendly_name()
            )));
        }
    };
    Ok(answer(truth, marks))
}

/// An attribute of an object; unknown for an unknown one. Marks of the object are added.
pub fn get_attr(object: &Value, name: &str) -> Result<Value, OpError> {
    let found = match object.data() {
        Data::Unknown(Type::Dynamic, _) => Some(Value::dynamic()),
        Data::Unknown(Type::Object(ty), _) => ty.get(name).map(|attr| Value::unknown(attr.ty.clone())),
        Data::Object(attrs) => attrs.get(name).cloned(),
        Data::Null(_) => return Err(OpError::new("a null value has no attributes")),
        _ => {
            let ty = object.ty().friendly_name();
            return Err(OpError::new(format!("a value of type {ty} has no attributes")));
        }
    };
    let found = found.ok_or_else(|| OpError::new(format!("the object has no attribute named {name:?}")))?;
    Ok(found.with_marks(object.marks()))
}

/// The number of elements of a collection, tuple or object, with the marks of the value itself. An unknown number,
/// within the known bounds, for an unknown collection, and for a set of several members some of which are unknown.
///
/// The caller sees to it that the value has a length; of any other (null too) it is 0.
pub fn length(value: &Value) -> Value {
    let exact = |length: usize| Value::number(length as u64);
    let result = match value.data() {
        Data::List(_, items) | Data::Tuple(items) => exact(items.len()),
        Data::Map(_, entries) | Data::Object(entries) => exact(entries.len()),
        Data::Unknown(Type::Tuple(types), _) => exact(types.len()),
        Data::Unknown(Type::Object(object), _) => exact(object.attrs().len()),
        Data::Set(_, items) if items.len() <= 1 || value.is_wholly_known() => exact(items.len()),
        Data::Set(_, items) => unknown_refined(Type::Number, between(1, Some(items.len() as u64))),
        Data::Unknown(Type::List(_) | Type::Set(_) | Type::Map(_), _) => {
            let facts = range(value);
            unknown_refined(
                Type::Number,
                between(facts.length_min.unwrap_or(0), facts.length_max),
            )
        }
        Data::Unknown(..) => unknown_refined(Type::Number, between(0, None)),
        Data::Null(_) | Data::Bool(_) | Data::Number(_) | Data::String(_) => exact(0),
    };
    result.with_marks(value.marks())
}

/// cty states the greatest length a Go slice can have where no other bound is known.
fn between(min: u64, max: Option<u64>) -> Refinement {
    let bound = |value: u64| {
        Some(Bound {
            value: Number::from(value),
            inclusive: true,
        })
    };
    Refinement {
        min: bound(min),
        max: bound(max.unwrap_or(i64::MAX.unsigned_abs())),
        ..Refinement::not_null()
    }
}

/// Keys and elements of a known list, set, tuple, map or object, in cty's order; of any other value none. Keys are
/// positions, names, or for sets the member itself. The marks of the collection are not on the elements.
pub fn elements(value: &Value) -> Elements<'_> {
    match value.data() {
        Data::List(_, items) | Data::Tuple(items) => Elements(Source::Positions(0, items.iter())),
        Data::Set(_, items) => Elements(Source::Members(items.iter())),
        Data::Map(_, entries) | Data::Object(entries) => Elements(Source::Names(entries.iter())),
        _ => Elements(Source::Members([].iter())),
    }
}

/// Iterator of [`elements`].
pub struct Elements<'a>(Source<'a>);

enum Source<'a> {
    Positions(i64, slice::Iter<'a, Value>),
    Members(slice::Iter<'a, Value>),
    Names(btree_map::Iter<'a, Arc<str>, Value>),
}

impl Iterator for Elements<'_> {
    type Item = (Value, Value);

    fn next(&mut self) -> Option<Self::Item> {
        match &mut self.0 {
            Source::Positions(at, items) => items.next().map(|item| {
                let key = Value::number(*at);
                *at += 1;
                (key, item.clone())
            }),
            Source::Members(items) => items.next().map(|item| (item.clone(), item.clone())),
            Source::Names(entries) => entries
                .next()
                .map(|(name, item)| (Data::String(name.clone()).into(), item.clone())),
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        match &self.0 {
            Source::Positions(_, items) | Source::Members(items) => items.size_hint(),
            Source::Names(entries) => entries.size_hint(),
        }
    }
}
