//! Packages that were unpacked, by the content of their archives, in a folder that several processes and replicas share.
//!
//! `sha256-HEX/` holds the files of the archive with that SHA-256, whole or not at all: it is made beside and renamed.
//! `sha256-HEX.use` holds its size and its `h1:` hash; it is locked by whoever uses the package, and its time of change tells when that
//! was. `known/HEX` remembers which archive a source had for a provider's version. `half-…` is work in progress; its owner
//! holds a lock on it. What is in the cache is trusted no further than its name: what it should be is the caller's to know.

use std::{
    fs::{self, File},
    io,
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
    sync::Arc,
    time::SystemTime,
};

use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::{
    hash::{self, Hashes},
    unpack::{UnpackError, extract},
};

/// The folder. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Cache {
    folder: PathBuf,
    most_bytes: u64,
}

/// A package in the cache. It stays there as long as this is kept.
#[derive(Clone, Debug)]
pub(crate) struct Kept {
    /// Its files.
    pub(crate) folder: PathBuf,
    /// `h1:` of them, as they were unpacked; none if that is not known.
    pub(crate) h1: Option<String>,
    /// Holds the lock that keeps it in the cache.
    pub(crate) in_use: InUse,
}

/// Keeps a package in the cache.
#[derive(Clone, Debug)]
pub struct InUse(#[expect(dead_code, reason = "it is there to be dropped: the lock goes with it")] Arc<File>);

/// What a source had for a provider's version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Known {
    /// `zh:` of the archive.
    pub(crate) archive: String,
    /// Hashes of the packages for other platforms, as whoever made them signed them.
    pub(crate) vouched: Hashes,
    /// Whose key that was.
    pub(crate) key: Option<String>,
}

/// A folder for work in progress; removed when this is dropped.
struct Half {
    place: tempfile::TempDir,
    _lock: File,
}

impl Cache {
    /// How much is kept where nobody says: a score of the largest providers.
    pub const USUAL_BYTES: u64 = 16 << 30;

    /// A cache in a folder, which other processes may use at the same time, and which keeps so many bytes at most; what is in use
    /// stays, even if it is more. Nothing is made before it is needed.
    pub fn new(folder: PathBuf, most_bytes: u64) -> Self {
        Self { folder, most_bytes }
    }

    /// Why nothing can be kept in it.
    pub(crate) fn unwritable(&self, error: io::Error) -> UnpackError {
        UnpackError::Write(self.folder.clone(), error)
    }

    fn half(&self) -> io::Result<Half> {
        fs::create_dir_all(&self.folder)?;
        let place = tempfile::Builder::new()
            .prefix("half-")
            .tempdir_in(&self.folder)?;
        let lock = File::open(place.path())?;
        flock(&lock, FlockOperation::LockShared)?;
        Ok(Half { place, _lock: lock })
    }

    /// A file for what is fetched; it is gone when it is closed, however that comes about.
    pub(crate) fn scratch(&self) -> io::Result<File> {
        fs::create_dir_all(&self.folder)?;
        tempfile::tempfile_in(&self.folder)
    }

    /// The package with the archive of this hash (`zh:…`).
    pub(crate) fn find(&self, archive: &str) -> io::Result<Option<Kept>> {
        let Some(folder) = self.place_of(archive).filter(|folder| folder.is_dir()) else {
            return Ok(None);
        };
        let in_use = lock(&folder)?;
        // It may have gone while the lock was waited for.
        if !folder.is_dir() {
            return Ok(None);
        }
        let noted = fs::read_to_string(mark_of(&folder)).unwrap_or_default();
        let h1 = noted.split_whitespace().nth(1).map(str::to_owned);
        let in_use = InUse(Arc::new(in_use));
        Ok(Some(Kept { folder, h1, in_use }))
    }

    /// Takes a package in: unpacks the archive, which has this hash (`zh:…`).
    pub(crate) fn take_in(&self, archive: &File, sum: &str) -> Result<Kept, UnpackError> {
        if let Some(kept) = self.find(sum).map_err(|error| self.unwritable(error))? {
            return Ok(kept);
        }
        let target = self.place_of(sum).ok_or_else(|| {
            UnpackError::Write(
                self.folder.clone(),
                io::Error::other(format!("{sum:?} is no hash")),
            )
        })?;
        let half = self.half().map_err(|error| self.unwritable(error))?;
        let files = half.place.path().join("files");
        fs::create_dir(&files).map_err(|error| self.unwritable(error))?;
        extract(archive, &files)?;
        let attempt = || {
            let h1 = hash::of_folder(&files, &hash::sum_of)?;
            let size = size_of(&files)?;
            let mark = lock(&target)?;
            // Noted before it is there: what is there without its note counts as damaged. All who write it write the same.
            mark.write_all_at(format!("{size} {h1}").as_bytes(), 0)?;
            mark.sync_all()?;
            match fs::rename(&files, &target) {
                // Somebody else was faster, with the same content.
                Err(_) if target.is_dir() => {}
                renamed => renamed?,
            }
            Ok((h1, mark))
        };
        let (h1, mark) = attempt().map_err(|error: io::Error| self.unwritable(error))?;
        self.clean();
        Ok(Kept {
            folder: target,
            h1: Some(h1),
            in_use: InUse(Arc::new(mark)),
        })
    }

