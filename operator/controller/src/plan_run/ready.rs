//! What a plan is made from: the module and its values, as the runner takes them. Fetches what is not there yet.

use std::{collections::BTreeMap, ffi::OsString, sync::Arc};

use ashlar_config::{Input, InputValue, Origin};
use ashlar_diag::{Diag, Diags, Sources};
use ashlar_plan::wire;
use ashlar_runner::{Given, Laid, Modules, load_module};
use ashlar_store::kube::PlanStore;
use ashlar_value::Dialect;

use crate::{
    early_files::EarlyFiles,
    ended::{INVALID, PLAN_FAILED, SOURCE_FAILED},
    fetch_run,
    inputs::{self, Inputs, dialect},
    job::Job,
    kept::Kept,
    message::Secrets,
    package::Package,
    valued::Valued,
    values,
};

/// What to plan from.
pub(crate) enum Material {
    /// What the workspace says now.
    Inputs(Box<Inputs>),
    /// What the plan with this digest said, with the environment as it is now.
    LastApplied(String),
}

/// Module and values as the runner takes them.
pub(super) struct Ready {
    pub(super) modules: Modules,
    pub(super) package: Package,
    pub(super) files: Vec<(Arc<str>, Arc<str>)>,
    pub(super) inputs: BTreeMap<Arc<str>, Input>,
    pub(super) dialect: Dialect,
    pub(super) env: Vec<(OsString, OsString)>,
    pub(super) secrets: Secrets,
}

/// Why there is nothing to plan from.
pub(super) struct Unready {
    pub(super) diags: Diags,
    pub(super) sources: Sources,
    pub(super) reason: &'static str,
}

impl Unready {
    fn lasting(diags: Diags, sources: Sources) -> Self {
        Self {
            diags,
            sources,
            reason: INVALID,
        }
    }

    fn passing(diags: Diags) -> Self {
        Self {
            diags,
            sources: Sources::new(),
            reason: PLAN_FAILED,
        }
    }

    fn unfetched(why: String) -> Self {
        Self {
            reason: SOURCE_FAILED,
            ..Self::passing(Diag::error("The source cannot be had", why).into())
        }
    }
}

/// Module and values, or why there are none.
pub(super) async fn prepare(job: &Job, from: Material, plans: &PlanStore) -> Result<Ready, Unready> {
    let os = |env: Vec<(String, String)>| {
        env.into_iter()
            .map(|(name, value)| (name.into(), value.into()))
            .collect()
    };
    match from {
        Material::Inputs(inputs) => {
            let dialect = dialect(job.spec.dialect);
            let package = match inputs.material {
                inputs::Material::Files(package) => package,
                inputs::Material::Fetched(order) => {
                    let found = fetch_run::package(job, &order).await;
                    found.map_err(Unready::unfetched)?
                }
            };
            let files = package.config_files(dialect);
            let given = values::of_root(&files, dialect, inputs.values, package.value_files());
            let nothing = BTreeMap::new();
            let early = given.as_ref().unwrap_or(&nothing);
            let mut sources = Sources::new();
            let mut library = Given {
                files: &files,
                laid: package.modules.as_ref(),
                caps: Some(Arc::new(EarlyFiles::of(&package))),
                dialect,
            };
            let (_, _, diags) = load_module(&files, dialect, early, &mut library, &mut sources);
            if diags.has_errors() {
                return Err(Unready::lasting(diags, sources));
            }
            match given {
                Ok(given) => Ok(Ready {
                    files,
                    modules: package.modules.clone().map_or(Modules::Beside, Modules::Kept),
                    inputs: given,
                    dialect,
                    env: os(inputs.env),
                    secrets: inputs.secrets,
                    package,
                }),
                Err(diags) => Err(Unready::lasting(diags, sources)),
            }
        }
        Material::LastApplied(digest) => {
            let kept = plans.load(&digest).await.map_err(Unready::passing)?;
            let plan = kept.ok_or_else(|| {
                let detail = "The inputs are gone, and so is the plan that was applied last, so there is nothing to plan the \
                              destruction from. Restore the inputs, or set deletionPolicy to Retain.";
                Unready::lasting(Diag::error("Inputs are gone", detail).into(), Sources::new())
            })?;
            let kept = Kept::decode(&plan).map_err(|diags| Unready::lasting(diags, Sources::new()))?;
            let (stored, package) = kept.open();
            let plan = wire::decode(&stored).map_err(|diags| Unready::lasting(diags, Sources::new()))?;
            let Valued { values, env, secrets } = job.rest().await.map_err(Unready::passing)?;
            let input = |value| Input {
                value: InputValue::Value(value, None),
                origin: Origin::Direct,
            };
            let mut inputs = values::left_over(&plan, values, package.value_files());
            let modules = Modules::Kept(Laid::of_plan(&plan));
            let planned = plan.variables.into_iter();
            inputs.extend(planned.map(|(name, value)| (name, input(value))));
            Ok(Ready {
                package,
                files: plan.config,
                modules,
                inputs,
                dialect: plan.options.dialect,
                env: os(env),
                secrets,
            })
        }
    }
}
