//! What others read from the conditions: for every decision, and where one decision follows another.

use ashlar_api::{Basis, FailureStatus, PlanStatus, PlanSummary, SourceStatus};

use super::*;
use crate::decide::{Ground, LockSeen, Run, SourceSeen, Wants, tests::pending};

fn status(standing: Standing) -> WorkspaceStatus {
    let plan = PlanStatus {
        digest: "sha256:aa".to_owned(),
        kind: PlanKind::Apply,
        standing,
        created_at: seconds(Timestamp::UNIX_EPOCH),
        summary: PlanSummary {
            creates: 1,
            text: "+1 ~0 -0".to_owned(),
            ..PlanSummary::default()
        },
        changes: Vec::new(),
        truncated: false,
        warnings: Vec::new(),
        basis: Basis::default(),
        partial: false,
        invokes: Vec::new(),
    };
    WorkspaceStatus {
        plan: Some(plan),
        ..WorkspaceStatus::default()
    }
}

fn failed(reason: &str) -> WorkspaceStatus {
    let failure = FailureStatus {
        reason: reason.to_owned(),
        message: "It failed.".to_owned(),
        inputs: "i1".to_owned(),
    };
    WorkspaceStatus {
        last_failure: Some(failure),
        ..WorkspaceStatus::default()
    }
}

/// `Ready=False/AwaitingApproval AwaitingApproval=True/…`, in the order Ready, Reconciling, Stalled, others by name.
fn told(status: &WorkspaceStatus) -> String {
    let rank = |kind: &str| {
        [READY, RECONCILING, STALLED]
            .iter()
            .position(|known| *known == kind)
            .unwrap_or(3)
    };
    let mut all: Vec<&Condition> = status.conditions.iter().collect();
    all.sort_by_key(|condition| (rank(&condition.type_), condition.type_.clone()));
    let texts: Vec<String> = all
        .iter()
        .map(|condition| format!("{}={}/{}", condition.type_, condition.status, condition.reason))
        .collect();
    texts.join(" ")
}

#[track_caller]
fn check(mut status: WorkspaceStatus, decision: Decision, want: &str) {
    describe(&mut status, &pending(), &decision, None, 1);
    assert_eq!(told(&status), want);
    // kstatus: an object is not both done and under way, nor both stuck and under way.
    let is = |kind: &str, value: &str| {
        status
            .conditions
            .iter()
            .any(|known| known.type_ == kind && known.status == value)
    };
    assert!(!(is(READY, "True") && is(RECONCILING, "True")));
    assert!(!(is(STALLED, "True") && is(RECONCILING, "True")));
    // The same sight gives the same status, to the last time stamp: else writes would never end.
    let once = status.clone();
    describe(&mut status, &pending(), &decision, None, 1);
    assert_eq!(status, once);
}

#[test]
fn a_limited_plan_says_so_wherever_it_is_told_of() {
    let message = |standing: Standing, kind: PlanKind, partial: bool, decision: Decision| {
        let mut status = status(standing);
        let plan = status.plan.as_mut().unwrap();
        (plan.kind, plan.partial) = (kind, partial);
        describe(&mut status, &pending(), &decision, None, 1);
        let of = |kind: &str| {
            let found = status.conditions.iter().find(|condition| condition.type_ == kind);
            found.unwrap().message.clone()
        };
        [of(READY), of(PLANNED)]
    };
    let waiting = Decision::Wait(Wait::Approval {
        digest: "sha256:aa".to_owned(),
        refused: None,
    });
    let cases = [
        (Standing::Pending, PlanKind::Apply, waiting.clone()),
        (Standing::Pending, PlanKind::Refresh, waiting),
        (Standing::Pending, PlanKind::Apply, Decision::Rest(Rest::PlanOnly)),
        (Standing::Applied, PlanKind::Apply, Decision::Rest(Rest::InSync)),
        (Standing::Empty, PlanKind::Apply, Decision::Rest(Rest::InSync)),
        (
            Standing::Applied,
            PlanKind::Destroy,
            Decision::Rest(Rest::Destroyed),
        ),
        (Standing::Empty, PlanKind::Refresh, Decision::Rest(Rest::Observed)),
    ];
    for (standing, kind, decision) in cases {
        for text in message(standing, kind, true, decision.clone()) {
            assert!(text.contains("partial plan"), "{decision:?} {text}");
        }
        for text in message(standing, kind, false, decision.clone()) {
            assert!(!text.contains("partial"), "{decision:?} {text}");
        }
    }
}

