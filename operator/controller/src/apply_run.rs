//! One run that applies a stored plan, and the short ones that note what a person settled or remove an empty state.
//!
//! The bytes that were stored are what is applied, and only while everything they stand on stands: state, digest, lock.

use std::{collections::BTreeMap, ffi::OsString, sync::Arc, time::Duration};

use ashlar_api::{ApprovalPolicy, Basis};
use ashlar_diag::Diags;
use ashlar_plan::{Plan, digest, wire};
use ashlar_port::{Outcome as Settlement, Record, RunStore};
use ashlar_runner::{ApplyOutcome, ApplyRequest};
use ashlar_state::{outcome_object, same_content};
use ashlar_store::{
    Recovered,
    kube::{PlanStore, peek},
};

use tokio::sync::Semaphore;

use crate::{
    ended::{APPLY_FAILED, Ended, Fault, INTERRUPTED, Outcome},
    inputs::Inputs,
    job::{Held, Job},
    message::{Secrets, errors},
    observe::address_of,
    outputs,
    plan_run::write_outputs,
};

/// Applies the plan with this digest. Files and environment come from the inputs, which are those of the plan.
pub(crate) async fn run(job: Job, digest: String, inputs: Option<Box<Inputs>>) -> Ended {
    let permits = job.context.apply_permits.clone();
    let held = match job.begin(&permits, "OperationTypeApply").await {
        Ok(held) => held,
        Err(ended) => return ended,
    };
    let ended = attempt(&job, &held, &digest, inputs).await;
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

async fn attempt(job: &Job, held: &Held, digest: &str, inputs: Option<Box<Inputs>>) -> Ended {
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
    let plans = PlanStore::new(
        &job.context.client,
        &job.context.key,
        &job.place.namespace,
        job.place.owner.clone(),
    );
    let bytes = match plans.load(digest).await {
        Ok(Some(bytes)) => bytes,
        Ok(None) => return superseded("It is no longer stored."),
        Err(diags) => return superseded(&plain(&diags)),
    };
    let plan = match wire::decode(&bytes) {
        Ok(plan) => plan,
        Err(diags) => return superseded(&plain(&diags)),
    };
    if let Some(why) = moved(job, &plan, recovered, digest, plans.keys().hash_key()) {
        return superseded(why);
    }
    if job.spec.approval.policy == ApprovalPolicy::Auto && !recovered.uncertain.is_empty() {
        return superseded("An earlier run left changes whose outcome is not known.");
    }
    let (bundle, env, secrets) = match inputs {
        Some(inputs) => (inputs.bundle, inputs.env, inputs.secrets),
        None => {
            let files = plan
                .config
                .iter()
                .map(|(name, text)| (name.to_string(), text.to_string()));
            (files.collect::<BTreeMap<_, _>>(), Vec::new(), Secrets::default())
        }
    };
    let env: Vec<(OsString, OsString)> = env
        .into_iter()
        .map(|(name, value)| (name.into(), value.into()))
        .collect();
    let folder = match job.lay_out(bundle).await {
        Ok(folder) => folder,
        Err(error) => {
            let message = format!("The module's files could not be laid out: {error}.");
            return job.failed(Some(recovered), APPLY_FAILED, message);
        }
    };
    // From here on the approval is spent.
    if let Err(diags) = held.store.begin(digest).await {
        return job.failed(Some(recovered), APPLY_FAILED, plain(&diags));
    }
    let request = ApplyRequest {
        plan: &bytes,
        env,
        folder: folder.path().to_owned(),
        confined: true,
        store: &held.store,
        stop: &job.tracked.stop,
    };
    let watchdog = tokio::spawn(stop_after(job.timeout, job.tracked.clone()));
    let outcome = ashlar_runner::apply(&job.context.settings, request, &*job.tracked).await;
    watchdog.abort();
    conclude(job, recovered, digest, outcome, &secrets).await
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
        sources,
        diags,
        interrupted,
        counts,
        schemas: _,
    } = outcome;
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
fn moved(job: &Job, plan: &Plan, recovered: &Recovered, digest: &str, key: &[u8]) -> Option<&'static str> {
    let (then, now) = (&plan.previous_state, &recovered.state);
    // A state that was never written gets its lineage from the plan.
    let first = now.lineage.is_empty() && then.is_empty();
    if (then.lineage != now.lineage && !first)
        || then.serial != now.serial
        || (recovered.changed && !same_content(then, now))
    {
        return Some("The state has changed since it was made.");
    }
    let seed = digest::Seed {
        workspace_uid: &job.place.uid,
        last_begun: recovered.begun.as_deref(),
        key,
    };
    if digest::digest(plan, seed) != digest {
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
        Err(diags) => job.failed(None, INTERRUPTED, plain(&diags)),
    };
    held.finish().await;
    ended
}

async fn note(held: &Held, addresses: &[String]) -> Result<(), Diags> {
    let recovered = &held.recovered;
    let mut records = Vec::new();
    for intent in recovered
        .uncertain
        .iter()
        .filter(|intent| addresses.contains(&address_of(intent)))
    {
        let resource = recovered.state.resources.get(&intent.address.resource);
        let known = resource.and_then(|resource| {
            let instance = resource.instances.get(&intent.address.key)?;
            let object = match intent.deposed {
                None => instance.current.as_ref()?,
                Some(key) => instance.deposed.get(&key)?,
            };
            Some(outcome_object(
                &intent.address,
                intent.deposed,
                &resource.provider,
                object,
            ))
        });
        let object = known.transpose()?;
        records.push(Record::Outcome(Settlement {
            address: intent.address.clone(),
            deposed: intent.deposed,
            object,
        }));
    }
    held.store.journal(records).await
}

/// Removes a state without content, and its lock. `Ok(false)`: someone else holds the lock, or it is not empty after all.
pub(crate) async fn forget(job: &Job, permits: &Arc<Semaphore>) -> Result<bool, Diags> {
    let held = match job.begin(permits, "OperationTypeDelete").await {
        Ok(held) => held,
        Err(_) => return Ok(false),
    };
    if !held.recovered.state.is_empty() || !held.recovered.uncertain.is_empty() {
        held.finish().await;
        return Ok(false);
    }
    held.store.delete().await?;
    held.lock.delete().await?;
    Ok(true)
}

fn plain(diags: &Diags) -> String {
    errors(diags, &Default::default(), &Secrets::default())
}
