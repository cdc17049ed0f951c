//! The journal's writer: many steps, few writes.
//!
//! Steps that become ready together share one durable write: each hands in its record, and whoever gets the turn writes
//! all that are waiting. Once a write has failed no intent passes any more, so nothing is started; but what was done is
//! done, and its record waits for the next write.

use std::sync::Mutex;

use ashlar_diag::Diags;
use ashlar_plan::lock;
use ashlar_port::{Intent, Record, RunStore};

/// Writes the journal of one run.
pub(crate) struct Ledger<'a> {
    store: &'a dyn RunStore,
    waiting: Mutex<Waiting>,
    turn: async_lock::Mutex<()>,
}

#[derive(Default)]
struct Waiting {
    records: Vec<Record>,
    handed_in: usize,
    /// All that was handed in until then is durable or withdrawn.
    settled: usize,
    durable: usize,
    /// Why a write failed first, and what was settled then.
    failed: Option<(Diags, usize)>,
}

impl<'a> Ledger<'a> {
    pub(crate) fn new(store: &'a dyn RunStore) -> Self {
        Self {
            store,
            waiting: Mutex::default(),
            turn: async_lock::Mutex::new(()),
        }
    }

    /// Makes an intent durable, and all records before it. After a failure every call fails.
    pub(crate) async fn intend(&self, intent: Intent) -> Result<(), Diags> {
        if let Some(failed) = self.failed() {
            return Err(failed);
        }
        let mine = self.hand_in(Record::Intent(intent));
        self.write(mine).await;
        let waiting = lock(&self.waiting);
        match &waiting.failed {
            // One that was durable before passes.
            Some((diags, settled)) if mine > *settled => Err(diags.clone()),
            _ => Ok(()),
        }
    }

    /// Takes a record that becomes durable with the next write: no later record does without it.
    pub(crate) fn add(&self, record: Record) {
        self.hand_in(record);
    }

    /// Makes a record of what was done durable. Where that fails it is tried again with the next write.
    pub(crate) async fn note(&self, record: Record) {
        let mine = self.hand_in(record);
        self.write(mine).await;
    }

    /// Tries once more to write what is waiting.
    pub(crate) async fn flush(&self) {
        let all = {
            let waiting = lock(&self.waiting);
            if waiting.records.is_empty() {
                return;
            }
            waiting.handed_in
        };
        self.write(all).await;
    }

    fn hand_in(&self, record: Record) -> usize {
        let mut waiting = lock(&self.waiting);
        waiting.records.push(record);
        waiting.handed_in += 1;
        waiting.handed_in
    }

    /// Writes all that waits, unless someone else has written what was handed in as `mine`.
    async fn write(&self, mine: usize) {
        let _turn = self.turn.lock().await;
        let (records, upto) = {
            let mut waiting = lock(&self.waiting);
            if waiting.failed.is_some() {
                waiting.withdraw_intents();
            }
            if waiting.settled >= mine || waiting.records.is_empty() {
                return;
            }
            (std::mem::take(&mut waiting.records), waiting.handed_in)
        };
        let result = self.store.journal(records.clone()).await;
        let mut waiting = lock(&self.waiting);
        match result {
            Ok(()) => {
                waiting.durable += records.len();
                waiting.settled = upto;
            }
            Err(diags) => {
                let later = std::mem::replace(&mut waiting.records, records);
                waiting.records.extend(later);
                waiting.withdraw_intents();
                let settled = waiting.settled;
                waiting.failed.get_or_insert((diags, settled));
            }
        }
    }

    /// How many records are durable: a state that contains all outcomes so far covers so many.
    pub(crate) fn durable(&self) -> usize {
        lock(&self.waiting).durable
    }

    /// Is there a record of what was done that is not durable?
    pub(crate) fn is_behind(&self) -> bool {
        !lock(&self.waiting).records.is_empty()
    }

    /// Why a write failed, if one did.
    pub(crate) fn failed(&self) -> Option<Diags> {
        let waiting = lock(&self.waiting);
        waiting.failed.as_ref().map(|(diags, _)| diags.clone())
    }
}

impl Waiting {
    /// What was not begun is not begun any more.
    fn withdraw_intents(&mut self) {
        self.records.retain(|record| !matches!(record, Record::Intent(_)));
    }
}

#[cfg(test)]
mod tests {
    use ashlar_port::{Outcome, Subject};
    use futures::executor::block_on;

    use super::*;
    use crate::fake::Fake;

    fn intent(address: &str) -> Intent {
        Intent {
            subject: Subject::Object(address.parse().unwrap(), None),
            action: "create".to_owned(),
        }
    }

    fn outcome(address: &str) -> Record {
        Record::Outcome(Outcome {
            subject: Subject::Object(address.parse().unwrap(), None),
            object: None,
        })
    }

    #[test]
    fn after_a_failure_intents_are_refused_and_outcomes_are_written_again() {
        let store = Fake::default();
        let ledger = Ledger::new(&store);
        block_on(async {
            ledger.intend(intent("t.a")).await.unwrap();
            store.fail(2);
            ledger.note(outcome("t.a")).await;
            assert!(ledger.intend(intent("t.b")).await.is_err());
            ledger.note(outcome("t.c")).await;
            assert_eq!((store.journalled(), ledger.durable()), ("t.a?".to_owned(), 1));
            ledger.flush().await;
            assert_eq!(store.journalled(), "t.a? t.a t.c");
            assert_eq!(ledger.durable(), 3);
            assert!(ledger.intend(intent("t.d")).await.is_err());
            ledger.note(outcome("t.e")).await;
            assert_eq!(store.journalled(), "t.a? t.a t.c t.e");
        });
    }

    #[test]
    fn an_intent_that_failed_is_not_written_later() {
        let store = Fake::default();
        let ledger = Ledger::new(&store);
        block_on(async {
            store.fail(1);
            // Both wait for one turn; the second must not be written by the third.
            let (first, second, ()) = futures::join!(
                ledger.intend(intent("t.a")),
                ledger.intend(intent("t.b")),
                ledger.note(outcome("t.c"))
            );
            assert!(first.is_err() && second.is_err());
            assert_eq!(store.journalled(), "t.c");
        });
    }
}
