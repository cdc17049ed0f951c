//! A store and a clock for tests, which fail and go on as they are told, and no provisioners.

use std::{sync::Mutex, task::Poll};

use ashlar_addr::DeposedKey;
use ashlar_diag::{Diag, Diags};
use ashlar_plan::lock;
use ashlar_port::{Outside, ProviderDiag, ProvisionRequest, Provisioners, Record, RunStore};
use async_trait::async_trait;

#[derive(Default)]
pub(crate) struct Fake {
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    failures: usize,
    journal: Vec<String>,
    saved: String,
    time: u64,
}

impl Fake {
    /// So many of the next writes fail.
    pub(crate) fn fail(&self, times: usize) {
        lock(&self.inner).failures = times;
    }

    pub(crate) fn sleep(&self, ms: u64) {
        lock(&self.inner).time += ms;
    }

    /// The journal, as text.
    pub(crate) fn journalled(&self) -> String {
        lock(&self.inner).journal.join(" ")
    }

    /// The state saved last: its serial and its objects.
    pub(crate) fn saved(&self) -> String {
        lock(&self.inner).saved.clone()
    }

    fn attempt(&self) -> Result<(), Diags> {
        let mut inner = lock(&self.inner);
        if inner.failures == 0 {
            return Ok(());
        }
        inner.failures -= 1;
        Err(Diag::error("Failed to store", "The store is away.").into())
    }
}

/// No machine that a provisioner could reach.
pub(crate) struct NoProvisioners;

#[async_trait]
impl Provisioners for NoProvisioners {
    async fn provision(&self, _: ProvisionRequest<'_>) -> Vec<ProviderDiag> {
        Vec::new()
    }

    async fn stop(&self) {}
}

#[async_trait]
impl RunStore for Fake {
    async fn journal(&self, records: Vec<Record>) -> Result<(), Diags> {
        // Others get their turn meanwhile.
        let mut waits = true;
        futures::future::poll_fn(|context| {
            if std::mem::take(&mut waits) {
                context.waker().wake_by_ref();
                return Poll::Pending;
            }
            Poll::Ready(())
        })
        .await;
        self.attempt()?;
        let place = |key: Option<DeposedKey>| key.map_or("current".to_owned(), |key| key.to_string());
        let told = records.iter().map(|record| match record {
            Record::Intent(intent) => format!("{}?", intent.subject),
            Record::Outcome(outcome) => outcome.subject.to_string(),
            Record::Moved(moved) => {
                format!("{}:{}->{}", moved.address, place(moved.from), place(moved.to))
            }
        });
        lock(&self.inner).journal.extend(told);
        Ok(())
    }

    async fn save(&self, state: Vec<u8>, _: usize) -> Result<(), Diags> {
        self.attempt()?;
        let state = ashlar_state::read(&state)?;
        let objects = state.objects().map(|(address, ..)| format!(" {address}"));
        lock(&self.inner).saved = format!("{}{}", state.serial, objects.collect::<String>());
        Ok(())
    }
}

#[async_trait]
impl Outside for Fake {
    fn now(&self) -> String {
        "2026-01-02T03:04:05Z".to_owned()
    }

    fn unix_ms(&self) -> u64 {
        lock(&self.inner).time
    }

    fn uuid(&self) -> String {
        "u".to_owned()
    }

    fn deposed_key(&self) -> DeposedKey {
        DeposedKey(7)
    }

    fn monotonic_ms(&self) -> u64 {
        lock(&self.inner).time
    }

    async fn pause(&self, ms: u64) {
        self.sleep(ms);
    }
}
