//! What functions reach while modules are still being loaded: files, where the library has them at hand. Else a value that files
//! would be needed for is only not known yet, and no fault.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use ashlar_eval::Constants;
use ashlar_funcs::{Caps, CapsError, FileKind};

/// Reads the files of others, or refuses and remembers that one was asked for.
#[derive(Default)]
pub(crate) struct EarlyFiles {
    asked: AtomicBool,
    files: Option<Arc<dyn Caps>>,
}

impl EarlyFiles {
    pub(crate) fn new(files: Option<Arc<dyn Caps>>) -> Self {
        Self {
            asked: AtomicBool::new(false),
            files,
        }
    }

    /// Was a file asked for in vain since this was asked the last time?
    pub(crate) fn take_asked(&self) -> bool {
        self.asked.swap(false, Ordering::Relaxed)
    }

    /// The working folder, where that is known.
    pub(crate) fn known_cwd(&self) -> Option<String> {
        self.files.as_ref()?.cwd().ok()
    }

    fn ask(&self) -> Constants {
        self.asked.store(true, Ordering::Relaxed);
        Constants
    }
}

impl Caps for EarlyFiles {
    fn grant(&self, bytes: usize) -> bool {
        Constants.grant(bytes)
    }

    fn largest(&self) -> u64 {
        Constants.largest()
    }

    fn read_file(&self, path: &str) -> Result<Vec<u8>, CapsError> {
        match &self.files {
            Some(files) => files.read_file(path),
            None => self.ask().read_file(path),
        }
    }

    fn file_kind(&self, path: &str) -> Result<FileKind, CapsError> {
        match &self.files {
            Some(files) => files.file_kind(path),
            None => self.ask().file_kind(path),
        }
    }

    fn list_dir(&self, path: &str) -> Result<Vec<(String, FileKind)>, CapsError> {
        match &self.files {
            Some(files) => files.list_dir(path),
            None => self.ask().list_dir(path),
        }
    }

    fn cwd(&self) -> Result<String, CapsError> {
        match &self.files {
            Some(files) => files.cwd(),
            None => self.ask().cwd(),
        }
    }

    fn home(&self) -> Result<String, CapsError> {
        match &self.files {
            Some(files) => files.home(),
            None => self.ask().home(),
        }
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
