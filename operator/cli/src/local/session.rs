//! What plan and apply do alike: find the folder, take its lock, plan, show.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::Context;
use ashlar_addr::Provider;
use ashlar_config::{Files, Input};
use ashlar_diag::{Diag, Diags, Sources};
use ashlar_plan::{Mode, Options, Plan, Selection, generated_file, text};
use ashlar_provider::{Fence, Launcher, REATTACH, Redactor, SchemaCache, Sidecar};
use ashlar_provisioner::{LocalPrograms, Rules};
use ashlar_runner::{Modules, PlanOutcome, PlanRequest, Settings, plan};
use ashlar_sources::Reach;
use ashlar_store::{
    Recovered,
    file::{FileStore, StateFile},
    kube::SecretStates,
};

use super::{
    asking, backend, identity::Identity, inputs, installing, messages, packages::Fetched, progress::teller,
    workspace,
};
use crate::{
    args::{Basics, Choices, Place},
    printer::{Printer, Told},
};

/// The summary of the error that another holds the lock.
const BUSY: &str = "Error acquiring the state lock";

/// How long after that it is looked again.
const LOOK_AGAIN: Duration = Duration::from_millis(500);

/// A folder at work.
pub(crate) struct Session<'a> {
    pub(crate) printer: &'a Printer,
    pub(crate) dir: PathBuf,
    /// The workspace that is selected.
    pub(crate) workspace: String,
    /// Where its state lies.
    pub(crate) state: StateFile,
    pub(crate) settings: Settings,
    pub(crate) identity: Identity,
    /// Removed when the command ends.
    _scratch: tempfile::TempDir,
}

/// A plan with its stored form and its digest.
pub(crate) struct Ready {
    pub(crate) plan: Plan,
    pub(crate) bytes: Vec<u8>,
    pub(crate) digest: String,
    /// The values of variables that it was made with, for those that are not kept with it, and their texts.
    pub(crate) inputs: BTreeMap<Arc<str>, Input>,
    pub(crate) sources: Sources,
}

/// What came of planning, with what is to be said of it.
pub(crate) struct Made {
    /// The plan; with errors it is as far as planning came, if it came to anything.
    pub(crate) ready: Option<Ready>,
    pub(crate) text: String,
    pub(crate) diags: Diags,
    pub(crate) sources: Sources,
}

/// What is to be planned.
pub(crate) struct Asked<'a> {
    pub(crate) basics: &'a Basics,
    pub(crate) choices: &'a Choices,
    pub(crate) destroy: bool,
    /// The file for what is made up of imported objects that nothing declares.
    pub(crate) generate: Option<&'a Path>,
    /// What these files add to the root module.
    pub(crate) more: Files,
}

impl<'a> Session<'a> {
    pub(crate) fn open(place: &Place, printer: &'a Printer) -> anyhow::Result<Self> {
        let dir = folder(place)?;
        let scratch = scratch()?;
        let settings = settings(place, &dir, scratch.path(), printer)?;
        let (workspace, state) = workspace::selected(&dir, place.backends.elsewhere(), printer)?;
        let identity = Identity::open(&dir)?;
        Ok(Self {
            printer,
            dir,
            workspace,
            state,
            settings,
            identity,
            _scratch: scratch,
        })
    }

    /// Takes the state's lock and reads the state. One that another holds is waited for, so long.
    pub(crate) async fn lock(
        &self,
        operation: &str,
        patience: Duration,
    ) -> anyhow::Result<(FileStore, Recovered)> {
        let until = Instant::now() + patience;
        let is_busy = |diags: &Diags| diags.iter().any(|diag| &*diag.summary == BUSY);
        let mut opened = FileStore::open(self.state.clone(), operation).await;
        if opened.as_ref().is_err_and(is_busy) && !patience.is_zero() {
            self.printer
                .note("Acquiring state lock. This may take a few moments...");
        }
        while opened.as_ref().is_err_and(is_busy) && Instant::now() < until {
            tokio::time::sleep(LOOK_AGAIN).await;
            opened = FileStore::open(self.state.clone(), operation).await;
        }
        let (store, recovered) = opened.map_err(|diags| self.told(&diags, &Sources::new()))?;
        self.printer.diags(&recovered.warnings, &Sources::new());
        Ok((store, recovered))
    }

