//! What came of a run, as a pass takes it over: facts for the status, no values.

use ashlar_api::{Basis, OutputStatus, PlanStatus, SourceStatus, StateStatus, UncertainChange};

use crate::decide::Run;

/// A run that ended.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Ended {
    pub(crate) run: Run,
    /// The digest of the inputs it ran with.
    pub(crate) inputs: String,
    /// The state, if it was read.
    pub(crate) state: Option<StateStatus>,
    /// Changes whose outcome is still not known; `None` if the state was not read.
    pub(crate) uncertain: Option<Vec<UncertainChange>>,
    pub(crate) outcome: Outcome,
    pub(crate) answers: Answers,
}

/// The annotations that a run answers, as they were when it was started.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Answers {
    /// What asked for a plan.
    pub(crate) requested_at: Option<String>,
    /// What named settled changes.
    pub(crate) settled: Option<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Outcome {
    /// The source was fetched, or nothing newer is there: this is known of it now. `before`: the seal of what was known
    /// when it began.
    Fetched {
        source: Box<SourceStatus>,
        before: Option<String>,
    },
    /// The source could not be fetched.
    NotFetched {
        before: Option<String>,
        message: String,
        /// What is known to be there.
        revision: Option<String>,
        /// What was tried.
        attempt: String,
    },
    /// There is a plan. Outputs are told if it changes nothing.
    Planned {
        plan: Box<PlanStatus>,
        outputs: Option<Vec<OutputStatus>>,
    },
    /// The plan with this digest was applied; a plan made now would stand on this.
    Applied {
        digest: String,
        basis: Basis,
        outputs: Vec<OutputStatus>,
        counts: String,
    },
    /// It did not come to its end.
    Failed(Fault),
    /// Someone else holds the lock.
    Busy {
        /// Who it is, and what can be done, in sentences.
        told: String,
        holder: String,
        replica: bool,
        id: String,
        operation: String,
        since: String,
    },
    /// The plan with this digest no longer stands.
    Superseded { digest: String, why: String },
    /// Another replica was faster; what it wrote counts.
    Overtaken,
    /// Uncertain changes were noted as settled.
    Settled,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Fault {
    pub(crate) reason: &'static str,
    /// Is only a change of inputs of help?
    pub(crate) invalid: bool,
    /// Was it stopped from outside, so that nothing went wrong?
    pub(crate) interrupted: bool,
    pub(crate) message: String,
}

pub(crate) const INVALID: &str = "InvalidConfiguration";
/// The files of the source, or of a called module, could not be had.
pub(crate) const SOURCE_FAILED: &str = "SourceFailed";
/// The source has nothing to fetch yet.
pub(crate) const SOURCE_NOT_READY: &str = "SourceNotReady";
pub(crate) const PLAN_FAILED: &str = "PlanFailed";
pub(crate) const APPLY_FAILED: &str = "ApplyFailed";
pub(crate) const INTERRUPTED: &str = "Interrupted";
pub(crate) const SETTLE_FAILED: &str = "SettleFailed";
pub(crate) const LOCK_FAILED: &str = "LockFailed";

impl Ended {
    /// Of a run that broke off by a fault of ours.
    pub(crate) fn broken(run: Run, inputs: String) -> Self {
        let message =
            "The run broke off by a fault of Ashlar; see the operator's log. It is tried again.".to_owned();
        let fault = Fault {
            reason: INTERRUPTED,
            invalid: false,
            interrupted: false,
            message,
        };
        Self {
            run,
            inputs,
            state: None,
            uncertain: None,
            outcome: Outcome::Failed(fault),
            answers: Answers::default(),
        }
    }
}
