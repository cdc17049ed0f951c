//! What the operator reports of a workspace. Small, and without any sensitive value: lists are cut, texts are short.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What the operator saw and did last.
#[derive(KubeSchema, Clone, Debug, Deserialize, Serialize, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct WorkspaceStatus {
    /// The generation of the spec that this status tells of; -1 before the first look.
    #[serde(default = "unobserved")]
    pub observed_generation: i64,
    /// Ready, Reconciling, Stalled, SourceReady, Planned, AwaitingApproval, Applied.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["type".into()]))]
    pub conditions: Vec<Condition>,
    /// What was fetched, if the source is one that is fetched.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<SourceStatus>,
    /// What the plan was made from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inputs: Option<InputsStatus>,
    /// The newest plan.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plan: Option<PlanStatus>,
    /// The gate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approval: Option<ApprovalStatus>,
    /// The run that goes on, or the last one if it left something open.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<RunStatus>,
    /// The state as last seen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<StateStatus>,
    /// Who holds the state's lock, while it is held.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lock: Option<LockStatus>,
    /// The root module's outputs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 200))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["name".into()]))]
    pub outputs: Vec<OutputStatus>,
    /// The digest of the plan that was applied last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_applied_plan: Option<String>,
    /// Digests of the plans whose apply began last, the newest first: their approvals are spent, whatever becomes of the
    /// state.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 10))]
    pub spent_plans: Vec<String>,
    /// The list of spec.plan.invoke whose plan was applied last: it is not invoked again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64))]
    pub invoked: Vec<String>,
    /// Failures in a row.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub failures: i32,
    /// What went wrong in the last run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_failure: Option<FailureStatus>,
    /// When the next run is due without any change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_run_at: Option<Time>,
    /// The value of the annotation by which a plan was asked for last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_handled_reconcile_at: Option<String>,
    /// The value of the annotation ashlar.dev/settled that was obeyed last; only another one is obeyed again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_handled_settled: Option<String>,
}

impl Default for WorkspaceStatus {
    fn default() -> Self {
        Self {
            observed_generation: unobserved(),
            conditions: Vec::new(),
            source: None,
            inputs: None,
            plan: None,
            approval: None,
            run: None,
            state: None,
            lock: None,
            outputs: Vec::new(),
            last_applied_plan: None,
            spent_plans: Vec::new(),
            invoked: Vec::new(),
            failures: 0,
            last_failure: None,
            next_run_at: None,
            last_handled_reconcile_at: None,
            last_handled_settled: None,
        }
    }
}

fn unobserved() -> i64 {
    -1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands out references")]
fn is_zero(count: &i32) -> bool {
    *count == 0
}

/// What is known of a source that is fetched.
#[derive(KubeSchema, Clone, Debug, Default, Deserialize, Serialize, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct SourceStatus {
    /// The revision that was fetched last: Flux's own, the commit, or the digest of the manifest. A failure leaves it and
    /// the following as they are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revision: Option<String>,
    /// The digest of what was fetched.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// A keyed hash of the files that plans can read: those below the folders of the root module and of the local modules it
    /// calls, and the packages of its other modules. Only another one is planned anew.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub config_digest: Option<String>,
    /// A keyed hash of all this and of the part of the spec by which it was fetched: it stands as long as that does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seal: Option<String>,
    /// The packages of called modules, pinned: as long as a call names the source and allows the version, it gets just this
    /// package.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 256))]
    pub modules: Vec<ModulePin>,
    /// What went wrong since.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<SourceFailure>,
    /// The value of the annotation by which it was asked to be looked at last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_handled_reconcile_at: Option<String>,
    /// The value that the annotation ashlar.dev/upgradeModules had when this was fetched; another one forgets the pins.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_handled_upgrade: Option<String>,
}

/// The exact package of a called module.
#[derive(KubeSchema, Clone, Debug, Default, Deserialize, Serialize, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct ModulePin {
    /// The source that calls name, without its folder.
    pub source: String,
    /// The version that was chosen; none for what has no versions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The commit, the digest of a manifest or of an archive.
    pub revision: String,
    /// The digest of its files.
    pub digest: String,
    /// The folder in it that the registry named.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub package_folder: Option<String>,
}