#[test]
fn each_decision_tells_where_the_workspace_stands() {
    use Standing::{Applied, Empty, Pending};
    let waiting = |refused: Option<&str>| {
        Decision::Wait(Wait::Approval {
            digest: "sha256:aa".to_owned(),
            refused: refused.map(str::to_owned),
        })
    };
    check(
        status(Pending),
        waiting(None),
        "Ready=False/AwaitingApproval AwaitingApproval=True/ManualApproval Planned=True/ChangesPending",
    );
    check(
        status(Pending),
        waiting(Some("sha256:bb")),
        "Ready=False/AwaitingApproval AwaitingApproval=True/DigestRefused Planned=True/ChangesPending",
    );
    check(
        status(Empty),
        Decision::Rest(Rest::InSync),
        "Ready=True/NoChanges Planned=True/NoChanges",
    );
    check(
        status(Empty),
        Decision::Rest(Rest::Observed),
        "Ready=True/Observed Planned=True/NoChanges",
    );
    let applied = WorkspaceStatus {
        last_applied_plan: Some("sha256:aa".to_owned()),
        ..status(Applied)
    };
    check(
        applied,
        Decision::Rest(Rest::InSync),
        "Ready=True/Applied Applied=True/Succeeded Planned=True/NoChanges",
    );
    check(
        status(Pending),
        Decision::Apply("sha256:aa".to_owned()),
        "Ready=Unknown/Applying Reconciling=True/Progressing Planned=True/ChangesPending",
    );
    let plan = Decision::Plan {
        kind: PlanKind::Apply,
        cause: Cause::NeverPlanned,
        from: Ground::Inputs,
    };
    check(
        WorkspaceStatus::default(),
        plan,
        "Ready=Unknown/Planning Reconciling=True/Progressing",
    );
    let wait = |invalid| {
        Decision::Wait(Wait::Failure {
            invalid,
            until: Timestamp::UNIX_EPOCH,
        })
    };
    check(
        failed("PlanFailed"),
        wait(false),
        "Ready=False/PlanFailed Reconciling=True/ProgressingWithRetry Planned=False/PlanFailed",
    );
    check(
        failed("ApplyFailed"),
        wait(false),
        "Ready=False/ApplyFailed Reconciling=True/ProgressingWithRetry Applied=False/ApplyFailed",
    );
    check(
        failed(INVALID),
        wait(true),
        "Ready=False/InvalidConfiguration Stalled=True/InvalidConfiguration Planned=False/InvalidConfiguration",
    );
    let missing = Decision::Wait(Wait::Inputs(InputFault::Missing("Secret x".to_owned())));
    check(
        WorkspaceStatus::default(),
        missing,
        "Ready=False/InputMissing Reconciling=True/ProgressingWithRetry",
    );
    let uncertain = Decision::Wait(Wait::Uncertain(vec!["a.b".to_owned()]));
    check(
        status(Pending),
        uncertain,
        "Ready=False/UncertainChanges Planned=True/ChangesPending",
    );
    let lock = LockSeen {
        told: "The state is locked by root@host.".to_owned(),
        replica: false,
        until: Timestamp::UNIX_EPOCH,
    };
    check(
        WorkspaceStatus::default(),
        Decision::Wait(Wait::Lock(lock)),
        "Ready=False/LockHeld Reconciling=True/ProgressingWithRetry",
    );
}

