//! From a stored plan to a new state.

use std::{collections::BTreeMap, ffi::OsString, path::PathBuf, sync::Arc};

use ashlar_apply::{Counts, Inputs, Kept, Patience};
use ashlar_config::{Input, InputValue, Origin, variables_at_apply};
use ashlar_diag::{Diag, Diags, Sources};
use ashlar_plan::{Plan, Schemas, fetch_schemas, wire};
use ashlar_port::{Progress, RunStore, StopFlag};
use ashlar_provider::Redactor;
use ashlar_provisioner::Runner;
use ashlar_state::State;
use ashlar_value::Value;

use crate::{
    files::Files,
    functions::ProviderFunctions,
    modules::{Laid, Modules},
    outside::SystemOutside,
    plan::{Around, bounded, home, load_from, load_module},
    providers::{Place, find_pinned, launch_options, plugins},
    provisioners::refused,
    redact::redactor,
    settings::Settings,
};

/// What is to be applied.
pub struct ApplyRequest<'a> {
    /// The plan as it was stored and approved.
    pub plan: &'a [u8],
    /// Values for its variables, as they were given to plan it or anew: those of ephemeral ones are not kept with it.
    pub inputs: BTreeMap<Arc<str>, Input>,
    /// The texts that places of the values lie in.
    pub sources: Sources,
    /// The environment of its plugins, beside what they always have.
    pub env: Vec<(OsString, OsString)>,
    /// Where the module's files are.
    pub folder: PathBuf,
    /// The folder that holds all that functions and plugins may read, if there are bounds; the module's lies in it.
    pub confines: Option<PathBuf>,
    /// The folders in it whose files are all there, if what was left out of it is told apart from what never was: elsewhere
    /// nothing may be read. Empty: nothing was left out.
    pub held: Vec<PathBuf>,
    /// Where the run is kept, by whoever holds the lock.
    pub store: &'a dyn RunStore,
    /// Set to start nothing more.
    pub stop: &'a StopFlag,
    /// How long providers have to end their calls then.
    pub patience: Patience,
}

/// What came of it.
pub struct ApplyOutcome {
    /// The new state; `None` if nothing was begun.
    pub state: Option<State>,
    /// Where what was done is found again.
    pub kept: Kept,
    /// The texts that diagnostics point into.
    pub sources: Sources,
    /// Errors and warnings.
    pub diags: Diags,
    /// Was it stopped before all steps had run?
    pub interrupted: bool,
    /// How much was done.
    pub counts: Counts,
    /// The schemas in use.
    pub schemas: Schemas,
    /// Takes what is sensitive out of texts that are told of it.
    pub redact: Redactor,
}

/// Applies a stored plan.
pub async fn apply(settings: &Settings, request: ApplyRequest<'_>, progress: &dyn Progress) -> ApplyOutcome {
    let mut outcome = ApplyOutcome {
        state: None,
        kept: Kept::State,
        sources: Sources::new(),
        diags: Diags::new(),
        interrupted: false,
        counts: Counts::default(),
        schemas: Schemas::new(),
        redact: Arc::new(str::to_owned),
    };
    if let Err(diags) = attempt(settings, request, progress, &mut outcome).await {
        outcome.diags.extend(diags);
    }
    outcome
}

/// The values that a plan was made with, as they were given.
pub fn planned_inputs(plan: &Plan) -> BTreeMap<Arc<str>, Input> {
    let input = |value: &Value| Input {
        value: InputValue::Value(value.clone().unmark_deep().0, None),
        origin: Origin::Shared,
    };
    let values = plan.variables.iter();
    values.map(|(name, value)| (name.clone(), input(value))).collect()
}

/// What is wrong with the values that a plan is to be applied with: so that nothing is begun with others.
pub fn check_given(plan: &Plan, inputs: &BTreeMap<Arc<str>, Input>, sources: &mut Sources) -> Diags {
    let (dialect, nothing) = (plan.options.dialect, BTreeMap::new());
    // What else is wrong with the module is told by whoever applies.
    let (root, _, _) = load_module(&plan.config, dialect, &nothing, &mut (), &mut Sources::new());
    let (planned, again) = (&plan.variables, &plan.given_again);
    let (_, diags) = bounded(|| variables_at_apply(root.root(), planned, again, inputs, sources));
    diags.into_iter().filter(Diag::is_error).collect()
}

async fn attempt(
    settings: &Settings,
    mut request: ApplyRequest<'_>,
    progress: &dyn Progress,
    outcome: &mut ApplyOutcome,
) -> Result<(), Diags> {
    let plan = wire::decode(request.plan)?;
    outcome.sources = std::mem::take(&mut request.sources);
    let (tree, _, mut diags) = load_from(
        &Modules::Kept(Laid::of_plan(&plan)),
        &plan.config,
        Around {
            folder: &request.folder,
            confines: request.confines.as_deref(),
            held: &request.held,
        },
        plan.options.dialect,
        &planned_inputs(&plan),
        &mut outcome.sources,
    );
    diags.extend(refused(&tree, settings));
    if diags.has_errors() {
        return Err(diags);
    }
    let (variables, faults) = bounded(|| {
        let (planned, again) = (&plan.variables, &plan.given_again);
        variables_at_apply(tree.root(), planned, again, &request.inputs, &mut outcome.sources)
    });
    outcome.diags.extend(faults);
    if outcome.diags.has_errors() {
        return Ok(());
    }
    let outside = Arc::new(SystemOutside::default());
    let mut caps = Files {
        folder: request.folder.clone(),
        confines: request.confines.clone(),
        held: request.held.clone(),
        home: home(request.confines.is_some()),
        plan_timestamp: plan.timestamp.clone(),
        applying: true,
        made: Arc::default(),
        functions: None,
    };
    let chosen = find_pinned(settings, &plan.providers).await?;
    let _in_use = chosen.in_use.clone();
    let redact = redactor(variables.values(), &plan.prior_state, &request.env);
    outcome.redact.clone_from(&redact.redact);
    let place = Place {
        folder: &request.folder,
        readable: request.confines.as_ref().unwrap_or(&request.folder),
        files: &caps,
    };
    let provisioners = Runner::new(
        settings.provisioners.clone(),
        launch_options(settings, place, &request.env, redact.redact.clone()),
        request.folder.clone(),
        Arc::new(caps.clone()),
    );
    let plugins = plugins(
        settings,
        chosen,
        place,
        &request.env,
        redact,
        outside.clone(),
        tree.root().dialect.version(),
    );
    let functions = ProviderFunctions::new(plugins.clone(), plan.functions.clone());
    caps.functions = Some(functions.clone());
    let fetched = fetch_schemas(&tree, &plan.prior_state, &*plugins).await;
    let result = match fetched {
        Err(diags) => Err(diags),
        Ok(schemas) => {
            outcome.schemas = schemas;
            let applied = ashlar_apply::apply(Inputs {
                plan: &plan,
                variables: &variables,
                tree: &tree,
                schemas: &outcome.schemas,
                providers: &*plugins,
                provisioners: &provisioners,
                caps: &caps,
                outside: &*outside,
                progress,
                store: request.store,
                stop: request.stop,
                patience: request.patience,
                terraform_version: tree.root().dialect.version(),
            })
            .await;
            outcome.state = Some(applied.state);
            outcome.kept = applied.kept;
            outcome.diags.extend(applied.diags);
            outcome.interrupted = applied.interrupted;
            outcome.counts = applied.counts;
            Ok(())
        }
    };
    functions.close().await;
    plugins.close().await;
    result
}
