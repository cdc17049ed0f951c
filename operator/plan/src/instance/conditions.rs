//! Preconditions and postconditions of resources and outputs.
//!
//! Source: Terraform `internal/terraform/eval_conditions.go`. An unknown condition passes for now: apply decides it. Where
//! nothing is to be made (a destroy run, a refresh-only run) one that does not hold is a warning; one that is no condition
//! at all is an error everywhere.

use ashlar_diag::{Diag, Diags, Severity};
use ashlar_eval::{Blame, CheckRule, Scope, evaluate, named};
use ashlar_value::{Data, Mark, Type, Value, convert};

use super::Instance;
use crate::model::{Check, CheckStatus};

/// Checks what must hold before the instance is looked at. The diagnostics hold an error if it must not be.
pub fn check_preconditions(instance: &Instance<'_, '_>) -> (Check, Diags) {
    let scope = instance.module.instance_scope(instance.repetition.clone(), None);
    check(
        &instance.config.lifecycle.preconditions,
        &scope,
        "Resource precondition failed",
        instance.engine.failed_condition(),
    )
}

/// Checks what must hold once the instance's value is known (or planned): `value` is what `self` means.
pub fn check_postconditions(instance: &Instance<'_, '_>, value: &Value) -> (Check, Diags) {
    let scope = instance
        .module
        .instance_scope(instance.repetition.clone(), Some(value.clone()));
    check_after(instance, &scope)
}

/// As [`check_postconditions`], where the instance should be there and is not.
pub fn check_postconditions_of_absent(instance: &Instance<'_, '_>) -> (Check, Diags) {
    let scope = instance.module.scope_of_absent(instance.repetition.clone());
    check_after(instance, &scope)
}

fn check_after(instance: &Instance<'_, '_>, scope: &dyn Scope) -> (Check, Diags) {
    check(
        &instance.config.lifecycle.postconditions,
        scope,
        "Resource postcondition failed",
        instance.engine.failed_condition(),
    )
}

impl Check {
    /// The result of both together.
    #[must_use]
    pub fn and(mut self, other: Check) -> Check {
        self.status = self.status.worse(other.status);
        self.problems.extend(other.problems);
        self
    }
}

/// Checks conditions in order; the worst status counts. `failed` is what one that does not hold comes to.
pub fn check(
    conditions: &[CheckRule],
    scope: &dyn Scope,
    summary: &'static str,
    failed: Severity,
) -> (Check, Diags) {
    let mut worst = CheckStatus::Pass;
    let mut problems = Vec::new();
    let mut diags = Diags::new();
    for condition in conditions {
        let (status, remarks) = check_one(condition, scope);
        diags.extend(remarks);
        if let Err(problem) = &status {
            // What is wrong with the message is told beside it.
            let said = if problem.is_empty() {
                "This does not hold. Its error message cannot be shown."
            } else {
                problem
            };
            let values = named(&condition.condition, scope, Blame::Content);
            let mut diag = Diag::error(summary, said)
                .at(condition.condition.span)
                .naming(values);
            diag.severity = failed;
            diags.push(diag);
            problems.extend((!problem.is_empty()).then(|| problem.clone()));
        }
        worst = worst.worse(status.unwrap_or(CheckStatus::Fail));
    }
    (
        Check {
            status: worst,
            problems,
            vacant: false,
        },
        diags,
    )
}

/// One condition's status, or what its author says where it does not hold; and what is wrong with the condition itself.
fn check_one(condition: &CheckRule, scope: &dyn Scope) -> (Result<CheckStatus, String>, Diags) {
    const INVALID: &str = "Invalid condition result";
    let (value, mut diags) = evaluate(&condition.condition, scope);
    let (message, remarks) = message(condition, scope);
    diags.extend(remarks);
    if diags.has_errors() {
        return (Ok(CheckStatus::Error), diags);
    }
    let (value, _) = value.unmark();
    if !value.is_known() {
        return (Ok(CheckStatus::Unknown), diags);
    }
    let invalid = |what: &str| {
        let detail = format!("The condition is {what}; it must be true or false.");
        Diag::error(INVALID, detail).at(condition.condition.span)
    };
    if value.is_null() {
        diags.push(invalid("null"));
        return (Ok(CheckStatus::Error), diags);
    }
    let Ok(holds) = convert(&value, &Type::Bool) else {
        diags.push(invalid(&value.ty().friendly_name()));
        return (Ok(CheckStatus::Error), diags);
    };
    if matches!(holds.data(), Data::Bool(true)) {
        return (Ok(CheckStatus::Pass), diags);
    }
    (Err(message), diags)
}

/// The author's message; empty if it is not known yet, or would show what must not be shown, which is told whether or not the
/// condition holds.
fn message(condition: &CheckRule, scope: &dyn Scope) -> (String, Diags) {
    let place = condition.error_message.span;
    let (value, remarks) = evaluate(&condition.error_message, scope);
    let mut diags = Diags::new();
    if remarks.has_errors() {
        return (String::new(), remarks);
    }
    let invalid = |what: &str| {
        let detail = format!("The error message {what}.");
        Diag::error("Invalid error message", detail).at(place)
    };
    let text = match convert(&value, &Type::String) {
        Ok(text) if text.is_known() && text.is_null() => {
            diags.push(invalid("must not be null"));
            return (String::new(), diags);
        }
        Ok(text) => text,
        Err(_) => {
            diags.push(invalid("must be a text"));
            return (String::new(), diags);
        }
    };
    if !text.is_known() {
        return (String::new(), diags);
    }
    for (mark, summary, word) in [
        (
            Mark::Sensitive,
            "Error message refers to sensitive values",
            "sensitive",
        ),
        (
            Mark::Ephemeral,
            "Error message refers to ephemeral values",
            "ephemeral",
        ),
    ] {
        if text.marks().contains(mark) {
            let detail = format!(
                "This error message would show a value that is {word}, so it is not shown. Leave the value out."
            );
            diags.push(Diag::warning(summary, detail).at(place));
            return (String::new(), diags);
        }
    }
    let text = text.as_str().map_or("", |text| text.trim()).to_owned();
    (text, diags)
}
