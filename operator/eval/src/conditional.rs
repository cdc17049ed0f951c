//! `condition ? yes : no`: both arms are evaluated and give the type, one gives value and faults.
//!
//! Rules: hcl `ConditionalExpr`.

use ashlar_diag::{Diag, Diags};
use ashlar_syntax::Expr;
use ashlar_value::{Bound, Data, Marks, Number, Refinement, Type, Value, convert, ops, unify};

use crate::evaluate::{Eval, Frame};

const INCONSISTENT: &str = "Inconsistent conditional result types";

impl Eval<'_> {
    pub(crate) fn conditional(
        &self,
        expr: &Expr,
        condition: &Expr,
        yes: &Expr,
        no: &Expr,
        frame: &Frame<'_>,
        diags: &mut Diags,
    ) -> Value {
        let (mut yes_diags, mut no_diags) = (Diags::new(), Diags::new());
        let yes_value = self.expr(yes, frame, &mut yes_diags);
        let no_value = self.expr(no, frame, &mut no_diags);
        let Some(ty) = result_type(&yes_value, &no_value) else {
            let why = mismatch(&yes_value.ty(), &no_value.ty());
            let detail = format!("Both results must have one type, whichever is chosen. {why}.");
            diags.push(
                Diag::error(INCONSISTENT, detail)
                    .at(yes.span.to(no.span))
                    .within(expr.span),
            );
            return Value::dynamic();
        };
        let chosen = self.expr(condition, frame, diags);
        if chosen.is_null() {
            let detail = "The condition is null; it must be true or false.";
            diags.push(
                Diag::error("Null condition", detail)
                    .at(condition.span)
                    .within(expr.span),
            );
            return Value::unknown(ty);
        }
        let ((chosen, marks), (yes_value, yes_marks), (no_value, no_marks)) =
            (chosen.unmark(), yes_value.unmark(), no_value.unmark());
        let marks = marks.union(yes_marks).union(no_marks);
        if !chosen.is_known() {
            return either(&ty, &yes_value, &no_value).with_marks(marks);
        }
        let chosen = match convert(&chosen, &Type::Bool) {
            Ok(value) => value.as_bool() == Some(true),
            Err(error) => {
                let detail = format!("The condition must be true or false: {}.", error.message);
                diags.push(
                    Diag::error("Incorrect condition type", detail)
                        .at(condition.span)
                        .within(expr.span),
                );
                return Value::unknown(ty);
            }
        };
        let (arm, value, arm_diags, which) = if chosen {
            (yes, yes_value, yes_diags, "first")
        } else {
            (no, no_value, no_diags, "second")
        };
        diags.extend(arm_diags);
        if ty == Type::Dynamic {
            return value.with_marks(marks);
        }
        let value = convert(&value, &ty).unwrap_or_else(|error| {
            let detail = format!(
                "The {which} result has not the type of both together: {}.",
                error.message
            );
            diags.push(Diag::error(INCONSISTENT, detail).at(arm.span).within(expr.span));
            Value::unknown(ty)
        });
        value.with_marks(marks)
    }
}

/// The type of the result; `None` if the arms have no common type. Dynamic means: no conversion.
fn result_type(yes: &Value, no: &Value) -> Option<Type> {
    let bare_null =
        |value: &Value| value.marks() == Marks::NONE && matches!(value.data(), Data::Null(Type::Dynamic));
    let (yes_type, no_type) = (yes.ty(), no.ty());
    if bare_null(yes) {
        Some(no_type)
    } else if bare_null(no) {
        Some(yes_type)
    } else if yes_type == Type::Dynamic || no_type == Type::Dynamic {
        Some(Type::Dynamic)
    } else if yes_type == no_type {
        Some(yes_type)
    } else {
        unify(&[yes_type, no_type])
    }
}

/// The result while the condition is unknown: what is true of both arms is true of it.
fn either(ty: &Type, yes: &Value, no: &Value) -> Value {
    if yes.is_null() && no.is_null() {
        return Value::null(ty.clone());
    }
    let not_null = yes.is_not_null() && no.is_not_null();
    let (yes_type, no_type) = (yes.ty(), no.ty());
    let mut refinement = Refinement {
        not_null,
        ..Refinement::default()
    };
    let (yes_range, no_range) = (ops::range(yes), ops::range(no));
    if yes_type == Type::Number && no_type == Type::Number {
        refinement.min = outer(yes_range.min, no_range.min, |a, b| a.compare(b).is_lt());
        refinement.max = outer(yes_range.max, no_range.max, |a, b| a.compare(b).is_gt());
    } else if yes_type.is_collection() && yes_type == no_type {
        refinement.length_min = yes_range
            .length_min
            .zip(no_range.length_min)
            .map(|(a, b)| a.min(b));
        refinement.length_max = yes_range
            .length_max
            .zip(no_range.length_max)
            .map(|(a, b)| a.max(b));
    }
    ops::unknown_refined(ty.clone(), refinement)
}

/// The bound that lies further out; none if either side has none.
fn outer(a: Option<Bound>, b: Option<Bound>, further: impl Fn(&Number, &Number) -> bool) -> Option<Bound> {
    let (a, b) = (a?, b?);
    Some(if further(&a.value, &b.value) {
        a
    } else if further(&b.value, &a.value) {
        b
    } else {
        Bound {
            inclusive: a.inclusive || b.inclusive,
            ..a
        }
    })
}

/// In words, how the types of the arms differ.
fn mismatch(yes: &Type, no: &Type) -> String {
    match (yes, no) {
        (Type::Object(a), Type::Object(b)) => {
            if let Some(attr) = a.attrs().iter().find(|attr| b.get(&attr.name).is_none()) {
                return format!(
                    "The first has the attribute {:?}, which the second lacks",
                    &*attr.name
                );
            }
            if let Some(attr) = b.attrs().iter().find(|attr| a.get(&attr.name).is_none()) {
                return format!(
                    "The second has the attribute {:?}, which the first lacks",
                    &*attr.name
                );
            }
            let differing = a.attrs().iter().find_map(|attr| {
                let other = b.get(&attr.name)?;
                (attr.ty != other.ty).then_some((&attr.name, &attr.ty, &other.ty))
            });
            if let Some((name, a, b)) = differing {
                return format!("They differ in the attribute {:?}: {}", &**name, mismatch(a, b));
            }
        }
        (Type::Tuple(a), Type::Tuple(b)) => {
            if a.len() != b.len() {
                return format!(
                    "The first is a tuple of {}, the second of {} elements",
                    a.len(),
                    b.len()
                );
            }
            if let Some((at, (a, b))) = a.iter().zip(b.iter()).enumerate().find(|(_, (a, b))| a != b) {
                return format!("They differ in the element {at}: {}", mismatch(a, b));
            }
        }
        (Type::List(a), Type::List(b)) | (Type::Set(a), Type::Set(b)) | (Type::Map(a), Type::Map(b))
            if a != b =>
        {
            return format!("Their elements differ: {}", mismatch(a, b));
        }
        _ => {}
    }
    format!(
        "The first is {}, the second is {}",
        yes.friendly_name(),
        no.friendly_name()
    )
}
