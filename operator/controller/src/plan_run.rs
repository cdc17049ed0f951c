//! One run that plans: from inputs and state to a stored plan. It changes no object of the outside.

use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::OsString,
    str::FromStr,
    sync::Arc,
};

use ashlar_api::{Basis, ChangeStatus, PlanKind, PlanSettings, PlanStatus, PlanSummary, Standing, Workspace};
use ashlar_config::{Input, InputValue, Origin};
use ashlar_diag::{Diag, Diags, Sources};
use ashlar_plan::{Action, Mode, Options, Plan, Schemas, Selection, Summary, show::redacted_changes, wire};
use ashlar_port::{Record, RunStore};
use ashlar_runner::{Given, Laid, Modules, PlanOutcome, PlanRequest, load_module};
use ashlar_state::settled_as;
use ashlar_store::{Recovered, kube::PlanStore};
use ashlar_value::Dialect;
use jiff::Timestamp;
use kube::Api;

use crate::{
    conditions::seconds,
    early_files::EarlyFiles,
    ended::{Ended, Fault, INVALID, Outcome, PLAN_FAILED, SOURCE_FAILED},
    fetch_run,
    inputs::{self, Inputs, dialect},
    job::{Held, Job, apart, until_stopped},
    kept::{Kept, Naming, name},
    message::{Secrets, errors, is_invalid, warnings},
    outputs,
    package::Package,
    valued::Valued,
    values,
};

/// The summary of a provider's configuration that is not fit.
const LACKING: &str = "Invalid provider configuration";
/// What is added to the fault of a provider that needs a value which is gone.
const WAY_OUT: &str = " Restore what gives the values, or set deletionPolicy to Retain.";

/// How many changes the status shows, and how much of each.
const SHOWN: usize = 50;
const PATHS_SHOWN: usize = 8;
const LONGEST_NAME: usize = 250;

/// What to plan from.
pub(crate) enum Material {
    /// What the workspace says now.
    Inputs(Box<Inputs>),
    /// What the plan with this digest said, with the environment as it is now.
    LastApplied(String),
}

/// Module and values as the runner takes them.
struct Ready {
    modules: Modules,
    package: Package,
    files: Vec<(Arc<str>, Arc<str>)>,
    inputs: BTreeMap<Arc<str>, Input>,
    dialect: Dialect,
    env: Vec<(OsString, OsString)>,
    secrets: Secrets,
}

