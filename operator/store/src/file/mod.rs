//! The store of local mode: a folder with `terraform.tfstate`, as Terraform has it, and our own files in `.ashlar`.
//!
//! Opened by one process at a time, which then owns the state until the store is dropped. All work on files is done on
//! threads that may block.

mod disk;
mod lock;
mod plans;

use std::{
    fs::{self, File, OpenOptions},
    io::Write,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use ashlar_diag::{Diag, Diags};
use ashlar_port::{Record, RunStore};
use ashlar_state::Journal;
use async_trait::async_trait;
use sha2::{Digest, Sha256};

use self::{disk::DiskError, lock::Lock};
use crate::{LockInfo, Recovered, recovery::recover};

pub use plans::PlanFiles;

const STATE: &str = "terraform.tfstate";
const SAVING: &str = "Failed to save state";
const READING: &str = "Failed to read state file";

/// A folder's state, locked for this process.
#[derive(Clone)]
pub struct FileStore {
    inner: Arc<Mutex<Inner>>,
    paths: Paths,
}

#[derive(Clone)]
struct Paths {
    state: PathBuf,
    backup: PathBuf,
    lock_info: PathBuf,
    own: PathBuf,
    journal: PathBuf,
    begun: PathBuf,
}

struct Inner {
    paths: Paths,
    /// The state file, open and locked against Terraform; `None` while there is none.
    held: Option<File>,
    /// What the state file held when this run began, until it went into the backup.
    prior: Option<Vec<u8>>,
    journal: Journal,
    /// Open for appending, and how much of it is good.
    log: Option<(File, u64)>,
    /// The number of the last record before this run.
    before: u64,
    /// Last, so that it is freed last.
    _lock: Lock,
}

impl Paths {
    fn of(folder: &Path) -> Self {
        let state = folder.join(STATE);
        // A link is followed, so that it stays a link.
        let state = fs::canonicalize(&state).unwrap_or(state);
        let own = folder.join(".ashlar");
        Self {
            backup: folder.join(format!("{STATE}.backup")),
            lock_info: folder.join(format!(".{STATE}.lock.info")),
            journal: own.join("journal.jsonl"),
            begun: own.join("begun"),
            state,
            own,
        }
    }
}

impl FileStore {
    /// Locks the folder for an operation (`OperationTypeApply`) and reads what is there.
    pub async fn open(folder: &Path, operation: &str) -> Result<(Self, Recovered), Diags> {
        let paths = Paths::of(folder);
        let info = LockInfo {
            path: STATE.to_owned(),
            ..LockInfo::new(operation, &who(), "")
        };
        let (inner, recovered) = {
            let paths = paths.clone();
            blocking(move || Inner::open(paths, &info)).await?
        };
        Ok((
            Self {
                inner: Arc::new(Mutex::new(inner)),
                paths,
            },
            recovered,
        ))
    }

    /// Reads what is there without a lock: it may change the moment after. Not for a folder that this process has
    /// opened: that would free its lock against Terraform.
    pub async fn peek(folder: &Path) -> Result<Recovered, Diags> {
        let paths = Paths::of(folder);
        blocking(move || {
            let state = disk::read(&paths.state).map_err(|error| error.diags(READING))?;
            let (journal, _) = read_journal(&paths)?;
            recovered(&paths, state.as_deref(), &journal)
        })
        .await
    }

    /// The folder's plans.
    pub fn plans(&self) -> PlanFiles {
        PlanFiles::new(self.paths.own.join("plans"))
    }

    /// Notes that the apply of the plan with this digest begins: its approval is spent.
    pub async fn begin(&self, digest: &str) -> Result<(), Diags> {
        let (path, digest) = (self.paths.begun.clone(), digest.to_owned());
        blocking(move || {
            disk::write(&path, digest.as_bytes(), |_| Ok(()))
                .map(drop)
                .map_err(|error| error.diags(SAVING))
        })
        .await
    }

    async fn with_inner<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Inner) -> Result<T, Diags> + Send + 'static,
    ) -> Result<T, Diags> {
        let inner = self.inner.clone();
        blocking(move || work(&mut inner.lock().unwrap_or_else(PoisonError::into_inner))).await
    }
}

#[async_trait]
impl RunStore for FileStore {
    async fn journal(&self, records: Vec<Record>) -> Result<(), Diags> {
        self.with_inner(move |inner| inner.append(records)).await
    }

    async fn save(&self, state: Vec<u8>, covered: usize) -> Result<(), Diags> {
        self.with_inner(move |inner| inner.save(&state, covered)).await
    }
}

