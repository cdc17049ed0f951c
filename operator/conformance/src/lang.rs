//! Whole configurations, against what real Terraform says of them: diagnostics with their places, and what is planned.
//!
//! The format of a case stands in `tests/lang/README.md`. Each is planned as a step of a scenario is.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use ashlar_runner::Settings;
use serde_json::{Map, Value as Json, json};

use crate::{
    report::{Miss, Report},
    scenarios::{run_folders, step::Bench},
};

const EXPECTED: &str = "expected.json";

/// Runs every case below a folder.
pub(crate) fn run(cases: &Path, report: &mut Report) -> anyhow::Result<()> {
    run_folders(cases, EXPECTED, report, run_one)
}

async fn run_one(folder: PathBuf, settings: Settings) -> anyhow::Result<Result<(), Miss>> {
    let expected: Json = serde_json::from_slice(&std::fs::read(folder.join(EXPECTED))?)?;
    let root = tempfile::Builder::new().prefix("ashlar-lang-").tempdir()?;
    let bench = Bench::new(root.path(), settings)?;
    for entry in std::fs::read_dir(&folder)? {
        let entry = entry?;
        if entry.file_name() != EXPECTED {
            std::fs::copy(entry.path(), bench.work.join(entry.file_name()))?;
        }
    }
    let step = json!({"name": "plan", "action": "plan"});
    Ok(match bench.run(&step).await? {
        Ok(done) => compare(&expected, &done),
        Err(unsupported) => Err(Miss::new("a plan", unsupported)),
    })
}

fn compare(expected: &Json, done: &Json) -> Result<(), Miss> {
    let phase = if done["init"].is_null() {
        &done["plan"]
    } else {
        &done["init"]
    };
    let list = |items: &Json, one: fn(&Json) -> String| -> BTreeSet<String> {
        items.as_array().into_iter().flatten().map(one).collect()
    };
    let wanted = list(&expected["diagnostics"], Json::to_string);
    let got = list(&phase["diagnostics"], |diag| {
        let mut out = json!({ "severity": diag["severity"], "summary": diag["summary"] });
        if let Some(range) = diag["range"].as_object() {
            let place = |end: &str, at: usize| range.get(end).map_or(Json::Null, |end| end[at].clone());
            let file = range.get("file").cloned();
            out["range"] = json!([
                file,
                place("start", 0),
                place("start", 1),
                place("end", 0),
                place("end", 1)
            ]);
        }
        out.to_string()
    });
    if wanted != got {
        let only = |these: &BTreeSet<String>, those: &BTreeSet<String>| {
            let only: Vec<&str> = these.difference(those).map(String::as_str).collect();
            format!("diagnostics {}", only.join("\n           "))
        };
        return Err(Miss::new(only(&wanted, &got), only(&got, &wanted)));
    }
    if expected["valid"] == false {
        return Ok(());
    }
    let resources = phase["resource_changes"].as_array().into_iter().flatten();
    let resources = resources.map(|item| (item["address"].as_str().unwrap_or_default(), &item["change"]));
    same("resources", &expected["resources"], resources)?;
    let outputs = phase["output_changes"].as_object().into_iter().flatten();
    same(
        "outputs",
        &expected["outputs"],
        outputs.map(|(name, change)| (&**name, change)),
    )
}

fn same<'c>(what: &str, expected: &Json, got: impl Iterator<Item = (&'c str, &'c Json)>) -> Result<(), Miss> {
    let planned = |change: &Json| -> Json {
        let keys = ["after", "after_unknown"].into_iter();
        let pairs = keys.filter_map(|key| Some((key.to_owned(), change.get(key)?.clone())));
        Json::Object(pairs.collect())
    };
    let got: Map<String, Json> = got
        .map(|(name, change)| (name.to_owned(), planned(change)))
        .collect();
    let empty = Map::new();
    let expected = expected.as_object().unwrap_or(&empty);
    for name in expected.keys().chain(got.keys()) {
        let (wanted, found) = (expected.get(name), got.get(name));
        if wanted != found {
            let text = |value: Option<&Json>| format!("{what} {name}: {}", value.unwrap_or(&Json::Null));
            return Err(Miss::new(text(wanted), text(found)));
        }
    }
    Ok(())
}
