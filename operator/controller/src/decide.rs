//! What to do about a workspace: a pure, total function from what was seen to one decision.
//!
//! Second stage of a pass, between observe and act. It reads nothing, waits for nothing and knows no client; safe to ask
//! as often as anyone likes. The gate stands here: [`Decision::Apply`] is reached only through [`gate`].

use ashlar_api::{DeletionPolicy, Mode, PlanKind, Standing};
use jiff::Timestamp;

/// What was seen of one workspace.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Seen {
    /// The time of the pass.
    pub(crate) now: Timestamp,
    /// Is the object being deleted?
    pub(crate) deleting: bool,
    /// Does our finalizer keep it?
    pub(crate) finalizer: bool,
    pub(crate) deletion: DeletionPolicy,
    pub(crate) suspended: bool,
    pub(crate) mode: Mode,
    pub(crate) gate: Gate,
    /// A run of this process that goes on.
    pub(crate) run: Option<Run>,
    /// Is this process about to end?
    pub(crate) draining: bool,
    /// The inputs' digest, or why they cannot be had.
    pub(crate) inputs: Result<String, InputFault>,
    /// The source, if it is one that is fetched; `inputs` is of what was fetched last, as long as nothing newer is known.
    pub(crate) source: Option<SourceSeen>,
    pub(crate) state: StateSeen,
    /// Why state or inputs could not be read, if so: what stands there in their place says nothing then.
    pub(crate) obstacle: Option<String>,
    /// The newest plan, as the status keeps it.
    pub(crate) plan: Option<PlanSeen>,
    /// The plan applied last, from which a destroy can be planned when inputs are gone.
    pub(crate) last_applied: Option<String>,
    /// The last run's failure, if nothing has gone well since.
    pub(crate) failure: Option<Failure>,
    /// When the next plan is due without any change.
    pub(crate) due: Option<Timestamp>,
    /// Was a plan asked for?
    pub(crate) requested: bool,
    /// Who was found to hold the lock, and when to ask again.
    pub(crate) lock: Option<LockSeen>,
    /// Digests whose approvals are spent.
    pub(crate) spent: Vec<String>,
    /// Addresses that a person calls settled.
    pub(crate) settled: Vec<String>,
}

/// Who lets a plan pass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Gate {
    /// A person; the digest that was given, if any.
    Manual(Option<String>),
    /// Nobody is asked.
    Auto,
}

/// A run of this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Run {
    pub(crate) stage: Stage,
    pub(crate) kind: PlanKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    Fetch,
    Plan,
    Apply,
}

/// Why there are no inputs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum InputFault {
    /// An object or a key is absent; a watch tells when it appears.
    Missing(String),
    /// What is there cannot be used.
    Invalid(String),
    /// The source has nothing to fetch yet, or it cannot be fetched.
    Source { reason: &'static str, message: String },
}

impl InputFault {
    /// What is told of it.
    pub(crate) fn message(&self) -> &str {
        match self {
            InputFault::Missing(why) | InputFault::Invalid(why) => why,
            InputFault::Source { message, .. } => message,
        }
    }
}

/// A source that is fetched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SourceSeen {
    pub(crate) wants: Wants,
    /// When what failed is tried again.
    pub(crate) retry_at: Option<Timestamp>,
    /// Was it asked for since it was looked at last?
    pub(crate) requested: bool,
    /// Why nothing can be planned from it.
    pub(crate) fault: Option<InputFault>,
    /// Why it could not be asked for anything newer.
    pub(crate) failing: Option<String>,
}

/// What a source wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wants {
    /// Nothing: what was fetched is what there is, or there is nothing.
    Nothing,
    /// To be fetched.
    Fetching,
    /// To be asked then whether there is anything newer.
    Asking(Timestamp),
}

