//! Fetches a package from a method with a network, or takes what was fetched earlier. Nothing is unpacked that its archive's checksum
//! tells to be wrong, and nothing has a name in the cache before its checksum is right.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, Weak},
    time::Instant,
};

use ashlar_addr::{Provider, Version};

use super::{Installed, Installer, Notice, blocking, lock};
use crate::{
    cache::{Kept, Known},
    error::InstallError,
    hash::{self, Hashes},
    lay,
    method::Location,
    offer::{Offer, Proof},
    platform::Platform,
    remote::Remote,
    wanted::{Source, Wanted},
};

impl Installer {
    /// Lays the archive of a version for a platform into a folder as mirrors have it, fetched anew from the first method with a network that
    /// has it; checked as for an installation.
    pub async fn lay_out(
        &self,
        folder: &Path,
        provider: &Provider,
        version: &Version,
        platform: &Platform,
        settled: &Hashes,
    ) -> Result<PathBuf, InstallError> {
        let wanted = Wanted {
            provider: provider.clone(),
            version: version.clone(),
            platform: platform.clone(),
            settled: settled.clone(),
        };
        let mut absence = None;
        for (_, method) in self
            .methods(provider)
            .filter(|(_, method)| method.location.is_remote())
        {
            let client = self.client(provider)?;
            let remote = Remote::open(&client, &method.location, provider).await?;
            let offer = match remote.offer(version, platform).await {
                Err(error) if error.is_absence() => {
                    absence = Some(error);
                    continue;
                }
                offer => offer?,
            };
            let source = Source::of(&method.location, &wanted);
            let (_, mut archive) = self.fetch(&source, offer, &method.location, &wanted).await?;
            let folder = folder.to_owned();
            let Wanted {
                provider,
                version,
                platform,
                ..
            } = wanted;
            return blocking(move || Ok(lay::put(&folder, &provider, &version, &platform, &mut archive)?))
                .await;
        }
        Err(absence.unwrap_or_else(|| self.absent(provider)))
    }

    /// Whoever fetches this: one at a time.
    pub(super) fn one(&self, key: &str) -> Arc<tokio::sync::Mutex<()>> {
        let mut busy = lock(&self.0.busy);
        busy.retain(|_, one| one.strong_count() > 0);
        if let Some(one) = busy.get(key).and_then(Weak::upgrade) {
            return one;
        }
        let one = Arc::default();
        busy.insert(key.to_owned(), Arc::downgrade(&one));
        one
    }

    /// What was fetched earlier, if it is still there, sound, and what is settled.
    pub(super) async fn kept(
        &self,
        source: &Source,
        wanted: &Wanted,
    ) -> Result<Option<Installed>, InstallError> {
        let (own, source, wanted) = (self.clone(), source.clone(), wanted.clone());
        blocking(move || {
            if let Some(found) = own.in_plugin_cache(&wanted) {
                return Ok(Some(found));
            }
            let cache = &own.0.cache;
            let Some(known) = cache.recall(&source.parts()) else {
                return Ok(None);
            };
            // A cache that cannot be read is one without the package.
            let Ok(Some(kept)) = cache.find(&known.archive) else {
                return Ok(None);
            };
            let Ok(h1) = own.h1(&kept.folder) else {
                return Ok(None);
            };
            if kept.h1.as_deref() != Some(&*h1) {
                tracing::warn!(folder = %kept.folder.display(), "a package in the cache of providers is damaged; it is fetched anew");
                let _ = cache.discard(&kept);
                return Ok(None);
            }
            let hashes = Hashes::from([h1, known.archive]);
            if wanted.check(&hashes).is_err() {
                return Ok(None);
            }
            Ok(Some(wanted.installed(kept.folder, hashes, known.vouched, Some(kept.in_use))))
        })
        .await
    }

