//! Decisions as tables: what is changed about a workspace in good order, and what is decided then.

use super::*;

mod sources;

const DIGEST: &str = "sha256:aa";

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

/// A workspace whose plan waits for approval.
pub(crate) fn pending() -> Seen {
    Seen {
        now: at(1000),
        deleting: false,
        finalizer: true,
        deletion: DeletionPolicy::Retain,
        suspended: false,
        mode: Mode::Manage,
        gate: Gate::Manual(None),
        run: None,
        draining: false,
        inputs: Ok("i1".to_owned()),
        source: None,
        state: StateSeen {
            lineage: "l".to_owned(),
            serial: 3,
            things: 2,
            begun: None,
            uncertain: Vec::new(),
            foreign: false,
        },
        obstacle: None,
        plan: Some(PlanSeen {
            digest: DIGEST.to_owned(),
            kind: PlanKind::Apply,
            standing: Standing::Pending,
            inputs: "i1".to_owned(),
            lineage: "l".to_owned(),
            serial: 3,
            begun: None,
            partial: false,
            invokes: false,
        }),
        last_applied: None,
        failure: None,
        due: None,
        requested: false,
        lock: None,
        spent: vec!["sha256:spent".to_owned()],
        settled: Vec::new(),
    }
}

fn standing(standing: Standing) -> impl Fn(&mut Seen) {
    move |seen| {
        seen.due = Some(at(2000));
        seen.plan.as_mut().unwrap().standing = standing;
    }
}

fn destroying(seen: &mut Seen) {
    seen.deleting = true;
    seen.deletion = DeletionPolicy::Destroy;
    seen.plan.as_mut().unwrap().kind = PlanKind::Destroy;
}

fn failed(invalid: bool) -> impl Fn(&mut Seen) {
    move |seen| {
        seen.plan = None;
        seen.failure = Some(Failure {
            inputs: "i1".to_owned(),
            invalid,
            unfetched: false,
            until: at(1500),
        });
    }
}

fn uncertain(seen: &mut Seen) {
    seen.state.uncertain = vec!["a.b".to_owned(), "c.d".to_owned()];
}

fn busy(seen: &mut Seen) {
    seen.lock = Some(LockSeen {
        told: "The state is locked by other.".to_owned(),
        replica: true,
        until: at(1005),
    });
}

#[track_caller]
fn check(changes: &[&dyn Fn(&mut Seen)], want: Decision) {
    let mut seen = pending();
    for change in changes {
        change(&mut seen);
    }
    assert_eq!(decide(&seen), want);
}

fn plan(kind: PlanKind, cause: Cause) -> Decision {
    Decision::Plan {
        kind,
        cause,
        from: Ground::Inputs,
    }
}

fn waiting(refused: Option<&str>) -> Decision {
    Decision::Wait(Wait::Approval {
        digest: DIGEST.to_owned(),
        refused: refused.map(str::to_owned),
    })
}

fn apply() -> Decision {
    Decision::Apply(DIGEST.to_owned())
}

fn approve(seen: &mut Seen) {
    seen.gate = Gate::Manual(Some(DIGEST.to_owned()));
}

fn auto(seen: &mut Seen) {
    seen.gate = Gate::Auto;
}

/// Changes what is seen.
type Change<'a> = &'a dyn Fn(&mut Seen);

#[test]
fn the_gate_opens_for_the_whole_digest_and_for_nothing_else() {
    check(&[], waiting(None));
    check(&[&approve], apply());
    check(&[&auto], apply());
    for other in ["sha256:ab", "sha256:a", "", "SHA256:AA"] {
        check(
            &[&|seen: &mut Seen| seen.gate = Gate::Manual(Some(other.to_owned()))],
            waiting(Some(other)),
        );
    }
    check(
        &[&approve, &|seen: &mut Seen| seen.mode = Mode::PlanOnly],
        Decision::Rest(Rest::PlanOnly),
    );
}

