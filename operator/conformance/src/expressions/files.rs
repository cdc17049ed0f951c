//! The outside as recorded: the case folder as working directory, one home, time and randomness as while planning.

use std::{fs, path::PathBuf};

use ashlar_funcs::{Caps, CapsError, FileKind};

/// Files under the case folder.
#[derive(Clone)]
pub(crate) struct Files {
    /// Absolute.
    pub(crate) root: PathBuf,
    /// Is there a clock and randomness, as in a console?
    pub(crate) live: bool,
}

impl Files {
    fn at(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }
}

fn failed(error: &std::io::Error) -> CapsError {
    if error.kind() == std::io::ErrorKind::NotFound {
        CapsError::Absent
    } else {
        CapsError::Failed(error.kind().to_string())
    }
}

fn kind(kind: fs::FileType) -> FileKind {
    if kind.is_file() {
        FileKind::Regular
    } else if kind.is_dir() {
        FileKind::Directory
    } else {
        FileKind::Other
    }
}

impl Caps for Files {
    fn read_file(&self, path: &str) -> Result<Vec<u8>, CapsError> {
        fs::read(self.at(path)).map_err(|error| failed(&error))
    }

    fn file_kind(&self, path: &str) -> Result<FileKind, CapsError> {
        fs::metadata(self.at(path))
            .map(|meta| kind(meta.file_type()))
            .map_err(|error| failed(&error))
    }

    fn list_dir(&self, path: &str) -> Result<Vec<(String, FileKind)>, CapsError> {
        let mut names = Vec::new();
        for entry in fs::read_dir(self.at(path)).map_err(|error| failed(&error))? {
            let entry = entry.map_err(|error| failed(&error))?;
            if let Ok(meta) = fs::metadata(entry.path()) {
                names.push((
                    entry.file_name().to_string_lossy().into_owned(),
                    kind(meta.file_type()),
                ));
            }
        }
        Ok(names)
    }

    fn cwd(&self) -> Result<String, CapsError> {
        Ok(self.root.to_string_lossy().into_owned())
    }

    fn home(&self) -> Result<String, CapsError> {
        Ok(["", "home", "tester"].join("/"))
    }

    fn timestamp(&self) -> Option<String> {
        self.live.then(|| "2026-01-02T03:04:05Z".to_owned())
    }

    fn plan_timestamp(&self) -> Option<String> {
        Some("2026-01-02T03:04:05Z".to_owned())
    }

    fn random(&self) -> Option<[u8; 16]> {
        self.live.then_some([7; 16])
    }
}
