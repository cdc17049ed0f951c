//! `ashlar providers mirror`: lays the packages of a configuration's providers into a folder.

use std::process::ExitCode;

use anyhow::Context;
use ashlar_diag::{Diag, Diags, Sources};
use ashlar_install::{InstallError, Location, Platform, write_index};
use ashlar_runner::versions_of;

use super::{installing, providers};
use crate::{
    args::{Fetching, ProvidersMirrorArgs},
    printer::Printer,
};

/// Runs the command.
pub(crate) async fn run(args: &ProvidersMirrorArgs, printer: &Printer) -> anyhow::Result<ExitCode> {
    let dir = std::path::absolute(&args.dir)
        .with_context(|| format!("The folder {} cannot be found", args.dir.display()))?;
    let mut sources = Sources::new();
    let fetching = Fetching { upgrade: false };
    let (values, language) = (&args.values, &args.language);
    let tree = providers::load(&dir, values, &fetching, language, &mut sources, printer)?;
    // Else a mirror that is used could not be brought up to date.
    let installer = installing::from_one_place(Location::Direct, &dir, printer)?;
    let failed = |error: InstallError| Diags::from(Diag::from(error));
    let wanted = versions_of(&installer, &dir, &tree, &mut sources)
        .await
        .map_err(|diags| printer.told(&diags, &sources))?;
    let platforms = match &*args.platforms {
        [] => vec![Platform::here()],
        platforms => platforms.to_vec(),
    };
    let mut count = 0;
    for (provider, version, settled) in wanted {
        for platform in &platforms {
            let laid = installer
                .lay_out(&args.target, &provider, &version, platform, &settled)
                .await
                .map_err(|error| printer.told(&failed(error), &sources))?;
            count += 1;
            printer.note(&format!("Laid out {}.", laid.display()));
        }
        write_index(&args.target, &provider)
            .map_err(|error| printer.told(&failed(error.into()), &sources))?;
    }
    printer.result(&format!(
        "\nSuccess! {count} packages lie in {}.\n",
        args.target.display()
    ));
    Ok(ExitCode::SUCCESS)
}
