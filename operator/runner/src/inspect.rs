//! What providers say their objects look like, for whoever shows a state or a plan; nothing is evaluated, planned or changed.

use std::{collections::BTreeMap, path::Path, sync::Arc};

use ashlar_config::Tree;
use ashlar_diag::{Diags, Sources};
use ashlar_plan::{Plan, Schemas, fetch_schemas};
use ashlar_state::State;
use ashlar_value::Dialect;

use crate::{
    apply::planned_inputs,
    files::Files,
    lock_file::LockFile,
    modules::{Folders, Laid, Modules, read_folder},
    outside::SystemOutside,
    plan::{Around, load_from, load_module},
    providers::{Chosen, Place, choose, find_pinned, plugins},
    redact::Redaction,
    settings::Settings,
};

/// The schemas of all providers that a state names, in the versions that the configuration in the folder asks for, as far as
/// that can be read.
pub async fn schemas_of_state(
    settings: &Settings,
    folder: &Path,
    dialect: Dialect,
    state: &State,
) -> Result<Schemas, Diags> {
    let files = read_folder(folder, "", dialect).unwrap_or_default();
    let mut library = Folders {
        root: folder.to_owned(),
        dialect,
        confines: None,
        packages: None,
    };
    let nothing = BTreeMap::new();
    let mut sources = Sources::new();
    let (tree, _, _) = load_module(&files, dialect, &nothing, &mut library, &mut sources);
    // As far as that can be read, too.
    let locks = LockFile::read(folder, &mut sources).unwrap_or_default();
    let chosen = choose(settings, &tree, &sources, state, locks).await?;
    fetch(settings, folder, chosen, &tree, state).await
}

/// The configuration of a stored plan, and the schemas it was made with.
pub async fn schemas_of_plan(
    settings: &Settings,
    folder: &Path,
    plan: &Plan,
) -> Result<(Tree, Schemas), Diags> {
    let (tree, _, diags) = load_from(
        &Modules::Kept(Laid::of_plan(plan)),
        &plan.config,
        Around {
            folder,
            confines: None,
            held: &[],
        },
        plan.options.dialect,
        &planned_inputs(plan),
        &mut Sources::new(),
    );
    if diags.has_errors() {
        return Err(diags);
    }
    let chosen = find_pinned(settings, &plan.providers).await?;
    let schemas = fetch(settings, folder, chosen, &tree, &plan.prior_state).await?;
    Ok((tree, schemas))
}

async fn fetch(
    settings: &Settings,
    folder: &Path,
    chosen: Chosen,
    tree: &Tree,
    state: &State,
) -> Result<Schemas, Diags> {
    let files = Files {
        folder: folder.to_owned(),
        confines: None,
        held: Vec::new(),
        home: None,
        plan_timestamp: String::new(),
        applying: false,
        made: Arc::default(),
        functions: None,
    };
    let _in_use = chosen.in_use.clone();
    let plugins = plugins(
        settings,
        chosen,
        Place::of(folder, &files),
        &[],
        Redaction::none(),
        Arc::new(SystemOutside::default()),
        tree.root().dialect.version(),
    );
    let schemas = fetch_schemas(tree, state, &*plugins).await;
    plugins.close().await;
    schemas
}
