//! `replace_triggered_by`: does a change elsewhere force this instance's replacement?
//!
//! Source: Terraform `internal/terraform/eval_context_builtin.go`, `internal/lang/evaluate.go` (`EvaluateReplaceTriggeredBy`).

use ashlar_addr::{InstanceKey, Module as ModuleAddr};
use ashlar_diag::{Diag, Diags};
use ashlar_eval::{Subject, references};
use ashlar_syntax::{Literal, Step};
use ashlar_value::{Data, Number, Path, PathStep, Type, Value, convert};

use crate::{
    engine::lock,
    instance::Instance,
    model::{Action, Change},
    walk::PlanWalk,
};

/// Does any of the instance's triggers fire? A change in place or a replacement does, a creation does not.
pub(crate) fn is_triggered(walk: &PlanWalk<'_>, instance: &Instance<'_>) -> Result<bool, Diags> {
    for expr in &instance.config.lifecycle.replace_triggered_by {
        let (found, diags) = references(expr);
        if diags.has_errors() {
            return Err(diags);
        }
        let named = found.iter().find_map(|reference| match &reference.subject {
            Subject::Resource(resource) => Some((resource, reference)),
            _ => None,
        });
        let Some((resource, reference)) = named else {
            let detail = "Only resources of this module, their instances and their attributes can trigger a replacement.";
            return Err(Diag::error("Invalid replace_triggered_by reference", detail)
                .at(expr.span)
                .into());
        };
        let key = match &reference.key {
            InstanceKey::None => dynamic_key(expr, instance)?,
            key => Some(key.clone()),
        };
        let resource = resource.within_config(ModuleAddr::root());
        let results = lock(&walk.found);
        let changes = results
            .by_resource
            .get(&resource)
            .into_iter()
            .flatten()
            .filter_map(|at| results.changes.get(*at));
        let path: Path = reference.remaining.iter().map(step).collect();
        for change in changes {
            if key.as_ref().is_none_or(|key| *key == change.address.key) && fires(change, &path) {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

/// The key of `a.b[each.key]`, which only the instance knows.
fn dynamic_key(expr: &ashlar_syntax::Expr, instance: &Instance<'_>) -> Result<Option<InstanceKey>, Diags> {
    let mut expr = expr;
    loop {
        match &expr.kind {
            ashlar_syntax::ExprKind::Relative { source, .. } => expr = source,
            ashlar_syntax::ExprKind::Index { key, .. } => {
                let scope = instance
                    .engine
                    .values
                    .instance_scope(instance.repetition.clone(), None);
                let (value, diags) = ashlar_eval::evaluate(key, &scope);
                if diags.has_errors() {
                    return Err(diags);
                }
                let (value, _) = value.unmark();
                return Ok(match value.data() {
                    Data::Number(number) => number.to_i64().map(InstanceKey::Int),
                    _ => convert(&value, &Type::String)
                        .ok()
                        .and_then(|text| text.as_str().cloned())
                        .map(InstanceKey::String),
                });
            }
            _ => return Ok(None),
        }
    }
}

fn step(step: &Step) -> PathStep {
    match step {
        Step::Attr { name, .. } => PathStep::Attr(name.clone()),
        Step::Index {
            key: Literal::Number(text),
            ..
        } => PathStep::Index(Number::parse(text).map_or_else(Value::dynamic, Value::number)),
        Step::Index {
            key: Literal::String(text),
            ..
        } => PathStep::Index(Value::string(text)),
        Step::Index { .. } => PathStep::Index(Value::dynamic()),
    }
}

fn fires(change: &Change, path: &Path) -> bool {
    if !(change.action == Action::Update || change.action.is_replace()) {
        return false;
    }
    if path.is_root() {
        return true;
    }
    match (path.apply(&change.before), path.apply(&change.after)) {
        (Ok(before), Ok(after)) => before.unmark_deep().0 != after.unmark_deep().0,
        _ => true,
    }
}
