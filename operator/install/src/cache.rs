//! Packages that were unpacked, by the content of their archives, in a folder that several processes and replicas share.
//!
//! It is a [`shelf`](ashlar_sources::shelf) whose entries hold the files of the archive with that SHA-256; their marks hold their `h1:` hash,
//! too. What it remembers is which archive a source had for a provider's version. What is in the cache is trusted no further than its
//! name: what it should be is the caller's to know.
//!
//! Room for a package is made before anything of it is written, and where none can be made it is refused: the folder holds no more
//! than it may. Of what other processes unpack at the same time nothing is known until it has its name.

use std::{
    fs::{self, File},
    io,
    os::unix::fs::FileExt,
    path::PathBuf,
    sync::Arc,
};

use ashlar_sources::shelf::{Half, Shelf, note_of};
use serde::{Deserialize, Serialize};

use crate::{
    hash::{self, Hashes},
    room::{Reserved, Room},
    unpack::{Packed, UnpackError},
};

/// The folder. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Cache {
    shelf: Shelf,
    most_bytes: u64,
    /// For all that this process unpacks.
    room: Arc<Room>,
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

/// A package that was unpacked, and has no name in the cache yet. It is gone when this is dropped.
pub(crate) struct Draft {
    half: Half,
    files: PathBuf,
    target: PathBuf,
    size: u64,
    /// `h1:` of its files.
    pub(crate) h1: String,
    reserved: Reserved,
}

/// After so many seconds work in progress is taken for broken off: not every file system tells other machines of locks of folders.
const ABANDONED: u64 = 2 * 3600;

impl Cache {
    /// How much is kept where nobody says: a score of the largest providers.
    pub const USUAL_BYTES: u64 = 16 << 30;

    /// How much is unpacked at once where nobody says; the largest providers have less than 1 GiB.
    pub const USUAL_UNPACKED: u64 = 4 << 30;

    /// A cache in a folder, which other processes may use at the same time, and which keeps so many bytes at most; what is in use
    /// stays, and what finds no room beside it is not kept. Nothing is made before it is needed.
    pub fn new(folder: PathBuf, most_bytes: u64) -> Self {
        Self {
            shelf: Shelf::patient(folder, ABANDONED),
            most_bytes,
            room: Room::new(Self::USUAL_UNPACKED.min(most_bytes)),
        }
    }

    /// One that lets a package, and all that are being unpacked at once, have so many bytes at most. For one that nobody has a copy of.
    #[must_use]
    pub fn with_unpacked(mut self, bytes: u64) -> Self {
        self.room = Room::new(bytes.min(self.most_bytes));
        self
    }

    /// Why nothing can be kept in it.
    pub(crate) fn unwritable(&self, error: io::Error) -> UnpackError {
        UnpackError::Write(self.shelf.folder().to_owned(), error)
    }

    fn half(&self) -> io::Result<Half> {
        fs::create_dir_all(self.shelf.folder())?;
        self.shelf.half()
    }

    /// A file for what is fetched; it is gone when it is closed, however that comes about.
    pub(crate) fn scratch(&self) -> io::Result<File> {
        fs::create_dir_all(self.shelf.folder())?;
        tempfile::tempfile_in(self.shelf.folder())
    }

    /// The package with the archive of this hash (`zh:…`).
    pub(crate) fn find(&self, archive: &str) -> io::Result<Option<Kept>> {
        let Some(folder) = self.place_of(archive).filter(|folder| folder.is_dir()) else {
            return Ok(None);
        };
        let in_use = self.shelf.lock(&folder)?;
        // It may have gone while the lock was waited for.
        if !folder.is_dir() {
            return Ok(None);
        }
        let h1 = note_of(&folder).split_whitespace().nth(1).map(str::to_owned);
        let in_use = InUse(Arc::new(in_use));
        Ok(Some(Kept { folder, h1, in_use }))
    }

    /// Takes a package in: unpacks the archive, which has this hash (`zh:…`) and was judged by it.
    pub(crate) fn take_in(&self, archive: &File, sum: &str) -> Result<Kept, UnpackError> {
        match self.find(sum).map_err(|error| self.unwritable(error))? {
            Some(kept) => Ok(kept),
            None => self.keep(self.unpack(archive, sum)?),
        }
    }

