//! The plan: what will be done, why, and everything needed to do it.
//!
//! A plan leaves no choices to apply. It is immutable once made and self-contained: the configuration's text, the
//! variables, the refreshed prior state, the changes with their reasons, and the steps in their order.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use ashlar_addr::{
    ActionInstance, ConfigResource, DeposedKey, Module, Provider, ProviderConfig, ResourceInstance,
};
use ashlar_config::{ResourceConfig, Tree, TriggerEvent};
use ashlar_diag::Diag;
use ashlar_port::Invoked;
use ashlar_state::State;
use ashlar_value::{Dialect, Path, Value};

use crate::{function_results::FunctionResults, selection::Selection, steps::Step};

/// What a run is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mode {
    /// Make the objects be as configured.
    #[default]
    Normal,
    /// Remove all objects.
    Destroy,
    /// Take over what changed outside; change nothing.
    RefreshOnly,
}

/// Choices of the person who plans.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// What the run is for.
    pub mode: Mode,
    /// Read the objects before planning?
    pub refresh: bool,
    /// Instances to replace even without need.
    pub replace: Vec<ResourceInstance>,
    /// Provider calls at once.
    pub parallelism: usize,
    /// The value of `terraform.workspace`.
    pub workspace: String,
    /// Whose language the module is in.
    pub dialect: Dialect,
    /// The actions to invoke, and nothing else is done; one without a key stands for all its instances. Only with
    /// [`Mode::RefreshOnly`].
    pub invoke: Vec<ActionInstance>,
    /// What the run is limited to.
    pub selection: Selection,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            mode: Mode::Normal,
            refresh: true,
            replace: Vec::new(),
            parallelism: 10,
            workspace: "default".to_owned(),
            dialect: Dialect::default(),
            invoke: Vec::new(),
            selection: Selection::whole(),
        }
    }
}

/// What happens to one object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Action {
    /// Nothing.
    NoOp,
    /// Made anew.
    Create,
    /// A data source read during apply.
    Read,
    /// Changed in place.
    Update,
    /// Destroyed, then made anew.
    DeleteThenCreate,
    /// Made anew beside the old one, which is destroyed last.
    CreateThenDelete,
    /// Destroyed.
    Delete,
    /// Left as it is, and no longer managed.
    Forget,
    /// Made anew; the old one is left as it is, and no longer managed. (OpenTofu)
    ForgetThenCreate,
}

impl Action {
    /// Is one object replaced by another?
    pub fn is_replace(self) -> bool {
        matches!(
            self,
            Action::DeleteThenCreate | Action::CreateThenDelete | Action::ForgetThenCreate
        )
    }

    /// Is an object destroyed?
    pub fn destroys(self) -> bool {
        matches!(
            self,
            Action::Delete | Action::DeleteThenCreate | Action::CreateThenDelete
        )
    }

    /// As in Terraform's JSON plans.
    pub fn words(self) -> &'static [&'static str] {
        match self {
            Action::NoOp => &["no-op"],
            Action::Create => &["create"],
            Action::Read => &["read"],
            Action::Update => &["update"],
            Action::DeleteThenCreate => &["delete", "create"],
            Action::CreateThenDelete => &["create", "delete"],
            Action::Delete => &["delete"],
            Action::Forget => &["forget"],
            Action::ForgetThenCreate => &["forget", "create"],
        }
    }
}

