//! `replace_triggered_by`: does a change elsewhere force this instance's replacement?
//!
//! Source: Terraform `internal/terraform/evaluate_triggers.go` and `EvaluateReplaceTriggeredBy` in
//! `internal/terraform/eval_context_builtin.go`.

use ashlar_addr::InstanceKey;
use ashlar_diag::{Diag, Diags};
use ashlar_eval::{Reference, Subject, undeclared};
use ashlar_syntax::{Expr, Literal, Step};
use ashlar_value::{Number, Type, Value, ops};

use crate::{
    engine::lock,
    instance::Instance,
    model::{Action, Change, Mode},
    static_traversal::static_traversal,
    walk::PlanWalk,
};

const INVALID: &str = "Invalid replace_triggered_by expression";

/// Does any of the instance's triggers fire? A change in place or a replacement does, a creation does not.
pub(crate) fn is_triggered(walk: &PlanWalk<'_, '_>, instance: &Instance<'_, '_>) -> Result<bool, Diags> {
    if walk.options.mode == Mode::RefreshOnly {
        return Ok(false);
    }
    let mut diags = Diags::new();
    let mut triggers = instance.config.lifecycle.replace_triggered_by.iter();
    let fired = triggers.any(|expr| diags.take(fires(walk, instance, expr)) == Some(true));
    if diags.has_errors() { Err(diags) } else { Ok(fired) }
}

fn fires(walk: &PlanWalk<'_, '_>, instance: &Instance<'_, '_>, expr: &Expr) -> Result<bool, Diags> {
    let traversal = static_traversal(expr, &instance.repetition, unexpected)?;
    let reference = match Reference::parse(&traversal)? {
        Some(reference) => reference,
        None => return Err(unexpected(expr)),
    };
    let Subject::Resource(named) = &reference.subject else {
        return Err(unexpected(expr));
    };
    let Some(config) = instance.module.module().resources.get(named) else {
        let detail = format!("A resource {named} is not declared, so it cannot trigger anything.");
        return Err(Diag::error("Reference to undeclared resource", detail)
            .at(expr.span)
            .into());
    };
    let found = lock(&walk.found);
    let planned = found
        .by_resource
        .get(&named.within(instance.module.address.clone()));
    let Some(planned) = planned else {
        return Err(no_change(&reference));
    };
    if reference.key == InstanceKey::None && reference.remaining.is_empty() {
        return Ok(planned.is_altered);
    }
    let at = match &reference.key {
        InstanceKey::None => planned.current.values().next(),
        key => planned.current.get(key),
    };
    let Some(change) = at.and_then(|at| found.changes.get(*at)) else {
        return Err(no_change(&reference));
    };
    if !(change.action == Action::Update || change.action.is_replace()) {
        return Ok(false);
    }
    let schema = walk
        .engine
        .resource_schema(&config.provider_config.provider, named)?;
    let faults = undeclared::steps(reference.remaining, &schema.block);
    if faults.has_errors() {
        return Err(faults);
    }
    Ok(differs(change, reference.remaining))
}

/// Is what the steps lead to another after the change, marks included? What is missing on both sides is not.
fn differs(change: &Change, steps: &[Step]) -> bool {
    follow(&change.before, steps) != follow(&change.after, steps)
}

/// The value that the steps lead to; `None` if they lead nowhere. A name leads to an attribute only, never to an element of
/// a map, and nothing leads into a value whose type is not known.
fn follow(value: &Value, steps: &[Step]) -> Option<Value> {
    steps
        .iter()
        .try_fold(value.clone(), |value, step| match (step, value.ty()) {
            (Step::Attr { name, .. }, Type::Object(_)) => ops::get_attr(&value, name).ok(),
            (Step::Index { key, .. }, ty) => match (key, ty) {
                (Literal::Number(text), Type::List(_) | Type::Tuple(_)) => {
                    ops::index(&value, &Value::number(Number::parse(text)?)).ok()
                }
                (Literal::String(name), Type::Map(_)) => ops::index(&value, &Value::string(name)).ok(),
                _ => None,
            },
            _ => None,
        })
}

fn unexpected(expr: &Expr) -> Diags {
    let detail = "Name a resource, one of its instances by a constant, count.index or each.key, or an attribute of it.";
    Diag::error(INVALID, detail).at(expr.span).into()
}

fn no_change(reference: &Reference<'_>) -> Diags {
    let subject = match &reference.subject {
        Subject::Resource(resource) => resource.to_string(),
        _ => String::new(),
    };
    let detail = "replace_triggered_by names something that this plan does not hold: an instance that does not exist, a \
                  resource without instances, or a data source that is read at once. Name what is managed.";
    let summary = format!(
        "no change found for {subject}{} in the root module",
        reference.key
    );
    Diag::error(summary, detail).into()
}