/// Why a source could not be fetched.
#[derive(KubeSchema, Clone, Debug, Deserialize, Serialize, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct SourceFailure {
    /// What to know and do.
    pub message: String,
    /// The revision that is known to be there and could not be had, if so: until it can, nothing is planned or applied.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revision: Option<String>,
    /// A keyed hash of what was tried, credentials included: something else is tried at once.
    pub attempt: String,
    /// Failures in a row.
    pub count: i32,
    /// When it is tried again.
    pub retry_at: Time,
}

/// What plans are made from, without values.
#[derive(KubeSchema, Clone, Debug, Default, Deserialize, Serialize, PartialEq)]
pub struct InputsStatus {
    /// A keyed hash over files, values, environment and plan settings. It tells nothing without the operator's key.
    pub digest: String,
    /// The objects that were read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 100))]
    pub observed: Vec<ObservedInput>,
}

/// One object that was read.
#[derive(KubeSchema, Clone, Debug, Deserialize, Serialize, PartialEq)]
pub struct ObservedInput {
    /// Secret or ConfigMap.
    pub kind: String,
    /// Its name.
    pub name: String,
    /// A keyed hash of its content.
    pub hash: String,
}

/// A plan as people may see it.
#[derive(KubeSchema, Clone, Debug, Deserialize, Serialize, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct PlanStatus {
    /// Names this plan and no other: spec.approval.approvedPlan takes it.
    pub digest: String,
    /// What it is for.
    pub kind: PlanKind,
    /// Is it to be done, or is nothing to do, or is it done?
    pub standing: Standing,
    /// When it was made.
    pub created_at: Time,
    /// Counts.
    pub summary: PlanSummary,
    /// The first changes; no values.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 50))]
    pub changes: Vec<ChangeStatus>,
    /// Are there more changes than are shown?
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub truncated: bool,
    /// What the plan warns of.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 10))]
    pub warnings: Vec<String>,
    /// What it stands on. If any of this is another now, it is superseded.
    pub basis: Basis,
    /// Is it limited by spec.plan.targets or exclude, so that it may leave out what the module asks for?
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub partial: bool,
    /// The actions of spec.plan.invoke that it invokes; then it changes no object.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64))]
    pub invokes: Vec<String>,
}

/// What a plan is for.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, PartialEq, Eq, JsonSchema)]
pub enum PlanKind {
    /// To make the objects what the module says.
    Apply,
    /// To destroy them.
    Destroy,
    /// To take over what changed outside.
    Refresh,
}

/// Where a plan stands.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, PartialEq, Eq, JsonSchema)]
pub enum Standing {
    /// Its changes are not made yet.
    Pending,
    /// It changes nothing.
    Empty,
    /// Its changes were made.
    Applied,
}

/// What a plan stands on.
#[derive(KubeSchema, Clone, Debug, Default, Deserialize, Serialize, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct Basis {
    /// The inputs' digest.
    pub inputs: String,
    /// The state's lineage; empty before the first apply.
    pub lineage: String,
    /// The state's serial.
    pub serial: i64,
    /// The plan whose apply began last: its approval is spent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub begun_plan: Option<String>,
}

/// Counts of a plan. A replacement is counted as such alone.
#[derive(KubeSchema, Clone, Debug, Default, Deserialize, Serialize, PartialEq)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "each is the count of what it names")]
pub struct PlanSummary {
    pub creates: i64,
    pub updates: i64,
    pub deletes: i64,
    pub replaces: i64,
    pub moves: i64,
    #[serde(default)]
    pub imports: i64,
    #[serde(default)]
    pub forgets: i64,
    /// Actions to be invoked.
    #[serde(default)]
    pub actions: i64,
    pub outputs: i64,
    pub drift: i64,
    /// In short, with replacements as creations and deletions: +1 ~0 -0; then what is imported and what is forgotten, if any.
    pub text: String,
}

