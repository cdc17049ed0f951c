//! count, for_each and enabled to instances.
//!
//! Source: Terraform `internal/terraform/eval_count.go`, `eval_for_each.go`. A value that must be known to tell which
//! instances exist is refused while unknown: a plan never guesses.

use std::{collections::BTreeMap, sync::Arc};

use ashlar_config::{ModuleCall, ResourceConfig};
use ashlar_diag::{Diag, Diags};
use ashlar_eval::{Blame, Scope, evaluate, named};
use ashlar_syntax::Expr;
use ashlar_value::{Data, Mark, Type, Value, convert};

use crate::values::Expansion;

const COUNT: &str = "Invalid count argument";
const FOR_EACH: &str = "Invalid for_each argument";
const ENABLED: &str = "Invalid enabled argument";

/// The instances of a block with these arguments.
pub fn expand(count: Option<&Expr>, for_each: Option<&Expr>, scope: &dyn Scope) -> Result<Expansion, Diags> {
    match (count, for_each) {
        (Some(expr), _) => expand_count(expr, scope).map(Expansion::Count),
        (None, Some(expr)) => expand_for_each(expr, scope).map(Expansion::ForEach),
        (None, None) => Ok(Expansion::Single),
    }
}

/// The instances of a resource: as [`expand`], or one that may be switched off (OpenTofu).
pub fn expand_resource(config: &ResourceConfig, scope: &dyn Scope) -> Result<Expansion, Diags> {
    match &config.lifecycle.enabled {
        Some(enabled) => expand_enabled(&enabled.expr, scope).map(Expansion::Switched),
        None => expand(config.count.as_ref(), config.for_each.as_ref(), scope),
    }
}

/// The instances of a called module, likewise.
pub(crate) fn expand_call(call: &ModuleCall, scope: &dyn Scope) -> Result<Expansion, Diags> {
    match &call.enabled {
        Some(enabled) => expand_enabled(&enabled.expr, scope).map(Expansion::Switched),
        None => expand(call.count.as_ref(), call.for_each.as_ref(), scope),
    }
}

/// Source: OpenTofu `internal/lang/evalchecks/eval_lifecycle_enabled.go`.
fn expand_enabled(expr: &Expr, scope: &dyn Scope) -> Result<bool, Diags> {
    let blame = |blame: Blame, detail: &str| fault(ENABLED, detail, expr, scope, blame);
    let fail = |detail: &str| blame(Blame::Content, detail);
    let value = value_of(expr, scope)?;
    if value.marks().contains(Mark::Sensitive) {
        return Err(blame(
            Blame::Sensitive,
            "The enabled value is sensitive, and whether there is an instance would show it. Use a value that is not.",
        ));
    }
    if value.marks().contains(Mark::Ephemeral) {
        return Err(blame(
            Blame::Ephemeral,
            "The enabled value is ephemeral, so it may differ between plan and apply; use a lasting value.",
        ));
    }
    let (value, _) = value.unmark();
    if value.is_null() {
        return Err(fail("The enabled value is null; it must be true or false."));
    }
    if !value.is_known() {
        return Err(blame(
            Blame::Unknown,
            "The enabled value depends on attributes that are not known before apply, so it cannot be told whether there is an \
             instance. Make it depend on known values only, or apply what it depends on first.",
        ));
    }
    let value = convert(&value, &Type::Bool)
        .map_err(|fault| fail(&format!("The enabled value is unsuitable: {}.", fault.message)))?;
    value
        .as_bool()
        .ok_or_else(|| fail("The enabled value is null; it must be true or false."))
}

fn value_of(expr: &Expr, scope: &dyn Scope) -> Result<Value, Diags> {
    let (value, diags) = evaluate(expr, scope);
    if diags.has_errors() { Err(diags) } else { Ok(value) }
}

/// The fault of an argument, with what the names in it stand for.
fn fault(summary: &'static str, detail: &str, expr: &Expr, scope: &dyn Scope, blame: Blame) -> Diags {
    let values = named(expr, scope, blame);
    Diag::error(summary, detail).at(expr.span).naming(values).into()
}

