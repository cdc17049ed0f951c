//! The plan: what will be done, why, and everything needed to do it.
//!
//! A plan leaves no choices to apply. It is immutable once made and self-contained: the configuration's text, the
//! variables, the refreshed prior state, the changes with their reasons, and the steps in their order.

mod action;
mod change;
mod check;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use ashlar_addr::{ActionInstance, Module, ModuleInstance, Provider, ResourceInstance};
use ashlar_diag::Diag;
use ashlar_state::State;
use ashlar_value::{Dialect, Value};

pub use self::{
    action::{Action, Reason},
    change::{Change, Importing, Invocation, OutputChange, Trigger},
    check::{Check, CheckStatus},
};
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
    /// Outputs of called modules that have values. No state keeps those, so with Terraform they count as changed.
    pub module_outputs: BTreeMap<ModuleInstance, BTreeSet<Arc<str>>>,
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
            let data =
                objects.filter(|(address, ..)| address.resource.resource.mode == ashlar_addr::Mode::Data);
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
