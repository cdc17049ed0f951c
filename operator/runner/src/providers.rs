//! Which binary serves which provider, and how it is started.

use std::{collections::BTreeMap, ffi::OsString, path::Path, sync::Arc, time::Duration};

use ashlar_addr::{Constraints, Provider, Version};
use ashlar_config::Tree;
use ashlar_diag::{Diag, Diags, Sources, Span};
use ashlar_install::{Hashes, InUse, InstallError, Installed, Installer};
use ashlar_plan::ProviderPin;
use ashlar_port::Outside;
use ashlar_provider::{
    Binary, Environment, LaunchOptions, PluginOptions, Plugins, Redactor, Sidecar, Timeouts,
};
use ashlar_state::State;
use futures::{StreamExt, stream};

use crate::{
    files::Files,
    lock_file::{LockFile, Locked},
    redact::Redaction,
    settings::{Settings, Warm},
    states::OtherStates,
};

/// Providers that one run installs at once. What all runs together fetch and unpack is the installer's to bound.
const AT_ONCE: usize = 4;

/// What a plan calls the version of a development override.
const OVERRIDDEN: &str = "dev";

/// Binaries chosen for a run.
#[derive(Default)]
pub(crate) struct Chosen {
    pub(crate) binaries: BTreeMap<Provider, Binary>,
    pub(crate) sidecars: BTreeMap<Provider, Sidecar>,
    pub(crate) pins: Vec<ProviderPin>,
    /// What is settled by this choice.
    pub(crate) locks: LockFile,
    /// Keeps the binaries where they are; for as long as the run may start them.
    pub(crate) in_use: Vec<InUse>,
    /// What is to be told of it.
    pub(crate) warnings: Diags,
}

impl Chosen {
    fn attach(&mut self, provider: Provider, sidecar: &Sidecar) {
        self.pins.push(ProviderPin {
            provider: provider.clone(),
            version: version_of(sidecar),
            digest: sidecar.pin(),
        });
        self.sidecars.insert(provider, sidecar.clone());
    }
}

/// As a plan pins it. Of one that Terraform's variable names no version is known.
fn version_of(sidecar: &Sidecar) -> String {
    sidecar
        .version()
        .map_or_else(|| "0.0.0".to_owned(), ToString::to_string)
}

/// Is a sidecar of a version that the configuration allows?
fn fits(provider: &Provider, sidecar: &Sidecar, constraints: &Constraints) -> Result<(), Diags> {
    match sidecar.version() {
        Some(version) if !constraints.allow_provider(version) => {
            let detail = format!(
                "{} runs as a sidecar at {sidecar}, of version {version}, and the configuration asks for {constraints}. Have the \
                 sidecar be of a version that fits, or change the constraint.",
                provider.for_display()
            );
            Err(Diag::error("Failed to query available provider packages", detail).into())
        }
        _ => Ok(()),
    }
}

