//! From files and state to values that can be looked at; nothing is planned and nothing changed.

use std::{collections::BTreeMap, ffi::OsString, path::PathBuf, sync::Arc};

use ashlar_config::{Absent, Input, Tree, resolve_variables};
use ashlar_diag::{Diags, Sources};
use ashlar_graph::Graph;
use ashlar_plan::{
    FunctionResults, Schemas, Selection, Values, fetch_schemas,
    node::{Node, Sight, build},
};
use ashlar_port::Outside;
use ashlar_provider::Plugins;
use ashlar_state::State;
use ashlar_value::{Dialect, Value};

use crate::{
    files::Files,
    functions::ProviderFunctions,
    lock_file::LockFile,
    modules::Folders,
    outside::SystemOutside,
    packages::Packages,
    plan::home,
    providers::{Place, choose, plugins},
    redact::redactor,
    settings::Settings,
};

/// What is to be looked at.
pub struct LookRequest {
    /// The root module's files: name and text.
    pub files: Vec<(Arc<str>, Arc<str>)>,
    /// Values for its variables; those that are missing are unknown.
    pub inputs: BTreeMap<Arc<str>, Input>,
    /// The environment of plugins, which are started for their schemas.
    pub env: Vec<(OsString, OsString)>,
    /// The state.
    pub state: State,
    /// Where the module's files are.
    pub folder: PathBuf,
    /// The value of `terraform.workspace`.
    pub workspace: String,
    /// Whose language the module is in.
    pub dialect: Dialect,
    /// Fetches modules that lie elsewhere, if they may be fetched.
    pub packages: Option<Packages>,
}

/// A configuration over its state.
pub struct Looked {
    tree: Tree,
    variables: BTreeMap<Arc<str>, Value>,
    state: State,
    schemas: Schemas,
    workspace: String,
    caps: Files,
    functions: Arc<ProviderFunctions>,
    plugins: Arc<Plugins>,
}

impl Looked {
    /// Ends the providers whose functions were called.
    pub async fn close(&self) {
        self.functions.close().await;
        self.plugins.close().await;
    }

    /// What waits for what, whole or after one of the passes that build it.
    pub fn graph(&self, until: Option<&str>) -> Graph<Node> {
        let sight = Sight {
            tree: &self.tree,
            state: &self.state,
            schemas: &self.schemas,
            invoke: &[],
            refused: &BTreeMap::new(),
            selection: &Selection::whole(),
        };
        build(&sight, until)
    }

    /// The values of everything, and what is at fault with some.
    pub fn values(&self) -> (Values<'_>, Diags) {
        ashlar_plan::look(
            &self.tree,
            &self.variables,
            &self.state,
            &self.schemas,
            &self.workspace,
            &self.caps,
        )
    }
}

/// Loads all that is needed to look; `sources` holds the texts that places of the values lie in.
pub async fn look(
    settings: &Settings,
    request: LookRequest,
    sources: &mut Sources,
) -> (Option<Looked>, Diags) {
    let mut folders = Folders {
        root: request.folder.clone(),
        dialect: request.dialect,
        confines: None,
        packages: request.packages,
    };
    let (tree, mut diags) = ashlar_config::load(
        request.files,
        request.dialect,
        &request.inputs,
        &mut folders,
        sources,
    );
    if diags.has_errors() {
        return (None, diags);
    }
    let outside = Arc::new(SystemOutside::default());
    let mut caps = Files {
        folder: request.folder.clone(),
        confines: None,
        held: Vec::new(),
        home: home(false),
        plan_timestamp: outside.now(),
        // A console answers `timestamp()` at once.
        applying: true,
        made: Arc::default(),
        functions: None,
    };
    let (resolved, faults) = resolve_variables(tree.root(), &request.inputs, Absent::Unknown, sources);
    let variables = resolved.values;
    diags.extend(faults);
    diags.extend(resolved.refused.into_values().flatten());
    if diags.has_errors() {
        return (None, diags);
    }
    let Some(locks) = diags.take(LockFile::read(&request.folder, sources)) else {
        return (None, diags);
    };
    let Some(chosen) = diags.take(choose(settings, &tree, sources, &request.state, locks).await) else {
        return (None, diags);
    };
    let redact = redactor(variables.values(), &request.state, &request.env);
    diags.extend(chosen.warnings.clone());
    let _in_use = chosen.in_use.clone();
    let plugins = plugins(
        settings,
        chosen,
        Place::of(&request.folder, &caps),
        &request.env,
        redact,
        outside,
        tree.root().dialect.version(),
    );
    let functions = ProviderFunctions::new(plugins.clone(), FunctionResults::default());
    caps.functions = Some(functions.clone());
    let schemas = fetch_schemas(&tree, &request.state, &*plugins).await;
    let Some(schemas) = diags.take(schemas) else {
        plugins.close().await;
        return (None, diags);
    };
    let looked = Looked {
        tree,
        variables,
        state: request.state,
        schemas,
        workspace: request.workspace,
        caps,
        functions,
        plugins,
    };
    (Some(looked), diags)
}
