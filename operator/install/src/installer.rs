//! Installs providers: asks the methods of installation in their order, checks what they have, and keeps it.
//!
//! Source: Terraform `internal/providercache/installer.go`, `internal/getproviders/multi_source.go`. All versions of all methods
//! that serve a provider count, and of a version the first method that has it. A method that does not have it is passed over; one
//! that fails is an error, not passed over, because the next one might have another package. Nothing here starts a provider,
//! or decides which version is settled.

use std::{
    collections::{BTreeMap, HashMap},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    time::{Duration, Instant},
};

use ashlar_addr::{Constraints, Provider, Version};
use ashlar_sources::Client;

use crate::{
    cache::{Cache, InUse, Kept, Known},
    digests::Digests,
    error::InstallError,
    hash::{self, Hashes},
    lay,
    method::{Installation, Location, Method},
    mirror::{MirrorError, Mirrors, find_binary},
    offer::{Listed, Offer, Proof},
    platform::Platform,
    remote::Remote,
    wanted::{Source, Wanted, copy},
};

/// How long a list of versions is taken for true. A process that plans every minute does not ask every minute.
const FRESH: Duration = Duration::from_secs(300);

/// Time for a question; a package may take longer.
const QUESTION: Duration = Duration::from_secs(30);

/// What whoever waits may want to know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notice {
    /// A package is fetched from somewhere.
    Fetching(Provider, Version, String),
    /// It is there; with the key of whoever signed it.
    Fetched(Provider, Version, Option<String>),
    /// What a source wants people to know.
    Warning(Provider, String),
}

type Teller = dyn Fn(Notice) + Send + Sync;

/// What each method had, and when it was asked.
type Lists = HashMap<(usize, Provider), (Instant, Arc<Listed>)>;

/// Installs providers. Cheap to clone; one for all runs of a process.
#[derive(Clone)]
pub struct Installer(Arc<Inner>);

/// Most lists of versions that are remembered.
const MOST_LISTS: usize = 128;
/// Most warnings of a registry that are told, and most letters of one.
const MOST_WARNINGS: usize = 10;
const LONGEST_WARNING: usize = 500;

struct Inner {
    installation: Installation,
    cache: Cache,
    /// None: no network is used.
    client: Option<Client>,
    /// As Terraform lays it out: `plugin_cache_dir`.
    plugin_cache: Option<PathBuf>,
    digests: Digests,
    teller: Box<Teller>,
    lists: Mutex<Lists>,
    /// Whoever fetches a package, so that others wait for it.
    busy: Mutex<HashMap<String, Weak<tokio::sync::Mutex<()>>>>,
}

/// A package that lies here, checked.
#[derive(Clone, Debug)]
pub struct Installed {
    /// Which.
    pub provider: Provider,
    /// Its version; none of a development override.
    pub version: Option<Version>,
    /// Its files.
    pub folder: PathBuf,
    /// Its own hashes: `h1:`, and `zh:` where there is an archive.
    pub hashes: Hashes,
    /// Hashes of the packages for other platforms that whoever made them signed.
    pub vouched: Hashes,
    /// Keeps it where it is as long as it is kept itself.
    pub in_use: Option<InUse>,
}

impl Installed {
    /// Its program.
    pub fn binary(&self) -> Result<PathBuf, InstallError> {
        Ok(find_binary(&self.folder, &self.provider.name)?)
    }
}

impl Installer {
    /// One that keeps packages in a cache. Without a client it uses no network.
    pub fn new(installation: Installation, cache: Cache, client: Option<Client>) -> Self {
        Self(Arc::new(Inner {
            installation,
            cache,
            client,
            plugin_cache: None,
            digests: Digests::default(),
            teller: Box::new(|_| ()),
            lists: Mutex::default(),
            busy: Mutex::default(),
        }))
    }

    /// Folders alone, in order of precedence.
    pub fn of_folders(folders: Vec<PathBuf>, cache: Cache) -> Self {
        Self::new(Installation::of_folders(folders), cache, None)
    }

    /// Tells what it does. For one that nobody has a copy of.
    #[must_use]
    pub fn telling(self, teller: impl Fn(Notice) + Send + Sync + 'static) -> Self {
        self.with(|inner| inner.teller = Box::new(teller))
    }

