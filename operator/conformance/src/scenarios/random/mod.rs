//! Configurations made at random, run step by step by us and by real Terraform side by side, each from its own state and its
//! own copy of the world.
//!
//! A seed and a number fix a configuration, its edits, the drift and the faults. What is compared is what scenarios compare.
//! A difference is shrunk and written down as a scenario.

mod case;
mod drift;
mod edits;
mod estate;
mod excused;
mod exprs;
mod kinds;
mod moves;
mod next;
mod pair;
mod parts;
mod peer;
mod record;
mod resources;
mod shrink;

use std::{path::PathBuf, process::ExitCode, time::Instant};

pub(super) use self::peer::{Peer, flags, variables};
use self::{
    estate::Estate,
    pair::{Pair, chance_of},
};
use super::{normalise, step::Bench};

/// What the comparison is told.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// What all configurations follow from.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How many configurations.
    #[arg(long, value_name = "N", default_value_t = 20)]
    count: u64,
    /// The first configuration's number.
    #[arg(long, value_name = "K", default_value_t = 0)]
    config: u64,
    /// The folder that scenarios of differences are written to.
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    /// Tell differences as they are.
    #[arg(long)]
    no_shrink: bool,
    /// Only print the first step's files of each.
    #[arg(long)]
    show: bool,
    /// Stop after so many differences.
    #[arg(long, value_name = "N", default_value_t = 10)]
    differences: usize,
}

/// Runs all configurations that are asked for.
pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    if args.show {
        for number in args.config..args.config + args.count {
            let estate = Estate::new(&mut chance_of(args.seed, number));
            for (name, body) in estate.files() {
                println!("# {name} of configuration {number}\n{}", body.text());
            }
        }
        return Ok(ExitCode::SUCCESS);
    }
    let scratch = tempfile::Builder::new().prefix("ashlar-").tempdir()?;
    let pair = Pair::new(scratch.path())?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let (mut equal, mut differ) = (0, 0);
    for number in args.config..args.config + args.count {
        let started = Instant::now();
        let found = runtime.block_on(pair.explore(args.seed, number))?;
        let seconds = started.elapsed().as_secs_f32();
        let Some((case, miss)) = found.difference else {
            equal += 1;
            println!(
                "seed {} configuration {number}: equal ({}), {seconds:.1} s",
                args.seed, found.told
            );
            continue;
        };
        differ += 1;
        println!(
            "seed {} configuration {number}: DIFFERS, {seconds:.1} s\n  terraform: {}\n  ashlar:    {}",
            args.seed,
            brief(&miss.expected),
            brief(&miss.got)
        );
        let (case, tries) = if args.no_shrink {
            (case, 0)
        } else {
            runtime.block_on(pair.shrink(case, &miss))?
        };
        if let Some(out) = &args.out {
            let folder = out.join(format!("{}-{number}", args.seed));
            let title = format!("Found at random: seed {}, configuration {number}.", args.seed);
            let miss = runtime.block_on(pair.record(&case, &folder, &title))?;
            println!("  after {tries} tries: {}", folder.display());
            if let Some(miss) = miss {
                println!(
                    "  terraform: {}\n  ashlar:    {}",
                    brief(&miss.expected),
                    brief(&miss.got)
                );
            }
        }
        if differ >= args.differences {
            break;
        }
    }
    println!("{equal} passed, {differ} failed");
    Ok(if differ == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// Scenarios whose record is made anew.
#[derive(clap::Args)]
pub(crate) struct RecordArgs {
    /// Folders, each with a `scenario.yaml`.
    #[arg(required = true)]
    folders: Vec<PathBuf>,
}

/// Runs scenarios in Terraform alone and writes down what it did. The order of calls is not told: one run does not show it.
pub(crate) fn record(args: &RecordArgs) -> anyhow::Result<ExitCode> {
    let scratch = tempfile::Builder::new().prefix("ashlar-").tempdir()?;
    let pair = Pair::new(scratch.path())?;
    for folder in &args.folders {
        let scenario = super::read_scenario(folder)?;
        let root = tempfile::Builder::new().prefix("ashlar-record-").tempdir()?;
        let bench = Bench::new(root.path(), pair.settings.clone())?;
        let mut expected = Vec::new();
        for step in scenario["steps"].as_array().into_iter().flatten() {
            expected.push(pair.peer.run(&bench, step, expected.is_empty())?);
        }
        let expected = normalise::normalise(expected, &super::words(&bench, root.path(), &pair.settings));
        record::write_expected(folder, scenario["title"].as_str().unwrap_or_default(), expected)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn brief(text: &str) -> String {
    text.chars().take(4000).collect()
}