/// One change.
#[derive(KubeSchema, Clone, Debug, Deserialize, Serialize, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct ChangeStatus {
    /// The instance.
    pub address: String,
    /// create, read, update, delete, replace, move, import or forget.
    pub action: String,
    /// Why, in the words of Terraform's JSON plans.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Where it was before it moved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub moved_from: Option<String>,
    /// Is an object taken in that was not managed before?
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub imports: bool,
    /// Attributes that change.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 20))]
    pub paths: Vec<String>,
}

/// The gate.
#[derive(KubeSchema, Clone, Debug, Deserialize, Serialize, PartialEq)]
pub struct ApprovalStatus {
    /// Where the newest plan stands at the gate.
    pub state: ApprovalState,
    /// A digest that was given and refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
}

/// Where a plan stands at the gate.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, PartialEq, Eq, JsonSchema)]
pub enum ApprovalState {
    /// Nothing to approve.
    NotRequired,
    /// Waits for a person.
    Pending,
    /// Passed.
    Approved,
    /// A digest was given that is not this plan's.
    Refused,
    /// The approved plan no longer stands; it is planned anew.
    Superseded,
}

/// A run.
#[derive(KubeSchema, Clone, Debug, Deserialize, Serialize, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct RunStatus {
    /// What it does.
    pub phase: RunPhase,
    /// Since when.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Time>,
    /// How far it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub progress: Option<ProgressStatus>,
    /// Changes that were begun by a run which ended before their outcome was known. A refresh settles those whose object
    /// is in the state. For others a person looks whether the object exists, imports or removes it (or what an action has
    /// done), and names the address in the annotation ashlar.dev/settled.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 50))]
    pub uncertain: Vec<UncertainChange>,
}

/// What a run does.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, PartialEq, Eq, JsonSchema)]
pub enum RunPhase {
    /// Fetches the source.
    Fetching,
    /// Plans.
    Planning,
    /// Applies.
    Applying,
    /// Starts nothing more, and waits for what runs.
    Stopping,
    /// Ended.
    Ended,
}

/// How far a run is.
#[derive(KubeSchema, Clone, Debug, Default, Deserialize, Serialize, PartialEq)]
pub struct ProgressStatus {
    /// Objects that are done.
    pub done: i64,
    /// Objects in all.
    pub total: i64,
    /// Objects at work.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 10))]
    pub current: Vec<String>,
}

/// A change whose outcome is not known.
#[derive(KubeSchema, Clone, Debug, Deserialize, Serialize, PartialEq)]
pub struct UncertainChange {
    /// The instance; or the action, with the instance whose change triggered it.
    pub address: String,
    /// create, update, delete or invoke.
    pub action: String,
}

/// The state.
#[derive(KubeSchema, Clone, Debug, Default, Deserialize, Serialize, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct StateStatus {
    /// Name of the Secret.
    pub secret: String,
    /// Identifies its history.
    pub lineage: String,
    /// Rises with each change.
    pub serial: i64,
    /// Objects in it.
    pub resource_count: i64,
    /// Its size as a state file.
    pub bytes: i64,
}

/// Who holds the lock.
#[derive(KubeSchema, Clone, Debug, Default, Deserialize, Serialize, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct LockStatus {
    /// Identifies this holding.
    pub id: String,
    /// The replica, or the user of a command line.
    pub holder: String,
    /// What it does.
    pub operation: String,
    /// Since when.
    pub acquired_at: String,
}

/// One output.
#[derive(KubeSchema, Clone, Debug, Deserialize, Serialize, PartialEq)]
pub struct OutputStatus {
    /// Its name.
    pub name: String,
    /// Its type, as the Terraform language writes it.
    #[serde(rename = "type")]
    pub ty: String,
    /// Is it sensitive? Then its value is shown nowhere but in the outputs Secret.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub sensitive: bool,
    /// Its value as JSON, if it is not sensitive and at most 1 kB long.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
}

/// A run that failed.
#[derive(KubeSchema, Clone, Debug, Deserialize, Serialize, PartialEq)]
pub struct FailureStatus {
    /// InvalidConfiguration (nothing is tried until an input changes), or PlanFailed, ApplyFailed, Interrupted.
    pub reason: String,
    /// What to know and do.
    pub message: String,
    /// The digest of the inputs that it failed with.
    pub inputs: String,
}