/// Why an action was chosen, where the values alone do not tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reason {
    /// Its creation did not complete.
    ReplaceBecauseTainted,
    /// The provider cannot change these arguments in place.
    ReplaceBecauseCannotUpdate,
    /// A person asked for it.
    ReplaceByRequest,
    /// An object named in `replace_triggered_by` changes.
    ReplaceByTriggers,
    /// The resource block is gone.
    DeleteBecauseNoResourceConfig,
    /// The resource block is gone, also where it was said to have moved.
    DeleteBecauseNoMoveTarget,
    /// It is switched off. (OpenTofu)
    DeleteBecauseEnabledFalse,
    /// count or for_each was added or removed.
    DeleteBecauseWrongRepetition,
    /// The index is beyond the present count.
    DeleteBecauseCountIndex,
    /// The key is no longer in for_each.
    DeleteBecauseEachKey,
    /// Its module has no such instance any more.
    DeleteBecauseNoModule,
    /// The configuration is not known before apply.
    ReadBecauseConfigUnknown,
    /// Something it depends on changes.
    ReadBecauseDependencyPending,
    /// A check looks at it, after all else is done.
    ReadBecauseCheckNested,
    /// The configuration says that it is not destroyed. (OpenTofu)
    ForgotBecauseLifecycleDestroyInConfig,
    /// The configuration that it was made with said that it is not destroyed. (OpenTofu)
    ForgotBecauseLifecycleDestroyInState,
}

impl Reason {
    /// As in Terraform's JSON plans.
    pub fn as_str(self) -> &'static str {
        match self {
            Reason::ReplaceBecauseTainted => "replace_because_tainted",
            Reason::ReplaceBecauseCannotUpdate => "replace_because_cannot_update",
            Reason::ReplaceByRequest => "replace_by_request",
            Reason::ReplaceByTriggers => "replace_by_triggers",
            Reason::DeleteBecauseNoResourceConfig => "delete_because_no_resource_config",
            Reason::DeleteBecauseNoMoveTarget => "delete_because_no_move_target",
            Reason::DeleteBecauseEnabledFalse => "delete_because_enabled_false",
            Reason::DeleteBecauseWrongRepetition => "delete_because_wrong_repetition",
            Reason::DeleteBecauseCountIndex => "delete_because_count_index",
            Reason::DeleteBecauseEachKey => "delete_because_each_key",
            Reason::DeleteBecauseNoModule => "delete_because_no_module",
            Reason::ReadBecauseConfigUnknown => "read_because_config_unknown",
            Reason::ReadBecauseDependencyPending => "read_because_dependency_pending",
            Reason::ReadBecauseCheckNested => "read_because_check_nested",
            Reason::ForgotBecauseLifecycleDestroyInConfig => "forgot_because_lifecycle_destroy_in_config",
            Reason::ForgotBecauseLifecycleDestroyInState => "forgot_because_lifecycle_destroy_in_state",
        }
    }
}

/// Which object an instance takes in that was not managed before.
#[derive(Clone, Debug, PartialEq)]
pub enum Importing {
    /// By its id, a string; marked where it is not to be shown.
    Id(Value),
    /// By its identity.
    Identity(Value),
}

/// The change of one object. Values carry their marks.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// The instance.
    pub address: ResourceInstance,
    /// The deposed object meant, if not the current one. For [`Action::CreateThenDelete`] `None`.
    pub deposed: Option<DeposedKey>,
    /// Where it was before it moved.
    pub previous_address: Option<ResourceInstance>,
    /// The object that was found for it and is managed from now on.
    pub importing: Option<Importing>,
    /// The provider configuration it is managed with.
    pub provider: ProviderConfig,
    /// What happens.
    pub action: Action,
    /// Why.
    pub reason: Option<Reason>,
    /// The object before; null if there is none.
    pub before: Value,
    /// The object after, as far as known; null if there is none.
    pub after: Value,
    /// The arguments that force a replacement.
    pub replace_paths: Vec<Path>,
    /// To be handed to the provider at apply.
    pub private: Arc<[u8]>,
    /// Identity before.
    pub before_identity: Option<Value>,
    /// Identity after.
    pub after_identity: Option<Value>,
    /// The key under which the old object waits while its replacement is made ([`Action::CreateThenDelete`]).
    pub depose_as: Option<DeposedKey>,
    /// What it depends on, to be recorded in state; sorted.
    pub dependencies: Arc<[ConfigResource]>,
    /// To be recorded in state.
    pub create_before_destroy: bool,
}

impl Change {
    /// Does it change an object, or what is kept of one?
    pub fn is_effective(&self) -> bool {
        self.action != Action::NoOp || self.previous_address.is_some() || self.importing.is_some()
    }