    /// Plans and shows the plan; with errors as far as planning came, marked as errored.
    pub(crate) async fn plan(&self, recovered: &Recovered, asked: Asked<'_>) -> anyhow::Result<Ready> {
        let made = self.make_plan(recovered, asked).await?;
        match &made.ready {
            Some(ready) if self.printer.is_for_programs() => {
                for told in messages::of_plan(&ready.plan) {
                    self.printer.message(told);
                }
            }
            _ => self.printer.result(&made.text),
        }
        self.printer.diags(&made.diags, &made.sources);
        made.ready.ok_or_else(|| Told.into())
    }

    /// Plans and shows nothing.
    pub(crate) async fn make_plan(&self, recovered: &Recovered, asked: Asked<'_>) -> anyhow::Result<Made> {
        let Asked {
            basics,
            choices,
            destroy,
            generate,
            more,
        } = asked;
        let dialect = basics.language.dialect;
        if let Some(why) = choices.conflict(destroy) {
            anyhow::bail!("{why}");
        }
        if generate.is_some() && (destroy || choices.refresh_only) {
            anyhow::bail!(
                "Configuration is made up only where changes are planned, so --generate-config-out cannot go together with \
                 destroying or --refresh-only."
            );
        }
        // As with Terraform, it stands where the command is run, not in the module's folder.
        if let Some(file) = generate.filter(|file| file.exists()) {
            anyhow::bail!(
                "The file {} is there already. Configuration is written into a new file alone: name another, or move this one.",
                file.display()
            );
        }
        let mut sources = Sources::new();
        let (mut given, faults) = inputs::gather(&self.dir, &basics.values, &mut sources)?;
        if faults.has_errors() {
            return Err(self.told(&faults, &sources));
        }
        let mode = if destroy {
            Mode::Destroy
        } else if choices.refresh_only || choices.invoke.is_some() {
            Mode::RefreshOnly
        } else {
            Mode::Normal
        };
        let mut files = inputs::files_in(&self.dir, dialect)?;
        if files.is_empty() && mode != Mode::Destroy && !choices.is_refresh {
            return Err(self.told(&unconfigured(&self.dir).into(), &sources));
        }
        if !self.printer.is_for_programs() {
            asking::fill(&basics.asking, &files, dialect, &mut given);
        }
        let fetched = Fetched::open(&self.dir, &basics.fetching, self.printer)?;
        let again = (given.clone(), sources.clone());
        files.extend(more);
        let request = PlanRequest {
            modules: Modules::Fetched(fetched.packages.clone()),
            files,
            inputs: given,
            sources,
            env: Vec::new(),
            options: Options {
                mode,
                refresh: choices.refresh,
                replace: choices.replace.clone(),
                parallelism: basics.parallelism,
                workspace: self.workspace.clone(),
                dialect,
                invoke: choices.invoke.iter().cloned().collect(),
                selection: Selection {
                    targets: choices.limits.targets.clone(),
                    excludes: choices.limits.excludes.clone(),
                },
            },
            state: recovered.state.clone(),
            folder: self.dir.clone(),
            confines: None,
            held: Vec::new(),
            upgrade: basics.fetching.upgrade,
            generate: generate.map(generated_name),
        };
        let PlanOutcome {
            plan,
            schemas,
            sources,
            diags,
            redact,
        } = plan(&self.settings, request, &*teller(self.printer)).await;
        fetched.keep(plan.is_some())?;
        let diags = masked(
            backend::without_settled(diags, &self.dir, basics.place.backends.elsewhere()),
            &redact,
        );
        let made_up = plan.as_ref().and_then(|(plan, _)| generated_file(plan));
        if let Some((file, text)) = generate.zip(made_up) {
            std::fs::write(file, text)
                .with_context(|| format!("The file {} cannot be written", file.display()))?;
        }
        let text = plan.as_ref().map_or_else(String::new, |(plan, _)| {
            text::render(plan, &schemas, self.printer.style())
        });
        let ready = plan.map(|(plan, bytes)| Ready {
            digest: self.identity.digest(&plan, recovered.begun.as_deref()),
            plan,
            bytes,
            inputs: again.0,
            sources: again.1,
        });
        Ok(Made {
            ready,
            text,
            diags,
            sources,
        })
    }

