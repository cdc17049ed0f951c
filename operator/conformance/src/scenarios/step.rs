//! Runs one step of a scenario and collects what happened.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    path::{Path, PathBuf},
    sync::Arc,
};

use anyhow::Context;
use ashlar_config::{Input, InputValue, Origin, parse_values_file};
use ashlar_diag::Sources;
use ashlar_plan::{Mode, Options, Plan, Schemas, Selection, generated_file, show};
use ashlar_port::{StopFlag, Unwatched};
use ashlar_runner::{
    ApplyRequest, Folders, Modules, Patience, PlanRequest, Settings, apply, load_module, plan,
};
use ashlar_store::file::{DEFAULT, FileStore, Workspaces};
use ashlar_value::Dialect;
use serde_json::{Value as Json, json};

use super::{command, facts, world};

/// Where a scenario runs.
pub(crate) struct Bench {
    pub(crate) work: PathBuf,
    pub(super) world: PathBuf,
    /// Where the last step's plan is kept, if it made one.
    pub(super) planned: PathBuf,
    pub(super) settings: Settings,
}

/// How far the logs had come when a phase began.
pub(super) struct Marks {
    ops: usize,
    log: usize,
}

impl Bench {
    pub(crate) fn new(root: &Path, settings: Settings) -> anyhow::Result<Self> {
        let bench = Self {
            work: root.join("work"),
            world: root.join("world"),
            planned: root.join("plan.ashlar"),
            settings,
        };
        std::fs::create_dir(&bench.work)?;
        std::fs::create_dir(&bench.world)?;
        Ok(bench)
    }

    /// Runs a step; the inner error says what of it cannot be run yet.
    pub(crate) async fn run(&self, step: &Json) -> anyhow::Result<Result<Json, String>> {
        self.prepare(step)?;
        if self.planned.exists() {
            std::fs::remove_file(&self.planned)?;
        }
        let action = step["action"].as_str().context("a step without action")?;
        let mut out = json!({ "name": step["name"], "action": action });
        match action {
            "validate" => return self.validate(step, out).await,
            "command" => return self.command(step, out).await,
            _ => {}
        }
        let mode = match action {
            "plan" | "apply" if !step["options"]["invoke"].is_null() => Mode::RefreshOnly,
            "plan" | "apply" => Mode::Normal,
            "destroy" => Mode::Destroy,
            "refresh-only" => Mode::RefreshOnly,
            other => return Ok(Err(format!("action {other:?} is not run yet"))),
        };
        let options = &step["options"];
        let marks = self.marks();
        let files = self.module_files()?;
        let mut sources = Sources::new();
        let mut library = self.folders();
        // Faults of values are told by the plan.
        let (given, _) = self.inputs(step, &mut sources)?;
        let (_, _, faults) = load_module(&files, Dialect::Terraform, &given, &mut library, &mut sources);
        if faults.has_errors() {
            out["init"] = self.phase(1, &faults, &sources, &marks)?;
            return self.finish(out);
        }
        let workspace = self.workspace(step)?;
        let folder = Workspaces::of(&self.work).folder(&workspace);
        let (store, recovered) = FileStore::open(&folder, "OperationTypePlan")
            .await
            .map_err(|diags| anyhow::anyhow!("{diags}"))?;
        let mut sources = Sources::new();
        let (inputs, faults) = self.inputs(step, &mut sources)?;
        if faults.has_errors() {
            out["plan"] = self.phase(1, &faults, &sources, &marks)?;
            return self.finish(out);
        }
        let request = PlanRequest {
            files,
            modules: Modules::default(),
            inputs,
            sources,
            env: self.environment(step),
            options: Options {
                mode,
                refresh: options["refresh"] != false,
                replace: addresses(&options["replace"])?,
                parallelism: options["parallelism"]
                    .as_u64()
                    .and_then(|n| usize::try_from(n).ok())
                    .unwrap_or(10),
                workspace,
                dialect: Dialect::Terraform,
                invoke: strings(&options["invoke"])
                    .iter()
                    .map(|text| text.parse())
                    .collect::<Result<_, _>>()?,
                selection: Selection {
                    targets: addresses(&options["target"])?,
                    excludes: Vec::new(),
                },
            },
            state: recovered.state,
            folder: self.work.clone(),
            confines: None,
            held: Vec::new(),
            upgrade: false,
            generate: options["generate_config_out"].as_str().map(Into::into),
        };
        // A schema may hang on the environment that a step sets, so none is kept from step to step.
        let settings = Settings {
            warm: None,
            sidecars: Default::default(),
            turns: Default::default(),
            schemas: Default::default(),
            ..self.settings.clone()
        };
        let outcome = plan(&settings, request, &Unwatched).await;
        let failed = outcome.diags.has_errors();
        let unavailable = outcome
            .diags
            .iter()
            .any(|diag| diag.summary == "Failed to query available provider packages");
        let phase = if unavailable { "init" } else { "plan" };
        out[phase] = self.phase(u8::from(failed), &outcome.diags, &outcome.sources, &marks)?;
        let Some((planned, bytes)) = outcome.plan else {
            return self.finish(out);
        };
        std::fs::write(&self.planned, &bytes)?;
        self.add_plan(&mut out["plan"], &planned, &outcome.schemas);
        if let Some((name, text)) = options["generate_config_out"]
            .as_str()
            .zip(generated_file(&planned))
        {
            std::fs::write(self.work.join(name), &text)?;
            out["plan"]["generated_config"] = text.into();
        }
        if failed || action == "plan" || options["plan_only"] == true {
            return self.finish(out);
        }
        let marks = self.marks();
        let mut sources = Sources::new();
        let again = json!({ "env": step["env"], "vars": options["apply_vars"] });
        let (inputs, faults) = self.inputs(&again, &mut sources)?;
        anyhow::ensure!(!faults.has_errors(), "{faults}");
        let stop = StopFlag::new();
        let request = ApplyRequest {
            plan: &bytes,
            inputs,
            sources,
            env: self.environment(step),
            folder: self.work.clone(),
            confines: None,
            held: Vec::new(),
            store: &store,
            stop: &stop,
            patience: Patience::default(),
        };
        let applied = apply(&settings, request, &Unwatched).await;
        let failed = applied.diags.has_errors();
        out["apply"] = self.phase(u8::from(failed), &applied.diags, &applied.sources, &marks)?;
        if let (Some(state), false) = (&applied.state, failed) {
            let outputs = facts::outputs(state)?;
            if outputs.as_object().is_some_and(|outputs| !outputs.is_empty()) {
                out["apply"]["outputs"] = outputs;
            }
        }
        drop(store);
        self.finish(out)
    }

