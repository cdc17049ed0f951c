//! What was fetched, by content, in a folder that several processes share.
//!
//! `content/sha256-HEX/` holds the files of a tree, whole or not at all: it is made beside and renamed. `content/sha256-HEX.use`
//! holds its size; it is locked by whoever uses the content, and its time of change tells when that was. `known/HEX` remembers what a source's
//! revision had for content, so that it is not fetched again. `half-…` is work in progress; its owner holds a lock on it.

use std::{
    collections::BTreeSet,
    fs::{self, File},
    io::{self, Write},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::SystemTime,
};

use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::{fault::Fault, limits::Limits, tree};

/// What was fetched: a folder of plain files that does not change. It stays in the cache as long as this is kept.
#[derive(Clone, Debug)]
pub struct Content {
    /// The files.
    pub folder: PathBuf,
    /// `sha256:` and the digest of the tree of files: of their names, contents, and whether they are programs.
    pub digest: String,
    /// What the source calls it: a commit, the digest of a manifest, a version.
    pub revision: String,
    /// Holds the lock that keeps it in the cache.
    _in_use: Arc<File>,
}

impl Content {
    /// The same by another name: several revisions may have the same content.
    pub(crate) fn called(mut self, revision: &str) -> Self {
        revision.clone_into(&mut self.revision);
        self
    }
}

/// The folder.
#[derive(Clone)]
pub(crate) struct Cache {
    folder: PathBuf,
    limits: Limits,
    /// One clean-up at a time.
    cleaning: Arc<Mutex<()>>,
    /// Digests of contents that were looked through by this process: each is once.
    verified: Arc<Mutex<BTreeSet<String>>>,
}

/// What a source's revision had for content.
#[derive(Serialize, Deserialize)]
struct Known {
    digest: String,
    revision: String,
}

/// A folder for work in progress; removed when this is dropped.
pub(crate) struct Half {
    pub(crate) folder: PathBuf,
    place: tempfile::TempDir,
    _lock: File,
}

impl Half {
    /// Where work in progress may keep more; it goes with the rest.
    pub(crate) fn scratch(&self) -> &Path {
        self.place.path()
    }
}

impl Cache {
    pub(crate) fn new(folder: PathBuf, limits: Limits) -> Result<Self, Fault> {
        let cache = Self {
            folder,
            limits,
            cleaning: Arc::default(),
            verified: Arc::default(),
        };
        for folder in [cache.contents(), cache.folder.join("known")] {
            fs::create_dir_all(folder).map_err(|error| cache.unusable(&error))?;
        }
        Ok(cache)
    }

    fn unusable(&self, error: &io::Error) -> Fault {
        let folder = self.folder.display();
        Fault::local(&format!("The cache of sources in {folder} cannot be used"), error)
    }

    fn contents(&self) -> PathBuf {
        self.folder.join("content")
    }

    /// A folder for work in progress.
    pub(crate) fn half(&self) -> Result<Half, Fault> {
        let attempt = || {
            let place = tempfile::Builder::new()
                .prefix("half-")
                .tempdir_in(&self.folder)?;
            let lock = File::open(place.path())?;
            flock(&lock, FlockOperation::LockShared)?;
            let folder = place.path().join("tree");
            fs::create_dir(&folder)?;
            Ok(Half {
                folder,
                place,
                _lock: lock,
            })
        };
        attempt().map_err(|error: io::Error| self.unusable(&error))
    }

    /// Takes a finished tree in.
    pub(crate) fn keep(&self, half: &Half, digest: &str, revision: &str) -> Result<Content, Fault> {
        let target = self.place_of(digest)?;
        let attempt = || {
            let mut in_use = self.lock(&target)?;
            if target.is_dir() && tree::digest(&target).is_ok_and(|found| found == digest) {
                return Ok(in_use);
            }
            let size = size_of(&half.folder)?;
            if target.is_dir() {
                // Damaged: it makes room for what is sound. Whoever has it open keeps that.
                let aside = half.scratch().join("damaged");
                fs::rename(&target, aside)?;
            }
            match fs::rename(&half.folder, &target) {
                // Somebody else was faster, with the same content.
                Err(_) if target.is_dir() => {}
                renamed => renamed?,
            }
            in_use.set_len(0)?;
            in_use.write_all(size.to_string().as_bytes())?;
            Ok(in_use)
        };
        let in_use = attempt().map_err(|error: io::Error| self.unusable(&error))?;
        self.clean();
        Ok(Content {
            folder: target,
            digest: digest.to_owned(),
            revision: revision.to_owned(),
            _in_use: Arc::new(in_use),
        })
    }