/// The state, as it is stored; the default is none at all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct StateSeen {
    pub(crate) lineage: String,
    pub(crate) serial: u64,
    /// Objects and outputs in it.
    pub(crate) things: usize,
    /// The plan whose apply began last.
    pub(crate) begun: Option<String>,
    /// Addresses of changes whose outcome nobody knows.
    pub(crate) uncertain: Vec<String>,
    /// Is there a state, and is it not this workspace that planned and applied to it?
    pub(crate) foreign: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PlanSeen {
    pub(crate) digest: String,
    pub(crate) kind: PlanKind,
    pub(crate) standing: Standing,
    pub(crate) inputs: String,
    pub(crate) lineage: String,
    pub(crate) serial: u64,
    pub(crate) begun: Option<String>,
    /// May it leave out something?
    pub(crate) partial: bool,
    /// Does it only invoke actions?
    pub(crate) invokes: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    /// The inputs it failed with.
    pub(crate) inputs: String,
    /// Only other inputs can help.
    pub(crate) invalid: bool,
    /// The files could not be had.
    pub(crate) unfetched: bool,
    /// When to try again.
    pub(crate) until: Timestamp,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LockSeen {
    /// Who it is, and what can be done, in sentences.
    pub(crate) told: String,
    /// Another replica, which reports for itself.
    pub(crate) replica: bool,
    pub(crate) until: Timestamp,
}

/// What to do: one thing per pass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Decision {
    /// The run goes on.
    Watch(Stage),
    /// The run is to start nothing more.
    Stop(Stage),
    /// Nothing, until something changes or the time comes.
    Rest(Rest),
    /// Nothing yet.
    Wait(Wait),
    /// Keep the object until we are done with it.
    AddFinalizer,
    /// Let the object go; with `forget`, remove what is left of a state without content.
    Release { forget: bool },
    /// Note that a person has looked after these uncertain changes.
    Settle(Vec<String>),
    /// Fetch the source, or ask it for anything newer.
    Fetch(PlanKind),
    /// Plan, from the inputs or from those of the plan applied last.
    Plan {
        kind: PlanKind,
        cause: Cause,
        from: Ground,
    },
    /// Apply the plan with this digest.
    Apply(String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rest {
    /// The object is gone for us.
    Gone,
    /// With `current`, what was applied is still what is wanted.
    Suspended {
        current: bool,
    },
    Draining,
    /// Objects are as the module says.
    InSync,
    /// Changes are shown and never made.
    PlanOnly,
    /// The state is as the objects are.
    Observed,
    /// All is destroyed.
    Destroyed,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Wait {
    /// For inputs.
    Inputs(InputFault),
    /// For state or inputs to become readable.
    Obstacle(String),
    /// For other inputs, or for the time to try again.
    Failure { invalid: bool, until: Timestamp },
    /// For whoever holds the lock.
    Lock(LockSeen),
    /// For a person to approve this plan; another digest was given.
    Approval { digest: String, refused: Option<String> },
    /// For a person to look after changes whose outcome nobody knows.
    Uncertain(Vec<String>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    NeverPlanned,
    ModeChanged,
    InputsChanged,
    StateChanged,
    Requested,
    Interval,
    /// Actions were invoked; what else is to be done is to be planned.
    Invoked,
}

/// What a plan is made from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ground {
    /// What the workspace says now.
    Inputs,
    /// What the plan applied last said.
    LastApplied,
}

impl Decision {
    /// Is it done by a run?
    pub(crate) fn starts_run(&self) -> bool {
        matches!(
            self,
            Decision::Fetch(_) | Decision::Plan { .. } | Decision::Apply(_) | Decision::Settle(_)
        )
    }
}

/// Decides.
pub(crate) fn decide(seen: &Seen) -> Decision {
    if let Some(run) = seen.run {
        // For an object that goes, nothing more should come into being.
        let unwanted = seen.deleting && run.kind != PlanKind::Destroy;
        return if unwanted || seen.draining {
            Decision::Stop(run.stage)
        } else {
            Decision::Watch(run.stage)
        };
    }
    if seen.deleting && !seen.finalizer {
        return Decision::Rest(Rest::Gone);
    }
    if seen.draining {
        return Decision::Rest(Rest::Draining);
    }
    let vacant = seen.obstacle.is_none() && seen.state.things == 0 && seen.state.uncertain.is_empty();
    // Whoever asks for the destruction of what is another workspace's does not get it.
    let retain = seen.deletion == DeletionPolicy::Retain || seen.state.foreign;
    if seen.deleting && (retain || vacant) {
        return match &seen.lock {
            // Another replica may be at it still, and write what we would take for nothing.
            Some(lock) if lock.replica && lock.until > seen.now => Decision::Wait(Wait::Lock(lock.clone())),
            _ => Decision::Release {
                forget: vacant && !seen.state.foreign,
            },
        };
    }
    let kind = match seen.mode {
        _ if seen.deleting => PlanKind::Destroy,
        Mode::Destroy => PlanKind::Destroy,
        Mode::Observe => PlanKind::Refresh,
        Mode::Manage | Mode::PlanOnly => PlanKind::Apply,
    };
    if seen.suspended {
        return Decision::Rest(Rest::Suspended {
            current: is_current(seen, kind),
        });
    }
    if !seen.finalizer {
        return Decision::AddFinalizer;
    }
    if let Some(obstacle) = &seen.obstacle {
        return Decision::Wait(Wait::Obstacle(obstacle.clone()));
    }
    let settled: Vec<String> = seen
        .state
        .uncertain
        .iter()
        .filter(|address| seen.settled.contains(address))
        .cloned()
        .collect();
    // A failure without inputs is one of settling.
    let settling = seen.failure.as_ref().filter(|failure| failure.inputs.is_empty());
    if let Some(failure) = settling.filter(|failure| failure.until > seen.now && !settled.is_empty()) {
        return Decision::Wait(Wait::Failure {
            invalid: false,
            until: failure.until,
        });
    }
    if !settled.is_empty() {
        return locked(seen, Decision::Settle(settled));
    }
    if seen.source.as_ref().is_some_and(|source| is_due(seen, source)) {
        return Decision::Fetch(kind);
    }
    let (inputs, from) = match (&seen.inputs, &seen.last_applied) {
        (Ok(_), Some(digest)) if is_out_of_reach(seen, digest) => (recorded(digest), Ground::LastApplied),
        (Ok(inputs), _) => (inputs.clone(), Ground::Inputs),
        // Inputs may be deleted before the workspace that needs them.
        (Err(_), Some(digest)) if seen.deleting => (recorded(digest), Ground::LastApplied),
        (Err(fault), _) => return Decision::Wait(Wait::Inputs(fault.clone())),
    };
    let cause = stale(seen, kind, &inputs);
    if let Some(failure) = seen.failure.as_ref().filter(|failure| failure.inputs == inputs)
        && failure.until > seen.now
        && !seen.requested
    {
        return Decision::Wait(Wait::Failure {
            invalid: failure.invalid,
            until: failure.until,
        });
    }
    let cause = cause.or_else(|| seen.requested.then_some(Cause::Requested));
    let plan = match (&seen.plan, cause) {
        (Some(plan), None) => plan,
        (_, cause) => {
            let cause = cause.unwrap_or(Cause::NeverPlanned);
            return locked(seen, Decision::Plan { kind, cause, from });
        }
    };
    let due = seen.due.is_some_and(|due| due <= seen.now);
    let again = |rest: Rest| {
        if due {
            locked(
                seen,
                Decision::Plan {
                    kind,
                    cause: Cause::Interval,
                    from,
                },
            )
        } else {
            Decision::Rest(rest)
        }
    };
    match plan.standing {
        // Nor does an object go that may have left something behind, of which the plan knows nothing.
        Standing::Empty | Standing::Applied if seen.deleting && !seen.state.uncertain.is_empty() => {
            Decision::Wait(Wait::Uncertain(seen.state.uncertain.clone()))
        }
        Standing::Empty | Standing::Applied if seen.deleting => Decision::Release { forget: vacant },
        Standing::Empty | Standing::Applied if plan.invokes => locked(
            seen,
            Decision::Plan {
                kind,
                cause: Cause::Invoked,
                from,
            },
        ),
        Standing::Empty | Standing::Applied if kind == PlanKind::Destroy => again(Rest::Destroyed),
        Standing::Empty | Standing::Applied if kind == PlanKind::Refresh => again(Rest::Observed),
        Standing::Empty | Standing::Applied => again(Rest::InSync),
        Standing::Pending if seen.mode == Mode::PlanOnly && !seen.deleting => again(Rest::PlanOnly),
        Standing::Pending => gate(seen, plan),
    }
}

/// Decides once more for a run that waited for its turn since it was begun. That it became time to ask the source meanwhile
/// takes nothing back: else whatever waits longer than from one time to the next would never come to its turn.
pub(crate) fn decide_at_its_turn(seen: &Seen) -> Decision {
    let mut seen = seen.clone();
    if let Some(source) = &mut seen.source
        && matches!(source.wants, Wants::Asking(_))
        && !source.requested
    {
        source.wants = Wants::Nothing;
    }
    decide(&seen)
}

/// Is the source to be fetched or asked now?
fn is_due(seen: &Seen, source: &SourceSeen) -> bool {
    // What goes is planned from what is there; where nothing is, from what was applied.
    if seen.deleting && (seen.inputs.is_ok() || seen.last_applied.is_some()) {
        return false;
    }
    let waits = source.retry_at.is_some_and(|retry_at| retry_at > seen.now);
    if waits && !source.requested {
        return false;
    }
    match source.wants {
        Wants::Nothing => false,
        Wants::Fetching => true,
        Wants::Asking(at) => source.requested || at <= seen.now,
    }
}

/// Does an object go whose files were fetched once and cannot be had any more? Then what was applied last says what to
/// destroy, and goes on to say so.
fn is_out_of_reach(seen: &Seen, last_applied: &str) -> bool {
    let failed = seen.failure.as_ref().is_some_and(|failure| failure.unfetched);
    let planned = seen
        .plan
        .as_ref()
        .is_some_and(|plan| plan.kind == PlanKind::Destroy && plan.inputs == recorded(last_applied));
    seen.deleting && seen.source.is_some() && (failed || planned)
}

/// What inputs are called that come from a plan.
pub(crate) fn recorded(digest: &str) -> String {
    format!("recorded:{digest}")
}

/// Was all that is wanted now applied?
fn is_current(seen: &Seen, kind: PlanKind) -> bool {
    let done = seen
        .plan
        .as_ref()
        .is_some_and(|plan| matches!(plan.standing, Standing::Empty | Standing::Applied));
    let inputs = seen.inputs.as_ref();
    done && seen.obstacle.is_none()
        && seen.failure.is_none()
        && inputs.is_ok_and(|inputs| stale(seen, kind, inputs).is_none())
}

/// Why the newest plan, if any, no longer stands.
fn stale(seen: &Seen, kind: PlanKind, inputs: &str) -> Option<Cause> {
    let Some(plan) = &seen.plan else {
        return Some(Cause::NeverPlanned);
    };
    let state = &seen.state;
    // An object that goes leaves nothing behind because a plan was limited.
    if plan.kind != kind || seen.deleting && plan.partial {
        Some(Cause::ModeChanged)
    } else if plan.inputs != inputs {
        Some(Cause::InputsChanged)
    } else if (&plan.lineage, plan.serial, &plan.begun) != (&state.lineage, state.serial, &state.begun) {
        Some(Cause::StateChanged)
    } else {
        None
    }
}

/// The gate: the digest given is the plan's, or nobody needs to be asked.
fn gate(seen: &Seen, plan: &PlanSeen) -> Decision {
    match &seen.gate {
        // Nobody has looked after what an earlier run left open, and going on could make it a second time.
        Gate::Auto if !seen.state.uncertain.is_empty() => {
            Decision::Wait(Wait::Uncertain(seen.state.uncertain.clone()))
        }
        Gate::Auto => locked(seen, Decision::Apply(plan.digest.clone())),
        Gate::Manual(Some(given)) if *given == plan.digest => {
            locked(seen, Decision::Apply(plan.digest.clone()))
        }
        Gate::Manual(given) => Decision::Wait(Wait::Approval {
            digest: plan.digest.clone(),
            // One that was obeyed stands in the object still; it is not a wrong one.
            refused: given.clone().filter(|given| !seen.spent.contains(given)),
        }),
    }
}

/// What needs the lock waits for whoever holds it.
fn locked(seen: &Seen, decision: Decision) -> Decision {
    match &seen.lock {
        Some(lock) if lock.until > seen.now => Decision::Wait(Wait::Lock(lock.clone())),
        _ => decision,
    }
}

#[cfg(test)]
pub(crate) mod tests;
