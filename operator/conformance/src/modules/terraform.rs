//! What Terraform tells of the same folder. It is told where all modules are by the list that its own `get` keeps.

use std::{collections::BTreeSet, path::Path, process::Command};

use anyhow::Context;
use serde_json::{Value as Json, json};

use super::stub::Stubs;
use crate::validate::recorded;

/// Told when the configuration is sound and a provider was asked for.
const NO_PROVIDERS: [&str; 4] = [
    "Missing required provider",
    "Inconsistent dependency lock file",
    "Failed to load plugin schemas",
    "Failed to query available provider packages",
];

/// Told of values in files that are links to nowhere; values are not looked at here.
const NO_VALUES: &str = "Failed to read variables file";

/// Told when a module is not on the list, since it cannot be loaded: `init` says why.
const NO_MODULE: [&str; 2] = ["Module not installed", "Module source has changed"];

/// The first words of what `init` says before anything else.
const PREAMBLE: &str = "Terraform encountered problems during initialisation";

/// Its diagnostics about the configuration.
pub(crate) fn ask(
    program: &Path,
    folder: &Path,
    data: &Path,
    stubs: &Stubs,
) -> anyhow::Result<BTreeSet<String>> {
    let mut modules = vec![json!({"Key": "", "Source": "", "Dir": "."})];
    for (path, stub) in stubs.iter() {
        let Some(dir) = &stub.folder else { continue };
        let mut entry = json!({"Key": path.0.join("."), "Source": stub.source, "Dir": dir});
        if let Some(version) = &stub.version {
            entry["Version"] = version.as_str().into();
        }
        modules.push(entry);
    }
    for (path, (source, dir)) in &stubs.folders {
        modules.push(json!({"Key": path.0.join("."), "Source": source, "Dir": dir}));
    }
    let list = data.join("modules");
    std::fs::create_dir_all(&list)?;
    std::fs::write(list.join("modules.json"), json!({"Modules": modules}).to_string())?;
    let terraform = |words: &[&str]| -> anyhow::Result<String> {
        let done = Command::new(program)
            .args(words)
            .arg("-no-color")
            .current_dir(folder)
            .env("TF_DATA_DIR", data)
            .env("CHECKPOINT_DISABLE", "1")
            .env("TF_IN_AUTOMATION", "1")
            .output()
            .with_context(|| format!("running {}", program.display()))?;
        Ok(String::from_utf8_lossy(&done.stdout).into_owned())
    };
    let told = terraform(&["validate", "-json"])?;
    let told: Json = serde_json::from_str(&told).with_context(|| format!("its answer: {told}"))?;
    let mut diags = told["diagnostics"].as_array().cloned().unwrap_or_default();
    let summary = |diag: &Json| diag["summary"].as_str().unwrap_or_default().to_owned();
    if diags.iter().any(|diag| NO_MODULE.contains(&&*summary(diag))) {
        let told = terraform(&[
            "init",
            "-json",
            "-backend=false",
            "-input=false",
            "-lockfile=readonly",
        ])?;
        let events = told
            .lines()
            .filter_map(|line| serde_json::from_str::<Json>(line).ok());
        let told = events.filter(|event| event["type"] == "diagnostic");
        diags = told.map(|event| event["diagnostic"].clone()).collect();
        diags.retain(|diag| !summary(diag).starts_with(PREAMBLE));
    }
    diags.retain(|diag| !NO_PROVIDERS.contains(&&*summary(diag)) && summary(diag) != NO_VALUES);
    Ok(diags.iter().map(recorded).collect())
}
