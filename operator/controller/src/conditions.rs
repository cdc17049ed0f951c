//! The conditions of a workspace, from what was seen and decided: pure, and the same for the same sight.
//!
//! What others compute from them (kstatus, Argo CD) is why they are so: Reconciling and Stalled stand only while they are
//! true, Reconciling never stands beside a true Ready, and nothing ticks.

use ashlar_api::{ApprovalState, ApprovalStatus, PlanKind, Standing, WorkspaceStatus};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};

use crate::{
    decide::{Cause, Decision, Gate, InputFault, Rest, Seen, Stage, Wait},
    ended::{INVALID, SOURCE_FAILED},
    message::cut,
};

const READY: &str = "Ready";
const RECONCILING: &str = "Reconciling";
const STALLED: &str = "Stalled";
const SOURCE: &str = "SourceReady";
const PLANNED: &str = "Planned";
const AWAITING: &str = "AwaitingApproval";
const APPLIED: &str = "Applied";
const ORDER: [&str; 7] = [READY, RECONCILING, STALLED, SOURCE, PLANNED, AWAITING, APPLIED];

/// Writes conditions and the gate's state for this decision. `cause` is why the run in progress was started.
pub(crate) fn describe(
    status: &mut WorkspaceStatus,
    seen: &Seen,
    decision: &Decision,
    cause: Option<Cause>,
    generation: i64,
) {
    let before = status.conditions.clone();
    let mut writer = Writer {
        conditions: before.clone(),
        before: before.clone(),
        generation,
        now: seen.now,
    };
    let plan = status.plan.as_ref();
    let changes = plan.map(|plan| plan.summary.text.clone()).unwrap_or_default();
    // A look at the usual time is no news, until it finds something.
    let told = before
        .iter()
        .find(|condition| condition.type_ == READY)
        .and_then(|ready| ready.observed_generation);
    let quiet = |cause: Option<Cause>| cause == Some(Cause::Interval) && told == Some(generation);
    match decision {
        // That nothing newer is there is no news; nor is a look at the usual time.
        Decision::Fetch(_) if seen.inputs.is_ok() && told == Some(generation) => {}
        Decision::Watch(Stage::Fetch) | Decision::Stop(Stage::Fetch) if told == Some(generation) => {}
        Decision::Fetch(_) | Decision::Watch(Stage::Fetch) => {
            writer.progressing("Fetching", "The source is being fetched.");
        }
        Decision::Plan { cause, .. } if quiet(Some(*cause)) => {}
        Decision::Watch(Stage::Plan) | Decision::Stop(Stage::Plan) if quiet(cause) => {}
        Decision::Plan { .. } | Decision::Watch(Stage::Plan) => {
            writer.clear(AWAITING);
            writer.progressing("Planning", "A plan is being made.");
        }
        Decision::Apply(_) | Decision::Watch(Stage::Apply) => {
            writer.clear(AWAITING);
            writer.progressing("Applying", &format!("The plan ({changes}) is being applied."));
        }
        Decision::Stop(_) => writer.progressing(
            "Stopping",
            "The run starts nothing more, and waits for what goes on.",
        ),
        Decision::AddFinalizer | Decision::Settle(_) | Decision::Release { .. } => {
            writer.progressing("Progressing", "The workspace is being taken care of.");
        }
        Decision::Rest(rest) => writer.rest(*rest, status, &changes),
        Decision::Wait(wait) => writer.wait(wait, status, &changes),
    }
    writer.source(status, seen, decision);
    writer.facts(status, decision);
    status.conditions = writer.conditions;
    // In one order, or writes would never end.
    let rank = |condition: &Condition| ORDER.iter().position(|kind| *kind == condition.type_);
    status.conditions.sort_by_key(rank);
    status.approval = approval(status, seen, decision, cause);
}

struct Writer {
    /// As they were, for the times of their last change.
    before: Vec<Condition>,
    conditions: Vec<Condition>,
    generation: i64,
    now: Timestamp,
}

