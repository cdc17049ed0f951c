//! The `syntax` cases: a source text, and hclsyntax's tree or diagnostics for it; in JSON, hcl's diagnostics.
//!
//! Our tree is put into the normal form that the cases are written in, also what is left of it beside errors; nothing is
//! left out of the comparison but the ranges that the record leaves out itself.

use std::path::Path;

use anyhow::Context;
use ashlar_diag::Sources;
use ashlar_syntax::parse_file;
use serde::Deserialize;
use serde_json::Value;

use crate::{
    report::{Miss, Report},
    tree,
};

#[derive(Deserialize)]
struct Case {
    id: String,
    source: String,
    accept: bool,
    tree: Option<Value>,
    diagnostics: Option<Vec<Recorded>>,
}

#[derive(Deserialize, PartialEq, Eq, Debug)]
struct Recorded {
    summary: String,
    line: usize,
    column: usize,
    byte: usize,
}

/// The files of cases, with the name that each of their sources has.
const FILES: [(&str, &str); 3] = [
    ("edges.jsonl", "case.tf"),
    ("mutants.jsonl", "case.tf"),
    ("json.jsonl", "case.tf.json"),
];

/// Runs every case under `cases`.
pub(crate) fn run(cases: &Path, report: &mut Report) -> anyhow::Result<()> {
    let files = FILES.map(|(file, source)| (cases.join(file), source));
    let there: Vec<_> = files.iter().filter(|(path, _)| path.is_file()).collect();
    anyhow::ensure!(!there.is_empty(), "there are no cases in {}", cases.display());
    for (path, source) in there {
        run_file(path, source, report)?;
    }
    Ok(())
}

fn run_file(path: &Path, name: &str, report: &mut Report) -> anyhow::Result<()> {
    let text = std::fs::read_to_string(path).with_context(|| format!("reading {}", path.display()))?;
    for (at, line) in text.lines().enumerate() {
        let case: Case = serde_json::from_str(line).with_context(|| format!("line {}", at + 1))?;
        if report.wants(&case.id) {
            let group = case.id.rsplit_once('/').map_or("", |(group, _)| group);
            report.case(group, &case.id, judge(name, &case));
        }
    }
    Ok(())
}

fn judge(name: &str, case: &Case) -> Result<(), Miss> {
    let mut sources = Sources::new();
    let file = sources.add(name, case.source.as_str());
    let (parsed, diags) = parse_file(&sources, file);
    let got: Vec<Recorded> = diags
        .iter()
        .map(|diag| {
            let start = diag
                .subject
                .and_then(|span| sources.place(span))
                .map(|place| place.start);
            let (line, column, byte) =
                start.map_or((0, 0, 0), |start| (start.line, start.column, start.byte));
            Recorded {
                summary: diag.summary.to_string(),
                line,
                column,
                byte,
            }
        })
        .collect();
    let expected = case.diagnostics.as_deref().unwrap_or(&[]);
    if case.accept == diags.has_errors() || got != expected {
        return Err(Miss::new(format!("{expected:?}"), format!("{got:?}")));
    }
    let Some(wanted) = &case.tree else { return Ok(()) };
    let got = tree::body(&parsed);
    if tree::matches(wanted, &got) {
        Ok(())
    } else {
        Err(Miss::new(wanted.to_string(), got.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_recorded_case_passes() {
        let cases = ashlar_xtask::layout::root().join("tests/oracle/syntax");
        for (file, name) in FILES {
            let text = std::fs::read_to_string(cases.join(file)).unwrap();
            for line in text.lines() {
                let case: Case = serde_json::from_str(line).unwrap();
                if let Err(miss) = judge(name, &case) {
                    panic!("{}: expected {}, got {}", case.id, miss.expected, miss.got);
                }
            }
        }
    }
}