/// Why there is nothing to plan from.
struct Unready {
    diags: Diags,
    sources: Sources,
    reason: &'static str,
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

/// Plans. `before` is the workspace as the decision saw it.
pub(crate) async fn run(job: Job, kind: PlanKind, from: Material, before: Workspace) -> Ended {
    let permits = job.context.plan_permits.clone();
    let mut held = match job.begin(&permits, "OperationTypePlan").await {
        Ok(held) => held,
        Err(ended) => return ended,
    };
    let ended = if is_overtaken(&job, &before).await {
        job.end(Some(&held.recovered), Outcome::Overtaken)
    } else {
        let last_applied = before
            .status
            .as_ref()
            .and_then(|status| status.last_applied_plan.clone());
        let whole = before.metadata.deletion_timestamp.is_some();
        let invoked = before
            .status
            .as_ref()
            .map_or(&[][..], |status| status.invoked.as_slice());
        let sorted = |list: &[String]| list.iter().cloned().collect::<BTreeSet<_>>();
        let asked = Asked {
            kind,
            whole,
            invokes: !whole && sorted(&job.spec.plan.invoke) != sorted(invoked),
        };
        let work = attempt(&job, &mut held, asked, from, last_applied);
        let limited = async { tokio::time::timeout(job.timeout, work).await };
        let outcome = apart(until_stopped(&job.tracked.stop, limited));
        match outcome {
            Some(Ok(ended)) => ended,
            Some(Err(_)) => {
                let message = "The plan was not made within spec.timeout. It is tried again.".to_owned();
                job.failed(Some(&held.recovered), PLAN_FAILED, message)
            }
            None => job.interrupted("The plan was broken off."),
        }
    };
    held.finish().await;
    ended
}

/// Did another replica plan while this one waited for the lock?
async fn is_overtaken(job: &Job, before: &Workspace) -> bool {
    let api: Api<Workspace> = Api::namespaced(job.context.client.clone(), &job.place.namespace);
    let told = |workspace: &Workspace| {
        let status = workspace.status.clone().unwrap_or_default();
        (
            workspace.metadata.generation,
            status.plan,
            status.next_run_at,
            status.last_failure,
            status.last_applied_plan,
        )
    };
    match api.get_opt(&job.place.name).await {
        Ok(Some(now)) => told(&now) != told(before),
        // Whoever cannot look must not act.
        Ok(None) | Err(_) => true,
    }
}

async fn attempt(
    job: &Job,
    held: &mut Held,
    asked: Asked,
    from: Material,
    last_applied: Option<String>,
) -> Ended {
    let plans = PlanStore::new(
        &job.context.client,
        &job.context.key,
        &job.place.namespace,
        job.place.owner.clone(),
    );
    let inputs_gone = matches!(from, Material::LastApplied(_));
    let faulty = |diags: &Diags, sources: &Sources, secrets: &Secrets, recovered: &Recovered| {
        // Inputs that are gone may come back.
        let invalid = is_invalid(diags) && !inputs_gone;
        let reason = if invalid { INVALID } else { PLAN_FAILED };
        let mut message = errors(diags, sources, secrets);
        if inputs_gone && diags.iter().any(|diag| diag.summary == LACKING) {
            message.push_str(WAY_OUT);
        }
        job.end(
            Some(recovered),
            Outcome::Failed(Fault {
                reason,
                invalid,
                interrupted: false,
                message,
            }),
        )
    };
    let ready = match prepare(job, from, &plans).await {
        Ok(ready) => ready,
        Err(Unready {
            diags,
            sources,
            reason,
        }) => {
            let fault = Fault {
                reason,
                // Only other inputs can help then.
                invalid: reason == INVALID,
                interrupted: false,
                message: errors(&diags, &sources, &Secrets::default()),
            };
            return job.end(Some(&held.recovered), Outcome::Failed(fault));
        }
    };
    let secrets = ready.secrets.clone();
    let chosen = options(
        &job.spec.plan,
        asked,
        &job.spec.terraform_workspace,
        ready.dialect,
    );
    let options = match chosen {
        Ok(options) => options,
        Err(diag) => {
            let fault = Fault {
                reason: INVALID,
                invalid: true,
                interrupted: false,
                message: diag.detail,
            };
            return job.end(Some(&held.recovered), Outcome::Failed(fault));
        }
    };
    // What was not looked at is not settled.
    let reads_all = options.refresh && options.selection.is_whole();
    let package = ready.package.clone();
    let folder = match job.lay_out(ready.package).await {
        Ok(folder) => folder,
        Err(error) => {
            let message = format!("The module's files could not be laid out: {error}.");
            return job.failed(Some(&held.recovered), PLAN_FAILED, message);
        }
    };
    let request = PlanRequest {
        files: ready.files,
        modules: ready.modules,
        inputs: ready.inputs,
        // Values come from objects of the cluster, so none has a place in a text.
        sources: Sources::new(),
        env: ready.env,
        options,
        state: held.recovered.state.clone(),
        folder: folder.root().to_owned(),
        confines: Some(folder.path().to_owned()),
        held: package.held(),
        upgrade: false,
        generate: None,
    };
    let PlanOutcome {
        plan,
        schemas,
        sources,
        diags,
        redact,
    } = ashlar_runner::plan(&job.settings(&folder), request, &*job.tracked).await;
    drop(folder);
    let secrets = secrets.of_run(redact);
    let Some((plan, bytes)) = plan.filter(|_| !diags.has_errors()) else {
        return faulty(&diags, &sources, &secrets, &held.recovered);
    };
    let settled = if reads_all { settle_read(held).await } else { Ok(0) };
    let settled = match settled {
        Ok(settled) => settled,
        Err(diags) => return faulty(&diags, &sources, &secrets, &held.recovered),
    };
    // Whoever plans on a state first has it, until that workspace goes.
    if let Err(diags) = held.store.claim().await {
        return faulty(&diags, &sources, &secrets, &held.recovered);
    }
    let keeps = asked.whole || job.spec.mode != ashlar_api::Mode::PlanOnly;
    if keeps
        && asked.kind != PlanKind::Refresh
        && let Err(diags) = keep_found_out(held, &plan, settled).await
    {
        return faulty(&diags, &sources, &secrets, &held.recovered);
    }
    let basis = Basis {
        inputs: job.inputs.clone(),
        lineage: held.recovered.state.lineage.clone(),
        serial: i64::try_from(held.recovered.state.serial).unwrap_or(i64::MAX),
        begun_plan: held.recovered.begun.clone(),
    };
    let naming = Naming {
        workspace_uid: &job.place.uid,
        package: &package,
        begun: held.recovered.begun.as_deref(),
        spent: &job.spent,
        key: plans.keys().hash_key(),
    };
    let digest = name(&plan, &naming);
    if plan.wants_apply() {
        let saved = match Kept::new(bytes, package).encode() {
            Ok(bytes) => plans.save(&digest, &bytes).await,
            Err(diags) => Err(diags),
        };
        if let Err(diags) = saved {
            return faulty(&diags, &sources, &secrets, &held.recovered);
        }
    }
    // Earlier ones may be needed to destroy by, once the inputs are gone.
    let earlier = last_applied
        .iter()
        .chain(&held.recovered.begun)
        .map(String::as_str);
    let keep: Vec<&str> = earlier
        .chain(plan.wants_apply().then_some(digest.as_str()))
        .collect();
    if let Err(diags) = plans.retain(&keep).await {
        tracing::warn!(
            error = errors(&diags, &sources, &secrets),
            "plans that no longer stand were not removed"
        );
    }
    let mut told = None;
    if !plan.wants_apply() {
        if let Err(diags) = write_outputs(job, &held.recovered).await {
            return faulty(&diags, &sources, &secrets, &held.recovered);
        }
        told = Some(outputs::shown(&held.recovered.state));
    }
    let mut remarks = held.recovered.warnings.clone();
    remarks.extend(diags);
    let status = plan_status(
        &plan,
        &schemas,
        asked.kind,
        digest,
        basis,
        &job.spec.plan.invoke,
        warnings(&remarks, &sources, &secrets),
    );
    job.end(
        Some(&held.recovered),
        Outcome::Planned {
            plan: Box::new(status),
            outputs: told,
        },
    )
}

/// Writes the outputs Secret, where one is wanted.
pub(crate) async fn write_outputs(job: &Job, recovered: &Recovered) -> Result<(), Diags> {
    let secret = job
        .spec
        .outputs
        .as_ref()
        .and_then(|outputs| outputs.secret_ref.as_ref());
    let Some(secret) = secret else { return Ok(()) };
    let Job { context, place, .. } = job;
    outputs::write(
        &context.client,
        &place.namespace,
        &secret.name,
        &place.owner,
        &recovered.state,
    )
    .await
}

/// Module and values, or why there are none.
async fn prepare(job: &Job, from: Material, plans: &PlanStore) -> Result<Ready, Unready> {
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

/// What a plan is asked for.
#[derive(Clone, Copy)]
struct Asked {
    kind: PlanKind,
    /// Is it not limited? An object that goes takes everything along.
    whole: bool,
    /// Are the actions of the list that is set now still to be invoked?
    invokes: bool,
}

/// The person's choices. Where actions are invoked, nothing else is done.
fn options(
    settings: &PlanSettings,
    Asked { kind, whole, invokes }: Asked,
    workspace: &str,
    dialect: Dialect,
) -> Result<Options, Diag> {
    let replace = addresses("replace", "resource instance", &settings.replace)?;
    let selection = Selection {
        targets: addresses("targets", "module, resource or instance", &settings.targets)?,
        excludes: addresses("exclude", "module, resource or instance", &settings.exclude)?,
    };
    let invoke = addresses("invoke", "instance of an action", &settings.invoke)?;
    if invokes && kind == PlanKind::Apply && !invoke.is_empty() {
        return Ok(Options {
            mode: Mode::RefreshOnly,
            refresh: settings.refresh,
            replace: Vec::new(),
            parallelism: usize::try_from(settings.parallelism).unwrap_or(1).max(1),
            workspace: workspace.to_owned(),
            dialect,
            invoke,
            selection: Selection::whole(),
        });
    }
    Ok(Options {
        mode: match kind {
            PlanKind::Apply => Mode::Normal,
            PlanKind::Destroy => Mode::Destroy,
            PlanKind::Refresh => Mode::RefreshOnly,
        },
        refresh: settings.refresh || kind == PlanKind::Refresh,
        replace: match kind {
            PlanKind::Apply => replace,
            PlanKind::Destroy | PlanKind::Refresh => Vec::new(),
        },
        parallelism: usize::try_from(settings.parallelism).unwrap_or(1).max(1),
        workspace: workspace.to_owned(),
        dialect,
        invoke: Vec::new(),
        selection: if whole { Selection::whole() } else { selection },
    })
}

/// Reads the addresses of a list of `spec.plan`.
fn addresses<T: FromStr>(field: &str, what: &str, texts: &[String]) -> Result<Vec<T>, Diag> {
    let fault = |text: &String| {
        let detail = format!("spec.plan.{field} names {text:?}, which is no {what}.");
        Diag::error("Invalid address", detail)
    };
    let read = texts.iter().map(|text| text.parse().map_err(|_| fault(text)));
    read.collect()
}

/// Keeps what a plan found out that has nothing to do, as Terraform's apply does: objects that are gone, what data sources say. It
/// changes nothing but what is known, so nobody is asked. `settled`: how many records the journal got in this run.
async fn keep_found_out(held: &mut Held, plan: &Plan, settled: usize) -> Result<(), Diags> {
    let Some(state) = plan.found_out() else {
        return Ok(());
    };
    let bytes = ashlar_state::write(&state, plan.options.dialect.version())?;
    held.store.save(bytes, settled).await?;
    held.recovered.state = state;
    Ok(())
}

/// Settles uncertain changes of objects that the state knows and the plan has just read: what the plan says of them is
/// how they are. Gives the number of records that the journal got.
async fn settle_read(held: &mut Held) -> Result<usize, Diags> {
    let recovered = &mut held.recovered;
    let mut records = Vec::new();
    for intent in &recovered.uncertain {
        // What is there may be the object that was to be replaced: it tells nothing about the new one.
        if intent.action == "create" {
            continue;
        }
        let outcome = settled_as(&recovered.state, &intent.subject)?;
        // What is not there to be read tells nothing either, and of an action nothing is ever.
        if outcome.object.is_none() {
            continue;
        }
        records.push((intent.clone(), outcome));
    }
    if records.is_empty() {
        return Ok(0);
    }
    recovered
        .uncertain
        .retain(|intent| !records.iter().any(|(settled, _)| settled == intent));
    let records: Vec<_> = records
        .into_iter()
        .map(|(_, outcome)| Record::Outcome(outcome))
        .collect();
    let count = records.len();
    held.store.journal(records).await?;
    Ok(count)
}

fn plan_status(
    plan: &Plan,
    schemas: &Schemas,
    kind: PlanKind,
    digest: String,
    basis: Basis,
    invoke: &[String],
    warnings: Vec<String>,
) -> PlanStatus {
    let changes = redacted_changes(plan, schemas);
    let count = |number: usize| i64::try_from(number).unwrap_or(i64::MAX);
    let summary = plan.summary();
    PlanStatus {
        digest,
        kind,
        standing: if plan.wants_apply() {
            Standing::Pending
        } else {
            Standing::Empty
        },
        created_at: seconds(Timestamp::now()),
        summary: PlanSummary {
            creates: count(summary.creates),
            updates: count(summary.updates),
            deletes: count(summary.deletes),
            replaces: count(summary.replaces),
            moves: count(summary.moves),
            imports: count(summary.imports),
            forgets: count(summary.forgets),
            actions: count(summary.actions),
            outputs: count(summary.outputs),
            drift: count(summary.drift),
            text: short(&summary, kind),
        },
        truncated: changes.len() > SHOWN,
        changes: changes
            .into_iter()
            .take(SHOWN)
            .map(|change| ChangeStatus {
                address: clip(change.address),
                action: action(change.action, change.moved_from.is_some(), change.imports).to_owned(),
                reason: change.reason.map(|reason| reason.as_str().to_owned()),
                moved_from: change.moved_from.map(clip),
                imports: change.imports,
                paths: change.paths.into_iter().take(PATHS_SHOWN).map(clip).collect(),
            })
            .collect(),
        warnings,
        basis,
        partial: !plan.options.selection.is_whole(),
        // As they are written there: by that it is told later whether they were invoked.
        invokes: if plan.options.invoke.is_empty() {
            Vec::new()
        } else {
            invoke.to_vec()
        },
    }
}

/// The counts in short.
fn short(summary: &Summary, kind: PlanKind) -> String {
    if kind == PlanKind::Refresh {
        return format!("{} drifted, {} outputs", summary.drift, summary.outputs);
    }
    let creates = summary.creates + summary.replaces;
    let deletes = summary.deletes + summary.replaces;
    let more = [
        (summary.imports, "imported"),
        (summary.forgets, "forgotten"),
        (summary.actions, "invoked"),
    ];
    let more = more
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!(", {count} {what}"));
    format!(
        "+{creates} ~{} -{deletes}{}",
        summary.updates,
        more.collect::<String>()
    )
}

fn action(action: Action, moved: bool, imports: bool) -> &'static str {
    match action {
        Action::NoOp if imports => "import",
        Action::NoOp if moved => "move",
        Action::NoOp => "none",
        Action::Create => "create",
        Action::Read => "read",
        Action::Update => "update",
        Action::DeleteThenCreate | Action::CreateThenDelete | Action::ForgetThenCreate => "replace",
        Action::Delete => "delete",
        Action::Forget => "forget",
    }
}

