//! The `Workspace`: a module with its values, and how its plans are gated.
#![expect(
    clippy::duplicated_attributes,
    reason = "each printer column names its own type and path"
)]

use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    interval::PATTERN,
    source::{ModuleCredential, Source},
    status::WorkspaceStatus,
    variable::{EnvVariable, Variable, VariablesFrom},
};

/// What is to exist, and how changes are gated.
#[derive(CustomResource, KubeSchema, Clone, Debug, Default, Deserialize, Serialize, PartialEq)]
#[kube(
    group = "ashlar.dev",
    version = "v1alpha1",
    kind = "Workspace",
    namespaced,
    shortname = "asw",
    category = "ashlar",
    category = "iac",
    status = "WorkspaceStatus",
    derive = "PartialEq",
    doc = "A root module of the Terraform language, planned and applied in this namespace.",
    printcolumn(
        name = "Ready",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"Ready\")].status"
    ),
    printcolumn(
        name = "Plan",
        type_ = "string",
        json_path = ".status.plan.summary.text",
        description = "Creations, updates, deletions"
    ),
    printcolumn(name = "Approval", type_ = "string", json_path = ".status.approval.state"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    printcolumn(
        name = "Message",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"Ready\")].message",
        priority = 1
    )
)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new("(has(self.state) && has(self.state.secretSuffix) ? self.state.secretSuffix : '') == (has(oldSelf.state) && has(oldSelf.state.secretSuffix) ? oldSelf.state.secretSuffix : '')").message("state.secretSuffix cannot be changed: the state would be lost sight of"))]
pub struct WorkspaceSpec {
    /// Where the root module's files come from.
    pub source: Source,
    /// What opens the hosts that called modules come from.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 32))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["host".into()]))]
    pub module_credentials: Vec<ModuleCredential>,
    /// The value of terraform.workspace, and part of the state's name. Cannot be changed.
    #[serde(default = "default_workspace")]
    #[schemars(
        length(min = 1, max = 63),
        regex(pattern = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$")
    )]
    #[x_kube(validation = Rule::new("self == oldSelf").message("terraformWorkspace cannot be changed: the state would be lost sight of"))]
    pub terraform_workspace: String,
    /// Whose language the module is in, where the two differ.
    #[serde(default)]
    pub dialect: Dialect,
    /// Values for the root module's variables. They win over variablesFrom.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 256))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["name".into()]))]
    pub variables: Vec<Variable>,
    /// Objects with values for many variables; later ones win.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 32))]
    #[x_kube(merge_strategy = ListMerge::Atomic)]
    pub variables_from: Vec<VariablesFrom>,
    /// The environment of the provider processes; they see nothing of the operator's own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 128))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["name".into()]))]
    pub env: Vec<EnvVariable>,
    /// How providers are reached.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub providers: Option<ProviderSettings>,
    /// What is done with the module.
    #[serde(default)]
    pub mode: Mode,
    /// Who lets a plan pass.
    #[serde(default)]
    pub approval: Approval,
    /// How often the real objects are compared with the module. At least 30s.
    #[serde(default = "default_interval")]
    #[schemars(length(max = 32), regex(pattern = PATTERN))]
    #[x_kube(validation = Rule::new("duration(self) >= duration('30s') && duration(self) <= duration('8760h')").message("interval must be from 30s to 8760h"))]
    pub interval: String,
    /// How long to wait after a failure; doubled for each further one, up to an hour. At least 1s.
    #[serde(default = "default_retry_interval")]
    #[schemars(length(max = 32), regex(pattern = PATTERN))]
    #[x_kube(validation = Rule::new("duration(self) >= duration('1s') && duration(self) <= duration('8760h')").message("retryInterval must be from 1s to 8760h"))]
    pub retry_interval: String,
    /// How long one run may last, at least 10s. Then nothing more is started, and what runs is finished and kept; a provider
    /// that has not ended five minutes later is killed, and what it did is uncertain.
    #[serde(default = "default_timeout")]
    #[schemars(length(max = 32), regex(pattern = PATTERN))]
    #[x_kube(validation = Rule::new("duration(self) >= duration('10s') && duration(self) <= duration('8760h')").message("timeout must be from 10s to 8760h"))]
    pub timeout: String,
    /// Start nothing. A running apply is not interrupted.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub suspend: bool,
    /// What becomes of the objects when the Workspace is deleted.
    #[serde(default)]
    pub deletion_policy: DeletionPolicy,
    /// Where the root module's outputs are written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outputs: Option<Outputs>,
    /// How state is kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<StateSettings>,
    /// How plans are made.
    #[serde(default)]
    pub plan: PlanSettings,
}

fn default_workspace() -> String {
    "default".to_owned()
}

fn default_interval() -> String {
    "10m".to_owned()
}

fn default_retry_interval() -> String {
    "1m".to_owned()
}

fn default_timeout() -> String {
    "1h".to_owned()
}

/// Whose language a module is in.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize, PartialEq, Eq, JsonSchema)]
pub enum Dialect {
    /// As Terraform 1.15 has it.
    #[default]
    Terraform,
    /// As OpenTofu 1.12 has it.
    OpenTofu,
}

