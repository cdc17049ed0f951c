//! Filesystem mirrors: which versions of a provider lie there, and the binary of one.
//!
//! Two forms, as Terraform has them: `HOST/NAMESPACE/TYPE/VERSION/OS_ARCH/` unpacked, and
//! `HOST/NAMESPACE/TYPE/terraform-provider-TYPE_VERSION_OS_ARCH.zip`, which is unpacked into the cache. Of the same
//! version the first mirror counts, and there the unpacked form. Nothing here starts a binary, or uses a network.

use std::{
    collections::BTreeMap,
    fmt, fs, io,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use ashlar_addr::{Constraints, Provider, Version};
use ashlar_diag::Diag;

use crate::{
    cache::{Cache, InUse},
    hash::{self, Hashes},
    platform::Platform,
    unpack::UnpackError,
};

/// Folders with provider packages, in order of precedence.
#[derive(Clone, Debug)]
pub struct Mirrors {
    /// The folders.
    pub folders: Vec<PathBuf>,
    /// Where packed providers are unpacked.
    pub cache: Cache,
}

/// The files of a package, with what keeps them where they are.
#[derive(Clone, Debug)]
pub(crate) struct Files {
    /// Where they are.
    pub(crate) folder: PathBuf,
    pub(crate) in_use: Option<InUse>,
}

/// One provider package for a platform.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Package {
    /// Its version.
    pub version: Version,
    location: Location,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Location {
    Folder(PathBuf),
    Zip(PathBuf),
}

/// Why there is no binary.
#[derive(Debug, thiserror::Error)]
pub enum MirrorError {
    /// A mirror could not be read.
    #[error("the mirror folder {} could not be read", .0.display())]
    Read(PathBuf, #[source] io::Error),
    /// No mirror has it in any version.
    #[error("provider {provider} is in none of the mirrors ({}); `terraform providers mirror` lays it out in one, which --mirror or ASHLAR_PLUGIN_MIRROR names, and providerMirrors in the chart's values", Folders(.folders))]
    Absent {
        /// Which.
        provider: Provider,
        /// Where it was sought.
        folders: Vec<PathBuf>,
    },
    /// No mirror has it in a version asked for.
    #[error(
        "no version of provider {provider} in the mirrors ({}) meets {constraints:?}; there are: {}",
        Folders(.folders), Versions(.versions)
    )]
    NoVersion {
        /// Which.
        provider: Provider,
        /// What was asked for.
        constraints: String,
        /// What there is.
        versions: Vec<Version>,
        /// Where it was sought.
        folders: Vec<PathBuf>,
    },
    /// A packed provider could not be unpacked.
    #[error("the provider package {} could not be unpacked", .0.display())]
    Unpack(PathBuf, #[source] UnpackError),
    /// A package holds no program of the right name.
    #[error("the provider package {} holds no program whose name begins with {name}", .folder.display())]
    NoBinary {
        /// The package.
        folder: PathBuf,
        /// `terraform-provider-TYPE`.
        name: String,
    },
}

struct Folders<'a>(&'a [PathBuf]);

impl fmt::Display for Folders<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("none is configured");
        }
        for (at, folder) in self.0.iter().enumerate() {
            write!(f, "{}{}", if at > 0 { ", " } else { "" }, folder.display())?;
        }
        Ok(())
    }
}

struct Versions<'a>(&'a [Version]);

impl fmt::Display for Versions<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, version) in self.0.iter().enumerate() {
            write!(f, "{}{version}", if at > 0 { ", " } else { "" })?;
        }
        Ok(())
    }
}

impl MirrorError {
    /// What people are told.
    pub(crate) fn diag(&self) -> Diag {
        let summary = match self {
            MirrorError::Read(..) | MirrorError::Absent { .. } | MirrorError::NoVersion { .. } => {
                "Failed to query available provider packages"
            }
            MirrorError::Unpack(..) | MirrorError::NoBinary { .. } => "Failed to install provider",
        };
        Diag::error(summary, format!("{}.", crate::error::chain(self)))
    }
}

impl Mirrors {
    /// All packages of a provider for this platform, by version.
    pub fn packages(&self, provider: &Provider) -> Result<BTreeMap<Version, Package>, MirrorError> {
        self.packages_for(provider, &Platform::here())
    }

    /// All packages of a provider for a platform, by version.
    pub(crate) fn packages_for(
        &self,
        provider: &Provider,
        wanted: &Platform,
    ) -> Result<BTreeMap<Version, Package>, MirrorError> {
        let mut found = BTreeMap::new();
        let platform = wanted.to_string();
        for mirror in &self.folders {
            let folder = mirror
                .join(&*provider.host)
                .join(&*provider.namespace)
                .join(&*provider.name);
            let unreadable = |error| MirrorError::Read(folder.clone(), error);
            let entries = match fs::read_dir(&folder) {
                Ok(entries) => entries,
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => return Err(unreadable(error)),
            };
            let mut zips = Vec::new();
            for entry in entries {
                let entry = entry.map_err(unreadable)?;
                let name = entry.file_name();
                let Some(name) = name.to_str() else { continue };
                if let Ok(version) = name.parse::<Version>() {
                    let package = entry.path().join(&platform);
                    if package.is_dir() {
                        let package = Package {
                            version: version.clone(),
                            location: Location::Folder(package),
                        };
                        found.entry(version).or_insert(package);
                    }
                } else if let Some((version, own)) = packed(name, &provider.name)
                    && own == *wanted
                {
                    zips.push(Package {
                        version,
                        location: Location::Zip(entry.path()),
                    });
                }
            }
            for package in zips {
                found.entry(package.version.clone()).or_insert(package);
            }
        }
        Ok(found)
    }

