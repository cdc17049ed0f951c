//! The journal in a Secret.
//!
//! Each append replaces the Secret, so what it holds is kept small: beyond a limit it rolls into chunks, and what the
//! saved state covers is left out the next time something is written. Lines stay readable to people. It is made by the
//! first record, and belongs to the Secret with the state: whoever removes that, and nobody else, removes it too.

use std::collections::BTreeMap;

use ::kube::Client;
use ashlar_diag::Diags;
use ashlar_port::{Intent, Record};
use ashlar_state::Journal;
use k8s_openapi::{ByteString, api::core::v1::Secret, apimachinery::pkg::apis::meta::v1::OwnerReference};

use super::{
    call::Fault,
    chunks::{Chunks, Manifest, split},
    guarded::Guarded,
    lease::Shared,
    names::{Slot, ours},
    state::owner,
};
use crate::recovery::Saved;

const LINES: &str = "journal";
const ROLLED: &str = "rolled";
/// How much the Secret itself may hold.
const ROLL: usize = 700 * 1024;
/// How often it may roll before the state must be saved: what is rolled is read in whole at the next start.
const MAX_ROLLED: usize = 64;

pub(super) const SUMMARY: &str = "Failed to write the journal";

/// The journal as its one writer has it.
pub(super) struct JournalSecret {
    client: Client,
    slot: Slot,
    secret: Guarded,
    journal: Journal,
    rolled: Vec<Manifest>,
    /// The lines that are, or are to be, in the Secret itself.
    tail: Vec<u8>,
    /// Does the Secret hold what may be left out?
    behind: bool,
}

impl JournalSecret {
    /// Claims the journal, if there is one, and reads it.
    pub(super) async fn claim(client: &Client, slot: &Slot, fence: u64) -> Result<Self, Diags> {
        let fault = |fault: Fault| fault.diags(SUMMARY);
        let template = Secret {
            metadata: ours(&slot.journal(), None),
            type_: Some("Opaque".to_owned()),
            ..Secret::default()
        };
        let secret = Guarded::claim(client, slot.namespace(), template, fence)
            .await
            .map_err(fault)?;
        let (journal, rolled) = read(client, slot, secret.secret()).await?;
        let tail = lines(secret.secret()).to_vec();
        let claimed = Self {
            client: client.clone(),
            slot: slot.clone(),
            secret,
            journal,
            rolled,
            tail,
            behind: false,
        };
        let keep: Vec<&Manifest> = claimed.rolled.iter().collect();
        if claimed.secret.exists()
            && let Err(error) = claimed.chunks().sweep(&keep).await
        {
            tracing::warn!(%error, "remains of earlier runs could not be removed");
        }
        Ok(claimed)
    }

    /// What it says.
    pub(super) fn journal(&self) -> &Journal {
        &self.journal
    }

    /// Adds records. `owner` is the Secret with the state.
    pub(super) async fn append(
        &mut self,
        lock: &Shared,
        owner: &OwnerReference,
        records: Vec<Record>,
    ) -> Result<(), Diags> {
        let more = self.journal.lines(&records)?;
        self.write(lock, owner, &more).await?;
        self.journal.push(records);
        Ok(())
    }

    /// Notes that a saved state contains these records; the Secret follows when it is written next.
    pub(super) fn saved(&mut self, saved: &Saved) -> Result<(), Diags> {
        self.journal.drop_covered(&saved.state, saved.covered);
        self.begin_anew()
    }

    /// Notes that the state with this digest contains all there is to know but for these intents; the Secret follows when
    /// it is written next. Numbers go on from `number` at least.
    pub(super) fn rebase(&mut self, state: &str, open: &[Intent], number: u64) -> Result<(), Diags> {
        self.journal.rebase(state, open, number);
        self.begin_anew()
    }

    fn begin_anew(&mut self) -> Result<(), Diags> {
        self.tail = self.journal.bytes()?;
        self.rolled.clear();
        let secret = self.secret.secret();
        self.behind = lists_chunks(secret) || lines(secret) != self.tail;
        Ok(())
    }

    /// Brings the Secret, if there is one, up to what was noted, and to its owner.
    pub(super) async fn settle(&mut self, lock: &Shared, owner: &OwnerReference) -> Result<(), Diags> {
        let owned = self.secret.secret().metadata.owner_references.as_deref();
        if self.secret.exists() && (self.behind || owned != Some(std::slice::from_ref(owner))) {
            self.write(lock, owner, &[]).await?;
        }
        Ok(())
    }

