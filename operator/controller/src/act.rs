//! Third stage of a pass: does what was decided, or starts the run that does. Never waits for a run.

use std::{sync::Arc, time::Duration};

use ashlar_api::{FINALIZER, Workspace, parse_duration};
use ashlar_diag::Diags;
use kube::{
    Api, ResourceExt,
    api::{Patch, PatchParams},
    runtime::reflector::ObjectRef,
};
use serde_json::json;
use tokio::sync::Semaphore;

use crate::{
    absorb::Times,
    apply_run,
    context::Context,
    decide::{Cause, Decision, Ground, Run, Seen, Stage, recorded},
    ended::Ended,
    job::Job,
    message::{Secrets, errors},
    observe::{Observed, Place},
    plan_run,
    registry::{Ticket, Tracked},
};

/// What became of it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Done {
    /// The status may be written.
    Yes,
    /// The object is gone, or someone else must be waited for: nothing is to be written.
    Gone,
    Later,
}

/// Why it could not be done.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ActError {
    #[error("cannot change the finalizers")]
    Finalizer(#[source] Box<kube::Error>),
    #[error("cannot remove what is left of the state: {0}")]
    Forget(String),
}

/// Does it.
pub(crate) async fn act(
    context: &Arc<Context>,
    observed: &mut Observed,
    decision: &Decision,
) -> Result<Done, ActError> {
    match decision {
        Decision::Watch(_) | Decision::Rest(_) | Decision::Wait(_) => {}
        Decision::Stop(_) => {
            if let Some(going) = &observed.going {
                going.stop.set();
            }
        }
        Decision::AddFinalizer => {
            let mut finalizers = observed.workspace.finalizers().to_vec();
            finalizers.push(FINALIZER.to_owned());
            set_finalizers(context, &observed.workspace, finalizers).await?;
            return Ok(Done::Later);
        }
        Decision::Release { forget } => {
            if let (true, Some(place)) = (*forget, &observed.place) {
                let emptied = forget_state(context, place, &observed.workspace).await;
                if !emptied.map_err(|diags| {
                    ActError::Forget(errors(&diags, &Default::default(), &Secrets::default()))
                })? {
                    return Ok(Done::Later);
                }
            }
            let others = observed
                .workspace
                .finalizers()
                .iter()
                .filter(|finalizer| *finalizer != FINALIZER);
            set_finalizers(context, &observed.workspace, others.cloned().collect()).await?;
            return Ok(Done::Gone);
        }
        Decision::Settle(addresses) => {
            let addresses = addresses.clone();
            let run = Run {
                stage: Stage::Plan,
                kind: ashlar_api::PlanKind::Apply,
            };
            start(context, observed, run, Cause::Requested, String::new(), |job| {
                apply_run::settle(job, addresses)
            });
        }
        Decision::Plan { kind, cause, from } => {
            let run = Run {
                stage: Stage::Plan,
                kind: *kind,
            };
            observed
                .status
                .last_handled_reconcile_at
                .clone_from(&observed.requested_at);
            let before = observed.workspace.clone();
            let (digest, from) = match (from, observed.inputs.take(), &observed.seen.last_applied) {
                (Ground::Inputs, Some(inputs), _) => (
                    inputs.digest.clone(),
                    plan_run::Material::Inputs(Box::new(inputs)),
                ),
                (Ground::LastApplied, _, Some(digest)) => {
                    (recorded(digest), plan_run::Material::LastApplied(digest.clone()))
                }
                // Not decided without either.
                (Ground::Inputs, None, _) | (Ground::LastApplied, _, None) => return Ok(Done::Later),
            };
            let kind = *kind;
            start(context, observed, run, *cause, digest, |job| {
                plan_run::run(job, kind, from, before)
            });
        }
        Decision::Apply(digest) => {
            let Some(plan) = observed.seen.plan.clone() else {
                return Ok(Done::Later);
            };
            let run = Run {
                stage: Stage::Apply,
                kind: plan.kind,
            };
            let inputs = observed
                .inputs
                .take()
                .filter(|inputs| inputs.digest == plan.inputs)
                .map(Box::new);
            let digest = digest.clone();
            start(context, observed, run, Cause::NeverPlanned, plan.inputs, |job| {
                apply_run::run(job, digest, inputs)
            });
        }
    }
    Ok(Done::Yes)
}

