//! Takes the result of a run over into the status: a pure function, so that nothing is lost when a write must be repeated.

use std::time::Duration;

use ashlar_api::{
    ApprovalState, ApprovalStatus, FailureStatus, Mode, RunPhase, RunStatus, SourceFailure, Standing,
    WorkspaceStatus,
};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use crate::{
    ended::{Answers, Ended, Fault, Outcome, PLAN_FAILED},
    message::cut,
};

/// The longest wait after a failure.
const LONGEST_RETRY: Duration = Duration::from_secs(3600);
/// What may come from a misunderstanding is looked at again after so long.
const INVALID_RETRY: Duration = Duration::from_secs(3600);

/// The workspace's own times.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Times {
    pub(crate) interval: Duration,
    pub(crate) retry: Duration,
    pub(crate) timeout: Duration,
    /// 0 to 1: spreads workspaces over time.
    pub(crate) jitter: f64,
}

/// The status after this run.
/// `asked`: the actions of spec.plan.invoke as it is now.
pub(crate) fn absorb(
    status: &mut WorkspaceStatus,
    ended: &Ended,
    mode: Mode,
    asked: &[String],
    times: Times,
    now: Timestamp,
) {
    let Ended {
        run: _,
        inputs,
        state,
        uncertain,
        outcome,
        answers,
    } = ended;
    if let Some(requested) = answers.requested_at.as_ref().filter(|_| is_answer(outcome)) {
        status.last_handled_reconcile_at = Some(requested.clone());
    }
    if let Some(state) = state {
        status.state = Some(state.clone());
    }
    let left = match uncertain {
        Some(uncertain) => uncertain.clone(),
        None => status.run.take().map(|run| run.uncertain).unwrap_or_default(),
    };
    status.run = (!left.is_empty()).then_some(RunStatus {
        phase: RunPhase::Ended,
        started_at: None,
        progress: None,
        uncertain: left,
    });
    status.lock = None;
    match outcome {
        // Another replica was faster, and may know of something newer.
        Outcome::Fetched { before, .. } | Outcome::NotFetched { before, .. } if *before != seal(status) => {}
        Outcome::Fetched { source, .. } => {
            status.source = Some((**source).clone());
            note_request(status, answers);
        }
        Outcome::NotFetched {
            before: _,
            message,
            revision,
            attempt,
        } => {
            let source = status.source.get_or_insert_default();
            let last = source
                .failure
                .as_ref()
                .filter(|failure| failure.attempt == *attempt);
            let count = last.map_or(0, |failure| failure.count);
            source.failure = Some(SourceFailure {
                message: cut(message),
                revision: revision.clone(),
                attempt: attempt.clone(),
                count: count.saturating_add(1),
                retry_at: after(now, backoff(times.retry, count)),
            });
            note_request(status, answers);
        }
        Outcome::Planned { plan, outputs } => {
            let mut plan = (**plan).clone();
            if let Some(old) = status.plan.take().filter(|old| old.digest == plan.digest) {
                plan.created_at = old.created_at;
            }
            status.last_failure = None;
            let done = plan.standing != Standing::Pending;
            if done {
                status.failures = 0;
            }
            status.next_run_at = (done || mode == Mode::PlanOnly).then(|| after(now, spread(times)));
            if let Some(outputs) = outputs {
                status.outputs = outputs.clone();
            }
            if asked.is_empty() {
                status.invoked.clear();
            }
            status.plan = Some(plan);
        }
        Outcome::Applied {
            digest,
            basis,
            outputs,
            counts: _,
        } => {
            if let Some(plan) = status.plan.as_mut().filter(|plan| plan.digest == *digest) {
                plan.standing = Standing::Applied;
                plan.basis = basis.clone();
            }
            status.last_applied_plan = Some(digest.clone());
            status.outputs = outputs.clone();
            status.last_failure = None;
            status.failures = 0;
            status.next_run_at = Some(after(now, spread(times)));
        }
        Outcome::Failed(fault) => fail(status, inputs, fault, times, now),
        Outcome::Superseded { digest, why } => {
            if status.plan.as_ref().is_some_and(|plan| plan.digest == *digest) {
                status.plan = None;
                status.approval = Some(ApprovalStatus {
                    state: ApprovalState::Superseded,
                    refused: None,
                });
                // The decision saw it stand, so something is odd: it must not become a loop.
                let message = format!("The plan {digest} is not applied. {why} It is planned anew.");
                let fault = Fault {
                    reason: PLAN_FAILED,
                    invalid: false,
                    interrupted: false,
                    message,
                };
                fail(status, inputs, &fault, times, now);
            }
        }
        Outcome::Settled => {
            status.last_handled_settled.clone_from(&answers.settled);
            status.last_failure = None;
        }
        Outcome::Busy { .. } | Outcome::Overtaken => {}
    }
}

fn seal(status: &WorkspaceStatus) -> Option<String> {
    status.source.as_ref().and_then(|source| source.seal.clone())
}

