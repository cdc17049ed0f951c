//! `cargo xtask check`: what must hold before a change is handed in. Of outside components it takes only the test providers
//! (tests of the plugin protocol build them with Go).

use anyhow::{Result, bail};
use ashlar_xtask::process;

use crate::cargo::cargo;
use crate::step::{self, Count, Step};
use crate::{generate, tidy};

/// Format, house rules, lints, generated files, dependencies, unit tests.
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
        Step::command(
            "lints",
            cargo("clippy --workspace --all-targets --all-features --keep-going -- -D warnings"),
        ),
        Step::new("generated files", || generate::check().map(|()| None)),
    ];
    if process::find("cargo-deny").is_some() {
        let line = "deny --log-level warn check --hide-inclusion-graph licenses bans sources";
        steps.push(Step::command("dependencies", cargo(line)));
        steps.push(Step::new("advisories", advisories));
    } else {
        eprintln!("deny.toml is not checked: cargo-deny is not on PATH (cargo install cargo-deny)");
    }
    steps.push(Step::tests(
        "unit tests",
        cargo("test --workspace --exclude ashlar-e2e --no-fail-fast -- --quiet"),
    ));
    steps
}

/// Known vulnerabilities in dependencies. Their list is fetched; where it cannot be reached, that is said, and no fault
/// of the tree.
fn advisories() -> Result<Option<Count>> {
    let output = cargo("deny check --hide-inclusion-graph advisories").output()?;
    let text = String::from_utf8_lossy(&output.stderr);
    if text.contains("failed to fetch advisory database") {
        eprintln!("advisories are not checked: their database cannot be reached");
        return Ok(None);
    }
    eprint!("{text}");
    if !output.status.success() {
        bail!("a dependency has a known fault");
    }
    Ok(None)
}
