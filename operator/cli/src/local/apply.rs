//! `ashlar apply` and `ashlar destroy`: plan, gate, apply.

use std::process::ExitCode;

use anyhow::bail;
use ashlar_config::Files;
use ashlar_diag::{Diag, Diags, Sources};
use ashlar_plan::text;
use ashlar_port::{Record, RunStore, StopFlag};
use ashlar_runner::{ApplyRequest, Counts, Kept, Patience, apply};
use ashlar_state::{State, replay};
use ashlar_store::{Recovered, file::FileStore};
use tokio::signal::unix::{SignalKind, signal};

use super::{
    asking, gate, messages,
    progress::teller,
    saved,
    session::{Asked, Session, masked},
};
use crate::{args::ApplyArgs, printer::Printer};

/// Told where nothing is planned, but it is not known what an earlier run did.
pub(crate) const UNSETTLED: &str = "\nNothing is planned, but what the changes named above came to is not known. Look at the objects. If they are as \
     the refresh found them, approve this plan: nothing is changed, and the changes count as settled.";

/// Told when that is done.
const SETTLED: &str =
    "\nThe uncertain changes are settled: the state has the objects as the refresh found them.\n";

/// Runs `ashlar apply`.
pub(crate) async fn run(args: &ApplyArgs, printer: &Printer) -> anyhow::Result<ExitCode> {
    perform(args, args.destroy, printer).await
}

/// Runs `ashlar destroy`.
pub(crate) async fn destroy(args: &ApplyArgs, printer: &Printer) -> anyhow::Result<ExitCode> {
    perform(args, true, printer).await
}

async fn perform(args: &ApplyArgs, destroy: bool, printer: &Printer) -> anyhow::Result<ExitCode> {
    let session = Session::open(&args.basics.place, printer)?;
    let operation = if destroy {
        "OperationTypeDestroy"
    } else {
        "OperationTypeApply"
    };
    let (store, recovered) = session.lock(operation, args.basics.lock_timeout).await?;
    let ready = match &args.plan {
        None => {
            let asked = Asked {
                basics: &args.basics,
                choices: &args.choices,
                destroy,
                generate: None,
                more: Files::new(),
            };
            session.plan(&recovered, asked).await?
        }
        Some(_) if destroy => bail!(
            "A plan in a file says itself what is destroyed. Make one with `plan --destroy --out`, and apply that."
        ),
        Some(path) => saved::open(&session, path, &args.basics.values, &recovered)?,
    };
    if ready.plan.errored {
        return Ok(ExitCode::FAILURE);
    }
    let wants_apply = ready.plan.wants_apply();
    let is_doubtful = !recovered.uncertain.is_empty();
    if !wants_apply && is_doubtful {
        printer.note(UNSETTLED);
        if args.auto_approve {
            // Whatever is planned is approved, and that is nothing: they stay as they are.
            return Ok(ExitCode::SUCCESS);
        }
    }
    // A plan that has nothing to do is applied as well, and nobody is asked: what it found out is stored.
    if wants_apply || is_doubtful {
        printer.result(&format!("\nDigest: {}\n", ready.digest));
        if args.plan.is_none() {
            gate::pass(args, &ready.plan, &ready.digest, printer)?;
        }
        let settled = settle(args, &recovered, &ready.plan, &store)
            .await
            .map_err(|diags| session.told(&diags, &Sources::new()))?;
        store
            .begin(&ready.digest)
            .await
            .map_err(|diags| session.told(&diags, &Sources::new()))?;
        if !wants_apply {
            // No run follows that would keep it.
            keep_settled(&recovered.state, settled, &store)
                .await
                .map_err(|diags| session.told(&diags, &Sources::new()))?;
            printer.result(SETTLED);
            return Ok(ExitCode::SUCCESS);
        }
    }
    let stop = StopFlag::new();
    asking::interrupts_are_taken();
    let watcher = tokio::spawn(stop_on_interrupt(stop.clone(), *printer));
    let request = ApplyRequest {
        plan: &ready.bytes,
        inputs: ready.inputs,
        sources: ready.sources,
        env: Vec::new(),
        folder: session.dir.clone(),
        confines: None,
        held: Vec::new(),
        store: &store,
        stop: &stop,
        // They have as long as whoever waits for them has patience.
        patience: Patience::default(),
    };
    let outcome = apply(&session.settings, request, &*teller(printer)).await;
    watcher.abort();
    let failed = outcome.diags.has_errors();
    printer.diags(&masked(outcome.diags, &outcome.redact), &outcome.sources);
    if let Some(state) = &outcome.state {
        let end = if failed || outcome.interrupted {
            End::Incomplete
        } else {
            End::Complete
        };
        if let Some(note) = whereabouts(outcome.interrupted, outcome.kept) {
            printer.note(note);
        }
        tell_end(printer, outcome.counts, destroy, end, state);
    }
    Ok(if failed || outcome.interrupted {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    })
}

/// Where what was made is found again, if the run came to no good end.
fn whereabouts(interrupted: bool, kept: Kept) -> Option<&'static str> {
    match kept {
        Kept::State => interrupted.then_some(
            "The run was stopped before its end. What was made is in the state; apply again to go on.",
        ),
        Kept::Journal => Some(
            "The state could not be saved. What was made is in the journal beside it, and the next run takes it over from there: \
             mend what kept the state from being saved, and apply again.",
        ),
        Kept::Nowhere => Some(
            "Neither the state nor all of its journal could be saved, so what was made last is written down nowhere. Mend what \
             kept them from being saved, and compare the objects with the state before you apply again.",
        ),
    }
}

