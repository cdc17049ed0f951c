//! `cargo xtask quickstart`: the README's first walk, by the built program, from a plan to a second one without changes.
//!
//! It works on a copy in a scratch folder, so the example in the tree never gains a state. Where it is typed at a
//! terminal the person there approves; elsewhere the digest of the plan that was shown does.

mod in_cluster;
mod local;

use std::io::IsTerminal as _;
use std::path::PathBuf;

use anyhow::Result;
use ashlar_xtask::{layout, process};

use crate::cargo::{Profile, build_ashlar};

/// Walk through examples/quickstart.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Walk through its Workspace on a fresh control plane, by kubectl alone.
    #[arg(long)]
    cluster: bool,
    /// Leave the scratch folder, with the state and all that was made.
    #[arg(long)]
    keep: bool,
    /// Use this program instead of building one.
    #[arg(long, value_name = "PROGRAM")]
    ashlar: Option<PathBuf>,
}

const EXAMPLE: &str = "examples/quickstart";

/// Who lets the plan pass.
#[derive(Clone, Copy)]
enum Approver {
    /// The person at the terminal.
    Person,
    /// This tool, by the digest of the plan that it showed.
    Digest,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let approver = if std::io::stdin().is_terminal() {
        Approver::Person
    } else {
        Approver::Digest
    };
    walk(args, approver)
}

/// The walk as a test: nobody is asked.
pub(crate) fn test(cluster: bool) -> Result<()> {
    let args = Args {
        cluster,
        keep: false,
        ashlar: None,
    };
    walk(&args, Approver::Digest)
}

fn walk(args: &Args, approver: Approver) -> Result<()> {
    let ashlar = match &args.ashlar {
        Some(program) => std::path::absolute(program)?,
        None => build_ashlar(Profile::Dev)?,
    };
    let scratch = layout::cache()?
        .join("quickstart")
        .join(std::process::id().to_string());
    let outcome = if args.cluster {
        in_cluster::walk(&ashlar, &scratch, approver)
    } else {
        local::walk(&ashlar, &scratch, approver)
    };
    if args.keep {
        println!("\nAll of it lies in {}", scratch.display());
    } else {
        process::remove_folder(&scratch)?;
        println!("\nThe scratch folder is removed again; --keep leaves it.");
    }
    outcome
}