#[test]
fn a_look_at_the_usual_time_is_no_news() {
    let mut status = status(Standing::Empty);
    describe(&mut status, &pending(), &Decision::Rest(Rest::InSync), None, 1);
    let before = status.clone();
    let mut seen = pending();
    seen.now = Timestamp::from_second(9000).unwrap();
    seen.run = Some(Run {
        stage: Stage::Plan,
        kind: PlanKind::Apply,
    });
    let plan = Decision::Plan {
        kind: PlanKind::Apply,
        cause: Cause::Interval,
        from: Ground::Inputs,
    };
    for (decision, cause) in [
        (plan, None),
        (Decision::Watch(Stage::Plan), Some(Cause::Interval)),
    ] {
        describe(&mut status, &seen, &decision, cause, 1);
        assert_eq!(status, before);
    }
}

#[test]
fn a_new_plan_does_not_hide_that_the_last_apply_failed() {
    let mut status = failed("ApplyFailed");
    describe(
        &mut status,
        &pending(),
        &Decision::Watch(Stage::Plan),
        Some(Cause::StateChanged),
        1,
    );
    status.last_failure = None;
    status.plan = self::status(Standing::Pending).plan;
    let waiting = Decision::Wait(Wait::Approval {
        digest: "sha256:aa".to_owned(),
        refused: None,
    });
    describe(&mut status, &pending(), &waiting, None, 1);
    assert!(
        told(&status).contains("Applied=False/ApplyFailed"),
        "{}",
        told(&status)
    );
}

/// What is told of a source, when this is seen and known of it.
#[track_caller]
fn check_source(decision: Decision, inputs: Result<&str, InputFault>, failing: Option<&str>, want: &str) {
    let mut seen = pending();
    seen.source = Some(SourceSeen {
        wants: Wants::Nothing,
        retry_at: None,
        requested: false,
        fault: inputs.clone().err(),
        failing: failing.map(str::to_owned),
    });
    seen.inputs = inputs.map(str::to_owned);
    let mut status = status(Standing::Applied);
    status.source = Some(SourceStatus {
        revision: Some("main@sha1:1".to_owned()),
        ..SourceStatus::default()
    });
    describe(&mut status, &seen, &decision, None, 1);
    assert_eq!(told(&status), want);
    // Other times change nothing.
    let once = status.clone();
    describe(&mut status, &seen, &decision, None, 1);
    assert_eq!(status, once);
    // During a run, and while it is asked at the usual time, all stays as it is.
    for quiet in [Decision::Watch(Stage::Fetch), Decision::Fetch(PlanKind::Apply)] {
        if seen.inputs.is_ok() {
            describe(&mut status, &seen, &quiet, None, 1);
            assert_eq!(status.conditions, once.conditions);
        }
    }
    // A spec that was not looked at before must not be taken for done.
    describe(&mut status, &seen, &Decision::Watch(Stage::Fetch), None, 2);
    assert!(told(&status).starts_with("Ready=Unknown/Fetching Reconciling=True/Progressing"));
}

#[test]
fn a_source_tells_whether_it_is_fetched() {
    let rest = || Decision::Rest(Rest::InSync);
    let done = "Ready=True/Applied Planned=True/NoChanges";
    check_source(
        rest(),
        Ok("i1"),
        None,
        &format!("{done} SourceReady=True/Succeeded"),
    );
    // That the server cannot be reached is told, and no fault of what was applied.
    check_source(
        rest(),
        Ok("i1"),
        Some("It cannot be reached."),
        &format!("{done} SourceReady=False/SourceFailed"),
    );
    let fault = InputFault::Source {
        reason: "SourceNotReady",
        message: "There is none.".to_owned(),
    };
    check_source(
        Decision::Wait(Wait::Inputs(fault.clone())),
        Err(fault),
        None,
        "Ready=False/SourceNotReady Reconciling=True/ProgressingWithRetry Planned=True/NoChanges SourceReady=False/SourceNotReady",
    );
}
