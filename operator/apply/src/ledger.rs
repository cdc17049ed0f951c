//! The journal's writer: many steps, few writes.
//!
//! Steps that become ready together share one durable write: each hands in its record, and whoever gets the turn writes
//! all that are waiting. `record` returns only when the record is durable.

use std::sync::Mutex;

use ashlar_diag::Diags;
use ashlar_plan::lock;
use ashlar_port::{Record, RunStore};

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
    durable: usize,
    failed: Option<Diags>,
}

impl<'a> Ledger<'a> {
    pub(crate) fn new(store: &'a dyn RunStore) -> Self {
        Self {
            store,
            waiting: Mutex::default(),
            turn: async_lock::Mutex::new(()),
        }
    }

    /// Makes a record durable. After a failure nothing more is written, and every call fails.
    pub(crate) async fn record(&self, record: Record) -> Result<(), Diags> {
        let mine = {
            let mut waiting = lock(&self.waiting);
            waiting.records.push(record);
            waiting.handed_in += 1;
            waiting.handed_in
        };
        let _turn = self.turn.lock().await;
        let records = {
            let mut waiting = lock(&self.waiting);
            if let Some(failed) = &waiting.failed {
                return Err(failed.clone());
            }
            if waiting.durable >= mine {
                return Ok(());
            }
            std::mem::take(&mut waiting.records)
        };
        let count = records.len();
        let result = self.store.journal(records).await;
        let mut waiting = lock(&self.waiting);
        match result {
            Ok(()) => {
                waiting.durable += count;
                Ok(())
            }
            Err(diags) => {
                waiting.failed = Some(diags.clone());
                Err(diags)
            }
        }
    }

    /// How many records are durable: a state that contains all outcomes so far covers so many.
    pub(crate) fn durable(&self) -> usize {
        lock(&self.waiting).durable
    }

    /// Did a write fail?
    pub(crate) fn has_failed(&self) -> bool {
        lock(&self.waiting).failed.is_some()
    }
}
