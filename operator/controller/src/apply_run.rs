//! One run that applies a stored plan, and the short one that notes what a person settled.
//!
//! The bytes that were stored are what is applied, and only while everything they stand on stands: state, digest, lock.

use std::{ffi::OsString, sync::Arc, time::Duration};

use ashlar_api::{ApprovalPolicy, Basis, Workspace};
use ashlar_diag::{Diags, Sources};
use ashlar_plan::{Action, Plan, wire};
use ashlar_port::{Record, RunStore, StopFlag};
use ashlar_provider::Taken;
use ashlar_runner::{ApplyOutcome, ApplyRequest};
use ashlar_state::settled_as;
use ashlar_store::{
    Recovered,
    kube::{PlanStore, peek},
};

use kube::{Api, ResourceExt};

use crate::{
    beside::beside,
    decide::{Decision, decide_at_its_turn},
    ended::{APPLY_FAILED, Ended, Fault, INTERRUPTED, Outcome, SETTLE_FAILED},
    inputs::Inputs,
    job::{Held, Job, apart, plain, until_stopped},
    kept::{Kept, Naming, name},
    message::{Secrets, errors},
    observe::{address_of, observe_afresh},
    outputs,
    plan_run::write_outputs,
    valued::Valued,
    values,
};

/// When a run that was told to stop is broken off, with whatever could not be stored: long after the store has given up.
const BROKEN_OFF: Duration = Duration::from_secs(1800);

/// Applies the plan with this digest.
pub(crate) async fn run(job: Job, digest: String) -> Ended {
    // Before there is anything that others wait for, and before the gate is asked again.
    let Some(sidecars) = until_stopped(&job.tracked.stop, take_sidecars(&job, &digest)).await else {
        return job.interrupted("It was stopped before it began.");
    };
    let permits = job.context.apply_permits.clone();
    let held = match job.begin(&permits, "OperationTypeApply").await {
        Ok(held) => held,
        Err(ended) => return ended,
    };
    let ended = match confirm(&job, &digest).await {
        Ok(inputs) => attempt(&job, &held, &digest, inputs, sidecars.as_ref()).await,
        Err(outcome) => job.end(Some(&held.recovered), outcome),
    };
    held.finish().await;
    let Outcome::Applied { outputs, counts, .. } = ended.outcome else {
        return ended;
    };
    // What was left is read back, not computed: the next decision compares with just this.
    match peek(&job.context.client, &job.place.slot).await {
        Ok(recovered) => {
            let basis = Basis {
                inputs: job.inputs.clone(),
                lineage: recovered.state.lineage.clone(),
                serial: i64::try_from(recovered.state.serial).unwrap_or(i64::MAX),
                begun_plan: recovered.begun.clone(),
            };
            job.end(
                Some(&recovered),
                Outcome::Applied {
                    digest,
                    basis,
                    outputs,
                    counts,
                },
            )
        }
        Err(diags) => job.failed(None, INTERRUPTED, plain(&diags)),
    }
}

/// Waits for the sidecars that the plan was made with. A plan that cannot be read has none, nor has a workspace that asks for what is not
/// offered; why, the run tells.
async fn take_sidecars(job: &Job, digest: &str) -> Option<Taken> {
    if job.context.sidecars.is_empty() {
        return None;
    }
    let bytes = plan_store(job).load(digest).await.ok()??;
    let (stored, _) = Kept::decode(&bytes).ok()?.open();
    let plan = wire::decode(&stored).ok()?;
    let sidecars = beside(&job.context.sidecars, &job.place.namespace, &job.spec).ok()?;
    Some(job.context.take_sidecars(sidecars, &plan).await)
}

fn plan_store(job: &Job) -> PlanStore {
    PlanStore::new(
        &job.context.client,
        &job.context.key,
        &job.place.namespace,
        job.place.owner.clone(),
    )
}