/// What was done, and the outputs as they are then.
fn tell_end(printer: &Printer, counts: Counts, destroy: bool, end: End, state: &State) {
    let words = summary(counts, destroy, end);
    let outputs = text::outputs(state, printer.style());
    if printer.is_for_programs() {
        printer.message(messages::summary(counts, destroy, &words));
        printer.message(messages::outputs(state));
        return;
    }
    printer.result(&words);
    if !outputs.is_empty() {
        printer.result(&format!("\n{outputs}"));
    }
}

/// How a run ended.
#[derive(Clone, Copy)]
enum End {
    Complete,
    Incomplete,
}

/// What was done, in Terraform's words; source: `internal/command/views/apply.go`.
fn summary(counts: Counts, destroy: bool, end: End) -> String {
    let Counts {
        imported,
        created,
        updated,
        destroyed,
        invoked,
    } = counts;
    let verdict = match end {
        End::Complete => "complete",
        End::Incomplete => "incomplete",
    };
    let done = match (destroy, imported) {
        (true, _) => format!("Destroy {verdict}! Resources: {destroyed} destroyed."),
        (false, 0) => {
            format!("Apply {verdict}! Resources: {created} added, {updated} changed, {destroyed} destroyed.")
        }
        (false, _) => format!(
            "Apply {verdict}! Resources: {imported} imported, {created} added, {updated} changed, {destroyed} destroyed."
        ),
    };
    let invoked = match invoked {
        0 => String::new(),
        _ => format!(" Actions: {invoked} invoked."),
    };
    format!("\n{done}{invoked}\n")
}

/// What an earlier run left uncertain was shown with the plan; whoever approves it by hand takes it as the refresh found
/// it. An approval of whatever is planned cannot do that.
async fn settle(
    args: &ApplyArgs,
    recovered: &Recovered,
    plan: &ashlar_plan::Plan,
    store: &FileStore,
) -> Result<Vec<Record>, Diags> {
    if recovered.uncertain.is_empty() {
        return Ok(Vec::new());
    }
    if !plan.options.refresh || !plan.options.selection.is_whole() {
        let detail = "An earlier run ended in the middle of the changes named above, and this plan did not look at all objects, so \
                      it cannot say what became of them. Plan without --target, --exclude and --refresh=false.";
        return Err(Diag::error("Uncertain changes need a whole plan", detail).into());
    }
    if args.auto_approve {
        let detail = "An earlier run ended in the middle of the changes named above, and nobody knows whether they were made. \
                      Look at the objects, then approve by hand or by digest.";
        return Err(Diag::error("Uncertain changes need a person", detail).into());
    }
    let outcomes = recovered.uncertain.iter().map(|intent| {
        let outcome = ashlar_state::settled_as(&plan.prior_state, &intent.subject)?;
        Ok(Record::Outcome(outcome))
    });
    let records = outcomes.collect::<Result<Vec<_>, Diags>>()?;
    store.journal(records.clone()).await?;
    Ok(records)
}

/// Saves a state with what was settled of it.
async fn keep_settled(state: &State, settled: Vec<Record>, store: &FileStore) -> Result<(), Diags> {
    let (mut after, _) = replay(state.clone(), &settled)?;
    if after.lineage.is_empty() {
        after.lineage = crate::state::new_lineage();
    }
    after.serial = state.serial + 1;
    let bytes = ashlar_state::write(&after, crate::state::VERSION)?;
    store.save(bytes, settled.len()).await
}

/// The first interrupt, or a polite request to end (as those who stop services and jobs make it), asks the run to stop in order;
/// the second ends what it waits for.
async fn stop_on_interrupt(stop: StopFlag, printer: Printer) {
    if interrupted().await {
        printer.note(
            "Interrupted: nothing more is started, and providers are asked to break off. Waiting for them; interrupt again to end \
             them.",
        );
        stop.set();
    }
    if interrupted().await {
        printer.note(
            "Interrupted again: providers are ended, and what is known is saved. What they were doing is uncertain; the next run \
             says what it was.",
        );
        stop.end();
    }
    // Later ones change nothing: they must not break off the saving.
    while interrupted().await {}
}

/// Waits for the next one.
async fn interrupted() -> bool {
    let Ok(mut terminated) = signal(SignalKind::terminate()) else {
        return tokio::signal::ctrl_c().await.is_ok();
    };
    tokio::select! {
        caught = tokio::signal::ctrl_c() => caught.is_ok(),
        caught = terminated.recv() => caught.is_some(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_ends_a_run_is_told_where_its_work_is() {
        let check = |interrupted, kept, words: Option<&str>| {
            let told = whereabouts(interrupted, kept);
            assert_eq!(told.is_some(), words.is_some(), "{told:?}");
            assert!(
                told.unwrap_or_default().contains(words.unwrap_or_default()),
                "{told:?}"
            );
        };
        check(false, Kept::State, None);
        check(true, Kept::State, Some("is in the state"));
        for interrupted in [true, false] {
            check(interrupted, Kept::Journal, Some("is in the journal"));
            check(interrupted, Kept::Nowhere, Some("written down nowhere"));
        }
    }
}