fn expand_count(expr: &Expr, scope: &dyn Scope) -> Result<i64, Diags> {
    let blame = |blame: Blame, detail: &str| fault(COUNT, detail, expr, scope, blame);
    let fail = |detail: &str| blame(Blame::Content, detail);
    let value = value_of(expr, scope)?;
    if value.marks().contains(Mark::Ephemeral) {
        return Err(blame(
            Blame::Ephemeral,
            "The count value is ephemeral, so it may differ between plan and apply; use a lasting value.",
        ));
    }
    let (value, _) = value.unmark();
    if value.is_null() {
        return Err(fail("The count value is null; it must be a whole number."));
    }
    if !value.is_known() {
        return Err(blame(
            Blame::Unknown,
            "The count value depends on attributes that are not known before apply, so it cannot be told how many \
             instances there will be. Make it depend on known values only, or apply what it depends on first.",
        ));
    }
    let number = convert(&value, &Type::Number)
        .map_err(|fault| fail(&format!("The count value is unsuitable: {}.", fault.message)))?;
    let Some(number) = number.as_number() else {
        return Err(fail("The count value is null; it must be a whole number."));
    };
    match number.to_i64() {
        Some(count) if (0..=i64::from(i32::MAX)).contains(&count) => Ok(count),
        Some(count) if count < 0 => Err(fail("The count value is unsuitable: it must not be negative.")),
        _ => Err(fail("The count value is unsuitable: it must be a whole number.")),
    }
}

fn expand_for_each(expr: &Expr, scope: &dyn Scope) -> Result<BTreeMap<Arc<str>, Value>, Diags> {
    let blame = |blame: Blame, detail: &str| fault(FOR_EACH, detail, expr, scope, blame);
    let fail = |summary: &'static str, detail: &str| fault(summary, detail, expr, scope, Blame::Content);
    let value = value_of(expr, scope)?;
    if value.marks().contains(Mark::Ephemeral) {
        return Err(blame(
            Blame::Ephemeral,
            "The for_each value is ephemeral, so it may differ between plan and apply; use a lasting value.",
        ));
    }
    if value.marks().contains(Mark::Sensitive) {
        return Err(blame(
            Blame::Sensitive,
            "The for_each value is sensitive, and its keys would be shown as part of addresses. Use keys that are not \
             sensitive; the values may be.",
        ));
    }
    let (value, _) = value.unmark();
    if value.is_null() {
        return Err(fail(
            FOR_EACH,
            "The for_each value is null; it must be a map, or a set of strings.",
        ));
    }
    let unknown = || {
        blame(
            Blame::Unknown,
            "The for_each value depends on attributes that are not known before apply, so it cannot be told which \
             instances there will be. Use keys that are known, with the unknown parts in the values only.",
        )
    };
    match value.data() {
        Data::Unknown(ty, _) => match ty {
            Type::Map(_) | Type::Object(_) | Type::Set(_) | Type::Dynamic => Err(unknown()),
            _ => Err(fail(FOR_EACH, &unsuitable(ty))),
        },
        Data::Map(_, entries) | Data::Object(entries) => Ok(entries
            .iter()
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect()),
        Data::Set(element, items) => {
            if items.is_empty() {
                return Ok(BTreeMap::new());
            }
            if !value.is_wholly_known() {
                return Err(unknown());
            }
            if *element != Type::String {
                let detail = format!(
                    "A for_each set must hold strings, since they become instance keys; this one holds {}.",
                    element.friendly_name()
                );
                return Err(fail("Invalid for_each set argument", &detail));
            }
            let mut each = BTreeMap::new();
            for item in items.iter() {
                let Some(key) = item.as_str() else {
                    return Err(fail(
                        "Invalid for_each set argument",
                        "A for_each set must not hold null.",
                    ));
                };
                each.insert(key.clone(), item.clone());
            }
            Ok(each)
        }
        _ => Err(fail(FOR_EACH, &unsuitable(&value.ty()))),
    }
}

fn unsuitable(ty: &Type) -> String {
    format!(
        "The for_each value must be a map, or a set of strings; this is {}.",
        ty.friendly_name()
    )
}
