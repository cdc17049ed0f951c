//! `cargo xtask e2e`: the cluster scenarios, against a control plane started for them.
//!
//! What the tests get by environment: KUBECONFIG, ASHLAR_BIN (the built `ashlar`), and the variable of every tool.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Result;
use ashlar_xtask::cluster::Cluster;
use ashlar_xtask::tools::{self, Group, Tools};
use ashlar_xtask::{layout, process};

use crate::cargo::{Profile, build_ashlar, cargo};
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
            let bench = Bench::build()?;
            bench.tests(name, &Cluster::up(folder, &bench.tools)?).map(drop)
        }
        None => fresh(name).map(drop),
    }
}

/// Runs the tests against a control plane of their own.
pub(crate) fn fresh(name: Option<&str>) -> Result<Count> {
    let bench = Bench::build()?;
    on_fresh(&bench.tools, |cluster| bench.tests(name, cluster))
}

/// The stores' tests against a control plane of their own.
pub(crate) fn stores() -> Result<Count> {
    let tools = tools::build(&[Group::Kube])?;
    on_fresh(&tools, |cluster| {
        let line = "test --package ashlar-store --features real-cluster --test real_cluster --no-fail-fast";
        let mut command = cargo(line);
        command.env("KUBECONFIG", cluster.kubeconfig());
        step::counted(command)
    })
}

/// Starts a control plane, which is removed afterwards, whatever became of the tests.
fn on_fresh(tools: &Tools, tests: impl FnOnce(&Cluster) -> Result<Count>) -> Result<Count> {
    let folder = layout::cache()?.join("e2e");
    remove_abandoned(&folder)?;
    let cluster = Cluster::up(&folder.join(std::process::id().to_string()), tools)?;
    let outcome = tests(&cluster);
    let removed = cluster.destroy();
    let count = outcome?;
    removed.map(|()| count)
}

/// What must be built before a test can run.
struct Bench {
    ashlar: PathBuf,
    tools: Tools,
}

impl Bench {
    fn build() -> Result<Self> {
        Ok(Self {
            ashlar: build_ashlar(Profile::Dev)?,
            tools: tools::build(&Group::DEFAULT)?,
        })
    }

    fn tests(&self, name: Option<&str>, cluster: &Cluster) -> Result<Count> {
        let mut command = cargo("test --package ashlar-e2e --no-fail-fast -- --test-threads 4");
        command
            .args(name)
            .env("KUBECONFIG", cluster.kubeconfig())
            .env("ASHLAR_BIN", &self.ashlar);
        self.tools.set(&mut command);
        step::counted(command)
    }
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
            process::remove_folder(&entry.path())?;
        }
    }
    Ok(())
}
