//! `<`, `<=`, `>`, `>=` on numbers.

use std::cmp::Ordering;

use crate::{Data, Type, Value, ops::OpError};

use super::{
    equal::equal,
    logic::{or, unknown_bool},
    refine::{highest, lowest, range},
};

/// Fails unless the value can stand in arithmetic: a number, or an unknown that may be one.
pub(super) fn check_number(value: &Value) -> Result<(), OpError> {
    match value.data() {
        Data::Number(_) | Data::Unknown(Type::Number | Type::Dynamic, _) => Ok(()),
        Data::Null(_) => Err(OpError::new("a number is required, but the value is null")),
        _ => Err(OpError::new(format!(
            "a number is required, but the value is {}",
            value.ty().friendly_name()
        ))),
    }
}

/// Is `a` certainly less, or certainly not? `None` while it depends on what is unknown.
///
/// As in cty all bounds count as exclusive, so the answer may be undecided where a sharper one is possible.
fn decide_less(a: &Value, b: &Value) -> Option<bool> {
    if let (Data::Number(a), Data::Number(b)) = (a.data(), b.data()) {
        return Some(a.compare(b) == Ordering::Less);
    }
    if !is_number(a) || !is_number(b) {
        return None;
    }
    let (a, b) = (range(a), range(b));
    if highest(&a).compare(&lowest(&b)) == Ordering::Less {
        return Some(true);
    }
    (lowest(&a).compare(&highest(&b)) == Ordering::Greater).then_some(false)
}

fn is_number(value: &Value) -> bool {
    matches!(value.data(), Data::Number(_) | Data::Unknown(Type::Number, _))
}

/// `a < b`
pub fn less(a: &Value, b: &Value) -> Result<Value, OpError> {
    check_number(a)?;
    check_number(b)?;
    Ok(decide_less(a, b)
        .map_or_else(unknown_bool, Value::bool)
        .with_marks(a.marks().union(b.marks())))
}

/// `a > b`
pub fn greater(a: &Value, b: &Value) -> Result<Value, OpError> {
    less(b, a)
}

/// `a <= b`: less, or equal as [`equal`] has it.
pub fn less_or_equal(a: &Value, b: &Value) -> Result<Value, OpError> {
    or(&less(a, b)?, &equal(a, b))
}

/// `a >= b`: greater, or equal as [`equal`] has it.
pub fn greater_or_equal(a: &Value, b: &Value) -> Result<Value, OpError> {
    or(&greater(a, b)?, &equal(a, b))
}
