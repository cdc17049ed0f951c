//! Modules whose packages are fetched, for one run of a person's own command.
//!
//! A package is laid where Terraform installs it, `.terraform/modules/CALL` below the root module: there functions and
//! plugins read its files, and that is what `path.module` tells. The configuration itself is read from the cache, so that it
//! is what the pin says whatever becomes of the folder. What a module leaves in its folder stays as long as its package does.

use std::{
    collections::BTreeMap,
    fmt,
    fs::{self, File},
    io::{self, Read},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
};

use ashlar_addr::{Module, Version};
use ashlar_config::{FoundModule, ModuleRequest, source::clean};
use ashlar_diag::{Diag, Diags};
use ashlar_plan::PackagePin;
use ashlar_sources::{Content, Fault, Fetcher, Keyring, ModuleFault, Pin, package_name};
use ashlar_value::Dialect;
use serde_json::Value as Json;

use crate::modules::read_folder;

/// What each call of a module had for a package, by the call's path with dots.
pub type Pins = BTreeMap<String, Pin>;

/// Where packages are installed.
pub(crate) const INSTALLED: &str = ".terraform/modules";
/// The folder beside them that notes, by call, the digest of what was laid. No call has such a name.
const LAID: &str = ".ashlar";

/// Told before a package is downloaded: the package, its version, and the call.
type Notice = dyn Fn(&str, Option<&Version>, &str) + Send + Sync;

/// Fetches packages of modules, and remembers which. Cheap to clone: clones are the same.
#[derive(Clone)]
pub struct Packages(Arc<Inner>);

/// Makes ready to fetch, once something is to be fetched.
type Opener = dyn Fn() -> Result<(Fetcher, Keyring), Fault> + Send + Sync;

struct Inner {
    opener: Box<Opener>,
    opened: OnceLock<Result<(Fetcher, Keyring), Fault>>,
    known: Pins,
    notice: Box<Notice>,
    found: Mutex<Found>,
}

#[derive(Default)]
struct Found {
    pins: Pins,
    /// Where the packages of calls are installed, and what they hold.
    places: BTreeMap<Module, (String, Content)>,
}

impl fmt::Debug for Packages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Packages")
            .field("known", &self.0.known)
            .finish_non_exhaustive()
    }
}

