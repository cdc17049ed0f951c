//! `cargo xtask bench schema`: what it costs to have the schema of a large provider, beside Terraform.
//!
//! The command is `show -json` of a state that holds one object of the provider `aws`: it needs the schema and nothing else, so
//! that Terraform starts the provider for it, and `ashlar` does so once for a binary. What the same command costs with one
//! object of the provider `random`, whose schema is small, is taken off: all but the schema's size is the same there.

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

const SMALL_CONFIG: &str = "resource \"random_id\" \"one\" {\n  byte_length = 8\n}\n";
const SMALL_OBJECT: &str = r#"{"mode":"managed","type":"random_id","name":"one",
  "provider":"provider[\"registry.terraform.io/hashicorp/random\"]",
  "instances":[{"schema_version":0,"attributes":{"id":"AAAAAAAAAAA","byte_length":8},"sensitive_attributes":[]}]}"#;

fn state(object: &str) -> String {
    format!(
        r#"{{"version":4,"terraform_version":"1.15.5","serial":1,"lineage":"bench","outputs":{{}},"resources":[{object}]}}"#
    )
}

/// A folder with a configuration and a state.
fn folder(at: &Path, config: &str, object: &str) -> Result<()> {
    fs::create_dir_all(at).with_context(|| format!("cannot make {}", at.display()))?;
    fs::write(at.join("main.tf"), config)?;
    Ok(fs::write(at.join("terraform.tfstate"), state(object))?)
}

pub(super) fn run(args: &Args) -> Result<()> {
    let ashlar = match &args.ashlar {
        Some(program) => std::path::absolute(program)?,
        None => build_ashlar(Profile::Release)?,
    };
    let tools = tools::build(&[Group::Terraform, Group::Providers, Group::Clouds])?;
    let scratch = layout::cache()?
        .join("bench")
        .join(std::process::id().to_string());
    let machine = measure::machine()?;
    let measured = measure_all(args, &ashlar, &tools, &scratch);
    process::remove_folder(&scratch)?;
    let mut section = format!("{machine}\n\n");
    section.push_str(
        "| program | wall | CPU | peak of the program | peak of its plugins | more than with a small schema: wall | peak of the program |\n\
         |---|---:|---:|---:|---:|---:|---:|\n",
    );
    for (name, (cost, plugins), base) in measured? {
        let more = cost.wall.saturating_sub(base.wall);
        // Writing to a String cannot fail.
        let _ = writeln!(
            section,
            "| {name} | {:.0} ms | {:.0} ms | {:.0} MB | {:.0} MB | {:.0} ms | {:.1} MB |",
            cost.wall.as_secs_f64() * 1e3,
            cost.cpu.as_secs_f64() * 1e3,
            cost.peak as f64 / 1e6,
            plugins as f64 / 1e6,
            more.as_secs_f64() * 1e3,
            cost.peak.saturating_sub(base.peak) as f64 / 1e6,
        );
    }
    table::publish("schema", &section, args.write)
}

/// What one command costs, with the peak of its plugins.
type Measured = (Cost, u64);

/// A program's name, what it costs, and what it costs with a small schema.
type Row = (&'static str, Measured, Cost);

/// The medians of each program.
fn measure_all(args: &Args, ashlar: &Path, tools: &Tools, scratch: &Path) -> Result<Vec<Row>> {
    let large = scratch.join("large");
    let small = scratch.join("small");
    folder(&large, CONFIG, OBJECT)?;
    folder(&small, SMALL_CONFIG, SMALL_OBJECT)?;
    let kept = scratch.join("kept");
    let ours = |dir: &Path, mirror: &str| -> Result<Command> {
        let mut command = Command::new(ashlar);
        command
            .args(["show", "-json", "--dir"])
            .arg(dir)
            .arg("--mirror")
            .arg(tools.path(mirror)?)
            .env("XDG_CACHE_HOME", &kept);
        Ok(command)
    };
    let theirs = |dir: &Path, config: &str, arguments: &[&str]| -> Result<Command> {
        let mut command = Command::new(tools.path("ASHLAR_TERRAFORM")?);
        command
            .args(arguments)
            .current_dir(dir)
            .env("TF_CLI_CONFIG_FILE", tools.path(config)?)
            .env("CHECKPOINT_DISABLE", "1");
        Ok(command)
    };
    let places = [
        (
            &large,
            "ASHLAR_CLOUD_MIRROR",
            "ASHLAR_CLOUD_TERRAFORM_CONFIG",
            "aws_vpc",
        ),
        (
            &small,
            "ASHLAR_PLUGIN_MIRROR",
            "ASHLAR_TERRAFORM_CONFIG",
            "random_id",
        ),
    ];
    let log = scratch.join("log");
    // By folder: the first time, from then on, the peer.
    let mut all: [[Vec<Measured>; 3]; 2] = Default::default();
    for (dir, _, config, _) in &places {
        process::output(&mut theirs(dir, config, &["init", "-input=false", "-no-color"])?)?;
    }
    for _ in 0..args.runs {
        process::remove_folder(&kept)?;
        for ((dir, mirror, config, shown), [first, later, peer]) in places.iter().zip(&mut all) {
            for (costs, mut command) in [
                (first, ours(dir, mirror)?),
                (later, ours(dir, mirror)?),
                (peer, theirs(dir, config, &["show", "-json"])?),
            ] {
                costs.push(measure::run_with_plugins(&mut command, &log)?);
                let told = fs::read_to_string(&log)?;
                anyhow::ensure!(told.contains(shown), "the object is not shown: {told}");
            }
        }
    }
    let median = |costs: &[Measured]| {
        let (costs, mut plugins): (Vec<_>, Vec<_>) = costs.iter().copied().unzip();
        plugins.sort_unstable();
        let median = measure::median(&costs).zip(plugins.get(costs.len().saturating_sub(1) / 2).copied());
        median.context("nothing was measured")
    };
    let [large, small] = all;
    let names = ["Ashlar, the first time", "Ashlar, from then on", "Terraform"];
    let rows = names.into_iter().zip(large.iter().zip(&small));
    rows.map(|(name, (large, small))| Ok((name, median(large)?, median(small)?.0)))
        .collect()
}
