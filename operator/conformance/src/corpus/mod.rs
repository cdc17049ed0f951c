//! Files and mutants of them, read by us and by hcl at the same time.
//!
//! hcl is a program (`tests/corpus`) that is asked over a pipe. All it tells is compared: verdict, every diagnostic with
//! its ranges, and the tree, also what is left of it beside errors. A difference is shrunk before it is printed.

mod judge;
mod mutate;
mod peer;
mod shrink;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    process::ExitCode,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use anyhow::Context;

use crate::chance::Chance;

use self::{
    judge::{Kind, Outcome, Text, What},
    peer::Peer,
};

/// What the comparison is told.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Folders whose files are read; each is a line of the table.
    #[arg(required = true)]
    folders: Vec<PathBuf>,
    /// The program that asks hcl, built from tests/corpus.
    #[arg(long, value_name = "PROGRAM")]
    peer: PathBuf,
    /// How many mutants are made of all files together.
    #[arg(long, value_name = "N", default_value_t = 0)]
    mutants: usize,
    /// The first mutant's seed.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How many pairs of programs run side by side.
    #[arg(long, default_value_t = 2)]
    jobs: usize,
    /// How many differences are shrunk and printed.
    #[arg(long, default_value_t = 20)]
    shown: usize,
}

#[derive(Default)]
struct Count {
    texts: usize,
    bytes: usize,
    accepted: usize,
    refused: usize,
    beyond: usize,
    differ: usize,
}

impl Count {
    fn add(&mut self, text: &Text, outcome: &Outcome) {
        self.texts += 1;
        self.bytes += text.text.len();
        match outcome {
            Outcome::Same { accepted: true } => self.accepted += 1,
            Outcome::Same { accepted: false } => self.refused += 1,
            Outcome::Beyond => self.beyond += 1,
            Outcome::Differ(_) => self.differ += 1,
        }
    }

    fn row(&self, name: &str) {
        let megabytes = self.bytes / 1_000;
        println!(
            "| {name} | {} | {}.{:03} | {} | {} | {} | {} |",
            self.texts,
            megabytes / 1_000,
            megabytes % 1_000,
            self.accepted,
            self.refused,
            self.beyond,
            self.differ
        );
    }
}

/// A file of one of the folders.
struct File {
    folder: usize,
    text: Text,
}

/// Compares all files, then the mutants.
pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let mut files = Vec::new();
    let mut no_text = 0;
    for (at, folder) in args.folders.iter().enumerate() {
        let mut found = Vec::new();
        gather(folder, &mut found)?;
        found.sort();
        for path in found {
            let Some(kind) = path.to_str().and_then(kind_of) else {
                continue;
            };
            let bytes = std::fs::read(&path).with_context(|| format!("reading {}", path.display()))?;
            match String::from_utf8(bytes) {
                Ok(text) => files.push(File {
                    folder: at,
                    text: Text {
                        name: path.display().to_string(),
                        kind,
                        text,
                    },
                }),
                Err(_) => no_text += 1,
            }
        }
    }
    anyhow::ensure!(!files.is_empty(), "the folders hold no file to read");
    println!("| texts of | number | MB | accepted | refused | too deep | differ |");
    println!("|---|---|---|---|---|---|---|");
    let whole = each(args, files.len(), |at| files[at].text.clone())?;
    let mut total = Count::default();
    let mut by_folder: BTreeMap<usize, Count> = BTreeMap::new();
    for (at, outcome) in &whole {
        let file = &files[*at];
        by_folder.entry(file.folder).or_default().add(&file.text, outcome);
        total.add(&file.text, outcome);
    }
    for (folder, count) in &by_folder {
        let name = args.folders[*folder].file_name().unwrap_or_default();
        count.row(&name.to_string_lossy());
    }
    total.row("all files");
    let mut mutants = Count::default();
    let mutant = |at: usize| {
        let mut chance = Chance::new(args.seed.wrapping_add(at as u64));
        let file = &files[chance.below(files.len())];
        mutate::mutant(&file.text, &mut chance)
    };
    let mutated = each(args, args.mutants, mutant)?;
    for (at, outcome) in &mutated {
        mutants.add(&mutant(*at), outcome);
    }
    mutants.row("mutants");
    if no_text > 0 {
        println!("\n{no_text} files are no text and were left out");
    }
    let mut kinds: BTreeMap<What, usize> = BTreeMap::new();
    for (_, outcome) in whole.iter().chain(&mutated) {
        if let Outcome::Differ(difference) = outcome {
            *kinds.entry(difference.what).or_default() += 1;
        }
    }
    for (what, number) in kinds {
        println!("differ in {what:?}: {number}");
    }
    let mut shown = Vec::new();
    let texts = whole
        .iter()
        .map(|(at, outcome)| (files[*at].text.clone(), outcome));
    let texts = texts.chain(mutated.iter().map(|(at, outcome)| (mutant(*at), outcome)));
    let mut differ: Vec<_> = texts
        .filter_map(|(text, outcome)| match outcome {
            Outcome::Differ(difference) => Some((difference.what, text)),
            _ => None,
        })
        .collect();
    differ.sort_by_key(|(what, text)| (*what, text.text.len()));
    let mut peer = Peer::start(&args.peer)?;
    for (what, text) in differ {
        if shown.len() >= args.shown {
            break;
        }
        let small = shrink::shrink(&text, what, &mut peer)?;
        if !shown.contains(&small.text) {
            println!("\n{}", judge::explain(&text.name, &small, &mut peer)?);
            shown.push(small.text);
        }
    }
    let good = total.differ + mutants.differ == 0;
    Ok(if good {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// Compares many texts, side by side; the outcomes in order.
fn each(
    args: &Args,
    number: usize,
    text: impl Fn(usize) -> Text + Sync,
) -> anyhow::Result<Vec<(usize, Outcome)>> {
    let next = AtomicUsize::new(0);
    let outcomes = Mutex::new(Vec::with_capacity(number));
    let work = || -> anyhow::Result<()> {
        let mut peer = Peer::start(&args.peer)?;
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            if at >= number {
                return Ok(());
            }
            let outcome = judge::judge(&text(at), &mut peer)?;
            outcomes
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push((at, outcome));
        }
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..args.jobs.max(1)).map(|_| scope.spawn(work)).collect();
        workers.into_iter().try_for_each(|worker| {
            worker
                .join()
                .unwrap_or_else(|_| Err(anyhow::anyhow!("our parser panicked; see above")))
        })
    })?;
    let mut outcomes = outcomes.into_inner().unwrap_or_else(PoisonError::into_inner);
    outcomes.sort_by_key(|(at, _)| *at);
    Ok(outcomes)
}

fn gather(folder: &Path, found: &mut Vec<PathBuf>) -> anyhow::Result<()> {
    for entry in std::fs::read_dir(folder).with_context(|| format!("reading {}", folder.display()))? {
        let entry = entry?;
        let kind = entry.file_type()?;
        if kind.is_dir() {
            gather(&entry.path(), found)?;
        } else if kind.is_file() {
            found.push(entry.path());
        }
    }
    Ok(())
}

/// How a file is read, if at all.
fn kind_of(path: &str) -> Option<Kind> {
    let json = [
        ".tf.json",
        ".tofu.json",
        ".tfvars.json",
        ".hcl.json",
        ".tftest.json",
    ];
    let native = [".tf", ".tofu", ".tfvars", ".hcl", ".t"];
    let ends = |list: &[&str]| list.iter().any(|end| path.ends_with(end));
    if ends(&json) {
        Some(Kind::Json)
    } else {
        ends(&native).then_some(Kind::Native)
    }
}
