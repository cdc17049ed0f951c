//! `ashlar version`: this program's version, that of Terraform whose language and formats it has, and those of the providers that a
//! folder's lock file settles.
//!
//! Source of the form: Terraform `internal/command/version.go`.

use std::process::ExitCode;

use ashlar_addr::Version;
use ashlar_runner::locked_versions;
use ashlar_value::Dialect;
use serde_json::{Map, Value as Json, json};

use crate::{args::VersionArgs, printer::Printer};

/// Runs the command.
pub(crate) fn run(args: &VersionArgs, printer: &Printer) -> anyhow::Result<ExitCode> {
    let (own, terraform) = (env!("CARGO_PKG_VERSION"), Dialect::Terraform.version());
    let platform = format!("linux_{}", platform());
    // As with Terraform, a lock file that cannot be read is for other commands to tell of.
    let locked = locked_versions(&args.dir).unwrap_or_default();
    if args.json {
        let selections = locked.iter();
        let selections: Map<String, Json> = selections
            .map(|(provider, version)| (provider.to_string(), version.to_string().into()))
            .collect();
        let answer = json!({
            "terraform_version": terraform,
            "ashlar_version": own,
            "platform": platform,
            "provider_selections": selections,
            "terraform_outdated": false,
        });
        printer.result(&format!("{}\n", serde_json::to_string_pretty(&answer)?));
    } else {
        printer.result(&format!(
            "Ashlar v{own}\non {platform}\nas Terraform v{terraform}\n"
        ));
        for (provider, version) in &locked {
            printer.result(&format!("+ provider {provider} {}\n", named(version)));
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// A version in words.
fn named(version: &Version) -> String {
    match &*version.to_string() {
        "0.0.0" => "(unversioned)".to_owned(),
        version => format!("v{version}"),
    }
}

/// The processor in Go's word.
fn platform() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}