impl Packages {
    /// With the pins of earlier runs, which are obeyed as long as the configuration asks for the same. The opener is called
    /// if something is fetched at all, and once.
    pub fn new(
        opener: impl Fn() -> Result<(Fetcher, Keyring), Fault> + Send + Sync + 'static,
        known: Pins,
        notice: impl Fn(&str, Option<&Version>, &str) + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(Inner {
            opener: Box::new(opener),
            opened: OnceLock::new(),
            known,
            notice: Box::new(notice),
            found: Mutex::default(),
        }))
    }

    /// The pins of all packages that were found so far.
    pub fn pins(&self) -> Pins {
        self.found().pins.clone()
    }

    /// The same, as a plan keeps them.
    pub(crate) fn by_call(&self) -> BTreeMap<Module, PackagePin> {
        let pin = |(call, pin): (String, Pin)| {
            let path = Module(call.split('.').map(Into::into).collect::<Vec<_>>().into());
            let kept = PackagePin {
                source: pin.source,
                version: pin.version,
                revision: pin.revision,
                digest: pin.digest,
            };
            (path, kept)
        };
        self.pins().into_iter().map(pin).collect()
    }

    fn found(&self) -> MutexGuard<'_, Found> {
        self.0.found.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A module that lies elsewhere. Blocks; must run where that is allowed (`block_in_place`).
    pub(crate) fn fetch(
        &self,
        request: &ModuleRequest<'_>,
        root: &Path,
        dialect: Dialect,
    ) -> Result<FoundModule, Diags> {
        let call = key(request.path);
        let pin = self.pin_for(&call, request);
        let notice = |package: &str, version: Option<&Version>| (self.0.notice)(package, version, &call);
        let inner = &*self.0;
        let opened = inner.opened.get_or_init(|| (inner.opener)()).as_ref();
        let fetched = opened
            .map_err(|fault| fault.clone().into())
            .and_then(|(fetcher, credentials)| {
                let asked = fetcher.module(
                    request.source,
                    request.version,
                    credentials,
                    pin.as_ref(),
                    &notice,
                );
                tokio::task::block_in_place(|| tokio::runtime::Handle::current().block_on(asked))
            });
        let (content, pin) = fetched.map_err(|fault: ModuleFault| {
            let detail = format!("{} (called as {call})", fault.fault.text);
            Diags::from(Diag::error(fault.summary.text(), detail).at(request.span))
        })?;
        let place = format!("{INSTALLED}/{call}");
        let unwritable = |error: io::Error| {
            let detail = format!("The package of {call} cannot be laid in {place}: {error}.");
            Diags::from(Diag::error("Failed to download module", detail).at(request.span))
        };
        let changed = install(&content, &root.join(INSTALLED), &call).map_err(unwritable)?;
        if changed {
            forget_record(&root.join(INSTALLED), &call).map_err(unwritable)?;
        }
        let folder = match &*pin.folder {
            "" => place.clone(),
            inner => format!("{place}/{inner}"),
        };
        if !content.folder.join(&pin.folder).is_dir() {
            let detail = format!(
                "The package {} has no folder {}, which {call} calls.",
                pin.source, pin.folder
            );
            return Err(Diag::error("Unreadable module subdirectory", detail)
                .at(request.span)
                .into());
        }
        let found = read(&content, &place, &folder, dialect, request);
        let mut all = self.found();
        all.pins.insert(call, pin);
        all.places.insert(request.path.clone(), (place, content));
        drop(all);
        found
    }

    /// The call's own pin; else that of another call of this run, so that one package is the same for all its callers.
    fn pin_for(&self, call: &str, request: &ModuleRequest<'_>) -> Option<Pin> {
        let name = package_name(request.source);
        let fits = |pin: &&Pin| {
            let version = pin
                .version
                .as_ref()
                .and_then(|version| version.parse::<Version>().ok());
            pin.source == name && version.is_none_or(|version| request.version.allow(&version))
        };
        let own = self.0.known.get(call).filter(fits).cloned();
        own.or_else(|| self.found().pins.values().find(fits).cloned())
    }

    /// A module in the package that its caller is part of; none if the caller is part of no package.
    pub(crate) fn beside(
        &self,
        request: &ModuleRequest<'_>,
        path: &str,
        dialect: Dialect,
    ) -> Option<Result<FoundModule, Diags>> {
        let (name, callers) = request.path.0.split_last()?;
        let found = self.found();
        // The nearest caller that was fetched: what lies between lies in its package.
        let above = (1..=callers.len()).rev().find_map(|end| {
            let caller = Module(callers.get(..end)?.into());
            found.places.get(&caller).cloned()
        });
        drop(found);
        let (place, content) = above?;
        let folder = clean(&format!("{}/{path}", request.from));
        if folder != place && !folder.starts_with(&format!("{place}/")) {
            let detail = format!(
                "The module {name} is called by its path {path}, which leads out of the package that {} is part of. Inside of a \
                 package only its own folders can be called by path.",
                key(&Module(callers.into()))
            );
            let diag = Diag::error("Local module path escapes module package", detail);
            return Some(Err(diag.at(request.span).into()));
        }
        Some(read(&content, &place, &folder, dialect, request))
    }
}

/// A call's path as Terraform writes it in its own records.
fn key(path: &Module) -> String {
    let names: Vec<&str> = path.0.iter().map(|name| &**name).collect();
    names.join(".")
}

fn read(
    content: &Content,
    place: &str,
    folder: &str,
    dialect: Dialect,
    request: &ModuleRequest<'_>,
) -> Result<FoundModule, Diags> {
    let inner = folder
        .strip_prefix(place)
        .unwrap_or(folder)
        .trim_start_matches('/');
    let files = read_folder(&content.folder.join(inner), folder, dialect).map_err(|error| {
        let detail = format!("{folder}, called as {}, cannot be read: {error}.", request.path);
        Diags::from(Diag::error("Unreadable module directory", detail).at(request.span))
    })?;
    Ok(FoundModule {
        folder: folder.into(),
        files,
    })
}