    /// Fetches what a method offers, checks it and keeps it; with the archive.
    pub(super) async fn fetch(
        &self,
        source: &Source,
        offer: Offer,
        location: &Location,
        wanted: &Wanted,
    ) -> Result<(Installed, std::fs::File), InstallError> {
        let Some(client) = &self.0.client else {
            return Err(self.absent(&wanted.provider));
        };
        let place = location.place(&wanted.provider);
        let tell = |notice| (self.0.teller)(notice);
        let (provider, version) = (&wanted.provider, &wanted.version);
        let permit = self.0.fetches.clone().acquire_owned().await;
        let permit = permit.map_err(|error| InstallError::Broken(error.to_string()))?;
        tell(Notice::Fetching(provider.clone(), version.clone(), place.clone()));
        let unfetched = |fault| InstallError::Fetch {
            provider: provider.clone(),
            version: version.clone(),
            fault,
        };
        let unkept = |error| wanted.unkept(self.0.cache.unwritable(error));
        let mut file = self.0.cache.scratch().map_err(unkept)?;
        let begun = Instant::now();
        offer.package.save(client, &mut file).await.map_err(unfetched)?;
        tracing::debug!(%provider, %version, seconds = begun.elapsed().as_secs_f64(), "fetched a provider");
        let (own, source, owned) = (self.clone(), source.clone(), wanted.clone());
        let key = match &offer.proof {
            Proof::Signed { key, .. } => Some(key.clone()),
            Proof::Told(_) => None,
        };
        let proof = offer.proof;
        let done = blocking(move || {
            // Until the file is unpacked, whoever waits for it; and it goes before the permit.
            let _permit = permit;
            let mut file = file;
            let installed = own.take_in(&source, &mut file, &proof, &place, &owned)?;
            Ok((installed, file))
        });
        let done = done.await?;
        tell(Notice::Fetched(provider.clone(), version.clone(), key));
        Ok(done)
    }

    fn take_in(
        &self,
        source: &Source,
        file: &mut std::fs::File,
        proof: &Proof,
        place: &str,
        wanted: &Wanted,
    ) -> Result<Installed, InstallError> {
        let unread = |error| wanted.unkept(self.0.cache.unwritable(error));
        let archive = hash::of_archive(file).map_err(unread)?;
        let mismatch = |found: &str| {
            let (place, found) = (place.to_owned(), found.to_owned());
            move |promised: String| InstallError::Checksum {
                provider: wanted.provider.clone(),
                version: wanted.version.clone(),
                place,
                found,
                wanted: promised,
            }
        };
        // Before it is unpacked; where only its files' hash is known, before it has a name in the cache.
        proof.judge_archive(&archive).map_err(mismatch(&archive))?;
        wanted.check_archive(&archive)?;
        let cache = &self.0.cache;
        let judge = |h1: &str| {
            let hashes = Hashes::from([h1.to_owned(), archive.clone()]);
            proof.judge(&hashes).map_err(mismatch(&archive))?;
            wanted.check(&hashes)?;
            Ok::<_, InstallError>(hashes)
        };
        let keep = || {
            let draft = cache
                .unpack(file, &archive)
                .map_err(|error| wanted.unkept(error))?;
            judge(&draft.h1)?;
            cache.keep(draft).map_err(|error| wanted.unkept(error))
        };
        let mut kept = match cache.find(&archive).map_err(unread)? {
            Some(kept) => kept,
            None => keep()?,
        };
        let mut h1 = self.h1(&kept.folder).map_err(unread)?;
        if kept.h1.as_deref() != Some(&*h1) {
            // What lay there was damaged.
            cache.discard(&kept).map_err(unread)?;
            kept = keep()?;
            h1 = self.h1(&kept.folder).map_err(unread)?;
        }
        let hashes = judge(&h1)?;
        let known = Known {
            archive,
            vouched: proof.vouched(),
            key: match proof {
                Proof::Signed { key, .. } => Some(key.clone()),
                Proof::Told(_) => None,
            },
        };
        self.0.cache.remember(&source.parts(), &known).map_err(unread)?;
        self.lay_in_plugin_cache(&kept, wanted);
        let Kept { folder, in_use, .. } = kept;
        Ok(wanted.installed(folder, hashes, known.vouched, Some(in_use)))
    }
}