    /// Is anything made, changed, read or decided of its instance while applying? Source: Terraform `transform_diff.go`.
    pub fn is_visited(&self, tree: &Tree) -> bool {
        match self.action {
            Action::Delete | Action::Forget => false,
            Action::NoOp => {
                let config = tree.resource(&self.address.resource.config());
                self.deposed.is_none() && config.is_some_and(ResourceConfig::has_conditions)
            }
            _ => true,
        }
    }
}

/// An action that is to be invoked.
#[derive(Clone, Debug, PartialEq)]
pub struct Invocation {
    /// The action.
    pub action: ActionInstance,
    /// What triggers it; `None` where a person asked for it.
    pub trigger: Option<Trigger>,
    /// The provider configuration it is invoked with.
    pub provider: ProviderConfig,
    /// What its `config` block holds, as far as known, marked; null where there is none. What is ephemeral in it is null.
    pub config: Value,
}

impl Invocation {
    /// As those who watch are told of it.
    pub fn invoked(&self) -> Invoked {
        Invoked {
            action: self.action.clone(),
            by: self.trigger.as_ref().map(|trigger| trigger.resource.clone()),
        }
    }

    /// Does it come before the change that triggers it?
    pub fn is_before(&self) -> bool {
        self.trigger
            .as_ref()
            .is_some_and(|trigger| trigger.event.is_before())
    }
}

/// Which entry of which `action_trigger` block triggers an action, and when.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Trigger {
    /// Whose change it is.
    pub resource: ResourceInstance,
    /// The block, counted from nought.
    pub block: usize,
    /// The entry of its list of actions.
    pub at: usize,
    /// When.
    pub event: TriggerEvent,
}

/// The change of a root output.
#[derive(Clone, Debug, PartialEq)]
pub struct OutputChange {
    /// No-op, create, update or delete.
    pub action: Action,
    /// Unmarked; null if it was not there.
    pub before: Value,
    /// Unmarked; null if it goes.
    pub after: Value,
    /// Is either side sensitive?
    pub sensitive: (bool, bool),
}

/// The result of checks on one object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckStatus {
    /// All conditions held.
    Pass,
    /// A condition did not hold.
    Fail,
    /// A condition could not be evaluated.
    Error,
    /// Not known before apply.
    Unknown,
}

impl CheckStatus {
    /// The one that counts for both together.
    #[must_use]
    pub fn worse(self, other: CheckStatus) -> CheckStatus {
        let rank = |status| match status {
            CheckStatus::Pass => 0,
            CheckStatus::Unknown => 1,
            CheckStatus::Fail => 2,
            CheckStatus::Error => 3,
        };
        if rank(other) > rank(self) { other } else { self }
    }

    /// As in state files and JSON plans.
    pub fn as_str(self) -> &'static str {
        match self {
            CheckStatus::Pass => "pass",
            CheckStatus::Fail => "fail",
            CheckStatus::Error => "error",
            CheckStatus::Unknown => "unknown",
        }
    }
}

/// The result of one object's checks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// The worst of its conditions' results.
    pub status: CheckStatus,
    /// What the conditions that did not hold say, in order.
    pub problems: Vec<String>,
    /// Is this no object's, but a declaration's that has no objects?
    pub vacant: bool,
}

impl Check {
    /// A result of an object, without problems.
    pub fn of(status: CheckStatus) -> Self {
        Self {
            status,
            problems: Vec::new(),
            vacant: false,
        }
    }
}

/// A provider that the plan was made with.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ProviderPin {
    /// Which provider.
    pub provider: Provider,
    /// Its version.
    pub version: String,
    /// Digest of its binary, `sha256:…`.
    pub digest: String,
}

/// The package of a called module that was fetched.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PackagePin {
    /// Where it comes from, without what may be secret.
    pub source: String,
    /// The version that was chosen, of a registry's module.
    pub version: Option<String>,
    /// What the place calls it, such as a commit.
    pub revision: String,
    /// Digest of all its files, `sha256:…`.
    pub digest: String,
}