#[test]
fn a_plan_whose_ground_moved_is_never_applied() {
    let cases: [(Change<'_>, Cause); 6] = [
        (&|seen: &mut Seen| seen.plan = None, Cause::NeverPlanned),
        (
            &|seen: &mut Seen| seen.inputs = Ok("i2".to_owned()),
            Cause::InputsChanged,
        ),
        (&|seen: &mut Seen| seen.state.serial = 4, Cause::StateChanged),
        (
            &|seen: &mut Seen| seen.state.lineage = "m".to_owned(),
            Cause::StateChanged,
        ),
        // Its apply began, so its approval is spent.
        (
            &|seen: &mut Seen| seen.state.begun = Some(DIGEST.to_owned()),
            Cause::StateChanged,
        ),
        (
            &|seen: &mut Seen| seen.plan.as_mut().unwrap().kind = PlanKind::Destroy,
            Cause::ModeChanged,
        ),
    ];
    for (change, cause) in cases {
        for open in [&approve as &dyn Fn(&mut Seen), &auto] {
            check(&[open, change], plan(PlanKind::Apply, cause));
        }
    }
    check(
        &[&auto, &|seen: &mut Seen| seen.mode = Mode::Destroy],
        plan(PlanKind::Destroy, Cause::ModeChanged),
    );
}

#[test]
fn an_observed_workspace_takes_over_what_changed_through_the_same_gate() {
    let observing = |seen: &mut Seen| seen.mode = Mode::Observe;
    let refreshed = |seen: &mut Seen| {
        seen.mode = Mode::Observe;
        seen.plan.as_mut().unwrap().kind = PlanKind::Refresh;
    };
    // A plan that makes changes is none of its.
    check(&[&auto, &observing], plan(PlanKind::Refresh, Cause::ModeChanged));
    check(&[&refreshed], waiting(None));
    check(&[&refreshed, &approve], apply());
    check(&[&refreshed, &auto], apply());
    for done in [Standing::Empty, Standing::Applied] {
        check(&[&refreshed, &standing(done)], Decision::Rest(Rest::Observed));
        let late = |seen: &mut Seen| seen.due = Some(at(900));
        check(
            &[&refreshed, &standing(done), &late],
            plan(PlanKind::Refresh, Cause::Interval),
        );
    }
    // Nor is what it takes over what another mode wants.
    check(
        &[&auto, &refreshed, &|seen: &mut Seen| seen.mode = Mode::Manage],
        plan(PlanKind::Apply, Cause::ModeChanged),
    );
    // Its runs make nothing, but what goes needs none of them.
    check(
        &[&refreshed, &|seen: &mut Seen| {
            seen.deleting = true;
            seen.run = Some(Run {
                stage: Stage::Plan,
                kind: PlanKind::Refresh,
            });
        }],
        Decision::Stop(Stage::Plan),
    );
}

#[test]
fn a_limited_destruction_is_not_enough_for_an_object_that_goes() {
    let partial = |seen: &mut Seen| seen.plan.as_mut().unwrap().partial = true;
    let wanted = |seen: &mut Seen| {
        seen.mode = Mode::Destroy;
        seen.plan.as_mut().unwrap().kind = PlanKind::Destroy;
    };
    let done = standing(Standing::Applied);
    check(&[&wanted, &partial, &done], Decision::Rest(Rest::Destroyed));
    check(
        &[&wanted, &partial, &done, &destroying],
        plan(PlanKind::Destroy, Cause::ModeChanged),
    );
    check(
        &[&auto, &partial, &destroying],
        plan(PlanKind::Destroy, Cause::ModeChanged),
    );
    check(
        &[&wanted, &done, &destroying],
        Decision::Release { forget: false },
    );
}

#[test]
fn a_pending_plan_stays_across_intervals_and_a_done_one_does_not() {
    let late = |seen: &mut Seen| {
        seen.due = Some(at(900));
    };
    check(&[&late], waiting(None));
    for done in [Standing::Empty, Standing::Applied] {
        check(&[&standing(done)], Decision::Rest(Rest::InSync));
        check(&[&standing(done), &late], plan(PlanKind::Apply, Cause::Interval));
    }
    check(
        &[&|seen: &mut Seen| seen.requested = true],
        plan(PlanKind::Apply, Cause::Requested),
    );
}

#[test]
fn failures_are_waited_out_unless_inputs_change_or_someone_asks() {
    for invalid in [true, false] {
        check(
            &[&failed(invalid)],
            Decision::Wait(Wait::Failure {
                invalid,
                until: at(1500),
            }),
        );
        check(
            &[&failed(invalid), &|seen: &mut Seen| seen.now = at(1500)],
            plan(PlanKind::Apply, Cause::NeverPlanned),
        );
        let other = |seen: &mut Seen| seen.inputs = Ok("i2".to_owned());
        check(
            &[&failed(invalid), &other],
            plan(PlanKind::Apply, Cause::NeverPlanned),
        );
        let asked = |seen: &mut Seen| seen.requested = true;
        check(
            &[&failed(invalid), &asked],
            plan(PlanKind::Apply, Cause::NeverPlanned),
        );
    }
    let missing = InputFault::Missing("Secret x".to_owned());
    let gone = |seen: &mut Seen| seen.inputs = Err(InputFault::Missing("Secret x".to_owned()));
    check(&[&gone], Decision::Wait(Wait::Inputs(missing)));
}

#[test]
fn uncertain_changes_block_what_nobody_looks_at() {
    let list = || vec!["a.b".to_owned(), "c.d".to_owned()];
    check(&[&auto, &uncertain], Decision::Wait(Wait::Uncertain(list())));
    // A person who approves this very plan has seen them.
    check(&[&approve, &uncertain], apply());
    check(&[&uncertain], waiting(None));
    let settled = |seen: &mut Seen| seen.settled = vec!["c.d".to_owned(), "x.y".to_owned()];
    check(
        &[&auto, &uncertain, &settled],
        Decision::Settle(vec!["c.d".to_owned()]),
    );
    // A refresh may settle them: what is stale is planned all the same.
    check(
        &[&auto, &uncertain, &|seen: &mut Seen| seen.plan = None],
        plan(PlanKind::Apply, Cause::NeverPlanned),
    );
    // Nor is an object let go that may have left something behind.
    let emptied = |seen: &mut Seen| seen.state.things = 0;
    check(&[&destroying, &emptied, &uncertain], waiting(None));
}

#[test]
fn deletion_keeps_or_destroys() {
    let delete = |seen: &mut Seen| seen.deleting = true;
    check(&[&delete], Decision::Release { forget: false });
    // Broken inputs and suspension do not keep what is to be retained.
    let broken = |seen: &mut Seen| seen.inputs = Err(InputFault::Invalid("x".to_owned()));
    let suspended = |seen: &mut Seen| seen.suspended = true;
    check(
        &[&delete, &broken, &suspended],
        Decision::Release { forget: false },
    );
    check(&[&destroying], waiting(None));
    check(&[&destroying, &approve], apply());
    check(&[&destroying, &auto], apply());
    check(
        &[&destroying, &suspended],
        Decision::Rest(Rest::Suspended { current: false }),
    );
    // Only what is planned to be destroyed is, under whatever mode.
    check(
        &[&destroying, &approve, &|seen: &mut Seen| {
            seen.mode = Mode::PlanOnly
        }],
        apply(),
    );
    let replan = |seen: &mut Seen| seen.plan.as_mut().unwrap().kind = PlanKind::Apply;
    check(
        &[&destroying, &auto, &replan],
        plan(PlanKind::Destroy, Cause::ModeChanged),
    );
    let never = |seen: &mut Seen| {
        seen.state = StateSeen::default();
        seen.plan = None;
    };
    check(
        &[&destroying, &never, &broken],
        Decision::Release { forget: true },
    );
    check(&[&delete, &never, &broken], Decision::Release { forget: true });
    check(
        &[&destroying, &standing(Standing::Empty)],
        Decision::Release { forget: false },
    );
    check(
        &[&delete, &|seen: &mut Seen| seen.finalizer = false],
        Decision::Rest(Rest::Gone),
    );
}

#[test]
fn a_destroy_needs_no_inputs_that_were_applied_before() {
    let gone = |seen: &mut Seen| seen.inputs = Err(InputFault::Missing("Secret x".to_owned()));
    let applied = |seen: &mut Seen| seen.last_applied = Some("sha256:00".to_owned());
    let from_applied = Decision::Plan {
        kind: PlanKind::Destroy,
        cause: Cause::InputsChanged,
        from: Ground::LastApplied,
    };
    check(&[&destroying, &gone, &applied], from_applied);
    let planned = |seen: &mut Seen| seen.plan.as_mut().unwrap().inputs = recorded("sha256:00");
    check(&[&destroying, &gone, &applied, &planned], waiting(None));
    let missing = InputFault::Missing("Secret x".to_owned());
    check(
        &[&destroying, &gone],
        Decision::Wait(Wait::Inputs(missing.clone())),
    );
    check(&[&gone, &applied], Decision::Wait(Wait::Inputs(missing)));
}

#[test]
fn runs_are_watched_and_stopped() {
    for stage in [Stage::Plan, Stage::Apply] {
        let running = move |seen: &mut Seen| {
            seen.run = Some(Run {
                stage,
                kind: PlanKind::Apply,
            })
        };
        check(&[&running], Decision::Watch(stage));
        check(
            &[&running, &|seen: &mut Seen| seen.suspended = true],
            Decision::Watch(stage),
        );
        check(&[&running, &destroying], Decision::Stop(stage));
        check(
            &[&running, &|seen: &mut Seen| seen.draining = true],
            Decision::Stop(stage),
        );
        let destroy = move |seen: &mut Seen| {
            seen.run = Some(Run {
                stage,
                kind: PlanKind::Destroy,
            })
        };
        check(&[&destroy, &destroying], Decision::Watch(stage));
    }
    check(
        &[&auto, &|seen: &mut Seen| seen.draining = true],
        Decision::Rest(Rest::Draining),
    );
    check(
        &[&auto, &|seen: &mut Seen| seen.suspended = true],
        Decision::Rest(Rest::Suspended { current: false }),
    );
    check(
        &[&auto, &|seen: &mut Seen| seen.finalizer = false],
        Decision::AddFinalizer,
    );
}

#[test]
fn whoever_does_not_get_the_lock_waits() {
    let lock = LockSeen {
        told: "The state is locked by other.".to_owned(),
        replica: true,
        until: at(1005),
    };
    check(&[&auto, &busy], Decision::Wait(Wait::Lock(lock)));
    check(&[&auto, &busy, &|seen: &mut Seen| seen.now = at(1005)], apply());
    check(&[&busy], waiting(None));
}

#[test]
fn what_cannot_be_read_is_waited_for_and_never_taken_for_nothing() {
    let obstacle = |seen: &mut Seen| {
        seen.obstacle = Some("why".to_owned());
        seen.state = StateSeen::default();
    };
    let wait = Decision::Wait(Wait::Obstacle("why".to_owned()));
    check(&[&obstacle], wait.clone());
    check(&[&obstacle, &auto], wait.clone());
    check(&[&obstacle, &destroying], wait);
    // What is to be retained does not need to be read.
    let delete = |seen: &mut Seen| seen.deleting = true;
    check(&[&obstacle, &delete], Decision::Release { forget: false });
}

#[test]
fn an_object_is_not_let_go_while_something_is_uncertain() {
    let done = |seen: &mut Seen| {
        seen.state.things = 0;
        seen.plan.as_mut().unwrap().standing = Standing::Empty;
    };
    let names = vec!["a.b".to_owned(), "c.d".to_owned()];
    check(
        &[&destroying, &done, &uncertain],
        Decision::Wait(Wait::Uncertain(names)),
    );
    check(&[&destroying, &done], Decision::Release { forget: true });
}

#[test]
fn a_settling_that_failed_is_waited_out() {
    let settle = |seen: &mut Seen| seen.settled = vec!["a.b".to_owned()];
    let broken = |seen: &mut Seen| {
        seen.failure = Some(Failure {
            inputs: String::new(),
            invalid: false,
            unfetched: false,
            until: at(1500),
        });
    };
    check(&[&uncertain, &settle], Decision::Settle(vec!["a.b".to_owned()]));
    let until = at(1500);
    check(
        &[&uncertain, &settle, &broken],
        Decision::Wait(Wait::Failure {
            invalid: false,
            until,
        }),
    );
}

#[test]
fn a_suspended_workspace_says_whether_it_is_as_wanted() {
    let suspended = |seen: &mut Seen| seen.suspended = true;
    let current = |current| Decision::Rest(Rest::Suspended { current });
    check(&[&suspended], current(false));
    check(&[&suspended, &standing(Standing::Applied)], current(true));
    let changed = |seen: &mut Seen| seen.inputs = Ok("i2".to_owned());
    check(
        &[&suspended, &standing(Standing::Applied), &changed],
        current(false),
    );
}

#[test]
fn what_is_another_workspaces_is_never_destroyed() {
    let foreign = |seen: &mut Seen| seen.state.foreign = true;
    check(
        &[&destroying, &auto, &foreign],
        Decision::Release { forget: false },
    );
    let vacant = |seen: &mut Seen| seen.state.things = 0;
    check(
        &[&destroying, &foreign, &vacant],
        Decision::Release { forget: false },
    );
    // One that is not deleted plans on it, if it is let: a state of a command line is taken over so.
    check(&[&foreign], waiting(None));
}

#[test]
fn after_actions_were_invoked_the_rest_is_planned() {
    let invoking = |seen: &mut Seen| seen.plan.as_mut().unwrap().invokes = true;
    let rest = Decision::Plan {
        kind: PlanKind::Apply,
        cause: Cause::Invoked,
        from: Ground::Inputs,
    };
    check(&[&invoking, &standing(Standing::Applied)], rest.clone());
    check(&[&invoking, &standing(Standing::Empty)], rest);
    let waits = Decision::Wait(Wait::Approval {
        digest: DIGEST.to_owned(),
        refused: None,
    });
    check(&[&invoking, &standing(Standing::Pending)], waits);
}
