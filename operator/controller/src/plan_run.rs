//! One run that plans: from inputs and state to a stored plan. It changes no object of the outside.

mod choices;
mod ready;
mod told;

use std::collections::BTreeSet;

use ashlar_api::{Basis, PlanKind, Workspace};
use ashlar_diag::{Diags, Sources};
use ashlar_port::{Record, RunStore};
use ashlar_runner::{PlanOutcome, PlanRequest};
use ashlar_state::settled_as;
use ashlar_store::{Recovered, kube::PlanStore};
use kube::Api;

pub(crate) use self::ready::Material;
use self::{
    choices::{Asked, options},
    ready::{Unready, prepare},
    told::plan_status,
};
use crate::{
    ended::{Ended, Fault, INVALID, Outcome, PLAN_FAILED},
    job::{Held, Job, apart, until_stopped},
    kept::{Kept, Naming, name},
    message::{Secrets, errors, is_invalid, warnings},
    outputs,
};

/// The summary of a provider's configuration that is not fit.
const LACKING: &str = "Invalid provider configuration";
/// What is added to the fault of a provider that needs a value which is gone.
const WAY_OUT: &str = " Restore what gives the values, or set deletionPolicy to Retain.";

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
    let settings = match job.settings(&folder) {
        Ok(settings) => settings,
        Err(diags) => return faulty(&diags, &Sources::new(), &secrets, &held.recovered),
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
    } = ashlar_runner::plan(&settings, request, &*job.tracked).await;
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

/// Keeps what a plan found out that has nothing to do, as Terraform's apply does: objects that are gone, what data sources say. It
/// changes nothing but what is known, so nobody is asked. `settled`: how many records the journal got in this run.
async fn keep_found_out(held: &mut Held, plan: &ashlar_plan::Plan, settled: usize) -> Result<(), Diags> {
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
