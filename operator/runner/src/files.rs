//! Files, time and randomness for functions, as one run sees them.
//!
//! In a cluster a run reads nothing outside its bundle, in which the module's folder lies: a path is resolved with all its
//! links before it is read, so neither `..` nor a link leads out. Locally files are read as Terraform does, relative to the working folder.

use std::{
    io::Read,
    os::unix::fs::OpenOptionsExt,
    path::{Component, Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use ashlar_addr::Provider;
use ashlar_funcs::{Caps, CapsError, FileKind, FuncError, NoCaps};
use ashlar_value::Value;

use crate::functions::ProviderFunctions;

/// Largest file a function reads in a confined run, in bytes.
const LARGEST: u64 = 16 << 20;

/// How many bytes of texts and collections a confined run may make, one after the other.
const MOST: usize = 512 << 20;

/// How many bytes one value of a confined run may take if nothing in it were shared.
const LARGEST_VALUE: u64 = 64 << 20;

/// What functions reach in one run.
#[derive(Clone, Debug)]
pub struct Files {
    /// Where relative paths begin.
    pub folder: PathBuf,
    /// The folder outside of which nothing may be read, if there is one; `folder` lies in it.
    pub confines: Option<PathBuf>,
    /// The folders in `confines` whose files are all there, if what was left out of it is told apart from what never was: elsewhere
    /// nothing may be read. Empty: nothing was left out.
    pub held: Vec<PathBuf>,
    /// What `~` stands for.
    pub home: Option<PathBuf>,
    /// When the plan was made.
    pub plan_timestamp: String,
    /// Is this an apply, so that `timestamp()` and `uuid()` have results?
    pub applying: bool,
    /// How many bytes of texts and collections a confined run has made.
    pub made: Arc<AtomicUsize>,
    /// Functions of providers, once these are at hand.
    pub functions: Option<Arc<ProviderFunctions>>,
}

impl Files {
    /// Is all there that the source has at a path? What is missing elsewhere may just have been left out.
    fn is_held(&self, confines: &Path, path: &Path) -> bool {
        let Ok(inner) = path.strip_prefix(confines) else {
            return false;
        };
        let inner = plain(inner);
        self.held.is_empty() || self.held.iter().any(|folder| inner.starts_with(folder))
    }

    fn resolve(&self, path: &str) -> Result<PathBuf, CapsError> {
        let given = Path::new(path);
        let Some(confines) = &self.confines else {
            return Ok(self.folder.join(given));
        };
        let outside = || {
            CapsError::Refused(format!(
                "{path:?} leads out of the workspace's source, and in a cluster nothing outside of it can be read. Give a path \
                 relative to the module's folder that stays in the source, by its links as well"
            ))
        };
        let full = self.folder.join(given);
        if !stays_in(confines, &full) {
            return Err(outside());
        }
        if !self.is_held(confines, &full) {
            return Err(CapsError::Refused(format!(
                "{path:?} lies in the workspace's source, but beside the modules' folders, and this run was given only these: \
                 nothing in the configuration's texts has a path with \"..\". Write the path with \"..\" where it is used, as \
                 \"${{path.module}}/../files\", or in a comment of a .tf file: the run is given the whole source then"
            )));
        }
        let root = confines.canonicalize().map_err(failed)?;
        match full.canonicalize() {
            Ok(real) if real.starts_with(&root) => Ok(real),
            Ok(_) => Err(outside()),
            // Of what lies outside not even that it is missing is told.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                let there = full
                    .ancestors()
                    .skip(1)
                    .find_map(|folder| folder.canonicalize().ok());
                let inside = there.is_some_and(|folder| folder.starts_with(&root));
                if inside && std::fs::symlink_metadata(&full).is_err() {
                    Err(CapsError::Absent)
                } else {
                    Err(outside())
                }
            }
            Err(error) => Err(failed(error)),
        }
    }
}

/// A path without `.` and `..`, by its text alone.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                plain.pop();
            }
            Component::Normal(name) => plain.push(name),
            Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
        }
    }
    plain
}

