//! What went wrong with a plugin, as remarks and diagnostics.

use std::error::Error;

use ashlar_diag::{Diag, Diags, Severity};
use ashlar_port::{CallFault, FunctionFault, ProviderDiag};

use crate::wire::cut;

/// Longest detail.
const LONGEST: usize = 16 << 10;

/// The remarks in place of an answer; one of them at least is an error.
pub(crate) type Failed = Vec<ProviderDiag>;

/// One error of a call that was or may have been made, without a place.
pub(crate) fn error(summary: impl Into<String>, detail: impl Into<String>) -> ProviderDiag {
    of_call(CallFault::NotHeard, summary, detail)
}

/// One error in place of a call that was not made: nothing of it can have reached the plugin.
pub(crate) fn unasked(summary: impl Into<String>, detail: impl Into<String>) -> ProviderDiag {
    of_call(CallFault::NotAsked, summary, detail)
}

/// What stood in the way of a call that was therefore not made.
pub(crate) fn in_the_way(mut failed: Failed) -> Failed {
    for diag in &mut failed {
        diag.fault = diag.fault.and(Some(CallFault::NotAsked));
    }
    failed
}

pub(crate) fn of_call(
    fault: CallFault,
    summary: impl Into<String>,
    detail: impl Into<String>,
) -> ProviderDiag {
    ProviderDiag {
        fault: Some(fault),
        severity: Severity::Error,
        summary: summary.into(),
        // What a plugin sent may stand in it.
        detail: cut(detail.into(), LONGEST),
        path: None,
    }
}

/// An error of the plugin itself, not of what it was asked for.
pub(crate) fn plugin_error(detail: String) -> Failed {
    vec![error("Plugin error", detail)]
}

/// An error with its causes.
pub(crate) fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(source) = next {
        text.push_str(": ");
        text.push_str(&source.to_string());
        next = source.source();
    }
    text
}

/// Why a function's call has no answer.
pub(crate) fn of_function(failed: &Failed) -> FunctionFault {
    let told = failed.iter().map(|diag| match &*diag.detail {
        "" => diag.summary.clone(),
        detail => format!("{}: {detail}", diag.summary),
    });
    FunctionFault {
        argument: None,
        message: told.collect::<Vec<_>>().join("; "),
    }
}

/// Remarks without a place in a provider's configuration.
pub(crate) fn as_diags(diags: Vec<ProviderDiag>) -> Diags {
    diags
        .into_iter()
        .map(|diag| Diag {
            severity: diag.severity,
            ..Diag::error(diag.summary, diag.detail)
        })
        .collect()
}
