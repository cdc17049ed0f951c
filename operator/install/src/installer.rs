//! Installs providers: asks the methods of installation in their order, checks what they have, and keeps it.
//!
//! Source: Terraform `internal/providercache/installer.go`, `internal/getproviders/multi_source.go`. All versions of all methods
//! that serve a provider count, and of a version the first method that has it. A method that does not have it is passed over; one
//! that fails is an error, not passed over, because the next one might have another package. Nothing here starts a provider,
//! or decides which version is settled.

mod fetch;
mod plugin_cache;
mod versions;

use std::{
    collections::{BTreeMap, HashMap},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    time::Duration,
};

use ashlar_addr::{Provider, Version};
use ashlar_sources::Client;

use self::versions::Lists;
use crate::{
    cache::{Cache, InUse},
    digests::Digests,
    error::InstallError,
    hash::{self, Hashes},
    method::{Installation, Location, Method},
    mirror::{MirrorError, Mirrors, find_binary},
    platform::Platform,
    remote::Remote,
    wanted::{Source, Wanted},
};

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

/// Installs providers. Cheap to clone; one for all runs of a process.
#[derive(Clone)]
pub struct Installer(Arc<Inner>);

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
    /// One permit per package that may be fetched at once, by all runs.
    fetches: Arc<tokio::sync::Semaphore>,
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
    /// Packages that are fetched at once: each lies in the cache's folder until it is unpacked.
    pub const FETCHES: usize = 4;

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
            fetches: Arc::new(tokio::sync::Semaphore::new(Self::FETCHES)),
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

    fn h1(&self, folder: &Path) -> std::io::Result<String> {
        hash::of_folder(folder, &|path| self.0.digests.of(path))
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
