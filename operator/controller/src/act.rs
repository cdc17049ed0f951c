//! Third stage of a pass: does what was decided, or starts the run that does. Never waits for a run.

use std::{sync::Arc, time::Duration};

use ashlar_api::{FINALIZER, Workspace};
use kube::{
    Api, ResourceExt,
    api::{Patch, PatchParams},
    runtime::reflector::ObjectRef,
};
use serde_json::json;

use crate::{
    absorb::Times,
    apply_run,
    context::Context,
    decide::{Cause, Decision, Ground, Run, Seen, Stage, Wants, recorded},
    ended::Ended,
    fetch_run,
    job::Job,
    observe::{Observed, Place, times},
    plan_run,
    registry::{Ticket, Tracked},
    release::release,
};

/// What became of it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Done {
    /// The status may be written.
    Yes,
    /// The object is gone: nothing is to be written.
    Gone,
    /// Something else was written, which wakes.
    Later,
    /// It cannot be done yet, for this reason.
    Blocked(String),
}

/// Why it could not be done.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ActError {
    #[error("cannot change the finalizers")]
    Finalizer(#[source] Box<kube::Error>),
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
            // What cannot be read is left as it is.
            let readable = observed.seen.obstacle.is_none();
            if let Some(place) = observed.place.clone().filter(|_| readable)
                && let Err(why) = release(
                    &passing_job(context, place, &observed.workspace),
                    *forget,
                    &observed.seen.state,
                )
                .await
            {
                return Ok(Done::Blocked(why));
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
                // It makes nothing, so it goes on when the object is deleted.
                kind: ashlar_api::PlanKind::Destroy,
            };
            start(context, observed, run, Cause::Requested, String::new(), |job| {
                apply_run::settle(job, addresses)
            });
        }
        Decision::Fetch(kind) => {
            let Some(order) = observed.order.take() else {
                return Ok(Done::Later);
            };
            let run = Run {
                stage: Stage::Fetch,
                kind: *kind,
            };
            start(context, observed, run, Cause::Interval, String::new(), |job| {
                fetch_run::run(job, order)
            });
        }
        Decision::Plan { kind, cause, from } => {
            let run = Run {
                stage: Stage::Plan,
                kind: *kind,
            };
            let mut before = observed.workspace.clone();
            before.status.get_or_insert_default().invoked = observed.status.invoked.clone();
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
            let digest = digest.clone();
            start(context, observed, run, Cause::NeverPlanned, plan.inputs, |job| {
                apply_run::run(job, digest)
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
    let usual = match decision {
        Decision::Wait(Wait::Lock(lock)) => until(lock.until),
        Decision::Wait(Wait::Failure { until: time, .. }) => until(*time),
        Decision::Wait(Wait::Obstacle(_)) if seen.deleting => Duration::from_secs(5),
        Decision::Wait(Wait::Obstacle(_)) => retry,
        Decision::Rest(Rest::InSync | Rest::Destroyed | Rest::PlanOnly | Rest::Observed) => {
            seen.due.map_or(interval, until)
        }
        // A change wakes; this is for those that were missed.
        Decision::Wait(Wait::Inputs(_) | Wait::Approval { .. } | Wait::Uncertain(_))
        | Decision::Rest(Rest::Gone | Rest::Suspended { .. } | Rest::Draining) => interval,
        // The end of the run wakes.
        Decision::Watch(_)
        | Decision::Stop(_)
        | Decision::Plan { .. }
        | Decision::Fetch(_)
        | Decision::Apply(_)
        | Decision::Settle(_) => interval,
        Decision::AddFinalizer | Decision::Release { .. } => Duration::from_secs(5),
    };
    // A source is not known to have changed before it is asked.
    let source = seen.source.as_ref().filter(|_| !seen.suspended && !seen.deleting);
    let asked = source.and_then(|source| match (source.wants, source.retry_at) {
        (Wants::Nothing, _) => None,
        (Wants::Fetching, retry_at) => retry_at,
        (Wants::Asking(at), retry_at) => Some(retry_at.map_or(at, |retry_at| retry_at.max(at))),
    });
    asked.map_or(usual, |at| usual.min(until(at)))
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
    let timeout = times(&observed.workspace).timeout;
    let spent = observed.status.spent_plans.clone();
    let workspace = ObjectRef::from_obj(&observed.workspace);
    let ticket = Ticket {
        workspace,
        uid: place.uid.clone(),
        run,
        cause,
        inputs: inputs.clone(),
        answers: observed.answers.clone(),
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
            spent,
        })
    });
}

fn poker(context: &Arc<Context>, workspace: &Workspace) -> Arc<dyn Fn() + Send + Sync> {
    let (pokes, reference) = (context.pokes.clone(), ObjectRef::from_obj(workspace));
    Arc::new(move || pokes.send(reference.clone()))
}

/// A job that a pass does itself.
fn passing_job(context: &Arc<Context>, place: Place, workspace: &Workspace) -> Job {
    let run = Run {
        stage: Stage::Plan,
        kind: ashlar_api::PlanKind::Destroy,
    };
    Job {
        context: context.clone(),
        place,
        spec: workspace.spec.clone(),
        tracked: Arc::new(Tracked::new(run, Cause::Requested, Arc::new(|| {}))),
        inputs: String::new(),
        timeout: Duration::from_secs(60),
        spent: Vec::new(),
    }
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
