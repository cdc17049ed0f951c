//! `ashlar validate`: checks a configuration, its modules and its providers' arguments; nothing is planned.

use std::process::ExitCode;

use ashlar_diag::{Diag, Diags, Sources};
use ashlar_runner::{Validated, read_folder, validate};
use serde_json::{Value as Json, json};

use super::{backend, inputs, packages::Fetched, session};
use crate::{args::ValidateArgs, diagnostic_json::diagnostic, printer::Printer};

/// Runs the command.
pub(crate) async fn run(args: &ValidateArgs, printer: &Printer) -> anyhow::Result<ExitCode> {
    let dir = session::folder(&args.place)?;
    let scratch = session::scratch()?;
    let settings = session::settings(&args.place, &dir, scratch.path(), printer)?;
    let mut sources = Sources::new();
    let Validated { diags, limits } = match read_folder(&dir, "", args.language.dialect) {
        Ok(files) => {
            let (given, faults) = inputs::gather(&dir, &args.values, &mut sources)?;
            let fetched = Fetched::open(&dir, &args.fetching, printer)?;
            let packages = Some(fetched.packages.clone());
            let mut validated = validate(
                &settings,
                dir.clone(),
                files,
                &given,
                packages,
                args.language.dialect,
                &mut sources,
            )
            .await;
            // Values tell where modules are, and are not checked; but they must be readable.
            validated.diags.extend(faults);
            validated.limits =
                backend::without_settled(validated.limits, &dir, args.place.backends.elsewhere());
            fetched.keep(!validated.diags.has_errors())?;
            validated
        }
        Err(error) => {
            let detail = format!("The folder {} cannot be read: {error}.", dir.display());
            Validated {
                diags: Diag::error("Failed to read module directory", detail).into(),
                limits: Diags::new(),
            }
        }
    };
    if args.json {
        let text = serde_json::to_string_pretty(&answer(&diags, &sources))?;
        printer.result(&format!("{text}\n"));
    } else {
        printer.diags(&diags, &sources);
        if !diags.has_errors() {
            let note = if diags.is_empty() {
                "."
            } else {
                ", but look at the warnings."
            };
            printer.result(&format!("The configuration is valid{note}\n"));
            if !limits.is_empty() {
                printer.note("Of what stands in it, Ashlar has this to say when it is planned:");
                printer.diags(&limits, &sources);
            }
        }
    }
    Ok(if diags.has_errors() {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    })
}

/// Source of the form: Terraform `internal/command/views/validate.go`.
fn answer(diags: &Diags, sources: &Sources) -> Json {
    let errors = diags.iter().filter(|diag| diag.is_error()).count();
    json!({
        "format_version": "1.0",
        "valid": errors == 0,
        "error_count": errors,
        "warning_count": diags.len() - errors,
        "diagnostics": diags.iter().map(|diag| diagnostic(diag, sources)).collect::<Vec<_>>(),
    })
}
