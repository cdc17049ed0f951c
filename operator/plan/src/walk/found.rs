//! What a planning walk has found: the refreshed state, changes, drift, checks.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use ashlar_addr::{
    AbsResource, ConfigResource, InstanceKey, ModuleInstance, ProviderConfig, ResourceInstance,
};
use ashlar_diag::Diags;
use ashlar_state::State;
use ashlar_value::Value;

use crate::generate::Generated;
use crate::instance::Live;
use crate::model::{Action, Change, Check, Invocation, OutputChange};
use crate::node::Node;
use crate::values::Expansion;

/// Results of a walk.
#[derive(Default)]
pub(crate) struct Found {
    /// The state after refresh.
    pub(crate) refreshed: State,
    pub(crate) changes: Vec<Change>,
    /// What `changes` holds of each resource.
    pub(crate) by_resource: HashMap<AbsResource, OfResource>,
    /// The resources of which anything is to be done, with the instances of their module where it is.
    pub(crate) pending: HashMap<ConfigResource, BTreeSet<ModuleInstance>>,
    pub(crate) drift: Vec<Change>,
    /// Which instances each resource has.
    pub(crate) expanded: HashMap<AbsResource, Expansion>,
    /// Where objects were before they moved.
    pub(crate) moved: BTreeMap<ResourceInstance, ResourceInstance>,
    pub(crate) outputs: BTreeMap<Arc<str>, OutputChange>,
    /// Outputs of called modules that have values.
    pub(crate) module_outputs: BTreeMap<ModuleInstance, BTreeSet<Arc<str>>>,
    pub(crate) checks: BTreeMap<String, Check>,
    pub(crate) invocations: Vec<Invocation>,
    pub(crate) generated: Generated,
    /// What may have conditions and was visited without a fault.
    pub(crate) reached: HashSet<Node>,
    pub(crate) diags: Diags,
}

/// What is planned for one resource, so that those who ask need not look through all changes.
#[derive(Default)]
pub(crate) struct OfResource {
    /// Is an object changed in place, or replaced?
    pub(crate) is_altered: bool,
    /// Where the changes of its current objects stand.
    pub(crate) current: BTreeMap<InstanceKey, usize>,
}

impl Found {
    pub(crate) fn add(&mut self, change: Change) {
        let resource = &change.address.resource;
        if change.action != Action::NoOp {
            let places = self.pending.entry(resource.config()).or_default();
            places.insert(resource.module.clone());
        }
        let own = self.by_resource.entry(resource.clone()).or_default();
        own.is_altered |= change.action == Action::Update || change.action.is_replace();
        if change.deposed.is_none() {
            own.current.insert(change.address.key.clone(), self.changes.len());
        }
        self.changes.push(change);
    }

    /// Records what changed outside since the last run, or moved.
    pub(super) fn note_drift(
        &mut self,
        address: &ResourceInstance,
        provider: &ProviderConfig,
        previous: &Live,
        refreshed: Option<&Live>,
    ) {
        let action = match refreshed {
            None => Action::Delete,
            Some(live) if live.value == previous.value => {
                if !self.moved.contains_key(address) {
                    return;
                }
                Action::NoOp
            }
            Some(_) => Action::Update,
        };
        self.drift.push(Change {
            address: address.clone(),
            deposed: None,
            previous_address: self.moved.get(address).cloned(),
            importing: None,
            provider: provider.clone(),
            action,
            reason: None,
            before: previous.value.clone(),
            after: refreshed.map_or_else(|| Value::null(previous.value.ty()), |live| live.value.clone()),
            replace_paths: Vec::new(),
            private: Arc::default(),
            // Drift is about what objects are, never about which they are.
            before_identity: None,
            after_identity: None,
            depose_as: None,
            dependencies: Arc::default(),
            create_before_destroy: previous.create_before_destroy,
        });
    }
}
