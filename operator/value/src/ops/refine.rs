//! Refinements: narrowing unknown values, and the range of any value.

use std::sync::Arc;

use crate::{Bound, Data, Number, Refinement, Type, Value, ops::OpError};

use super::{equal::number_le, equal::number_lt};

/// A list whose exact length is known becomes a known list of unknowns only up to this length; a longer one stays
/// unknown. cty has no such limit, but a few hostile bytes must not claim gigabytes.
const LARGEST_COLLAPSED_LIST: u64 = 1 << 16;

/// An unknown value of which `facts` are known; a known value if they leave only one. Facts that contradict each other
/// are dropped.
pub fn unknown_refined(ty: Type, facts: Refinement) -> Value {
    let unknown = Value::unknown(ty);
    refine(unknown.clone(), &facts).unwrap_or(unknown)
}

/// The value, known not to be null. A null value stays as it is.
pub fn refine_not_null(value: Value) -> Value {
    match value.data() {
        Data::Unknown(..) if !value.is_not_null() => {
            refine(value.clone(), &Refinement::not_null()).unwrap_or(value)
        }
        _ => value,
    }
}

/// Adds `facts` to what is known of the value (cty `Refine()…NewValue()`); facts that do not fit its type are ignored.
/// A known value, and a dynamic unknown, stay as they are. Marks stay.
///
/// Fails if the facts contradict each other or what was known before.
pub fn refine(value: Value, facts: &Refinement) -> Result<Value, OpError> {
    let Data::Unknown(ty, before) = value.data() else {
        return Ok(value);
    };
    if *ty == Type::Dynamic {
        return Ok(value);
    }
    let mut known = before.as_deref().cloned().unwrap_or_default();
    narrow(ty, &mut known, facts)?;
    let marks = value.marks();
    Ok(settle(ty, known).with_marks(marks))
}

/// Adds facts about an unknown of type `ty`; those that do not fit the type are ignored.
pub(crate) fn narrow(ty: &Type, known: &mut Refinement, facts: &Refinement) -> Result<(), OpError> {
    known.not_null |= facts.not_null;
    match ty {
        Type::String => {
            if let Some(prefix) = &facts.prefix {
                narrow_prefix(known, &crate::value::nfc(prefix))?;
            }
        }
        Type::Number => {
            if let Some(bound) = &facts.min {
                narrow_min(known, bound);
            }
            if let Some(bound) = &facts.max {
                narrow_max(known, bound);
            }
            check_bounds(known)?;
        }
        Type::List(_) | Type::Set(_) | Type::Map(_) => narrow_length(known, facts)?,
        _ => {}
    }
    Ok(())
}

fn narrow_prefix(known: &mut Refinement, prefix: &Arc<str>) -> Result<(), OpError> {
    let before = known.prefix.as_deref().unwrap_or_default();
    if !(before.starts_with(&**prefix) || prefix.starts_with(before)) {
        return Err(OpError::new(
            "the string cannot begin with two different prefixes",
        ));
    }
    if prefix.len() > before.len() {
        known.prefix = Some(prefix.clone());
    }
    Ok(())
}

fn narrow_min(known: &mut Refinement, bound: &Bound) {
    if bound.value.is_infinite() && bound.value.sign() < 0 {
        return;
    }
    let tighter = known.min.as_ref().is_none_or(|before| {
        let lower_or_same = number_le(&before.value, &bound.value);
        if bound.inclusive && !before.inclusive {
            number_lt(&before.value, &bound.value)
        } else {
            lower_or_same
        }
    });
    if tighter {
        known.min = Some(bound.clone());
    }
}

fn narrow_max(known: &mut Refinement, bound: &Bound) {
    if bound.value.is_infinite() && bound.value.sign() > 0 {
        return;
    }
    let tighter = known.max.as_ref().is_none_or(|before| {
        let higher_or_same = number_le(&bound.value, &before.value);
        if bound.inclusive && !before.inclusive {
            number_lt(&bound.value, &before.value)
        } else {
            higher_or_same
        }
    });
    if tighter {
        known.max = Some(bound.clone());
    }
}

