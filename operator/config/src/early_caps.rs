//! What functions reach while modules are still being loaded: nothing. But a value that files would be needed for is only
//! not known yet, and no fault.

use std::sync::atomic::{AtomicBool, Ordering};

use ashlar_eval::Constants;
use ashlar_funcs::{Caps, CapsError, FileKind};

/// Refuses files, and remembers that one was asked for.
#[derive(Default)]
pub(crate) struct NoFiles {
    asked: AtomicBool,
}

impl NoFiles {
    /// Was a file asked for since this was asked the last time?
    pub(crate) fn take_asked(&self) -> bool {
        self.asked.swap(false, Ordering::Relaxed)
    }

    fn ask(&self) -> Constants {
        self.asked.store(true, Ordering::Relaxed);
        Constants
    }
}

impl Caps for NoFiles {
    fn grant(&self, bytes: usize) -> bool {
        Constants.grant(bytes)
    }

    fn largest(&self) -> u64 {
        Constants.largest()
    }

    fn read_file(&self, path: &str) -> Result<Vec<u8>, CapsError> {
        self.ask().read_file(path)
    }

    fn file_kind(&self, path: &str) -> Result<FileKind, CapsError> {
        self.ask().file_kind(path)
    }

    fn list_dir(&self, path: &str) -> Result<Vec<(String, FileKind)>, CapsError> {
        self.ask().list_dir(path)
    }

    fn cwd(&self) -> Result<String, CapsError> {
        self.ask().cwd()
    }

    fn home(&self) -> Result<String, CapsError> {
        self.ask().home()
    }

    fn timestamp(&self) -> Option<String> {
        Constants.timestamp()
    }

    fn plan_timestamp(&self) -> Option<String> {
        Constants.plan_timestamp()
    }

    fn random(&self) -> Option<[u8; 16]> {
        Constants.random()
    }
}
