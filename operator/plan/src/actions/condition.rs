//! The condition of an `action_trigger` block.
//!
//! Source: Terraform `evaluateActionCondition` in `node_action_trigger_instance_plan.go`.

use ashlar_config::TriggerEvent;
use ashlar_diag::{Diag, Diags};
use ashlar_eval::{Subject, evaluate, references};
use ashlar_syntax::Expr;
use ashlar_value::{Type, convert};

use crate::values::{ModuleValues, Repetition};

/// Does it hold, for one instance of the resource that triggers? What comes before the resource may not look at its instances.
pub fn holds(
    condition: &Expr,
    events: &[TriggerEvent],
    module: &ModuleValues<'_>,
    repetition: Repetition,
) -> Result<bool, Diags> {
    let fail =
        |summary: &'static str, detail: &str| Diags::from(Diag::error(summary, detail).at(condition.span));
    let (named, faults) = references(condition);
    if faults.has_errors() {
        return Err(faults);
    }
    let before = events.iter().any(|event| event.is_before());
    for reference in &named {
        match &reference.subject {
            Subject::SelfRef => {
                return Err(fail(
                    "Self reference not allowed",
                    "The condition of a trigger has no self. Name the resource instead.",
                ));
            }
            Subject::Count(_) if before => {
                return Err(fail(
                    "Count reference not allowed",
                    "The condition of a trigger with a before event has no count: it is decided before the instances.",
                ));
            }
            Subject::Each(_) if before => {
                return Err(fail(
                    "Each reference not allowed",
                    "The condition of a trigger with a before event has no each: it is decided before the instances.",
                ));
            }
            _ => {}
        }
    }
    let repetition = if before { Repetition::default() } else { repetition };
    let (value, faults) = evaluate(condition, &module.instance_scope(repetition, None));
    if faults.has_errors() {
        return Err(faults);
    }
    let (value, _) = value.unmark();
    let value = convert(&value, &Type::Bool).map_err(|fault| {
        fail(
            "Incorrect value type",
            &format!("The condition must be true or false: {}.", fault.message),
        )
    })?;
    value.as_bool().ok_or_else(|| {
        let detail = if value.is_known() {
            "The condition is null; it must be true or false."
        } else {
            "The condition depends on what is not known before apply, so it cannot be told whether the action is to be \
             invoked. Make it depend on known values only."
        };
        fail("Condition must be known", detail)
    })
}
