//! Arithmetic on numbers.
//!
//! Precision of results is that of Go's `big.Float` as cty uses it; see [`Number`].

use crate::{Bound, Data, Number, Refinement, Type, Value, ops::OpError};

use super::{
    compare::check_number,
    refine::{highest, lowest, range, unknown_refined},
};

/// `-a`
pub fn negate(a: &Value) -> Result<Value, OpError> {
    check_number(a)?;
    let result = match a.data() {
        Data::Number(number) => Value::number(number.negate()),
        _ => unknown_number(Refinement::not_null()),
    };
    Ok(result.with_marks(a.marks()))
}

/// The number without its sign.
pub fn absolute(a: &Value) -> Result<Value, OpError> {
    check_number(a)?;
    let result = match a.data() {
        Data::Number(number) => Value::number(number.abs()),
        _ => unknown_number(Refinement {
            min: Some(Bound {
                value: Number::from(0),
                inclusive: true,
            }),
            ..Refinement::not_null()
        }),
    };
    Ok(result.with_marks(a.marks()))
}

/// `a + b`
pub fn add(a: &Value, b: &Value) -> Result<Value, OpError> {
    binary(a, b, Number::add, Unknown::Bounded)
}

/// `a - b`
pub fn subtract(a: &Value, b: &Value) -> Result<Value, OpError> {
    binary(a, b, Number::subtract, Unknown::Bounded)
}

/// `a * b`
pub fn multiply(a: &Value, b: &Value) -> Result<Value, OpError> {
    binary(a, b, Number::multiply, Unknown::Bounded)
}

/// `a / b`; by zero it is infinite, and zero by zero is an error.
pub fn divide(a: &Value, b: &Value) -> Result<Value, OpError> {
    binary(a, b, Number::divide, Unknown::Free)
}

/// `a % b`, with the sign of `a`; `a % 0` is `a`.
pub fn modulo(a: &Value, b: &Value) -> Result<Value, OpError> {
    binary(a, b, Number::modulo, Unknown::Free)
}

/// What can be said of the result while an operand is unknown.
#[derive(Clone, Copy, PartialEq)]
enum Unknown {
    /// The operation is monotone in each operand: the results at the corners of the operands' ranges bound it.
    Bounded,
    /// Only that it is not null.
    Free,
}

type Operation = fn(&Number, &Number) -> Option<Number>;

fn binary(a: &Value, b: &Value, operation: Operation, unknown: Unknown) -> Result<Value, OpError> {
    check_number(a)?;
    check_number(b)?;
    let result = match (a.data(), b.data()) {
        (Data::Number(a), Data::Number(b)) => operation(a, b).map(Value::number).ok_or_else(|| {
            OpError::new("the result of this operation on zero or infinity is not a number")
        })?,
        _ if unknown == Unknown::Bounded && is_typed(a) && is_typed(b) => {
            unknown_number(corners(&range(a), &range(b), operation))
        }
        _ => unknown_number(Refinement::not_null()),
    };
    Ok(result.with_marks(a.marks().union(b.marks())))
}

fn is_typed(value: &Value) -> bool {
    !matches!(value.data(), Data::Unknown(Type::Dynamic, _))
}

fn unknown_number(facts: Refinement) -> Value {
    unknown_refined(Type::Number, facts)
}

/// Interval arithmetic; bounds are inclusive whatever those of the operands were. One corner without a result, such as
/// infinity minus infinity, leaves the result unbounded.
fn corners(a: &Refinement, b: &Refinement, operation: Operation) -> Refinement {
    let (a, b) = ([lowest(a), highest(a)], [lowest(b), highest(b)]);
    let mut results = a.iter().flat_map(|a| b.iter().map(move |b| operation(a, b)));
    let Some(Some(first)) = results.next() else {
        return Refinement::not_null();
    };
    let (mut min, mut max) = (first.clone(), first);
    for result in results {
        let Some(result) = result else {
            return Refinement::not_null();
        };
        if result.compare(&min).is_lt() {
            min = result.clone();
        }
        if result.compare(&max).is_gt() {
            max = result;
        }
    }
    let bound = |value: Number| {
        (!value.is_infinite()).then_some(Bound {
            value,
            inclusive: true,
        })
    };
    Refinement {
        min: bound(min),
        max: bound(max),
        ..Refinement::not_null()
    }
}
