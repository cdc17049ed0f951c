//! The state of a run, and when it is saved.
//!
//! The state is saved soon after each change, one save at a time: what changes while a save runs goes into the next.
//! Saving a large state takes long, so a pause of four times the last save's length lies between saves, five seconds at
//! most; the journal covers what is not saved yet. A save that failed is tried again: the run starts nothing more, but
//! what it has done must not be forgotten.

use std::sync::Mutex;

use ashlar_addr::{DeposedKey, ProviderConfig, ResourceInstance};
use ashlar_diag::{Diag, Diags};
use ashlar_plan::lock;
use ashlar_port::{Moved, Outcome, Outside, Record, RunStore, Subject};
use ashlar_state::{Object, State};
use std::sync::Arc;

use crate::ledger::Ledger;

/// No change waits longer than this for its save to begin, in milliseconds.
const LONGEST_WAIT: u64 = 5_000;

/// Where what a run did is found when it is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kept {
    /// In the stored state.
    State,
    /// The state could not be stored, but the journal holds it all; the next run recovers it from there.
    Journal,
    /// Neither could be stored whole.
    Nowhere,
}

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
    /// Did a save fail?
    failed: bool,
    /// Why the last save failed, if it did.
    fault: Option<Diags>,
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
            failed: false,
            fault: None,
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

    /// Takes over what a provider did, into the state and the journal. Where it had `effects` this waits until that is durable; else
    /// it is enough that nothing later becomes durable without it.
    pub(crate) async fn outcome(
        &self,
        address: &ResourceInstance,
        deposed: Option<DeposedKey>,
        provider: &ProviderConfig,
        object: Option<Arc<Object>>,
        effects: bool,
    ) -> Result<(), Diags> {
        let bytes = object
            .as_ref()
            .map(|object| ashlar_state::outcome_object(address, deposed, provider, object))
            .transpose()?;
        let record = Record::Outcome(Outcome {
            subject: Subject::Object(address.clone(), deposed),
            object: bytes,
        });
        // State first: a save that begins before the record is durable then contains more than it says it covers.
        self.change(|state| state.set(address, deposed, provider, object));
        self.record(record, effects).await;
        Ok(())
    }

    async fn record(&self, record: Record, effects: bool) {
        if effects {
            self.ledger.note(record).await;
        } else {
            self.ledger.add(record);
        }
    }

    /// Moves an object between its current and its deposed place: one record, so that it is never in both or in none.
    pub(crate) async fn relocate(
        &self,
        address: &ResourceInstance,
        from: Option<DeposedKey>,
        to: Option<DeposedKey>,
        provider: &ProviderConfig,
        effects: bool,
    ) -> Result<(), Diags> {
        let Some(object) = self.read(|state| state.object(address, from).cloned()) else {
            return Ok(());
        };
        let object = ashlar_state::outcome_object(address, from, provider, &object)?;
        self.change(|state| state.relocate(address, from, to));
        let moved = Moved {
            address: address.clone(),
            from,
            to,
            object,
        };
        self.record(Record::Moved(moved), effects).await;
        Ok(())
    }

    /// Did storing fail, so that nothing more may be started?
    pub(crate) fn has_failed(&self) -> bool {
        self.ledger.failed().is_some() || lock(&self.inner).failed
    }

    /// Milliseconds until a save is due; `None` if nothing changed since the last one.
    pub(crate) fn due_in(&self) -> Option<u64> {
        let inner = lock(&self.inner);
        inner
            .dirty
            .then(|| inner.not_before.saturating_sub(self.outside.monotonic_ms()))
    }

    /// Saves the state as it is now, and what the journal lacks.
    pub(crate) async fn save(&self) {
        self.ledger.flush().await;
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
        {
            let mut inner = lock(&self.inner);
            let pause = match &result {
                Ok(()) => ended.saturating_sub(begun) * 4,
                Err(_) => LONGEST_WAIT,
            };
            inner.not_before = ended + pause.min(LONGEST_WAIT);
            inner.dirty |= result.is_err();
            inner.failed |= result.is_err();
            inner.fault = result.err();
            if inner.fault.is_some() {
                return;
            }
        }
        // A store that was away is back: without its outcome an intent would be uncertain, whatever the state says.
        self.ledger.flush().await;
    }

    /// Saves what is not saved yet. Gives the state, where it is kept, and what went wrong with storing it.
    pub(crate) async fn finish(self) -> (State, Kept, Diags) {
        if self.due_in().is_some() {
            self.save().await;
        } else {
            self.ledger.flush().await;
        }
        let (journal, behind) = (self.ledger.failed(), self.ledger.is_behind());
        let inner = self
            .inner
            .into_inner()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        let kept = match (&inner.fault, behind) {
            (None, _) => Kept::State,
            (Some(_), false) => Kept::Journal,
            (Some(_), true) => Kept::Nowhere,
        };
        let diags = match (inner.fault, journal) {
            (Some(fault), _) => fault,
            (None, Some(cause)) => late(&cause),
            (None, None) if inner.failed => late(&Diags::new()),
            (None, None) => Diags::new(),
        };
        (inner.state, kept, diags)
    }
}

