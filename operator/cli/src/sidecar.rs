//! `ashlar sidecar`: a provider at a fixed address. It ends with the provider, and the provider with it.
//!
//! Told to terminate, it serves whoever is connected to the end: the operator of the same Pod is told at the same time, and
//! first ends what it has begun.

use std::{ffi::OsString, path::PathBuf, process::ExitCode};

use anyhow::{Context as _, bail};
use ashlar_provider::{Listen, Served, relay};
use tokio::{
    signal::unix::{SignalKind, signal},
    sync::oneshot,
};

/// Where it listens and what it runs.
#[derive(clap::Args)]
pub(crate) struct SidecarArgs {
    /// Where it is reached: unix:PATH or tcp:ADDRESS:PORT.
    #[arg(long, value_parser = clap::value_parser!(Listen))]
    listen: Listen,
    /// The provider's program.
    program: PathBuf,
    /// What it is told.
    #[arg(last = true)]
    arguments: Vec<OsString>,
}

pub(crate) async fn run(args: &SidecarArgs) -> anyhow::Result<ExitCode> {
    let mut terminate = signal(SignalKind::terminate()).context("Signals cannot be received")?;
    let mut interrupt = signal(SignalKind::interrupt()).context("Signals cannot be received")?;
    let (stop, stopped) = oneshot::channel::<()>();
    let stopped = async { drop(stopped.await) };
    let serve = relay(&args.listen, &args.program, &args.arguments, stopped);
    let told = async {
        tokio::select! {
            _ = terminate.recv() => {
                drop(stop);
                tokio::select! {
                    _ = terminate.recv() => {}
                    _ = interrupt.recv() => {}
                }
            }
            _ = interrupt.recv() => {}
        }
    };
    tokio::select! {
        served = serve => {
            let program = args.program.display();
            match served.with_context(|| format!("{program} cannot serve at {}", args.listen))? {
                Served::Stopped => Ok(ExitCode::SUCCESS),
                Served::Ended(how) => bail!("{program} ended: {how}"),
            }
        }
        () = told => Ok(ExitCode::SUCCESS),
    }
}
