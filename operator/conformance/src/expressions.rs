//! The `expressions` cases: an expression in a fixed context, and what Terraform makes of it.
//!
//! Compared strictly: type, value, unknown parts with their refinements, marks; of errors the summary and place of the
//! first and of those that follow. A panic is a miss, never the end of the run.

mod files;
mod judge;
mod module;
mod shape;

use std::{
    collections::BTreeMap,
    panic::{AssertUnwindSafe, catch_unwind},
    path::Path,
};

use anyhow::Context;
use ashlar_value::Dialect;
use serde::Deserialize;
use serde_json::Value as Json;

use crate::report::{Miss, Report};

/// One recorded case.
#[derive(Deserialize)]
pub(crate) struct Case {
    id: String,
    group: String,
    expr: String,
    #[serde(default)]
    locals: BTreeMap<String, String>,
    variables: Option<String>,
    #[serde(default)]
    inputs: BTreeMap<String, Input>,
    result: Json,
}

/// A value given to a variable.
#[derive(Deserialize)]
pub(crate) struct Input {
    via: Via,
    text: String,
}

/// How it is given.
#[derive(Deserialize, PartialEq, Clone, Copy)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Via {
    /// As an expression in `terraform.tfvars`.
    Tfvars,
    /// As text of a `-var` argument.
    Arg,
}

/// Runs every case of the `*.jsonl` files under `cases`.
pub(crate) fn run(cases: &Path, dialect: Dialect, report: &mut Report) -> anyhow::Result<()> {
    let base = module::Base::read(cases, dialect)?;
    let mut paths: Vec<_> = std::fs::read_dir(cases)
        .with_context(|| format!("reading {}", cases.display()))?
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "jsonl"))
        .collect();
    paths.sort();
    for path in paths {
        let text = std::fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))?;
        for (at, line) in text.lines().enumerate() {
            let case: Case =
                serde_json::from_str(line).with_context(|| format!("{} line {}", path.display(), at + 1))?;
            if report.wants(&case.id) {
                let outcome = catch_unwind(AssertUnwindSafe(|| judge::judge(&base, &case)));
                let outcome = outcome.unwrap_or_else(|_| Err(Miss::new(case.result.to_string(), "a panic")));
                report.case(&case.group, &case.id, outcome);
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_recorded_case_passes_but_those_listed() {
        let oracle = ashlar_xtask::layout::root().join("tests/oracle");
        let pending = std::fs::read_to_string(oracle.join("pending.txt")).unwrap();
        for (folder, dialect, least) in [
            ("expressions", Dialect::Terraform, 9000),
            ("expressions-opentofu", Dialect::OpenTofu, 80),
        ] {
            let ran = all_pass(&oracle.join(folder), dialect, &pending);
            assert!(ran > least, "only {ran} cases found in {folder}");
        }
    }

    fn all_pass(cases: &Path, dialect: Dialect, pending: &str) -> usize {
        let base = module::Base::read(cases, dialect).unwrap();
        let mut ran = 0;
        for entry in std::fs::read_dir(cases).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_none_or(|extension| extension != "jsonl") {
                continue;
            }
            for line in std::fs::read_to_string(&path).unwrap().lines() {
                let case: Case = serde_json::from_str(line).unwrap();
                ran += 1;
                let listed = pending.lines().any(|id| id == case.id);
                match judge::judge(&base, &case) {
                    Ok(()) => assert!(!listed, "{} passes, but is listed as pending", case.id),
                    Err(_) if listed => {}
                    Err(miss) => panic!("{}: expected {}, got {}", case.id, miss.expected, miss.got),
                }
            }
        }
        ran
    }
}
