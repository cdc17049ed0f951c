//! `count` and `for_each` as far as they can be judged before planning.
//!
//! Rules: Terraform `eval_count.go`, `eval_for_each.go` (`ValidateResourceValue`).

use ashlar_diag::{Diag, Diags};
use ashlar_eval::{Scope, evaluate, evaluate_as};
use ashlar_syntax::Expr;
use ashlar_value::{Data, Dialect, Mark, Type, Value};

use super::scope::StaticScope;

const EPHEMERAL: &str =
    "The value is ephemeral, so it may differ between plan and apply. Use a lasting value.";

/// Faults of a `count`.
pub(super) fn count(expr: &Expr, scope: &StaticScope<'_, '_>) -> Diags {
    let (value, mut diags) = evaluate_as(expr, &Type::Number, scope);
    if diags.has_errors() {
        return diags;
    }
    let value = scope.used(value, expr, &mut diags);
    let mut fail = |detail: &str| diags.push(Diag::error("Invalid count argument", detail).at(expr.span));
    if value.marks().contains(Mark::Ephemeral) {
        fail(EPHEMERAL);
    }
    match value.data() {
        Data::Null(_) => fail("The value is null. It must be a whole number."),
        Data::Number(number) => match number.to_i64() {
            None => fail("The value must be a whole number."),
            Some(count) if count < 0 => fail("The value must not be negative."),
            Some(_) => {}
        },
        _ => {}
    }
    diags
}

/// Faults of a `for_each`.
pub(super) fn for_each(expr: &Expr, scope: &StaticScope<'_, '_>) -> Diags {
    let (value, mut diags) = evaluate(expr, scope);
    if diags.has_errors() {
        return diags;
    }
    let value = scope.used(value, expr, &mut diags);
    diags.extend(for_each_value(&value, expr, scope.dialect()));
    diags
}

/// Faults of the value of a `for_each`.
pub(crate) fn for_each_value(value: &Value, expr: &Expr, dialect: Dialect) -> Diags {
    let mut diags = Diags::new();
    let mut fail = |detail: &str| diags.push(Diag::error("Invalid for_each argument", detail).at(expr.span));
    if value.marks().contains(Mark::Sensitive) {
        fail(
            "The value is sensitive, and its keys would be shown as part of addresses. Use keys that are not sensitive.",
        );
    }
    if value.marks().contains(Mark::Ephemeral) {
        fail(EPHEMERAL);
    }
    if !value.marks().is_empty() {
        return diags;
    }
    match value.data() {
        Data::Null(_) => fail("The value is null. It must be a map, or a set of strings."),
        Data::Unknown(Type::Dynamic | Type::Map(_) | Type::Set(_) | Type::Object(_), _)
        | Data::Map(..)
        | Data::Object(_) => {}
        Data::Set(element, items) => {
            let fault = set_fault(value, element, items, expr);
            diags.extend(fault.map(|diag| match dialect {
                Dialect::Terraform => diag,
                Dialect::OpenTofu => Diag {
                    summary: "Invalid for_each argument".into(),
                    ..diag
                },
            }));
        }
        _ => fail(&format!(
            "The value must be a map, or a set of strings; this is {}.",
            value.ty().friendly_name()
        )),
    }
    diags
}

fn set_fault(value: &Value, element: &Type, items: &[Value], expr: &Expr) -> Option<Diag> {
    if items.is_empty() || !value.is_wholly_known() {
        return None;
    }
    let detail = if *element != Type::String {
        format!(
            "The members of the set become instance keys, so they must be strings; these are {}.",
            element.friendly_name()
        )
    } else if items.iter().any(Value::is_null) {
        "The members of the set become instance keys, so none may be null.".to_owned()
    } else {
        return None;
    };
    Some(Diag::error("Invalid for_each set argument", detail).at(expr.span))
}