/// Asks the gate again, now that the lock is held: the run may have waited long for its turn, and the approval may have been
/// taken back, the workspace suspended or an input changed. Gives the inputs as they are now, if they can be had.
async fn confirm(job: &Job, digest: &str) -> Result<Option<Inputs>, Outcome> {
    let api: Api<Workspace> = Api::namespaced(job.context.client.clone(), &job.place.namespace);
    let found = match api.get_opt(&job.place.name).await {
        Ok(found) => found.filter(|found| found.uid().as_ref() == Some(&job.place.uid)),
        // Whoever cannot look must not act.
        Err(_) => None,
    };
    let Some(workspace) = found else {
        return Err(Outcome::Overtaken);
    };
    let observed = observe_afresh(&job.context, workspace).await;
    match decide_at_its_turn(&observed.seen) {
        Decision::Apply(wanted) if wanted == digest => Ok(observed.inputs),
        _ => Err(Outcome::Overtaken),
    }
}

async fn attempt(
    job: &Job,
    held: &Held,
    digest: &str,
    inputs: Option<Inputs>,
    sidecars: Option<&Taken>,
) -> Ended {
    let recovered = &held.recovered;
    let superseded = |why: &str| {
        job.end(
            Some(recovered),
            Outcome::Superseded {
                digest: digest.to_owned(),
                why: why.to_owned(),
            },
        )
    };
    let plans = plan_store(job);
    let bytes = match plans.load(digest).await {
        Ok(Some(bytes)) => bytes,
        Ok(None) => return superseded("It is no longer stored."),
        Err(diags) => return superseded(&plain(&diags)),
    };
    let read = Kept::decode(&bytes).and_then(|kept| {
        let (stored, package) = kept.open();
        Ok((wire::decode(&stored)?, stored, package))
    });
    let (plan, stored, package) = match read {
        Ok(read) => read,
        Err(diags) => return superseded(&plain(&diags)),
    };
    let naming = Naming {
        workspace_uid: &job.place.uid,
        package: &package,
        begun: recovered.begun.as_deref(),
        spent: &job.spent,
        key: plans.keys().hash_key(),
    };
    if let Some(why) = moved(&plan, recovered, digest, &naming) {
        return superseded(why);
    }
    if job.spec.approval.policy == ApprovalPolicy::Auto && !recovered.uncertain.is_empty() {
        return superseded("An earlier run left changes whose outcome is not known.");
    }
    let (env, secrets, given) = match inputs {
        Some(Inputs {
            env, secrets, values, ..
        }) => match values::given_again(&plan, values, package.value_files()) {
            Ok(given) => (env, secrets, given),
            Err(diags) => {
                let message = errors(&diags, &Sources::new(), &secrets);
                return job.failed(Some(recovered), APPLY_FAILED, message);
            }
        },
        None => match job.rest().await {
            Ok(Valued { values, env, secrets }) => {
                let given = values::left_over(&plan, values, package.value_files());
                (env, secrets, given)
            }
            Err(diags) => return job.failed(Some(recovered), APPLY_FAILED, plain(&diags)),
        },
    };
    let env: Vec<(OsString, OsString)> = env
        .into_iter()
        .map(|(name, value)| (name.into(), value.into()))
        .collect();
    let held_folders = package.held();
    let folder = match job.lay_out(package).await {
        Ok(folder) => folder,
        Err(error) => {
            let message = format!("The module's files could not be laid out: {error}.");
            return job.failed(Some(recovered), APPLY_FAILED, message);
        }
    };
    let settings = match job.settings(&folder) {
        Ok(settings) if sidecars.is_some() => settings.of_one_run(),
        Ok(settings) => settings,
        Err(diags) => return job.failed(Some(recovered), APPLY_FAILED, plain(&diags)),
    };
    let changes = plan.changes.iter().filter(|change| change.action != Action::NoOp);
    job.tracked.expect(changes.count() + plan.invocations.len());
    // From here on the approval is spent.
    if let Err(diags) = held.store.begin(digest).await {
        return job.failed(Some(recovered), APPLY_FAILED, plain(&diags));
    }
    let request = ApplyRequest {
        plan: &stored,
        inputs: given,
        sources: Sources::new(),
        env,
        folder: folder.root().to_owned(),
        confines: Some(folder.path().to_owned()),
        held: held_folders,
        store: &held.store,
        stop: &job.tracked.stop,
        patience: job.context.patience,
    };
    let watchdog = tokio::spawn(stop_after(job.timeout, job.tracked.clone()));
    let outcome = apart(async {
        tokio::select! {
            outcome = ashlar_runner::apply(&settings, request, &*job.tracked) => Some(outcome),
                // What was journalled until then is found again by the next run.
            () = overdue(&job.tracked.stop) => None,
        }
    });
    watchdog.abort();
    match outcome {
        Some(outcome) => conclude(job, recovered, digest, outcome, &secrets).await,
        None => {
            let message = format!(
                "The run was told to stop and was not at its end {} s later: the state could not be stored. It was broken off; \
                 what the journal holds is taken over by the next run.",
                BROKEN_OFF.as_secs()
            );
            job.failed(None, INTERRUPTED, message)
        }
    }
}

