//! What is the same for all runs of a process.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::SystemTime,
};

use ashlar_port::States;
use ashlar_provider::{Fence, Launcher, SchemaCache};
use ashlar_provisioner::Rules;
use sha2::{Digest, Sha256};

/// Settings of a process that runs workspaces.
#[derive(Clone)]
pub struct Settings {
    /// Folders with provider packages.
    pub mirrors: Vec<PathBuf>,
    /// Where packed providers are unpacked; shared by all runs and kept.
    pub cache: PathBuf,
    /// Holds private folders of plugins. Short: socket paths may have 107 bytes.
    pub scratch: PathBuf,
    /// What becomes a plugin.
    pub launcher: Launcher,
    /// Folders that plugins may write to beside their private one, such as a mounted volume; all runs share them.
    pub writable: Vec<PathBuf>,
    /// How plugins are kept to their own.
    pub fence: Fence,
    /// Do plugins see the environment of this process, as in Terraform, or only what a run gives them?
    pub inherit_environment: bool,
    /// What provisioners may do.
    pub provisioners: Rules,
    /// Reads states of others in a cluster, by the rights that the run has there; `None`: it has none.
    pub states: Option<Arc<dyn States>>,
    /// Schemas known already.
    pub schemas: Arc<SchemaCache>,
    /// Digests of binaries known already.
    pub digests: Arc<BinaryDigests>,
}

/// SHA-256 of plugin binaries, computed once for a file that was not written since.
#[derive(Default)]
pub struct BinaryDigests(Mutex<HashMap<PathBuf, Known>>);

/// Length, time of the last write, and digest.
type Known = (u64, Option<SystemTime>, String);

impl BinaryDigests {
    /// `sha256:` and 64 hex digits. Reads the whole file the first time: call it where blocking is allowed.
    pub fn of(&self, path: &Path) -> std::io::Result<String> {
        let metadata = std::fs::metadata(path)?;
        let written = metadata.modified().ok();
        let known = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((length, time, digest)) = known().get(path)
            && *length == metadata.len()
            && *time == written
        {
            return Ok(digest.clone());
        }
        let mut hash = Sha256::new();
        std::io::copy(&mut std::fs::File::open(path)?, &mut hash)?;
        let digest = format!("sha256:{}", hex::encode(hash.finalize()));
        known().insert(path.to_owned(), (metadata.len(), written, digest.clone()));
        Ok(digest)
    }
}
