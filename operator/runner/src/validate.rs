//! From files to what is wrong with them, providers asked as well; nothing is planned and no value is needed.

use std::{collections::BTreeMap, path::PathBuf, sync::Arc};

use ashlar_addr::{Mode, ProviderConfig};
use ashlar_config::{About, Files as SourceFiles, Input, Question, Tree, check_schemas};
use ashlar_diag::{Diags, Sources};
use ashlar_funcs::Caps;
use ashlar_plan::{FunctionResults, Schemas, fetch_schemas_of, in_source_order, provider_diags::place_all};
use ashlar_port::{Outside, Provider, Providers};
use ashlar_provider::Plugins;
use ashlar_state::State;
use ashlar_value::Dialect;
use futures::future::join_all;

use crate::{
    files::Files,
    functions::ProviderFunctions,
    lock_file::LockFile,
    modules::Folders,
    outside::SystemOutside,
    packages::Packages,
    plan::home,
    providers::{Place, choose, plugins},
    redact::Redaction,
    settings::Settings,
};

/// What is wrong with a configuration.
#[derive(Default)]
pub struct Validated {
    /// Faults, in the order of source.
    pub diags: Diags,
    /// What is sound and cannot be planned yet all the same.
    pub limits: Diags,
}

/// Checks the root module in a folder, and the modules that it calls. `given`: values for its variables, which may tell where
/// those are. Must run where blocking is allowed
/// (`block_in_place`): files are read on the way.
pub async fn validate(
    settings: &Settings,
    folder: PathBuf,
    files: SourceFiles,
    given: &BTreeMap<Arc<str>, Input>,
    packages: Option<Packages>,
    dialect: Dialect,
    sources: &mut Sources,
) -> Validated {
    let mut limits = Diags::new();
    let library = Folders {
        root: folder,
        dialect,
        confines: None,
        packages,
    };
    let diags = attempt(settings, library, files, given, sources, &mut limits).await;
    Validated {
        diags: in_source_order(diags),
        limits,
    }
}

async fn attempt(
    settings: &Settings,
    mut library: Folders,
    files: SourceFiles,
    given: &BTreeMap<Arc<str>, Input>,
    sources: &mut Sources,
    limits: &mut Diags,
) -> Diags {
    let (folder, dialect) = (library.root.clone(), library.dialect);
    let (tree, mut diags) = ashlar_config::load(files, dialect, given, &mut library, sources);
    if diags.has_errors() {
        return diags;
    }
    *limits = ashlar_config::limits(&tree);
    let outside = Arc::new(SystemOutside::default());
    let mut caps = Files {
        folder: folder.clone(),
        confines: None,
        held: Vec::new(),
        home: home(false),
        plan_timestamp: outside.now(),
        applying: false,
        made: Arc::default(),
        functions: None,
    };
    let Some(locks) = diags.take(LockFile::read(&folder, sources)) else {
        return diags;
    };
    let Some(chosen) = diags.take(choose(settings, &tree, sources, &State::default(), locks).await) else {
        return diags;
    };
    diags.extend(chosen.warnings.clone());
    let _in_use = chosen.in_use.clone();
    let plugins = plugins(
        settings,
        chosen,
        Place::of(&folder, &caps),
        &[],
        Redaction::none(),
        outside,
        dialect.version(),
    );
    let functions = ProviderFunctions::new(plugins.clone(), FunctionResults::default());
    caps.functions = Some(functions.clone());
    let needed = tree.requirements().into_keys().collect();
    if let Some(schemas) = diags.take(fetch_schemas_of(needed, &*plugins).await) {
        diags.extend(checked(&tree, &schemas, &caps, &plugins).await);
    }
    functions.close().await;
    plugins.close().await;
    diags
}

/// What the check of a configuration tells, its providers asked too. Who was asked can serve the run that follows.
pub(crate) async fn checked(tree: &Tree, schemas: &Schemas, caps: &dyn Caps, plugins: &Plugins) -> Diags {
    let asker = Asker {
        plugins,
        schemas,
        started: tokio::sync::Mutex::default(),
    };
    let told = tokio::task::block_in_place(|| {
        let handle = tokio::runtime::Handle::current();
        let of = |provider: &ashlar_addr::Provider| schemas.get(provider).cloned();
        let ask = |questions: &[Question<'_>]| handle.block_on(asker.ask_all(questions));
        check_schemas(tree, &of, caps, &ask)
    });
    for (provider, running) in asker.started.into_inner() {
        plugins.give_back(&provider, running).await;
    }
    told
}

/// Asks providers, each one started once.
struct Asker<'a> {
    plugins: &'a Plugins,
    schemas: &'a Schemas,
    started: tokio::sync::Mutex<BTreeMap<ashlar_addr::Provider, Arc<dyn Provider>>>,
}

impl Asker<'_> {
    async fn ask_all(&self, questions: &[Question<'_>]) -> Vec<Diags> {
        join_all(questions.iter().map(|question| self.ask(question))).await
    }

    async fn provider(&self, config: &ProviderConfig) -> Result<Arc<dyn Provider>, Diags> {
        let mut started = self.started.lock().await;
        if let Some(provider) = started.get(&config.provider) {
            return Ok(provider.clone());
        }
        let provider = self.plugins.plain(&config.provider).await?;
        started.insert(config.provider.clone(), provider.clone());
        Ok(provider)
    }

    async fn ask(&self, question: &Question<'_>) -> Diags {
        if !self.schemas.contains_key(&question.provider.provider) {
            return Diags::new();
        }
        let provider = match self.provider(question.provider).await {
            Ok(provider) => provider,
            Err(diags) => return diags,
        };
        let config = &question.config;
        let (told, address) = match &question.about {
            About::Provider => (
                provider.validate_provider(config).await,
                question.provider.to_string(),
            ),
            About::Resource(resource, path) => {
                let kind = &resource.kind;
                let told = match resource.mode {
                    Mode::Managed => provider.validate_resource(kind, config).await,
                    Mode::Data => provider.validate_data(kind, config).await,
                    Mode::Ephemeral => provider.validate_ephemeral(kind, config).await,
                };
                (told, resource.within_config((*path).clone()).to_string())
            }
            About::Action(kind, address) => (provider.validate_action(kind, config).await, address.clone()),
        };
        place_all(told, question.body, &address)
    }
}
