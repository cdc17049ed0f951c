//! `cargo xtask bench warm`: a plan that finds no change, with providers that an earlier run left, beside Terraform; and whether
//! anything is left behind after hundreds of them.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use ashlar_xtask::tools::{self, Group, Tools};
use ashlar_xtask::{layout, process};

use super::{measure, table};
use crate::cargo::{Profile, build_ashlar, cargo};

/// Plans with providers that outlive them, beside Terraform.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Runs of Terraform; the median is told.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    runs: u32,
    /// Plans in a row.
    #[arg(long, default_value_t = 500)]
    plans: u32,
    /// Tenants that they are of, by turns.
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..))]
    tenants: u32,
    /// Build as in development, which takes less long.
    #[arg(long)]
    dev: bool,
    /// Also put the table into benches/README.md.
    #[arg(long)]
    write: bool,
}

const CONFIG: &str = r#"
resource "random_pet" "one" {}

resource "random_id" "two" {
  byte_length = 8
}

resource "tls_private_key" "key" {
  algorithm = "ED25519"
}
"#;

pub(super) fn run(args: &Args) -> Result<()> {
    let profile = if args.dev { Profile::Dev } else { Profile::Release };
    let ashlar = build_ashlar(profile)?;
    let example = build_example(args.dev)?;
    let tools = tools::build(&[Group::Terraform, Group::Providers])?;
    // Short: sockets lie below.
    let scratch = std::env::temp_dir().join(format!("w{}", std::process::id()));
    let machine = measure::machine()?;
    let section = measured(args, &ashlar, &example, &tools, &scratch);
    process::remove_folder(&scratch)?;
    table::publish("warm", &format!("{machine}\n\n{}", section?), args.write)
}

fn build_example(dev: bool) -> Result<PathBuf> {
    let mut command = cargo("build --quiet --package ashlar-runner --example warm");
    if !dev {
        command.arg("--release");
    }
    process::output(&mut command)?;
    let target =
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| layout::root().join("target"), PathBuf::from);
    Ok(target
        .join(if dev { "debug" } else { "release" })
        .join("examples/warm"))
}

fn measured(args: &Args, ashlar: &Path, example: &Path, tools: &Tools, scratch: &Path) -> Result<String> {
    let folder = scratch.join("terraform");
    fs::create_dir_all(&folder)?;
    fs::write(folder.join("main.tf"), CONFIG)?;
    let terraform = |arguments: &[&str]| -> Result<Command> {
        let mut command = Command::new(tools.path("ASHLAR_TERRAFORM")?);
        command
            .args(arguments)
            .current_dir(&folder)
            .env("TF_CLI_CONFIG_FILE", tools.path("ASHLAR_TERRAFORM_CONFIG")?)
            .env("CHECKPOINT_DISABLE", "1");
        Ok(command)
    };
    process::output(&mut terraform(&["init", "-input=false", "-no-color"])?)?;
    process::output(&mut terraform(&[
        "apply",
        "-auto-approve",
        "-input=false",
        "-no-color",
    ])?)?;
    let log = scratch.join("log");
    let mut peers = Vec::new();
    for _ in 0..args.runs {
        let plan = ["plan", "-detailed-exitcode", "-input=false", "-no-color"];
        peers.push(measure::run(&mut terraform(&plan)?, &log)?);
    }
    let peer = measure::median(&peers).context("nothing was measured")?;
    let mut ours = Command::new(example);
    ours.args([
        ashlar,
        tools.path("ASHLAR_PLUGIN_MIRROR")?,
        folder.as_path(),
        scratch,
    ])
    .args([args.plans.to_string(), args.tenants.to_string()]);
    let told = process::output(&mut ours)?;
    section(&told, peer.wall)
}

/// What the example told, as tables.
fn section(told: &str, peer: Duration) -> Result<String> {
    let (mut first, mut warm, mut started, mut rows) = (None, Vec::new(), None, String::new());
    for line in told.lines() {
        match line.split(' ').collect::<Vec<_>>()[..] {
            ["first", took] => first = took.parse::<f64>().ok(),
            ["warm", took] => warm.extend(took.parse::<f64>()),
            ["started", count] => started = count.parse::<u64>().ok(),
            [
                kind @ ("row" | "end"),
                at,
                took,
                resident,
                descriptors,
                children,
                files,
            ] => {
                let (name, took) = match kind {
                    "end" => ("all ended", "-"),
                    _ => (at, took),
                };
                let resident = resident.parse::<f64>()? / 1e6;
                // Writing to a String cannot fail.
                let _ = writeln!(
                    rows,
                    "| {name} | {took} | {resident:.1} MB | {descriptors} | {children} | {files} |"
                );
            }
            _ => bail!("this is none of the figures: {line}"),
        }
    }
    warm.sort_by(f64::total_cmp);
    let median = warm.get(warm.len() / 2).copied();
    let (Some(first), Some(median), Some(started)) = (first, median, started) else {
        bail!("figures are missing in:\n{told}");
    };
    let peer = peer.as_secs_f64() * 1e3;
    Ok(format!(
        "| plan without changes | wall | processes started | Terraform's time divided by it |\n|---|---:|---:|---:|\n\
         | Ashlar, the first run | {first:.1} ms | all | {:.1} |\n\
         | Ashlar, from then on | {median:.1} ms | {started} | {:.1} |\n\
         | Terraform | {peer:.1} ms | all | 1 |\n\n\
         | plans so far | the last one, ms | own resident memory | descriptors | providers that run | files of providers |\n\
         |---:|---:|---:|---:|---:|---:|\n{rows}",
        peer / first,
        peer / median
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_become_tables() {
        let told = "first 100.0\nwarm 3.0\nwarm 1.0\nwarm 2.0\nstarted 0\nrow 50 2.5 1000000 20 4 9\nend 0 0 900000 12 0 0\n";
        let text = section(told, Duration::from_millis(400)).unwrap();
        assert!(
            text.contains("| Ashlar, from then on | 2.0 ms | 0 | 200.0 |"),
            "{text}"
        );
        assert!(text.contains("| 50 | 2.5 | 1.0 MB | 20 | 4 | 9 |"), "{text}");
        assert!(text.contains("| all ended | - | 0.9 MB | 12 | 0 | 0 |"), "{text}");
        assert!(section("first 1\n", Duration::ZERO).is_err());
        assert!(section("nonsense\n", Duration::ZERO).is_err());
    }
}
