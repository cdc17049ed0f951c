//! Called modules that lie in folders beside the root module.

use std::path::{Path, PathBuf};

use ashlar_config::{
    Files, FoundModule, Library, ModuleRequest, is_config,
    source::{ModuleSource, clean},
};
use ashlar_diag::{Diag, Diags, decode};
use ashlar_value::Dialect;

/// Finds modules in the folders that their sources name.
pub struct Folders {
    /// The root module's folder.
    pub root: PathBuf,
    /// Whose language they are written in.
    pub dialect: Dialect,
}

impl Library for Folders {
    fn find(&mut self, request: &ModuleRequest<'_>) -> Result<FoundModule, Diags> {
        let ModuleSource::Local(path) = request.source else {
            let detail = format!(
                "Ashlar does not fetch modules yet, and {} is none beside this one. Copy it into a folder, and name that.",
                request.source
            );
            return Err(Diag::error("Not supported yet", detail).at(request.span).into());
        };
        let folder = clean(&format!("{}/{path}", request.from));
        let files = read_folder(&self.root.join(&folder), &folder, self.dialect).map_err(|error| {
            let detail = format!("{}, called as {}, cannot be read: {error}.", folder, request.path);
            Diags::from(Diag::error("Unreadable module directory", detail))
        })?;
        Ok(FoundModule {
            folder: folder.into(),
            files,
        })
    }
}

/// Largest configuration file, in bytes.
const LARGEST: u64 = 64 << 20;

/// The configuration files of a folder; `shown`: how it is called in front of their names, if it is another than the root
/// module's.
pub fn read_folder(folder: &Path, shown: &str, dialect: Dialect) -> std::io::Result<Files> {
    let mut files = Files::new();
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let Ok(name) = entry.file_name().into_string() else {
            continue;
        };
        if !is_config(&name, dialect) || entry.path().is_dir() {
            continue;
        }
        let metadata = std::fs::metadata(entry.path())?;
        if !metadata.is_file() || metadata.len() > LARGEST {
            let path = entry.path();
            let why = format!("{} is no file, or is larger than {LARGEST} bytes", path.display());
            return Err(std::io::Error::other(why));
        }
        let text = std::fs::read(entry.path())?;
        let text = decode(&name, text);
        let name = if shown.is_empty() {
            name
        } else {
            format!("{shown}/{name}")
        };
        files.push((name.into(), text.into()));
    }
    files.sort();
    Ok(files)
}
