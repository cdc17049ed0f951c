//! The pretend remote system of the test provider `kiln`: a folder of JSON files; see `tests/providers/README.md`.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};
use serde_json::Value;
use tempfile::TempDir;

/// One remote system, removed when it is dropped.
pub struct World {
    folder: TempDir,
}

impl World {
    /// An empty one.
    pub fn new() -> Result<Self> {
        Ok(Self {
            folder: tempfile::Builder::new().prefix("w").tempdir_in("/tmp")?,
        })
    }

    /// What `KILN_DIR` is to be.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// How often an operation on an object of this name was begun (`start`) or brought to its end (`finish`).
    pub fn count(&self, event: &str, operation: &str, name: &str) -> Result<usize> {
        let log = self.path().join("ops.jsonl");
        if !log.exists() {
            return Ok(0);
        }
        let text = fs::read_to_string(&log)?;
        let entries = text
            .lines()
            .map(serde_json::from_str::<Value>)
            .collect::<Result<Vec<_>, _>>()
            .context("ops.jsonl is damaged")?;
        let wanted = |entry: &&Value| {
            entry["event"] == event && entry["op"] == operation && (name.is_empty() || entry["key"] == name)
        };
        Ok(entries.iter().filter(wanted).count())
    }

    /// The ids of the pots that exist, in order.
    pub fn pots(&self) -> Result<Vec<String>> {
        let folder = self.pot_folder();
        if !folder.exists() {
            return Ok(Vec::new());
        }
        let mut ids = Vec::new();
        for entry in fs::read_dir(folder)? {
            let name = entry?.file_name().to_string_lossy().into_owned();
            ids.extend(name.strip_suffix(".json").map(str::to_owned));
        }
        ids.sort();
        Ok(ids)
    }

    /// What a pot is like.
    pub fn pot(&self, id: &str) -> Result<Value> {
        let text = fs::read(self.pot_file(id)).with_context(|| format!("there is no pot {id}"))?;
        Ok(serde_json::from_slice(&text)?)
    }

    /// Has someone else make a pot.
    pub fn put_pot(&self, id: &str, pot: &Value) -> Result<()> {
        fs::create_dir_all(self.pot_folder())?;
        Ok(fs::write(self.pot_file(id), serde_json::to_vec(pot)?)?)
    }

    /// Has someone else remove a pot.
    pub fn break_pot(&self, id: &str) -> Result<()> {
        fs::remove_file(self.pot_file(id)).with_context(|| format!("there is no pot {id}"))
    }

    /// Has calls fail as this list says, which replaces the last one.
    pub fn faults(&self, faults: &Value) -> Result<()> {
        // Renamed into place: a call must not see half of it.
        let draft = self.path().join("faults.new");
        fs::write(&draft, serde_json::to_vec(faults)?)?;
        Ok(fs::rename(draft, self.path().join("faults.json"))?)
    }

    fn pot_folder(&self) -> PathBuf {
        self.path().join("objects/kiln_pot")
    }

    fn pot_file(&self, id: &str) -> PathBuf {
        self.pot_folder().join(format!("{id}.json"))
    }
}
