//! Public repositories of modules: every folder with configuration, loaded as a root module.
//!
//! Local modules are followed; a module of a registry or another repository is stood in for by a [`stub`] that takes what it
//! is given. Providers are not at hand, so what is judged is the language alone. With a Terraform at hand it is asked the
//! same, and whatever it tells of a folder is compared. Nothing is written into the folders.

mod stub;
mod terraform;

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    process::ExitCode,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use anyhow::Context;
use ashlar_config::{Module, Tree, ask_nobody, check_schemas, is_config};
use ashlar_diag::{Diag, Diags, Sources};
use ashlar_runner::{Files, read_folder};
use ashlar_value::Dialect;

use self::stub::Stubs;
use crate::validate::fact;

/// What is loaded.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Repositories; each is a line of the table.
    #[arg(required = true)]
    repositories: Vec<PathBuf>,
    /// Asks this Terraform about every folder too.
    #[arg(long, value_name = "PROGRAM")]
    terraform: Option<PathBuf>,
    /// How many folders are loaded side by side.
    #[arg(long, default_value_t = 2)]
    jobs: usize,
}

/// Told by Terraform only once it has the schemas of providers.
const WITH_SCHEMAS: &str = "error: Provider configuration not present";

/// What came of one folder.
struct Outcome {
    files: usize,
    modules: usize,
    blocks: usize,
    stubs: usize,
    time: Duration,
    refused: Vec<String>,
    /// What only Terraform and what only we tell.
    differ: Option<(Vec<String>, Vec<String>)>,
}

#[derive(Default)]
struct Count {
    folders: usize,
    files: usize,
    modules: usize,
    blocks: usize,
    stubs: usize,
    refused: usize,
    differ: usize,
    time: Duration,
}

impl Count {
    fn add(&mut self, outcome: &Outcome) {
        self.folders += 1;
        self.files += outcome.files;
        self.modules += outcome.modules;
        self.blocks += outcome.blocks;
        self.stubs += outcome.stubs;
        self.refused += usize::from(!outcome.refused.is_empty());
        self.differ += usize::from(outcome.differ.is_some());
        self.time += outcome.time;
    }

    fn row(&self, name: &str, compared: bool) {
        println!(
            "| {name} | {} | {} | {} | {} | {} | {} | {} | {} | {}.{:03} |",
            self.folders,
            self.files,
            self.modules,
            self.blocks,
            self.stubs,
            self.folders - self.refused,
            self.refused,
            if compared {
                self.differ.to_string()
            } else {
                "–".to_owned()
            },
            self.time.as_secs(),
            self.time.subsec_millis(),
        );
    }
}

/// Loads every folder of every repository.
pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let mut folders = Vec::new();
    for (at, repository) in args.repositories.iter().enumerate() {
        let mut found = BTreeSet::new();
        gather(repository, &mut found)?;
        anyhow::ensure!(
            !found.is_empty(),
            "{} holds no configuration",
            repository.display()
        );
        folders.extend(found.into_iter().map(|folder| (at, folder)));
    }
    let outcomes = each(args, &folders)?;
    println!(
        "| repository | folders | files | modules | blocks | remote calls | accepted | refused | differ | seconds |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|");
    let mut counts: BTreeMap<usize, Count> = BTreeMap::new();
    let mut total = Count::default();
    for ((repository, _), outcome) in folders.iter().zip(&outcomes) {
        counts.entry(*repository).or_default().add(outcome);
        total.add(outcome);
    }
    for (at, count) in &counts {
        let name = args.repositories[*at].file_name().unwrap_or_default();
        count.row(&name.to_string_lossy(), args.terraform.is_some());
    }
    total.row("all", args.terraform.is_some());
    for ((_, folder), outcome) in folders.iter().zip(&outcomes) {
        for fault in &outcome.refused {
            println!("\n{}: {fault}", folder.display());
        }
        if let Some((theirs, ours)) = &outcome.differ {
            println!("\nDIFFERS {}", folder.display());
            theirs.iter().for_each(|fact| println!("  Terraform: {fact}"));
            ours.iter().for_each(|fact| println!("  we:        {fact}"));
        }
    }
    Ok(if total.differ == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

fn each(args: &Args, folders: &[(usize, PathBuf)]) -> anyhow::Result<Vec<Outcome>> {
    let next = AtomicUsize::new(0);
    let outcomes = Mutex::new(BTreeMap::new());
    let work = || -> anyhow::Result<()> {
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some((_, folder)) = folders.get(at) else {
                return Ok(());
            };
            let outcome = one(folder, args.terraform.as_deref())
                .with_context(|| format!("loading {}", folder.display()))?;
            outcomes
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .insert(at, outcome);
        }
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..args.jobs.max(1)).map(|_| scope.spawn(work)).collect();
        workers.into_iter().try_for_each(|worker| {
            worker
                .join()
                .unwrap_or_else(|_| Err(anyhow::anyhow!("the loader panicked; see above")))
        })
    })?;
    let outcomes = outcomes.into_inner().unwrap_or_else(PoisonError::into_inner);
    Ok(outcomes.into_values().collect())
}

