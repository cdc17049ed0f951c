//! `==`: cty's `Equals`, which knows unknown values, nulls and marks. (Rust's `==` on values is cty's `RawEquals`.)

use std::{cmp::Ordering, collections::BTreeMap, sync::Arc};

use crate::{Data, Marks, Number, Refinement, Type, Value, ops::OpError};

use super::{logic, logic::unknown_bool, refine::range};

/// Are they equal? Nulls of any type are; else types must agree, nothing is converted. Unknown unless what is known
/// decides. Marks of both, inner ones too; but if just one side is null, only the marks of the sides themselves.
pub fn equal(a: &Value, b: &Value) -> Value {
    let marks = if a.is_null() == b.is_null() {
        a.marks_deep().union(b.marks_deep())
    } else {
        a.marks().union(b.marks())
    };
    decide(a, b)
        .map_or_else(unknown_bool, Value::bool)
        .with_marks(marks)
}

/// The opposite of [`equal`].
pub fn not_equal(a: &Value, b: &Value) -> Value {
    let result = equal(a, b);
    // Equality always gives a bool, so its opposite always exists.
    logic::not(&result).unwrap_or(result)
}

/// The answer, or `None` while it depends on what is unknown.
fn decide(a: &Value, b: &Value) -> Option<bool> {
    if (a.is_null() && b.is_not_null()) || (b.is_null() && a.is_not_null()) {
        return Some(false);
    }
    match (a.data(), b.data()) {
        (Data::Unknown(..), Data::Unknown(..)) => return None,
        (Data::Unknown(ty, facts), _) => return decide_unknown(ty, facts.as_deref(), b),
        (_, Data::Unknown(ty, facts)) => return decide_unknown(ty, facts.as_deref(), a),
        (Data::Null(_), Data::Null(_)) => return Some(true),
        (Data::Null(_), _) | (_, Data::Null(_)) => return Some(false),
        _ => {}
    }
    let needs_types = !(is_primitive(a) && is_primitive(b));
    if needs_types {
        let (a_type, b_type) = (a.ty(), b.ty());
        if !(has_known_type(a) && has_known_type(b)) {
            let never = !conforms(&a_type, &b_type) && !conforms(&b_type, &a_type);
            return if never { Some(false) } else { None };
        }
        if a_type != b_type {
            return Some(false);
        }
    }
    decide_known(a, b, Zeros::Same)
}

fn is_primitive(value: &Value) -> bool {
    matches!(value.data(), Data::Bool(_) | Data::Number(_) | Data::String(_))
}

/// An unknown of type `ty` against a known value.
fn decide_unknown(ty: &Type, facts: Option<&Refinement>, known: &Value) -> Option<bool> {
    if known.is_null() {
        // An unknown that cannot be null was dealt with before.
        return None;
    }
    let known_type = known.ty();
    if !conforms(&known_type, ty) || facts.is_some_and(|facts| excludes(facts, known)) {
        return Some(false);
    }
    // What conforms without being equal has dynamic parts, which may still become equal.
    None
}

/// Do the facts rule this known, non-null value of the right type out?
fn excludes(facts: &Refinement, known: &Value) -> bool {
    match known.data() {
        Data::String(text) => facts
            .prefix
            .as_ref()
            .is_some_and(|prefix| !text.starts_with(&**prefix)),
        Data::Number(number) => {
            let below = facts.min.as_ref().is_some_and(|min| {
                !if min.inclusive {
                    number_le(&min.value, number)
                } else {
                    number_lt(&min.value, number)
                }
            });
            let above = facts.max.as_ref().is_some_and(|max| {
                !if max.inclusive {
                    number_le(number, &max.value)
                } else {
                    number_lt(number, &max.value)
                }
            });
            below || above
        }
        Data::List(..) | Data::Set(..) | Data::Map(..) => {
            // Members of a set that are not wholly known may turn out to be one.
            let most = known
                .as_items()
                .map(<[Value]>::len)
                .or(known.as_entries().map(BTreeMap::len))
                .unwrap_or(0) as u64;
            let least = range(known).length_min.unwrap_or(1);
            facts.length_max.is_some_and(|max| least > max) || facts.length_min.is_some_and(|min| most < min)
        }
        _ => false,
    }
}

/// Less, as cty's `LessThan`: exactly, by value.
pub(super) fn number_lt(a: &Number, b: &Number) -> bool {
    a.compare(b) == Ordering::Less
}

/// Less, or equal by cty's notion of equality.
pub(super) fn number_le(a: &Number, b: &Number) -> bool {
    number_lt(a, b) || a == b
}

/// Is zero the same as minus zero? To `==` it is; as members of a set they are two.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Zeros {
    /// Yes.
    Same,
    /// No.
    Distinct,
}

