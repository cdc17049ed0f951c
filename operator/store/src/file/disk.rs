//! Files that are whole or not there: written aside, flushed, renamed.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write},
    os::unix::fs::{OpenOptionsExt, PermissionsExt},
    path::{Path, PathBuf},
};

use ashlar_diag::{Diag, Diags};

/// Only the owner may read what is written: it may hold secrets.
const MODE: u32 = 0o600;

/// What could not be done with a file.
#[derive(Debug, thiserror::Error)]
#[error("cannot {action} {}", path.display())]
pub(super) struct DiskError {
    action: &'static str,
    path: PathBuf,
    source: io::Error,
}

impl DiskError {
    pub(super) fn new(action: &'static str, path: &Path, source: io::Error) -> Self {
        Self {
            action,
            path: path.to_owned(),
            source,
        }
    }

    /// As a diagnostic with this summary.
    pub(super) fn diags(&self, summary: &'static str) -> Diags {
        Diag::error(summary, format!("Ashlar {self}: {}.", self.source)).into()
    }
}

/// The content, or nothing if there is no such file.
pub(super) fn read(path: &Path) -> Result<Option<Vec<u8>>, DiskError> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(DiskError::new("read", path, error)),
    }
}

/// Puts `bytes` at `path`, durably; a crash leaves the old file or the new one. `before` is called with the new file
/// before it takes its place. Permissions of the file it replaces are kept.
pub(super) fn write(
    path: &Path,
    bytes: &[u8],
    before: impl FnOnce(&File) -> io::Result<()>,
) -> Result<File, DiskError> {
    let mut aside = path.as_os_str().to_owned();
    aside.push(".new");
    let aside = PathBuf::from(aside);
    let attempt = || -> io::Result<File> {
        // What a crash left behind may be someone else's link: never write through it.
        match fs::remove_file(&aside) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create_new(true)
            .mode(MODE)
            .open(&aside)?;
        if let Ok(old) = fs::metadata(path) {
            file.set_permissions(fs::Permissions::from_mode(old.permissions().mode() & 0o777))?;
        }
        file.write_all(bytes)?;
        file.sync_all()?;
        before(&file)?;
        fs::rename(&aside, path)?;
        Ok(file)
    };
    let file = attempt().map_err(|error| DiskError::new("write", path, error))?;
    flush_folder(path)?;
    Ok(file)
}

/// Makes a rename, a new file or a removal in the file's folder durable.
pub(super) fn flush_folder(path: &Path) -> Result<(), DiskError> {
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    File::open(folder)
        .and_then(|folder| folder.sync_all())
        .map_err(|error| DiskError::new("flush", folder, error))
}

/// Removes a file, durably; it may be gone already.
pub(super) fn remove(path: &Path) -> Result<(), DiskError> {
    match fs::remove_file(path) {
        Ok(()) => flush_folder(path),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(DiskError::new("remove", path, error)),
    }
}

/// Opens a file to append to, making it if need be.
pub(super) fn open_log(path: &Path) -> Result<File, DiskError> {
    let file = OpenOptions::new().append(true).create(true).mode(MODE).open(path);
    let file = file.map_err(|error| DiskError::new("open", path, error))?;
    flush_folder(path)?;
    Ok(file)
}
