//! `cargo xtask check`: what must hold before a change is handed in, without any outside component.

use anyhow::Result;
use ashlar_xtask::process;

use crate::cargo::cargo;
use crate::step::{self, Step};
use crate::{generate, tidy};

/// Format, lints, house rules, generated files, licences, unit tests.
#[derive(clap::Args)]
pub(crate) struct Args {}

pub(crate) fn run(Args {}: &Args) -> Result<()> {
    step::run_all(steps())
}

/// The steps, cheapest first.
pub(crate) fn steps() -> Vec<Step> {
    let mut steps = vec![
        Step::command("format", cargo("fmt --all --check")),
        Step::new("tidy", || tidy::check().map(|()| None)),
        Step::command("lints", cargo("clippy --workspace --all-targets -- -D warnings")),
        Step::new("generated files", || generate::check().map(|()| None)),
    ];
    if process::find("cargo-deny").is_some() {
        steps.push(Step::command(
            "licences, sources",
            cargo("deny --log-level warn check"),
        ));
    } else {
        eprintln!(
            "licences and sources are not checked: cargo-deny is not on PATH (cargo install cargo-deny)"
        );
    }
    steps.push(Step::tests(
        "unit tests",
        cargo("test --workspace --exclude ashlar-e2e -- --quiet"),
    ));
    steps
}
