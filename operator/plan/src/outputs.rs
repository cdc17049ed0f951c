//! Root outputs: evaluated, judged, compared with what state holds.
//!
//! Source: Terraform `internal/terraform/node_output.go`.

use std::sync::Arc;

use ashlar_diag::{Diag, Diags};
use ashlar_eval::evaluate;
use ashlar_state::OutputState;
use ashlar_value::{Data, Mark, Number, Type, Value, convert, ops};

use crate::{
    engine::{Engine, lock},
    instance::conditions,
    model::{Action, Check, OutputChange},
    walk::PlanWalk,
};

/// Plans one output.
pub(crate) fn visit(walk: &PlanWalk<'_>, name: &Arc<str>) -> Result<Diags, Diags> {
    let mut diags = Diags::new();
    if let Some((check, remarks)) = check_output(walk.engine, name) {
        lock(&walk.found).checks.insert(format!("output.{name}"), check);
        diags.extend(remarks);
        if diags.has_errors() {
            return Err(diags);
        }
    }
    let evaluated = evaluate_output(walk.engine, name)?;
    let change = compare(walk.state.outputs.get(name), evaluated.value, evaluated.sensitive);
    lock(&walk.found).outputs.insert(name.clone(), change);
    diags.extend(evaluated.diags);
    Ok(diags)
}

/// An output's value, fit to be kept.
pub struct Evaluated {
    /// Unmarked.
    pub value: Value,
    /// Was it declared sensitive?
    pub sensitive: bool,
    /// Warnings.
    pub diags: Diags,
}

/// The result of an output's preconditions, if it has any. With errors its value is not looked at.
pub fn check_output(engine: &Engine<'_>, name: &Arc<str>) -> Option<(Check, Diags)> {
    let output = engine.module.outputs.get(name)?;
    let summary = "Module output value precondition failed";
    let scope = engine.values.scope();
    let failed = engine.failed_condition();
    (!output.preconditions.is_empty())
        .then(|| conditions::check(&output.preconditions, &scope, summary, failed))
}

/// Evaluates an output; used while planning and again while applying.
pub fn evaluate_output(engine: &Engine<'_>, name: &Arc<str>) -> Result<Evaluated, Diags> {
    let Some(output) = engine.module.outputs.get(name) else {
        let detail = format!("There is no output named {name:?}.");
        return Err(Diag::error("Reference to undeclared output value", detail).into());
    };
    let scope = engine.values.scope();
    let (value, mut diags) = evaluate(&output.value, &scope);
    if diags.has_errors() {
        return Err(diags);
    }
    let value = output
        .defaults
        .as_ref()
        .map_or_else(|| value.clone(), |defaults| defaults.apply(&value));
    let value = convert(&value, &output.ty).map_err(|fault| {
        let place = if fault.path.is_root() {
            String::new()
        } else {
            format!(" at {}", fault.path)
        };
        let detail = format!(
            "The value does not fit the output's type{place}: {}.",
            fault.message
        );
        Diags::from(Diag::error("Invalid output value", detail).at(output.value.span))
    })?;
    let marks = value.marks_deep();
    if marks.contains(Mark::Sensitive) && !output.sensitive {
        let detail = "The value of this output holds sensitive values, and outputs are shown. Set sensitive = true in the \
                      output block to confirm that it is meant, or use nonsensitive() on what is not secret.";
        diags.push(Diag::error("Output refers to sensitive values", detail).at(output.header));
        return Err(diags);
    }
    if marks.contains(Mark::Ephemeral) {
        let detail = "The value of this output is ephemeral, but outputs of the root module are kept in state. Use a lasting value.";
        diags.push(Diag::error("Ephemeral value not allowed", detail).at(output.value.span));
        return Err(diags);
    }
    Ok(Evaluated {
        value: without_negative_zero(value.unmark_deep().0),
        sensitive: output.sensitive,
        diags,
    })
}

/// Terraform keeps planned outputs in a form that knows one zero.
fn without_negative_zero(value: Value) -> Value {
    let is_one = |value: &Value| value.as_number().is_some_and(Number::is_negative_zero);
    let mut found = false;
    value.walk(&mut |_, part| {
        found |= is_one(part);
        !found
    });
    if !found {
        return value;
    }
    let changed = value
        .transform::<ops::OpError>(&mut |_, part| Ok(if is_one(&part) { Value::number(0) } else { part }));
    changed.unwrap_or(value)
}

fn compare(before: Option<&OutputState>, after: Value, sensitive: bool) -> OutputChange {
    let was_sensitive = before.is_some_and(|before| before.sensitive);
    let action = match before {
        // A null output is not kept in state, whatever is sensitive about it.
        _ if after.is_null() && before.is_none_or(|before| before.value.is_null()) => Action::NoOp,
        None => Action::Create,
        Some(before) => {
            let same = after.is_wholly_known()
                && matches!(ops::equal(&before.value, &after).data(), Data::Bool(true));
            if same && was_sensitive == sensitive {
                Action::NoOp
            } else {
                Action::Update
            }
        }
    };
    let before = before.map_or_else(|| Value::null(Type::Dynamic), |before| before.value.clone());
    OutputChange {
        action,
        before,
        after,
        sensitive: (was_sensitive, sensitive),
    }
}

/// The change of an output that is no longer configured, or goes with everything else.
pub fn removal(before: &OutputState) -> OutputChange {
    OutputChange {
        action: Action::Delete,
        before: before.value.clone(),
        after: Value::null(Type::Dynamic),
        sensitive: (before.sensitive, before.sensitive),
    }
}
