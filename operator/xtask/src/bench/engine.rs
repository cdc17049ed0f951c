//! `cargo xtask bench engine`: plan, apply and a plan without changes of many resources, by `ashlar` and by Terraform.
//!
//! Each measures the same text from an empty state, one after the other and never at once, so that they share the
//! machine's mood but not its cores.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use ashlar_xtask::tools::{self, Group};
use ashlar_xtask::{layout, process};

use super::backend::Backend;
use super::layers;
use super::measure::{self, Cost};
use super::table::{self, Row};
use crate::cargo::{Profile, build_ashlar};

/// Terraform takes many minutes to apply more; its plan without changes then starts from the state that we made.
const LARGEST_PEER_APPLY: usize = 1000;
/// From this size on, one run is made where no number is given.
const ONE_RUN_FROM: usize = 10_000;
const WARM_UP: usize = 10;

/// Plan, apply and plan again, beside Terraform.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Numbers of resources.
    #[arg(long, value_delimiter = ',', default_value = "100,1000,10000")]
    sizes: Vec<usize>,
    /// Runs of each size; the medians are told. By default 3, and 1 from 10,000 resources on.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    runs: Option<u32>,
    /// Also put the table into benches/README.md.
    #[arg(long)]
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
    };
    let machine = measure::machine()?;
    let outcome = bench.all(&args.sizes, args.runs);
    process::remove_folder(&bench.scratch)?;
    let section = format!("{machine}\n\n{}", table::markdown(&outcome?));
    table::publish("engine", &section, args.write)
}

/// What is done, in order.
#[derive(Clone, Copy)]
enum Step {
    Plan,
    Apply,
    Unchanged,
}

impl Step {
    const IN_ORDER: [Step; 3] = [Step::Plan, Step::Apply, Step::Unchanged];

    fn name(self) -> &'static str {
        match self {
            Step::Plan => "plan",
            Step::Apply => "apply",
            Step::Unchanged => "plan, no change",
        }
    }

    /// Arguments that both programs take, but for the number of hyphens. With `detailed-exitcode` a plan that changes
    /// anything ends with another status than 0, and the run fails.
    fn line(self) -> &'static [&'static str] {
        match self {
            Step::Plan => &["plan"],
            Step::Apply => &["apply", "auto-approve"],
            Step::Unchanged => &["plan", "detailed-exitcode"],
        }
    }
}

/// The costs of one run, by step.
type Costs = [Option<Cost>; Step::IN_ORDER.len()];

struct Bench {
    ashlar: PathBuf,
    terraform: PathBuf,
    scratch: PathBuf,
}

impl Bench {
    fn all(&self, sizes: &[usize], runs: Option<u32>) -> Result<Vec<Row>> {
        eprintln!("warming up");
        self.both(WARM_UP)?;
        let mut rows = Vec::new();
        for &size in sizes {
            let runs = runs.unwrap_or(if size < ONE_RUN_FROM { 3 } else { 1 });
            let costs = (1..=runs)
                .map(|run| {
                    eprintln!("{size} resources, run {run} of {runs}");
                    self.both(size)
                })
                .collect::<Result<Vec<_>>>()?;
            for (index, step) in Step::IN_ORDER.into_iter().enumerate() {
                let median = |pick: fn(&(Costs, Costs)) -> &Costs| {
                    let costs: Vec<Cost> = costs.iter().filter_map(|run| pick(run)[index]).collect();
                    measure::median(&costs)
                };
                rows.push(Row {
                    resources: size,
                    step: step.name(),
                    ours: median(|run| &run.0).context("nothing was measured")?,
                    peer: median(|run| &run.1),
                });
            }
        }
        Ok(rows)
    }

    /// One run of each, ours first.
    fn both(&self, size: usize) -> Result<(Costs, Costs)> {
        let module = layers::module(size);
        let folder = |name: &str| -> Result<PathBuf> {
            let folder = self.scratch.join(name);
            process::remove_folder(&folder)?;
            fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
            fs::write(folder.join("main.tf"), &module)?;
            Ok(folder)
        };
        let ours = folder("ashlar")?;
        let costs = self.run_ashlar(&ours)?;
        let state = fs::read(ours.join("terraform.tfstate")).context("ashlar left no state")?;
        let peer = self.run_terraform(&folder("terraform")?, size, state)?;
        Ok((costs, peer))
    }

    fn run_ashlar(&self, folder: &Path) -> Result<Costs> {
        let mut costs = Costs::default();
        for (cost, step) in costs.iter_mut().zip(Step::IN_ORDER) {
            let [word, flags @ ..] = step.line() else { continue };
            let mut command = Command::new(&self.ashlar);
            command
                .arg(word)
                .args(flags.iter().map(|flag| format!("--{flag}")))
                .arg("--dir")
                .arg(folder);
            *cost = Some(self.measured("ashlar", step, &mut command)?);
        }
        Ok(costs)
    }

    fn run_terraform(&self, folder: &Path, size: usize, our_state: Vec<u8>) -> Result<Costs> {
        let backend = Backend::start()?;
        fs::write(folder.join("backend.tf"), backend.configuration())?;
        let settings = self.scratch.join("terraformrc");
        fs::write(&settings, "disable_checkpoint = true\n")?;
        let terraform = || {
            let mut command = Command::new(&self.terraform);
            command
                .current_dir(folder)
                .env("TF_CLI_CONFIG_FILE", &settings)
                .env("CHECKPOINT_DISABLE", "1");
            command
        };
        process::output(terraform().args(["init", "-input=false", "-no-color"]))?;
        let mut costs = Costs::default();
        for (cost, step) in costs.iter_mut().zip(Step::IN_ORDER) {
            if matches!(step, Step::Apply) && size > LARGEST_PEER_APPLY {
                backend.seed(our_state.clone());
                continue;
            }
            let [word, flags @ ..] = step.line() else { continue };
            let mut command = terraform();
            command
                .arg(word)
                .args(flags.iter().map(|flag| format!("-{flag}")))
                .args(["-input=false", "-no-color"]);
            *cost = Some(self.measured("terraform", step, &mut command)?);
        }
        Ok(costs)
    }

    fn measured(&self, program: &str, step: Step, command: &mut Command) -> Result<Cost> {
        let cost = measure::run(command, &self.scratch.join("log"))?;
        eprintln!(
            "  {program:<10} {:<16} {:>8.2} s",
            step.name(),
            cost.wall.as_secs_f64()
        );
        Ok(cost)
    }
}
