//! `ashlar validate`: checks the configuration without providers.

use std::process::ExitCode;

use ashlar_diag::Sources;
use ashlar_runner::load_module;

use super::inputs;
use crate::{args::ValidateArgs, printer::Printer};

/// Runs the command.
pub(crate) fn run(args: &ValidateArgs, printer: &Printer) -> anyhow::Result<ExitCode> {
    let mut sources = Sources::new();
    let (_, diags) = load_module(
        &inputs::module_files(&args.dir)?,
        args.language.dialect,
        &mut sources,
    );
    printer.diags(&diags, &sources);
    if diags.has_errors() {
        return Ok(ExitCode::FAILURE);
    }
    printer.result(
        "The configuration is well-formed. Arguments are checked against the providers when it is planned.\n",
    );
    Ok(ExitCode::SUCCESS)
}