    /// Prints diagnostics and gives the error that says so.
    pub(crate) fn told(&self, diags: &Diags, sources: &Sources) -> anyhow::Error {
        self.printer.told(diags, sources)
    }
}

/// Nothing but a destruction and a refresh is planned without a configuration.
///
/// Source: Terraform `internal/backend/local/backend_plan.go`, `backend_refresh.go`.
fn unconfigured(dir: &Path) -> Diag {
    let detail = format!(
        "The folder {} holds no configuration (no .tf file). Without one all that is in the state would be planned to be destroyed. \
         If that is what you want, say so with `ashlar destroy` or `plan --destroy`; if not, choose another folder with --dir.",
        dir.display()
    );
    Diag::error("No configuration files", detail)
}

/// What a file is called among those of the module: by its own name, as one that is read.
fn generated_name(file: &Path) -> Arc<str> {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    if name.ends_with(".tf") {
        name.into()
    } else {
        format!("{name}.tf").into()
    }
}

/// The root module's folder, as an absolute path.
pub(crate) fn folder(place: &Place) -> anyhow::Result<PathBuf> {
    std::path::absolute(&place.dir)
        .with_context(|| format!("The folder {} cannot be found", place.dir.display()))
}

/// A folder for what lasts as long as the command.
pub(crate) fn scratch() -> anyhow::Result<tempfile::TempDir> {
    let made = tempfile::Builder::new().prefix("ashlar-").tempdir();
    made.context("No temporary folder can be made")
}

/// How providers are found and started for a folder.
pub(crate) fn settings(
    place: &Place,
    dir: &Path,
    scratch: &Path,
    printer: &Printer,
) -> anyhow::Result<Settings> {
    let launcher = Launcher {
        program: std::env::current_exe().context("This program's own file cannot be found")?,
        arguments: vec!["launch".into()],
    };
    Ok(Settings {
        installer: installing::installer(place, dir, printer)?,
        scratch: scratch.to_owned(),
        writable: Vec::new(),
        launcher,
        fence: Fence::Off,
        bounds: Default::default(),
        inherit_environment: true,
        provisioners: Rules {
            programs: LocalPrograms::Allowed,
            reach: Reach::everything(),
            agent: std::env::var_os("SSH_AUTH_SOCK").map(PathBuf::from),
        },
        states: Some(Arc::new(SecretStates::OfPerson)),
        warm: None,
        sidecars: Arc::new(reattached()?),
        turns: Default::default(),
        schemas: Arc::new(SchemaCache::kept_in(cache_folder(dir).join("schemas"))),
    })
}

/// Providers that run already, as Terraform is told of them.
fn reattached() -> anyhow::Result<BTreeMap<Provider, Sidecar>> {
    let text = std::env::var(REATTACH).unwrap_or_default();
    Sidecar::of_variable(&text)
        .map_err(|why| anyhow::anyhow!("The variable {REATTACH} cannot be used: {why}"))
}

/// Diagnostics without what is sensitive: a provider may quote it.
pub(crate) fn masked(diags: Diags, redact: &Redactor) -> Diags {
    diags.map(|mut diag| {
        diag.summary = redact(&diag.summary).into();
        diag.detail = redact(&diag.detail);
        for named in diag.values.iter_mut().flatten() {
            named.is = redact(&named.is);
        }
        diag
    })
}

/// Where what is the same for all folders is kept.
pub(crate) fn cache_folder(dir: &Path) -> PathBuf {
    let home = || std::env::home_dir().map(|home| home.join(".cache"));
    let base = std::env::var_os("XDG_CACHE_HOME")
        .map(PathBuf::from)
        .or_else(home);
    base.unwrap_or_else(|| dir.join(".ashlar")).join("ashlar")
}
