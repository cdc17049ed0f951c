//! `cargo xtask e2e`: the cluster scenarios, against a control plane started for them.
//!
//! What the tests get by environment: KUBECONFIG, ASHLAR_BIN (the built `ashlar`), and the variable of every tool.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;
use ashlar_xtask::cluster::Cluster;
use ashlar_xtask::layout;
use ashlar_xtask::tools::{self, Group, Tools};

use crate::cargo::{build_ashlar, cargo};
use crate::step::{self, Count};

/// Run the end to end tests.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Run only the tests whose name contains this.
    name: Option<String>,
    /// Use the control plane of this folder, started when it does not run, and leave it running.
    #[arg(long)]
    dir: Option<PathBuf>,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let name = args.name.as_deref();
    match &args.dir {
        Some(folder) => {
            let tools = tools::build(&Group::DEFAULT)?;
            tests(name, &Cluster::up(folder, &tools)?, &tools).map(drop)
        }
        None => fresh(name).map(drop),
    }
}

/// Runs the tests against a control plane of their own, which is removed afterwards, whatever became of them.
pub(crate) fn fresh(name: Option<&str>) -> Result<Count> {
    let folder = layout::cache()?.join("e2e");
    remove_abandoned(&folder)?;
    let tools = tools::build(&Group::DEFAULT)?;
    let cluster = Cluster::up(&folder.join(std::process::id().to_string()), &tools)?;
    let outcome = tests(name, &cluster, &tools);
    let removed = cluster.destroy();
    let count = outcome?;
    removed.map(|()| count)
}

/// Removes control planes whose test run was killed: their folders are named after its process id.
fn remove_abandoned(folder: &Path) -> Result<()> {
    if !folder.exists() {
        return Ok(());
    }
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if !Path::new("/proc").join(entry.file_name()).exists() {
            Cluster::open(&entry.path())?.map_or(Ok(()), Cluster::destroy)?;
        }
    }
    Ok(())
}

fn tests(name: Option<&str>, cluster: &Cluster, tools: &Tools) -> Result<Count> {
    let mut command = cargo("test --package ashlar-e2e --");
    command
        .args(name)
        .env("KUBECONFIG", cluster.kubeconfig())
        .env("ASHLAR_BIN", build_ashlar()?);
    step::counted(with_tools(command, tools))
}

fn with_tools(mut command: Command, tools: &Tools) -> Command {
    tools.set(&mut command);
    command
}