/// Returns long after the run was told to stop.
async fn overdue(stop: &StopFlag) {
    while !stop.is_set() {
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    tokio::time::sleep(BROKEN_OFF).await;
}

async fn conclude(
    job: &Job,
    before: &Recovered,
    digest: &str,
    outcome: ApplyOutcome,
    secrets: &Secrets,
) -> Ended {
    let ApplyOutcome {
        state,
        // What could not be stored is among the errors.
        kept: _,
        sources,
        diags,
        interrupted,
        counts,
        schemas: _,
        redact,
    } = outcome;
    let secrets = &secrets.clone().of_run(redact);
    let after = Recovered {
        state: state.unwrap_or_else(|| before.state.clone()),
        ..Recovered::default()
    };
    if diags.has_errors() {
        return job.failed(Some(&after), APPLY_FAILED, errors(&diags, &sources, secrets));
    }
    if interrupted {
        let message =
            "The run was stopped before its end. What was made is in the state; the rest is planned anew.";
        let fault = Fault {
            reason: INTERRUPTED,
            invalid: false,
            interrupted: true,
            message: message.to_owned(),
        };
        return job.end(Some(&after), Outcome::Failed(fault));
    }
    if let Err(diags) = write_outputs(job, &after).await {
        return job.failed(Some(&after), APPLY_FAILED, plain(&diags));
    }
    let counts = format!(
        "{} added, {} changed, {} destroyed",
        counts.created, counts.updated, counts.destroyed
    );
    let outputs = outputs::shown(&after.state);
    // The basis is read back once the lock is released.
    let basis = Basis::default();
    job.end(
        Some(&after),
        Outcome::Applied {
            digest: digest.to_owned(),
            basis,
            outputs,
            counts,
        },
    )
}

/// Why a plan no longer stands on what is there, if it does not.
fn moved(plan: &Plan, recovered: &Recovered, digest: &str, naming: &Naming<'_>) -> Option<&'static str> {
    if plan.base_fault(&recovered.state).is_some() {
        return Some("The state has changed since it was made.");
    }
    if name(plan, naming) != digest {
        return Some("It is not what its digest says, or its approval is spent.");
    }
    None
}

/// Nothing more is started once the time is over; what runs is finished and kept.
async fn stop_after(timeout: Duration, tracked: Arc<crate::registry::Tracked>) {
    tokio::time::sleep(timeout).await;
    tracked.stop.set();
}

/// Notes that a person has looked after these uncertain changes: what the state says of them holds.
pub(crate) async fn settle(job: Job, addresses: Vec<String>) -> Ended {
    let permits = job.context.plan_permits.clone();
    let mut held = match job.begin(&permits, "OperationTypeSettle").await {
        Ok(held) => held,
        Err(ended) => return ended,
    };
    let ended = match note(&held, &addresses).await {
        Ok(()) => {
            held.recovered
                .uncertain
                .retain(|intent| !addresses.contains(&address_of(intent)));
            job.end(Some(&held.recovered), Outcome::Settled)
        }
        Err(diags) => job.failed(None, SETTLE_FAILED, plain(&diags)),
    };
    held.finish().await;
    ended
}

async fn note(held: &Held, addresses: &[String]) -> Result<(), Diags> {
    let recovered = &held.recovered;
    let named = recovered
        .uncertain
        .iter()
        .filter(|intent| addresses.contains(&address_of(intent)));
    let outcomes = named.map(|intent| settled_as(&recovered.state, &intent.subject).map(Record::Outcome));
    let records = outcomes.collect::<Result<_, Diags>>()?;
    held.store.journal(records).await
}