    /// Unpacks an archive, which has this hash (`zh:…`). Waits while others of this process unpack too much.
    pub(crate) fn unpack(&self, archive: &File, sum: &str) -> Result<Draft, UnpackError> {
        let unwritable = |error| self.unwritable(error);
        let target = self
            .place_of(sum)
            .ok_or_else(|| unwritable(io::Error::other(format!("{sum:?} is no hash"))))?;
        let packed = Packed::open(archive)?;
        let (size, most) = (packed.size(), self.room.most());
        if size > most {
            return Err(UnpackError::Large { wanted: size, most });
        }
        let reserved = self.room.reserve(size, |all| self.make_room(size, all))?;
        let half = self.half().map_err(unwritable)?;
        let files = half.path().join("files");
        fs::create_dir(&files).map_err(unwritable)?;
        packed.extract(&files)?;
        let h1 = hash::of_folder(&files, &hash::sum_of).map_err(unwritable)?;
        Ok(Draft {
            half,
            files,
            target,
            size,
            h1,
            reserved,
        })
    }

    /// Gives a draft its name.
    pub(crate) fn keep(&self, draft: Draft) -> Result<Kept, UnpackError> {
        let Draft {
            half,
            files,
            target,
            size,
            h1,
            reserved,
        } = draft;
        let attempt = || {
            let mark = self.shelf.lock(&target)?;
            // Noted before it is there: what is there without its note counts as damaged. All who write it write the same.
            mark.write_all_at(format!("{size} {h1}").as_bytes(), 0)?;
            mark.sync_all()?;
            match fs::rename(&files, &target) {
                // Somebody else was faster, with the same content.
                Err(_) if target.is_dir() => {}
                renamed => renamed?,
            }
            // What nobody needs goes before its room does.
            drop(half);
            Ok(mark)
        };
        let mark = reserved
            .settle(attempt)
            .map_err(|error: io::Error| self.unwritable(error))?;
        self.clean();
        Ok(Kept {
            folder: target,
            h1: Some(h1),
            in_use: InUse(Arc::new(mark)),
        })
    }

    /// Has the packages that are kept, and `all` bytes that are reserved for those being unpacked, find room together. `wanted`: what the
    /// one of them needs for which it is made.
    fn make_room(&self, wanted: u64, all: u64) -> Result<(), UnpackError> {
        let stays = self.shelf.make_room(all, self.most_bytes);
        let stays = stays.map_err(|error| self.unwritable(error))?;
        let taken = stays.saturating_add(all.saturating_sub(wanted));
        if taken.saturating_add(wanted) > self.most_bytes {
            return Err(UnpackError::Full {
                wanted,
                most: self.most_bytes,
                taken,
            });
        }
        Ok(())
    }

    /// Puts a damaged package out of the way. Whoever has it open keeps what it has.
    pub(crate) fn discard(&self, kept: &Kept) -> io::Result<()> {
        let half = self.half()?;
        match fs::rename(&kept.folder, half.path().join("damaged")) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            renamed => renamed,
        }
    }

    /// Remembers what a source had.
    pub(crate) fn remember(&self, source: &[&str], known: &Known) -> io::Result<()> {
        self.shelf.remember(source, known)
    }

    /// What is remembered of a source; what cannot be read is not.
    pub(crate) fn recall(&self, source: &[&str]) -> Option<Known> {
        let known: Known = self.shelf.recall(source)?;
        hash::is_known(&known.archive).then_some(known)
    }

    fn place_of(&self, archive: &str) -> Option<PathBuf> {
        let sum = archive.strip_prefix("zh:").filter(|sum| hash::is_sum(sum))?;
        Some(self.shelf.place_of(sum))
    }

    /// Removes what was not used for longest, as long as all together is too large; and what broken-off work left.
    fn clean(&self) {
        let place = |known: Known| self.place_of(&known.archive);
        if let Err(error) = self.shelf.clean(self.most_bytes, place) {
            tracing::warn!(%error, folder = %self.shelf.folder().display(), "the cache of providers could not be cleaned");
        }
    }
}

#[cfg(test)]
mod tests;
