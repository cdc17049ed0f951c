//! From files to a plan.

use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::OsString,
    path::{Path, PathBuf},
    sync::Arc,
};

use ashlar_config::{
    Absent, Files as SourceFiles, Input, Library, Tree, limits, resolve_variables, to_be_given_again,
};
use ashlar_diag::{Diags, Sources};
use ashlar_eval::with_budget;
use ashlar_plan::{FunctionResults, Inputs, Options, Plan, Schemas, fetch_schemas, wire};
use ashlar_port::{Outside, Progress};
use ashlar_provider::Redactor;
use ashlar_state::State;
use ashlar_value::Dialect;

use crate::{
    files::Files,
    functions::ProviderFunctions,
    lock_file::LockFile,
    modules::{Folders, Given, Keeping, Modules, early_files},
    outside::SystemOutside,
    providers::{Place, choose, plugins},
    provisioners::refused,
    redact::redactor,
    settings::Settings,
    validate::checked,
};

/// What is to be planned.
pub struct PlanRequest {
    /// The root module's files: name and text. Beside them those of called modules, where these are kept with them.
    pub files: SourceFiles,
    /// Where the modules it calls are found.
    pub modules: Modules,
    /// Values for its variables.
    pub inputs: BTreeMap<Arc<str>, Input>,
    /// The texts that places of the values lie in.
    pub sources: Sources,
    /// The environment of its plugins, beside what they always have.
    pub env: Vec<(OsString, OsString)>,
    /// The person's choices.
    pub options: Options,
    /// The state as read.
    pub state: State,
    /// Where the module's files are: plugins run there, functions read there.
    pub folder: PathBuf,
    /// The folder that holds all that functions and plugins may read, if there are bounds; the module's lies in it.
    pub confines: Option<PathBuf>,
    /// The folders in it whose files are all there, if what was left out of it is told apart from what never was: elsewhere
    /// nothing may be read. Empty: nothing was left out.
    pub held: Vec<PathBuf>,
    /// Are versions of providers that were settled before to be forgotten?
    pub upgrade: bool,
    /// The file for what is made up of imported objects that nothing declares, if that is wanted: a name in the module's folder.
    pub generate: Option<Arc<str>>,
}

/// What came of it.
pub struct PlanOutcome {
    /// The plan and its stored form, if there is one; it may be marked as errored.
    pub plan: Option<(Plan, Vec<u8>)>,
    /// The schemas it was made with.
    pub schemas: Schemas,
    /// The texts that diagnostics point into.
    pub sources: Sources,
    /// Errors and warnings.
    pub diags: Diags,
    /// Takes what is sensitive out of their texts.
    pub redact: Redactor,
}

/// How many bytes the constants of a configuration may take together: far more than any needs.
const CONSTANTS: usize = 512 << 20;

/// Reads constants (a configuration, files of values, values given as text), of which no more is made than memory allows.
pub fn bounded<T>(work: impl FnOnce() -> T) -> T {
    with_budget(CONSTANTS, work)
}

/// Reads the root module from its files and the modules it calls from a library, and tells what of them cannot be planned.
/// The files are those of all modules. `given`: values for its variables, of which those may tell where modules are that are known early.
pub fn load_module(
    files: &[(Arc<str>, Arc<str>)],
    dialect: Dialect,
    given: &BTreeMap<Arc<str>, Input>,
    library: &mut dyn Library,
    sources: &mut Sources,
) -> (Tree, SourceFiles, Diags) {
    let mut keeping = Keeping {
        library,
        files: root_files(files),
        seen: BTreeSet::new(),
    };
    let root = keeping.files.clone();
    let (tree, mut diags) = bounded(|| ashlar_config::load(root, dialect, given, &mut keeping, sources));
    diags.extend(limits(&tree));
    (tree, keeping.files, diags)
}

/// Files in folders are those of called modules.
fn root_files(files: &[(Arc<str>, Arc<str>)]) -> SourceFiles {
    let root = files.iter().filter(|(name, _)| !name.contains('/'));
    root.cloned().collect()
}

/// Where a run finds files.
#[derive(Clone, Copy)]
pub(crate) struct Around<'a> {
    pub(crate) folder: &'a Path,
    pub(crate) confines: Option<&'a Path>,
    pub(crate) held: &'a [PathBuf],
}

/// Loads a run's modules from where they are.
pub(crate) fn load_from(
    modules: &Modules,
    files: &[(Arc<str>, Arc<str>)],
    around: Around<'_>,
    dialect: Dialect,
    given: &BTreeMap<Arc<str>, Input>,
    sources: &mut Sources,
) -> (Tree, SourceFiles, Diags) {
    let Around {
        folder,
        confines,
        held,
    } = around;
    match modules {
        Modules::Beside | Modules::Fetched(_) => {
            let packages = match modules {
                Modules::Fetched(packages) => Some(packages.clone()),
                _ => None,
            };
            let mut library = Folders {
                root: folder.to_owned(),
                dialect,
                confines: confines.map(Path::to_owned),
                packages,
            };
            load_module(files, dialect, given, &mut library, sources)
        }
        Modules::Kept(laid) => {
            let mut library = Given {
                files,
                laid: Some(laid),
                caps: Some(early_files(folder, confines, held)),
                dialect,
            };
            load_module(files, dialect, given, &mut library, sources)
        }
    }
}

