//! SHA-256 of the files of packages, taken once of a file that was not written since, by this process or by one before it.
//!
//! A file counts as the same as long as the kernel says so: its inode, its length and its times, of which the last one
//! (ctime) nobody sets at will. A digest that cannot be kept is taken again; one that is kept is never trusted for another file.

use std::{
    collections::HashMap,
    fs, io,
    os::unix::fs::{MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use sha2::{Digest, Sha256};

use crate::hash;

/// Longest note read; longer ones are none of ours.
const NOTE_LIMIT: u64 = 4096;

/// Smaller files are read again faster than noted.
const WORTH_A_NOTE: u64 = if cfg!(test) { 1 } else { 1 << 20 };

/// Digests known already.
#[derive(Default)]
pub struct Digests {
    known: Mutex<HashMap<PathBuf, Known>>,
    /// Holds a note for each file whose digest was taken.
    folder: Option<PathBuf>,
}

/// What tells that a file was not written since, and its digest.
type Known = (String, String);

impl Digests {
    /// Keeps what is known in this folder, too, which others may use at the same time. It is made when it is needed.
    pub fn kept_in(folder: PathBuf) -> Self {
        Self {
            folder: Some(folder),
            ..Self::default()
        }
    }

    /// 64 hex digits. Reads the whole file the first time: call it where blocking is allowed.
    pub fn of(&self, path: &Path) -> io::Result<String> {
        let mark = mark(path)?;
        let known = || self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((then, digest)) = known().get(path)
            && *then == mark
        {
            return Ok(digest.clone());
        }
        let large = fs::metadata(path)?.len() >= WORTH_A_NOTE;
        let folder = self.folder.as_ref().filter(|_| large);
        let note = folder.map(|folder| folder.join(name(path)));
        let kept = note.as_deref().and_then(|note| read(note, path, &mark));
        let digest = match kept {
            Some(digest) => digest,
            None => {
                let digest = hash::sum_of(path)?;
                if let Some(note) = &note
                    && let Err(error) = write(note, path, &mark, &digest)
                {
                    tracing::debug!(%error, note = %note.display(), "the digest of a binary could not be kept");
                }
                digest
            }
        };
        known().insert(path.to_owned(), (mark, digest.clone()));
        Ok(digest)
    }
}

fn mark(path: &Path) -> io::Result<String> {
    let of = fs::metadata(path)?;
    Ok(format!(
        "{}:{} {} {}.{} {}.{}",
        of.dev(),
        of.ino(),
        of.len(),
        of.mtime(),
        of.mtime_nsec(),
        of.ctime(),
        of.ctime_nsec()
    ))
}

fn name(path: &Path) -> String {
    use std::os::unix::ffi::OsStrExt;
    format!(
        "{}.digest",
        hex::encode(Sha256::digest(path.as_os_str().as_bytes()))
    )
}

/// What was noted of this very file.
fn read(note: &Path, path: &Path, mark: &str) -> Option<String> {
    if fs::metadata(note).ok()?.len() > NOTE_LIMIT {
        return None;
    }
    let text = fs::read_to_string(note).ok()?;
    let (text, check) = text.trim_end().rsplit_once('\n')?;
    let mut lines = text.splitn(3, '\n');
    let (digest, then, whose) = (lines.next()?, lines.next()?, lines.next()?);
    let is_whole = check == hex::encode(Sha256::digest(text));
    (is_whole && then == mark && Path::new(whose) == path).then(|| digest.to_owned())
}

fn write(note: &Path, path: &Path, mark: &str, digest: &str) -> io::Result<()> {
    let folder = note.parent().ok_or(io::ErrorKind::NotFound)?;
    fs::create_dir_all(folder)?;
    let text = format!("{digest}\n{mark}\n{}", path.display());
    let check = hex::encode(Sha256::digest(&text));
    let draft = note.with_extension(format!("{}.new", std::process::id()));
    let mut options = fs::OpenOptions::new();
    let mut file = options
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(&draft)?;
    io::Write::write_all(&mut file, format!("{text}\n{check}\n").as_bytes())?;
    fs::rename(draft, note)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_is_taken_anew_only_of_another_file() {
        let root = tempfile::tempdir().unwrap();
        let (binary, notes) = (root.path().join("binary"), root.path().join("notes"));
        let of = || Digests::kept_in(notes.clone()).of(&binary).unwrap();
        fs::write(&binary, "one").unwrap();
        let first = of();
        assert_eq!(first, hex::encode(Sha256::digest("one")));
        // A note that says another digest shows that it is what is read.
        let note = fs::read_dir(&notes).unwrap().next().unwrap().unwrap().path();
        let mark = mark(&binary).unwrap();
        write(&note, &binary, &mark, "noted").unwrap();
        assert_eq!(of(), "noted");
        // A damaged note is none.
        let text = fs::read_to_string(&note).unwrap();
        fs::write(&note, text.replace("noted", "other")).unwrap();
        assert_eq!(of(), first);
        // Nor is one of a file that was written since.
        write(&note, &binary, &mark, "noted").unwrap();
        fs::write(&binary, "two").unwrap();
        assert_eq!(of(), hex::encode(Sha256::digest("two")));
        // In memory, too.
        let digests = Digests::default();
        let before = digests.of(&binary).unwrap();
        fs::write(&binary, "three").unwrap();
        assert_ne!(digests.of(&binary).unwrap(), before);
    }
}