/// A source that was asked for is asked once; the plan that was asked for is still to come.
fn note_request(status: &mut WorkspaceStatus, answers: &Answers) {
    if let (Some(source), Some(requested)) = (&mut status.source, &answers.requested_at) {
        source.last_handled_reconcile_at = Some(requested.clone());
    }
}

/// Did the run do what it was started for, well or not? If not, another one does.
fn is_answer(outcome: &Outcome) -> bool {
    match outcome {
        Outcome::Fetched { .. } | Outcome::NotFetched { .. } | Outcome::Busy { .. } | Outcome::Overtaken => {
            false
        }
        Outcome::Failed(fault) => !fault.interrupted,
        Outcome::Planned { .. } | Outcome::Applied { .. } | Outcome::Superseded { .. } | Outcome::Settled => {
            true
        }
    }
}

fn fail(status: &mut WorkspaceStatus, inputs: &str, fault: &Fault, times: Times, now: Timestamp) {
    let wait = if fault.interrupted {
        Duration::ZERO
    } else if fault.invalid {
        INVALID_RETRY
    } else {
        backoff(times.retry, status.failures)
    };
    status.failures = status.failures.saturating_add(i32::from(!fault.interrupted));
    status.last_failure = Some(FailureStatus {
        reason: fault.reason.to_owned(),
        message: fault.message.clone(),
        inputs: inputs.to_owned(),
    });
    status.next_run_at = Some(after(now, wait));
}

/// Doubled with each failure in a row.
fn backoff(retry: Duration, failures: i32) -> Duration {
    let doublings = u32::try_from(failures.clamp(0, 16)).unwrap_or(0);
    retry.saturating_mul(1 << doublings).min(LONGEST_RETRY.max(retry))
}

/// The interval, up to a tenth shorter.
fn spread(times: Times) -> Duration {
    times.interval.mul_f64(1.0 - 0.1 * times.jitter.clamp(0.0, 1.0))
}

/// To the second, as Kubernetes keeps times; rounded up, so that nothing is due before its time.
fn after(now: Timestamp, wait: Duration) -> Time {
    let wait = SignedDuration::try_from(wait).unwrap_or(SignedDuration::MAX);
    let then = now.checked_add(wait).unwrap_or(Timestamp::MAX);
    let seconds = then
        .as_second()
        .saturating_add(i64::from(then.subsec_nanosecond() > 0));
    Time(Timestamp::from_second(seconds).unwrap_or(then))
}

#[cfg(test)]
mod tests {
    use ashlar_api::{Basis, PlanKind, PlanStatus, PlanSummary, SourceStatus, UncertainChange};

    use super::*;
    use crate::decide::Stage;
    use crate::{decide::Run, ended::Answers};

    fn now() -> Timestamp {
        Timestamp::from_second(1000).unwrap()
    }

    fn plan(digest: &str, standing: Standing) -> PlanStatus {
        PlanStatus {
            digest: digest.to_owned(),
            kind: PlanKind::Apply,
            standing,
            created_at: Time(now()),
            summary: PlanSummary::default(),
            changes: Vec::new(),
            truncated: false,
            warnings: Vec::new(),
            basis: Basis::default(),
            partial: false,
            invokes: Vec::new(),
        }
    }

    fn absorbed(
        mut status: WorkspaceStatus,
        outcome: Outcome,
        uncertain: Option<Vec<UncertainChange>>,
    ) -> WorkspaceStatus {
        let run = Run {
            stage: Stage::Plan,
            kind: PlanKind::Apply,
        };
        let ended = Ended {
            run,
            inputs: "i".to_owned(),
            state: None,
            uncertain,
            outcome,
            answers: Answers {
                requested_at: Some("now".to_owned()),
                settled: None,
            },
        };
        let times = Times {
            interval: Duration::from_secs(600),
            retry: Duration::from_secs(60),
            timeout: Duration::from_secs(3600),
            jitter: 0.0,
        };
        absorb(&mut status, &ended, Mode::Manage, &[], times, now());
        status
    }

    fn due(status: &WorkspaceStatus) -> Option<i64> {
        status.next_run_at.as_ref().map(|time| time.0.as_second())
    }

    fn fault(invalid: bool, interrupted: bool) -> Outcome {
        Outcome::Failed(Fault {
            reason: "PlanFailed",
            invalid,
            interrupted,
            message: "m".to_owned(),
        })
    }

    #[test]
    fn a_plan_that_does_nothing_ends_failures_and_one_that_waits_does_not() {
        let failed = WorkspaceStatus {
            failures: 3,
            ..WorkspaceStatus::default()
        };
        let planned = |standing| Outcome::Planned {
            plan: Box::new(plan("d", standing)),
            outputs: None,
        };
        let status = absorbed(failed.clone(), planned(Standing::Empty), None);
        assert_eq!((status.failures, due(&status)), (0, Some(1600)));
        let status = absorbed(failed, planned(Standing::Pending), None);
        assert_eq!((status.failures, due(&status)), (3, None));
    }