impl Writer {
    fn set(&mut self, kind: &str, status: &str, reason: &str, message: &str) {
        let at = self
            .conditions
            .iter()
            .position(|condition| condition.type_ == kind);
        let same = self
            .before
            .iter()
            .find(|known| known.type_ == kind && known.status == status);
        let since = same.map(|known| known.last_transition_time.clone());
        let fresh = Condition {
            type_: kind.to_owned(),
            status: status.to_owned(),
            reason: reason.to_owned(),
            message: cut(message),
            observed_generation: Some(self.generation),
            last_transition_time: since.unwrap_or_else(|| seconds(self.now)),
        };
        match at {
            Some(at) => self.conditions[at] = fresh,
            None => self.conditions.push(fresh),
        }
    }

    fn clear(&mut self, kind: &str) {
        self.conditions.retain(|condition| condition.type_ != kind);
    }

    fn progressing(&mut self, reason: &str, message: &str) {
        self.clear(STALLED);
        self.set(READY, "Unknown", reason, message);
        self.set(RECONCILING, "True", "Progressing", message);
    }

    /// Something is wrong that may pass.
    fn retrying(&mut self, reason: &str, message: &str) {
        self.clear(STALLED);
        self.clear(AWAITING);
        self.set(READY, "False", reason, message);
        self.set(RECONCILING, "True", "ProgressingWithRetry", message);
    }

    fn stalled(&mut self, message: &str) {
        self.clear(RECONCILING);
        self.clear(AWAITING);
        self.set(READY, "False", INVALID, message);
        self.set(STALLED, "True", INVALID, message);
    }

    fn settled(&mut self, ready: &str, reason: &str, message: &str) {
        self.clear(RECONCILING);
        self.clear(STALLED);
        self.clear(AWAITING);
        self.set(READY, ready, reason, message);
    }

    fn rest(&mut self, rest: Rest, status: &WorkspaceStatus, changes: &str) {
        match rest {
            Rest::Gone | Rest::Draining => {}
            Rest::Suspended { current: true } => {
                self.settled(
                    "True",
                    "Suspended",
                    "The objects are as the module says; spec.suspend is set.",
                );
            }
            Rest::Suspended { current: false } => {
                let message = "Nothing is started while spec.suspend is set.";
                self.settled("Unknown", "Suspended", message);
            }
            Rest::InSync => {
                let applied = status
                    .plan
                    .as_ref()
                    .is_some_and(|plan| plan.standing == Standing::Applied);
                let limits = limits(status);
                if applied {
                    let message = format!("The plan ({changes}) was applied.{limits}");
                    self.settled("True", "Applied", &message);
                } else {
                    let message = format!("The objects are as the module says.{limits}");
                    self.settled("True", "NoChanges", &message);
                }
            }
            Rest::Destroyed if is_partial(status) => {
                let message = format!("The objects of the plan are destroyed.{}", limits(status));
                self.settled("True", "Destroyed", &message);
            }
            Rest::Destroyed => self.settled("True", "Destroyed", "All objects are destroyed."),
            Rest::Observed => {
                let message = format!(
                    "The state is as the objects are; whether those are as the module says is not looked at, since spec.mode \
                     is Observe.{}",
                    limits(status)
                );
                self.settled("True", "Observed", &message);
            }
            Rest::PlanOnly => {
                let limits = limits(status);
                let message =
                    format!("The plan ({changes}) is not applied, since spec.mode is PlanOnly.{limits}");
                self.settled("False", "PlanOnly", &message);
            }
        }
    }

