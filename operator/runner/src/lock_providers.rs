//! Settles providers for several platforms: what `providers lock` does.
//!
//! Source: Terraform `internal/command/providers_lock.go`. What is settled already keeps its version and its checksums; those of the
//! platforms are added. Nothing is started, and no plan is made.

use std::path::Path;

use ashlar_addr::{Constraints, Provider, Version};
use ashlar_config::Tree;
use ashlar_diag::{Diag, Diags, Sources};
use ashlar_install::{Hashes, Installer, Platform};

use crate::{
    lock_file::{LockFile, Locked},
    providers::asks,
};

/// What was settled of one provider's package.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockedPackage {
    /// Which.
    pub provider: Provider,
    /// For which platform.
    pub platform: Platform,
    /// What the lock file says of it now that it did not say before.
    pub news: LockNews,
}

/// What is new in a lock file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockNews {
    /// The provider itself.
    Provider,
    /// A checksum.
    Checksums,
    /// Nothing.
    Nothing,
}

/// Settles the providers that a configuration needs, or `only` these of them, in the folder's lock file.
pub async fn lock_providers(
    installer: &Installer,
    folder: &Path,
    tree: &Tree,
    sources: &mut Sources,
    platforms: &[Platform],
    only: &[Provider],
) -> Result<Vec<LockedPackage>, Diags> {
    let before = LockFile::read(folder, sources)?;
    let mut wanted = tree.requirements();
    wanted.retain(|provider, _| !provider.is_builtin());
    for provider in only {
        if !wanted.contains_key(provider) {
            let detail = format!("The configuration does not need the provider {provider}.");
            return Err(Diag::error("Invalid provider argument", detail).into());
        }
    }
    wanted.retain(|provider, _| only.is_empty() || only.contains(provider));
    let asks = asks(tree, sources);
    let mut after = before.clone();
    let mut done = Vec::new();
    for (provider, constraints) in wanted {
        let old = before.0.get(&provider);
        let asks = asks.get(&provider).map(Vec::as_slice).unwrap_or_default();
        let version = version_of(installer, &provider, &constraints, old, asks).await?;
        let mut hashes = old.map_or_else(Hashes::new, |old| old.hashes.clone());
        for platform in platforms {
            // Whoever publishes it has the last word here, not what was settled.
            let installed = installer
                .install_for(&provider, &version, platform, &Hashes::new())
                .await;
            let installed = installed.map_err(|error| unavailable(error.into()))?;
            let own: Hashes = installed.hashes.into_iter().chain(installed.vouched).collect();
            let news = match old {
                None => LockNews::Provider,
                Some(old) if !own.is_subset(&old.hashes) => LockNews::Checksums,
                Some(_) => LockNews::Nothing,
            };
            hashes.extend(own);
            done.push(LockedPackage {
                provider: provider.clone(),
                platform: platform.clone(),
                news,
            });
        }
        let locked = Locked {
            version,
            constraints: constraints.canonical(),
            hashes,
        };
        after.0.insert(provider, locked);
    }
    if after != before {
        after.write(folder)?;
    }
    Ok(done)
}

/// The versions that a configuration's providers have, as they are settled or else would be, with the checksums that are settled.
pub async fn versions_of(
    installer: &Installer,
    folder: &Path,
    tree: &Tree,
    sources: &mut Sources,
) -> Result<Vec<(Provider, Version, Hashes)>, Diags> {
    let locks = LockFile::read(folder, sources)?;
    let asks = asks(tree, sources);
    let mut found = Vec::new();
    for (provider, constraints) in tree.requirements() {
        if provider.is_builtin() {
            continue;
        }
        let old = locks.0.get(&provider);
        let asks = asks.get(&provider).map(Vec::as_slice).unwrap_or_default();
        let version = version_of(installer, &provider, &constraints, old, asks).await?;
        let settled = old.map_or_else(Hashes::new, |old| old.hashes.clone());
        found.push((provider, version, settled));
    }
    Ok(found)
}

async fn version_of(
    installer: &Installer,
    provider: &Provider,
    constraints: &Constraints,
    old: Option<&Locked>,
    asks: &[String],
) -> Result<Version, Diags> {
    match old {
        Some(old) if constraints.allow_provider(&old.version) => Ok(old.version.clone()),
        Some(old) => {
            let detail = format!(
                "Version {} of provider {provider} is settled in .terraform.lock.hcl, and the configuration asks for \
                 {constraints}. Take its block out of the file, and another version is settled.",
                old.version
            );
            Err(Diag::error("Could not retrieve providers for locking", detail).into())
        }
        None => {
            let chosen = installer.choose(provider, constraints, asks).await;
            chosen.map_err(|error| unavailable(error.into()))
        }
    }
}

fn unavailable(diag: Diag) -> Diags {
    let detail = diag.detail;
    Diag::error("Could not retrieve providers for locking", detail).into()
}
