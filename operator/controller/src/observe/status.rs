//! What a status tells a decision, and what is noted in it of a state that was read. Pure.

use ashlar_api::{StateStatus, UncertainChange, WorkspaceStatus};
use ashlar_store::{Recovered, kube::Slot};
use ashlar_value::Dialect;

use crate::{
    decide::{Failure, PlanSeen, StateSeen},
    ended::{INVALID, SOURCE_FAILED},
};

pub(crate) fn state_seen(recovered: &Recovered) -> StateSeen {
    StateSeen {
        lineage: recovered.state.lineage.clone(),
        serial: recovered.state.serial,
        things: recovered.state.objects().count() + recovered.state.outputs.len(),
        begun: recovered.begun.clone(),
        uncertain: uncertain(recovered)
            .into_iter()
            .map(|change| change.address)
            .collect(),
        foreign: false,
    }
}

/// How an object whose change is uncertain is named.
pub(crate) fn uncertain(recovered: &Recovered) -> Vec<UncertainChange> {
    let shown = recovered.uncertain.iter().map(|intent| UncertainChange {
        address: address_of(intent),
        action: intent.action.clone(),
    });
    shown.collect()
}

pub(crate) fn address_of(intent: &ashlar_port::Intent) -> String {
    intent.subject.to_string()
}

/// The state as the status shows it.
pub(crate) fn state_status(slot: &Slot, recovered: &Recovered) -> StateStatus {
    let count = |number: usize| i64::try_from(number).unwrap_or(i64::MAX);
    let bytes =
        ashlar_state::write(&recovered.state, Dialect::default().version()).map_or(0, |bytes| bytes.len());
    StateStatus {
        secret: slot.secret(),
        lineage: recovered.state.lineage.clone(),
        serial: i64::try_from(recovered.state.serial).unwrap_or(i64::MAX),
        resource_count: count(recovered.state.objects().count()),
        bytes: count(bytes),
    }
}

/// Shows a state that someone else wrote, and what an earlier run left open.
pub(super) fn show_state(status: &mut WorkspaceStatus, slot: &Slot, recovered: &Recovered) {
    let serial = i64::try_from(recovered.state.serial).unwrap_or(i64::MAX);
    let known = status
        .state
        .as_ref()
        .map(|state| (state.lineage.as_str(), state.serial));
    if recovered.state.lineage.is_empty() {
        status.state = None;
    } else if known != Some((&recovered.state.lineage, serial)) {
        status.state = Some(state_status(slot, recovered));
    }
    let left: Vec<UncertainChange> = uncertain(recovered).into_iter().take(50).collect();
    status.run = (!left.is_empty()).then_some(ashlar_api::RunStatus {
        phase: ashlar_api::RunPhase::Ended,
        started_at: None,
        progress: None,
        uncertain: left,
    });
}

pub(super) fn plan_seen(status: &WorkspaceStatus) -> Option<PlanSeen> {
    let plan = status.plan.as_ref()?;
    Some(PlanSeen {
        digest: plan.digest.clone(),
        kind: plan.kind,
        standing: plan.standing,
        inputs: plan.basis.inputs.clone(),
        lineage: plan.basis.lineage.clone(),
        serial: u64::try_from(plan.basis.serial).unwrap_or(0),
        begun: plan.basis.begun_plan.clone(),
        partial: plan.partial,
        invokes: !plan.invokes.is_empty(),
    })
}

pub(super) fn failure_seen(status: &WorkspaceStatus) -> Option<Failure> {
    let failure = status.last_failure.as_ref()?;
    Some(Failure {
        inputs: failure.inputs.clone(),
        invalid: failure.reason == INVALID,
        unfetched: failure.reason == SOURCE_FAILED,
        until: status.next_run_at.as_ref()?.0,
    })
}

/// The annotation that names settled changes, if it is to be obeyed: it speaks of what was told to be uncertain when
/// it is first seen, never of what a later run leaves. Taken away and set again it is a new one.
pub(super) fn note_settled(
    status: &mut WorkspaceStatus,
    given: Option<String>,
    told: &[String],
    looked: bool,
) -> Option<String> {
    if given == status.last_handled_settled || !looked {
        return None;
    }
    let named = given.as_ref().is_some_and(|given| {
        given
            .split(',')
            .any(|address| told.iter().any(|known| known == address.trim()))
    });
    if named {
        return given;
    }
    status.last_handled_settled = given;
    None
}

/// Remembers beside the state, which may be restored from an older copy, whose approval is spent; and what an apply began to
/// invoke, which is not invoked again by itself, whatever came of it: nobody knows how far an action has come that failed, or
/// that was cut off with the operator.
pub(super) fn note_spent(status: &mut WorkspaceStatus, begun: Option<&String>) {
    let of_begun = status.plan.as_ref().filter(|plan| Some(&plan.digest) == begun);
    if let Some(invokes) = of_begun
        .map(|plan| plan.invokes.clone())
        .filter(|invokes| !invokes.is_empty())
    {
        status.invoked = invokes;
    }
    if let Some(begun) = begun.filter(|begun| !status.spent_plans.contains(begun)) {
        status.spent_plans.insert(0, begun.clone());
        status.spent_plans.truncate(10);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_begun_to_be_invoked_is_noted_and_nothing_else() {
        let summary = serde_json::to_value(ashlar_api::PlanSummary::default()).unwrap();
        let plan = serde_json::json!({
            "digest": "d", "kind": "Apply", "standing": "Pending", "createdAt": "2026-01-01T00:00:00Z", "summary": summary,
            "changes": [], "warnings": [], "truncated": false, "basis": {"inputs": "", "lineage": "", "serial": 0}, "invokes": ["action.a.b"],
        });
        let plan = serde_json::from_value(plan).unwrap();
        let mut status = WorkspaceStatus {
            plan: Some(plan),
            ..WorkspaceStatus::default()
        };
        note_spent(&mut status, None);
        note_spent(&mut status, Some(&"other".to_owned()));
        assert!(status.invoked.is_empty());
        note_spent(&mut status, Some(&"d".to_owned()));
        assert_eq!(status.invoked, ["action.a.b"]);
    }
}
