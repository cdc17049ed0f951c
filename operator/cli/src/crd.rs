//! `ashlar crd`: prints the definitions of the custom resources, to be applied or kept in a tree.

use std::process::ExitCode;

use crate::printer::Printer;

/// Runs the command.
pub(crate) fn run(printer: &Printer) -> ExitCode {
    printer.result(&ashlar_api::crds());
    ExitCode::SUCCESS
}
