//! Durable storage of a run: the journal and the state.
//!
//! The journal is a write-ahead log. Before a provider is asked to change something, the intent is durable; the outcome
//! is written after it, with the new object, so that a killed run loses nothing: state = last saved state + outcomes
//! since, and an intent without outcome is *uncertain* until a refresh or a person settles it.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU8, Ordering},
    },
};

use ashlar_addr::{DeposedKey, ResourceInstance};
use ashlar_diag::Diags;
use async_trait::async_trait;

use crate::Invoked;

/// What a record is about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Subject {
    /// An object of an instance: the current one, or the deposed one meant.
    Object(ResourceInstance, Option<DeposedKey>),
    /// The invocation of an action, which leaves nothing behind that could be read.
    Action(Invoked),
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Subject::Object(address, None) => write!(f, "{address}"),
            Subject::Object(address, Some(key)) => write!(f, "{address} (deposed {key})"),
            Subject::Action(invoked) => write!(f, "{invoked}"),
        }
    }
}

/// What is about to be asked of a provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Intent {
    /// What of.
    pub subject: Subject,
    /// `create`, `update`, `delete` or `invoke`.
    pub action: String,
}

/// What came of an intent.
#[derive(Clone, PartialEq, Eq)]
pub struct Outcome {
    /// What of.
    pub subject: Subject,
    /// The resource as the state file writes it, holding just this instance object; `None` if the object is gone, and of an
    /// action. May hold secrets, as state does.
    pub object: Option<Vec<u8>>,
}

/// An object of an instance that changed its place, between being the current one and being deposed. One record for
/// both ends: a run that is killed leaves the object in one place, never in two or in none.
#[derive(Clone, PartialEq, Eq)]
pub struct Moved {
    /// The instance.
    pub address: ResourceInstance,
    /// Where the object was; `None` is the current one.
    pub from: Option<DeposedKey>,
    /// Where it is now.
    pub to: Option<DeposedKey>,
    /// The object where it was, as in [`Outcome::object`].
    pub object: Vec<u8>,
}

/// One line of the journal.
#[derive(Clone, PartialEq, Eq)]
pub enum Record {
    /// Written before the call.
    Intent(Intent),
    /// Written after it.
    Outcome(Outcome),
    /// Written before the calls that count on it. No provider notices it.
    Moved(Moved),
}

/// Where one run keeps what must not be lost. Held by whoever holds the lock.
#[async_trait]
pub trait RunStore: Send + Sync {
    /// Appends to the journal, in order; durable when it returns. An error (lock lost, disk full) means: start nothing
    /// more. None of the records counts then, and they may be handed in again, or others in their place.
    async fn journal(&self, records: Vec<Record>) -> Result<(), Diags>;

    /// Saves the whole state (v4 JSON); durable when it returns. The first `covered` records of this run's journal are
    /// contained in it and may be dropped. A store that others may cut off tries for minutes, as long as the lock may
    /// still be its own. May be asked again after an error.
    async fn save(&self, state: Vec<u8>, covered: usize) -> Result<(), Diags>;
}

/// Set once to ask a run to start nothing more; what runs is finished and kept. A second time it may be asked not to wait for
/// that.
#[derive(Clone, Debug, Default)]
pub struct StopFlag(Arc<AtomicU8>);

const STOP: u8 = 1;
const END: u8 = 2;

impl StopFlag {
    /// Not set.
    pub fn new() -> Self {
        Self::default()
    }

    /// Asks to stop.
    pub fn set(&self) {
        self.0.fetch_max(STOP, Ordering::SeqCst);
    }

    /// Was it asked?
    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::SeqCst) >= STOP
    }

    /// Asks to stop, and to end whatever is still running: what its calls brought about is uncertain then.
    pub fn end(&self) {
        self.0.fetch_max(END, Ordering::SeqCst);
    }

    /// Was that asked?
    pub fn is_ended(&self) -> bool {
        self.0.load(Ordering::SeqCst) >= END
    }
}
