//! What a folder needs so that its plans have digests: an identity and a key for hashes of values. Kept
//! beside the state, readable by the owner alone.

use std::{
    io::Write,
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

use anyhow::Context;
use ashlar_plan::{Plan, digest};
use serde::{Deserialize, Serialize};

/// The identity of a folder's workspace.
#[derive(Serialize, Deserialize)]
pub(crate) struct Identity {
    uid: String,
    key: String,
}

impl Identity {
    /// Reads it, or makes it on first use.
    pub(crate) fn open(dir: &Path) -> anyhow::Result<Self> {
        let path = path(dir);
        match std::fs::read(&path) {
            Ok(bytes) => serde_json::from_slice(&bytes)
                .with_context(|| format!("{} is damaged; remove it to make a new one", path.display())),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                let identity = Self {
                    uid: hex::encode(rand::random::<[u8; 16]>()),
                    key: hex::encode(rand::random::<[u8; 32]>()),
                };
                identity.write(dir)?;
                Ok(identity)
            }
            Err(error) => Err(error).with_context(|| format!("{} cannot be read", path.display())),
        }
    }

    fn write(&self, dir: &Path) -> anyhow::Result<()> {
        let path = path(dir);
        let failed = || format!("{} cannot be written", path.display());
        let folder = path.parent().unwrap_or(dir);
        std::fs::create_dir_all(folder).with_context(failed)?;
        let fresh = path.with_extension("new");
        let mut file = std::fs::OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&fresh)
            .with_context(failed)?;
        file.write_all(&serde_json::to_vec_pretty(self)?)
            .with_context(failed)?;
        file.sync_all().with_context(failed)?;
        std::fs::rename(&fresh, &path).with_context(failed)
    }

    /// The digest of a plan made here; `last_begun` is that of the last plan whose apply began, so that an approval is
    /// spent once.
    pub(crate) fn digest(&self, plan: &Plan, last_begun: Option<&str>) -> String {
        let key = hex::decode(&self.key).unwrap_or_default();
        let seed = digest::Seed {
            workspace_uid: &self.uid,
            last_begun,
            key: &key,
        };
        digest::digest(plan, seed)
    }
}

fn path(dir: &Path) -> PathBuf {
    dir.join(".ashlar").join("identity.json")
}