fn clip(name: String) -> String {
    match name.char_indices().nth(LONGEST_NAME) {
        Some((at, _)) => format!("{}…", &name[..at]),
        None => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(settings: &PlanSettings, kind: PlanKind, whole: bool) -> Result<Options, Diag> {
        let asked = Asked {
            kind,
            whole,
            invokes: !whole,
        };
        options(settings, asked, "default", Dialect::Terraform)
    }

    #[test]
    fn actions_are_invoked_alone_and_once() {
        let settings = PlanSettings {
            replace: vec!["a.b".to_owned()],
            targets: vec!["a.b".to_owned()],
            invoke: vec!["action.a.b[0]".to_owned()],
            ..PlanSettings::default()
        };
        let invoking = chosen(&settings, PlanKind::Apply, false).unwrap();
        assert_eq!((invoking.mode, invoking.invoke.len()), (Mode::RefreshOnly, 1));
        assert!(invoking.replace.is_empty() && invoking.selection.is_whole());
        let after = Asked {
            kind: PlanKind::Apply,
            whole: false,
            invokes: false,
        };
        let after = options(&settings, after, "default", Dialect::Terraform).unwrap();
        assert_eq!((after.mode, after.replace.len()), (Mode::Normal, 1));
        assert!(after.invoke.is_empty());
        for kind in [PlanKind::Destroy, PlanKind::Refresh] {
            assert!(chosen(&settings, kind, false).unwrap().invoke.is_empty());
        }
    }

    #[test]
    fn settings_become_the_choices_of_a_plan() {
        let settings = PlanSettings {
            refresh: false,
            replace: vec!["a.b".to_owned()],
            targets: vec!["module.m[0]".to_owned(), "a.b".to_owned()],
            ..PlanSettings::default()
        };
        let of = |kind, whole| chosen(&settings, kind, whole).unwrap();
        let apply = of(PlanKind::Apply, false);
        assert_eq!((apply.refresh, apply.replace.len()), (false, 1));
        assert_eq!(apply.selection.targets.len(), 2);
        let observe = of(PlanKind::Refresh, false);
        assert_eq!((observe.mode, observe.refresh), (Mode::RefreshOnly, true));
        assert!(observe.replace.is_empty());
        assert!(!of(PlanKind::Destroy, false).selection.is_whole());
        assert!(of(PlanKind::Destroy, true).selection.is_whole());
    }

    #[test]
    fn an_address_that_is_none_is_refused_with_the_field_that_names_it() {
        let refused = |settings: PlanSettings| chosen(&settings, PlanKind::Apply, false).unwrap_err().detail;
        let list = || vec!["a".to_owned()];
        let replace = PlanSettings {
            replace: list(),
            ..PlanSettings::default()
        };
        let targets = PlanSettings {
            targets: list(),
            ..PlanSettings::default()
        };
        let exclude = PlanSettings {
            exclude: list(),
            ..PlanSettings::default()
        };
        let invoke = PlanSettings {
            invoke: list(),
            ..PlanSettings::default()
        };
        assert!(refused(invoke).contains("spec.plan.invoke"));
        assert!(refused(replace).contains("spec.plan.replace"));
        assert!(refused(targets).contains("spec.plan.targets"));
        assert!(refused(exclude).contains("spec.plan.exclude"));
    }
}
