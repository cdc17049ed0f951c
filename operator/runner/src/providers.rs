//! Which binary serves which provider, and how it is started.

use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::OsString,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use ashlar_addr::{Constraints, Provider};
use ashlar_config::Tree;
use ashlar_diag::{Diag, Diags};
use ashlar_plan::ProviderPin;
use ashlar_port::Outside;
use ashlar_provider::{
    Binary, Environment, LaunchOptions, Mirrors, Package, PluginOptions, Plugins, Redactor, Timeouts,
};
use ashlar_state::State;

use crate::{
    binary_digests::BinaryDigests,
    files::Files,
    lock_file::{LockFile, Locked},
    redact::Redaction,
    settings::{Settings, Warm},
    states::OtherStates,
};

/// Binaries chosen for a run.
#[derive(Default)]
pub(crate) struct Chosen {
    pub(crate) binaries: BTreeMap<Provider, Binary>,
    pub(crate) pins: Vec<ProviderPin>,
    /// What is settled by this choice.
    pub(crate) locks: LockFile,
}

/// Chooses for every provider in use the package that is settled, or else the newest that the configuration allows;
/// providers that only the state names may have any version.
pub(crate) async fn choose(
    settings: &Settings,
    tree: &Tree,
    state: &State,
    locks: LockFile,
) -> Result<Chosen, Diags> {
    let mut wanted = tree.requirements();
    for resource in state.resources.values() {
        wanted.entry(resource.provider.provider.clone()).or_default();
    }
    wanted.retain(|provider, _| !provider.is_builtin());
    let mirrors = Mirrors {
        folders: settings.mirrors.clone(),
        cache: settings.cache.clone(),
    };
    let digests = settings.digests.clone();
    blocking(move || {
        let mut chosen = Chosen::default();
        let mut diags = Diags::new();
        for (provider, constraints) in wanted {
            let locked = locks.0.get(&provider);
            let found = match locked {
                Some(locked) if !constraints.allow_provider(&locked.version) => {
                    Err(out_of_range(&provider, &constraints, locked))
                }
                Some(locked) => mirrors.exactly(&provider, &locked.version).map_err(Diag::from),
                None => mirrors.select(&provider, &constraints).map_err(Diag::from),
            };
            let found = found.map_err(Diags::from).and_then(|package| {
                let locked = lock(&mirrors, &digests, &provider, &package, locked)?;
                Ok((pin(&mirrors, &digests, &provider, &package)?, locked))
            });
            if let Some(((binary, pin), mut locked)) = diags.take(found) {
                locked.constraints = constraints.canonical();
                chosen.binaries.insert(provider.clone(), known(binary, &pin));
                chosen.pins.push(pin);
                chosen.locks.0.insert(provider, locked);
            }
        }
        if diags.has_errors() {
            Err(diags)
        } else {
            Ok(chosen)
        }
    })
    .await
}

/// Finds the very binaries that a plan was made with.
pub(crate) async fn find_pinned(settings: &Settings, pins: &[ProviderPin]) -> Result<Chosen, Diags> {
    let pins = pins.to_vec();
    let mirrors = Mirrors {
        folders: settings.mirrors.clone(),
        cache: settings.cache.clone(),
    };
    let digests = settings.digests.clone();
    blocking(move || {
        let mut chosen = Chosen::default();
        for wanted in pins {
            let gone = |why: String| {
                let detail = format!(
                    "The plan was made with version {} of provider {}, and {why}. Plan anew.",
                    wanted.version,
                    wanted.provider.for_display()
                );
                Diags::from(Diag::error("Provider changed since the plan was made", detail))
            };
            let packages = mirrors.packages(&wanted.provider).map_err(Diag::from)?;
            let package = packages
                .into_values()
                .find(|package| package.version.to_string() == wanted.version);
            let Some(package) = package else {
                return Err(gone("no mirror has it any more".to_owned()));
            };
            let (binary, pin) = pin(&mirrors, &digests, &wanted.provider, &package)?;
            if pin.digest != wanted.digest {
                return Err(gone("its binary is another one now".to_owned()));
            }
            chosen
                .binaries
                .insert(wanted.provider.clone(), known(binary, &pin));
            chosen.pins.push(pin);
        }
        Ok(chosen)
    })
    .await
}

fn out_of_range(provider: &Provider, constraints: &Constraints, locked: &Locked) -> Diag {
    let detail = format!(
        "Version {} of provider {provider} is settled in .terraform.lock.hcl, and the configuration asks for {constraints}. \
         `--upgrade` settles another version.",
        locked.version
    );
    Diag::error("Failed to query available provider packages", detail)
}