    /// The newest package that meets the constraints.
    pub fn select(&self, provider: &Provider, constraints: &Constraints) -> Result<Package, MirrorError> {
        let packages = self.packages(provider)?;
        if packages.is_empty() {
            return Err(MirrorError::Absent {
                provider: provider.clone(),
                folders: self.folders.clone(),
            });
        }
        let newest = packages
            .iter()
            .rev()
            .find(|(version, _)| constraints.allow_provider(version));
        match newest {
            Some((_, package)) => Ok(package.clone()),
            None => Err(MirrorError::NoVersion {
                provider: provider.clone(),
                constraints: constraints.to_string(),
                versions: packages.into_keys().collect(),
                folders: self.folders.clone(),
            }),
        }
    }

    /// The program of a package, unpacked if need be. Blocks while it unpacks.
    pub fn binary(&self, provider: &Provider, package: &Package) -> Result<PathBuf, MirrorError> {
        find_binary(&self.open(package, &hash::sum_of)?.0.folder, &provider.name)
    }

    /// The files of a package, unpacked if need be, and the hashes by which lock files name it: `h1:` of its files, and of a packed
    /// one `zh:` of the archive. `digest` gives the SHA-256 of a file in 64 hex digits.
    pub(crate) fn open(
        &self,
        package: &Package,
        digest: &dyn Fn(&Path) -> io::Result<String>,
    ) -> Result<(Files, Hashes), MirrorError> {
        let mut hashes = Hashes::new();
        let files = match &package.location {
            Location::Folder(folder) => Files {
                folder: folder.clone(),
                in_use: None,
            },
            Location::Zip(zip) => {
                let unpack = || {
                    let sum = hash::of_sum(&digest(zip).map_err(UnpackError::Read)?);
                    if let Some(kept) = self.cache.find(&sum).map_err(UnpackError::Read)? {
                        return Ok((kept, sum));
                    }
                    // It may be another file by now than the one whose digest is known.
                    let mut file = fs::File::open(zip).map_err(UnpackError::Read)?;
                    let sum = hash::of_archive(&mut file).map_err(UnpackError::Read)?;
                    Ok((self.cache.take_in(&file, &sum)?, sum))
                };
                let (kept, sum) = unpack().map_err(|error| MirrorError::Unpack(zip.clone(), error))?;
                hashes.insert(sum);
                Files {
                    folder: kept.folder,
                    in_use: Some(kept.in_use),
                }
            }
        };
        let unreadable = |error| MirrorError::Read(files.folder.clone(), error);
        hashes.insert(hash::of_folder(&files.folder, digest).map_err(unreadable)?);
        Ok((files, hashes))
    }
}

/// The providers that lie in a mirror, in whatever versions and for whatever platforms. What cannot be read has none.
pub fn providers_in(folder: &Path) -> Vec<Provider> {
    let below = |folders: Vec<PathBuf>| -> Vec<PathBuf> {
        folders
            .into_iter()
            .filter_map(|folder| fs::read_dir(folder).ok())
            .flatten()
            .filter_map(|entry| Some(entry.ok()?.path()))
            .filter(|path| path.is_dir())
            .collect()
    };
    let places = below(below(below(vec![folder.to_owned()])));
    places
        .into_iter()
        .filter(|place| fs::read_dir(place).is_ok_and(|mut entries| entries.next().is_some()))
        .filter_map(|place| place.strip_prefix(folder).ok()?.to_str()?.parse().ok())
        .collect()
}

/// Version and platform in `terraform-provider-TYPE_VERSION_OS_ARCH.zip`.
pub(crate) fn packed(file: &str, name: &str) -> Option<(Version, Platform)> {
    let rest = file
        .strip_prefix("terraform-provider-")?
        .strip_prefix(name)?
        .strip_prefix('_')?
        .strip_suffix(".zip")?;
    let (rest, arch) = rest.rsplit_once('_')?;
    let (version, os) = rest.rsplit_once('_')?;
    Some((version.parse().ok()?, format!("{os}_{arch}").parse().ok()?))
}

/// `terraform-provider-TYPE`, alone or followed by `_` and anything; it must be executable.
pub(crate) fn find_binary(folder: &Path, name: &str) -> Result<PathBuf, MirrorError> {
    let wanted = format!("terraform-provider-{name}");
    let unreadable = |error| MirrorError::Read(folder.to_owned(), error);
    let mut candidates = Vec::new();
    for entry in fs::read_dir(folder).map_err(unreadable)? {
        let entry = entry.map_err(unreadable)?;
        let fits = entry
            .file_name()
            .to_str()
            .and_then(|file| file.strip_prefix(&wanted))
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('_'));
        if !fits {
            continue;
        }
        let path = entry.path();
        // Follows links: mirrors are often laid with them.
        let metadata = fs::metadata(&path).map_err(unreadable)?;
        if metadata.is_file() && metadata.permissions().mode() & 0o111 != 0 {
            candidates.push(path);
        }
    }
    candidates.sort();
    candidates
        .into_iter()
        .next()
        .ok_or_else(|| MirrorError::NoBinary {
            folder: folder.to_owned(),
            name: wanted,
        })
}

#[cfg(test)]
mod tests;