    /// Takes packages that are settled from a folder as Terraform's `plugin_cache_dir` is, and lays there what it fetches. For one that
    /// nobody has a copy of.
    #[must_use]
    pub fn with_plugin_cache(self, folder: Option<PathBuf>) -> Self {
        self.with(|inner| inner.plugin_cache = folder)
    }

    /// Keeps checksums of files in a folder, so that a later process need not read them again. For one that nobody has a copy of.
    #[must_use]
    pub fn with_digests_in(self, folder: PathBuf) -> Self {
        self.with(|inner| inner.digests = Digests::kept_in(folder))
    }

    fn with(mut self, change: impl FnOnce(&mut Inner)) -> Self {
        if let Some(inner) = Arc::get_mut(&mut self.0) {
            change(inner);
        }
        self
    }

    /// Checksums of files known already.
    pub fn digests(&self) -> &Digests {
        &self.0.digests
    }

    /// The folders among its methods, in order.
    pub fn folders(&self) -> Vec<PathBuf> {
        let methods = self.0.installation.methods.iter();
        let folder = |method: &Method| match &method.location {
            Location::Filesystem(folder) => Some(folder.clone()),
            _ => None,
        };
        methods.filter_map(folder).collect()
    }

    /// Providers for which a folder stands, whatever version is asked for.
    pub fn overrides(&self) -> &BTreeMap<Provider, PathBuf> {
        &self.0.installation.overrides
    }

    /// Where a provider is sought, for people.
    pub fn places(&self, provider: &Provider) -> Vec<String> {
        let methods = self.methods(provider);
        methods
            .map(|(_, method)| method.location.place(provider))
            .collect()
    }

