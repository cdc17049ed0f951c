//! Configurations and what `terraform validate` or `tofu validate` says of them: severity, summary and place of each diagnostic, as a set.
//!
//! A case is a folder; `expected.json` in it is what that said.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use ashlar_diag::{Diag, Severity, Sources};
use ashlar_runner::{Settings, read_folder, validate};
use ashlar_value::Dialect;
use serde_json::Value as Json;

use crate::{
    report::{Miss, Report},
    scenarios::run_folders,
};

const EXPECTED: &str = "expected.json";

/// Stands for the text and place of an internal error.
const ANY: &str = "*";

/// Runs every case below a folder.
pub(crate) fn run(cases: &Path, dialect: Dialect, report: &mut Report) -> anyhow::Result<()> {
    run_folders(cases, EXPECTED, report, move |folder, settings| {
        run_one(folder, settings, dialect)
    })
}

async fn run_one(folder: PathBuf, settings: Settings, dialect: Dialect) -> anyhow::Result<Result<(), Miss>> {
    let expected: Json = serde_json::from_slice(&std::fs::read(folder.join(EXPECTED))?)?;
    let mut files = read_folder(&folder, "", dialect)?;
    files.retain(|(name, _)| &**name != EXPECTED);
    let mut sources = Sources::new();
    let diags = validate(
        &settings,
        folder,
        files,
        &Default::default(),
        None,
        dialect,
        &mut sources,
    )
    .await
    .diags;
    let got: BTreeSet<String> = diags.iter().map(|diag| fact(diag, &sources)).collect();
    let wanted: BTreeSet<String> = expected["diagnostics"]
        .as_array()
        .into_iter()
        .flatten()
        .map(recorded)
        .collect();
    let any =
        |set: &BTreeSet<String>| -> Option<String> { set.iter().find(|fact| fact.contains(ANY)).cloned() };
    let internal = any(&wanted).is_some() && got.len() == 1 && diags.has_errors();
    if wanted == got || internal {
        return Ok(Ok(()));
    }
    let only = |these: &BTreeSet<String>, those: &BTreeSet<String>| {
        let only: Vec<&str> = these.difference(those).map(String::as_str).collect();
        only.join("\n           ")
    };
    Ok(Err(Miss::new(only(&wanted, &got), only(&got, &wanted))))
}

/// Severity, summary and place, as they are compared.
pub(crate) fn fact(diag: &Diag, sources: &Sources) -> String {
    let severity = match diag.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    };
    let place = diag.subject.and_then(|span| sources.place(span)).map(|place| {
        // Terraform shows an empty range as one character wide.
        let end = place.end.column + usize::from(place.start == place.end);
        format!(
            "{}:{}:{}-{}:{end}",
            place.file, place.start.line, place.start.column, place.end.line
        )
    });
    line(severity, &diag.summary, place)
}

/// The same of a diagnostic as Terraform writes it down.
pub(crate) fn recorded(diag: &Json) -> String {
    let text = |key: &str| diag[key].as_str().unwrap_or_default();
    let place = diag["range"].as_object().map(|range| {
        let at = |end: &str, part: &str| range.get(end).map_or(0, |end| end[part].as_u64().unwrap_or(0));
        format!(
            "{}:{}:{}-{}:{}",
            diag["range"]["filename"].as_str().unwrap_or_default(),
            at("start", "line"),
            at("start", "column"),
            at("end", "line"),
            at("end", "column")
        )
    });
    line(text("severity"), text("summary"), place)
}

fn line(severity: &str, summary: &str, place: Option<String>) -> String {
    format!("{severity}: {} {}", members(summary), place.unwrap_or_default())
}

/// Members of a circle come in any order, and with words in brackets that do not count.
fn members(summary: &str) -> String {
    let Some(list) = summary.strip_prefix("Cycle: ") else {
        return summary.to_owned();
    };
    let plain = |member: &str| match member.rsplit_once(" (") {
        Some((name, note)) if note.ends_with(')') => name.to_owned(),
        _ => member.to_owned(),
    };
    let names: BTreeSet<String> = list.split(", ").map(plain).collect();
    format!("Cycle: {}", names.into_iter().collect::<Vec<_>>().join(", "))
}
