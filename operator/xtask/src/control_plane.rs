//! `cargo xtask cluster`: a control plane to try things on, kept until it is taken down.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use ashlar_xtask::cluster::{Cluster, Program};
use ashlar_xtask::layout;
use ashlar_xtask::tools::{self, Group};
use clap::Subcommand;

/// Start or stop a Kubernetes control plane on loopback: etcd, API server, controller manager, no node.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Order,
    /// Folder of its state; by default `cluster` in the cache folder. Each folder is a control plane of its own.
    #[arg(long, global = true)]
    dir: Option<PathBuf>,
}

#[derive(Subcommand)]
enum Order {
    /// Start it and wait until it serves.
    Up,
    /// Stop it.
    Down {
        /// Stop it at once and remove its data.
        #[arg(long)]
        delete: bool,
    },
    /// Print the line that points kubectl at it: `eval "$(cargo xtask cluster env)"`.
    Env,
    /// Tell what runs.
    Status,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let folder = match &args.dir {
        Some(folder) => folder.clone(),
        None => layout::cache()?.join("cluster"),
    };
    let laid_out = || {
        let open = Cluster::open(&folder)?;
        open.with_context(|| {
            format!(
                "no control plane in {}: `cargo xtask cluster up` makes one",
                folder.display()
            )
        })
    };
    match args.command {
        Order::Up => {
            let cluster = Cluster::up(&folder, &tools::build(&[Group::Kube])?)?;
            println!("The API server is at {}; for kubectl:", cluster.url());
            println!("export KUBECONFIG={}", cluster.kubeconfig().display());
            Ok(())
        }
        Order::Down { delete: false } => laid_out()?.down(),
        Order::Down { delete: true } => Cluster::open(&folder)?.map_or(Ok(()), Cluster::destroy),
        Order::Env => {
            println!("export KUBECONFIG={}", laid_out()?.kubeconfig().display());
            Ok(())
        }
        Order::Status => status(&laid_out()?),
    }
}

fn status(cluster: &Cluster) -> Result<()> {
    for program in Program::IN_ORDER {
        let state = if cluster.is_running(program) {
            "running"
        } else {
            "stopped"
        };
        println!(
            "{:<24} {state:<8} {}",
            program.name(),
            cluster.log(program).display()
        );
    }
    if !cluster.api_answers() {
        bail!("{} is not ready", cluster.url());
    }
    println!("{:<24} ready    {}", "API server", cluster.url());
    Ok(())
}
