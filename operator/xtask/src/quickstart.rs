//! `cargo xtask quickstart`: the README's first walk, by the built program, from plan to an empty second plan.
//!
//! It works on a copy in a temporary folder, so the example in the tree never gains a state file.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};
use ashlar_xtask::cluster::Cluster;
use ashlar_xtask::tools::{self, Group};
use ashlar_xtask::{layout, process};

use crate::cargo::build_ashlar;
use crate::step;

/// Walk through examples/quickstart.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Also walk through its Workspace on a fresh control plane.
    #[arg(long)]
    cluster: bool,
}

const EXAMPLE: &str = "examples/quickstart";

pub(crate) fn run(args: &Args) -> Result<()> {
    let example = layout::root().join(EXAMPLE);
    if !example.is_dir() {
        bail!("{EXAMPLE} is not in the tree");
    }
    let ashlar = build_ashlar()?;
    let scratch = layout::cache()?
        .join("quickstart")
        .join(std::process::id().to_string());
    let outcome = local(&ashlar, &example, &scratch.join("local")).and_then(|()| {
        if args.cluster {
            on_cluster(&ashlar, &example, &scratch.join("cluster"))
        } else {
            Ok(())
        }
    });
    process::remove_folder(&scratch)?;
    outcome
}

/// Without a cluster: plan, apply, a second plan without changes, destroy.
fn local(ashlar: &Path, example: &Path, folder: &Path) -> Result<()> {
    let tools = tools::build(&[Group::Providers])?;
    copy(example, folder)?;
    for line in [
        "plan",
        "apply --auto-approve",
        "plan --detailed-exitcode",
        "destroy --auto-approve",
    ] {
        println!("$ ashlar {line}");
        let mut command = Command::new(ashlar);
        command.args(line.split_whitespace()).arg("--dir").arg(folder);
        tools.set(&mut command);
        step::stream(command)?;
    }
    Ok(())
}

/// On a control plane: install the kinds, run the operator, apply the example's manifests, wait until they are ready.
fn on_cluster(ashlar: &Path, example: &Path, folder: &Path) -> Result<()> {
    let tools = tools::build(&[Group::Kube, Group::Providers])?;
    let cluster = Cluster::up(folder, &tools)?;
    let walk = || -> Result<()> {
        let kubectl = |line: &str| {
            println!("$ kubectl {line}");
            let mut command = cluster.kubectl();
            command.current_dir(layout::root()).args(line.split_whitespace());
            step::stream(command)
        };
        kubectl("apply --server-side -f crds")?;
        let mut operator = Command::new(ashlar);
        operator.arg("run").env("KUBECONFIG", cluster.kubeconfig());
        tools.set(&mut operator);
        let mut operator = operator.spawn().context("cannot start the operator")?;
        let ready = kubectl(&format!("apply -f {}", example.display()))
            .and_then(|()| kubectl("wait --for=condition=Ready workspaces.ashlar.dev --all --timeout=120s"))
            .and_then(|()| kubectl("get workspaces.ashlar.dev"));
        operator.kill()?;
        operator.wait()?;
        ready
    };
    let outcome = walk();
    cluster.destroy()?;
    outcome
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), &target)
                .with_context(|| format!("cannot copy {}", entry.path().display()))?;
        }
    }
    Ok(())
}
