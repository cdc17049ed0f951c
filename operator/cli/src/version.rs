//! `ashlar version`: this program's version, and that of Terraform whose language and formats it has.

use std::process::ExitCode;

use ashlar_value::Dialect;
use serde_json::json;

use crate::{args::VersionArgs, printer::Printer};

/// Runs the command.
pub(crate) fn run(args: &VersionArgs, printer: &Printer) -> anyhow::Result<ExitCode> {
    let (own, terraform) = (env!("CARGO_PKG_VERSION"), Dialect::Terraform.version());
    let platform = format!("linux_{}", platform());
    if args.json {
        let answer = json!({
            "terraform_version": terraform,
            "ashlar_version": own,
            "platform": platform,
            "provider_selections": {},
            "terraform_outdated": false,
        });
        printer.result(&format!("{}\n", serde_json::to_string_pretty(&answer)?));
    } else {
        printer.result(&format!(
            "Ashlar v{own}\non {platform}\nas Terraform v{terraform}\n"
        ));
    }
    Ok(ExitCode::SUCCESS)
}

/// The processor in Go's word.
fn platform() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}
