//! What a folder needs so that its plans have digests: an identity, a key for hashes of values, and the digest of the
//! last plan whose apply began. Kept beside the state, readable by the owner alone.

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
    #[serde(default)]
    last_begun: Option<String>,
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
                    last_begun: None,
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

    /// The digest of a plan made here.
    pub(crate) fn digest(&self, plan: &Plan) -> String {
        let key = hex::decode(&self.key).unwrap_or_default();
        digest::digest(
            plan,
            digest::Seed {
                workspace_uid: &self.uid,
                last_begun: self.last_begun.as_deref(),
                key: &key,
            },
        )
    }

    /// Spends an approval: from now on the same plan has another digest.
    pub(crate) fn begin(&mut self, dir: &Path, digest: &str) -> anyhow::Result<()> {
        self.last_begun = Some(digest.to_owned());
        self.write(dir)
    }
}

fn path(dir: &Path) -> PathBuf {
    dir.join(".ashlar").join("identity.json")
}