/// Lays a package in its place. Of another package that was there nothing stays, as with Terraform. Was there anything to do?
fn install(content: &Content, installed: &Path, call: &str) -> io::Result<bool> {
    let to = installed.join(call);
    // What was laid there last. Of what Terraform put there nothing is known but what it holds.
    let note = installed.join(LAID).join(call);
    let laid = fs::read_to_string(&note).ok();
    let stays = match &laid {
        Some(digest) => *digest == content.digest,
        None => holds(&to, &content.folder)?,
    };
    if !stays && is_plain(&to, fs::FileType::is_dir) {
        fs::remove_dir_all(&to)?;
    }
    let changed = lay(&content.folder, &to)?;
    if laid.as_deref() != Some(&*content.digest) {
        fs::create_dir_all(installed.join(LAID))?;
        fs::write(note, &content.digest)?;
    }
    Ok(changed)
}

/// Does a folder hold all files of another?
fn holds(folder: &Path, all: &Path) -> io::Result<bool> {
    for entry in fs::read_dir(all)? {
        let entry = entry?;
        let (source, target) = (entry.path(), folder.join(entry.file_name()));
        let held = if entry.file_type()?.is_dir() {
            is_plain(&target, fs::FileType::is_dir) && holds(&target, &source)?
        } else {
            is_plain(&target, fs::FileType::is_file) && are_same(&source, &target)?
        };
        if !held {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Copies a package to its place; what is there already and the same stays. Was there anything to do?
fn lay(from: &Path, to: &Path) -> io::Result<bool> {
    let mut changed = !is_plain(to, fs::FileType::is_dir);
    if changed {
        // A link or a file of somebody else's making; what it leads to stays.
        match fs::remove_file(to) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => fs::create_dir_all(to)?,
        }
    }
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        if entry.file_type()?.is_dir() {
            changed |= lay(&source, &target)?;
        } else if !is_plain(&target, fs::FileType::is_file) || !are_same(&source, &target)? {
            if is_plain(&target, fs::FileType::is_dir) {
                fs::remove_dir_all(&target)?;
            }
            // Renamed into place, so that nobody reads half of it, and a link is replaced, not followed.
            let half = to.join(format!(".ashlar-{}", std::process::id()));
            fs::copy(&source, &half)?;
            fs::rename(&half, &target)?;
            changed = true;
        }
    }
    Ok(changed)
}

fn is_plain(path: &Path, kind: impl Fn(&fs::FileType) -> bool) -> bool {
    fs::symlink_metadata(path).is_ok_and(|metadata| kind(&metadata.file_type()))
}

fn are_same(one: &Path, other: &Path) -> io::Result<bool> {
    if fs::metadata(one)?.len() != fs::metadata(other)?.len() {
        return Ok(false);
    }
    let (mut one, mut other) = (File::open(one)?, File::open(other)?);
    let (mut left, mut right) = (vec![0; 64 << 10], vec![0; 64 << 10]);
    loop {
        let count = one.read(&mut left)?;
        let (left, right) = (left.get(..count), right.get_mut(..count));
        match (left, right) {
            (Some([]), _) => return Ok(true),
            (Some(left), Some(right)) => {
                other.read_exact(right)?;
                if left != right {
                    return Ok(false);
                }
            }
            _ => return Ok(false),
        }
    }
}

/// Takes a call and those below it out of Terraform's own record: what lies there is no longer what it installed, so that
/// Terraform says that `terraform init` is needed.
fn forget_record(installed: &Path, call: &str) -> io::Result<()> {
    let path = installed.join("modules.json");
    let Ok(text) = fs::read_to_string(&path) else {
        return Ok(());
    };
    let Ok(mut record) = serde_json::from_str::<Json>(&text) else {
        return Ok(());
    };
    let Some(modules) = record.get_mut("Modules").and_then(Json::as_array_mut) else {
        return Ok(());
    };
    let before = modules.len();
    let below = format!("{call}.");
    modules.retain(|module| {
        let key = module.get("Key").and_then(Json::as_str).unwrap_or_default();
        key != call && !key.starts_with(&below)
    });
    if modules.len() == before {
        return Ok(());
    }
    let half: PathBuf = installed.join(format!(".modules.json-{}", std::process::id()));
    fs::write(&half, record.to_string())?;
    fs::rename(half, path)
}

#[cfg(test)]
mod tests;
