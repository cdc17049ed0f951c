//! `cargo xtask test`: everything the project can say about itself, in one run. This is what continuous integration
//! runs; its last line is `N passed, N failed`.
//!
//! Every step is run, whatever became of the ones before, and any failure fails the run.

use anyhow::Result;
use ashlar_xtask::tools::{self, Group};

use crate::cargo::cargo;
use crate::step::{self, Count, Step};
use crate::{check, e2e, quickstart};

/// Run all checks and tests, end to end ones included.
#[derive(clap::Args)]
pub(crate) struct Args {}

/// Kinds of recorded behaviour of Terraform, each with the folder of its cases.
const ORACLES: [(&str, &str); 9] = [
    ("syntax", "tests/oracle/syntax"),
    ("wire", "tests/oracle/wire"),
    ("expressions", "tests/oracle/expressions"),
    (
        "expressions --dialect opentofu",
        "tests/oracle/expressions-opentofu",
    ),
    ("scenarios", "tests/oracle/scenarios"),
    ("show-json", "tests/oracle/show-json"),
    ("lang", "tests/lang"),
    ("validate", "tests/oracle/validate"),
    ("validate --dialect opentofu", "tests/oracle/validate-opentofu"),
];

pub(crate) fn run(Args {}: &Args) -> Result<()> {
    let mut steps = vec![Step::new("tools", || tools::build(&Group::DEFAULT).map(|_| None))];
    steps.extend(check::steps());
    steps.extend(ORACLES.map(conformance));
    let providers = "test --package ashlar-provider --features real-providers --no-fail-fast --test real_providers --test programs";
    steps.push(Step::new("real providers", || with_plugins(providers).map(Some)));
    let beside = "run --package ashlar-conformance -- real tests/real";
    steps.push(Step::new("real providers beside Terraform", || {
        step::counted(cargo(beside)).map(Some)
    }));
    steps.push(Step::new("stores on a cluster", || e2e::stores().map(Some)));
    steps.push(Step::new("end to end", || e2e::fresh(None).map(Some)));
    steps.push(Step::new("quickstart", || quickstart::test(false).map(|()| None)));
    steps.push(Step::new("quickstart in a cluster", || {
        quickstart::test(true).map(|()| None)
    }));
    step::run_all(steps)
}

fn conformance((kind, cases): (&str, &str)) -> Step {
    let line =
        format!("run --package ashlar-conformance -- {kind} {cases} --pending tests/oracle/pending.txt");
    let name = format!("conformance {kind}");
    Step::new(&name, move || with_plugins(&line).map(Some))
}

/// Runs a test command that finds the plugins.
fn with_plugins(line: &str) -> Result<Count> {
    let mut command = cargo(line);
    tools::build(&[Group::Providers])?.set(&mut command);
    step::counted(command)
}
