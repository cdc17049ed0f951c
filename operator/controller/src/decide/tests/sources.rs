//! Sources that are fetched: when they are fetched, and that no approval passes by what is known to be old.

use super::*;

fn source(wants: Wants) -> impl Fn(&mut Seen) {
    move |seen| {
        seen.source = Some(SourceSeen {
            wants,
            retry_at: None,
            requested: false,
            fault: (wants == Wants::Fetching).then(unfetched),
            failing: None,
        });
        if wants == Wants::Fetching {
            seen.inputs = Err(unfetched());
        }
    }
}

fn unfetched() -> InputFault {
    InputFault::Source {
        reason: "SourceFailed",
        message: "no".to_owned(),
    }
}

fn retry(second: i64) -> impl Fn(&mut Seen) {
    move |seen| seen.source.as_mut().unwrap().retry_at = Some(at(second))
}

fn asked(seen: &mut Seen) {
    seen.source.as_mut().unwrap().requested = true;
}

fn applied(seen: &mut Seen) {
    seen.last_applied = Some("sha256:old".to_owned());
}

const FETCH: Decision = Decision::Fetch(PlanKind::Apply);

#[test]
fn a_source_is_fetched_before_anything_is_planned_or_applied() {
    check(&[&source(Wants::Fetching)], FETCH);
    check(&[&source(Wants::Fetching), &approve], FETCH);
    check(&[&source(Wants::Fetching), &auto, &retry(900)], FETCH);
    check(&[&source(Wants::Nothing), &approve], apply());
    // It is asked first, if it is time to; an approval waits for the answer.
    check(&[&source(Wants::Asking(at(1000))), &approve], FETCH);
    check(&[&source(Wants::Asking(at(1001))), &approve], apply());
    check(&[&source(Wants::Asking(at(1001))), &asked], FETCH);
    check(&[&source(Wants::Nothing), &asked], waiting(None));
}

#[test]
fn what_waited_for_its_turn_is_overtaken_by_what_is_known_and_not_by_the_time_alone() {
    let check = |changes: &[&dyn Fn(&mut Seen)], want: Decision| {
        let mut seen = pending();
        for change in changes {
            change(&mut seen);
        }
        assert_eq!(decide_at_its_turn(&seen), want);
    };
    check(&[&source(Wants::Asking(at(900))), &approve], apply());
    check(&[&source(Wants::Asking(at(900))), &auto], apply());
    check(&[&source(Wants::Asking(at(900)))], waiting(None));
    check(&[&source(Wants::Asking(at(900))), &asked, &approve], FETCH);
    check(&[&source(Wants::Fetching), &approve], FETCH);
}

#[test]
fn no_approval_passes_by_files_that_are_known_to_be_old() {
    let waits = Decision::Wait(Wait::Inputs(unfetched()));
    check(&[&source(Wants::Fetching), &retry(1500), &approve], waits.clone());
    check(&[&source(Wants::Fetching), &retry(1500), &auto, &applied], waits);
    check(&[&source(Wants::Fetching), &retry(1500), &asked], FETCH);
    // Where nothing newer is known to be there, a server that cannot be reached holds up nothing.
    check(
        &[&source(Wants::Asking(at(900))), &retry(1500), &approve],
        apply(),
    );
    check(&[&source(Wants::Asking(at(900))), &retry(1000)], FETCH);
}

#[test]
fn nothing_is_fetched_while_nothing_is_started() {
    let due = source(Wants::Fetching);
    let suspended = |seen: &mut Seen| seen.suspended = true;
    check(
        &[&due, &suspended],
        Decision::Rest(Rest::Suspended { current: false }),
    );
    check(
        &[&due, &|seen: &mut Seen| seen.draining = true],
        Decision::Rest(Rest::Draining),
    );
    check(
        &[&due, &|seen: &mut Seen| seen.finalizer = false],
        Decision::AddFinalizer,
    );
}

#[test]
fn an_object_that_goes_needs_its_source_no_more() {
    let recorded = |cause| Decision::Plan {
        kind: PlanKind::Destroy,
        cause,
        from: Ground::LastApplied,
    };
    // What was fetched stands, and is not asked for anything newer.
    check(&[&source(Wants::Asking(at(900))), &destroying, &auto], apply());
    // What was never fetched, or is known to be old, is not waited for.
    check(
        &[&source(Wants::Fetching), &destroying, &applied],
        recorded(Cause::InputsChanged),
    );
    check(
        &[&source(Wants::Fetching), &destroying],
        Decision::Fetch(PlanKind::Destroy),
    );
    // What cannot be had any more, neither; and there the plan stays.
    let lost = |seen: &mut Seen| {
        seen.failure = Some(Failure {
            inputs: "i1".to_owned(),
            invalid: false,
            unfetched: true,
            until: at(1500),
        });
    };
    let gone: [Change<'_>; 4] = [&source(Wants::Asking(at(900))), &destroying, &applied, &lost];
    check(&gone, recorded(Cause::InputsChanged));
    let planned = |seen: &mut Seen| {
        seen.plan.as_mut().unwrap().inputs = super::recorded("sha256:old");
        seen.failure = None;
    };
    check(&[gone[0], gone[1], gone[2], &planned], waiting(None));
    check(&[gone[0], gone[1], gone[2], &planned, &approve], apply());
    // Files that are here cannot be lost so.
    check(
        &[&destroying, &applied, &lost],
        Decision::Wait(Wait::Failure {
            invalid: false,
            until: at(1500),
        }),
    );
}
