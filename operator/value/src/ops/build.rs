//! Collections from elements alone, the element type being that of the elements (cty `ListVal`, `SetVal`, `MapVal`).

use std::{collections::BTreeMap, sync::Arc};

use crate::{Data, Type, Value};

/// A list of these; `None` if they are not all of one type (dynamic unknowns and nulls fit any). No elements give a
/// list of dynamic.
pub fn list_of(items: Vec<Value>) -> Option<Value> {
    let element = common_type(items.iter())?;
    let items = items.into_iter().map(|item| typed(item, &element)).collect();
    Some(Value::list(element, items))
}

/// A set of these; `None` if they are not all of one type.
pub fn set_of(items: Vec<Value>) -> Option<Value> {
    let element = common_type(items.iter())?;
    let items = items.into_iter().map(|item| typed(item, &element)).collect();
    Some(Value::set(element, items))
}

/// A map of these, keys in NFC; `None` if they are not all of one type.
pub fn map_of(entries: BTreeMap<Arc<str>, Value>) -> Option<Value> {
    let element = common_type(entries.values())?;
    let entries = entries
        .into_iter()
        .map(|(key, item)| (key, typed(item, &element)))
        .collect();
    Some(Value::map_of(element, entries))
}

fn common_type<'a>(items: impl Iterator<Item = &'a Value>) -> Option<Type> {
    let mut common = Type::Dynamic;
    for item in items {
        if common == Type::Dynamic {
            common = item.ty();
        } else if !has_type(item, &common) {
            return None;
        }
    }
    Some(common)
}

/// Is it of this type, or dynamic? Builds no type for the usual case of primitives.
fn has_type(item: &Value, ty: &Type) -> bool {
    match (item.data(), ty) {
        (Data::Null(Type::Dynamic) | Data::Unknown(Type::Dynamic, _), _)
        | (Data::Bool(_), Type::Bool)
        | (Data::Number(_), Type::Number)
        | (Data::String(_), Type::String) => true,
        (Data::Null(item), _) | (Data::Unknown(item, _), _) => item == ty,
        (Data::List(item, _), Type::List(ty))
        | (Data::Set(item, _), Type::Set(ty))
        | (Data::Map(item, _), Type::Map(ty)) => *item == **ty,
        (Data::Tuple(items), Type::Tuple(types)) => {
            items.len() == types.len() && items.iter().zip(types.iter()).all(|(item, ty)| is_of(item, ty))
        }
        (Data::Object(attrs), Type::Object(object)) => {
            attrs.len() == object.attrs().len()
                && attrs
                    .iter()
                    .zip(object.attrs())
                    .all(|((name, item), attr)| *name == attr.name && !attr.optional && is_of(item, &attr.ty))
        }
        _ => false,
    }
}

/// Is it exactly of this type?
pub(crate) fn is_of(item: &Value, ty: &Type) -> bool {
    match item.data() {
        Data::Null(Type::Dynamic) | Data::Unknown(Type::Dynamic, _) => *ty == Type::Dynamic,
        _ => has_type(item, ty),
    }
}

/// In a collection of a known type a dynamic unknown or null has that type.
fn typed(item: Value, element: &Type) -> Value {
    let marks = item.marks();
    match item.data() {
        Data::Null(Type::Dynamic) => Value::null(element.clone()).with_marks(marks),
        Data::Unknown(Type::Dynamic, _) => Value::unknown(element.clone()).with_marks(marks),
        _ => item,
    }
}
