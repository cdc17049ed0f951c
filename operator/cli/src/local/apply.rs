//! `ashlar apply` and `ashlar destroy`: plan, gate, apply.

use std::process::ExitCode;

use ashlar_plan::text;
use ashlar_port::StopFlag;
use ashlar_runner::{ApplyRequest, apply};

use super::{
    gate,
    progress::Lines,
    session::{Session, Told},
};
use crate::{args::ApplyArgs, printer::Printer};

/// Runs `ashlar apply`.
pub(crate) async fn run(args: &ApplyArgs, printer: &Printer) -> anyhow::Result<ExitCode> {
    perform(args, false, printer).await
}

/// Runs `ashlar destroy`.
pub(crate) async fn destroy(args: &ApplyArgs, printer: &Printer) -> anyhow::Result<ExitCode> {
    perform(args, true, printer).await
}

async fn perform(args: &ApplyArgs, destroy: bool, printer: &Printer) -> anyhow::Result<ExitCode> {
    match attempt(args, destroy, printer).await {
        Err(error) if error.is::<Told>() => Ok(ExitCode::FAILURE),
        other => other,
    }
}

async fn attempt(args: &ApplyArgs, destroy: bool, printer: &Printer) -> anyhow::Result<ExitCode> {
    let mut session = Session::open(&args.place, printer)?;
    let operation = if destroy {
        "OperationTypeDestroy"
    } else {
        "OperationTypeApply"
    };
    let (store, recovered) = session.lock(operation).await?;
    let ready = session
        .plan(&recovered, &args.values, &args.choices, destroy)
        .await?;
    if !ready.plan.is_applyable() {
        return Ok(ExitCode::SUCCESS);
    }
    printer.result(&format!("\nDigest: {}\n", ready.digest));
    gate::pass(args, &ready.digest, printer)?;
    let dir = session.dir.clone();
    session.identity.begin(&dir, &ready.digest)?;
    let stop = StopFlag::new();
    let watcher = tokio::spawn(stop_on_interrupt(stop.clone()));
    let request = ApplyRequest {
        plan: &ready.bytes,
        env: Vec::new(),
        folder: session.dir.clone(),
        confined: false,
        store: &store,
        stop: &stop,
    };
    let outcome = apply(&session.settings, request, &Lines::new(printer)).await;
    watcher.abort();
    let failed = outcome.diags.has_errors();
    printer.diags(&outcome.diags, &outcome.sources);
    if let Some(state) = &outcome.state {
        let counts = outcome.counts;
        let verdict = if failed || outcome.interrupted {
            "Apply incomplete!"
        } else {
            "Apply complete!"
        };
        printer.result(&format!(
            "\n{verdict} Resources: {} added, {} changed, {} destroyed.\n",
            counts.created, counts.updated, counts.destroyed
        ));
        if outcome.interrupted {
            printer.note(
                "The run was stopped before its end. What was made is in the state; apply again to go on.",
            );
        }
        let outputs = text::outputs(state, printer.style());
        if !outputs.is_empty() {
            printer.result(&format!("\n{outputs}"));
        }
    }
    Ok(if failed || outcome.interrupted {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    })
}

/// The first interrupt asks the run to stop in order.
async fn stop_on_interrupt(stop: StopFlag) {
    if tokio::signal::ctrl_c().await.is_ok() {
        stop.set();
    }
}
