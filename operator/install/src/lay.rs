//! Lays packages out as mirrors have them: packed, in a folder, with the answers of a network mirror beside.
//!
//! Source: Terraform `internal/command/providers_mirror.go`. An archive appears in the folder whole and checked, or not at all. Which
//! versions are laid there is the caller's to know.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io,
    path::{Path, PathBuf},
};

use ashlar_addr::{Provider, Version};
use serde_json::{Map, Value, json};

use crate::{hash, mirror::packed, platform::Platform};

/// Why a package is not laid out.
#[derive(Debug, thiserror::Error)]
pub enum LayError {
    /// The folder cannot be written to.
    #[error("the folder {} cannot be written to", .0.display())]
    Write(PathBuf, #[source] io::Error),
    /// A package in it cannot be read.
    #[error("the package {} cannot be read", .0.display())]
    Read(PathBuf, #[source] io::Error),
}

/// Where the packages of a provider are.
fn place(folder: &Path, provider: &Provider) -> PathBuf {
    folder
        .join(&*provider.host)
        .join(&*provider.namespace)
        .join(&*provider.name)
}

/// Puts an archive that was checked into a mirror's folder.
pub(crate) fn put(
    folder: &Path,
    provider: &Provider,
    version: &Version,
    platform: &Platform,
    archive: &mut File,
) -> Result<PathBuf, LayError> {
    let place = place(folder, provider);
    let name = format!("terraform-provider-{}_{version}_{platform}.zip", provider.name);
    let target = place.join(name);
    let mut write = || {
        fs::create_dir_all(&place)?;
        let mut file = tempfile::NamedTempFile::new_in(&place)?;
        io::Seek::rewind(archive)?;
        io::copy(archive, &mut file)?;
        readable(file.as_file())?;
        file.persist(&target)?;
        Ok(())
    };
    write().map_err(|error: io::Error| LayError::Write(place.clone(), error))?;
    Ok(target)
}

/// Writes what a network mirror answers of a provider, of all its archives that lie in a folder.
pub fn write_index(folder: &Path, provider: &Provider) -> Result<(), LayError> {
    let place = place(folder, provider);
    let unreadable = |error| LayError::Read(place.clone(), error);
    let mut found = BTreeMap::<Version, Map<String, Value>>::new();
    for entry in fs::read_dir(&place).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        let name = path
            .file_name()
            .and_then(|name| name.to_str())
            .unwrap_or_default();
        let Some((version, platform)) = packed(name, &provider.name) else {
            continue;
        };
        let h1 = File::open(&path)
            .and_then(|file| hash::of_files_in(&file))
            .map_err(|error| LayError::Read(path.clone(), error))?;
        let archive = json!({"url": name, "hashes": [h1]});
        found
            .entry(version)
            .or_default()
            .insert(platform.to_string(), archive);
    }
    let versions: Map<String, Value> = found
        .keys()
        .map(|version| (version.to_string(), json!({})))
        .collect();
    let mut answers = vec![("index.json".to_owned(), json!({ "versions": versions }))];
    for (version, archives) in found {
        answers.push((format!("{version}.json"), json!({ "archives": archives })));
    }
    for (name, answer) in answers {
        let write = || {
            let mut file = tempfile::NamedTempFile::new_in(&place)?;
            serde_json::to_writer_pretty(&mut file, &answer)?;
            readable(file.as_file())?;
            file.persist(place.join(name))?;
            Ok(())
        };
        write().map_err(|error: io::Error| LayError::Write(place.clone(), error))?;
    }
    Ok(())
}

/// For everybody: a web server may hand it out.
fn readable(file: &File) -> io::Result<()> {
    file.set_permissions(std::os::unix::fs::PermissionsExt::from_mode(0o644))
}
