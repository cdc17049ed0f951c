//! The store of one run in the cluster: state and journal, written under a lock.

use std::sync::Arc;

use ::kube::{Api, Client};
use ashlar_diag::{Diag, Diags};
use ashlar_port::{Record, RunStore};
use async_trait::async_trait;
use k8s_openapi::{api::core::v1::Secret, apimachinery::pkg::apis::meta::v1::OwnerReference};
use tokio::sync::Mutex;

use super::{
    call::{Fault, persist},
    guarded::annotation,
    journal::{self, JournalSecret},
    lease::{Lock, Shared, lost},
    names::{BEGUN, OWNER, Slot},
    state::{self, StateSecret, covered_of},
};
use crate::{Recovered, StateOwner, recovery::recover};

const SAVING: &str = "Failed to save state";
const READING: &str = "Failed to read state";

/// State and journal, as the holder of the lock has them.
pub struct KubeStore {
    client: Client,
    lock: Arc<Shared>,
    owner: Option<StateOwner>,
    inner: Mutex<Inner>,
}

struct Inner {
    state: StateSecret,
    journal: JournalSecret,
    /// The number of the last record before this run.
    before: u64,
}

impl KubeStore {
    /// Claims state and journal for the holder of the lock, and reads them. The journal goes when `owner` (the
    /// workspace) goes; the state stays.
    pub async fn open(
        client: &Client,
        lock: &Lock,
        owner: Option<&OwnerReference>,
    ) -> Result<(Self, Recovered), Diags> {
        let shared = lock.shared();
        let slot = lock.slot();
        // The journal first: an earlier holder that is still about must not add to it once the state was read.
        let journal = JournalSecret::claim(client, slot, owner, shared.fence()).await?;
        let (state, bytes) = StateSecret::claim(client, slot, shared.fence())
            .await
            .map_err(|fault| fault.diags(READING))?;
        let mut recovered = recover(bytes.as_deref(), journal.journal(), covered_of(state.secret()))?;
        mark(&mut recovered, state.secret());
        let before = journal.journal().last();
        let inner = Mutex::new(Inner {
            state,
            journal,
            before,
        });
        Ok((
            Self {
                client: client.clone(),
                lock: shared,
                owner: owner.map(|owner| StateOwner {
                    name: owner.name.clone(),
                    uid: owner.uid.clone(),
                }),
                inner,
            },
            recovered,
        ))
    }

    /// Notes that the apply of the plan with this digest begins: its approval is spent, and the state is its workspace's.
    pub async fn begin(&self, digest: &str) -> Result<(), Diags> {
        let mut notes = vec![(BEGUN, digest.to_owned())];
        if let Some(owner) = &self.owner {
            notes.push((OWNER, serde_json::to_string(owner).unwrap_or_default()));
        }
        let mut inner = self.inner.lock().await;
        let noted = inner.state.note(self.still_held(), &notes).await;
        noted.map_err(|fault| self.tell(&fault))
    }

    /// Ends the run: leaves out of the journal what is saved. A store that is dropped instead loses nothing.
    pub async fn close(self) -> Result<(), Diags> {
        let still_held = self.still_held();
        self.inner.into_inner().journal.settle(still_held).await
    }

    /// Removes state and journal for good.
    pub async fn delete(self) -> Result<(), Diags> {
        let still_held = self.still_held();
        let inner = self.inner.into_inner();
        inner
            .state
            .delete(still_held)
            .await
            .map_err(|fault| fault.diags("Failed to remove state"))?;
        inner
            .journal
            .delete(&self.client)
            .await
            .map_err(|fault| fault.diags("Failed to remove state"))
    }

    fn still_held(&self) -> impl Fn() -> Result<(), Fault> + use<> {
        let lock = self.lock.clone();
        move || lock.check()
    }

    fn tell(&self, fault: &Fault) -> Diags {
        if matches!(fault, Fault::LockLost { .. } | Fault::Fenced { .. }) {
            lost(fault)
        } else {
            fault.diags(SAVING)
        }
    }
}

#[async_trait]
impl RunStore for KubeStore {
    async fn journal(&self, records: Vec<Record>) -> Result<(), Diags> {
        self.inner
            .lock()
            .await
            .journal
            .append(self.still_held(), records)
            .await
    }

    async fn save(&self, state: Vec<u8>, covered: usize) -> Result<(), Diags> {
        let mut inner = self.inner.lock().await;
        let covered = inner.before + covered as u64;
        if covered > inner.journal.journal().last() {
            return Err(
                Diag::error(SAVING, "More of the journal was said to be saved than there is.").into(),
            );
        }
        inner
            .state
            .write(self.still_held(), &state, covered)
            .await
            .map_err(|fault| self.tell(&fault))?;
        inner.journal.covered(covered);
        Ok(())
    }
}

/// What the Secret says of the apply that began last.
fn mark(recovered: &mut Recovered, secret: &Secret) {
    recovered.begun = annotation(secret, BEGUN).map(str::to_owned);
    recovered.owner = annotation(secret, OWNER).and_then(|text| serde_json::from_str(text).ok());
}

/// Reads what is there without a lock: it may change the moment after.
pub async fn peek(client: &Client, slot: &Slot) -> Result<Recovered, Diags> {
    let api: Api<Secret> = Api::namespaced(client.clone(), slot.namespace());
    let fault = |fault: Fault| fault.diags(READING);
    let mut attempts = 0;
    loop {
        let (name, journal) = (slot.secret(), slot.journal());
        let found = persist("read", &slot.tell("Secret", &name), || api.get_opt(&name))
            .await
            .map_err(fault)?;
        // The journal second: then it may say more than the state contains, never less.
        let lines = persist("read", &slot.tell("Secret", &journal), || api.get_opt(&journal))
            .await
            .map_err(fault)?;
        let read = async {
            let bytes = match &found {
                Some(secret) => state::find(client, slot, secret).await.map_err(fault)?.bytes,
                None => None,
            };
            let journal = journal::read(client, slot, &lines.unwrap_or_default()).await?.0;
            let mut recovered = recover(bytes.as_deref(), &journal, found.as_ref().map_or(0, covered_of))?;
            if let Some(secret) = &found {
                mark(&mut recovered, secret);
            }
            Ok::<_, Diags>(recovered)
        };
        match read.await {
            // A writer may have moved on, and swept up the chunks that we were about to read.
            Err(_) if attempts < 2 => attempts += 1,
            answer => return answer,
        }
    }
}
