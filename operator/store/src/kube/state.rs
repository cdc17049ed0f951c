//! The state in Secrets: exactly as Terraform's backend has it, or, when it is too large for one Secret, in chunks.
//!
//! Chunks are pointed at from the very place where Terraform keeps the state, and by something that is no gzip stream:
//! Terraform then fails at once instead of finding no state and making everything anew, and what its `state push` writes
//! replaces the pointer. What Terraform wrote in several parts is read, and written back as ours.

use std::{
    collections::BTreeMap,
    io::{BufRead, Read, Write},
};

use ::kube::{Api, Client, api::ListParams};
use flate2::{Compression, bufread::GzDecoder, write::GzEncoder};
use k8s_openapi::{
    ByteString,
    api::core::v1::Secret,
    apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference},
};
use serde::{Deserialize, Serialize};

use super::{
    call::{Fault, call, persist},
    chunks::{CHUNK, Chunks, Manifest, split},
    guarded::{Guarded, annotate, annotation},
    lease::Shared,
    names::{COVERED, Slot},
};
use crate::recovery::Saved;

const KEY: &str = "tfstate";
/// No state is larger, so what unpacks to more is an attack.
pub(super) const MAX_STATE: u64 = 256 * 1024 * 1024;

/// Stands in place of the state when it is in chunks.
#[derive(Serialize, Deserialize)]
struct Pointer {
    note: String,
    manifest: Manifest,
}

/// What was found of a state.
pub(super) struct Found {
    /// The state file; `None` if there is none yet.
    pub(super) bytes: Option<Vec<u8>>,
    /// The chunks it is in.
    manifest: Option<Manifest>,
    /// Further Secrets that Terraform wrote.
    parts: Vec<String>,
}

/// The state as its one writer has it.
pub(super) struct StateSecret {
    client: Client,
    slot: Slot,
    secret: Guarded,
    api: Api<Secret>,
    manifest: Option<Manifest>,
    parts: Vec<String>,
}

impl StateSecret {
    /// Claims the state, if there is one, and reads it. A run that only looks leaves nothing behind: Terraform takes any
    /// such Secret for a workspace.
    pub(super) async fn claim(
        client: &Client,
        slot: &Slot,
        fence: u64,
    ) -> Result<(Self, Option<Vec<u8>>), Fault> {
        let template = Secret {
            metadata: ObjectMeta {
                name: Some(slot.secret()),
                labels: Some(slot.labels()),
                annotations: Some(BTreeMap::from([("encoding".to_owned(), "gzip".to_owned())])),
                ..ObjectMeta::default()
            },
            type_: Some("Opaque".to_owned()),
            ..Secret::default()
        };
        let secret = Guarded::claim(client, slot.namespace(), template, fence).await?;
        let found = find(client, slot, secret.secret()).await?;
        let exists = secret.exists();
        let api = Api::namespaced(client.clone(), slot.namespace());
        let (client, slot) = (client.clone(), slot.clone());
        let mut state = Self {
            client,
            slot,
            secret,
            api,
            manifest: found.manifest,
            parts: found.parts,
        };
        if exists {
            state.find_remains().await;
        }
        Ok((state, found.bytes))
    }

    /// What runs that broke off left behind: chunks that nothing names go now, parts after the next write.
    async fn find_remains(&mut self) {
        let keep: Vec<&Manifest> = self.manifest.iter().collect();
        let swept = self.chunks().sweep(&keep).await;
        let parts = part_names(&self.api, &self.slot, true).await;
        match swept.and(parts) {
            Ok(parts) if parts.len() > self.parts.len() => self.parts = parts,
            Ok(_) => {}
            Err(error) => tracing::warn!(%error, "remains of earlier runs could not be found"),
        }
    }

    /// Is there one?
    pub(super) fn exists(&self) -> bool {
        self.secret.exists()
    }

    /// The Secret as last seen.
    pub(super) fn secret(&self) -> &Secret {
        self.secret.secret()
    }

    /// The reference to it, if there is one.
    pub(super) fn reference(&self) -> Option<OwnerReference> {
        self.secret.exists().then(|| owner(self.secret()))
    }

    /// The reference to it, for what is to go with it; makes the Secret if there is none.
    pub(super) async fn ensure(&mut self, lock: &Shared) -> Result<OwnerReference, Fault> {
        if !self.secret.exists() {
            self.secret.update(|| lock.check(), |_| {}).await?;
        }
        Ok(owner(self.secret()))
    }

    /// Its chunks, which go when the Secret goes.
    fn chunks(&self) -> Chunks {
        chunks(&self.client, &self.slot, Some(owner(self.secret())))
    }

