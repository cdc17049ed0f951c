//! `cargo xtask oracle`: are the examples of the functions' tables true, and their signatures right, in the real programs?
//!
//! `cargo xtask oracle show-json`: does `show -json` tell of each plan and state of the scenarios what Terraform tells?
//!
//! `cargo xtask oracle random`: do we and the real Terraform do the same with configurations made at random?
//!
//! One console process takes all examples, in an empty folder: those about files ask for files that are not there, and
//! those that differ each time say what is always true of them. What a console does not have is asked by a plan.

mod console;
mod signatures;

use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result, bail};
use ashlar_funcs::{Builtin, Purity};
use ashlar_value::Dialect;
use ashlar_xtask::tools::{self, Group};

use crate::cargo::cargo;
use crate::step;

/// Compare the functions' tables with the real Terraform, and with an OpenTofu that is there.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    what: Option<What>,
    /// A program `tofu`, to compare with too.
    #[arg(long, value_name = "PATH")]
    tofu: Option<PathBuf>,
}

#[derive(clap::Subcommand)]
enum What {
    /// Hold what `show -json` tells of all recorded scenarios against what the real Terraform tells.
    ShowJson {
        /// What is told to `ashlar-conformance show-json`: --kept FOLDER, --filter TEXT, --all.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        words: Vec<String>,
    },
    /// Run configurations made at random in both programs, and compare all they do.
    Random {
        /// What is told to `ashlar-conformance random`: --seed S, --count N, --config K, --out FOLDER.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        words: Vec<String>,
    },
}

pub(crate) fn run(args: &Args) -> Result<()> {
    if let Some(what) = &args.what {
        let (line, words) = match what {
            What::ShowJson { words } => ("show-json tests/oracle/scenarios", words),
            What::Random { words } => ("random", words),
        };
        let mut command = cargo(&format!("run --quiet --package ashlar-conformance -- {line}"));
        command.args(words);
        return step::stream(command);
    }
    let tools = tools::build(&[Group::Terraform])?;
    let mut peers = vec![(Dialect::Terraform, tools.path("ASHLAR_TERRAFORM")?.to_owned())];
    if let Some(tofu) = &args.tofu {
        let tofu = tofu
            .canonicalize()
            .with_context(|| format!("there is no {}", tofu.display()))?;
        peers.push((Dialect::OpenTofu, tofu));
    }
    let mut differences = Vec::new();
    for (dialect, program) in peers {
        differences.extend(compare(dialect, &program)?);
    }
    for difference in &differences {
        println!("{difference}");
    }
    if !differences.is_empty() {
        bail!("{} differences", differences.len());
    }
    Ok(())
}

/// An example with the function it shows.
type Example = (&'static Builtin, &'static str);

/// Everything that differs, a line each.
fn compare(dialect: Dialect, program: &Path) -> Result<Vec<String>> {
    let started = Instant::now();
    let mut differences = signatures::compare(&signatures::ask(program)?, dialect);
    let examples = ashlar_funcs::all()
        .filter(|builtin| builtin.is_in(dialect))
        .flat_map(|builtin| builtin.examples.iter().map(move |example| (builtin, *example)));
    let (planned, asked): (Vec<Example>, Vec<Example>) =
        examples.partition(|(builtin, _)| builtin.purity == Purity::PlanTime);
    let told = console::ask(program, &asked)?
        .into_iter()
        .zip(&asked)
        .chain(console::plan(program, &planned)?.into_iter().zip(&planned));
    let mut true_ones = 0;
    for (told, (builtin, example)) in told {
        if told == "true" {
            true_ones += 1;
        } else {
            differences.push(format!("{dialect}: {}: {example} gives {told}", builtin.name));
        }
    }
    let count = |purity: Purity| {
        let of = asked.iter().filter(|(builtin, _)| builtin.purity == purity);
        of.count()
    };
    println!(
        "{dialect} {}: {} signatures, {} examples, {true_ones} true ({} about files, {} different each time, {} by a plan), in \
         {:.1} s",
        console::version(program)?,
        signatures::count(dialect),
        asked.len() + planned.len(),
        count(Purity::Files),
        count(Purity::Impure),
        planned.len(),
        started.elapsed().as_secs_f32(),
    );
    Ok(differences)
}
