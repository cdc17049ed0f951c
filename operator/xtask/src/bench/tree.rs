//! `cargo xtask bench tree`: a configuration of 2,000 modules and 10,000 blocks, validated by `ashlar` and by Terraform.
//!
//! Half of the leaves hold a resource of a plugin, which both programs start; its memory is told apart from theirs.

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};
use ashlar_xtask::tools::{self, Group};
use ashlar_xtask::{layout, process};

use super::measure::{self, Cost};
use super::{table, tree_config};
use crate::cargo::{Profile, build_ashlar};

/// A tree of modules, validated beside Terraform.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Runs; the medians are told.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    runs: u32,
    /// Also put the table into benches/README.md.
    #[arg(long)]
    write: bool,
    /// Measure this program instead of building one.
    #[arg(long, value_name = "PROGRAM")]
    ashlar: Option<PathBuf>,
}

/// What a run cost without its plugins' memory, and that.
type Costs = (Vec<Cost>, Vec<u64>);

pub(super) fn run(args: &Args) -> Result<()> {
    let ashlar = match &args.ashlar {
        Some(program) => std::path::absolute(program)?,
        None => build_ashlar(Profile::Release)?,
    };
    let tools = tools::build(&[Group::Terraform, Group::Providers])?;
    let scratch = layout::cache()?
        .join("bench")
        .join(std::process::id().to_string());
    let machine = measure::machine()?;
    let outcome = measure_both(args, &ashlar, &tools, &scratch);
    process::remove_folder(&scratch)?;
    let (ours, peer) = outcome?;
    let mut section = format!("{machine}\n\n");
    section.push_str("| program | wall | CPU, plugins too | peak of the program | peak of its plugins |\n|---|---:|---:|---:|---:|\n");
    for (name, (costs, plugins)) in [("Ashlar", &ours), ("Terraform", &peer)] {
        let cost = measure::median(costs).context("nothing was measured")?;
        let plugins = plugins.iter().max().copied().unwrap_or_default();
        // Writing to a String cannot fail.
        let _ = writeln!(
            section,
            "| {name} | {:.2} s | {:.2} s | {:.0} MB | {:.0} MB |",
            cost.wall.as_secs_f64(),
            cost.cpu.as_secs_f64(),
            cost.peak as f64 / 1e6,
            plugins as f64 / 1e6
        );
    }
    table::publish("tree", &section, args.write)
}

fn measure_both(
    args: &Args,
    ashlar: &std::path::Path,
    tools: &tools::Tools,
    scratch: &std::path::Path,
) -> Result<(Costs, Costs)> {
    let mirror = tools.path("ASHLAR_PLUGIN_MIRROR")?;
    let folder = |name: &str| -> Result<PathBuf> {
        let folder = scratch.join(name);
        fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
        tree_config::write(&folder)?;
        Ok(folder)
    };
    let (ours, peers) = (folder("ashlar")?, folder("terraform")?);
    let terraform = || -> Result<Command> {
        let mut command = Command::new(tools.path("ASHLAR_TERRAFORM")?);
        command
            .current_dir(&peers)
            .env("TF_CLI_CONFIG_FILE", tools.path("ASHLAR_TERRAFORM_CONFIG")?)
            .env("CHECKPOINT_DISABLE", "1");
        Ok(command)
    };
    process::output(terraform()?.args(["init", "-input=false", "-no-color"]))?;
    let log = scratch.join("log");
    let (mut our_costs, mut peer_costs) = (Costs::default(), Costs::default());
    for _ in 0..args.runs {
        let mut command = Command::new(ashlar);
        command
            .args(["validate", "--no-color", "--dir"])
            .arg(&ours)
            .arg("--mirror")
            .arg(mirror);
        for (name, command, costs) in [
            ("ashlar", &mut command, &mut our_costs),
            (
                "terraform",
                terraform()?.args(["validate", "-no-color"]),
                &mut peer_costs,
            ),
        ] {
            let (cost, plugins) = measure::run_with_plugins(command, &log)?;
            eprintln!("{name:<10} {:>8.2} s", cost.wall.as_secs_f64());
            costs.0.push(cost);
            costs.1.push(plugins);
        }
    }
    Ok((our_costs, peer_costs))
}
