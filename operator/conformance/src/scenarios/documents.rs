//! What `show -json` tells of each plan and each state of whole runs, in whole, held against what Terraform tells.
//!
//! A case is a scenario. Terraform's documents are taken from the case's folder, or from where they were kept before; where
//! there are none, Terraform runs the same steps in a world of its own. Nothing is left out of the comparison but when and
//! where something ran.

mod comparable;
mod differences;
mod theirs;

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    sync::Arc,
};

use anyhow::Context;
use ashlar_plan::{show, wire};
use ashlar_provider::Launcher;
use ashlar_runner::{Settings, schemas_of_plan, schemas_of_state};
use ashlar_state::State;
use ashlar_store::file::Workspaces;
use ashlar_value::Dialect;
use ashlar_xtask::tools::{self, Group};
use serde_json::{Value as Json, json};

use self::comparable::comparable;
use super::{normalise, random::Peer, step::Bench};
use crate::report::{Miss, Options, Report};

/// Terraform's documents in a case's folder.
const RECORD: &str = "documents.json";

#[derive(clap::Args)]
pub(crate) struct Args {
    /// The folder with the scenarios.
    cases: PathBuf,
    /// Keep what Terraform told in this folder, and take it from there the next time.
    #[arg(long, value_name = "FOLDER")]
    kept: Option<PathBuf>,
    /// Write what Terraform tells into the cases' own folders, anew.
    #[arg(long)]
    record: bool,
    /// Print every difference, a line each, not only the first few of a case.
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    options: Options,
}

/// Runs all scenarios below a folder.
pub(crate) fn run(args: &Args) -> anyhow::Result<std::process::ExitCode> {
    let mut report = Report::new(&args.options)?;
    let is_missing = |(id, folder): &(String, PathBuf)| {
        report.wants(id) && (args.record || recorded(folder, args.kept.as_deref()).is_none())
    };
    let peer = if super::find(&args.cases, "scenario.yaml")?.iter().any(is_missing) {
        let tools = tools::build(&[Group::Providers, Group::Terraform])?;
        Some(Peer {
            program: tools.path("ASHLAR_TERRAFORM")?.to_owned(),
            settings: tools.path("ASHLAR_TERRAFORM_CONFIG")?.to_owned(),
        })
    } else {
        None
    };
    let rig = Arc::new(Rig {
        peer,
        kept: args.kept.clone(),
        record: args.record,
        all: args.all,
    });
    super::run_folders(&args.cases, "scenario.yaml", &mut report, |folder, settings| {
        let rig = rig.clone();
        async move { rig.run_one(&folder, &settings).await }
    })?;
    Ok(report.finish())
}

/// Where Terraform's documents of a case are, if they are there.
fn recorded(folder: &Path, kept: Option<&Path>) -> Option<PathBuf> {
    let kept = kept.map(|kept| kept_file(kept, folder));
    let places = [Some(folder.join(RECORD)), kept].into_iter().flatten();
    places.into_iter().find(|file| file.is_file())
}

fn kept_file(kept: &Path, folder: &Path) -> PathBuf {
    let group = folder.parent().and_then(Path::file_name).unwrap_or_default();
    let name = folder.file_name().unwrap_or_default();
    kept.join(group).join(name).join(RECORD)
}

struct Rig {
    /// None where nothing is asked of it.
    peer: Option<Peer>,
    kept: Option<PathBuf>,
    record: bool,
    all: bool,
}

