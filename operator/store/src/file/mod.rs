//! The store of local mode: a folder with `terraform.tfstate`, as Terraform has it, or another state file, and our own files in
//! `.ashlar`.
//!
//! Opened by one process at a time, which then owns the state until the store is dropped. All work on files is done on
//! threads that may block.

mod disk;
mod lock;
mod workspaces;

use std::{
    fs::{self, File, OpenOptions},
    io::Write,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

pub use self::workspaces::{DEFAULT, Workspaces, is_valid as is_workspace_name};
use self::{disk::DiskError, lock::Lock};
use crate::{
    LockInfo, Pulled, Recovered,
    recovery::{digest, recover},
};
use ashlar_diag::{Diag, Diags};
use ashlar_port::{Record, RunStore};
use ashlar_state::Journal;
use async_trait::async_trait;

const STATE: &str = "terraform.tfstate";
/// How often a folder that is being written to is read before what was found must do.
const LOOKS: u32 = 5;
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

/// Where a state file lies, and what belongs to it beside it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StateFile {
    folder: PathBuf,
    name: String,
}

impl StateFile {
    /// One of any name.
    pub fn at(path: &Path) -> Self {
        let name = path.file_name().unwrap_or(STATE.as_ref());
        let folder = match path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        Self {
            folder: folder.to_owned(),
            name: name.to_string_lossy().into_owned(),
        }
    }

    /// The file itself.
    pub fn path(&self) -> PathBuf {
        self.folder.join(&self.name)
    }
}

/// The one that a folder has.
impl<P: AsRef<Path> + ?Sized> From<&P> for StateFile {
    fn from(folder: &P) -> Self {
        Self {
            folder: folder.as_ref().to_owned(),
            name: STATE.to_owned(),
        }
    }
}

impl Paths {
    fn of(StateFile { folder, name }: &StateFile) -> Self {
        let state = folder.join(name);
        // A link is followed, so that it stays a link.
        let state = fs::canonicalize(&state).unwrap_or(state);
        // States of other names may lie beside each other.
        let own = match &**name {
            STATE => folder.join(".ashlar"),
            _ => folder.join(".ashlar").join("states").join(name),
        };
        Self {
            backup: folder.join(format!("{name}.backup")),
            lock_info: folder.join(format!(".{name}.lock.info")),
            journal: own.join("journal.jsonl"),
            begun: own.join("begun"),
            state,
            own,
        }
    }
}

impl FileStore {
    /// Locks the folder for an operation (`OperationTypeApply`) and reads what is there. What the journal of a broken run
    /// adds to the state is saved.
    pub async fn open(file: impl Into<StateFile>, operation: &str) -> Result<(Self, Recovered), Diags> {
        let file = file.into();
        let paths = Paths::of(&file);
        let info = LockInfo {
            path: file.name,
            ..LockInfo::here(operation)
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
    pub async fn peek(file: impl Into<StateFile>) -> Result<Recovered, Diags> {
        let paths = Paths::of(&file.into());
        blocking(move || Ok(look(&paths)?.0)).await
    }

    /// Reads the state file without a lock, as [`FileStore::peek`] does.
    pub async fn pull(file: impl Into<StateFile>) -> Result<Pulled, Diags> {
        let paths = Paths::of(&file.into());
        blocking(move || {
            let (recovered, stored) = look(&paths)?;
            Pulled::new(recovered, stored)
        })
        .await
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

    /// What is saved from now on is kept beside a backup of its own, named by the time, in place of the one that every save
    /// writes anew: a change by hand is not to be lost with the next apply.
    pub async fn keep_backup(&self) -> Result<(), Diags> {
        self.with_inner(|inner| {
            let since = jiff::Timestamp::now().as_second();
            let kept = inner.paths.backup.file_stem().unwrap_or_default().to_owned();
            let name = format!("{}.{since}.backup", kept.to_string_lossy());
            inner.paths.backup.set_file_name(name);
            Ok(())
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

/// Makes the folder of our own files, which no repository should take in.
pub fn make_own_folder(folder: &Path) -> std::io::Result<()> {
    fs::create_dir_all(folder)?;
    let ignore = folder.join(".gitignore");
    if !ignore.exists() {
        // Journals may hold secrets.
        fs::write(&ignore, "*\n")?;
    }
    Ok(())
}

impl Inner {
    fn open(paths: Paths, info: &LockInfo) -> Result<(Self, Recovered), Diags> {
        let make = |error| DiskError::new("make", &paths.own, error).diags(lock::SUMMARY);
        make_own_folder(&paths.own).map_err(make)?;
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
        let mut recovered = recovered(&paths, prior.as_deref(), &journal)?;
        let mut stored = digest(prior.as_deref().unwrap_or_default());
        let mut inner = Self {
            paths,
            held,
            prior,
            log: None,
            before: journal.last(),
            journal,
            _lock: lock,
        };
        if inner.paths.journal.exists() {
            inner.open_log(good)?;
        }
        if let Some(bytes) = recovered.unsaved()? {
            inner.save(&bytes, 0)?;
            stored = digest(&bytes);
        }
        inner.journal.rebase(&stored, &recovered.uncertain, inner.before);
        inner.before = inner.journal.last();
        if inner.log.is_some() {
            inner.rewrite_journal()?;
        }
        Ok((inner, recovered))
    }

    /// Brings the file in line with the journal; one without records goes.
    fn rewrite_journal(&mut self) -> Result<(), Diags> {
        let fault = |error: DiskError| error.diags(SAVING);
        self.log = None;
        if self.journal.is_empty() {
            return disk::remove(&self.paths.journal).map_err(fault);
        }
        let bytes = self.journal.bytes()?;
        disk::write(&self.paths.journal, &bytes, |_| Ok(())).map_err(fault)?;
        self.open_log(bytes.len() as u64).map(drop)
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
        let mut lines = self.journal.lines(&records)?;
        if self.log.is_none() {
            // A new file: it begins with the state it goes on from.
            lines.splice(0..0, self.journal.bytes()?);
        }
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
        let has_records = !self.journal.is_empty();
        self.journal.drop_covered(&digest(state), covered);
        if has_records {
            self.rewrite_journal()?;
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

fn look(paths: &Paths) -> Result<(Recovered, Option<Vec<u8>>), Diags> {
    let read = |path: &Path| disk::read(path).map_err(|error| error.diags(READING));
    let mut looks = 0;
    loop {
        let lines = read(&paths.journal)?;
        let state = read(&paths.state)?;
        looks += 1;
        // A writer that saved between the two would make them say what never was.
        if looks < LOOKS && read(&paths.journal)? != lines {
            continue;
        }
        let (journal, _) = Journal::read(&lines.unwrap_or_default())?;
        return Ok((recovered(paths, state.as_deref(), &journal)?, state));
    }
}

fn read_journal(paths: &Paths) -> Result<(Journal, u64), Diags> {
    let bytes = disk::read(&paths.journal)
        .map_err(|error| error.diags(READING))?
        .unwrap_or_default();
    let (journal, good) = Journal::read(&bytes)?;
    Ok((journal, good as u64))
}

fn recovered(paths: &Paths, state: Option<&[u8]>, journal: &Journal) -> Result<Recovered, Diags> {
    let begun = disk::read(&paths.begun).map_err(|error| error.diags(READING))?;
    let begun = begun.and_then(|bytes| String::from_utf8(bytes).ok());
    Ok(Recovered {
        begun,
        ..recover(state, journal, None)?
    })
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