/// As in cty 1.18, equal bounds are refused only if exactly one of them is inclusive.
fn check_bounds(known: &Refinement) -> Result<(), OpError> {
    let (Some(min), Some(max)) = (&known.min, &known.max) else {
        return Ok(());
    };
    let fits = if min.inclusive == max.inclusive {
        number_le(&min.value, &max.value)
    } else {
        number_lt(&min.value, &max.value)
    };
    if fits {
        Ok(())
    } else {
        Err(OpError::new("the lower bound is greater than the upper bound"))
    }
}

fn narrow_length(known: &mut Refinement, facts: &Refinement) -> Result<(), OpError> {
    let min = known.length_min.unwrap_or(0).max(facts.length_min.unwrap_or(0));
    let max = known
        .length_max
        .unwrap_or(u64::MAX)
        .min(facts.length_max.unwrap_or(u64::MAX));
    if min > max {
        return Err(OpError::new(
            "the least length is greater than the greatest length",
        ));
    }
    known.length_min = (min > 0).then_some(min);
    known.length_max = (max < i64::MAX.unsigned_abs()).then_some(max);
    Ok(())
}

/// The value that facts about an unknown leave: known if there is only one.
pub(crate) fn settle(ty: &Type, known: Refinement) -> Value {
    if known.not_null {
        if let (Some(min), Some(max)) = (&known.min, &known.max)
            && min.inclusive
            && max.inclusive
            && min.value == max.value
        {
            return Value::number(min.value.clone());
        }
        let length = known
            .length_max
            .filter(|max| *max == known.length_min.unwrap_or(0));
        match (ty, length) {
            (Type::List(_) | Type::Set(_) | Type::Map(_), Some(0)) => return Value::empty(ty),
            (Type::List(element), Some(length)) if length <= LARGEST_COLLAPSED_LIST => {
                let unknown = Value::unknown(Type::clone(element));
                let length = usize::try_from(length).unwrap_or(0);
                return Value::list(Type::clone(element), vec![unknown; length]);
            }
            (Type::Set(element), Some(1)) => {
                return Value::set(Type::clone(element), vec![Value::unknown(Type::clone(element))]);
            }
            _ => {}
        }
    }
    let known = (!known.is_empty()).then(|| Arc::new(known));
    Data::Unknown(ty.clone(), known).into()
}

/// What is known of a value, known or not (cty `Range`): the refinement of an unknown; exact bounds of a known one.
/// Of a null value nothing is said; ask [`Value::is_null`] first. Marks do not matter.
pub fn range(value: &Value) -> Refinement {
    let mut facts = Refinement {
        not_null: true,
        ..Refinement::default()
    };
    match value.data() {
        Data::Null(_) => facts.not_null = false,
        Data::Unknown(_, refinement) => return refinement.as_deref().cloned().unwrap_or_default(),
        Data::Number(number) => {
            let bound = Bound {
                value: number.clone(),
                inclusive: true,
            };
            facts.min = Some(bound.clone());
            facts.max = Some(bound);
        }
        Data::String(text) => facts.prefix = Some(text.clone()),
        Data::List(_, items) => exact_length(&mut facts, items.len()),
        Data::Map(_, entries) => exact_length(&mut facts, entries.len()),
        Data::Set(_, items) if items.len() <= 1 || value.is_wholly_known() => {
            exact_length(&mut facts, items.len())
        }
        Data::Bool(_) | Data::Set(..) | Data::Tuple(_) | Data::Object(_) => {}
    }
    facts
}

fn exact_length(facts: &mut Refinement, length: usize) {
    facts.length_min = Some(length as u64);
    facts.length_max = Some(length as u64);
}

/// The least number the facts allow; minus infinity if they say nothing.
pub(super) fn lowest(facts: &Refinement) -> Number {
    facts
        .min
        .as_ref()
        .map_or_else(|| Number::infinity(true), |bound| bound.value.clone())
}

/// The greatest number the facts allow; infinity if they say nothing.
pub(super) fn highest(facts: &Refinement) -> Number {
    facts
        .max
        .as_ref()
        .map_or_else(|| Number::infinity(false), |bound| bound.value.clone())
}
