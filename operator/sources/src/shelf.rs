//! A folder of things kept by their content, which several processes and replicas share: what its entries are called, who uses
//! them, how old and how large they are, and what makes room.
//!
//! `sha256-HEX/` is an entry, whole or not at all: it is made beside and renamed. `sha256-HEX.use` is its mark: its first word is the
//! entry's size; it is locked by whoever uses the entry, and its time of change tells when that was. `known/HEX` remembers what a
//! source had. `half-…` is work in progress; its owner holds a lock on it. What an entry holds, and whether it is still sound, is
//! the owner's to know: nothing here is believed for its name.

use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    time::SystemTime,
};

use rustix::fs::{FlockOperation, flock};
use serde::{Serialize, de::DeserializeOwned};
use sha2::{Digest, Sha256};

/// After so many seconds nobody is about to lock what is not locked.
const SETTLED: u64 = 60;

/// The folder. It makes none but for what is remembered.
#[derive(Clone, Debug)]
pub struct Shelf {
    /// Holds `known` and work in progress.
    folder: PathBuf,
    /// Holds the entries; within it or the same.
    entries: PathBuf,
    /// After so many seconds work in progress that is not locked is taken for broken off.
    abandoned: u64,
}

/// A folder for work in progress; removed when this is dropped.
#[derive(Debug)]
pub struct Half {
    place: tempfile::TempDir,
    _lock: File,
}

impl Half {
    /// The folder.
    pub fn path(&self) -> &Path {
        self.place.path()
    }
}

impl Shelf {
    /// One with its entries in the folder itself, on a file system that need not tell other machines of locks of folders: work in
    /// progress is left alone for so many seconds.
    pub fn patient(folder: PathBuf, abandoned: u64) -> Self {
        Self {
            entries: folder.clone(),
            folder,
            abandoned,
        }
    }

    /// One with its entries in `content`.
    pub(crate) fn with_content(folder: PathBuf) -> Self {
        Self {
            entries: folder.join("content"),
            folder,
            abandoned: SETTLED,
        }
    }

    /// Where all of it is.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Where entries are.
    pub(crate) fn entries(&self) -> &Path {
        &self.entries
    }

    /// Where what is remembered is.
    pub(crate) fn known(&self) -> PathBuf {
        self.folder.join("known")
    }

    /// The place of an entry, which is there or not; `sum` is 64 hex digits in lower case.
    pub fn place_of(&self, sum: &str) -> PathBuf {
        self.entries.join(format!("sha256-{sum}"))
    }

    /// A folder for work in progress.
    pub fn half(&self) -> io::Result<Half> {
        let place = tempfile::Builder::new()
            .prefix("half-")
            .tempdir_in(&self.folder)?;
        let lock = File::open(place.path())?;
        flock(&lock, FlockOperation::LockShared)?;
        Ok(Half { place, _lock: lock })
    }

    /// Says that an entry is used now, and keeps it from being removed while its mark is open. It need not be there yet.
    pub fn lock(&self, entry: &Path) -> io::Result<File> {
        let path = mark_of(entry);
        loop {
            let file = open_mark(&path)?;
            flock(&file, FlockOperation::LockShared)?;
            // Whoever removed the entry in between removed the file too.
            if is_same(&file, &path) {
                file.set_modified(SystemTime::now())?;
                return Ok(file);
            }
        }
    }

    /// Remembers what a source had.
    pub fn remember(&self, source: &[&str], known: &impl Serialize) -> io::Result<()> {
        let folder = self.known();
        fs::create_dir_all(&folder)?;
        let mut file = tempfile::NamedTempFile::new_in(&folder)?;
        serde_json::to_writer(&mut file, known)?;
        file.persist(folder.join(name_of(source)))?;
        Ok(())
    }

    /// What is remembered of a source; what cannot be read is not.
    pub fn recall<T: DeserializeOwned>(&self, source: &[&str]) -> Option<T> {
        let bytes = fs::read(self.known().join(name_of(source))).ok()?;
        serde_json::from_slice(&bytes).ok()
    }

    /// Removes what was not used for longest, as long as all together is more than so many bytes; what broken-off work left; and what
    /// is remembered of entries that are gone. `place` tells the entry that something remembered stands for.
    pub fn clean<T: DeserializeOwned>(
        &self,
        most_bytes: u64,
        place: impl Fn(T) -> Option<PathBuf>,
    ) -> io::Result<()> {
        self.remove_halves()?;
        self.remove_unused(most_bytes)?;
        self.forget_removed(place)
    }

    fn remove_halves(&self) -> io::Result<()> {
        for entry in fs::read_dir(&self.folder)? {
            let entry = entry?;
            if !entry.file_name().to_string_lossy().starts_with("half-") || !is_old(&entry, self.abandoned) {
                continue;
            }
            let Ok(lock) = File::open(entry.path()) else {
                continue;
            };
            if flock(&lock, FlockOperation::NonBlockingLockExclusive).is_ok() {
                let _ = fs::remove_dir_all(entry.path());
            }
        }
        Ok(())
    }