    /// Puts a damaged package out of the way. Whoever has it open keeps what it has.
    pub(crate) fn discard(&self, kept: &Kept) -> io::Result<()> {
        let half = self.half()?;
        match fs::rename(&kept.folder, half.place.path().join("damaged")) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            renamed => renamed,
        }
    }

    /// Remembers what a source had.
    pub(crate) fn remember(&self, source: &[&str], known: &Known) -> io::Result<()> {
        let folder = self.folder.join("known");
        fs::create_dir_all(&folder)?;
        let mut file = tempfile::NamedTempFile::new_in(&folder)?;
        serde_json::to_writer(&mut file, known)?;
        file.persist(folder.join(name_of(source)))?;
        Ok(())
    }

    /// What is remembered of a source; what cannot be read is not.
    pub(crate) fn recall(&self, source: &[&str]) -> Option<Known> {
        let bytes = fs::read(self.folder.join("known").join(name_of(source))).ok()?;
        let known: Known = serde_json::from_slice(&bytes).ok()?;
        hash::is_known(&known.archive).then_some(known)
    }

    fn place_of(&self, archive: &str) -> Option<PathBuf> {
        let sum = archive.strip_prefix("zh:").filter(|sum| hash::is_sum(sum))?;
        Some(self.folder.join(format!("sha256-{sum}")))
    }

    /// Removes what was not used for longest, as long as all together is too large; and what broken-off work left.
    fn clean(&self) {
        let cleaned = self
            .remove_halves()
            .and_then(|()| self.remove_unused())
            .and_then(|()| self.forget_removed());
        if let Err(error) = cleaned {
            tracing::warn!(%error, folder = %self.folder.display(), "the cache of providers could not be cleaned");
        }
    }

    fn remove_halves(&self) -> io::Result<()> {
        for entry in fs::read_dir(&self.folder)? {
            let entry = entry?;
            if !entry.file_name().to_string_lossy().starts_with("half-") || !is_old(&entry, ABANDONED) {
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

    fn remove_unused(&self) -> io::Result<()> {
        let mut all = Vec::new();
        for entry in fs::read_dir(&self.folder)? {
            let entry = entry?;
            let path = entry.path();
            if !entry.file_name().to_string_lossy().starts_with("sha256-") || !path.is_dir() {
                continue;
            }
            let mark = mark_of(&path);
            let used = fs::metadata(&mark).and_then(|metadata| metadata.modified());
            let noted = fs::read_to_string(&mark).unwrap_or_default();
            let size = noted.split_whitespace().next().and_then(|size| size.parse().ok());
            let size: u64 = size.unwrap_or_else(|| size_of(&path).unwrap_or(0));
            all.push((used.unwrap_or(SystemTime::UNIX_EPOCH), path, size));
        }
        all.sort();
        let mut total: u64 = all.iter().map(|(_, _, size)| size).sum();
        for (_, path, size) in all {
            if total <= self.most_bytes {
                break;
            }
            let mark = mark_of(&path);
            let lock = open_mark(&mark)?;
            if flock(&lock, FlockOperation::NonBlockingLockExclusive).is_err() || !is_same(&lock, &mark) {
                continue;
            }
            // First out of the way at once, so that nobody finds half of it.
            let aside = self.half()?;
            fs::rename(&path, aside.place.path().join("unused"))?;
            fs::remove_file(&mark)?;
            total = total.saturating_sub(size);
        }
        Ok(())
    }

    /// Forgets what sources had that is there no more.
    fn forget_removed(&self) -> io::Result<()> {
        let Ok(entries) = fs::read_dir(self.folder.join("known")) else {
            return Ok(());
        };
        for entry in entries {
            let entry = entry?;
            let known = fs::read(entry.path()).unwrap_or_default();
            let place = serde_json::from_slice::<Known>(&known)
                .ok()
                .and_then(|known| self.place_of(&known.archive));
            if !place.is_some_and(|place| place.is_dir()) && is_old(&entry, SETTLED) {
                let _ = fs::remove_file(entry.path());
            }
        }
        Ok(())
    }
}

fn mark_of(folder: &Path) -> PathBuf {
    folder.with_extension("use")
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

/// Says that a package is used now, and keeps it from being removed while the file is open.
fn lock(folder: &Path) -> io::Result<File> {
    let path = mark_of(folder);
    loop {
        let file = open_mark(&path)?;
        flock(&file, FlockOperation::LockShared)?;
        // Whoever removed the package in between removed the file too.
        if is_same(&file, &path) {
            file.set_modified(SystemTime::now())?;
            return Ok(file);
        }
    }
}

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

/// After so many seconds nobody is about to lock what is not locked.
const SETTLED: u64 = 60;
/// After so many seconds work in progress is taken for broken off: not every file system tells other machines of locks of folders.
const ABANDONED: u64 = 2 * 3600;

fn is_old(entry: &fs::DirEntry, seconds: u64) -> bool {
    let changed = entry.metadata().and_then(|metadata| metadata.modified());
    changed
        .ok()
        .and_then(|changed| changed.elapsed().ok())
        .is_some_and(|age| age.as_secs() > seconds)
}

fn size_of(folder: &Path) -> io::Result<u64> {
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

#[cfg(test)]
mod tests;
