//! Outputs: evaluated and judged; those of the root module compared with what state holds.
//!
//! Source: Terraform `internal/terraform/node_output.go`.

use std::sync::Arc;

use ashlar_addr::Module as ModuleAddr;
use ashlar_diag::{Diag, Diags, Severity};
use ashlar_eval::evaluate;
use ashlar_state::OutputState;
use ashlar_value::{Data, Mark, Number, Type, Value, convert, ops};

use crate::{
    engine::lock,
    instance::conditions,
    model::{Action, Check, OutputChange},
    parts::{checked_address, in_each, seen_outside},
    values::ModuleValues,
    walk::PlanWalk,
};

/// Plans an output of the root module, or evaluates one of a called module for who calls it.
pub(crate) fn visit(walk: &PlanWalk<'_, '_>, module: &ModuleAddr, name: &Arc<str>) -> Result<Diags, Diags> {
    in_each(&*walk.engine.values.instances(module), |instance| {
        let (check, result) = judge(instance, name, None, walk.engine.failed_condition());
        let mut found = lock(&walk.found);
        if let Some(check) = check {
            found
                .checks
                .insert(checked_address(&instance.address, "output", name), check);
        }
        let (value, sensitive, diags) = match result {
            Ok(Evaluated {
                value,
                sensitive,
                diags,
            }) => (value, sensitive, diags),
            Err(diags) => return diags,
        };
        if module.is_root() {
            let change = compare(walk.state.outputs.get(name), value, sensitive);
            found.outputs.insert(name.clone(), change);
        } else {
            let declared = instance.module().outputs.get(name);
            if !value.is_null() && declared.is_some_and(|output| !output.ephemeral) {
                let all = found.module_outputs.entry(instance.address.clone());
                all.or_default().insert(name.clone());
            }
            instance.set_output(name, value);
        }
        diags
    })
}

/// An output's value. That of the root module is fit to be kept; that of another is as its caller sees it.
pub struct Evaluated {
    /// Unmarked in the root module.
    pub value: Value,
    /// Was it declared sensitive?
    pub sensitive: bool,
    /// Warnings.
    pub diags: Diags,
}

/// Decides an output's preconditions, if it has any, and evaluates it where none of them forbids that. Used while planning
/// and again while applying, when it may be `known` already. A precondition that does not hold is `failed`.
pub fn judge(
    module: &ModuleValues<'_>,
    name: &Arc<str>,
    known: Option<&Value>,
    failed: Severity,
) -> (Option<Check>, Result<Evaluated, Diags>) {
    let Some(output) = module.module().outputs.get(name) else {
        let detail = format!("There is no output named {name:?}.");
        let fault = Diag::error("Reference to undeclared output value", detail);
        return (None, Err(fault.into()));
    };
    let mut check = None;
    let mut diags = Diags::new();
    if !output.preconditions.is_empty() {
        let summary = "Module output value precondition failed";
        let (found, remarks) = conditions::check(&output.preconditions, &module.scope(), summary, failed);
        check = Some(found);
        diags.extend(remarks);
    }
    if diags.has_errors() {
        return (check, Err(diags));
    }
    let result = match known {
        Some(value) => Ok(value.clone()),
        None => evaluate_output(module, output, &mut diags),
    };
    let result = match result {
        Ok(_) if diags.has_errors() => Err(diags),
        Ok(value) => Ok(Evaluated {
            value,
            sensitive: output.sensitive,
            diags,
        }),
        Err(faults) => {
            diags.extend(faults);
            Err(diags)
        }
    };
    (check, result)
}

fn evaluate_output(
    module: &ModuleValues<'_>,
    output: &ashlar_config::Output,
    diags: &mut Diags,
) -> Result<Value, Diags> {
    let (value, remarks) = evaluate(&output.value, &module.scope());
    if remarks.has_errors() {
        return Err(remarks);
    }
    diags.extend(remarks);
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
    let is_root = module.address.is_root();
    if is_root && marks.contains(Mark::Sensitive) && !output.sensitive {
        let detail = "The value of this output holds sensitive values, and outputs are shown. Set sensitive = true in the \
                      output block to confirm that it is meant, or use nonsensitive() on what is not secret.";
        return Err(Diag::error("Output refers to sensitive values", detail)
            .at(output.header)
            .into());
    }
    if marks.contains(Mark::Ephemeral) && (is_root || !output.ephemeral) {
        let detail = "The value of this output is ephemeral, and the output is not declared so. Use a lasting value; an \
                      output of a called module can be declared ephemeral, one of the root module is kept in state.";
        return Err(Diag::error("Ephemeral value not allowed", detail)
            .at(output.value.span)
            .into());
    }
    Ok(if is_root {
        without_negative_zero(value.unmark_deep().0)
    } else {
        seen_outside(output, value)
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
