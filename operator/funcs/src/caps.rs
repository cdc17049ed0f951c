//! What functions may reach outside the language: files, the time, randomness.
//!
//! The shell gives an implementation; tests and static checks use [`NoCaps`] or a table. Planning and applying differ
//! only in what these methods answer: a `None` makes the function's result unknown. Nothing here does IO itself.

use std::fmt;

use ashlar_addr::Provider;
use ashlar_value::Value;

use crate::{Fault, FuncError};

/// Why a file could not be had.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CapsError {
    /// There is none at that path.
    Absent,
    /// It cannot be read; the text says why and names no content.
    Failed(String),
    /// It lies where nothing may be read; the text says so.
    Refused(String),
}

impl fmt::Display for CapsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CapsError::Absent => f.write_str("no such file or directory"),
            CapsError::Failed(why) | CapsError::Refused(why) => f.write_str(why),
        }
    }
}

/// What stands at a path, links followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// An ordinary file.
    Regular,
    /// A folder.
    Directory,
    /// A device, pipe or socket.
    Other,
}

/// The outside as functions see it. Paths come cleaned and with `~` expanded; relative ones count from [`Caps::cwd`].
pub trait Caps: Send + Sync {
    /// The whole content of a file.
    fn read_file(&self, path: &str) -> Result<Vec<u8>, CapsError>;

    /// What stands at a path.
    fn file_kind(&self, path: &str) -> Result<FileKind, CapsError>;

    /// Names in a folder, in any order, with what stands there; a link that leads nowhere may be left out.
    fn list_dir(&self, path: &str) -> Result<Vec<(String, FileKind)>, CapsError>;

    /// The working folder, absolute: where relative paths begin.
    fn cwd(&self) -> Result<String, CapsError>;

    /// The home folder that `~` stands for.
    fn home(&self) -> Result<String, CapsError>;

    /// The present time as RFC 3339 text in UTC, whole seconds; `None` while it must stay unknown (planning).
    fn timestamp(&self) -> Option<String>;

    /// The time of the plan, in the same form; `None` while validating.
    fn plan_timestamp(&self) -> Option<String>;

    /// Fresh random bytes for `uuid` and the salt of `bcrypt`; `None` while results must stay unknown (planning).
    fn random(&self) -> Option<[u8; 16]>;

    /// Calls a function of a provider. The arguments are of its parameters' types, without marks, and neither null nor
    /// unknown where they may not be.
    fn call_provider(&self, provider: &Provider, name: &str, args: &[Value]) -> Result<Value, FuncError> {
        let _ = (name, args);
        Err(FuncError {
            fault: Fault::Call,
            arg: None,
            message: format!("the provider {} cannot be asked here", provider.for_display()),
        })
    }

    /// May texts and collections of so many bytes more be made? Where workspaces share a process, none may use up all its
    /// memory.
    fn grant(&self, _bytes: usize) -> bool {
        true
    }

    /// How many bytes one value may take, if nothing in it were shared: what is made of a value can be so large.
    fn largest(&self) -> u64 {
        u64::MAX
    }
}

/// Nothing outside can be reached: files are refused, times and randomness unknown.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoCaps;

impl NoCaps {
    fn refused<T>() -> Result<T, CapsError> {
        Err(CapsError::Failed("files cannot be reached from here".to_owned()))
    }
}

impl Caps for NoCaps {
    fn read_file(&self, _path: &str) -> Result<Vec<u8>, CapsError> {
        Self::refused()
    }

    fn file_kind(&self, _path: &str) -> Result<FileKind, CapsError> {
        Self::refused()
    }

    fn list_dir(&self, _path: &str) -> Result<Vec<(String, FileKind)>, CapsError> {
        Self::refused()
    }

    fn cwd(&self) -> Result<String, CapsError> {
        Self::refused()
    }

    fn home(&self) -> Result<String, CapsError> {
        Self::refused()
    }

    fn timestamp(&self) -> Option<String> {
        None
    }

    fn plan_timestamp(&self) -> Option<String> {
        None
    }

    fn random(&self) -> Option<[u8; 16]> {
        None
    }
}