impl Inner {
    fn open(paths: Paths, info: &LockInfo) -> Result<(Self, Recovered), Diags> {
        let make = |error| DiskError::new("make", &paths.own, error).diags(lock::SUMMARY);
        fs::create_dir_all(&paths.own).map_err(make)?;
        let ignore = paths.own.join(".gitignore");
        if !ignore.exists() {
            // Plans and journals may hold secrets; no repository should.
            fs::write(&ignore, "*\n").map_err(make)?;
        }
        // Ours first: were the state file opened while this process holds it, closing it would free Terraform's lock.
        let mut lock = Lock::take(&paths.own.join("lock"), paths.lock_info.clone())?;
        let held = match OpenOptions::new().read(true).write(true).open(&paths.state) {
            Ok(file) => {
                lock::lock_state(&file).map_err(|_| lock::held(&paths.lock_info))?;
                Some(file)
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
            Err(error) => return Err(DiskError::new("open", &paths.state, error).diags(READING)),
        };
        lock.tell(info)?;
        let prior = match &held {
            Some(file) => Some(read_held(file, &paths.state)?),
            None => None,
        };
        let (journal, good) = read_journal(&paths)?;
        let recovered = recovered(&paths, prior.as_deref(), &journal)?;
        let before = journal.last();
        let mut inner = Self {
            paths,
            held,
            prior,
            journal,
            log: None,
            before,
            _lock: lock,
        };
        if inner.paths.journal.exists() {
            inner.open_log(good)?;
        }
        Ok((inner, recovered))
    }

    /// Opens the journal and cuts off what was torn.
    fn open_log(&mut self, good: u64) -> Result<&mut (File, u64), Diags> {
        let path = &self.paths.journal;
        let file = disk::open_log(path).map_err(|error| error.diags(SAVING))?;
        file.set_len(good)
            .map_err(|error| DiskError::new("cut", path, error).diags(SAVING))?;
        Ok(self.log.insert((file, good)))
    }

    fn append(&mut self, records: Vec<Record>) -> Result<(), Diags> {
        let lines = self.journal.lines(&records)?;
        self.append_lines(&lines)?;
        self.journal.push(records);
        Ok(())
    }

    fn append_lines(&mut self, lines: &[u8]) -> Result<(), Diags> {
        let path = self.paths.journal.clone();
        let (file, good) = match self.log {
            Some(ref mut log) => log,
            None => self.open_log(0)?,
        };
        // Cut first: an append that failed may have left half a line.
        let written = file
            .set_len(*good)
            .and_then(|()| file.write_all(lines))
            .and_then(|()| file.sync_data());
        written.map_err(|error| DiskError::new("append to", &path, error).diags(SAVING))?;
        *good += lines.len() as u64;
        Ok(())
    }

    fn save(&mut self, state: &[u8], covered: usize) -> Result<(), Diags> {
        let covered = self.before + covered as u64;
        if covered > self.journal.last() {
            return Err(
                Diag::error(SAVING, "More of the journal was said to be saved than there is.").into(),
            );
        }
        if !self.journal.is_empty() {
            // Should we die between the two writes, the next run can tell what the state contains.
            let mark = self.journal.saving(&digest(state), covered)?;
            self.append_lines(&mark)?;
        }
        let fault = |error: DiskError| error.diags(SAVING);
        if let Some(prior) = self
            .prior
            .as_deref()
            .filter(|prior| !prior.is_empty() && *prior != state)
        {
            disk::write(&self.paths.backup, prior, |_| Ok(())).map_err(fault)?;
        }
        let file = disk::write(&self.paths.state, state, lock::lock_state).map_err(fault)?;
        self.prior = None;
        self.held = Some(file);
        if !self.journal.is_empty() {
            self.journal.drop_covered(covered);
            self.log = None;
            if self.journal.is_empty() {
                disk::remove(&self.paths.journal).map_err(fault)?;
            } else {
                let bytes = self.journal.bytes()?;
                disk::write(&self.paths.journal, &bytes, |_| Ok(())).map_err(fault)?;
                self.open_log(bytes.len() as u64)?;
            }
        }
        Ok(())
    }
}

/// Reads through the handle that holds the lock.
fn read_held(mut file: &File, path: &Path) -> Result<Vec<u8>, Diags> {
    let mut bytes = Vec::new();
    std::io::Read::read_to_end(&mut file, &mut bytes)
        .map_err(|error| DiskError::new("read", path, error).diags(READING))?;
    Ok(bytes)
}

fn read_journal(paths: &Paths) -> Result<(Journal, u64), Diags> {
    let bytes = disk::read(&paths.journal)
        .map_err(|error| error.diags(READING))?
        .unwrap_or_default();
    let (journal, good) = Journal::read(&bytes)?;
    Ok((journal, good as u64))
}

fn recovered(paths: &Paths, state: Option<&[u8]>, journal: &Journal) -> Result<Recovered, Diags> {
    let covered = journal
        .covered_by(&digest(state.unwrap_or_default()))
        .unwrap_or(0);
    let begun = disk::read(&paths.begun).map_err(|error| error.diags(READING))?;
    let begun = begun.and_then(|bytes| String::from_utf8(bytes).ok());
    Ok(Recovered {
        begun,
        ..recover(state, journal, covered)?
    })
}

fn digest(bytes: &[u8]) -> String {
    hex::encode(Sha256::digest(bytes))
}

/// `user@host`, as far as it can be told.
fn who() -> String {
    let user = std::env::var("USER")
        .or_else(|_| std::env::var("LOGNAME"))
        .unwrap_or_default();
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    format!("{user}@{host}")
}

/// Runs work that may block on a thread for it.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Diags> + Send + 'static,
) -> Result<T, Diags> {
    tokio::task::spawn_blocking(work)
        .await
        .unwrap_or_else(|_| Err(Diag::error(SAVING, "Work on files was broken off.").into()))
}

#[cfg(test)]
mod tests;
