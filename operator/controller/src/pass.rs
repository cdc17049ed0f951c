//! One pass over one workspace: observe, decide, act, publish.

use std::{sync::Arc, time::Duration};

use ashlar_api::{InputsStatus, LockStatus, RunStatus, Workspace, WorkspaceStatus};
use kube::{
    Api, ResourceExt,
    api::PostParams,
    runtime::{controller::Action, events::EventType},
};

use crate::{
    act::{ActError, Done, act, next_look},
    conditions::{describe, seconds},
    context::Context,
    decide::{Cause, Decision, Rest, Stage, Wait, decide},
    ended::{Ended, Outcome, SOURCE_FAILED},
    message::cut,
    observe::{Observed, observe, times},
    outputs::reason,
};

/// Why a pass came to no end. It is repeated a little later.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PassError {
    #[error("cannot read the workspace: {}", reason(.0))]
    Get(Box<kube::Error>),
    #[error(transparent)]
    Act(#[from] ActError),
    #[error("cannot write the status: {}", reason(.0))]
    Publish(Box<kube::Error>),
}

/// Looks at a workspace and does the one thing that is to be done.
pub(crate) async fn pass(cached: Arc<Workspace>, context: Arc<Context>) -> Result<Action, PassError> {
    let (namespace, name) = (cached.namespace().unwrap_or_default(), cached.name_any());
    let api: Api<Workspace> = Api::namespaced(context.client.clone(), &namespace);
    // Not from the cache: what this process wrote a moment ago may not be there yet.
    let found = api
        .get_opt(&name)
        .await
        .map_err(|error| PassError::Get(Box::new(error)))?;
    let Some(workspace) = found else {
        context.forget(&namespace, &name, cached.uid().as_deref());
        return Ok(Action::await_change());
    };
    let times = times(&workspace);
    let mut observed = observe(&context, workspace).await;
    let mut decision = decide(&observed.seen);
    tracing::debug!(namespace, name, ?decision, "decided");
    let inputs = observed.inputs.as_ref().map(|inputs| InputsStatus {
        digest: inputs.digest.clone(),
        observed: inputs.observed.clone(),
    });
    if decision == Decision::Rest(Rest::Gone) {
        context.forget(&namespace, &name, observed.workspace.uid().as_deref());
        return Ok(Action::await_change());
    }
    // What the last run brought must stand in the status before the next run begins; and that nothing is left, before what
    // is left is removed: else its absence could be taken for a loss.
    let fresh = observed
        .workspace
        .status
        .as_ref()
        .and_then(|status| status.state.as_ref());
    let untold = matches!(decision, Decision::Release { .. }) && fresh != observed.status.state.as_ref();
    if (observed.ended.is_some() && decision.starts_run()) || untold {
        publish(&context, &api, &mut observed, &decision, inputs).await?;
        return Ok(Action::requeue(Duration::ZERO));
    }
    match act(&context, &mut observed, &decision).await? {
        Done::Gone => {
            context.forget(&namespace, &name, observed.workspace.uid().as_deref());
            return Ok(Action::await_change());
        }
        Done::Later => return Ok(Action::requeue(next_look(&observed.seen, &decision, times))),
        Done::Blocked(why) => decision = Decision::Wait(Wait::Obstacle(why)),
        Done::Yes => {}
    }
    publish(&context, &api, &mut observed, &decision, inputs).await?;
    Ok(Action::requeue(next_look(&observed.seen, &decision, times)))
}

/// Writes the status, if it differs and is this replica's to write.
async fn publish(
    context: &Context,
    api: &Api<Workspace>,
    observed: &mut Observed,
    decision: &Decision,
    inputs: Option<InputsStatus>,
) -> Result<(), PassError> {
    if leave_to_others(observed, decision) {
        // That someone else holds the lock is all it brought.
        if let Some(ended) = &observed.ended {
            context.registry.forget(&observed.uid(), ended);
        }
        return Ok(());
    }
    let cause = observed.going.as_ref().map(|going| going.cause);
    let lock = context.lock_of(&observed.uid()).map(|(_, lock)| lock);
    let generation = observed.workspace.metadata.generation.unwrap_or(0);
    let status = &mut observed.status;
    describe(status, &observed.seen, decision, cause, generation);
    // Whoever comes next looks at it anew.
    if *decision != Decision::Rest(Rest::Draining) {
        status.observed_generation = generation;
    }
    if inputs.is_some() {
        status.inputs = inputs;
    }
    status.lock = lock;
    show_run(context, observed);
    let old = observed.workspace.status.clone().unwrap_or_default();
    if old != observed.status {
        let mut wanted = observed.workspace.clone();
        wanted.status = Some(observed.status.clone());
        wanted.metadata.managed_fields = None;
        let written = api
            .replace_status(&wanted.name_any(), &PostParams::default(), &wanted)
            .await;
        written.map_err(|error| PassError::Publish(Box::new(error)))?;
    }
    announce(
        context,
        &observed.workspace,
        &old,
        &observed.status,
        decision,
        observed.ended.as_deref(),
    )
    .await;
    if let Some(ended) = &observed.ended {
        context.registry.forget(&observed.uid(), ended);
    }
    Ok(())
}