/// How providers are reached.
#[derive(KubeSchema, Clone, Debug, Default, Deserialize, Serialize, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct ProviderSettings {
    /// Providers that are reached as sidecars, by their addresses, as hashicorp/random: of those that whoever runs the operator
    /// offers to this namespace. All that are offered, if it is left out; an empty list takes none. All others are started by the
    /// operator.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(
        length(max = 64),
        inner(length(min = 1, max = 255), regex(pattern = r"^[^/\s]+(/[^/\s]+){0,2}$"))
    )]
    #[x_kube(merge_strategy = ListMerge::Set)]
    pub sidecars: Option<Vec<String>>,
}

/// What is done with the module.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize, PartialEq, Eq, JsonSchema)]
pub enum Mode {
    /// Plan, and apply what passes the gate.
    #[default]
    Manage,
    /// Plan, never apply.
    PlanOnly,
    /// Only take over into the state, through the same gate, what changed outside; change no object.
    Observe,
    /// Destroy all objects, through the same gate, and keep the Workspace.
    Destroy,
}

/// Who lets a plan pass.
#[derive(KubeSchema, Clone, Debug, Default, Deserialize, Serialize, PartialEq)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new("self.policy != 'Auto' || !has(self.approvedPlan)").message("approvedPlan has no meaning under policy Auto"))]
pub struct Approval {
    /// Manual waits for approvedPlan; Auto applies every plan.
    #[serde(default)]
    pub policy: ApprovalPolicy,
    /// The whole digest of the plan to apply, as status.plan.digest tells it. It lets exactly this plan pass, once.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 71), regex(pattern = r"^sha256:[0-9a-f]{64}$"))]
    pub approved_plan: Option<String>,
}

/// Who lets a plan pass.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize, PartialEq, Eq, JsonSchema)]
pub enum ApprovalPolicy {
    /// A person, by the plan's digest.
    #[default]
    Manual,
    /// Nobody is asked.
    Auto,
}

/// What becomes of the objects when the Workspace is deleted.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize, PartialEq, Eq, JsonSchema)]
pub enum DeletionPolicy {
    /// They stay, and so does the state.
    #[default]
    Retain,
    /// They are destroyed first, by a plan that passes the same gate.
    Destroy,
}

/// Where outputs are written.
#[derive(KubeSchema, Clone, Debug, Default, Deserialize, Serialize, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct Outputs {
    /// A Secret of this namespace that the operator writes: a key for each output; text as it is, all else as JSON.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret_ref: Option<SecretRef>,
}

/// Names a Secret in the workspace's namespace.
#[derive(KubeSchema, Clone, Debug, Default, Deserialize, Serialize, PartialEq)]
pub struct SecretRef {
    /// Name of the Secret.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
}

/// How state is kept.
#[derive(KubeSchema, Clone, Debug, Default, Deserialize, Serialize, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct StateSettings {
    /// The last part of the state Secret's name, tfstate-WORKSPACE-SUFFIX, as in Terraform's kubernetes backend; give the
    /// suffix of an existing state to adopt it. Derived from the object's name by default. Cannot be changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(
        length(min = 1, max = 63),
        regex(pattern = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$")
    )]
    pub secret_suffix: Option<String>,
}

/// How plans are made.
#[derive(KubeSchema, Clone, Debug, Deserialize, Serialize, PartialEq)]
#[x_kube(validation = Rule::new("(has(self.targets) ? size(self.targets) : 0) == 0 || (has(self.exclude) ? size(self.exclude) : 0) == 0").message("only one of targets and exclude can be set"))]
pub struct PlanSettings {
    /// Provider calls at once.
    #[serde(default = "default_parallelism")]
    #[schemars(range(min = 1, max = 256))]
    pub parallelism: i32,
    /// Read the real objects before planning. They are always read where mode is Observe.
    #[serde(default = "default_refresh")]
    pub refresh: bool,
    /// Addresses of instances to replace even without need, where mode is Manage or PlanOnly.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64), inner(length(min = 1, max = 1024)))]
    #[x_kube(merge_strategy = ListMerge::Set)]
    pub replace: Vec<String>,
    /// Addresses of modules, resources or instances: only these are planned, and what they need. For exceptional situations;
    /// the deletion of the Workspace is not limited by it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64), inner(length(min = 1, max = 1024)))]
    #[x_kube(merge_strategy = ListMerge::Set)]
    pub targets: Vec<String>,
    /// Addresses of modules, resources or instances that are left out of plans, with what needs them. As targets.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64), inner(length(min = 1, max = 1024)))]
    #[x_kube(merge_strategy = ListMerge::Set)]
    pub exclude: Vec<String>,
    /// Addresses of actions to invoke, where mode is Manage or PlanOnly: a plan of its own invokes them and changes no object,
    /// once for each list; what else is to be done is planned after it. To invoke the same again, empty the list and set it
    /// anew.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64), inner(length(min = 1, max = 1024)))]
    #[x_kube(merge_strategy = ListMerge::Set)]
    pub invoke: Vec<String>,
}

impl Default for PlanSettings {
    fn default() -> Self {
        Self {
            parallelism: default_parallelism(),
            refresh: default_refresh(),
            replace: Vec::new(),
            targets: Vec::new(),
            exclude: Vec::new(),
            invoke: Vec::new(),
        }
    }
}

fn default_parallelism() -> i32 {
    10
}

fn default_refresh() -> bool {
    true
}