    #[test]
    fn a_request_is_answered_by_a_run_that_did_what_it_could() {
        let handled = |outcome| absorbed(WorkspaceStatus::default(), outcome, None).last_handled_reconcile_at;
        assert_eq!(handled(fault(false, false)).as_deref(), Some("now"));
        assert_eq!(handled(Outcome::Overtaken), None);
        assert_eq!(handled(fault(false, true)), None);
    }

    #[test]
    fn waits_double_up_to_an_hour() {
        let mut status = WorkspaceStatus::default();
        let waits: Vec<i64> = (0..8)
            .map(|_| {
                status = absorbed(status.clone(), fault(false, false), None);
                due(&status).unwrap() - 1000
            })
            .collect();
        assert_eq!(waits, [60, 120, 240, 480, 960, 1920, 3600, 3600]);
        let status = absorbed(WorkspaceStatus::default(), fault(false, true), None);
        assert_eq!((status.failures, due(&status)), (0, Some(1000)));
        assert_eq!(
            due(&absorbed(WorkspaceStatus::default(), fault(true, false), None)),
            Some(4600)
        );
    }

    #[test]
    fn what_was_invoked_is_forgotten_with_the_list() {
        // So that it can be set anew.
        let status = WorkspaceStatus {
            invoked: vec!["action.a.b".to_owned()],
            ..WorkspaceStatus::default()
        };
        let planned = Outcome::Planned {
            plan: Box::new(plan("d", Standing::Empty)),
            outputs: None,
        };
        assert!(absorbed(status, planned, None).invoked.is_empty());
    }

    #[test]
    fn an_applied_plan_stands_on_what_it_left() {
        let before = WorkspaceStatus {
            plan: Some(plan("d", Standing::Pending)),
            ..WorkspaceStatus::default()
        };
        let basis = Basis {
            serial: 4,
            begun_plan: Some("d".to_owned()),
            ..Basis::default()
        };
        let outcome = Outcome::Applied {
            digest: "d".to_owned(),
            basis: basis.clone(),
            outputs: Vec::new(),
            counts: String::new(),
        };
        let status = absorbed(before, outcome, Some(Vec::new()));
        let plan = status.plan.unwrap();
        assert_eq!(
            (plan.standing, plan.basis, status.last_applied_plan.as_deref()),
            (Standing::Applied, basis, Some("d"))
        );
    }

    #[test]
    fn uncertain_changes_stand_until_a_run_says_otherwise() {
        let change = UncertainChange {
            address: "a.b".to_owned(),
            action: "create".to_owned(),
        };
        let status = absorbed(
            WorkspaceStatus::default(),
            fault(false, false),
            Some(vec![change.clone()]),
        );
        let status = absorbed(status, Outcome::Overtaken, None);
        assert_eq!(
            status.run.as_ref().map(|run| run.uncertain.clone()),
            Some(vec![change])
        );
        assert_eq!(absorbed(status, Outcome::Settled, Some(Vec::new())).run, None);
    }

    #[test]
    fn only_the_superseded_plan_goes() {
        let before = WorkspaceStatus {
            plan: Some(plan("new", Standing::Pending)),
            ..WorkspaceStatus::default()
        };
        let superseded = |digest: &str| Outcome::Superseded {
            digest: digest.to_owned(),
            why: String::new(),
        };
        assert!(absorbed(before.clone(), superseded("old"), None).plan.is_some());
        let after = absorbed(before, superseded("new"), None);
        assert_eq!(
            (after.plan, after.failures, after.next_run_at.is_some()),
            (None, 1, true)
        );
    }

    #[test]
    fn a_source_that_fails_is_tried_less_and_less_often_and_what_was_fetched_stays() {
        let known = SourceStatus {
            revision: Some("r".to_owned()),
            seal: Some("s".to_owned()),
            ..SourceStatus::default()
        };
        let fetched = |before: Option<&str>, source: SourceStatus| Outcome::Fetched {
            source: Box::new(source),
            before: before.map(str::to_owned),
        };
        let failed = || Outcome::NotFetched {
            before: Some("s".to_owned()),
            message: "no".to_owned(),
            revision: None,
            attempt: "a".to_owned(),
        };
        let mut status = absorbed(WorkspaceStatus::default(), fetched(None, known), None);
        let mut waits = Vec::new();
        for _ in 0..3 {
            status = absorbed(status, failed(), None);
            let failure = status.source.clone().and_then(|source| source.failure).unwrap();
            waits.push(failure.retry_at.0.as_second() - 1000);
        }
        assert_eq!(waits, [60, 120, 240]);
        let source = status.source.clone().unwrap();
        assert_eq!((source.revision.as_deref(), status.failures), (Some("r"), 0));
        // The source was asked as it was requested to; the plan is still to come.
        assert_eq!(source.last_handled_reconcile_at.as_deref(), Some("now"));
        assert_eq!(status.last_handled_reconcile_at, None);
        // Whoever began before that knows nothing newer.
        let late = absorbed(status.clone(), fetched(None, SourceStatus::default()), None);
        assert_eq!(late.source, status.source);
    }
}