/// A whole plan.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// The person's choices.
    pub options: Options,
    /// The configuration's files: name and text. Those of called modules have their module's folder in front.
    pub config: Vec<(Arc<str>, Arc<str>)>,
    /// The folder of each called module.
    pub modules: BTreeMap<Module, Arc<str>>,
    /// The packages of those that were fetched: all that functions and providers can read of them.
    pub packages: BTreeMap<Module, PackagePin>,
    /// The input variables, typed and marked, without those that are ephemeral.
    pub variables: BTreeMap<Arc<str>, Value>,
    /// The ephemeral ones that were given values, which are not kept: they have to be given again to apply.
    pub given_again: BTreeSet<Arc<str>>,
    /// The values of variables as they were given, for whoever is shown them; `variables` are those that count.
    pub given: BTreeMap<Arc<str>, Value>,
    /// The state as read from storage.
    pub previous_state: State,
    /// The state after refresh: what the changes start from.
    pub prior_state: State,
    /// One per object, no-ops included, sorted by address and deposed key.
    pub changes: Vec<Change>,
    /// What changed outside since the last run.
    pub drift: Vec<Change>,
    /// Root outputs.
    pub outputs: BTreeMap<Arc<str>, OutputChange>,
    /// Results of conditions by the object's address, or the declaration's where it has no objects.
    pub checks: BTreeMap<String, Check>,
    /// What to do and in which order.
    pub steps: Vec<Step>,
    /// The providers it was made with.
    pub providers: Vec<ProviderPin>,
    /// What functions of providers gave, which must be the same at apply.
    pub functions: FunctionResults,
    /// When it was made: the value of `plantimestamp()`.
    pub timestamp: String,
    /// Did planning meet errors? Such a plan cannot be applied.
    pub errored: bool,
    /// The actions to invoke: those that a person asked for first, the others by what triggers them.
    pub invocations: Vec<Invocation>,
    /// Blocks that were made up for imported objects. They stand in a file of `config`, too.
    pub generated: BTreeMap<ResourceInstance, Arc<str>>,
}

impl Plan {
    /// Why it no longer stands on this state, if it does not. A state that was never written gets its lineage from the plan.
    pub fn base_fault(&self, now: &State) -> Option<Diag> {
        let then = &self.previous_state;
        let first = now.lineage.is_empty() && then.is_empty();
        let lineage = if then.lineage.is_empty() {
            &self.prior_state.lineage
        } else {
            &then.lineage
        };
        if *lineage != now.lineage && !first {
            let detail = "The plan was made from a state of another lineage, so it cannot be applied to this one. Plan anew.";
            return Some(Diag::error("Saved plan does not match the given state", detail));
        }
        let detail =
            "The state was changed after the plan was made, so the plan can no longer be applied. Plan anew.";
        (then.serial != now.serial).then(|| Diag::error("Saved plan is stale", detail))
    }

    /// Would applying it do anything?
    pub fn is_applyable(&self) -> bool {
        if self.errored {
            return false;
        }
        match self.options.mode {
            // A move alone, or an output that nothing is known of, gives nothing to take over.
            Mode::RefreshOnly => {
                let known = |output: &&OutputChange| output.after.is_wholly_known();
                self.drift.iter().any(|change| change.action != Action::NoOp)
                    || self.deposed_have_changed()
                    || self.data_have_changed()
                    || self.changed_outputs().filter(known).count() > 0
                    || !self.invocations.is_empty()
                    || self.notes_changed()
            }
            Mode::Normal | Mode::Destroy => self.has_changes(),
        }
    }

    /// Has a deposed object changed, or gone, outside? Drift tells of current ones only. A deposed object keeps its key when
    /// it moves.
    fn deposed_have_changed(&self) -> bool {
        let deposed = |state: &State| {
            let objects = state.objects();
            let of = objects.filter_map(|(_, key, object)| key.map(|key| (key, object.clone())));
            let read = of.map(|(key, object)| {
                let attributes = serde_json::from_slice::<serde_json::Value>(&object.attributes);
                (key, attributes.unwrap_or_default())
            });
            read.collect::<Vec<_>>()
        };
        let (before, after) = (deposed(&self.previous_state), deposed(&self.prior_state));
        before.len() != after.len() || before.iter().any(|one| !after.contains(one))
    }