    fn wait(&mut self, wait: &Wait, status: &WorkspaceStatus, changes: &str) {
        match wait {
            Wait::Inputs(InputFault::Missing(what)) => {
                self.retrying(
                    "InputMissing",
                    &format!("{what}. It is gone on with as soon as it is there."),
                );
            }
            Wait::Inputs(InputFault::Invalid(what)) => self.stalled(what),
            Wait::Inputs(InputFault::Source { reason, message }) => self.retrying(reason, message),
            Wait::Obstacle(what) => self.retrying("Unreadable", what),
            Wait::Failure { invalid, .. } => {
                let failure = status.last_failure.as_ref();
                let message = failure.map(|failure| failure.message.clone()).unwrap_or_default();
                if *invalid {
                    self.stalled(&message);
                } else {
                    self.retrying(failure.map_or("Failed", |failure| &failure.reason), &message);
                }
            }
            Wait::Lock(lock) => {
                self.retrying("LockHeld", &lock.told);
            }
            Wait::Approval { digest, refused } => {
                let what = match status.plan.as_ref().map(|plan| plan.kind) {
                    Some(PlanKind::Destroy) => "destroys",
                    Some(PlanKind::Refresh) => "takes over into the state",
                    Some(PlanKind::Apply) | None => "changes",
                };
                let mut message = format!(
                    "The plan {digest} {what} {changes}.{} To have it applied, set spec.approval.approvedPlan to its whole \
                     digest.",
                    limits(status)
                );
                let left = status
                    .run
                    .as_ref()
                    .map(|run| run.uncertain.as_slice())
                    .unwrap_or_default();
                if !left.is_empty() {
                    let list: Vec<&str> = left.iter().map(|change| change.address.as_str()).collect();
                    message = format!(
                        "CAREFUL: an earlier run ended before the outcome of these changes was known: {}. Look whether the objects \
                         exist before you approve, or they may be made twice. {message}",
                        list.join(", ")
                    );
                }
                if let Some(refused) = refused {
                    message =
                        format!("{message} The digest given, {refused}, is not this plan's: it was refused.");
                }
                self.settled("False", AWAITING, &message);
                let reason = if refused.is_some() {
                    "DigestRefused"
                } else {
                    "ManualApproval"
                };
                self.set(AWAITING, "True", reason, &message);
            }
            Wait::Uncertain(list) => {
                let message = format!(
                    "An earlier run ended before the outcome of these changes was known: {}. Look whether the objects exist; \
                     then name the addresses in the annotation ashlar.dev/settled.",
                    list.join(", ")
                );
                self.settled("False", "UncertainChanges", &message);
            }
        }
    }

    /// What is known of the source, whatever is decided; during a run it is not looked at.
    fn source(&mut self, status: &WorkspaceStatus, seen: &Seen, decision: &Decision) {
        let unseen = matches!(decision, Decision::Watch(_) | Decision::Stop(_)) || seen.obstacle.is_some();
        if unseen {
            return;
        }
        let Some(source) = &seen.source else {
            return self.clear(SOURCE);
        };
        match (&source.fault, &source.failing) {
            (Some(InputFault::Source { reason, message }), _) => self.set(SOURCE, "False", reason, message),
            (Some(InputFault::Invalid(what)), _) => self.set(SOURCE, "False", INVALID, what),
            (Some(InputFault::Missing(what)), _) => self.set(SOURCE, "False", "InputMissing", what),
            (None, Some(why)) => self.set(SOURCE, "False", SOURCE_FAILED, why),
            (None, None) => {
                let revision = status.source.as_ref().and_then(|known| known.revision.as_deref());
                let message = format!("Revision {} is fetched.", revision.unwrap_or_default());
                self.set(SOURCE, "True", "Succeeded", &message);
            }
        }
    }

    /// What stands whatever is decided.
    fn facts(&mut self, status: &WorkspaceStatus, decision: &Decision) {
        let failure = status.last_failure.as_ref();
        let failed = |reasons: &[&str]| failure.filter(|failure| reasons.contains(&failure.reason.as_str()));
        match (&status.plan, failed(&["PlanFailed", SOURCE_FAILED, INVALID])) {
            (_, Some(failure)) => self.set(PLANNED, "False", &failure.reason, &failure.message),
            (Some(plan), None) => match plan.standing {
                Standing::Pending => {
                    self.set(
                        PLANNED,
                        "True",
                        "ChangesPending",
                        &format!("The plan is {}.{}", plan.summary.text, limits(status)),
                    );
                }
                Standing::Empty => {
                    let found = match plan.kind {
                        PlanKind::Refresh => "Nothing changed outside.",
                        PlanKind::Apply | PlanKind::Destroy => "The objects are as the module says.",
                    };
                    let message = format!("{found}{}", limits(status));
                    self.set(PLANNED, "True", "NoChanges", &message);
                }
                Standing::Applied => {
                    let message = format!("The newest plan was applied.{}", limits(status));
                    self.set(PLANNED, "True", "NoChanges", &message);
                }
            },
            (None, None) => self.clear(PLANNED),
        }
        let pending = status
            .plan
            .as_ref()
            .is_some_and(|plan| plan.standing == Standing::Pending);
        let broken = self
            .conditions
            .iter()
            .any(|known| known.type_ == APPLIED && known.status == "False");
        match failed(&["ApplyFailed", "Interrupted"]) {
            Some(failure) => self.set(APPLIED, "False", &failure.reason, &failure.message),
            None if matches!(decision, Decision::Apply(_) | Decision::Watch(Stage::Apply)) => {}
            // A new plan does not mend what the last apply left.
            None if pending && broken => {}
            None => match &status.last_applied_plan {
                Some(digest) => self.set(APPLIED, "True", "Succeeded", &format!("Applied {digest}.")),
                None => self.clear(APPLIED),
            },
        }
    }
}