    /// Has what is kept, and so many bytes that are to come, take no more than `most_bytes`, as far as entries that nobody uses can go
    /// for it. Tells how much stays: entries, and what broken-off work left and may yet be somebody's.
    pub fn make_room(&self, bytes: u64, most_bytes: u64) -> io::Result<u64> {
        fs::create_dir_all(&self.folder)?;
        self.remove_halves()?;
        let left = self.left_halves()?;
        let most = most_bytes.saturating_sub(bytes.saturating_add(left));
        Ok(self.remove_unused(most)?.saturating_add(left))
    }

    /// The size of what may be left of broken-off work: nobody here holds a lock on it.
    fn left_halves(&self) -> io::Result<u64> {
        let mut left = 0u64;
        for entry in fs::read_dir(&self.folder)? {
            let entry = entry?;
            if !entry.file_name().to_string_lossy().starts_with("half-") {
                continue;
            }
            let lock = File::open(entry.path());
            if lock.is_ok_and(|lock| flock(&lock, FlockOperation::NonBlockingLockExclusive).is_ok()) {
                // It may go away meanwhile.
                left = left.saturating_add(size_of(&entry.path()).unwrap_or(0));
            }
        }
        Ok(left)
    }

    fn remove_unused(&self, most_bytes: u64) -> io::Result<u64> {
        let mut all = Vec::new();
        for entry in fs::read_dir(&self.entries)? {
            let entry = entry?;
            let path = entry.path();
            if !entry.file_name().to_string_lossy().starts_with("sha256-") || !path.is_dir() {
                continue;
            }
            let mark = mark_of(&path);
            let used = fs::metadata(&mark).and_then(|metadata| metadata.modified());
            let noted = note_of(&path);
            let size = noted.split_whitespace().next().and_then(|size| size.parse().ok());
            let size: u64 = size.unwrap_or_else(|| size_of(&path).unwrap_or(0));
            all.push((used.unwrap_or(SystemTime::UNIX_EPOCH), path, size));
        }
        all.sort();
        let sizes = all.iter().map(|(_, _, size)| *size);
        let mut total = sizes.fold(0u64, u64::saturating_add);
        for (_, path, size) in all {
            if total <= most_bytes {
                break;
            }
            match self.remove(&path) {
                Ok(true) => total = total.saturating_sub(size),
                Ok(false) => {}
                // Another process may have been faster. What is really left counts the next time.
                Err(error) => {
                    tracing::warn!(%error, entry = %path.display(), "an entry of a cache could not be removed");
                }
            }
        }
        Ok(total)
    }

    /// Removes an entry unless somebody uses it.
    fn remove(&self, entry: &Path) -> io::Result<bool> {
        let mark = mark_of(entry);
        let lock = open_mark(&mark)?;
        if flock(&lock, FlockOperation::NonBlockingLockExclusive).is_err() || !is_same(&lock, &mark) {
            return Ok(false);
        }
        // First out of the way at once, so that nobody finds half of it.
        let aside = self.half()?;
        fs::rename(entry, aside.path().join("unused"))?;
        fs::remove_file(&mark)?;
        Ok(true)
    }

    fn forget_removed<T: DeserializeOwned>(&self, place: impl Fn(T) -> Option<PathBuf>) -> io::Result<()> {
        let Ok(entries) = fs::read_dir(self.known()) else {
            return Ok(());
        };
        for entry in entries {
            let entry = entry?;
            let known = fs::read(entry.path()).unwrap_or_default();
            let place = serde_json::from_slice(&known).ok().and_then(&place);
            if !place.is_some_and(|place| place.is_dir()) && is_old(&entry, SETTLED) {
                let _ = fs::remove_file(entry.path());
            }
        }
        Ok(())
    }
}

/// What the mark of an entry says; nothing if there is none.
pub fn note_of(entry: &Path) -> String {
    fs::read_to_string(mark_of(entry)).unwrap_or_default()
}

/// How much room a folder takes.
pub fn size_of(folder: &Path) -> io::Result<u64> {
    let mut size = 0;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let metadata = entry.metadata()?;
        // A small file takes a block, too.
        size += if metadata.is_dir() {
            size_of(&entry.path())?
        } else {
            metadata.len().max(4096)
        };
    }
    Ok(size)
}

fn mark_of(entry: &Path) -> PathBuf {
    entry.with_extension("use")
}

/// Open for reading, too: network file systems want that of who locks it together with others.
fn open_mark(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    options
        .create(true)
        .truncate(false)
        .read(true)
        .write(true)
        .open(path)
}

/// Sources whose parts join to the same text have different names.
fn name_of(source: &[&str]) -> String {
    let mut hash = Sha256::new();
    for part in source {
        hash.update(part.len().to_be_bytes());
        hash.update(part);
    }
    hex::encode(hash.finalize())
}

/// Is the open file the one that has this name?
fn is_same(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    match (file.metadata(), fs::metadata(path)) {
        (Ok(a), Ok(b)) => (a.dev(), a.ino()) == (b.dev(), b.ino()),
        _ => false,
    }
}

fn is_old(entry: &fs::DirEntry, seconds: u64) -> bool {
    let changed = entry.metadata().and_then(|metadata| metadata.modified());
    changed
        .ok()
        .and_then(|changed| changed.elapsed().ok())
        .is_some_and(|age| age.as_secs() > seconds)
}
