//! The custom resource types, and nothing else: what a user writes in a `Workspace`, and what the operator reports.
//!
//! The kinds' definitions under `crds/` are printed from here. No behaviour stands here but the reading of durations:
//! defaults and rules are in the schema, so that the API server applies them for every client.

#![expect(
    unreachable_pub,
    reason = "the schema derive repeats each type inside a function"
)]

mod definition;
mod interval;
mod source;
mod status;
mod variable;
mod workspace;

pub use definition::crds;
pub use interval::parse_duration;
pub use source::{
    ConfigMapRef, FileText, GitRef, GitSource, Inline, ModuleCredential, OciRef, OciSource, Source,
    SourceKind, SourceRef,
};
pub use status::{
    ApprovalState, ApprovalStatus, Basis, ChangeStatus, FailureStatus, InputsStatus, LockStatus, ModulePin,
    ObservedInput, OutputStatus, PlanKind, PlanStatus, PlanSummary, ProgressStatus, RunPhase, RunStatus,
    SourceFailure, SourceStatus, Standing, StateStatus, UncertainChange, WorkspaceStatus,
};
pub use variable::{EnvVariable, Format, InputKind, KeyRef, ValueSource, Variable, VariablesFrom};
pub use workspace::{
    Approval, ApprovalPolicy, DeletionPolicy, Dialect, Mode, Outputs, PlanSettings, ProviderSettings,
    SecretRef, StateSettings, Workspace, WorkspaceSpec,
};

/// Keeps a workspace until its runs have ended and, under `deletionPolicy: Destroy`, until its objects are gone.
pub const FINALIZER: &str = "ashlar.dev/workspace";
/// A new value asks for a plan at once.
pub const REQUESTED_AT: &str = "ashlar.dev/requestedAt";
/// The same in Flux's protocol, so that its tools work.
pub const FLUX_REQUESTED_AT: &str = "reconcile.fluxcd.io/requestedAt";
/// A new value forgets the pins of called modules, so that the newest that calls allow are fetched.
pub const UPGRADE_MODULES: &str = "ashlar.dev/upgradeModules";
/// Addresses of uncertain changes, separated by commas, that a person has looked after; see `status.run.uncertain`.
pub const SETTLED: &str = "ashlar.dev/settled";
/// The lineage of a state that is gone, by which a person says that it is to be begun anew.
pub const STATE_LOST: &str = "ashlar.dev/state-lost";