    /// Writes the state, which is the one with this name.
    pub(super) async fn write(&mut self, lock: &Shared, bytes: &[u8], saved: &Saved) -> Result<(), Fault> {
        let packed = pack(bytes);
        let had_chunks = self.manifest.is_some();
        loop {
            let owner_before = self.ensure(lock).await?;
            let (value, manifest) = if packed.len() <= CHUNK {
                (packed.clone(), None)
            } else {
                lock.check()?;
                let manifest = self.chunks().put(&split(&packed)).await?;
                let pointer = Pointer {
                    note: format!(
                        "This state is larger than one Secret and is kept in chunks by Ashlar. Terraform cannot read it: \
                         export it with `{}` first.",
                        self.slot.pulled_by()
                    ),
                    manifest,
                };
                let json = serde_json::to_vec(&pointer)
                    .map_err(|_| Fault::damaged("the manifest", "it is no JSON"))?;
                (json, Some(pointer.manifest))
            };
            let value = ByteString(value);
            let change = |secret: &mut Secret| {
                secret
                    .data
                    .get_or_insert_default()
                    .insert(KEY.to_owned(), value.clone());
                annotate(secret, COVERED, format!("{} {}", saved.covered, saved.state));
                annotate(secret, "encoding", "gzip");
            };
            self.secret.update(|| lock.check(), change).await?;
            self.manifest = manifest;
            // Someone deleted the Secret, and it was made anew: its chunks would go with the old one.
            if self.manifest.is_none() || owner(self.secret()) == owner_before {
                break;
            }
        }
        if let Err(error) = self.tidy(had_chunks).await {
            // The state is saved; what is left over is found again by the next write.
            tracing::warn!(%error, "old parts of the state could not be removed");
        }
        Ok(())
    }

    /// Sets annotations on the state, or removes them.
    pub(super) async fn note(
        &mut self,
        lock: &Shared,
        notes: &[(&str, Option<String>)],
    ) -> Result<(), Fault> {
        let change = |secret: &mut Secret| {
            for (key, value) in notes {
                match value {
                    Some(value) => annotate(secret, key, value),
                    None => {
                        let all = secret.metadata.annotations.as_mut();
                        all.and_then(|all| all.remove(*key));
                    }
                }
            }
        };
        self.secret.update(|| lock.check(), change).await
    }

    /// Removes what the state is no longer in.
    async fn tidy(&mut self, had_chunks: bool) -> Result<(), Fault> {
        if had_chunks || self.manifest.is_some() {
            let keep: Vec<&Manifest> = self.manifest.iter().collect();
            self.chunks().sweep(&keep).await?;
        }
        while let Some(name) = self.parts.last() {
            remove(&self.api, name).await?;
            self.parts.pop();
        }
        Ok(())
    }

    /// Removes the state for good.
    pub(super) async fn delete(mut self, lock: &Shared) -> Result<(), Fault> {
        lock.check()?;
        while let Some(name) = self.parts.pop() {
            remove(&self.api, &name).await?;
        }
        self.secret.delete().await?;
        self.chunks().sweep(&[]).await
    }
}

async fn remove(api: &Api<Secret>, name: &str) -> Result<(), Fault> {
    match call(
        "delete",
        format!("Secret {name}"),
        api.delete(name, &Default::default()),
    )
    .await
    {
        Err(fault) if !fault.is_not_found() => Err(fault),
        _ => Ok(()),
    }
}

fn chunks(client: &Client, slot: &Slot, owner: Option<OwnerReference>) -> Chunks {
    Chunks::new(client, slot.namespace(), slot.chunks("state"), owner)
}

pub(super) fn owner(secret: &Secret) -> OwnerReference {
    OwnerReference {
        api_version: "v1".to_owned(),
        kind: "Secret".to_owned(),
        name: secret.metadata.name.clone().unwrap_or_default(),
        uid: secret.metadata.uid.clone().unwrap_or_default(),
        ..OwnerReference::default()
    }
}

/// Reads the state that this Secret holds or points at.
pub(super) async fn find(client: &Client, slot: &Slot, secret: &Secret) -> Result<Found, Fault> {
    let what = slot.tell("Secret", &slot.secret());
    let damaged = |why: &str| Fault::damaged(&what, why);
    let Some(first) = secret.data.as_ref().and_then(|data| data.get(KEY)) else {
        return Ok(Found {
            bytes: None,
            manifest: None,
            parts: Vec::new(),
        });
    };
    if first.0.starts_with(b"{") {
        let pointer: Pointer = serde_json::from_slice(&first.0)
            .map_err(|_| damaged("it points at chunks in a way that is not known"))?;
        let pieces = chunks(client, slot, None).get(&pointer.manifest).await?;
        let bytes = unpack(&pieces, slot.largest()).map_err(|why| damaged(&why))?;
        return Ok(Found {
            bytes: Some(bytes),
            manifest: Some(pointer.manifest),
            parts: Vec::new(),
        });
    }
    if let Ok(bytes) = unpack(&[&first.0], slot.largest()) {
        return Ok(Found {
            bytes: Some(bytes),
            manifest: None,
            parts: Vec::new(),
        });
    }
    let api = Api::namespaced(client.clone(), slot.namespace());
    let parts = part_names(&api, slot, false).await?;
    let mut pieces = vec![first.0.clone()];
    for name in &parts {
        let part = persist("read", &slot.tell("Secret", name), || api.get(name)).await?;
        pieces.push(
            part.data
                .and_then(|mut data| data.remove(KEY))
                .unwrap_or_default()
                .0,
        );
    }
    let bytes = unpack(&pieces, slot.largest()).map_err(|why| damaged(&why))?;
    Ok(Found {
        bytes: Some(bytes),
        manifest: None,
        parts,
    })
}

