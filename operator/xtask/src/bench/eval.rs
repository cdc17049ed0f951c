//! `cargo xtask bench eval`: expressions, evaluated by `ashlar` and by Terraform.
//!
//! Each stands in an output of a module without resources, which both programs plan. What a plan costs without any
//! evaluation is a row of its own, and is taken off the others for the last columns. Both results must be the same.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use ashlar_xtask::tools::{self, Group};
use ashlar_xtask::{layout, process};

use super::eval_rows::{ROWS, Row, START_UP};
use super::measure::{self, Cost};
use super::table;
use crate::cargo::{Profile, build_ashlar};

/// Expressions, beside Terraform.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Only rows whose name holds this text.
    #[arg(long, default_value = "")]
    only: String,
    /// Runs of each row; the medians are told.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    runs: u32,
    /// Also put the table into benches/README.md.
    #[arg(long, conflicts_with = "only")]
    write: bool,
    /// Measure this program instead of building one.
    #[arg(long, value_name = "PROGRAM")]
    ashlar: Option<PathBuf>,
}

pub(super) fn run(args: &Args) -> Result<()> {
    let bench = Bench {
        ashlar: match &args.ashlar {
            Some(program) => std::path::absolute(program)?,
            None => build_ashlar(Profile::Release)?,
        },
        terraform: tools::build(&[Group::Terraform])?
            .path("ASHLAR_TERRAFORM")?
            .to_path_buf(),
        scratch: layout::cache()?
            .join("bench")
            .join(std::process::id().to_string()),
        runs: args.runs,
    };
    let machine = measure::machine()?;
    let outcome = bench.all(&args.only);
    process::remove_folder(&bench.scratch)?;
    let section = format!("{machine}\n\n{}", outcome?);
    table::publish("eval", &section, args.write)
}

struct Bench {
    ashlar: PathBuf,
    terraform: PathBuf,
    scratch: PathBuf,
    runs: u32,
}

/// Ours and the peer's.
type Both = (Cost, Cost);

impl Bench {
    fn all(&self, only: &str) -> Result<String> {
        let mut text = String::from(
            "| expression | Ashlar: wall | CPU | peak | Terraform: wall | CPU | peak | ratio: wall | CPU | peak | \
             without start-up: wall | CPU |\n|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n",
        );
        let start_up = self.row(&START_UP)?;
        line(&mut text, START_UP.name, &start_up, None);
        for row in ROWS.iter().filter(|row| row.name.contains(only)) {
            line(&mut text, row.name, &self.row(row)?, Some(&start_up));
        }
        Ok(text)
    }

    /// The medians of one row.
    fn row(&self, row: &Row) -> Result<Both> {
        let folder = |name: &str| -> Result<PathBuf> {
            let folder = self.scratch.join(name);
            process::remove_folder(&folder)?;
            fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
            fs::write(folder.join("main.tf"), module(row))?;
            if let Some((name, make)) = row.file {
                fs::write(folder.join(name), make())?;
            }
            Ok(folder)
        };
        let (ours, peers) = (folder("ashlar")?, folder("terraform")?);
        let settings = self.scratch.join("terraformrc");
        fs::write(&settings, "disable_checkpoint = true\n")?;
        let (mut our_costs, mut peer_costs) = (Vec::new(), Vec::new());
        for _ in 0..self.runs {
            let mut ashlar = Command::new(&self.ashlar);
            ashlar.args(["plan", "--no-color", "--dir"]).arg(&ours);
            let (cost, our_result) = self.measured(&mut ashlar)?;
            our_costs.push(cost);
            let mut terraform = Command::new(&self.terraform);
            terraform
                .current_dir(&peers)
                .env("TF_CLI_CONFIG_FILE", &settings)
                .env("CHECKPOINT_DISABLE", "1")
                .args(["plan", "-input=false", "-no-color"]);
            let (cost, peer_result) = self.measured(&mut terraform)?;
            peer_costs.push(cost);
            if our_result != peer_result {
                bail!("{}: ashlar says {our_result}, terraform {peer_result}", row.name);
            }
        }
        let middle = |costs: &[Cost]| measure::median(costs).context("nothing was measured");
        let both = (middle(&our_costs)?, middle(&peer_costs)?);
        eprintln!(
            "{:<60} {:>8.1} ms {:>9.1} ms",
            row.name,
            milliseconds(both.0.wall),
            milliseconds(both.1.wall)
        );
        Ok(both)
    }

    /// The cost of a plan, and what it says of the output.
    fn measured(&self, command: &mut Command) -> Result<(Cost, String)> {
        let log = self.scratch.join("log");
        let cost = measure::run(command, &log)?;
        Ok((cost, result(&log)?))
    }
}

fn module(row: &Row) -> String {
    format!(
        "{}output \"result\" {{\n  value = {}\n}}\n",
        row.module, row.expression
    )
}

/// The value of the output in the text of a plan.
fn result(log: &Path) -> Result<String> {
    let text = fs::read_to_string(log)?;
    text.lines()
        .find_map(|line| line.trim().strip_prefix("+ result = "))
        .map(str::to_owned)
        .with_context(|| format!("a plan without the output:\n{text}"))
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// Appends a line of the table. A ratio is the peer's figure divided by ours.
fn line(text: &mut String, name: &str, (ours, peer): &Both, start_up: Option<&Both>) {
    let _ = write!(text, "| {name} |");
    for cost in [ours, peer] {
        let _ = write!(
            text,
            " {:.1} ms | {:.1} ms | {:.0} MB |",
            milliseconds(cost.wall),
            milliseconds(cost.cpu),
            cost.peak as f64 / 1e6
        );
    }
    let times = |a: Duration, b: Duration| format!("{:.1}", a.as_secs_f64() / b.as_secs_f64());
    let _ = write!(
        text,
        " {} | {} | {:.1} |",
        times(peer.wall, ours.wall),
        times(peer.cpu, ours.cpu),
        peer.peak as f64 / ours.peak as f64
    );
    let rest = |pick: fn(&Cost) -> Duration| -> String {
        let Some((our_start, peer_start)) = start_up else {
            return "-".to_owned();
        };
        let ours = pick(ours).saturating_sub(pick(our_start));
        let peer = pick(peer).saturating_sub(pick(peer_start));
        // Shorter than what two starts differ by, it tells nothing.
        if ours < Duration::from_micros(500) {
            return "-".to_owned();
        }
        times(peer, ours)
    };
    let _ = writeln!(text, " {} | {} |", rest(|cost| cost.wall), rest(|cost| cost.cpu));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn start_up_is_taken_off() {
        let cost = |wall, cpu| Cost {
            wall: Duration::from_millis(wall),
            cpu: Duration::from_millis(cpu),
            peak: 10_000_000,
        };
        let start = (cost(10, 5), cost(200, 150));
        let shown = |both: Both, start: Option<&Both>| {
            let mut text = String::new();
            line(&mut text, "x", &both, start);
            text
        };
        assert_eq!(
            shown((cost(20, 10), cost(400, 200)), Some(&start)),
            "| x | 20.0 ms | 10.0 ms | 10 MB | 400.0 ms | 200.0 ms | 10 MB | 20.0 | 20.0 | 1.0 | 20.0 | 10.0 |\n"
        );
        assert_eq!(
            shown((cost(10, 5), cost(400, 200)), Some(&start)),
            "| x | 10.0 ms | 5.0 ms | 10 MB | 400.0 ms | 200.0 ms | 10 MB | 40.0 | 40.0 | 1.0 | - | - |\n"
        );
        assert!(shown(start, None).ends_with("| - | - |\n"));
    }
}
