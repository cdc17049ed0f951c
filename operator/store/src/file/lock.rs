//! The lock on a folder: one writer at a time, Terraform included.
//!
//! Ours is `flock` on a file of its own. Terraform locks the state file with `fcntl`; we take that too, so that neither
//! starts while the other works. Such a lock ends when *any* handle of this process on that file is closed, so the state
//! file is never opened a second time while it is held. The kernel frees both when the process ends.

use std::{
    fs::{self, File, OpenOptions, TryLockError},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

use ashlar_diag::{Diag, Diags};
use rustix::fs::{FlockOperation, fcntl_lock};

use super::disk::{self, DiskError};
use crate::LockInfo;

pub(super) const SUMMARY: &str = "Error acquiring the state lock";

/// Held until dropped.
pub(super) struct Lock {
    /// Kept open: closing it frees the lock.
    _own: File,
    info_file: PathBuf,
    told: bool,
}

/// How often and with which pause a lock that is held is asked for again. A process that this one has just started holds
/// a copy of every handle until it becomes its program, and so, for a moment, locks that were given back.
const TRIES: u32 = 20;
const PAUSE: std::time::Duration = std::time::Duration::from_millis(50);

fn patiently(file: &File) -> Result<(), TryLockError> {
    for _ in 1..TRIES {
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => std::thread::sleep(PAUSE),
            other => return other,
        }
    }
    file.try_lock()
}

impl Lock {
    /// Takes the lock. `own` is our lock file, `info_file` where the holder is told.
    pub(super) fn take(own: &Path, info_file: PathBuf) -> Result<Self, Diags> {
        let file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(own);
        let file = file.map_err(|error| DiskError::new("open", own, error).diags(SUMMARY))?;
        match patiently(&file) {
            Ok(()) => Ok(Self {
                _own: file,
                info_file,
                told: false,
            }),
            Err(TryLockError::WouldBlock) => Err(held(&info_file)),
            Err(TryLockError::Error(error)) => Err(DiskError::new("lock", own, error).diags(SUMMARY)),
        }
    }

    /// Tells who holds it, once Terraform's lock is ours too: until then the file may be Terraform's.
    pub(super) fn tell(&mut self, info: &LockInfo) -> Result<(), Diags> {
        let written = disk::write(&self.info_file, info.to_json().as_bytes(), |_| Ok(()));
        written.map_err(|error| error.diags(SUMMARY))?;
        self.told = true;
        Ok(())
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Only information: whoever locks next writes it anew.
        if self.told
            && let Err(error) = fs::remove_file(&self.info_file)
        {
            tracing::debug!(%error, "the lock information could not be removed");
        }
    }
}

/// Locks the state file against Terraform.
pub(super) fn lock_state(file: &File) -> std::io::Result<()> {
    Ok(fcntl_lock(file, FlockOperation::NonBlockingLockExclusive)?)
}

/// The error that tells who holds the lock.
pub(super) fn held(info_file: &Path) -> Diags {
    let holder = fs::read_to_string(info_file)
        .ok()
        .and_then(|text| LockInfo::from_json(&text));
    let holder = holder.map_or_else(|| "another process".to_owned(), |info| info.to_string());
    Diag::error(
        SUMMARY,
        format!("The state is locked by {holder}. Two runs at once would overwrite each other's work: wait until it ends."),
    )
    .into()
}
