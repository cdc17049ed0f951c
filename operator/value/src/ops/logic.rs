//! `!`, `&&` and `||` on values of type bool.

use crate::{Data, Marks, Refinement, Type, Value, ops::OpError};

use super::refine::unknown_refined;

/// Bool operands without marks: the known truth, or `None` while unknown.
fn operand(value: &Value) -> Result<Option<bool>, OpError> {
    match value.data() {
        Data::Bool(truth) => Ok(Some(*truth)),
        Data::Unknown(Type::Bool | Type::Dynamic, _) => Ok(None),
        Data::Null(_) => Err(OpError::new("a bool is required, but the value is null")),
        _ => Err(OpError::new(format!(
            "a bool is required, but the value is {}",
            value.ty().friendly_name()
        ))),
    }
}

fn result(truth: Option<bool>, marks: Marks) -> Value {
    truth.map_or_else(unknown_bool, Value::bool).with_marks(marks)
}

/// What comparisons and logic give while an operand is unknown: a bool that will not be null.
pub(super) fn unknown_bool() -> Value {
    unknown_refined(Type::Bool, Refinement::not_null())
}

/// The opposite truth.
pub fn not(value: &Value) -> Result<Value, OpError> {
    Ok(result(operand(value)?.map(|truth| !truth), value.marks()))
}

/// True if both are; a known false decides over an unknown.
pub fn and(a: &Value, b: &Value) -> Result<Value, OpError> {
    let truth = match (operand(a)?, operand(b)?) {
        (Some(false), _) | (_, Some(false)) => Some(false),
        (Some(true), Some(true)) => Some(true),
        _ => None,
    };
    Ok(result(truth, a.marks().union(b.marks())))
}

/// True if either is; a known true decides over an unknown.
pub fn or(a: &Value, b: &Value) -> Result<Value, OpError> {
    let truth = match (operand(a)?, operand(b)?) {
        (Some(true), _) | (_, Some(true)) => Some(true),
        (Some(false), Some(false)) => Some(false),
        _ => None,
    };
    Ok(result(truth, a.marks().union(b.marks())))
}
