//! Counting and printing, the same for every suite.
//!
//! A suite hands in one outcome per case; this file decides what it means (a case may be known to miss) and what is
//! printed. It must never hide a miss: without a list of pending cases every miss counts as failed.

use std::{
    collections::{BTreeMap, HashSet},
    path::PathBuf,
    process::ExitCode,
};

use anyhow::Context;

/// The longest text printed of what was expected or got, in characters.
const SHOWN: usize = 2000;

/// What every suite can be told.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// A file of ids, one a line (`#` starts a comment), of cases that cannot pass yet. One of them that passes is a
    /// failure.
    #[arg(long, value_name = "FILE")]
    pending: Option<PathBuf>,
    /// Print counts only.
    #[arg(long)]
    quiet: bool,
    /// Run only cases whose id holds this text.
    #[arg(long, value_name = "SUBSTR")]
    filter: Option<String>,
}

/// A case that did not come out as recorded.
pub(crate) struct Miss {
    /// What the record says.
    pub(crate) expected: String,
    /// What came out.
    pub(crate) got: String,
}

impl Miss {
    /// A miss, from anything that prints.
    pub(crate) fn new(expected: impl Into<String>, got: impl Into<String>) -> Self {
        Self {
            expected: expected.into(),
            got: got.into(),
        }
    }
}

#[derive(Default)]
struct Count {
    passed: usize,
    failed: usize,
    pending: usize,
}

/// The outcomes so far.
pub(crate) struct Report {
    quiet: bool,
    filter: Option<String>,
    pending: HashSet<String>,
    groups: BTreeMap<String, Count>,
}

impl Report {
    /// Starts a report; reads the list of pending cases if one is named.
    pub(crate) fn new(options: &Options) -> anyhow::Result<Self> {
        let mut pending = HashSet::new();
        if let Some(path) = &options.pending {
            let text =
                std::fs::read_to_string(path).with_context(|| format!("reading {}", path.display()))?;
            let ids = text
                .lines()
                .map(|line| line.split('#').next().unwrap_or("").trim());
            pending.extend(ids.filter(|id| !id.is_empty()).map(str::to_owned));
        }
        Ok(Self {
            quiet: options.quiet,
            filter: options.filter.clone(),
            pending,
            groups: BTreeMap::new(),
        })
    }

    /// Is this case to be run?
    pub(crate) fn wants(&self, id: &str) -> bool {
        self.filter.as_ref().is_none_or(|part| id.contains(part.as_str()))
    }

    /// Takes the outcome of one case.
    pub(crate) fn case(&mut self, group: &str, id: &str, outcome: Result<(), Miss>) {
        let known = self.pending.contains(id);
        let count = self.groups.entry(group.to_owned()).or_default();
        match outcome {
            Ok(()) if known => {
                count.failed += 1;
                println!("{id}: passes, but is listed as pending");
            }
            Ok(()) => count.passed += 1,
            Err(_) if known => count.pending += 1,
            Err(miss) => {
                count.failed += 1;
                if !self.quiet {
                    println!(
                        "{id}\n  expected {}\n  got      {}",
                        shorten(&miss.expected),
                        shorten(&miss.got)
                    );
                }
            }
        }
    }

    /// Prints the counts; success only if nothing failed and something ran.
    pub(crate) fn finish(self) -> ExitCode {
        let mut total = Count::default();
        for (group, count) in &self.groups {
            let pending = if count.pending > 0 {
                format!(", {} pending", count.pending)
            } else {
                String::new()
            };
            println!(
                "{group}: {} passed, {} failed{pending}",
                count.passed, count.failed
            );
            total.passed += count.passed;
            total.failed += count.failed;
            total.pending += count.pending;
        }
        if total.pending > 0 {
            println!("{} pending", total.pending);
        }
        println!("{} passed, {} failed", total.passed, total.failed);
        let ran = total.passed + total.failed + total.pending > 0;
        if ran && total.failed == 0 {
            ExitCode::SUCCESS
        } else {
            ExitCode::FAILURE
        }
    }
}

fn shorten(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or(text)),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(pending: &[&str], outcomes: &[(&str, bool)], expected: ExitCode) {
        let mut report = Report {
            quiet: true,
            filter: None,
            pending: pending.iter().map(|id| (*id).to_owned()).collect(),
            groups: BTreeMap::new(),
        };
        for (id, passes) in outcomes {
            report.case("g", id, if *passes { Ok(()) } else { Err(Miss::new("a", "b")) });
        }
        assert_eq!(format!("{:?}", report.finish()), format!("{expected:?}"));
    }

    #[test]
    fn a_pending_case_must_miss_and_any_other_must_pass() {
        check(&[], &[("a", true)], ExitCode::SUCCESS);
        check(&[], &[("a", true), ("b", false)], ExitCode::FAILURE);
        check(&["b"], &[("a", true), ("b", false)], ExitCode::SUCCESS);
        check(&["b"], &[("a", true), ("b", true)], ExitCode::FAILURE);
        check(&[], &[], ExitCode::FAILURE);
    }
}
