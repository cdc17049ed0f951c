//! The state of a run, and when it is saved.
//!
//! The state is saved soon after each change, one save at a time: what changes while a save runs goes into the next.
//! Saving a large state takes long, so a pause of four times the last save's length lies between saves, five seconds at
//! most; the journal covers what is not saved yet.

use std::sync::Mutex;

use ashlar_addr::{DeposedKey, ProviderConfig, ResourceInstance};
use ashlar_diag::Diags;
use ashlar_plan::lock;
use ashlar_port::{Outcome, Outside, Record, RunStore};
use ashlar_state::{Object, State};
use std::sync::Arc;

use crate::ledger::Ledger;

/// No change waits longer than this for its save to begin, in milliseconds.
const LONGEST_WAIT: u64 = 5_000;

/// Holds the state while it changes.
pub(crate) struct Keeper<'a> {
    store: &'a dyn RunStore,
    outside: &'a dyn Outside,
    ledger: Ledger<'a>,
    version: &'a str,
    inner: Mutex<Inner>,
}

struct Inner {
    state: State,
    dirty: bool,
    /// When the next save may begin.
    not_before: u64,
    failed: Option<Diags>,
}

impl<'a> Keeper<'a> {
    /// `dirty`: does the state differ from what is stored?
    pub(crate) fn new(
        store: &'a dyn RunStore,
        outside: &'a dyn Outside,
        version: &'a str,
        state: State,
        dirty: bool,
    ) -> Self {
        let inner = Inner {
            state,
            dirty,
            not_before: 0,
            failed: None,
        };
        Self {
            store,
            outside,
            ledger: Ledger::new(store),
            version,
            inner: Mutex::new(inner),
        }
    }

    /// The journal.
    pub(crate) fn ledger(&self) -> &Ledger<'a> {
        &self.ledger
    }

    /// Reads the state.
    pub(crate) fn read<T>(&self, look: impl FnOnce(&State) -> T) -> T {
        look(&lock(&self.inner).state)
    }

    /// Changes the state without a provider having done anything.
    pub(crate) fn change(&self, change: impl FnOnce(&mut State)) {
        let mut inner = lock(&self.inner);
        change(&mut inner.state);
        inner.dirty = true;
    }

    /// Takes over what a provider did: into the journal if its doing was journalled, and into the state.
    pub(crate) async fn outcome(
        &self,
        address: &ResourceInstance,
        deposed: Option<DeposedKey>,
        provider: &ProviderConfig,
        object: Option<Arc<Object>>,
        journalled: bool,
    ) -> Result<(), Diags> {
        let record = if journalled {
            let bytes = object
                .as_ref()
                .map(|object| ashlar_state::outcome_object(address, deposed, provider, object))
                .transpose()?;
            Some(Record::Outcome(Outcome {
                address: address.clone(),
                deposed,
                object: bytes,
            }))
        } else {
            None
        };
        // State first: a save that begins before the record is durable then contains more than it says it covers.
        self.change(|state| state.set(address, deposed, provider, object));
        match record {
            Some(record) => self.ledger.record(record).await,
            None => Ok(()),
        }
    }

    /// Did storing fail, so that nothing more may be started?
    pub(crate) fn has_failed(&self) -> bool {
        self.ledger.has_failed() || lock(&self.inner).failed.is_some()
    }

    /// Milliseconds until a save is due; `None` if nothing changed or storing has failed.
    pub(crate) fn due_in(&self) -> Option<u64> {
        let inner = lock(&self.inner);
        let wanted = inner.dirty && inner.failed.is_none();
        wanted.then(|| inner.not_before.saturating_sub(self.outside.monotonic_ms()))
    }

    /// Saves the state as it is now.
    pub(crate) async fn save(&self) {
        let begun = self.outside.monotonic_ms();
        let covered = self.ledger.durable();
        let bytes = {
            let mut inner = lock(&self.inner);
            inner.dirty = false;
            inner.state.serial += 1;
            ashlar_state::write(&inner.state, self.version)
        };
        let result = match bytes {
            Ok(bytes) => self.store.save(bytes, covered).await,
            Err(diags) => Err(diags),
        };
        let ended = self.outside.monotonic_ms();
        let mut inner = lock(&self.inner);
        inner.not_before = ended + (ended.saturating_sub(begun) * 4).min(LONGEST_WAIT);
        if let Err(diags) = result {
            inner.failed = Some(diags);
        }
    }

    /// The state, and why it could not be saved, if so.
    pub(crate) fn finish(self) -> (State, Option<Diags>) {
        let inner = self
            .inner
            .into_inner()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        (inner.state, inner.failed)
    }
}