impl Rig {
    async fn run_one(&self, folder: &Path, settings: &Settings) -> anyhow::Result<Result<(), Miss>> {
        let scenario = super::read_scenario(folder)?;
        let steps = scenario["steps"]
            .as_array()
            .context("scenario.yaml has no steps")?;
        let expected: Json = match recorded(folder, self.kept.as_deref()).filter(|_| !self.record) {
            Some(file) => serde_json::from_slice(&std::fs::read(file)?)?,
            None => {
                let told = tokio::task::block_in_place(|| self.ask(steps, settings))?;
                let file = match &self.kept {
                    Some(kept) if !self.record => kept_file(kept, folder),
                    _ => folder.join(RECORD),
                };
                if self.record || self.kept.is_some() {
                    std::fs::create_dir_all(file.parent().context("no folder")?)?;
                    std::fs::write(file, serde_json::to_string_pretty(&told)? + "\n")?;
                }
                told
            }
        };
        let root = tempfile::Builder::new().prefix("ashlar-show-").tempdir()?;
        let bench = Bench::new(root.path(), settings.clone())?;
        let mut documents = Vec::new();
        for step in steps {
            match ours(&bench, step).await? {
                Ok(document) => documents.push(document),
                Err(unsupported) => return Ok(Err(Miss::new("a step that runs", unsupported))),
            }
        }
        let words = super::words(&bench, root.path(), settings);
        let got = normalise::documents(comparable(documents), &words);
        // Records are in the form of their time.
        let expected = comparable(expected.as_array().cloned().unwrap_or_default());
        let found = differences::between(&expected, &got);
        if self.all {
            for difference in &found {
                println!("{}: {difference}", scenario["title"]);
            }
        }
        Ok(differences::verdict(&found))
    }

    /// What Terraform tells, normalised.
    fn ask(&self, steps: &[Json], settings: &Settings) -> anyhow::Result<Json> {
        let peer = self.peer.as_ref().context("there is no Terraform to ask")?;
        let root = tempfile::Builder::new().prefix("ashlar-show-").tempdir()?;
        let bench = Bench::new(root.path(), settings.clone())?;
        let mut documents = Vec::new();
        for (at, step) in steps.iter().enumerate() {
            documents.push(theirs::step(peer, &bench, step, at == 0)?);
        }
        let words = super::words(&bench, root.path(), settings);
        Ok(normalise::documents(comparable(documents), &words))
    }
}

/// Runs a step, and tells what is to be shown then; or what cannot be run.
async fn ours(bench: &Bench, step: &Json) -> anyhow::Result<Result<Json, String>> {
    let done = match bench.run(step).await? {
        Ok(done) => done,
        Err(unsupported) => return Ok(Err(unsupported)),
    };
    let mut out = json!({ "step": step["name"] });
    if !done["init"].is_null() {
        return Ok(Ok(out));
    }
    // What a provider looks like may change from step to step, with the environment that the step sets.
    let settings = Settings {
        launcher: launched_with(&bench.settings.launcher, bench.environment(step)),
        warm: None,
        sidecars: Default::default(),
        turns: Default::default(),
        schemas: Default::default(),
        ..bench.settings.clone()
    };
    if bench.planned.exists() {
        let plan = wire::decode(&std::fs::read(&bench.planned)?).map_err(told)?;
        let (tree, schemas) = schemas_of_plan(&settings, &bench.work, &plan)
            .await
            .map_err(told)?;
        out["plan"] = show::whole_plan_json(&plan, &tree, &schemas).map_err(told)?;
    }
    if has_state(step) {
        let file = Workspaces::of(&bench.work)
            .folder(&bench.workspace(step)?)
            .join("terraform.tfstate");
        let state = match std::fs::read(file) {
            Ok(bytes) => ashlar_state::read(&bytes).map_err(told)?,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => State::default(),
            Err(error) => return Err(error.into()),
        };
        let schemas = schemas_of_state(&settings, &bench.work, Dialect::Terraform, &state).await;
        let shown = schemas.and_then(|schemas| show::state_json(&state, &schemas));
        out["state"] = shown.unwrap_or(Json::Null);
    }
    Ok(Ok(out))
}

/// The launcher in an environment of its own, which `show` has from whoever calls it.
fn launched_with(launcher: &Launcher, environment: Vec<(OsString, OsString)>) -> Launcher {
    let set = environment.into_iter().map(|(name, value)| {
        let mut word = name;
        word.push("=");
        word.push(value);
        word
    });
    let program = [launcher.program.clone().into_os_string()];
    Launcher {
        program: "/usr/bin/env".into(),
        arguments: set.chain(program).chain(launcher.arguments.clone()).collect(),
    }
}

fn told(diags: ashlar_diag::Diags) -> anyhow::Error {
    anyhow::anyhow!("{diags}")
}

/// Is the state shown after the step? Others leave it as it was.
fn has_state(step: &Json) -> bool {
    !matches!(step["action"].as_str(), Some("plan" | "validate"))
}
