//! `cargo xtask test`: everything the project can say about itself, in one run. This is what continuous integration
//! runs; its last line is `N passed, N failed`.
//!
//! Every step is run, whatever became of the ones before, and any failure fails the run.

use anyhow::Result;
use ashlar_xtask::tools::{self, Group};

use crate::cargo::cargo;
use crate::step::{self, Step};
use crate::{check, e2e};

/// Run all checks and tests, end to end ones included.
#[derive(clap::Args)]
pub(crate) struct Args {}

/// Kinds of recorded behaviour of Terraform, each a folder under tests/oracle.
const ORACLES: [&str; 5] = ["syntax", "wire", "expressions", "validate", "scenarios"];

pub(crate) fn run(Args {}: &Args) -> Result<()> {
    let mut steps = vec![Step::new("tools", || tools::build(&Group::DEFAULT).map(|_| None))];
    steps.extend(check::steps());
    steps.extend(ORACLES.map(conformance));
    steps.push(Step::new("e2e", || e2e::fresh(None).map(Some)));
    step::run_all(steps)
}

fn conformance(kind: &str) -> Step {
    let line = format!(
        "run --release --package ashlar-conformance -- {kind} tests/oracle/{kind} \
         --pending tests/oracle/pending.txt"
    );
    let name = format!("conformance {kind}");
    Step::new(&name, move || {
        let mut command = cargo(&line);
        tools::build(&[Group::Providers])?.set(&mut command);
        step::counted(command).map(Some)
    })
}