    /// Does a data source say something else than before, or is one there that was not, or gone? Drift tells of none.
    fn data_have_changed(&self) -> bool {
        let read = |state: &State| {
            let objects = state.objects();
            let data = objects.filter(|(address, ..)| address.resource.resource.mode == ashlar_addr::Mode::Data);
            let read = data.map(|(address, _, object)| {
                let attributes = serde_json::from_slice::<serde_json::Value>(&object.attributes);
                (address.clone(), attributes.unwrap_or_default())
            });
            read.collect::<BTreeMap<_, _>>()
        };
        read(&self.previous_state) != read(&self.prior_state)
    }

    /// Is something else noted of an object than before, beside its attributes: the order of its replacement, what the
    /// provider keeps with it? What it depends on does not count.
    fn notes_changed(&self) -> bool {
        let moved: BTreeMap<&ResourceInstance, &ResourceInstance> = self
            .drift
            .iter()
            .filter_map(|change| Some((&change.address, change.previous_address.as_ref()?)))
            .collect();
        self.prior_state.objects().any(|(address, deposed, now)| {
            let address = moved.get(&address).copied().unwrap_or(&address);
            let instance = self.previous_state.instance(address);
            let then = match deposed {
                Some(key) => instance.and_then(|instance| instance.deposed.get(&key)),
                None => instance.and_then(|instance| instance.current.as_ref()),
            };
            then.is_some_and(|then| {
                then.create_before_destroy != now.create_before_destroy
                    || (&then.private, &then.identity) != (&now.private, &now.identity)
            })
        })
    }

    /// Does it hold all that the configuration asks for?
    pub fn is_complete(&self) -> bool {
        !self.errored && self.options.selection.is_whole()
    }

    /// Is there anything to apply it for? As [`Plan::is_applyable`], but reading again what checks look at is nothing that
    /// anybody should have to approve.
    pub fn wants_apply(&self) -> bool {
        let is_check = |change: &Change| change.reason == Some(Reason::ReadBecauseCheckNested);
        let acts = |change: &&Change| change.is_effective();
        let only_checks = self.changes.iter().filter(acts).all(is_check)
            && self.changes.iter().any(is_check)
            && self.changed_outputs().count() == 0
            && self.invocations.is_empty();
        self.is_applyable() && !only_checks
    }

    /// Does any object or output change?
    pub fn has_changes(&self) -> bool {
        self.changes.iter().any(Change::is_effective) || self.changed_outputs().count() > 0
    }

    fn changed_outputs(&self) -> impl Iterator<Item = &OutputChange> {
        self.outputs
            .values()
            .filter(|output| output.action != Action::NoOp)
    }

    /// The counts people read first.
    pub fn summary(&self) -> Summary {
        let mut summary = Summary {
            drift: self.drift.len(),
            actions: self.invocations.len(),
            ..Summary::default()
        };
        for change in &self.changes {
            summary.moves += usize::from(change.previous_address.is_some());
            summary.imports += usize::from(change.importing.is_some());
            match change.action {
                Action::NoOp => {}
                Action::Create => summary.creates += 1,
                Action::Read => summary.reads += 1,
                Action::Update => summary.updates += 1,
                Action::Delete => summary.deletes += 1,
                Action::Forget => summary.forgets += 1,
                Action::ForgetThenCreate => {
                    summary.creates += 1;
                    summary.forgets += 1;
                }
                Action::DeleteThenCreate | Action::CreateThenDelete => summary.replaces += 1,
            }
        }
        summary.outputs = self.changed_outputs().count();
        summary
    }
}

/// Counts of a plan. A replacement is counted as such alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "each is the count of what it names")]
pub struct Summary {
    pub creates: usize,
    pub updates: usize,
    pub deletes: usize,
    pub replaces: usize,
    pub reads: usize,
    pub moves: usize,
    pub imports: usize,
    pub forgets: usize,
    pub outputs: usize,
    pub drift: usize,
    pub actions: usize,
}