    fn verified(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.verified.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is kept under a digest. What is damaged counts for nothing.
    pub(crate) fn find(&self, digest: &str, revision: &str) -> Result<Option<Content>, Fault> {
        let folder = self.place_of(digest)?;
        let attempt = || {
            if !folder.is_dir() {
                return Ok(None);
            }
            let in_use = self.lock(&folder)?;
            let sound =
                self.verified().contains(digest) || tree::digest(&folder).is_ok_and(|found| found == digest);
            if sound {
                self.verified().insert(digest.to_owned());
            }
            Ok(sound.then_some(in_use))
        };
        let in_use = attempt().map_err(|error: io::Error| self.unusable(&error))?;
        Ok(in_use.map(|in_use| Content {
            folder,
            digest: digest.to_owned(),
            revision: revision.to_owned(),
            _in_use: Arc::new(in_use),
        }))
    }

    /// Remembers what a source's revision had for content.
    pub(crate) fn remember(&self, source: &[&str], content: &Content) -> Result<(), Fault> {
        let known = Known {
            digest: content.digest.clone(),
            revision: content.revision.clone(),
        };
        let attempt = || {
            let folder = self.folder.join("known");
            let mut file = tempfile::NamedTempFile::new_in(&folder)?;
            serde_json::to_writer(&mut file, &known)?;
            file.persist(folder.join(name_of(source)))?;
            Ok(())
        };
        attempt().map_err(|error: io::Error| self.unusable(&error))
    }

    /// What is remembered, if it is still there.
    pub(crate) fn recall(&self, source: &[&str]) -> Result<Option<Content>, Fault> {
        let path = self.folder.join("known").join(name_of(source));
        let Ok(bytes) = fs::read(path) else {
            return Ok(None);
        };
        match serde_json::from_slice::<Known>(&bytes) {
            Ok(known) if place_name(&known.digest).is_some() => self.find(&known.digest, &known.revision),
            // What cannot be read is fetched again.
            _ => Ok(None),
        }
    }

    fn place_of(&self, digest: &str) -> Result<PathBuf, Fault> {
        let name = place_name(digest).ok_or_else(|| {
            Fault::asked(format!(
                "{} is not a digest: sha256: and 64 hex digits.",
                tree::shown(digest)
            ))
        })?;
        Ok(self.contents().join(name))
    }

    /// Says that a content is used now, and keeps it from being removed while the file is open.
    fn lock(&self, place: &Path) -> io::Result<File> {
        let path = place.with_extension("use");
        loop {
            let file = File::options().create(true).append(true).open(&path)?;
            flock(&file, FlockOperation::LockShared)?;
            // Whoever removed the content in between removed the file too.
            if is_same(&file, &path) {
                file.set_modified(SystemTime::now())?;
                return Ok(file);
            }
        }
    }

    /// Removes what was not used for longest, as long as all together is too large; and what broken-off work left.
    fn clean(&self) {
        let Ok(_one) = self.cleaning.try_lock().or_else(|error| match error {
            std::sync::TryLockError::Poisoned(poisoned) => Ok(PoisonError::into_inner(poisoned)),
            error => Err(error),
        }) else {
            return;
        };
        let cleaned = self.remove_halves().and_then(|()| self.remove_unused());
        if let Err(error) = cleaned.and_then(|()| self.forget_removed()) {
            tracing::warn!(%error, folder = %self.folder.display(), "the cache of sources could not be cleaned");
        }
    }

    fn remove_halves(&self) -> io::Result<()> {
        for entry in fs::read_dir(&self.folder)? {
            let entry = entry?;
            if !entry.file_name().to_string_lossy().starts_with("half-") {
                continue;
            }
            let Ok(lock) = File::open(entry.path()) else {
                continue;
            };
            if flock(&lock, FlockOperation::NonBlockingLockExclusive).is_ok() && is_old(&entry) {
                let _ = fs::remove_dir_all(entry.path());
            }
        }
        Ok(())
    }

    /// Forgets sources whose content is there no more.
    fn forget_removed(&self) -> io::Result<()> {
        for entry in fs::read_dir(self.folder.join("known"))? {
            let entry = entry?;
            let known = fs::read(entry.path()).unwrap_or_default();
            let place = serde_json::from_slice::<Known>(&known)
                .ok()
                .and_then(|known| place_name(&known.digest))
                .map(|name| self.contents().join(name));
            if !place.is_some_and(|place| place.is_dir()) && is_old(&entry) {
                let _ = fs::remove_file(entry.path());
            }
        }
        Ok(())
    }

    fn remove_unused(&self) -> io::Result<()> {
        let mut all = Vec::new();
        for entry in fs::read_dir(self.contents())? {
            let path = entry?.path();
            if path.is_dir() {
                let used = fs::metadata(path.with_extension("use")).and_then(|metadata| metadata.modified());
                let size = fs::read_to_string(path.with_extension("use")).ok();
                let size = size.and_then(|size| size.parse().ok());
                let size = size.unwrap_or_else(|| size_of(&path).unwrap_or(0));
                all.push((used.unwrap_or(SystemTime::UNIX_EPOCH), path, size));
            }
        }
        all.sort();
        let mut total: u64 = all.iter().map(|(_, _, size)| size).sum();
        for (_, path, size) in all {
            if total <= self.limits.cache_bytes {
                break;
            }
            let mark = path.with_extension("use");
            let lock = File::options().create(true).append(true).open(&mark)?;
            if flock(&lock, FlockOperation::NonBlockingLockExclusive).is_err() || !is_same(&lock, &mark) {
                continue;
            }
            // First out of the way at once, so that nobody finds half of it.
            let aside = tempfile::Builder::new()
                .prefix("half-")
                .tempdir_in(&self.folder)?;
            fs::rename(&path, aside.path().join("unused"))?;
            fs::remove_file(&mark)?;
            total -= size;
        }
        Ok(())
    }
}

fn place_name(digest: &str) -> Option<String> {
    let hex = digest.strip_prefix("sha256:")?;
    let sound = hex.len() == 64
        && hex
            .bytes()
            .all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
    sound.then(|| format!("sha256-{hex}"))
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

/// A folder without a lock may be one that is about to get it.
fn is_old(entry: &fs::DirEntry) -> bool {
    let changed = entry.metadata().and_then(|metadata| metadata.modified());
    changed
        .ok()
        .and_then(|changed| changed.elapsed().ok())
        .is_some_and(|age| age.as_secs() > 60)
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