/// Chooses for every provider in use the package that is settled, or else the newest that the configuration allows;
/// providers that only the state names may have any version.
pub(crate) async fn choose(
    settings: &Settings,
    tree: &Tree,
    sources: &Sources,
    state: &State,
    mut locks: LockFile,
) -> Result<Chosen, Diags> {
    let mut wanted = tree.requirements();
    for resource in state.resources.values() {
        wanted.entry(resource.provider.provider.clone()).or_default();
    }
    wanted.retain(|provider, _| !provider.is_builtin());
    let mut chosen = Chosen::default();
    let mut diags = Diags::new();
    for (provider, sidecar) in settings.sidecars.iter() {
        let Some(constraints) = wanted.remove(provider) else {
            continue;
        };
        // What is settled of it stays so, for when it is started here again.
        let locked = locks.0.remove(provider);
        chosen
            .locks
            .0
            .extend(locked.map(|locked| (provider.clone(), locked)));
        if diags.take(fits(provider, sidecar, &constraints)).is_some() {
            chosen.attach(provider.clone(), sidecar);
        }
    }
    let installer = &settings.installer;
    let asks = asks(tree, sources);
    let found: Vec<_> = stream::iter(wanted)
        .map(|(provider, constraints)| {
            let locked = locks.0.remove(&provider);
            let asks = asks.get(&provider).map(Vec::as_slice).unwrap_or_default();
            async move {
                let installed = find(installer, &provider, &constraints, locked.as_ref(), asks).await?;
                let (binary, pin) = pin(installer, &installed).await?;
                Ok::<_, Diag>((installed, binary, pin, constraints, locked))
            }
        })
        .buffered(AT_ONCE)
        .collect()
        .await;
    for found in found {
        let Some((installed, binary, pin, constraints, before)) = diags.take(found.map_err(Diags::from))
        else {
            continue;
        };
        let provider = installed.provider;
        let locked = match installed.version {
            Some(version) => {
                let before = before.filter(|before| before.version == version);
                let before = before.map_or_else(Hashes::new, |before| before.hashes);
                let hashes = installed
                    .hashes
                    .into_iter()
                    .chain(installed.vouched)
                    .chain(before);
                Some(Locked {
                    version,
                    constraints: constraints.canonical(),
                    hashes: hashes.collect(),
                })
            }
            // What stands for it now says nothing of what is settled.
            None => before,
        };
        chosen.binaries.insert(provider.clone(), binary);
        chosen.pins.push(pin);
        chosen.in_use.extend(installed.in_use);
        chosen.locks.0.extend(locked.map(|locked| (provider, locked)));
    }
    if diags.has_errors() {
        return Err(diags);
    }
    let used: Vec<String> = installer
        .overrides()
        .iter()
        .filter(|(provider, _)| chosen.binaries.contains_key(provider))
        .map(|(provider, folder)| format!("\n - {} in {}", provider.for_display(), folder.display()))
        .collect();
    if !used.is_empty() {
        let detail = format!(
            "The CLI configuration has these folders stand for providers, whatever version is asked for:{}\nWhat is planned and \
             applied with them may fit no released version.",
            used.concat()
        );
        let warning = Diag::warning("Provider development overrides are in effect", detail);
        chosen.warnings.push(warning);
    }
    Ok(chosen)
}

async fn find(
    installer: &Installer,
    provider: &Provider,
    constraints: &Constraints,
    locked: Option<&Locked>,
    asks: &[String],
) -> Result<Installed, Diag> {
    if let Some(overridden) = installer.overridden(provider).await {
        return overridden.map_err(Diag::from);
    }
    let Some(locked) = locked else {
        let version = installer.choose(provider, constraints, asks).await?;
        let installed = installer.install(provider, &version, &Hashes::new()).await;
        return installed.map_err(|error| error.asked(&constraints.to_string()).into());
    };
    if !constraints.allow_provider(&locked.version) {
        return Err(out_of_range(provider, constraints, locked, asks));
    }
    let installed = installer.install(provider, &locked.version, &locked.hashes).await;
    match installed {
        Err(error) if error.is_absence() => {
            // Is there no such version, or only no package of it?
            let versions = installer.versions(provider).await?;
            if versions.contains(&locked.version) {
                return Err(error.into());
            }
            let gone = InstallError::Gone {
                provider: provider.clone(),
                version: locked.version.clone(),
                versions,
            };
            Err(gone.into())
        }
        installed => Ok(installed?),
    }
}

/// Who asks for which versions of what.
pub(crate) fn asks(tree: &Tree, sources: &Sources) -> BTreeMap<Provider, Vec<String>> {
    let mut all = BTreeMap::<Provider, Vec<String>>::new();
    for (path, member) in &tree.members {
        let module = &member.module;
        let who = if path.is_root() {
            "the root module".to_owned()
        } else {
            path.to_string()
        };
        let mut note = |provider: Provider, version: &Option<(Arc<str>, Span)>| {
            let Some((text, span)) = version else { return };
            let place = sources.place(*span).map_or(String::new(), |place| {
                format!(" ({} line {})", place.file, place.start.line)
            });
            all.entry(provider)
                .or_default()
                .push(format!("{who}{place} asks for {text}"));
        };
        for entry in module.required_providers.values() {
            note(entry.source.clone(), &entry.version);
        }
        for (local, block) in &module.providers {
            note(module.source_of(&local.name), &block.version);
        }
    }
    all
}

