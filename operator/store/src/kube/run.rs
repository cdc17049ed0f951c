//! The store of one run in the cluster: state and journal, written under a lock.

use std::{
    sync::{Arc, Mutex as Cell, PoisonError},
    time::Duration,
};

use ::kube::{Api, Client};
use ashlar_diag::{Diag, Diags};
use ashlar_port::{Intent, Record, RunStore};
use async_trait::async_trait;
use k8s_openapi::{api::core::v1::Secret, apimachinery::pkg::apis::meta::v1::OwnerReference};
use tokio::sync::Mutex;

use super::{
    call::{Fault, persist},
    guarded::annotation,
    journal::{self, JournalSecret},
    lease::{Lock, Shared, lost},
    names::{BEGUN, OWNER, Slot, UNCERTAIN},
    state::{self, StateSecret},
};
use crate::{
    Pulled, Recovered, StateOwner,
    recovery::{Saved, digest, list, recover},
};

const SAVING: &str = "Failed to save state";
const READING: &str = "Failed to read state";
/// How long a save is tried while nobody else has the lock. Nothing is lost by waiting, and much by giving up.
const SAVE_FOR: Duration = Duration::from_secs(600);
/// How often a state that is being written to is read before what was found must do.
const LOOKS: u32 = 5;
/// How much is told of changes with unknown outcome: annotations are small.
const LONGEST_NOTE: usize = 4096;

/// State and journal, as the holder of the lock has them. They have locks of their own: a save that takes long must not
/// keep a record waiting.
pub struct KubeStore {
    lock: Arc<Shared>,
    owner: Option<StateOwner>,
    state: Mutex<StateSecret>,
    journal: Mutex<JournalSecret>,
    /// The Secret with the state, once there is one: the journal belongs to it.
    secret: Cell<Option<OwnerReference>>,
    /// The number of the last record before this run.
    before: u64,
}

impl KubeStore {
    /// Claims state and journal for the holder of the lock, and reads them. What the journal of a broken run adds to the
    /// state is saved. `owner` is the workspace: the state names it once it was applied to.
    pub async fn open(
        client: &Client,
        lock: &Lock,
        owner: Option<StateOwner>,
    ) -> Result<(Self, Recovered), Diags> {
        let shared = lock.shared();
        let slot = lock.slot();
        // The journal first: an earlier holder that is still about must not add to it once the state was read.
        let mut journal = JournalSecret::claim(client, slot, shared.fence()).await?;
        let (mut state, bytes) = StateSecret::claim(client, slot, shared.fence())
            .await
            .map_err(|fault| fault.diags(READING))?;
        let noted = state::saved(state.secret());
        let mut recovered = recover(bytes.as_deref(), journal.journal(), noted.as_ref())?;
        mark(&mut recovered, state.secret());
        // A journal that was removed counts on from what the state says.
        let number = noted
            .map_or(0, |noted| noted.covered)
            .max(journal.journal().last());
        let mut stored = digest(bytes.as_deref().unwrap_or_default());
        if let Some(bytes) = recovered.unsaved()? {
            stored = digest(&bytes);
            let saved = Saved {
                state: stored.clone(),
                covered: number,
            };
            let written = state.write(&shared, &bytes, &saved).await;
            written.map_err(|fault| tell(&fault))?;
        }
        journal.rebase(&stored, &recovered.uncertain, number)?;
        let opened = Self {
            lock: shared,
            owner,
            secret: Cell::new(state.reference()),
            before: journal.journal().last(),
            state: Mutex::new(state),
            journal: Mutex::new(journal),
        };
        Ok((opened, recovered))
    }

    /// Notes that the apply of the plan with this digest begins: its approval is spent, and the state is its workspace's.
    pub async fn begin(&self, digest: &str) -> Result<(), Diags> {
        let mut notes = vec![(BEGUN, Some(digest.to_owned()))];
        if let Some(owner) = &self.owner {
            notes.push((OWNER, Some(serde_json::to_string(owner).unwrap_or_default())));
        }
        self.note(&notes).await
    }

    /// Notes that the state, if there is one, is that of the workspace this store was opened for.
    pub async fn claim(&self) -> Result<(), Diags> {
        let Some(owner) = &self.owner else { return Ok(()) };
        let owner = serde_json::to_string(owner).unwrap_or_default();
        let due = {
            let state = self.state.lock().await;
            state.exists() && annotation(state.secret(), OWNER) != Some(&owner)
        };
        if due {
            self.note(&[(OWNER, Some(owner))]).await
        } else {
            Ok(())
        }
    }

    async fn note(&self, notes: &[(&str, Option<String>)]) -> Result<(), Diags> {
        let mut state = self.state.lock().await;
        let noted = state.note(&self.lock, notes).await;
        self.remember(&state);
        noted.map_err(|fault| tell(&fault))
    }

    /// Ends the run: leaves out of the journal what is saved. A store that is dropped instead loses nothing.
    pub async fn close(self) -> Result<(), Diags> {
        self.settle().await
    }

    async fn settle(&self) -> Result<(), Diags> {
        let Some(owner) = self.reference() else {
            return Ok(());
        };
        let mut journal = self.journal.lock().await;
        journal.settle(&self.lock, &owner).await?;
        let settled = journal.journal().is_empty();
        drop(journal);
        let noted = annotation(self.state.lock().await.secret(), UNCERTAIN).is_some();
        if settled && noted {
            self.note(&[(UNCERTAIN, None)]).await?;
        }
        Ok(())
    }

