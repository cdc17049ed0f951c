//! An end to the memory that constants may take: defaults, files of values, sources of modules. They are evaluated while a
//! configuration is read, before any run has a budget of its own.

use std::cell::Cell;

use ashlar_funcs::{Caps, CapsError, FileKind, NoCaps};

thread_local! {
    /// How many bytes are left, if there is an end.
    static LEFT: Cell<Option<usize>> = const { Cell::new(None) };
}

/// Runs `work`, whose constants together may take no more than so many bytes. Reading a configuration is done on one thread,
/// so the budget is that thread's.
pub fn with_budget<T>(bytes: usize, work: impl FnOnce() -> T) -> T {
    struct Restore(Option<usize>);
    impl Drop for Restore {
        fn drop(&mut self) {
            LEFT.set(self.0);
        }
    }
    let _restore = Restore(LEFT.replace(Some(bytes)));
    work()
}

/// What constants reach: nothing, and memory as far as there is a budget.
pub struct Constants;

impl Caps for Constants {
    fn grant(&self, bytes: usize) -> bool {
        match LEFT.get() {
            None => true,
            Some(left) => {
                LEFT.set(Some(left.saturating_sub(bytes)));
                bytes <= left
            }
        }
    }

    fn largest(&self) -> u64 {
        LEFT.get().map_or(u64::MAX, |left| left as u64)
    }

    fn read_file(&self, path: &str) -> Result<Vec<u8>, CapsError> {
        NoCaps.read_file(path)
    }

    fn file_kind(&self, path: &str) -> Result<FileKind, CapsError> {
        NoCaps.file_kind(path)
    }

    fn list_dir(&self, path: &str) -> Result<Vec<(String, FileKind)>, CapsError> {
        NoCaps.list_dir(path)
    }

    fn cwd(&self) -> Result<String, CapsError> {
        NoCaps.cwd()
    }

    fn home(&self) -> Result<String, CapsError> {
        NoCaps.home()
    }

    fn timestamp(&self) -> Option<String> {
        NoCaps.timestamp()
    }

    fn plan_timestamp(&self) -> Option<String> {
        NoCaps.plan_timestamp()
    }

    fn random(&self) -> Option<[u8; 16]> {
        NoCaps.random()
    }
}
