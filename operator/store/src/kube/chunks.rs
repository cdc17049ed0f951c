//! Bytes too large for one Secret, in several that never change.
//!
//! Chunks are written under new names; only then does someone write the manifest, which makes them count. Nothing is
//! overwritten, so a crash leaves the old bytes or the new ones, and at worst chunks that no manifest names: they are
//! swept up later. Each chunk and the whole are checked by hash when they are read.

use std::collections::{BTreeMap, BTreeSet};

use ::kube::{
    Api, Client,
    api::{DeleteParams, ListParams},
};
use k8s_openapi::{ByteString, api::core::v1::Secret, apimachinery::pkg::apis::meta::v1::OwnerReference};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::{
    call::{Fault, as_ashlar, call, persist},
    names::{GROUP, ours},
};

/// How much goes into one Secret: the limit is 1 MiB, less for what else it holds.
pub(super) const CHUNK: usize = 900 * 1024;
/// How many chunks there may be; more would not be a state or a plan.
const MAX_CHUNKS: usize = 600;
const KEY: &str = "chunk";

/// Where the bytes are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Manifest {
    sha256: String,
    chunks: Vec<Chunk>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Chunk {
    name: String,
    sha256: String,
}

impl Manifest {
    /// The Secrets it names.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.chunks.iter().map(|chunk| chunk.name.as_str())
    }
}

/// The chunks of one group in one namespace.
pub(super) struct Chunks {
    api: Api<Secret>,
    namespace: String,
    /// A label value, and the beginning of every name.
    group: String,
    owner: Option<OwnerReference>,
}

impl Chunks {
    /// `group` begins the names, so it is unique in the namespace. With the owner the chunks go.
    pub(super) fn new(
        client: &Client,
        namespace: &str,
        group: String,
        owner: Option<OwnerReference>,
    ) -> Self {
        Self {
            api: Api::namespaced(client.clone(), namespace),
            namespace: namespace.to_owned(),
            group,
            owner,
        }
    }

    /// Writes these pieces, none larger than [`CHUNK`] by more than a few bytes. They count once the manifest is kept.
    pub(super) async fn put(&self, pieces: &[impl AsRef<[u8]>]) -> Result<Manifest, Fault> {
        if pieces.len() > MAX_CHUNKS {
            return Err(Fault::damaged(
                &self.group,
                format!("it is larger than {MAX_CHUNKS} Secrets"),
            ));
        }
        // A name of its own for each attempt: what an earlier one left may be about to be collected.
        let attempt = hex::encode(rand::random::<[u8; 4]>());
        let mut manifest = Manifest {
            sha256: digest_of(pieces),
            chunks: Vec::with_capacity(pieces.len()),
        };
        for (at, piece) in pieces.iter().enumerate() {
            let piece = piece.as_ref();
            let chunk = Chunk {
                name: format!("{}-{attempt}-{at}", self.group),
                sha256: hex::encode(Sha256::digest(piece)),
            };
            let result = self.create(&chunk, piece).await;
            manifest.chunks.push(chunk);
            if let Err(fault) = result {
                self.remove(&manifest).await;
                return Err(fault);
            }
        }
        Ok(manifest)
    }

    async fn create(&self, chunk: &Chunk, piece: &[u8]) -> Result<(), Fault> {
        let mut metadata = ours(&chunk.name, self.owner.as_ref());
        metadata
            .labels
            .get_or_insert_default()
            .insert(GROUP.to_owned(), self.group.clone());
        let secret = Secret {
            metadata,
            data: Some(BTreeMap::from([(KEY.to_owned(), ByteString(piece.to_vec()))])),
            immutable: Some(true),
            ..Secret::default()
        };
        let what = format!("Secret {}/{}", self.namespace, chunk.name);
        let params = as_ashlar();
        match persist("create", &what, || self.api.create(&params, &secret)).await {
            Ok(_) => Ok(()),
            // An attempt whose answer was lost. It cannot be anyone else's, but look.
            Err(fault) if fault.is_conflict() => self.fetch(chunk).await.map(drop),
            Err(fault) => Err(fault),
        }
    }

    /// Reads what a manifest names, piece by piece, and checks it.
    pub(super) async fn get(&self, manifest: &Manifest) -> Result<Vec<Vec<u8>>, Fault> {
        if manifest.chunks.len() > MAX_CHUNKS {
            return Err(Fault::damaged(&self.group, "its manifest names too many chunks"));
        }
        let mut pieces = Vec::with_capacity(manifest.chunks.len());
        for chunk in &manifest.chunks {
            // Whoever can write a manifest must not make us read other Secrets.
            if !chunk.name.starts_with(&self.group) {
                return Err(Fault::damaged(
                    &self.group,
                    "its manifest names a Secret that is no chunk of it",
                ));
            }
            pieces.push(self.fetch(chunk).await?);
        }
        if digest_of(&pieces) != manifest.sha256 {
            return Err(Fault::damaged(
                &self.group,
                "its chunks do not make up what was written",
            ));
        }
        Ok(pieces)
    }

    async fn fetch(&self, chunk: &Chunk) -> Result<Vec<u8>, Fault> {
        let what = format!("Secret {}/{}", self.namespace, chunk.name);
        let secret = persist("read", &what, || self.api.get(&chunk.name)).await?;
        let piece = secret
            .data
            .and_then(|mut data| data.remove(KEY))
            .unwrap_or_default()
            .0;
        if hex::encode(Sha256::digest(&piece)) != chunk.sha256 {
            return Err(Fault::damaged(what, "it does not hold what was written"));
        }
        Ok(piece)
    }

    /// Removes chunks that no manifest in `keep` names. Only whoever may write manifests of this group may do this.
    pub(super) async fn sweep(&self, keep: &[&Manifest]) -> Result<(), Fault> {
        let kept: BTreeSet<&str> = keep.iter().flat_map(|manifest| manifest.names()).collect();
        // From the server's cache: what is not seen yet is swept next time, and a real list would read every Secret.
        let params = ListParams::default()
            .labels(&format!("{GROUP}={}", self.group))
            .match_any();
        let what = format!("Secrets in {}", self.namespace);
        let found = persist("list", &what, || self.api.list_metadata(&params)).await?;
        for object in found.items {
            let name = object.metadata.name.unwrap_or_default();
            if !kept.contains(name.as_str()) {
                self.delete(&name).await?;
            }
        }
        Ok(())
    }

    async fn remove(&self, manifest: &Manifest) {
        for name in manifest.names() {
            if let Err(error) = self.delete(name).await {
                tracing::debug!(%error, name, "a chunk is left for the next sweep");
            }
        }
    }

    async fn delete(&self, name: &str) -> Result<(), Fault> {
        let what = format!("Secret {}/{name}", self.namespace);
        match call("delete", what, self.api.delete(name, &DeleteParams::default())).await {
            Err(fault) if !fault.is_not_found() => Err(fault),
            _ => Ok(()),
        }
    }
}

/// Bytes as pieces of the size of a chunk.
pub(super) fn split(bytes: &[u8]) -> Vec<&[u8]> {
    bytes.chunks(CHUNK).collect()
}

/// Over lengths and pieces, so that moving bytes from one to the next is seen.
fn digest_of(pieces: &[impl AsRef<[u8]>]) -> String {
    let mut hash = Sha256::new();
    for piece in pieces {
        hash.update((piece.as_ref().len() as u64).to_be_bytes());
        hash.update(piece);
    }
    hex::encode(hash.finalize())
}
