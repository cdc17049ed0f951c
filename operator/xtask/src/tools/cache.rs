//! Cache entries: folders that are either whole or absent, named after a hash of all that went into them.
//!
//! An entry is filled under a lock in a draft folder and renamed into place, so neither a killed build nor two builds
//! at once leave half an entry. A finished entry is never changed.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use sha2::{Digest as _, Sha256};

use crate::{layout, process};

/// Collects what an entry depends on.
pub(super) struct Key(Sha256);

impl Key {
    /// Starts from the recipe: everything of the build that is not in a file.
    pub(super) fn new(recipe: &str) -> Self {
        let mut key = Self(Sha256::new());
        key.part(recipe.as_bytes());
        key
    }

    /// Each part is preceded by its length, so that moving bytes between two parts gives another key.
    fn part(&mut self, bytes: &[u8]) {
        self.0.update((bytes.len() as u64).to_le_bytes());
        self.0.update(bytes);
    }

    /// Adds a file's name and content.
    pub(super) fn file(&mut self, file: &Path) -> Result<()> {
        let content = fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
        self.part(file.file_name().unwrap_or_default().as_encoded_bytes());
        self.part(&content);
        Ok(())
    }

    /// Adds all that Go reads below a folder, in the order of the names: a word changed in a README builds nothing.
    pub(super) fn go_tree(&mut self, folder: &Path) -> Result<()> {
        for entry in sorted(folder)? {
            if entry.is_dir() {
                self.go_tree(&entry)?;
            } else if entry
                .extension()
                .is_some_and(|kind| ["go", "mod", "sum"].into_iter().any(|go| kind == go))
            {
                self.file(&entry)?;
            }
        }
        Ok(())
    }

    /// The key as text.
    pub(super) fn finish(self) -> String {
        hex::encode(&self.0.finalize()[..8])
    }
}

/// The paths in a folder, sorted.
pub(super) fn sorted(folder: &Path) -> Result<Vec<PathBuf>> {
    let read = || -> std::io::Result<Vec<PathBuf>> {
        fs::read_dir(folder)?
            .map(|entry| entry.map(|entry| entry.path()))
            .collect()
    };
    let mut paths = read().with_context(|| format!("cannot list {}", folder.display()))?;
    paths.sort();
    Ok(paths)
}

/// The folder that holds all entries, and the logs of their builds.
pub(super) fn folder() -> Result<PathBuf> {
    Ok(layout::cache()?.join("tools"))
}

/// The folder of the entry `name` with this key; `fill` makes its content when it is not there yet.
pub(super) fn entry(name: &str, key: &str, fill: impl FnOnce(&Path) -> Result<()>) -> Result<PathBuf> {
    entry_in(&folder()?, name, key, fill)
}

fn entry_in(folder: &Path, name: &str, key: &str, fill: impl FnOnce(&Path) -> Result<()>) -> Result<PathBuf> {
    let done = folder.join(format!("{name}-{key}"));
    if done.is_dir() {
        return Ok(done);
    }
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let _lock = process::lock(&folder.join(format!("{name}.lock")), name)?;
    if done.is_dir() {
        return Ok(done);
    }
    let draft = folder.join(format!("{name}.draft"));
    process::remove_folder(&draft)?;
    fs::create_dir(&draft)?;
    fill(&draft)?;
    fs::rename(&draft, &done).with_context(|| format!("cannot move {} into place", draft.display()))?;
    Ok(done)
}

#[cfg(test)]
mod tests {
    use anyhow::bail;

    use super::*;

    #[test]
    fn a_key_tells_parts_apart() {
        let key = |parts: &[&str]| {
            let mut key = Key::new("recipe");
            parts.iter().for_each(|part| key.part(part.as_bytes()));
            key.finish()
        };
        assert_eq!(key(&["ab", "c"]), key(&["ab", "c"]));
        assert_ne!(key(&["ab", "c"]), key(&["a", "bc"]));
        assert_eq!(key(&[]).len(), 16);
    }

    #[test]
    fn an_entry_is_whole_or_absent_and_filled_once() {
        let folder = tempfile::tempdir().unwrap();
        let fill = |text: &'static str| {
            move |draft: &Path| fs::write(draft.join("file"), text).context("cannot write the file")
        };
        let broken = entry_in(folder.path(), "tool", "1", |draft| {
            fill("half")(draft)?;
            bail!("no more")
        });
        assert!(broken.is_err() && !folder.path().join("tool-1").exists());
        let entry = entry_in(folder.path(), "tool", "1", fill("whole")).unwrap();
        assert_eq!(fs::read_to_string(entry.join("file")).unwrap(), "whole");
        let again = entry_in(folder.path(), "tool", "1", |_| bail!("must not be filled again")).unwrap();
        assert_eq!(again, entry);
        assert_ne!(
            entry_in(folder.path(), "tool", "2", fill("other")).unwrap(),
            entry
        );
    }
}
