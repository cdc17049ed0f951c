//! What a person watching a run sees.

use ashlar_addr::ResourceInstance;

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
}

/// One thing that happened. Holds no values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// Begun.
    Started {
        /// The instance.
        address: ResourceInstance,
        /// What.
        activity: Activity,
    },
    /// Ended well.
    Completed {
        /// The instance.
        address: ResourceInstance,
        /// What.
        activity: Activity,
        /// How long it took, in milliseconds.
        elapsed_ms: u64,
    },
    /// Ended with an error.
    Failed {
        /// The instance.
        address: ResourceInstance,
        /// What.
        activity: Activity,
        /// How long it took, in milliseconds.
        elapsed_ms: u64,
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
