//! `cargo xtask bench schema`: what it costs to have the schema of a large provider, beside Terraform.
//!
//! The command is `show -json` of a state that holds one object of the provider `aws`: it needs the schema and nothing else, so
//! that Terraform starts the provider for it, and `ashlar` does so once for a binary. What the same command costs for a state
//! without any object is taken off.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use ashlar_xtask::tools::{self, Group, Tools};
use ashlar_xtask::{layout, process};

use super::measure::{self, Cost};
use super::table;
use crate::cargo::{Profile, build_ashlar};

/// The schema of a large provider, beside Terraform.
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

const CONFIG: &str = "resource \"aws_vpc\" \"one\" {\n  cidr_block = \"10.0.0.0/16\"\n}\n";
const OBJECT: &str = r#"{"mode":"managed","type":"aws_vpc","name":"one",
  "provider":"provider[\"registry.terraform.io/hashicorp/aws\"]",
  "instances":[{"schema_version":1,"attributes":{"id":"vpc-1","cidr_block":"10.0.0.0/16"},"sensitive_attributes":[]}]}"#;

fn state(objects: &str) -> String {
    format!(
        r#"{{"version":4,"terraform_version":"1.15.5","serial":1,"lineage":"bench","outputs":{{}},"resources":[{objects}]}}"#
    )
}

/// A folder with a configuration and a state.
fn folder(at: &Path, config: &str, objects: &str) -> Result<()> {
    fs::create_dir_all(at).with_context(|| format!("cannot make {}", at.display()))?;
    fs::write(at.join("main.tf"), config)?;
    Ok(fs::write(at.join("terraform.tfstate"), state(objects))?)
}

pub(super) fn run(args: &Args) -> Result<()> {
    let ashlar = match &args.ashlar {
        Some(program) => std::path::absolute(program)?,
        None => build_ashlar(Profile::Release)?,
    };
    let tools = tools::build(&[Group::Terraform, Group::Clouds])?;
    let scratch = layout::cache()?
        .join("bench")
        .join(std::process::id().to_string());
    let machine = measure::machine()?;
    let measured = measure_all(args, &ashlar, &tools, &scratch);
    process::remove_folder(&scratch)?;
    let mut section = format!("{machine}\n\n");
    section.push_str(
        "| program | wall | CPU | peak of the program | more than without the schema: wall | peak |\n|---|---:|---:|---:|---:|---:|\n",
    );
    for (name, cost, base) in measured? {
        let more = cost.wall.saturating_sub(base.wall);
        // Writing to a String cannot fail.
        let _ = writeln!(
            section,
            "| {name} | {:.0} ms | {:.0} ms | {:.0} MB | {:.0} ms | {:.1} MB |",
            cost.wall.as_secs_f64() * 1e3,
            cost.cpu.as_secs_f64() * 1e3,
            cost.peak as f64 / 1e6,
            more.as_secs_f64() * 1e3,
            cost.peak.saturating_sub(base.peak) as f64 / 1e6,
        );
    }
    table::publish("schema", &section, args.write)
}

/// The medians of each program, with what the command costs it without the schema.
fn measure_all(
    args: &Args,
    ashlar: &Path,
    tools: &Tools,
    scratch: &Path,
) -> Result<Vec<(&'static str, Cost, Cost)>> {
    let (with, without) = (scratch.join("with"), scratch.join("without"));
    folder(&with, CONFIG, OBJECT)?;
    folder(&without, "", "")?;
    let kept = scratch.join("kept");
    let ours = |dir: &Path| -> Result<Command> {
        let mut command = Command::new(ashlar);
        command
            .args(["show", "-json", "--dir"])
            .arg(dir)
            .arg("--mirror")
            .arg(tools.path("ASHLAR_CLOUD_MIRROR")?)
            .env("XDG_CACHE_HOME", &kept);
        Ok(command)
    };
    let theirs = |dir: &Path, arguments: &[&str]| -> Result<Command> {
        let mut command = Command::new(tools.path("ASHLAR_TERRAFORM")?);
        command
            .args(arguments)
            .current_dir(dir)
            .env("TF_CLI_CONFIG_FILE", tools.path("ASHLAR_CLOUD_TERRAFORM_CONFIG")?)
            .env("CHECKPOINT_DISABLE", "1");
        Ok(command)
    };
    for dir in [&with, &without] {
        process::output(&mut theirs(dir, &["init", "-input=false", "-no-color"])?)?;
    }
    let log = scratch.join("log");
    let (mut first, mut later, mut peer) = (Vec::new(), Vec::new(), Vec::new());
    let (mut own_base, mut peer_base) = (Vec::new(), Vec::new());
    for _ in 0..args.runs {
        process::remove_folder(&kept)?;
        first.push(measure::run_with_plugins(&mut ours(&with)?, &log)?.0);
        let told = fs::read_to_string(&log)?;
        anyhow::ensure!(told.contains("aws_vpc"), "the object is not shown: {told}");
        later.push(measure::run(&mut ours(&with)?, &log)?);
        own_base.push(measure::run(&mut ours(&without)?, &log)?);
        let show = ["show", "-json"];
        peer.push(measure::run_with_plugins(&mut theirs(&with, &show)?, &log)?.0);
        peer_base.push(measure::run(&mut theirs(&without, &show)?, &log)?);
    }
    let median = |costs: &[Cost]| measure::median(costs).context("nothing was measured");
    let (own_base, peer_base) = (median(&own_base)?, median(&peer_base)?);
    Ok(vec![
        ("Ashlar, the first time", median(&first)?, own_base),
        ("Ashlar, from then on", median(&later)?, own_base),
        ("Terraform", median(&peer)?, peer_base),
    ])
}