/// What is settled of a package; one that is not what was settled of it before is refused.
fn lock(
    mirrors: &Mirrors,
    digests: &BinaryDigests,
    provider: &Provider,
    package: &Package,
    before: Option<&Locked>,
) -> Result<Locked, Diags> {
    let digest = |path: &Path| {
        let digest = digests.of(path)?;
        Ok(digest.strip_prefix("sha256:").unwrap_or(&digest).to_owned())
    };
    let own: BTreeSet<String> = mirrors
        .hashes(package, &digest)
        .map_err(Diag::from)?
        .into_iter()
        .collect();
    let before = before.map_or_else(BTreeSet::new, |locked| locked.hashes.clone());
    if !before.is_empty() && own.is_disjoint(&before) {
        let detail = format!(
            "The package of provider {provider} {} has none of the checksums that .terraform.lock.hcl settles for it. Either it \
             was tampered with, or the file was made for other platforms: `terraform providers lock` adds this one.",
            package.version
        );
        return Err(Diag::error("Failed to install provider", detail).into());
    }
    Ok(Locked {
        version: package.version.clone(),
        constraints: String::new(),
        hashes: own.into_iter().chain(before).collect(),
    })
}

fn pin(
    mirrors: &Mirrors,
    digests: &BinaryDigests,
    provider: &Provider,
    package: &Package,
) -> Result<(PathBuf, ProviderPin), Diags> {
    let binary = mirrors.binary(provider, package).map_err(Diag::from)?;
    let digest = digests.of(&binary).map_err(|error| {
        let detail = format!("The plugin {} could not be read: {error}.", binary.display());
        Diag::error("Failed to instantiate provider", detail)
    })?;
    let pin = ProviderPin {
        provider: provider.clone(),
        version: package.version.to_string(),
        digest,
    };
    Ok((binary, pin))
}

fn known(path: PathBuf, pin: &ProviderPin) -> Binary {
    Binary {
        path,
        digest: Some(pin.digest.clone()),
    }
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Diags> + Send + 'static,
) -> Result<T, Diags> {
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|error| {
        let detail = format!("Looking for provider plugins ended unexpectedly: {error}.");
        Err(Diag::error("Failed to instantiate provider", detail).into())
    })
}

/// Where plugins run.
#[derive(Clone, Copy)]
pub(crate) struct Place<'a> {
    /// The module's folder, in which they are started.
    pub(crate) folder: &'a Path,
    /// What they may read; the module's folder lies in it.
    pub(crate) readable: &'a Path,
    /// What the run itself may read.
    pub(crate) files: &'a Files,
}

impl<'a> Place<'a> {
    /// One folder for both.
    pub(crate) fn of(folder: &'a Path, files: &'a Files) -> Self {
        Self {
            folder,
            readable: folder,
            files,
        }
    }
}

/// How the programs of a run are started.
pub(crate) fn launch_options(
    settings: &Settings,
    place: Place<'_>,
    env: &[(OsString, OsString)],
    redact: Redactor,
) -> LaunchOptions {
    let environment = if settings.inherit_environment {
        Environment::Inherited(env.to_vec())
    } else {
        Environment::Only(env.to_vec())
    };
    LaunchOptions {
        launcher: settings.launcher.clone(),
        fence: settings.fence,
        environment,
        working_folder: place.folder.to_owned(),
        scratch: settings.scratch.clone(),
        readable: vec![place.readable.to_owned()],
        writable: settings.writable.clone(),
        redact,
        handshake: Duration::from_secs(60),
    }
}

/// The plugins of a run; they are told that a Terraform of this version runs them.
pub(crate) fn plugins(
    settings: &Settings,
    chosen: Chosen,
    place: Place<'_>,
    env: &[(OsString, OsString)],
    redaction: Redaction,
    outside: Arc<dyn Outside>,
    version: &str,
) -> Arc<Plugins> {
    let options = PluginOptions {
        launch: launch_options(settings, place, env, redaction.redact),
        timeouts: Timeouts::default(),
        terraform_version: version.to_owned(),
        secrets: redaction.secrets.clone(),
    };
    let schemas = settings.schemas.clone();
    let states = OtherStates::new(place.files.clone(), settings.states.clone(), redaction.secrets);
    let plugins = Plugins::new(chosen.binaries, options, schemas, outside, Arc::new(states));
    Arc::new(match settings.warm.clone() {
        Some(Warm { pool, tenant, anchor }) => plugins.kept_warm(pool, tenant, anchor),
        None => plugins,
    })
}