    fn methods<'a>(&'a self, provider: &'a Provider) -> impl Iterator<Item = (usize, &'a Method)> {
        let methods = self.0.installation.methods.iter().enumerate();
        methods.filter(|(_, method)| method.serves(provider))
    }

    /// The development override of a provider.
    pub async fn overridden(&self, provider: &Provider) -> Option<Result<Installed, InstallError>> {
        let folder = self.0.installation.overrides.get(provider)?.clone();
        let (own, provider) = (self.clone(), provider.clone());
        Some(
            blocking(move || {
                let fault = |error: MirrorError| InstallError::Override {
                    provider: provider.clone(),
                    folder: folder.clone(),
                    error: Box::new(error),
                };
                find_binary(&folder, &provider.name).map_err(fault)?;
                let unreadable = |error| fault(MirrorError::Read(folder.clone(), error));
                let h1 = own.h1(&folder).map_err(unreadable)?;
                Ok(Installed {
                    provider: provider.clone(),
                    version: None,
                    folder: folder.clone(),
                    hashes: Hashes::from([h1]),
                    vouched: Hashes::new(),
                    in_use: None,
                })
            })
            .await,
        )
    }

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

    fn absent(&self, provider: &Provider) -> InstallError {
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

    /// The client for questions.
    fn client(&self, provider: &Provider) -> Result<Client, InstallError> {
        match &self.0.client {
            Some(client) => Ok(client.with_time(QUESTION)),
            None => Err(InstallError::NotFound {
                provider: provider.clone(),
                places: Vec::new(),
            }),
        }
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

    /// The package of a version for this machine, which must have one of the hashes that are settled, if any is.
    pub async fn install(
        &self,
        provider: &Provider,
        version: &Version,
        settled: &Hashes,
    ) -> Result<Installed, InstallError> {
        self.install_for(provider, version, &Platform::here(), settled)
            .await
    }

    /// The package of a version for a platform, which must have one of the hashes that are settled, if any is.
    pub async fn install_for(
        &self,
        provider: &Provider,
        version: &Version,
        platform: &Platform,
        settled: &Hashes,
    ) -> Result<Installed, InstallError> {
        let wanted = Wanted {
            provider: provider.clone(),
            version: version.clone(),
            platform: platform.clone(),
            settled: settled.clone(),
        };
        let mut absence = None;
        for (_, method) in self.methods(provider) {
            let found = match &method.location {
                Location::Filesystem(folder) => self.in_folder(folder, &wanted).await,
                location => self.at_remote(location, &wanted).await,
            };
            match found {
                Err(error) if error.is_absence() => absence = Some(error),
                found => return found,
            }
        }
        Err(absence.unwrap_or_else(|| self.absent(provider)))
    }

    fn mirrors(&self, folder: &Path) -> Mirrors {
        Mirrors {
            folders: vec![folder.to_owned()],
            cache: self.0.cache.clone(),
        }
    }

    async fn in_folder(&self, folder: &Path, wanted: &Wanted) -> Result<Installed, InstallError> {
        let (own, mirrors, wanted) = (self.clone(), self.mirrors(folder), wanted.clone());
        let place = folder.display().to_string();
        blocking(move || {
            let mut packages = mirrors.packages_for(&wanted.provider, &wanted.platform)?;
            let package = packages
                .remove(&wanted.version)
                .ok_or_else(|| wanted.absent(format!("the folder {place}")))?;
            let (files, hashes) = mirrors.open(&package, &|path| own.0.digests.of(path))?;
            wanted.check(&hashes)?;
            Ok(wanted.installed(files.folder, hashes, Hashes::new(), files.in_use))
        })
        .await
    }

    async fn at_remote(&self, location: &Location, wanted: &Wanted) -> Result<Installed, InstallError> {
        let source = Source::of(location, wanted);
        let one = self.one(&source.0.join("\n"));
        // Whoever comes second finds what the first one kept.
        let _one = one.lock().await;
        if let Some(found) = self.kept(&source, wanted).await? {
            return Ok(found);
        }
        let client = self.client(&wanted.provider)?;
        let remote = Remote::open(&client, location, &wanted.provider).await?;
        let offer = remote.offer(&wanted.version, &wanted.platform).await?;
        Ok(self.fetch(&source, offer, location, wanted).await?.0)
    }

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

    fn one(&self, key: &str) -> Arc<tokio::sync::Mutex<()>> {
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
    async fn kept(&self, source: &Source, wanted: &Wanted) -> Result<Option<Installed>, InstallError> {
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

    async fn fetch(
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
        let mismatch = |found: &str, promised: &str| InstallError::Checksum {
            provider: wanted.provider.clone(),
            version: wanted.version.clone(),
            place: place.to_owned(),
            found: found.to_owned(),
            wanted: promised.to_owned(),
        };
        // Before it is unpacked.
        if let Proof::Signed {
            archive: promised, ..
        } = proof
            && *promised != archive
        {
            return Err(mismatch(&archive, promised));
        }
        let keep = || self.0.cache.take_in(file, &archive);
        let mut kept = keep().map_err(|error| wanted.unkept(error))?;
        let mut h1 = self.h1(&kept.folder).map_err(unread)?;
        if kept.h1.as_deref() != Some(&*h1) {
            // What lay there was damaged.
            self.0.cache.discard(&kept).map_err(unread)?;
            kept = keep().map_err(|error| wanted.unkept(error))?;
            h1 = self.h1(&kept.folder).map_err(unread)?;
        }
        let hashes = Hashes::from([h1, archive.clone()]);
        if let Proof::Told(told) = proof {
            let known: Vec<&str> = told
                .iter()
                .map(String::as_str)
                .filter(|hash| hash::is_known(hash))
                .collect();
            if known.is_empty() && !told.is_empty() {
                return Err(mismatch(&archive, "one of a scheme that is known here"));
            }
            if !known.is_empty() && known.iter().all(|hash| !hashes.contains(*hash)) {
                return Err(mismatch(&archive, &known.join(" or ")));
            }
        }
        wanted.check(&hashes)?;
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

    fn h1(&self, folder: &Path) -> std::io::Result<String> {
        hash::of_folder(folder, &|path| self.0.digests.of(path))
    }

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
    fn in_plugin_cache(&self, wanted: &Wanted) -> Option<Installed> {
        let folder = self.plugin_cache_of(wanted).filter(|folder| folder.is_dir())?;
        let hashes = Hashes::from([self.h1(&folder).ok()?]);
        if wanted.settled.is_disjoint(&hashes) {
            return None;
        }
        Some(wanted.installed(folder, hashes, Hashes::new(), None))
    }

    /// Lays what was fetched where Terraform finds it. That it cannot be laid there stops nobody.
    fn lay_in_plugin_cache(&self, kept: &Kept, wanted: &Wanted) {
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

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs what blocks on a thread of its own.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, InstallError> + Send + 'static,
) -> Result<T, InstallError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(error) => Err(InstallError::Broken(error.to_string())),
    }
}
