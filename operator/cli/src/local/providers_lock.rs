//! `ashlar providers lock`: settles versions and checksums of providers for several platforms.

use std::process::ExitCode;

use anyhow::Context;
use ashlar_diag::Sources;
use ashlar_install::{Location, Platform};
use ashlar_runner::{LockNews, lock_providers};

use super::{installing, providers};
use crate::{
    args::{Fetching, ProvidersLockArgs},
    printer::Printer,
};

/// Runs the command.
pub(crate) async fn run(args: &ProvidersLockArgs, printer: &Printer) -> anyhow::Result<ExitCode> {
    let dir = std::path::absolute(&args.dir)
        .with_context(|| format!("The folder {} cannot be found", args.dir.display()))?;
    let mut sources = Sources::new();
    let fetching = Fetching { upgrade: false };
    let tree = providers::load(
        &dir,
        &args.values,
        &fetching,
        &args.language,
        &mut sources,
        printer,
    )?;
    let installer = installing::from_one_place(location(args)?, &dir, printer)?;
    let platforms = match &*args.platforms {
        [] => vec![Platform::here()],
        platforms => platforms.to_vec(),
    };
    let locked = lock_providers(&installer, &dir, &tree, &mut sources, &platforms, &args.providers)
        .await
        .map_err(|diags| printer.told(&diags, &sources))?;
    let mut changed = false;
    for package in locked {
        let news = match package.news {
            LockNews::Provider => "it is new in the lock file, with its checksums for this platform",
            LockNews::Checksums => "further checksums for this platform are in the lock file now",
            LockNews::Nothing => "its checksums for this platform were in the lock file already",
        };
        changed |= package.news != LockNews::Nothing;
        printer.note(&format!(
            "{} for {}: {news}.",
            package.provider.for_display(),
            package.platform
        ));
    }
    printer.result(if changed {
        "\nSuccess! The lock file has been updated. Look the changes over and keep them with the configuration.\n"
    } else {
        "\nSuccess! The lock file was complete already, and did not need changing.\n"
    });
    Ok(ExitCode::SUCCESS)
}

fn location(args: &ProvidersLockArgs) -> anyhow::Result<Location> {
    match (&args.fs_mirror, &args.net_mirror) {
        (Some(folder), _) => Ok(Location::Filesystem(folder.clone())),
        (None, Some(url)) if url.starts_with("https://") => {
            Ok(Location::Network(format!("{}/", url.trim_end_matches('/'))))
        }
        (None, Some(_)) => {
            anyhow::bail!("Invalid network mirror URL: --net-mirror is the https: address of a mirror.")
        }
        (None, None) => Ok(Location::Direct),
    }
}
