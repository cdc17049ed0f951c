//! The folder that Terraform calls `plugin_cache_dir`, as Terraform lays it out.

use std::path::PathBuf;

use ashlar_addr::Provider;

use super::{Installed, Installer};
use crate::{
    cache::Kept,
    hash::Hashes,
    wanted::{Wanted, copy},
};

impl Installer {
    fn plugin_cache_of(&self, wanted: &Wanted) -> Option<PathBuf> {
        let Provider {
            host,
            namespace,
            name,
        } = &wanted.provider;
        let folder = self.0.plugin_cache.as_ref()?;
        let folder = folder.join(&**host).join(&**namespace).join(&**name);
        Some(
            folder
                .join(wanted.version.to_string())
                .join(wanted.platform.to_string()),
        )
    }

    /// As Terraform does it, only what is settled: nothing else says what should lie there.
    pub(super) fn in_plugin_cache(&self, wanted: &Wanted) -> Option<Installed> {
        let folder = self.plugin_cache_of(wanted).filter(|folder| folder.is_dir())?;
        let hashes = Hashes::from([self.h1(&folder).ok()?]);
        if wanted.settled.is_disjoint(&hashes) {
            return None;
        }
        Some(wanted.installed(folder, hashes, Hashes::new(), None))
    }

    /// Lays what was fetched where Terraform finds it. That it cannot be laid there stops nobody.
    pub(super) fn lay_in_plugin_cache(&self, kept: &Kept, wanted: &Wanted) {
        let Some(target) = self.plugin_cache_of(wanted).filter(|target| !target.exists()) else {
            return;
        };
        let lay = || {
            let parent = target.parent().unwrap_or(&target);
            std::fs::create_dir_all(parent)?;
            let half = tempfile::Builder::new().prefix(".half-").tempdir_in(parent)?;
            let files = half.path().join("files");
            copy(&kept.folder, &files)?;
            match std::fs::rename(&files, &target) {
                Err(_) if target.is_dir() => Ok(()),
                renamed => renamed,
            }
        };
        if let Err(error) = lay() {
            tracing::warn!(%error, folder = %target.display(), "a provider could not be laid into plugin_cache_dir");
        }
    }
}