fn one(folder: &Path, terraform: Option<&Path>) -> anyhow::Result<Outcome> {
    // Where Terraform keeps what it knows of this folder, and where the stubs are.
    let data = tempfile::Builder::new().prefix("ashlar-modules-").tempdir()?;
    let mut stubs = Stubs::new(folder, data.path());
    let load = |stubs: &mut Stubs, sources: &mut Sources| -> anyhow::Result<(Tree, Diags)> {
        let files = read_folder(folder, "", Dialect::Terraform)?;
        Ok(ashlar_config::load(
            files,
            Dialect::Terraform,
            &BTreeMap::new(),
            stubs,
            sources,
        ))
    };
    let (mut tree, mut diags, mut sources, mut time);
    loop {
        let begun = Instant::now();
        sources = Sources::new();
        (tree, diags) = load(&mut stubs, &mut sources)?;
        time = begun.elapsed();
        // A stub is made of its call, which is not known before the first time.
        if !stubs.make(&tree)? {
            break;
        }
    }
    // Without a provider there is nothing to wait for, and everything is checked, as Terraform does.
    if !diags.has_errors() && tree.requirements().is_empty() {
        diags.extend(check_schemas(&tree, &|_| None, &files_of(folder), &ask_nobody));
    }
    let facts: BTreeSet<String> = diags.iter().map(|diag| fact(diag, &sources)).collect();
    let differ = match terraform {
        None => None,
        Some(program) => {
            let told = terraform::ask(program, folder, data.path(), &stubs)?;
            let mut facts = facts.clone();
            facts.retain(|fact| !fact.contains(WITH_SCHEMAS));
            let only = |these: &BTreeSet<String>, those: &BTreeSet<String>| -> Vec<String> {
                these.difference(those).cloned().collect()
            };
            (told != facts).then(|| (only(&told, &facts), only(&facts, &told)))
        }
    };
    let modules = tree.members.len() - stubs.used();
    Ok(Outcome {
        files: read_folder(folder, "", Dialect::Terraform)?.len(),
        modules,
        blocks: tree.members.values().map(|member| blocks(&member.module)).sum(),
        stubs: stubs.used(),
        time,
        refused: diags
            .iter()
            .filter(|diag| diag.is_error())
            .map(|diag| told(diag, &sources))
            .collect(),
        differ,
    })
}

/// What functions read.
fn files_of(folder: &Path) -> Files {
    Files {
        folder: folder.to_owned(),
        confines: None,
        held: Vec::new(),
        home: None,
        plan_timestamp: "2026-01-01T00:00:00Z".to_owned(),
        applying: false,
        made: Arc::default(),
        functions: None,
    }
}

fn blocks(module: &Module) -> usize {
    module.variables.len()
        + module.outputs.len()
        + module.providers.len()
        + module.resources.len()
        + module.calls.len()
        + module.checks.len()
        + module.actions.len()
        + module.moved.len()
        + module.removed.len()
        + module.imports.len()
}

fn told(diag: &Diag, sources: &Sources) -> String {
    format!("{}: {}", fact(diag, sources), diag.detail)
}

/// Every folder with a configuration file in it.
fn gather(folder: &Path, found: &mut BTreeSet<PathBuf>) -> anyhow::Result<()> {
    for entry in std::fs::read_dir(folder).with_context(|| format!("reading {}", folder.display()))? {
        let entry = entry?;
        let kind = entry.file_type()?;
        if kind.is_dir() && entry.file_name() != ".git" {
            gather(&entry.path(), found)?;
        } else if is_config(&entry.file_name().to_string_lossy(), Dialect::Terraform) && !kind.is_dir() {
            found.insert(folder.to_owned());
        }
    }
    Ok(())
}