    pub(super) fn prepare(&self, step: &Json) -> anyhow::Result<()> {
        for (name, text) in step["files"].as_object().into_iter().flatten() {
            let path = self.work.join(name);
            match text.as_str() {
                None => match std::fs::remove_file(&path) {
                    Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error.into()),
                    _ => {}
                },
                Some(text) => {
                    std::fs::create_dir_all(path.parent().context("a file without folder")?)?;
                    std::fs::write(&path, text)?;
                }
            }
        }
        for edit in step["world"].as_array().into_iter().flatten() {
            world::edit(&self.world, edit)?;
        }
        Ok(())
    }

    fn module_files(&self) -> anyhow::Result<Vec<(Arc<str>, Arc<str>)>> {
        let mut files = Vec::new();
        for entry in std::fs::read_dir(&self.work)? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if ashlar_config::is_config(&name, ashlar_value::Dialect::Terraform) {
                files.push((name.into(), std::fs::read_to_string(entry.path())?.into()));
            }
        }
        files.sort();
        Ok(files)
    }

    fn inputs(
        &self,
        step: &Json,
        sources: &mut Sources,
    ) -> anyhow::Result<(BTreeMap<Arc<str>, Input>, ashlar_diag::Diags)> {
        let mut inputs = BTreeMap::new();
        let mut diags = ashlar_diag::Diags::new();
        for (name, value) in step["env"].as_object().into_iter().flatten() {
            if let Some(variable) = name.strip_prefix("TF_VAR_") {
                let value = InputValue::Text(text_of(value).into());
                inputs.insert(
                    variable.into(),
                    Input {
                        value,
                        origin: Origin::Shared,
                    },
                );
            }
        }
        let mut names = vec!["terraform.tfvars".to_owned(), "terraform.tfvars.json".to_owned()];
        let mut automatic: Vec<String> = std::fs::read_dir(&self.work)?
            .filter_map(|entry| {
                entry
                    .ok()
                    .map(|entry| entry.file_name().to_string_lossy().into_owned())
            })
            .filter(|name| name.ends_with(".auto.tfvars") || name.ends_with(".auto.tfvars.json"))
            .collect();
        automatic.sort();
        names.extend(automatic);
        names.retain(|name| self.work.join(name).is_file());
        names.extend(strings(&step["var_files"]));
        for name in names {
            let text = std::fs::read_to_string(self.work.join(&name))?;
            let (found, faults) = parse_values_file(name, text, sources);
            inputs.extend(found);
            diags.extend(faults);
        }
        for (name, value) in step["vars"].as_object().into_iter().flatten() {
            let value = InputValue::Text(text_of(value).into());
            inputs.insert(
                name.as_str().into(),
                Input {
                    value,
                    origin: Origin::Direct,
                },
            );
        }
        Ok((inputs, diags))
    }

    pub(super) fn environment(&self, step: &Json) -> Vec<(OsString, OsString)> {
        let mut env: Vec<(OsString, OsString)> = vec![("KILN_DIR".into(), self.world.clone().into())];
        for (name, value) in step["env"].as_object().into_iter().flatten() {
            env.push((name.into(), text_of(value).into()));
        }
        env
    }

    pub(super) fn marks(&self) -> Marks {
        Marks {
            ops: world::length(&self.world.join("ops.jsonl")),
            log: world::length(&self.world.join("exec.log")),
        }
    }

    fn folders(&self) -> Folders {
        Folders {
            root: self.work.clone(),
            dialect: Dialect::Terraform,
            confines: None,
            packages: None,
        }
    }

    /// Checks the configuration as it lies there, by the command line.
    async fn validate(&self, step: &Json, mut out: Json) -> anyhow::Result<Result<Json, String>> {
        let mut sources = Sources::new();
        let mut library = self.folders();
        let files = self.module_files()?;
        let (given, _) = self.inputs(step, &mut sources)?;
        let (_, faults) = ashlar_config::load(files, Dialect::Terraform, &given, &mut library, &mut sources);
        if faults.has_errors() {
            out["init"] = self.phase(1, &faults, &sources, &self.marks())?;
            return self.finish(out);
        }
        let marks = self.marks();
        let argv = ["validate".to_owned(), "-json".to_owned()];
        let ended = command::run(self.invocation(step), &argv).await?;
        let answer = serde_json::from_str(&ended.stdout)
            .with_context(|| format!("validate -json gave no JSON: {}", ended.stderr))?;
        let told = facts::told_diagnostics(&answer);
        out["validate"] = self.phase_of(ended.exit, told, &marks)?;
        out["validate"]["valid"] = answer["valid"].clone();
        self.finish(out)
    }

    /// Runs a command line as it is given.
    async fn command(&self, step: &Json, mut out: Json) -> anyhow::Result<Result<Json, String>> {
        let marks = self.marks();
        let ended = command::run(self.invocation(step), &strings(&step["argv"])).await?;
        // What a command says to people is its own; what it does is seen in the state and in the world.
        out["command"] = self.phase_of(ended.exit, json!([]), &marks)?;
        out["command"]["stdout"] = ended.stdout.into();
        out["command"]["stderr"] = ended.stderr.into();
        self.finish(out)
    }

    fn invocation(&self, step: &Json) -> command::Invocation {
        command::Invocation {
            folder: self.work.clone(),
            env: self.environment(step),
            mirrors: self.settings.installer.folders(),
            scratch: self.settings.scratch.clone(),
        }
    }

    /// The workspace that is selected, in the folder or for this step.
    pub(super) fn workspace(&self, step: &Json) -> anyhow::Result<String> {
        match &step["env"]["TF_WORKSPACE"] {
            Json::Null => Workspaces::of(&self.work)
                .selected()
                .map_err(|diags| anyhow::anyhow!("{diags}")),
            name => Ok(text_of(name)),
        }
    }

    /// What every phase has: exit, diagnostics, calls, lines written by provisioners.
    fn phase(
        &self,
        exit: u8,
        diags: &ashlar_diag::Diags,
        sources: &Sources,
        since: &Marks,
    ) -> anyhow::Result<Json> {
        self.phase_of(exit, facts::diagnostics(diags, sources), since)
    }

    /// As [`Self::phase`], of diagnostics that are in the records' form.
    pub(super) fn phase_of(&self, exit: u8, diagnostics: Json, since: &Marks) -> anyhow::Result<Json> {
        let calls = world::calls(&world::lines_since(&self.world.join("ops.jsonl"), since.ops)?)?;
        let mut phase = json!({
            "exit": exit,
            "diagnostics": diagnostics,
            "ops": facts::ops(&calls),
            "before": facts::order(&calls),
        });
        let log = world::lines_since(&self.world.join("exec.log"), since.log)?;
        if !log.is_empty() {
            phase["exec_log"] = log.into();
        }
        Ok(phase)
    }

    fn add_plan(&self, phase: &mut Json, plan: &Plan, schemas: &Schemas) {
        let shown = show::plan_json(plan, schemas);
        for (name, value) in facts::plan(&shown) {
            phase[name] = value;
        }
    }

    /// Adds what is there after the step.
    pub(super) fn finish(&self, mut out: Json) -> anyhow::Result<Result<Json, String>> {
        let workspaces = Workspaces::of(&self.work);
        let names = workspaces.all().map_err(|diags| anyhow::anyhow!("{diags}"))?;
        for name in names {
            let state = workspaces.folder(&name).join("terraform.tfstate");
            if !state.is_file() {
                continue;
            }
            let state = facts::state(&serde_json::from_slice(&std::fs::read(state)?)?);
            if name == DEFAULT {
                out["state"] = state;
            } else {
                out["workspace_states"][name] = state;
            }
        }
        out["world"] = world::objects(&self.world)?.into();
        Ok(Ok(out))
    }
}

pub(super) fn text_of(value: &Json) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn addresses<T: std::str::FromStr<Err = ashlar_addr::ParseError>>(list: &Json) -> anyhow::Result<Vec<T>> {
    let texts = strings(list);
    let read = texts.iter().map(|text| text.parse());
    Ok(read.collect::<Result<_, _>>()?)
}

pub(super) fn strings(list: &Json) -> Vec<String> {
    list.as_array()
        .into_iter()
        .flatten()
        .filter_map(Json::as_str)
        .map(str::to_owned)
        .collect()
}
