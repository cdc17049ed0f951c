//! Preconditions and postconditions of resources and outputs.
//!
//! Source: Terraform `internal/terraform/eval_conditions.go`. An unknown condition passes for now: apply decides it.

use ashlar_diag::{Diag, Diags};
use ashlar_eval::{CheckRule, Scope, evaluate};
use ashlar_value::{Data, Mark, Type, Value, convert};

use super::Instance;
use crate::model::{Check, CheckStatus};

/// Checks what must hold before the instance is looked at. The diagnostics hold an error if it must not be.
pub fn check_preconditions(instance: &Instance<'_>) -> (Check, Diags) {
    let scope = instance
        .engine
        .values
        .instance_scope(instance.repetition.clone(), None);
    check(
        &instance.config.lifecycle.preconditions,
        &scope,
        "Resource precondition failed",
    )
}

/// Checks what must hold once the instance's value is known (or planned): `value` is what `self` means.
pub fn check_postconditions(instance: &Instance<'_>, value: &Value) -> (Check, Diags) {
    let scope = instance
        .engine
        .values
        .instance_scope(instance.repetition.clone(), Some(value.clone()));
    let (found, diags) = check(
        &instance.config.lifecycle.postconditions,
        &scope,
        "Resource postcondition failed",
    );
    (found, diags)
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

/// Checks conditions in order; the worst status counts.
pub fn check(conditions: &[CheckRule], scope: &dyn Scope, summary: &'static str) -> (Check, Diags) {
    let mut worst = CheckStatus::Pass;
    let mut problems = Vec::new();
    let mut diags = Diags::new();
    for condition in conditions {
        let status = check_one(condition, scope, summary, &mut problems, &mut diags);
        worst = worst.worse(status);
    }
    (
        Check {
            status: worst,
            problems,
        },
        diags,
    )
}

fn check_one(
    condition: &CheckRule,
    scope: &dyn Scope,
    summary: &'static str,
    problems: &mut Vec<String>,
    diags: &mut Diags,
) -> CheckStatus {
    const INVALID: &str = "Invalid condition result";
    let (value, remarks) = evaluate(&condition.condition, scope);
    let failed = remarks.has_errors();
    diags.extend(remarks);
    let (message, remarks) = evaluate(&condition.error_message, scope);
    let message_failed = remarks.has_errors();
    if message_failed {
        diags.extend(remarks);
    }
    if failed || message_failed {
        return CheckStatus::Error;
    }
    let (value, _) = value.unmark();
    if !value.is_known() {
        return CheckStatus::Unknown;
    }
    let place = condition.condition.span;
    if value.is_null() {
        let detail = "The condition is null; it must be true or false.";
        diags.push(Diag::error(INVALID, detail).at(place));
        return CheckStatus::Error;
    }
    let Ok(holds) = convert(&value, &Type::Bool) else {
        let detail = format!(
            "The condition is {}; it must be true or false.",
            value.ty().friendly_name()
        );
        diags.push(Diag::error(INVALID, detail).at(place));
        return CheckStatus::Error;
    };
    if matches!(holds.data(), Data::Bool(true)) {
        return CheckStatus::Pass;
    }
    let text = message_text(&message);
    problems.push(text.clone());
    diags.push(Diag::error(summary, text).at(place));
    CheckStatus::Fail
}

/// The author's message, unless it would show what must not be shown.
fn message_text(message: &Value) -> String {
    if message.marks().contains(Mark::Sensitive) {
        return "The error message refers to sensitive values, so it is not shown.".to_owned();
    }
    if message.marks().contains(Mark::Ephemeral) {
        return "The error message refers to ephemeral values, so it is not shown.".to_owned();
    }
    match convert(message, &Type::String)
        .ok()
        .as_ref()
        .and_then(Value::as_str)
    {
        Some(text) => text.trim().to_owned(),
        None => "The error message is not known yet.".to_owned(),
    }
}
