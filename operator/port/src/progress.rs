//! What a person watching a run sees.

use std::{fmt, sync::Arc};

use ashlar_addr::{ActionInstance, DeposedKey, ResourceInstance};

/// What is being done to an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Activity {
    /// Reading its present state.
    Refresh,
    /// Reading a data source.
    Read,
    /// Creating it.
    Create,
    /// Changing it.
    Update,
    /// Destroying it.
    Delete,
    /// Opening an ephemeral resource.
    Open,
    /// Renewing an open one.
    Renew,
    /// Closing it.
    Close,
    /// Finding one that is to be taken in.
    Find,
    /// Taking in one that was found.
    Import,
}

/// What is done to which object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Task {
    /// The instance.
    pub address: ResourceInstance,
    /// Which of its objects that were replaced, if it is one of these.
    pub deposed: Option<DeposedKey>,
    /// What.
    pub activity: Activity,
}

impl fmt::Display for Task {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.address)?;
        match self.deposed {
            Some(key) => write!(f, " (deposed object {key})"),
            None => Ok(()),
        }
    }
}

/// What people know an object by: its id or its name. Never one that is sensitive.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct KnownBy {
    /// The attribute.
    pub key: &'static str,
    /// Its value.
    pub value: Arc<str>,
}

impl fmt::Display for KnownBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.key, self.value)
    }
}

/// The invocation of an action.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Invoked {
    /// The action.
    pub action: ActionInstance,
    /// Whose change triggers it; `None` where a person asked for it.
    pub by: Option<ResourceInstance>,
}

impl fmt::Display for Invoked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.by {
            Some(by) => write!(f, "{} (triggered by {by})", self.action),
            None => write!(f, "{}", self.action),
        }
    }
}

/// One thing that happened. Holds no values, but what an object is known by, and what a provider or a provisioner says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// Begun.
    Started {
        /// What.
        task: Task,
        /// What the object is known by so far.
        known_by: Option<KnownBy>,
    },
    /// Ended well.
    Completed {
        /// What.
        task: Task,
        /// What the object is known by now.
        known_by: Option<KnownBy>,
        /// How long it took, in milliseconds.
        elapsed_ms: u64,
    },
    /// Ended with an error.
    Failed {
        /// What.
        task: Task,
        /// How long it took, in milliseconds.
        elapsed_ms: u64,
    },
    /// An action is invoked.
    ActionStarted(Invoked),
    /// What the provider says of it on the way, without what is sensitive.
    ActionSays(Invoked, String),
    /// It ended.
    ActionEnded {
        /// Which.
        invoked: Invoked,
        /// With an error?
        failed: bool,
        /// How long it took, in milliseconds.
        elapsed_ms: u64,
    },
    /// A provisioner begins to run.
    Provisioning {
        /// The instance.
        address: ResourceInstance,
        /// Its kind.
        provisioner: Arc<str>,
    },
    /// A provisioner says something; what must not be shown was taken out.
    ProvisionerSays {
        /// The instance.
        address: ResourceInstance,
        /// Its kind.
        provisioner: Arc<str>,
        /// One line.
        line: String,
    },
    /// A provisioner ended, well or with an error.
    Provisioned {
        /// The instance.
        address: ResourceInstance,
        /// Its kind.
        provisioner: Arc<str>,
        /// Did it fail?
        failed: bool,
    },
}

/// Told of each event at once; must not block.
pub trait Progress: Send + Sync {
    /// Takes one event.
    fn tell(&self, event: Event);
}

/// Nobody watches.
pub struct Unwatched;

impl Progress for Unwatched {
    fn tell(&self, _event: Event) {}
}
