//! Whole runs: plans, applies, state, against what real Terraform did.
//!
//! Each scenario runs in this process through `ashlar-runner`, with the real test providers as subprocesses acting on a
//! folder of files, the world. What is compared, and how it is normalised, stands in `tests/oracle/scenarios/README.md`.

mod command;
mod compare;
mod documents;
mod facts;
mod normalise;
mod random;
mod real;
pub(crate) mod step;
mod world;

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use anyhow::Context;
use ashlar_install::{Cache, Installer};
use ashlar_provider::{Fence, Launcher};
use ashlar_provisioner::{LocalPrograms, Rules};
use ashlar_runner::Settings;
use ashlar_sources::Reach;
use serde_json::Value as Json;

pub(crate) use self::{
    documents::{Args as DocumentsArgs, run as run_documents},
    random::{Args as RandomArgs, RecordArgs, record, run as run_random},
    real::run as run_real,
};
use crate::report::{Miss, Report};

/// As first argument it makes this program the command line of the product.
pub(crate) const COMMAND_LINE: &str = "ashlar";

/// Scenarios at once.
const AT_ONCE: usize = 4;

/// Runs all scenarios below a folder.
pub(crate) fn run(cases: &Path, report: &mut Report) -> anyhow::Result<()> {
    run_folders(cases, "scenario.yaml", report, |folder, settings| async move {
        run_one(&folder, &settings).await
    })
}

/// Runs the case in every folder of a group below `cases` that holds the file named `mark`.
pub(crate) fn run_folders<F>(
    cases: &Path,
    mark: &str,
    report: &mut Report,
    run_one: impl Fn(PathBuf, Settings) -> F,
) -> anyhow::Result<()>
where
    F: Future<Output = anyhow::Result<Result<(), Miss>>> + Send + 'static,
{
    let found: Vec<(String, PathBuf)> = find(cases, mark)?
        .into_iter()
        .filter(|(id, _)| report.wants(id))
        .collect();
    let tools = ashlar_xtask::tools::build(&[ashlar_xtask::tools::Group::Providers])?;
    let scratch = tempfile::Builder::new().prefix("ashlar-").tempdir()?;
    let settings = settings(tools.path("ASHLAR_PLUGIN_MIRROR")?, scratch.path())?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let outcomes = runtime.block_on(run_all(found, settings, run_one));
    for (id, outcome) in outcomes {
        let group = id.split('/').next().unwrap_or(&id).to_owned();
        report.case(&group, &id, outcome);
    }
    Ok(())
}

/// Settings under which only the test providers' mirror is known, and nothing is fenced.
fn settings(mirror: &Path, scratch: &Path) -> anyhow::Result<Settings> {
    Ok(Settings {
        installer: Installer::of_folders(
            vec![mirror.to_owned()],
            Cache::new(scratch.join("cache"), Cache::USUAL_BYTES),
        ),
        scratch: scratch.to_owned(),
        writable: Vec::new(),
        launcher: Launcher {
            program: std::env::current_exe()?,
            arguments: vec!["launch".into()],
        },
        fence: Fence::Off,
        bounds: Default::default(),
        inherit_environment: false,
        provisioners: Rules {
            programs: LocalPrograms::Allowed,
            reach: Reach::everything(),
            agent: None,
        },
        states: None,
        warm: None,
        sidecars: Default::default(),
        turns: Default::default(),
        schemas: Default::default(),
    })
}