fn is_partial(status: &WorkspaceStatus) -> bool {
    status.plan.as_ref().is_some_and(|plan| plan.partial)
}

/// What must be said beside all that is told of a plan that is limited.
fn limits(status: &WorkspaceStatus) -> &'static str {
    let invokes = status.plan.as_ref().is_some_and(|plan| !plan.invokes.is_empty());
    if invokes {
        " It only invokes the actions of spec.plan.invoke; what else is to be done is planned after it."
    } else if is_partial(status) {
        " It is a partial plan: spec.plan.targets or spec.plan.exclude limits it, so other changes may be left."
    } else {
        ""
    }
}

/// Times as the API server keeps them, or each write would differ from what it left.
pub(crate) fn seconds(time: Timestamp) -> Time {
    Time(Timestamp::from_second(time.as_second()).unwrap_or(time))
}

fn approval(
    status: &WorkspaceStatus,
    seen: &Seen,
    decision: &Decision,
    going: Option<Cause>,
) -> Option<ApprovalStatus> {
    let state = |state| Some(ApprovalStatus { state, refused: None });
    match decision {
        Decision::Wait(Wait::Approval {
            refused: Some(refused),
            ..
        }) => Some(ApprovalStatus {
            state: ApprovalState::Refused,
            refused: Some(refused.clone()),
        }),
        Decision::Wait(Wait::Approval { refused: None, .. }) => state(ApprovalState::Pending),
        // Only where nobody is asked does an uncertain change stand in the way.
        Decision::Wait(Wait::Uncertain(_)) => state(ApprovalState::NotRequired),
        Decision::Apply(_) | Decision::Watch(Stage::Apply) | Decision::Stop(Stage::Apply) => {
            match seen.gate {
                Gate::Manual(_) => state(ApprovalState::Approved),
                Gate::Auto => state(ApprovalState::NotRequired),
            }
        }
        Decision::Rest(Rest::InSync | Rest::Destroyed | Rest::PlanOnly | Rest::Observed) => {
            state(ApprovalState::NotRequired)
        }
        Decision::Plan { .. } | Decision::Watch(Stage::Plan) => {
            let cause = match decision {
                Decision::Plan { cause, .. } => Some(*cause),
                _ => going,
            };
            let changed = matches!(
                cause,
                Some(
                    Cause::InputsChanged
                        | Cause::StateChanged
                        | Cause::ModeChanged
                        | Cause::Requested
                        | Cause::Invoked
                )
            );
            let pending = status
                .plan
                .as_ref()
                .is_some_and(|plan| plan.standing == Standing::Pending);
            if changed && pending {
                state(ApprovalState::Superseded)
            } else {
                status.approval.clone()
            }
        }
        Decision::Fetch(_)
        | Decision::Watch(Stage::Fetch)
        | Decision::Stop(Stage::Fetch | Stage::Plan)
        | Decision::Rest(Rest::Gone | Rest::Suspended { .. } | Rest::Draining)
        | Decision::Wait(Wait::Inputs(_) | Wait::Obstacle(_) | Wait::Failure { .. } | Wait::Lock(_))
        | Decision::AddFinalizer
        | Decision::Settle(_)
        | Decision::Release { .. } => status.approval.clone(),
    }
}

#[cfg(test)]
mod tests;
