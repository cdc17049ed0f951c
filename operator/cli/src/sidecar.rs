//! `ashlar sidecar`: a provider at a fixed address. It ends with the provider, and the provider with it.

use std::{ffi::OsString, path::PathBuf, process::ExitCode};

use anyhow::{Context as _, bail};
use ashlar_provider::{Listen, relay};
use tokio::signal::unix::{SignalKind, signal};

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
    let serve = relay(&args.listen, &args.program, &args.arguments);
    tokio::select! {
        ended = serve => {
            let program = args.program.display();
            let how = ended.with_context(|| format!("{program} cannot serve at {}", args.listen))?;
            bail!("{program} ended: {how}")
        }
        _ = terminate.recv() => Ok(ExitCode::SUCCESS),
        _ = interrupt.recv() => Ok(ExitCode::SUCCESS),
    }
}
