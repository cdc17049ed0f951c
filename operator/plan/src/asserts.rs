//! `check` blocks: what they assert is decided and told, and never stops a run.
//!
//! Source: Terraform `internal/terraform/node_check.go`.

use std::sync::Arc;

use ashlar_diag::{Diag, Diags, Severity};

use crate::{
    instance::conditions,
    model::{Check, CheckStatus},
    parts::checked_address,
    values::ModuleValues,
};

/// Decides the assertions of a check in one instance of its module, given what its own data source has come to already.
/// What cannot be decided while planning is told, and decided by apply.
pub fn decide(module: &ModuleValues<'_>, name: &Arc<str>, data: Option<&Check>) -> (Check, Diags) {
    if let Some(failed) = data.filter(|check| check.status != CheckStatus::Pass) {
        return (failed.clone(), Diags::new());
    }
    let Some(check) = module.module().checks.get(name) else {
        return (Check::of(CheckStatus::Pass), Diags::new());
    };
    let mut whole = Check::of(CheckStatus::Pass);
    let mut diags = Diags::new();
    for assert in &check.asserts {
        let summary = "Check block assertion failed";
        let rule = std::slice::from_ref(assert);
        let (found, told) = conditions::check(rule, &module.scope(), summary, Severity::Warning);
        diags.extend(told);
        if found.status == CheckStatus::Unknown {
            let detail = "Whether this holds is known once the plan is applied.";
            let diag = Diag::warning("Check block assertion known after apply", detail);
            diags.push(diag.at(assert.condition.span));
        }
        whole = whole.and(found);
    }
    (whole, diags)
}

/// The address that a check's result is told by.
pub fn address(module: &ModuleValues<'_>, name: &str) -> String {
    checked_address(&module.address, "check", name)
}

/// What the failure of a check's own data source comes to: the check fails, the run goes on.
pub fn tolerated(faults: Diags) -> (Check, Diags) {
    let mut check = Check::of(CheckStatus::Fail);
    let told = faults
        .into_iter()
        .map(|mut diag| {
            if diag.severity == Severity::Error {
                check.problems.push(format!("{}: {}", diag.summary, diag.detail));
                diag.severity = Severity::Warning;
            }
            diag
        })
        .collect();
    (check, told)
}
