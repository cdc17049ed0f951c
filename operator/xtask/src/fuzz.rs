//! `cargo xtask fuzz`: hands the readers of foreign bytes, and the evaluator, inputs that a fuzzer makes.
//!
//! The checks stand in `operator/fuzz`, whose test replays all inputs that are kept. An input that shows a fault is put
//! beside those found before, so that the test fails until the fault is mended.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use ashlar_xtask::tools::{self, Group};
use ashlar_xtask::{layout, process};
use base64::prelude::{BASE64_STANDARD, Engine as _};
use serde::Deserialize;

use crate::cargo::cargo;

/// Look for inputs that show a fault.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// What is tried; everything when nothing is named.
    targets: Vec<String>,
    /// Minutes for each.
    #[arg(long, default_value_t = 2)]
    minutes: u64,
    /// Also put what reaches more than the corpus did into the corpus, and make that as small as it can be.
    #[arg(long)]
    keep: bool,
}

const RUNNER: &str = "operator/fuzz/runner";
/// For each input: seconds, bytes, and megabytes of memory of the whole process.
const LIMITS: &str = "-timeout=10 -max_len=4096 -rss_limit_mb=1024 -print_final_stats=1";
/// The most bytes of a kept corpus.
const LARGEST_CORPUS: usize = 100_000;

pub(crate) fn run(args: &Args) -> Result<()> {
    let known = names()?;
    if let Some(strange) = args.targets.iter().find(|name| !known.contains(name)) {
        bail!("there is no target {strange}; there are: {}", known.join(", "));
    }
    let targets = if args.targets.is_empty() {
        &known
    } else {
        &args.targets
    };
    let fuzz = Fuzz {
        program: tools::build(&[Group::Fuzz])?
            .path("ASHLAR_CARGO_FUZZ")?
            .to_path_buf(),
        gathered: layout::cache()?.join("fuzz"),
        builds: metadata("Cargo.toml")?.target_directory.join("fuzz"),
    };
    // Once for all targets; each is then only run.
    fuzz.call("build", &[])?;
    let mut faults = 0;
    for target in targets {
        faults += fuzz.target(target, args.minutes)?;
        if args.keep {
            fuzz.keep(target)?;
        }
    }
    if faults > 0 {
        bail!("inputs that show faults were found: {faults}. They are in operator/fuzz/found");
    }
    Ok(())
}

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
    target_directory: PathBuf,
}

#[derive(Deserialize)]
struct Package {
    targets: Vec<Target>,
}

#[derive(Deserialize)]
struct Target {
    name: String,
}

fn metadata(manifest: &str) -> Result<Metadata> {
    let mut command = cargo("metadata --format-version 1 --no-deps --manifest-path");
    let text = process::output(command.arg(layout::root().join(manifest)))?;
    serde_json::from_str(&text).context("cargo metadata")
}

/// The names of the targets: of the programs in the runner's manifest.
fn names() -> Result<Vec<String>> {
    let runner = metadata(&format!("{RUNNER}/Cargo.toml"))?;
    let targets = runner.packages.into_iter().flat_map(|package| package.targets);
    Ok(targets.map(|target| target.name).collect())
}

struct Fuzz {
    program: PathBuf,
    /// Where runs gather inputs; they go on from what earlier runs have gathered.
    gathered: PathBuf,
    builds: PathBuf,
}

impl Fuzz {
    /// A command of cargo-fuzz. No sanitizer: stable Rust has none, and the code that is tried has no unsafe part.
    fn call(&self, word: &str, rest: &[&Path]) -> Result<()> {
        let mut command = Command::new(&self.program);
        command
            .current_dir(layout::root())
            .args([
                "fuzz",
                word,
                "--sanitizer",
                "none",
                "--fuzz-dir",
                RUNNER,
                "--target-dir",
            ])
            .arg(&self.builds)
            .args(rest);
        let status = command
            .status()
            .with_context(|| format!("cannot start {}", process::show(&command)))?;
        if !status.success() {
            bail!("{} ended with {status}", process::show(&command));
        }
        Ok(())
    }

    /// Tries one target. The number of inputs found that show a fault.
    fn target(&self, name: &str, minutes: u64) -> Result<usize> {
        let found = layout::root().join("operator/fuzz/found").join(name);
        fs::create_dir_all(&found)?;
        let before = files(&found)?;
        let gathered = self.gathered.join(name);
        fs::create_dir_all(&gathered)?;
        unpack(&corpus(name), &gathered)?;
        let time = format!("-max_total_time={}", minutes * 60);
        let prefix = format!("-artifact_prefix={}/", found.display());
        let mut arguments = vec![Path::new(name), &gathered, Path::new("--")];
        arguments.extend(LIMITS.split_whitespace().map(Path::new));
        arguments.extend([Path::new(&time), Path::new(&prefix)]);
        let run = self.call("run", &arguments);
        let new = files(&found)?.difference(&before).count();
        // An input that was found is no failure of the run; any other end is.
        if new == 0 {
            run?;
            // Leaves no empty folder behind.
            let _ = fs::remove_dir(&found);
        }
        Ok(new)
    }

    /// Takes over what was gathered, made as small as it can be without reaching less; of that the smallest inputs.
    fn keep(&self, name: &str) -> Result<()> {
        let gathered = self.gathered.join(name);
        let arguments = [
            Path::new(name),
            &gathered,
            Path::new("--"),
            Path::new("-use_counters=0"),
        ];
        self.call("cmin", &arguments)?;
        let inputs = files(&gathered)?.into_iter().map(fs::read);
        let mut lines = inputs
            .map(|input| input.map(|input| BASE64_STANDARD.encode(input)))
            .collect::<std::io::Result<Vec<_>>>()?;
        lines.sort_by(|a, b| (a.len(), a).cmp(&(b.len(), b)));
        lines.dedup();
        let mut text = String::new();
        for line in lines {
            if text.len() + line.len() < LARGEST_CORPUS {
                text.push_str(&line);
                text.push('\n');
            }
        }
        let corpus = corpus(name);
        fs::write(&corpus, text).with_context(|| format!("cannot write {}", corpus.display()))
    }
}

/// The kept corpus of a target: an input a line, in base64.
fn corpus(name: &str) -> PathBuf {
    layout::root().join(format!("operator/fuzz/corpus/{name}.txt"))
}

/// Puts the inputs of a corpus into a folder, a file each, as libFuzzer takes them.
fn unpack(corpus: &Path, folder: &Path) -> Result<()> {
    let text = fs::read_to_string(corpus).with_context(|| format!("cannot read {}", corpus.display()))?;
    for (number, line) in (1..).zip(text.lines()) {
        let input = BASE64_STANDARD
            .decode(line)
            .with_context(|| format!("{}: line {number} is no base64", corpus.display()))?;
        fs::write(folder.join(format!("kept-{number}")), input)?;
    }
    Ok(())
}

fn files(folder: &Path) -> Result<BTreeSet<PathBuf>> {
    let read = || {
        fs::read_dir(folder)?
            .map(|entry| entry.map(|entry| entry.path()))
            .collect()
    };
    let files: std::io::Result<_> = read();
    files.with_context(|| format!("cannot list {}", folder.display()))
}
