//! Which versions there are, by all methods that serve a provider, and which of them is taken.

use std::{
    collections::{BTreeMap, HashMap},
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};

use ashlar_addr::{Constraints, Provider, Version};

use super::{Installer, Notice, blocking, lock};
use crate::{
    error::InstallError,
    method::{Location, Method},
    mirror::MirrorError,
    offer::Listed,
    remote::Remote,
};

/// How long a list of versions is taken for true. A process that plans every minute does not ask every minute.
const FRESH: Duration = Duration::from_secs(300);

/// Most lists of versions that are remembered.
const MOST_LISTS: usize = 128;
/// Most warnings of a registry that are told, and most letters of one.
const MOST_WARNINGS: usize = 10;
const LONGEST_WARNING: usize = 500;

/// What each method had, and when it was asked.
pub(super) type Lists = HashMap<(usize, Provider), (Instant, Arc<Listed>)>;

impl Installer {
    /// All versions that there are, the oldest first.
    pub async fn versions(&self, provider: &Provider) -> Result<Vec<Version>, InstallError> {
        let mut all = BTreeMap::new();
        let mut unknown = None;
        for (at, method) in self.methods(provider) {
            match self.listed(at, method, provider).await {
                Ok(listed) => all.extend(listed.versions.keys().map(|version| (version.clone(), ()))),
                Err(error) if error.is_absence() => {
                    if let InstallError::Unknown { .. } = error {
                        unknown = Some(error);
                    }
                }
                Err(error) => return Err(error),
            }
        }
        if all.is_empty() {
            return Err(unknown.unwrap_or_else(|| self.absent(provider)));
        }
        Ok(all.into_keys().collect())
    }

    /// The newest version that is allowed. `asks`: who asks for what, for people.
    pub async fn choose(
        &self,
        provider: &Provider,
        constraints: &Constraints,
        asks: &[String],
    ) -> Result<Version, InstallError> {
        let versions = self.versions(provider).await?;
        let newest = versions
            .iter()
            .rev()
            .find(|version| constraints.allow_provider(version));
        newest.cloned().ok_or_else(|| InstallError::NoVersion {
            provider: provider.clone(),
            constraints: constraints.to_string(),
            asks: asks.to_vec(),
            versions: versions.clone(),
        })
    }

    pub(super) fn absent(&self, provider: &Provider) -> InstallError {
        let folders: Option<Vec<PathBuf>> = self
            .methods(provider)
            .map(|(_, method)| match &method.location {
                Location::Filesystem(folder) => Some(folder.clone()),
                _ => None,
            })
            .collect();
        match folders {
            Some(folders) => InstallError::Mirror(MirrorError::Absent {
                provider: provider.clone(),
                folders,
            }),
            None => InstallError::NotFound {
                provider: provider.clone(),
                places: self.places(provider),
            },
        }
    }

    async fn listed(
        &self,
        at: usize,
        method: &Method,
        provider: &Provider,
    ) -> Result<Arc<Listed>, InstallError> {
        if let Location::Filesystem(folder) = &method.location {
            let (mirrors, provider) = (self.mirrors(folder), provider.clone());
            let packages = blocking(move || Ok(mirrors.packages(&provider)?)).await?;
            let versions = packages.into_keys().map(|version| (version, Vec::new()));
            return Ok(Arc::new(Listed {
                versions: versions.collect(),
                warnings: Vec::new(),
            }));
        }
        let key = (at, provider.clone());
        if let Some((when, listed)) = lock(&self.0.lists).get(&key)
            && when.elapsed() < FRESH
        {
            return Ok(listed.clone());
        }
        let (client, location) = (self.client(provider)?, &method.location);
        let listed = Remote::open(&client, location, provider)
            .await?
            .versions()
            .await?;
        for warning in listed.warnings.iter().take(MOST_WARNINGS) {
            let warning = warning.chars().take(LONGEST_WARNING).collect();
            (self.0.teller)(Notice::Warning(provider.clone(), warning));
        }
        let listed = Arc::new(listed);
        let mut lists = lock(&self.0.lists);
        // Anybody may name any address.
        lists.retain(|_, (when, _)| when.elapsed() < FRESH);
        if lists.len() >= MOST_LISTS {
            lists.clear();
        }
        lists.insert(key, (Instant::now(), listed.clone()));
        drop(lists);
        Ok(listed)
    }
}