    fn chunks(&self) -> Chunks {
        Chunks::new(
            &self.client,
            self.slot.namespace(),
            self.slot.chunks("journal"),
            Some(owner(self.secret.secret())),
        )
    }

    /// Writes the Secret with more lines, for as long as the lock is held. On failure nothing is changed here, so that it
    /// can be tried again.
    async fn write(&mut self, lock: &Shared, owner: &OwnerReference, more: &[u8]) -> Result<(), Diags> {
        let mut patience = lock.while_held();
        loop {
            match self.try_write(lock, owner, more).await {
                Ok(()) => return Ok(()),
                Err(fault) => patience
                    .again(fault)
                    .await
                    .map_err(|fault| fault.diags(SUMMARY))?,
            }
        }
    }

    async fn try_write(&mut self, lock: &Shared, owner: &OwnerReference, more: &[u8]) -> Result<(), Fault> {
        let mut tail = [&self.tail, more].concat();
        let mut rolled = self.rolled.clone();
        if tail.len() > ROLL {
            if rolled.len() >= MAX_ROLLED {
                let what = self.slot.tell("Secret", &self.slot.journal());
                return Err(Fault::damaged(
                    what,
                    "the journal grew too large; the state must be saved first",
                ));
            }
            lock.check()?;
            if !self.secret.exists() {
                // The chunks need their owner first.
                let change = |secret: &mut Secret| {
                    secret.metadata.owner_references = Some(vec![owner.clone()]);
                };
                self.secret.update(|| lock.check(), change).await?;
            }
            rolled.push(self.chunks().put(&split(&tail)).await?);
            tail.clear();
        }
        let list =
            serde_json::to_vec(&rolled).map_err(|_| Fault::damaged("the manifest", "it is no JSON"))?;
        let change = |secret: &mut Secret| {
            secret.metadata.owner_references = Some(vec![owner.clone()]);
            let data = secret.data.get_or_insert_with(BTreeMap::new);
            data.insert(LINES.to_owned(), ByteString(tail.clone()));
            if rolled.is_empty() {
                data.remove(ROLLED);
            } else {
                data.insert(ROLLED.to_owned(), ByteString(list.clone()));
            }
        };
        let had = lists_chunks(self.secret.secret());
        self.secret.update(|| lock.check(), change).await?;
        if had
            && rolled.is_empty()
            && let Err(error) = self.chunks().sweep(&[]).await
        {
            tracing::warn!(%error, "old parts of the journal could not be removed");
        }
        self.tail = tail;
        self.rolled = rolled;
        self.behind = false;
        Ok(())
    }

    /// Removes the journal for good.
    pub(super) async fn delete(mut self) -> Result<(), Fault> {
        self.secret.delete().await?;
        self.chunks().sweep(&[]).await
    }
}

fn lines(secret: &Secret) -> &[u8] {
    secret
        .data
        .as_ref()
        .and_then(|data| data.get(LINES))
        .map_or(&[], |lines| &lines.0)
}

fn lists_chunks(secret: &Secret) -> bool {
    secret.data.as_ref().is_some_and(|data| data.contains_key(ROLLED))
}

/// Reads the journal that this Secret holds.
pub(super) async fn read(
    client: &Client,
    slot: &Slot,
    secret: &Secret,
) -> Result<(Journal, Vec<Manifest>), Diags> {
    let fault = |fault: Fault| fault.diags("Failed to read the journal");
    let mut bytes = Vec::new();
    let rolled: Vec<Manifest> = match secret.data.as_ref().and_then(|data| data.get(ROLLED)) {
        Some(list) => serde_json::from_slice(&list.0).map_err(|_| {
            fault(Fault::damaged(
                slot.tell("Secret", &slot.journal()),
                "it does not tell where its chunks are",
            ))
        })?,
        None => Vec::new(),
    };
    let chunks = Chunks::new(client, slot.namespace(), slot.chunks("journal"), None);
    for manifest in rolled.iter().take(MAX_ROLLED) {
        bytes.extend(chunks.get(manifest).await.map_err(fault)?.concat());
    }
    bytes.extend_from_slice(lines(secret));
    Ok((Journal::read(&bytes)?.0, rolled))
}
