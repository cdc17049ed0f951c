//! The changes that a plan holds: of objects, of outputs, and the actions that are to be invoked.

use std::sync::Arc;

use ashlar_addr::{ActionInstance, ConfigResource, DeposedKey, ProviderConfig, ResourceInstance};
use ashlar_config::{ResourceConfig, Tree, TriggerEvent};
use ashlar_port::Invoked;
use ashlar_value::{Path, Value};

use super::action::{Action, Reason};

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