/// Is a path inside of a folder, all the way as it is written? Of what lies outside not even a name can be tried then.
fn stays_in(folder: &Path, path: &Path) -> bool {
    let Ok(inner) = path.strip_prefix(folder) else {
        return false;
    };
    let mut depth = 0_usize;
    inner.components().all(|part| match part {
        Component::Normal(_) => {
            depth += 1;
            true
        }
        Component::ParentDir => match depth.checked_sub(1) {
            Some(above) => {
                depth = above;
                true
            }
            None => false,
        },
        Component::CurDir => true,
        Component::RootDir | Component::Prefix(_) => false,
    })
}

fn failed(error: std::io::Error) -> CapsError {
    if error.kind() == std::io::ErrorKind::NotFound {
        CapsError::Absent
    } else {
        CapsError::Failed(error.to_string())
    }
}

fn kind_of(kind: std::fs::FileType) -> FileKind {
    if kind.is_dir() {
        FileKind::Directory
    } else if kind.is_file() {
        FileKind::Regular
    } else {
        FileKind::Other
    }
}

impl Caps for Files {
    fn grant(&self, bytes: usize) -> bool {
        self.confines.is_none()
            || self
                .made
                .fetch_add(bytes, Ordering::Relaxed)
                .saturating_add(bytes)
                <= MOST
    }

    fn call_provider(&self, provider: &Provider, name: &str, args: &[Value]) -> Result<Value, FuncError> {
        match &self.functions {
            Some(functions) => functions.call(provider, name, args),
            None => NoCaps.call_provider(provider, name, args),
        }
    }

    fn largest(&self) -> u64 {
        if self.confines.is_some() {
            LARGEST_VALUE
        } else {
            u64::MAX
        }
    }

    fn read_file(&self, path: &str) -> Result<Vec<u8>, CapsError> {
        let mut options = std::fs::OpenOptions::new();
        options.read(true);
        if self.confines.is_some() {
            // Opening a pipe must not wait for somebody to write.
            options.custom_flags(rustix::fs::OFlags::NONBLOCK.bits().cast_signed());
        }
        let file = options.open(self.resolve(path)?).map_err(failed)?;
        if self.confines.is_some() && !file.metadata().map_err(failed)?.is_file() {
            return Err(CapsError::Failed("it is no regular file".to_owned()));
        }
        let limit = if self.confines.is_some() {
            LARGEST
        } else {
            u64::MAX
        };
        let mut bytes = Vec::new();
        file.take(limit.saturating_add(1))
            .read_to_end(&mut bytes)
            .map_err(failed)?;
        if bytes.len() as u64 > limit {
            return Err(CapsError::Failed(format!(
                "the file is larger than {LARGEST} bytes"
            )));
        }
        Ok(bytes)
    }

    fn file_kind(&self, path: &str) -> Result<FileKind, CapsError> {
        let metadata = std::fs::metadata(self.resolve(path)?).map_err(failed)?;
        Ok(kind_of(metadata.file_type()))
    }

    fn list_dir(&self, path: &str) -> Result<Vec<(String, FileKind)>, CapsError> {
        let mut found = Vec::new();
        for entry in std::fs::read_dir(self.resolve(path)?).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let Ok(name) = entry.file_name().into_string() else {
                continue;
            };
            // A link counts as what it leads to; one that leads out of a confined bundle is left out.
            let inside = Path::new(path).join(&name);
            if let Some(kind) = inside.to_str().and_then(|inside| self.file_kind(inside).ok()) {
                found.push((name, kind));
            }
        }
        Ok(found)
    }

    fn cwd(&self) -> Result<String, CapsError> {
        let folder = if self.confines.is_some() {
            self.folder.clone()
        } else {
            self.folder.canonicalize().map_err(failed)?
        };
        folder
            .into_os_string()
            .into_string()
            .map_err(|_| CapsError::Failed("the working folder's name is no text".to_owned()))
    }

    fn home(&self) -> Result<String, CapsError> {
        let none = || CapsError::Failed("there is no home folder here".to_owned());
        let home = self.home.clone().ok_or_else(none)?;
        home.into_os_string().into_string().map_err(|_| none())
    }

    fn timestamp(&self) -> Option<String> {
        self.applying
            .then(|| jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string())
    }

    fn plan_timestamp(&self) -> Option<String> {
        Some(self.plan_timestamp.clone())
    }

    fn random(&self) -> Option<[u8; 16]> {
        self.applying.then(rand::random)
    }
}

#[cfg(test)]
mod tests;
