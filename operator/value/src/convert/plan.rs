//! Planning a conversion from the types alone.

use std::{collections::BTreeMap, sync::Arc};

use crate::{ObjectType, Type};

use super::unify::unify;

/// Which conversions are allowed.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Safety {
    /// Only those that cannot fail.
    Safe,
    /// Those that depend on the value too.
    Unsafe,
}

/// How to convert one value.
pub(super) struct Plan {
    /// The type wanted, optional attributes included.
    pub(super) to: Type,
    pub(super) work: Work,
}

/// The plan for each attribute; `None` where it has its type already.
pub(super) type AttrPlans = BTreeMap<Arc<str>, Option<Plan>>;

/// What is done to a known, non-null value.
pub(super) enum Work {
    /// Nothing: any type will do.
    Pass,
    /// The type was not known when planning: plan now.
    Late,
    /// Number or bool to text.
    Print,
    /// Text to number.
    ParseNumber,
    /// Text to bool.
    ParseBool,
    /// Object to object: attributes that `to` has.
    Object(AttrPlans),
    /// Tuple to tuple of the same length.
    Tuple(Vec<Option<Plan>>),
    /// List or set to list.
    List(Option<Box<Plan>>),
    /// List or set to set.
    Set(Option<Box<Plan>>),
    /// Map to map.
    Map(Box<Plan>),
    /// Tuple to list.
    TupleList(Vec<Option<Plan>>),
    /// Tuple to set.
    TupleSet(Vec<Option<Plan>>),
    /// Object to map, with the element type after unification.
    ObjectMap(Type, AttrPlans),
    /// Map to object.
    MapObject(Arc<ObjectType>, BTreeMap<Arc<str>, Attr>),
}

/// What becomes of a map element that is to be an attribute.
pub(super) enum Attr {
    /// It has the type already.
    Keep,
    /// It is converted.
    Convert(Plan),
    /// It has no conversion; no element may have this optional attribute's name.
    Absent,
}

/// The conversion, `None` if there is none. Equal types have none unless they hold optional attributes or are
/// collections; the caller looks for equality first, as in cty.
pub(super) fn plan(from: &Type, to: &Type, safety: Safety) -> Option<Plan> {
    let unsafe_too = safety == Safety::Unsafe;
    let work = match (from, to) {
        (_, Type::Dynamic) => Work::Pass,
        (Type::Dynamic, _) if unsafe_too => Work::Late,
        (Type::Number | Type::Bool, Type::String) => Work::Print,
        (Type::String, Type::Number) if unsafe_too => Work::ParseNumber,
        (Type::String, Type::Bool) if unsafe_too => Work::ParseBool,
        (Type::Object(from), Type::Object(to)) => Work::Object(object(from, to, safety)?),
        (Type::Tuple(from), Type::Tuple(to)) if from.len() == to.len() => {
            let pairs = from.iter().zip(to.iter());
            Work::Tuple(
                pairs
                    .map(|(from, to)| step(from, to, safety))
                    .collect::<Option<_>>()?,
            )
        }
        (Type::List(from) | Type::Set(from), Type::List(to)) => {
            Work::List(step(from, to, safety)?.map(Box::new))
        }
        (Type::List(_), Type::Set(_)) if !unsafe_too => return None,
        (Type::List(from) | Type::Set(from), Type::Set(to)) => {
            Work::Set(step(from, to, safety)?.map(Box::new))
        }
        (Type::Map(from), Type::Map(to)) => Work::Map(Box::new(plan(from, to, safety)?)),
        (Type::Tuple(from), Type::List(to)) => Work::TupleList(tuple(from, to, safety)?),
        (Type::Tuple(from), Type::Set(to)) => Work::TupleSet(tuple(from, to, safety)?),
        (Type::Object(from), Type::Map(to)) => {
            let (element, attrs) = object_to_map(from, to, safety)?;
            Work::ObjectMap(element, attrs)
        }
        (Type::Map(from), Type::Object(to)) if unsafe_too => {
            Work::MapObject(to.clone(), map_to_object(from, to, safety)?)
        }
        _ => return None,
    };
    Some(Plan { to: to.clone(), work })
}

/// The outer `Option` tells whether it is possible, the inner one whether there is anything to do.
fn step(from: &Type, to: &Type, safety: Safety) -> Option<Option<Plan>> {
    if from == to {
        Some(None)
    } else {
        plan(from, to, safety).map(Some)
    }
}

fn object(from: &ObjectType, to: &ObjectType, safety: Safety) -> Option<AttrPlans> {
    let mut attrs = BTreeMap::new();
    for want in to.attrs() {
        match from.get(&want.name) {
            Some(have) => {
                attrs.insert(want.name.clone(), step(&have.ty, &want.ty, safety)?);
            }
            None if want.optional => {}
            None => return None,
        }
    }
    Some(attrs)
}

fn tuple(from: &[Type], element: &Type, safety: Safety) -> Option<Vec<Option<Plan>>> {
    let unified;
    let element = if *element == Type::Dynamic && !from.is_empty() {
        unified = unify(from, safety)?;
        // Elements of several types cannot be left as they are, unless not one type is known.
        if unified == Type::Dynamic && from.iter().any(|ty| *ty != Type::Dynamic) {
            return None;
        }
        &unified
    } else {
        element
    };
    from.iter().map(|ty| step(ty, element, safety)).collect()
}

fn object_to_map(from: &ObjectType, element: &Type, safety: Safety) -> Option<(Type, AttrPlans)> {
    let element = if *element == Type::Dynamic && !from.attrs().is_empty() {
        let types: Vec<Type> = from.attrs().iter().map(|attr| attr.ty.clone()).collect();
        unify(&types, safety)?
    } else {
        element.clone()
    };
    let attrs = from
        .attrs()
        .iter()
        .map(|attr| Some((attr.name.clone(), step(&attr.ty, &element, safety)?)));
    let attrs = attrs.collect::<Option<_>>()?;
    Some((element, attrs))
}

fn map_to_object(element: &Type, to: &ObjectType, safety: Safety) -> Option<BTreeMap<Arc<str>, Attr>> {
    to.attrs()
        .iter()
        .map(|attr| {
            let how = match step(element, &attr.ty, safety) {
                Some(None) => Attr::Keep,
                Some(Some(plan)) => Attr::Convert(plan),
                None if attr.optional => Attr::Absent,
                None => return None,
            };
            Some((attr.name.clone(), how))
        })
        .collect()
}