/// Another replica is at it, or may be: two that report on one workspace would overwrite each other for ever.
fn leave_to_others(observed: &Observed, decision: &Decision) -> bool {
    let held_by_replica = matches!(decision, Decision::Wait(Wait::Lock(lock)) if lock.replica);
    // Until the lock is held, it is not known who does the work. To fetch takes none: all replicas find the same.
    let not_yet = observed
        .going
        .as_ref()
        .is_some_and(|going| going.lock().is_none() && going.run.stage != Stage::Fetch);
    let ending = *decision == Decision::Rest(Rest::Draining) && observed.ended.is_none();
    held_by_replica || not_yet || ending
}

fn show_run(context: &Context, observed: &mut Observed) {
    let Some(going) = &observed.going else { return };
    let Some(id) = going.lock() else { return };
    // A look at the usual time is no news.
    if going.cause == Cause::Interval {
        return;
    }
    let uncertain = observed
        .workspace
        .status
        .as_ref()
        .and_then(|status| status.run.as_ref());
    observed.status.run = Some(RunStatus {
        phase: going.phase(),
        started_at: Some(seconds(going.started_at)),
        progress: Some(going.progress()),
        uncertain: uncertain.map(|run| run.uncertain.clone()).unwrap_or_default(),
    });
    observed.status.lock = Some(LockStatus {
        id,
        holder: context.presence.id().to_owned(),
        operation: match going.run.stage {
            Stage::Fetch | Stage::Plan => "OperationTypePlan".to_owned(),
            Stage::Apply => "OperationTypeApply".to_owned(),
        },
        acquired_at: seconds(going.started_at).0.to_string(),
    });
}

/// Events: one per change of standing, told after the status tells it.
async fn announce(
    context: &Context,
    workspace: &Workspace,
    old: &WorkspaceStatus,
    new: &WorkspaceStatus,
    decision: &Decision,
    ended: Option<&Ended>,
) {
    if let Some(ended) = ended {
        let told = match &ended.outcome {
            Outcome::Planned { plan, .. } if plan.standing == ashlar_api::Standing::Pending => {
                let same = old.plan.as_ref().is_some_and(|old| old.digest == plan.digest);
                (!same).then(|| {
                    (
                        EventType::Normal,
                        "Planned",
                        format!("Plan {}: {}.", plan.digest, plan.summary.text),
                    )
                })
            }
            Outcome::Applied { digest, counts, .. } => Some((
                EventType::Normal,
                "Applied",
                format!("Plan {digest} was applied: {counts}."),
            )),
            Outcome::Failed(fault) => Some((EventType::Warning, fault.reason, fault.message.clone())),
            Outcome::Superseded { digest, why } => Some((
                EventType::Warning,
                "PlanSuperseded",
                format!("Plan {digest} is not applied. {why}"),
            )),
            Outcome::Settled => Some((
                EventType::Normal,
                "Settled",
                "Uncertain changes were noted as settled.".to_owned(),
            )),
            Outcome::NotFetched { message, .. } => {
                let told = old.source.as_ref().and_then(|source| source.failure.as_ref());
                let same = told.is_some_and(|told| told.message == cut(message));
                (!same).then(|| (EventType::Warning, SOURCE_FAILED, message.clone()))
            }
            Outcome::Fetched { .. } | Outcome::Planned { .. } | Outcome::Busy { .. } | Outcome::Overtaken => {
                None
            }
        };
        if let Some((kind, reason, note)) = told {
            context.tell(workspace, kind, reason, &note).await;
        }
    }
    if let (
        Decision::Wait(Wait::Approval {
            digest,
            refused: Some(refused),
        }),
        true,
    ) = (decision, old.approval != new.approval)
    {
        let note = format!("The digest {refused} is not that of the plan, {digest}: it was refused.");
        context
            .tell(workspace, EventType::Warning, "ApprovalRefused", &note)
            .await;
    }
}

/// How soon a pass that failed is repeated.
pub(crate) fn on_error(workspace: Arc<Workspace>, error: &PassError, _: Arc<Context>) -> Action {
    let conflict = matches!(error, PassError::Publish(error) if matches!(&**error, kube::Error::Api(status) if status.code == 409));
    if conflict {
        return Action::requeue(Duration::from_millis(500));
    }
    let (namespace, name) = (workspace.namespace().unwrap_or_default(), workspace.name_any());
    tracing::warn!(namespace, name, error = chain(error), "a pass failed");
    Action::requeue(Duration::from_secs(10))
}

fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(next) = cause {
        text = format!("{text}: {next}");
        cause = next.source();
    }
    text
}
