//! Operators, as hcl's `expression_ops.go`: operands are converted, null is refused except by `==`, and `&&` and `||`
//! are decided by one side where that is enough, the other side's faults dropped.

use ashlar_diag::{Diag, Diags, Span};
use ashlar_syntax::{BinaryOp, Expr, ExprKind, UnaryOp};
use ashlar_value::{
    Type, Value, convert,
    ops::{self, OpError},
};

use crate::evaluate::{Eval, Frame};

/// An operand with the faults met on the way to it.
struct Operand {
    value: Value,
    diags: Diags,
    span: Span,
}

impl Eval<'_> {
    /// A chain of left operands is walked in a loop, so that long sums need no deep stack.
    pub(crate) fn binary(&self, expr: &Expr, frame: &Frame<'_>, diags: &mut Diags) -> Value {
        let mut spine = Vec::new();
        let mut innermost = expr;
        while let ExprKind::Binary { op, left, right } = &innermost.kind {
            spine.push((*op, &**right, innermost.span));
            innermost = left;
        }
        let mut left = self.operand(innermost, frame);
        while let Some((op, right, span)) = spine.pop() {
            let right = self.operand(right, frame);
            left = apply(op, left, right, span);
        }
        diags.extend(left.diags);
        left.value
    }

    fn operand(&self, expr: &Expr, frame: &Frame<'_>) -> Operand {
        let mut diags = Diags::new();
        let value = self.expr(expr, frame, &mut diags);
        Operand {
            value,
            diags,
            span: expr.span,
        }
    }

    pub(crate) fn unary(
        &self,
        expr: &Expr,
        op: UnaryOp,
        operand: &Expr,
        frame: &Frame<'_>,
        diags: &mut Diags,
    ) -> Value {
        let given = self.operand(operand, frame);
        let ty = match op {
            UnaryOp::Negate => Type::Number,
            UnaryOp::Not => Type::Bool,
        };
        let mut faults = given.diags;
        let value = convert(&given.value, &ty).unwrap_or_else(|error| {
            faults.push(invalid("The", given.span, expr.span, &error.message));
            Value::unknown(ty.clone())
        });
        let result = if faults.has_errors() {
            Value::unknown(ty)
        } else if value.is_null() {
            faults.push(null_operand(expr.span));
            Value::unknown(ty)
        } else {
            let result = match op {
                // As in hcl the marks of what is not known yet are gone.
                _ if !value.is_known() => Ok(ops::refine_not_null(Value::unknown(ty.clone()))),
                UnaryOp::Negate => ops::negate(&value),
                UnaryOp::Not => ops::not(&value),
            };
            result.unwrap_or_else(|error| {
                faults.push(failed(error.message(), expr.span));
                Value::unknown(ty)
            })
        };
        diags.extend(faults);
        result
    }
}

fn operand_type(op: BinaryOp) -> Type {
    match op {
        BinaryOp::Or | BinaryOp::And => Type::Bool,
        BinaryOp::Equal | BinaryOp::NotEqual => Type::Dynamic,
        _ => Type::Number,
    }
}

fn result_type(op: BinaryOp) -> Type {
    match op {
        BinaryOp::Add | BinaryOp::Subtract | BinaryOp::Multiply | BinaryOp::Divide | BinaryOp::Modulo => {
            Type::Number
        }
        _ => Type::Bool,
    }
}

fn invalid(which: &str, subject: Span, context: Span, why: &str) -> Diag {
    Diag::error(
        "Invalid operand",
        format!("{which} operand does not suit the operator: {why}."),
    )
    .at(subject)
    .within(context)
}

fn failed(why: &str, span: Span) -> Diag {
    Diag::error(
        "Operation failed",
        format!("The operator gives no result: {why}."),
    )
    .at(span)
}

fn null_operand(span: Span) -> Diag {
    Diag::error(
        "Operation failed",
        "An operand is null, and this operator needs a value. Check for null first.",
    )
    .at(span)
}