fn gone(wanted: &ProviderPin, why: &str) -> Diag {
    let detail = format!(
        "The plan was made with version {} of provider {}, and {why}. Plan anew.",
        wanted.version,
        wanted.provider.for_display()
    );
    Diag::error("Provider changed since the plan was made", detail)
}

/// Finds the very binaries that a plan was made with.
pub(crate) async fn find_pinned(settings: &Settings, pins: &[ProviderPin]) -> Result<Chosen, Diags> {
    let installer = &settings.installer;
    let mut chosen = Chosen::default();
    let mut here = Vec::new();
    for wanted in pins {
        match settings.sidecars.get(&wanted.provider) {
            None => here.push(wanted.clone()),
            Some(sidecar) if sidecar.pin() == wanted.digest && version_of(sidecar) == wanted.version => {
                chosen.attach(wanted.provider.clone(), sidecar);
            }
            Some(_) => return Err(gone(wanted, "it runs as another sidecar now").into()),
        }
    }
    let found: Vec<_> = stream::iter(here)
        .map(|wanted| async move {
            let installed = match wanted.version.parse::<Version>() {
                Ok(version) => match installer
                    .install(&wanted.provider, &version, &Hashes::new())
                    .await
                {
                    Err(error) if error.is_absence() => {
                        return Err(gone(&wanted, "no mirror or registry has it any more"));
                    }
                    installed => installed?,
                },
                Err(_) => match installer.overridden(&wanted.provider).await {
                    Some(installed) => installed?,
                    None => return Err(gone(&wanted, "no folder stands for it any more")),
                },
            };
            let (binary, pin) = pin(installer, &installed).await?;
            if pin.digest != wanted.digest {
                return Err(gone(&wanted, "its binary is another one now"));
            }
            Ok((installed, binary, pin))
        })
        .buffered(AT_ONCE)
        .collect()
        .await;
    for found in found {
        let (installed, binary, pin) = found.map_err(|diag: Diag| Diags::from(diag))?;
        chosen.binaries.insert(installed.provider, binary);
        chosen.pins.push(pin);
        chosen.in_use.extend(installed.in_use);
    }
    Ok(chosen)
}

fn out_of_range(provider: &Provider, constraints: &Constraints, locked: &Locked, asks: &[String]) -> Diag {
    let asks: Vec<String> = asks.iter().map(|ask| format!("\n  - {ask}")).collect();
    let detail = format!(
        "Version {} of provider {provider} is settled in .terraform.lock.hcl, and the configuration asks for {constraints}. \
         `--upgrade` settles another version.{}",
        locked.version,
        asks.concat()
    );
    Diag::error("Failed to query available provider packages", detail)
}

async fn pin(installer: &Installer, installed: &Installed) -> Result<(Binary, ProviderPin), Diag> {
    let (installer, installed) = (installer.clone(), installed.clone());
    let work = move || {
        let path = installed.binary()?;
        let digest = installer.digests().of(&path).map_err(|error| {
            let detail = format!("The plugin {} could not be read: {error}.", path.display());
            Diag::error("Failed to instantiate provider", detail)
        })?;
        let digest = format!("sha256:{digest}");
        let version = installed.version.as_ref().map(Version::to_string);
        let pin = ProviderPin {
            provider: installed.provider,
            version: version.unwrap_or_else(|| OVERRIDDEN.to_owned()),
            digest: digest.clone(),
        };
        let binary = Binary {
            path,
            digest: Some(digest),
        };
        Ok((binary, pin))
    };
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|error| {
        let detail = format!("Looking for provider plugins ended unexpectedly: {error}.");
        Err(Diag::error("Failed to instantiate provider", detail))
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
        bounds: settings.bounds,
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
    let in_use = chosen.in_use;
    let plugins = Plugins::new(chosen.binaries, options, schemas, outside, Arc::new(states))
        .attached(chosen.sidecars, settings.turns.clone());
    Arc::new(match settings.warm.clone() {
        // What is kept warm keeps its program where it is.
        Some(Warm { pool, tenant, anchor }) => plugins.kept_warm(pool, tenant, Arc::new((anchor, in_use))),
        None => plugins,
    })
}