    /// Ends the last run of a workspace that leaves the state to others. Which changes have no known outcome is noted on
    /// the state for people; the next run on it, of whatever workspace, gets them from the journal.
    pub async fn leave(self, uncertain: &[Intent]) -> Result<(), Diags> {
        if !uncertain.is_empty() {
            let mut told = list(uncertain);
            if told.len() > LONGEST_NOTE {
                told.truncate(told.floor_char_boundary(LONGEST_NOTE));
                told.push('…');
            }
            self.note(&[(UNCERTAIN, Some(told))]).await?;
        }
        self.settle().await
    }

    /// Removes state and journal for good.
    pub async fn delete(self) -> Result<(), Diags> {
        let removed = self.state.into_inner().delete(&self.lock).await;
        let removed = match removed {
            Ok(()) => self.journal.into_inner().delete().await,
            Err(fault) => Err(fault),
        };
        removed.map_err(|fault| fault.diags("Failed to remove state"))
    }

    fn reference(&self) -> Option<OwnerReference> {
        self.secret.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn remember(&self, state: &StateSecret) {
        *self.secret.lock().unwrap_or_else(PoisonError::into_inner) = state.reference();
    }

    /// The Secret that the journal belongs to.
    async fn owner_of_journal(&self) -> Result<OwnerReference, Diags> {
        if let Some(reference) = self.reference() {
            return Ok(reference);
        }
        let mut state = self.state.lock().await;
        let ensured = state.ensure(&self.lock).await;
        self.remember(&state);
        ensured.map_err(|fault| fault.diags(journal::SUMMARY))
    }
}

fn tell(fault: &Fault) -> Diags {
    match fault {
        Fault::LockLost { .. } | Fault::LockUnsure { .. } | Fault::Fenced { .. } => lost(fault),
        _ => fault.diags(SAVING),
    }
}

#[async_trait]
impl RunStore for KubeStore {
    async fn journal(&self, records: Vec<Record>) -> Result<(), Diags> {
        let owner = self.owner_of_journal().await?;
        let mut journal = self.journal.lock().await;
        journal.append(&self.lock, &owner, records).await
    }

    async fn save(&self, state: Vec<u8>, covered: usize) -> Result<(), Diags> {
        let saved = Saved {
            state: digest(&state),
            covered: self.before + covered as u64,
        };
        let mut secret = self.state.lock().await;
        if saved.covered > self.journal.lock().await.journal().last() {
            let detail = "More of the journal was said to be saved than there is.";
            return Err(Diag::error(SAVING, detail).into());
        }
        let owner = self.reference();
        let mut patience = self.lock.for_as_long_as(SAVE_FOR);
        while let Err(fault) = secret.write(&self.lock, &state, &saved).await {
            patience.again(fault).await.map_err(|fault| tell(&fault))?;
        }
        self.remember(&secret);
        let mut journal = self.journal.lock().await;
        journal.saved(&saved)?;
        let now = self.reference();
        if let (true, Some(now)) = (owner.is_some() && owner != now, now) {
            // Someone removed the state, and it was made anew: the journal would go with the old one.
            journal.settle(&self.lock, &now).await?;
        }
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
    Ok(look(client, slot).await?.0)
}

/// Reads the state file without a lock.
pub async fn pull(client: &Client, slot: &Slot) -> Result<Pulled, Diags> {
    let (recovered, stored) = look(client, slot).await?;
    Pulled::new(recovered, stored)
}

async fn look(client: &Client, slot: &Slot) -> Result<(Recovered, Option<Vec<u8>>), Diags> {
    let api: Api<Secret> = Api::namespaced(client.clone(), slot.namespace());
    let fault = |fault: Fault| fault.diags(READING);
    let (name, journal) = (slot.secret(), slot.journal());
    let what = slot.tell("Secret", &journal);
    let mut looks = 0;
    loop {
        let lines = persist("read", &what, || api.get_opt(&journal))
            .await
            .map_err(fault)?;
        let read = async {
            let found = persist("read", &slot.tell("Secret", &name), || api.get_opt(&name))
                .await
                .map_err(fault)?;
            let bytes = match &found {
                Some(secret) => state::find(client, slot, secret).await.map_err(fault)?.bytes,
                None => None,
            };
            let journal = journal::read(client, slot, &lines.clone().unwrap_or_default())
                .await?
                .0;
            let noted = found.as_ref().and_then(state::saved);
            let mut recovered = recover(bytes.as_deref(), &journal, noted.as_ref())?;
            if let Some(secret) = &found {
                mark(&mut recovered, secret);
            }
            Ok::<_, Diags>((recovered, bytes))
        };
        let read = read.await;
        looks += 1;
        if looks >= LOOKS {
            return read;
        }
        // A writer that moved on between the two would make them say what never was; it may also have swept up the
        // chunks that we were about to read.
        let now = persist("read", &what, || api.get_metadata_opt(&journal))
            .await
            .map_err(fault)?;
        let before = lines.and_then(|secret| secret.metadata.resource_version);
        if read.is_ok() && now.and_then(|secret| secret.metadata.resource_version) == before {
            return read;
        }
    }
}