fn apply(op: BinaryOp, left: Operand, right: Operand, span: Span) -> Operand {
    let ty = operand_type(op);
    let mut faults = Diags::new();
    let mut fit = |operand: &Operand, which: &str| {
        convert(&operand.value, &ty).unwrap_or_else(|error| {
            faults.push(invalid(which, operand.span, span, &error.message));
            Value::unknown(ty.clone())
        })
    };
    let a = fit(&left, "The left");
    let b = fit(&right, "The right");
    if faults.has_errors() {
        faults.extend(left.diags);
        faults.extend(right.diags);
        return Operand {
            value: Value::unknown(result_type(op)),
            diags: faults,
            span,
        };
    }
    let ((a, a_marks), (b, b_marks)) = (a.unmark(), b.unmark());
    let marks = a_marks.union(b_marks);
    if let Some((value, side)) = short_circuit(op, &a, &b, left.diags.has_errors()) {
        let diags = match side {
            Side::Left => left.diags,
            Side::Right => right.diags,
        };
        return Operand {
            value: value.with_marks(marks),
            diags,
            span,
        };
    }
    let mut diags = left.diags;
    diags.extend(right.diags);
    if diags.has_errors() {
        return Operand {
            value: Value::unknown(result_type(op)).with_marks(marks),
            diags,
            span,
        };
    }
    if ty != Type::Dynamic && (a.is_null() || b.is_null()) {
        diags.push(null_operand(span));
        return Operand {
            value: Value::unknown(result_type(op)),
            diags,
            span,
        };
    }
    // Equality looks at everything inside, so it takes over all marks; the others know only primitives.
    let ((a, a_marks), (b, b_marks)) = (a.unmark_deep(), b.unmark_deep());
    let marks = marks.union(a_marks).union(b_marks);
    match compute(op, &a, &b) {
        Ok(value) => Operand {
            value: value.with_marks(marks),
            diags,
            span,
        },
        Err(error) => {
            diags.push(failed(error.message(), span));
            Operand {
                value: Value::unknown(result_type(op)),
                diags,
                span,
            }
        }
    }
}

/// Whose faults count when one operand decides.
enum Side {
    Left,
    Right,
}

fn short_circuit(op: BinaryOp, a: &Value, b: &Value, left_failed: bool) -> Option<(Value, Side)> {
    // The operand value that decides alone: true for ||, false for &&. Null counts as false.
    let decisive = match op {
        BinaryOp::Or => true,
        BinaryOp::And => false,
        _ => return None,
    };
    let truth = |value: &Value| value.is_known().then(|| value.as_bool() == Some(true));
    let unknown = || ops::refine_not_null(Value::unknown(Type::Bool));
    match (truth(a), truth(b)) {
        (None, None) => (!left_failed).then(|| (unknown(), Side::Left)),
        (Some(a), _) if a == decisive => Some((Value::bool(decisive), Side::Left)),
        (_, Some(b)) if b == decisive => Some((Value::bool(decisive), Side::Right)),
        (None, Some(_)) => Some((unknown(), Side::Left)),
        (Some(_), None) => Some((unknown(), Side::Right)),
        (Some(_), Some(_)) => None,
    }
}

fn compute(op: BinaryOp, a: &Value, b: &Value) -> Result<Value, OpError> {
    // Arithmetic promises nothing of an unknown result but that it is not null, whatever bounds the operands have.
    if result_type(op) == Type::Number && !(a.is_known() && b.is_known()) {
        return Ok(ops::refine_not_null(Value::unknown(Type::Number)));
    }
    match op {
        BinaryOp::Or => ops::or(a, b),
        BinaryOp::And => ops::and(a, b),
        BinaryOp::Equal => Ok(ops::equal(a, b)),
        BinaryOp::NotEqual => Ok(ops::not_equal(a, b)),
        BinaryOp::Greater => ops::greater(a, b),
        BinaryOp::GreaterOrEqual => ops::greater_or_equal(a, b),
        BinaryOp::Less => ops::less(a, b),
        BinaryOp::LessOrEqual => ops::less_or_equal(a, b),
        BinaryOp::Add => ops::add(a, b),
        BinaryOp::Subtract => ops::subtract(a, b),
        BinaryOp::Multiply => ops::multiply(a, b),
        BinaryOp::Divide => ops::divide(a, b),
        BinaryOp::Modulo => ops::modulo(a, b),
    }
}
