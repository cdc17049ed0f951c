//! What was fetched, by content, in a folder that several processes share.
//!
//! `content` is a [`shelf`](crate::shelf) whose entries hold the files of a tree. What it remembers is what a source's revision had for
//! content, so that it is not fetched again.

use std::{
    collections::BTreeSet,
    fs::{self, File},
    io::{self, Write},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use serde::{Deserialize, Serialize};

use crate::{
    fault::Fault,
    limits::Limits,
    shelf::{self, Shelf, size_of},
    tree,
};

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
    shelf: Shelf,
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
    place: shelf::Half,
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
            shelf: Shelf::with_content(folder),
            limits,
            cleaning: Arc::default(),
            verified: Arc::default(),
        };
        for folder in [cache.shelf.entries().to_owned(), cache.shelf.known()] {
            fs::create_dir_all(folder).map_err(|error| cache.unusable(&error))?;
        }
        Ok(cache)
    }

    fn unusable(&self, error: &io::Error) -> Fault {
        let folder = self.shelf.folder().display();
        Fault::local(&format!("The cache of sources in {folder} cannot be used"), error)
    }

    /// A folder for work in progress.
    pub(crate) fn half(&self) -> Result<Half, Fault> {
        let attempt = || {
            let place = self.shelf.half()?;
            let folder = place.path().join("tree");
            fs::create_dir(&folder)?;
            Ok(Half { folder, place })
        };
        attempt().map_err(|error: io::Error| self.unusable(&error))
    }

    /// Takes a finished tree in.
    pub(crate) fn keep(&self, half: &Half, digest: &str, revision: &str) -> Result<Content, Fault> {
        let target = self.place_of(digest)?;
        let attempt = || {
            let mut in_use = self.shelf.lock(&target)?;
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
            let in_use = self.shelf.lock(&folder)?;
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
        let kept = self.shelf.remember(source, &known);
        kept.map_err(|error| self.unusable(&error))
    }

    /// What is remembered, if it is still there.
    pub(crate) fn recall(&self, source: &[&str]) -> Result<Option<Content>, Fault> {
        match self.shelf.recall::<Known>(source) {
            Some(known) if sum_of(&known.digest).is_some() => self.find(&known.digest, &known.revision),
            // What cannot be read is fetched again.
            _ => Ok(None),
        }
    }

    fn place_of(&self, digest: &str) -> Result<PathBuf, Fault> {
        let sum = sum_of(digest).ok_or_else(|| {
            Fault::asked(format!(
                "{} is not a digest: sha256: and 64 hex digits.",
                tree::shown(digest)
            ))
        })?;
        Ok(self.shelf.place_of(sum))
    }

    /// Removes what was not used for longest, as long as all together is too large; and what broken-off work left.
    fn clean(&self) {
        let Ok(_one) = self.cleaning.try_lock().or_else(|error| match error {
            std::sync::TryLockError::Poisoned(poisoned) => Ok(PoisonError::into_inner(poisoned)),
            error => Err(error),
        }) else {
            return;
        };
        let place = |known: Known| sum_of(&known.digest).map(|sum| self.shelf.place_of(sum));
        if let Err(error) = self.shelf.clean(self.limits.cache_bytes, place) {
            tracing::warn!(%error, folder = %self.shelf.folder().display(), "the cache of sources could not be cleaned");
        }
    }
}

/// The hex digits of a digest, if it is one.
fn sum_of(digest: &str) -> Option<&str> {
    let hex = digest.strip_prefix("sha256:")?;
    let sound = hex.len() == 64
        && hex
            .bytes()
            .all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
    sound.then_some(hex)
}

#[cfg(test)]
mod tests;