/// How long until the next pass, if nothing changes before.
pub(crate) fn next_look(seen: &Seen, decision: &Decision, Times { interval, retry, .. }: Times) -> Duration {
    use crate::decide::{Rest, Wait};
    let until = |time: jiff::Timestamp| {
        Duration::try_from(time.duration_since(seen.now))
            .unwrap_or_default()
            .max(Duration::from_millis(500))
    };
    match decision {
        Decision::Wait(Wait::Lock(lock)) => until(lock.until),
        Decision::Wait(Wait::Failure { until: time, .. }) => until(*time),
        Decision::Wait(Wait::Obstacle(_)) => retry,
        Decision::Rest(Rest::InSync | Rest::Destroyed | Rest::PlanOnly) => seen.due.map_or(interval, until),
        // A change wakes; this is for those that were missed.
        Decision::Wait(Wait::Inputs(_) | Wait::Approval { .. } | Wait::Uncertain(_))
        | Decision::Rest(Rest::Gone | Rest::Suspended { .. } | Rest::Draining) => interval,
        // The end of the run wakes.
        Decision::Watch(_)
        | Decision::Stop(_)
        | Decision::Plan { .. }
        | Decision::Apply(_)
        | Decision::Settle(_) => interval,
        Decision::AddFinalizer | Decision::Release { .. } => Duration::from_secs(5),
    }
}

fn start<F>(
    context: &Arc<Context>,
    observed: &mut Observed,
    run: Run,
    cause: Cause,
    inputs: String,
    work: impl FnOnce(Job) -> F,
) where
    F: Future<Output = Ended> + Send + 'static,
{
    let Some(place) = observed.place.clone() else {
        return;
    };
    let poke = poker(context, &observed.workspace);
    let spec = observed.workspace.spec.clone();
    let timeout = parse_duration(&spec.timeout).unwrap_or(Duration::from_secs(3600));
    let workspace = ObjectRef::from_obj(&observed.workspace);
    let ticket = Ticket {
        workspace,
        uid: place.uid.clone(),
        run,
        cause,
        inputs: inputs.clone(),
    };
    context.registry.start(ticket, poke, |tracked| {
        observed.going = Some(tracked.clone());
        work(Job {
            context: context.clone(),
            place,
            spec,
            tracked,
            inputs,
            timeout,
        })
    });
}

fn poker(context: &Arc<Context>, workspace: &Workspace) -> Arc<dyn Fn() + Send + Sync> {
    let (pokes, reference) = (context.pokes.clone(), ObjectRef::from_obj(workspace));
    Arc::new(move || {
        // Nobody listens once the controller has ended.
        let _ = pokes.unbounded_send(reference.clone());
    })
}

async fn forget_state(context: &Arc<Context>, place: &Place, workspace: &Workspace) -> Result<bool, Diags> {
    let run = Run {
        stage: Stage::Plan,
        kind: ashlar_api::PlanKind::Destroy,
    };
    let job = Job {
        context: context.clone(),
        place: place.clone(),
        spec: workspace.spec.clone(),
        tracked: Arc::new(Tracked::new(run, Cause::Requested, Arc::new(|| {}))),
        inputs: String::new(),
        timeout: Duration::from_secs(60),
    };
    // It is short, and must not wait for plans.
    apply_run::forget(&job, &Arc::new(Semaphore::new(1))).await
}

/// Written only while the object is as it was seen, so that no finalizer of others is lost.
async fn set_finalizers(
    context: &Context,
    workspace: &Workspace,
    finalizers: Vec<String>,
) -> Result<(), ActError> {
    let api: Api<Workspace> =
        Api::namespaced(context.client.clone(), &workspace.namespace().unwrap_or_default());
    let patch = json!({
        "metadata": { "resourceVersion": workspace.resource_version(), "finalizers": finalizers },
    });
    match api
        .patch(
            &workspace.name_any(),
            &PatchParams::default(),
            &Patch::Merge(patch),
        )
        .await
    {
        Ok(_) => Ok(()),
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
        Err(error) => Err(ActError::Finalizer(Box::new(error))),
    }
}
