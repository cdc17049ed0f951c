//! Which package is wanted, and what it is remembered by.

use std::path::{Path, PathBuf};

use ashlar_addr::{Provider, Version};

use crate::{
    cache::InUse, error::InstallError, hash::Hashes, installer::Installed, method::Location,
    platform::Platform,
};

/// Which package is wanted.
#[derive(Clone, Debug)]
pub(crate) struct Wanted {
    pub(crate) provider: Provider,
    pub(crate) version: Version,
    pub(crate) platform: Platform,
    pub(crate) settled: Hashes,
}

impl Wanted {
    pub(crate) fn absent(&self, place: String) -> InstallError {
        InstallError::Platform {
            provider: self.provider.clone(),
            version: self.version.clone(),
            platform: self.platform.clone(),
            place,
        }
    }

    pub(crate) fn unkept(&self, error: crate::UnpackError) -> InstallError {
        InstallError::Keep {
            provider: self.provider.clone(),
            version: self.version.clone(),
            error,
        }
    }

    pub(crate) fn check(&self, hashes: &Hashes) -> Result<(), InstallError> {
        if self.settled.is_empty() || !self.settled.is_disjoint(hashes) {
            return Ok(());
        }
        Err(InstallError::Locked {
            provider: self.provider.clone(),
            version: self.version.clone(),
        })
    }

    /// The same before its files are known, by the `zh:` of its archive alone.
    pub(crate) fn check_archive(&self, archive: &str) -> Result<(), InstallError> {
        if self.settled.iter().any(|hash| !hash.starts_with("zh:")) {
            return Ok(());
        }
        self.check(&Hashes::from([archive.to_owned()]))
    }

    pub(crate) fn installed(
        &self,
        folder: PathBuf,
        hashes: Hashes,
        vouched: Hashes,
        in_use: Option<InUse>,
    ) -> Installed {
        Installed {
            provider: self.provider.clone(),
            version: Some(self.version.clone()),
            folder,
            hashes,
            vouched,
            in_use,
        }
    }
}

/// What a package is remembered by: where it is from, and which it is.
#[derive(Clone)]
pub(crate) struct Source(pub(crate) [String; 4]);

impl Source {
    pub(crate) fn of(location: &Location, wanted: &Wanted) -> Self {
        let place = match location {
            Location::Direct => "direct".to_owned(),
            Location::Filesystem(folder) => format!("filesystem {}", folder.display()),
            Location::Network(url) => format!("network {url}"),
            Location::Oci(template) => format!("oci {template}"),
        };
        Self([
            place,
            wanted.provider.to_string(),
            wanted.version.to_string(),
            wanted.platform.to_string(),
        ])
    }

    pub(crate) fn parts(&self) -> [&str; 4] {
        self.0.each_ref().map(String::as_str)
    }
}

/// Copies a tree of plain files, by links where that is possible.
pub(crate) fn copy(from: &Path, to: &Path) -> std::io::Result<()> {
    std::fs::create_dir(to)?;
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &target)?;
        } else if std::fs::hard_link(entry.path(), &target).is_err() {
            std::fs::copy(entry.path(), &target)?;
        }
    }
    Ok(())
}