/// Two values of the same wholly known type.
fn decide_known(a: &Value, b: &Value, zeros: Zeros) -> Option<bool> {
    match (a.data(), b.data()) {
        (Data::Null(_), Data::Null(_)) => Some(true),
        (Data::Null(_), Data::Unknown(..)) => {
            if b.is_not_null() {
                Some(false)
            } else {
                None
            }
        }
        (Data::Unknown(..), Data::Null(_)) => {
            if a.is_not_null() {
                Some(false)
            } else {
                None
            }
        }
        (Data::Unknown(..), Data::Unknown(..)) => None,
        (Data::Unknown(ty, facts), _) => decide_unknown(ty, facts.as_deref(), b),
        (_, Data::Unknown(ty, facts)) => decide_unknown(ty, facts.as_deref(), a),
        (Data::Bool(a), Data::Bool(b)) => Some(a == b),
        (Data::String(a), Data::String(b)) => Some(a == b),
        (Data::Number(a), Data::Number(b)) => {
            Some(a == b && (zeros == Zeros::Same || a.is_negative_zero() == b.is_negative_zero()))
        }
        (Data::List(_, a), Data::List(_, b)) => decide_items(a, b, zeros),
        (Data::Tuple(a), Data::Tuple(b)) => decide_items(a, b, zeros),
        (Data::Set(_, a), Data::Set(_, b)) => decide_sets(a, b),
        (Data::Map(_, a), Data::Map(_, b)) => decide_entries(a, b, zeros),
        (Data::Object(a), Data::Object(b)) => decide_entries(a, b, zeros),
        _ => Some(false),
    }
}

/// The first difference or unknown decides, as in cty.
fn decide_items(a: &[Value], b: &[Value], zeros: Zeros) -> Option<bool> {
    if a.len() != b.len() {
        return Some(false);
    }
    for (a, b) in a.iter().zip(b) {
        match decide_known(a, b, zeros) {
            Some(true) => {}
            other => return other,
        }
    }
    Some(true)
}

/// cty goes through attributes in no fixed order, so an unknown and a difference together give either answer there; a
/// difference decides here.
fn decide_entries(
    a: &BTreeMap<Arc<str>, Value>,
    b: &BTreeMap<Arc<str>, Value>,
    zeros: Zeros,
) -> Option<bool> {
    if a.len() != b.len() || a.keys().ne(b.keys()) {
        return Some(false);
    }
    let mut all = Some(true);
    for (a, b) in a.values().zip(b.values()) {
        match decide_known(a, b, zeros) {
            Some(true) => {}
            Some(false) => return Some(false),
            None => all = None,
        }
    }
    all
}

/// Members stand in one order, so equal sets are equal member by member. A member that is unknown itself leaves it open; one with something
/// unknown inside equals no other.
fn decide_sets(a: &[Value], b: &[Value]) -> Option<bool> {
    if a.iter().chain(b).any(|member| !member.is_known()) {
        return None;
    }
    Some(a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same_member(a, b)))
}

/// Are two values one member of a set?
pub(super) fn same_member(a: &Value, b: &Value) -> bool {
    decide_known(a, b, Zeros::Distinct) == Some(true)
}

/// Is the type of the value, with all that stands inside, settled? (cty `HasWhollyKnownType`)
fn has_known_type(value: &Value) -> bool {
    if value.is_wholly_known() {
        return true;
    }
    match value.data() {
        Data::Unknown(ty, _) => !ty.has_dynamic(),
        Data::List(_, items) | Data::Set(_, items) | Data::Tuple(items) => items.iter().all(has_known_type),
        Data::Map(_, entries) | Data::Object(entries) => entries.values().all(has_known_type),
        Data::Null(_) | Data::Bool(_) | Data::Number(_) | Data::String(_) => true,
    }
}

/// Does the type fit the constraint, without conversion? Only `dynamic` in the constraint admits another type.
pub fn conforms(given: &Type, want: &Type) -> bool {
    match (given, want) {
        (_, Type::Dynamic) => true,
        (Type::List(given), Type::List(want))
        | (Type::Set(given), Type::Set(want))
        | (Type::Map(given), Type::Map(want)) => conforms(given, want),
        (Type::Tuple(given), Type::Tuple(want)) => {
            given.len() == want.len()
                && given
                    .iter()
                    .zip(want.iter())
                    .all(|(given, want)| conforms(given, want))
        }
        (Type::Object(given), Type::Object(want)) => {
            given.attrs().len() == want.attrs().len()
                && given
                    .attrs()
                    .iter()
                    .zip(want.attrs())
                    .all(|(given, want)| given.name == want.name && conforms(&given.ty, &want.ty))
        }
        _ => given == want,
    }
}

/// Is the member in the set, given what is known? For [`super::has_element`].
pub(super) fn is_member(set: &[Value], member: &Value) -> bool {
    if let Some(wanted) = member.as_str() {
        // Known strings stand first, in the order of their bytes.
        let found = set.binary_search_by(|candidate| match candidate.as_str() {
            Some(text) => text.cmp(wanted),
            None => Ordering::Greater,
        });
        return found.is_ok();
    }
    set.iter().any(|candidate| same_member(candidate, member))
}

/// Marks and truth of a question that marks pass through.
pub(super) fn answer(truth: Option<bool>, marks: Marks) -> Value {
    truth.map_or_else(unknown_bool, Value::bool).with_marks(marks)
}

/// The error for a key of the wrong kind.
pub(super) fn wrong_key(want: &str, key: &Value) -> OpError {
    OpError::new(format!(
        "a {want} is required as key, but the value is {}",
        key.ty().friendly_name()
    ))
}