/// All is saved in the end, but a write failed before, and nothing was started since.
fn late(cause: &Diags) -> Diags {
    let why: String = cause
        .iter()
        .take(1)
        .map(|diag| format!(" {}", diag.detail))
        .collect();
    let detail = format!(
        "What was done could not be stored for a while, so nothing more was started. It is stored now.{why}"
    );
    Diag::warning("Storing the state was late", detail).into()
}

#[cfg(test)]
mod tests {
    use ashlar_state::Status;
    use futures::executor::block_on;

    use super::*;
    use crate::fake::Fake;

    fn object(id: &str) -> Arc<Object> {
        Arc::new(Object {
            schema_version: 0,
            attributes: format!("{{\"id\":\"{id}\"}}").into_bytes().into(),
            sensitive: Vec::new(),
            private: Arc::default(),
            status: Status::Ready,
            dependencies: Arc::default(),
            create_before_destroy: false,
            skip_destroy: false,
            identity: None,
        })
    }

    fn keeper(store: &Fake) -> Keeper<'_> {
        let state = State {
            lineage: "l".to_owned(),
            ..State::default()
        };
        Keeper::new(store, store, "1.15.5", state, false)
    }

    async fn made(keeper: &Keeper<'_>, address: &str) {
        let provider = "provider[\"h.example/n/t\"]".parse().unwrap();
        keeper
            .outcome(
                &address.parse().unwrap(),
                None,
                &provider,
                Some(object(address)),
                true,
            )
            .await
            .unwrap();
    }

    #[test]
    fn what_had_no_effects_is_in_the_journal_before_what_follows_it() {
        let store = Fake::default();
        let keeper = keeper(&store);
        let provider = "provider[\"terraform.io/builtin/terraform\"]".parse().unwrap();
        block_on(async {
            keeper
                .outcome(&"t.a".parse().unwrap(), None, &provider, Some(object("a")), false)
                .await
                .unwrap();
            assert_eq!(store.journalled(), "", "it waits for nobody");
            made(&keeper, "t.b").await;
            assert_eq!(store.journalled(), "t.a t.b");
        });
    }

    #[test]
    fn a_save_that_failed_is_due_again_after_a_pause() {
        let store = Fake::default();
        let keeper = keeper(&store);
        block_on(async {
            made(&keeper, "t.a").await;
            assert_eq!(keeper.due_in(), Some(0));
            store.fail(1);
            keeper.save().await;
            assert!(keeper.has_failed());
            assert_eq!(keeper.due_in(), Some(LONGEST_WAIT));
            store.sleep(LONGEST_WAIT);
            assert_eq!(keeper.due_in(), Some(0));
            keeper.save().await;
            assert_eq!((keeper.due_in(), store.saved()), (None, "2 t.a".to_owned()));
            // Nothing is started all the same.
            assert!(keeper.has_failed());
            let (_, kept, diags) = keeper.finish().await;
            assert_eq!(kept, Kept::State);
            assert!(!diags.has_errors() && diags.len() == 1, "{diags}");
        });
    }

    #[test]
    fn results_that_come_in_after_a_failure_are_saved_in_the_end() {
        let store = Fake::default();
        let keeper = keeper(&store);
        block_on(async {
            store.fail(4);
            made(&keeper, "t.a").await;
            keeper.save().await;
            made(&keeper, "t.b").await;
            let (state, kept, diags) = keeper.finish().await;
            assert_eq!(kept, Kept::State);
            assert_eq!(state.objects().count(), 2);
            assert!(!diags.has_errors(), "{diags}");
        });
        assert_eq!(
            (store.saved(), store.journalled()),
            ("2 t.a t.b".to_owned(), "t.a t.b".to_owned())
        );
    }

    #[test]
    fn what_cannot_be_saved_is_an_error() {
        for (journals, expected) in [(true, Kept::Journal), (false, Kept::Nowhere)] {
            let store = Fake::default();
            let keeper = keeper(&store);
            block_on(async {
                if !journals {
                    store.fail(usize::MAX);
                }
                made(&keeper, "t.a").await;
                store.fail(usize::MAX);
                let (_, kept, diags) = keeper.finish().await;
                assert!(diags.has_errors());
                assert_eq!(kept, expected);
            });
        }
    }

    #[test]
    fn an_object_that_is_deposed_is_one_record() {
        let store = Fake::default();
        let keeper = keeper(&store);
        let (address, provider) = (
            "t.a".parse().unwrap(),
            "provider[\"h.example/n/t\"]".parse().unwrap(),
        );
        let key = Some(DeposedKey(7));
        block_on(async {
            made(&keeper, "t.a").await;
            keeper
                .relocate(&address, None, key, &provider, true)
                .await
                .unwrap();
            assert!(keeper.read(
                |state| state.object(&address, key).is_some() && state.object(&address, None).is_none()
            ));
            keeper
                .relocate(&address, key, None, &provider, true)
                .await
                .unwrap();
            assert!(keeper.read(|state| state.object(&address, None).is_some()));
        });
        assert_eq!(
            store.journalled(),
            "t.a t.a:current->00000007 t.a:00000007->current"
        );
    }
}
