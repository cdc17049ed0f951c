//! The journal in a Secret.
//!
//! Each append replaces the Secret, so what it holds is kept small: beyond a limit it rolls into chunks, and what the
//! saved state covers is left out the next time something is written. Lines stay readable to people.

use std::collections::BTreeMap;

use ::kube::Client;
use ashlar_diag::Diags;
use ashlar_port::Record;
use ashlar_state::Journal;
use k8s_openapi::{ByteString, api::core::v1::Secret, apimachinery::pkg::apis::meta::v1::OwnerReference};

use super::{
    call::{Fault, persist},
    chunks::{Chunks, Manifest, split},
    guarded::Guarded,
    names::{Slot, ours},
    state::owner,
};

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
    /// The lines that are in the Secret itself.
    tail: Vec<u8>,
    /// The number of the last record in a saved state, if it is not left out of the Secret yet.
    saved: Option<u64>,
}

impl JournalSecret {
    /// Claims the journal and reads it.
    pub(super) async fn claim(
        client: &Client,
        slot: &Slot,
        owner: Option<&OwnerReference>,
        fence: u64,
    ) -> Result<Self, Diags> {
        let fault = |fault: Fault| fault.diags(SUMMARY);
        let template = Secret {
            metadata: ours(&slot.journal(), owner),
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
            saved: None,
        };
        let keep: Vec<&Manifest> = claimed.rolled.iter().collect();
        if let Err(error) = claimed.chunks().sweep(&keep).await {
            tracing::warn!(%error, "remains of earlier runs could not be removed");
        }
        Ok(claimed)
    }

    /// What it says.
    pub(super) fn journal(&self) -> &Journal {
        &self.journal
    }

    /// Adds records.
    pub(super) async fn append(
        &mut self,
        still_held: impl Fn() -> Result<(), Fault>,
        records: Vec<Record>,
    ) -> Result<(), Diags> {
        self.leave_out_saved()?;
        let more = self.journal.lines(&records)?;
        self.write(&still_held, &more)
            .await
            .map_err(|fault| fault.diags(SUMMARY))?;
        self.journal.push(records);
        Ok(())
    }

    /// Notes that a saved state contains the records up to this number; the Secret follows when it is written next.
    pub(super) fn covered(&mut self, covered: u64) {
        self.saved = Some(covered);
    }

    /// Brings the Secret up to what was noted.
    pub(super) async fn settle(&mut self, still_held: impl Fn() -> Result<(), Fault>) -> Result<(), Diags> {
        if self.saved.is_some() && !self.journal.is_empty() {
            self.leave_out_saved()?;
            self.write(&still_held, &[])
                .await
                .map_err(|fault| fault.diags(SUMMARY))?;
        }
        Ok(())
    }

    fn leave_out_saved(&mut self) -> Result<(), Diags> {
        if let Some(covered) = self.saved.take()
            && !self.journal.is_empty()
        {
            self.journal.drop_covered(covered);
            self.tail = self.journal.bytes()?;
            self.rolled.clear();
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

    /// Writes the Secret with more lines. On failure nothing is changed here, so that it can be tried again.
    async fn write(&mut self, still_held: &impl Fn() -> Result<(), Fault>, more: &[u8]) -> Result<(), Fault> {
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
            still_held()?;
            rolled.push(self.chunks().put(&split(&tail)).await?);
            tail.clear();
        }
        let list =
            serde_json::to_vec(&rolled).map_err(|_| Fault::damaged("the manifest", "it is no JSON"))?;
        let change = |secret: &mut Secret| {
            let data = secret.data.get_or_insert_with(BTreeMap::new);
            data.insert(LINES.to_owned(), ByteString(tail.clone()));
            if rolled.is_empty() {
                data.remove(ROLLED);
            } else {
                data.insert(ROLLED.to_owned(), ByteString(list.clone()));
            }
        };
        let had = lists_chunks(self.secret.secret());
        self.secret.update(still_held, change).await?;
        if had
            && rolled.is_empty()
            && let Err(error) = self.chunks().sweep(&[]).await
        {
            tracing::warn!(%error, "old parts of the journal could not be removed");
        }
        self.tail = tail;
        self.rolled = rolled;
        Ok(())
    }

    /// Removes the journal for good.
    pub(super) async fn delete(self, client: &Client) -> Result<(), Fault> {
        let api: ::kube::Api<Secret> = ::kube::Api::namespaced(client.clone(), self.slot.namespace());
        let name = self.slot.journal();
        let chunks = self.chunks();
        match persist("delete", &self.slot.tell("Secret", &name), || async {
            api.delete(&name, &Default::default()).await.map(drop)
        })
        .await
        {
            Err(fault) if !fault.is_not_found() => Err(fault),
            _ => chunks.sweep(&[]).await,
        }
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