/// Plans.
pub async fn plan(settings: &Settings, mut request: PlanRequest, progress: &dyn Progress) -> PlanOutcome {
    let mut sources = std::mem::take(&mut request.sources);
    let mut schemas = Schemas::new();
    let mut diags = Diags::new();
    let mut redact: Redactor = Arc::new(str::to_owned);
    let plan = attempt(
        settings,
        request,
        progress,
        &mut sources,
        &mut schemas,
        &mut diags,
        &mut redact,
    )
    .await;
    let plan = plan.and_then(|plan| {
        let bytes = wire::encode(&plan, plan.options.dialect.version());
        diags.take(bytes).map(|bytes| (plan, bytes))
    });
    PlanOutcome {
        plan,
        schemas,
        sources,
        diags,
        redact,
    }
}

async fn attempt(
    settings: &Settings,
    request: PlanRequest,
    progress: &dyn Progress,
    sources: &mut Sources,
    schemas: &mut Schemas,
    diags: &mut Diags,
    redacted: &mut Redactor,
) -> Option<Plan> {
    let (tree, files, faults) = load_from(
        &request.modules,
        &request.files,
        Around {
            folder: &request.folder,
            confines: request.confines.as_deref(),
            held: &request.held,
        },
        request.options.dialect,
        &request.inputs,
        sources,
    );
    diags.extend(faults);
    diags.extend(refused(&tree, settings));
    if diags.has_errors() {
        return None;
    }
    let outside = Arc::new(SystemOutside::default());
    let timestamp = outside.now();
    let mut caps = Files {
        folder: request.folder.clone(),
        confines: request.confines.clone(),
        held: request.held.clone(),
        home: home(request.confines.is_some()),
        plan_timestamp: timestamp.clone(),
        applying: false,
        made: Arc::default(),
        functions: None,
    };
    let (resolved, faults) =
        bounded(|| resolve_variables(tree.root(), &request.inputs, Absent::Refused, sources));
    diags.extend(faults);
    if diags.has_errors() {
        diags.extend(resolved.refused.into_values().flatten());
        return None;
    }
    let (variables, given) = (resolved.values, resolved.given);
    // In a cluster a plan pins its providers: what the source settles is obeyed, and nothing is kept in its folder.
    let is_kept = request.confines.is_none();
    let mut locks = LockFile::default();
    if !request.upgrade {
        locks = diags.take(LockFile::read(&request.folder, sources))?;
    }
    let chosen = diags.take(choose(settings, &tree, sources, &request.state, locks.clone()).await)?;
    if is_kept && chosen.locks != locks {
        diags.take(chosen.locks.write(&request.folder))?;
    }
    diags.extend(chosen.warnings.clone());
    let pins = chosen.pins.clone();
    let _in_use = chosen.in_use.clone();
    let redact = redactor(variables.values(), &request.state, &request.env);
    redacted.clone_from(&redact.redact);
    let plugins = plugins(
        settings,
        chosen,
        Place {
            folder: &request.folder,
            readable: request.confines.as_ref().unwrap_or(&request.folder),
            files: &caps,
        },
        &request.env,
        redact,
        outside.clone(),
        tree.root().dialect.version(),
    );
    let functions = ProviderFunctions::new(plugins.clone(), FunctionResults::default());
    caps.functions = Some(functions.clone());
    let fetched = fetch_schemas(&tree, &request.state, &*plugins).await;
    let mut planned = match diags.take(fetched) {
        None => None,
        Some(fetched) => {
            *schemas = fetched;
            let checked = checked(&tree, schemas, &caps, &plugins).await;
            let inputs = Inputs {
                given_again: to_be_given_again(tree.root(), &request.inputs),
                tree: &tree,
                packages: request.modules.packages(),
                files,
                variables,
                places: resolved.places,
                refused: resolved.refused,
                state: request.state,
                options: request.options,
                schemas,
                providers: &*plugins,
                pins,
                caps: &caps,
                outside: &*outside,
                progress,
                timestamp,
                generate: request.generate,
                checked,
            };
            let planned = ashlar_plan::plan(inputs).await;
            diags.extend(planned.diags);
            planned.plan
        }
    };
    if let Some(plan) = &mut planned {
        plan.functions = functions.results();
        plan.given = given;
    }
    functions.close().await;
    plugins.close().await;
    planned
}

/// The home folder, where the run may know it.
pub(crate) fn home(confined: bool) -> Option<PathBuf> {
    if confined { None } else { std::env::home_dir() }
}
