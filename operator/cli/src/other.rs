//! Commands that a user of Terraform may type and that there are none of: what to do instead. No command that changes anything
//! is ever suggested for one.

use std::{ffi::OsString, process::ExitCode};

use anyhow::bail;

use crate::printer::Printer;

/// Says what there is instead.
pub(crate) fn run(words: &[OsString], printer: &Printer) -> anyhow::Result<ExitCode> {
    let name = words
        .first()
        .map(|word| word.to_string_lossy())
        .unwrap_or_default();
    let instead = match &*name {
        "init" | "get" => {
            printer.note(
                "Nothing has to be initialized: modules and providers are found while planning. `--upgrade` takes newer ones.",
            );
            return Ok(ExitCode::SUCCESS);
        }
        "force-unlock" => {
            "A lock that a command left behind in a folder is taken over by the next one. In a cluster a lock ends with the run \
             that holds it, and `kubectl delete lease` ends one that no run holds."
        }
        "fmt" | "test" | "login" | "logout" | "metadata" | "modules" | "query" | "stacks" => {
            "It works on files and accounts alone, so Terraform's own does as well."
        }
        _ => bail!("There is no command {name:?}. `ashlar --help` lists those that there are."),
    };
    bail!("There is no command {name:?} here. {instead}")
}