async fn run_all<F>(
    found: Vec<(String, PathBuf)>,
    settings: Settings,
    run_one: impl Fn(PathBuf, Settings) -> F,
) -> Vec<(String, Result<(), Miss>)>
where
    F: Future<Output = anyhow::Result<Result<(), Miss>>> + Send + 'static,
{
    let permits = Arc::new(tokio::sync::Semaphore::new(AT_ONCE));
    let mut tasks = Vec::new();
    for (id, folder) in found {
        let (permits, settings) = (permits.clone(), settings.clone());
        let work = run_one(folder, settings);
        tasks.push(tokio::spawn(async move {
            let _permit = permits.acquire_owned().await;
            let outcome = tokio::time::timeout(std::time::Duration::from_secs(120), work).await;
            let outcome = match outcome {
                Ok(Ok(outcome)) => outcome,
                Ok(Err(error)) => Err(Miss::new("a run", format!("{error:#}"))),
                Err(_) => Err(Miss::new("an end", "still running after two minutes")),
            };
            (id, outcome)
        }));
    }
    let mut outcomes = Vec::new();
    for task in tasks {
        // A panic of the engine is a failed case, never an end of the runner.
        match task.await {
            Ok(outcome) => outcomes.push(outcome),
            Err(error) => outcomes.push(("panic".to_owned(), Err(Miss::new("a run", error.to_string())))),
        }
    }
    outcomes
}

fn find(cases: &Path, mark: &str) -> anyhow::Result<Vec<(String, PathBuf)>> {
    let mut found = Vec::new();
    let folders = |path: &Path| -> anyhow::Result<Vec<PathBuf>> {
        let entries = std::fs::read_dir(path).with_context(|| format!("reading {}", path.display()))?;
        let mut paths: Vec<PathBuf> = entries
            .map(|entry| Ok(entry?.path()))
            .collect::<std::io::Result<_>>()?;
        paths.retain(|path| path.is_dir());
        paths.sort();
        Ok(paths)
    };
    for group in folders(cases)? {
        for folder in folders(&group)? {
            if folder.join(mark).is_file() {
                let name = |path: &Path| {
                    path.file_name()
                        .unwrap_or_default()
                        .to_string_lossy()
                        .into_owned()
                };
                found.push((format!("{}/{}", name(&group), name(&folder)), folder));
            }
        }
    }
    Ok(found)
}

fn read_scenario(folder: &Path) -> anyhow::Result<Json> {
    let text = std::fs::read_to_string(folder.join("scenario.yaml"))?;
    serde_saphyr::from_str_with_options(&text, serde_saphyr::options! { strict_booleans: true })
        .context("reading scenario.yaml")
}

async fn run_one(folder: &Path, settings: &Settings) -> anyhow::Result<Result<(), Miss>> {
    let scenario = read_scenario(folder)?;
    let expected: Json = serde_json::from_slice(&std::fs::read(folder.join("expected.json"))?)?;
    let root = tempfile::Builder::new().prefix("ashlar-scenario-").tempdir()?;
    let bench = step::Bench::new(root.path(), settings.clone())?;
    let wanted = scenario["steps"]
        .as_array()
        .context("scenario.yaml has no steps")?;
    let mut steps = Vec::new();
    for step in wanted {
        match bench.run(step).await? {
            Ok(done) => steps.push(done),
            Err(unsupported) => return Ok(Err(Miss::new("a step that runs", unsupported))),
        }
    }
    let got = normalise::normalise(steps, &words(&bench, root.path(), settings));
    Ok(compare::compare(&expected["steps"], &got))
}

/// What differs from place to place, with the words that stand for it.
fn words(bench: &step::Bench, root: &Path, settings: &Settings) -> [(String, &'static str); 4] {
    [
        (bench.work.display().to_string(), "<root>"),
        (root.display().to_string(), "<top>"),
        (settings.installer.folders()[0].display().to_string(), "<mirror>"),
        ("registry.terraform.io".to_owned(), "<default-host>"),
    ]
}

/// The addresses of a recorded resource's instances, in their order.
fn instance_addresses(resource: &Json) -> Vec<String> {
    let text = |name: &str| resource[name].as_str().unwrap_or_default();
    let module = match text("module") {
        "" => String::new(),
        module => format!("{module}."),
    };
    let data = if resource["mode"] == "data" { "data." } else { "" };
    let address = |instance: &Json| {
        let key = match &instance["index_key"] {
            Json::Null => String::new(),
            key => format!("[{key}]"),
        };
        format!("{module}{data}{}.{}{key}", text("type"), text("name"))
    };
    resource["instances"]
        .as_array()
        .into_iter()
        .flatten()
        .map(address)
        .collect()
}