/// What was noted when Ashlar wrote the state last: perhaps of one that someone else has replaced since.
pub(super) fn saved(secret: &Secret) -> Option<Saved> {
    let (covered, state) = annotation(secret, COVERED)?.split_once(' ')?;
    Some(Saved {
        state: state.to_owned(),
        covered: covered.parse().ok()?,
    })
}

/// The names of Terraform's further parts, in order; `cached` ones may be a moment old.
async fn part_names(api: &Api<Secret>, slot: &Slot, cached: bool) -> Result<Vec<String>, Fault> {
    let what = format!("Secrets in {}", slot.namespace());
    let params = ListParams::default().labels(&slot.selector());
    let params = if cached { params.match_any() } else { params };
    let found = persist("list", &what, || api.list_metadata(&params)).await?;
    let names = found.items.into_iter().filter_map(|object| object.metadata.name);
    let mut numbered: Vec<(u32, String)> = names.filter_map(|name| Some((slot.part(&name)?, name))).collect();
    numbered.sort();
    Ok(numbered.into_iter().map(|(_, name)| name).collect())
}

fn pack(bytes: &[u8]) -> Vec<u8> {
    let mut packed = GzEncoder::new(Vec::with_capacity(bytes.len() / 8), Compression::default());
    // Writing to memory does not fail.
    let written = packed.write_all(bytes);
    debug_assert!(written.is_ok());
    packed.finish().unwrap_or_default()
}

/// Unpacks a stream cut into pieces. It may end before the last piece: pieces after that are remains of an earlier,
/// larger state, which a crash kept from being removed.
fn unpack(pieces: &[impl AsRef<[u8]>], largest: u64) -> Result<Vec<u8>, String> {
    let mut rest = Pieces {
        pieces: pieces.iter().map(AsRef::as_ref).collect(),
        at: 0,
    };
    let mut bytes = Vec::new();
    let read = GzDecoder::new(&mut rest)
        .take(largest.saturating_add(1))
        .read_to_end(&mut bytes);
    read.map_err(|error| format!("it holds no whole gzip stream ({error})"))?;
    if bytes.len() as u64 > largest {
        return Err(format!("it unpacks to more than {} MiB", largest >> 20));
    }
    if rest.at != 0 {
        return Err("something follows the state in it".to_owned());
    }
    Ok(bytes)
}

/// Pieces read one after the other; `at` is not 0 in the midst of one.
struct Pieces<'a> {
    pieces: std::collections::VecDeque<&'a [u8]>,
    at: usize,
}

impl Read for Pieces<'_> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        let length = self.fill_buf()?.read(into)?;
        self.consume(length);
        Ok(length)
    }
}

impl BufRead for Pieces<'_> {
    fn fill_buf(&mut self) -> std::io::Result<&[u8]> {
        while self.pieces.front().is_some_and(|piece| piece.is_empty()) {
            self.pieces.pop_front();
        }
        Ok(self.pieces.front().map_or(&[], |piece| &piece[self.at..]))
    }

    fn consume(&mut self, amount: usize) {
        self.at += amount;
        if self.pieces.front().is_some_and(|piece| self.at >= piece.len()) {
            self.pieces.pop_front();
            self.at = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(pieces: &[&[u8]], want: Result<&[u8], &str>) {
        match (unpack(pieces, MAX_STATE), want) {
            (Ok(found), Ok(want)) => assert_eq!(found, want),
            (Err(found), Err(want)) => assert!(found.contains(want), "{found}"),
            (found, want) => panic!("{found:?} {want:?}"),
        }
    }

    #[test]
    fn a_stream_may_be_cut_anywhere_and_remains_are_ignored() {
        let bytes: Vec<u8> = (0..2000_u32)
            .flat_map(|number| number.wrapping_mul(2_654_435_761).to_be_bytes())
            .collect();
        let packed = pack(&bytes);
        check(&[&packed], Ok(&bytes));
        for cut in [1, 9, 10, 100, packed.len() - 8, packed.len() - 1] {
            let (a, b) = packed.split_at(cut);
            check(&[a, b], Ok(&bytes));
            check(&[a, &[], b, b"remains", b"more"], Ok(&bytes));
            check(&[a], Err("gzip"));
            check(&[b], Err("gzip"));
        }
        check(&[&packed, b"remains"], Ok(&bytes));
        check(&[&[packed.as_slice(), b"x"].concat()], Err("follows"));
        check(&[b""], Err("gzip"));
    }
}
