//! Called modules: in folders beside the root module, or among files that are at hand already.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    sync::Arc,
};

use ashlar_addr::Module;
use ashlar_config::{
    Files, FoundModule, Library, ModuleRequest, is_config,
    source::{ModuleSource, clean},
};
use ashlar_diag::{Diag, Diags, decode};
use ashlar_funcs::Caps;
use ashlar_plan::{PackagePin, Plan};
use ashlar_sources::package_name;
use ashlar_value::Dialect;

use crate::packages::{INSTALLED, Packages};

/// Where the modules that a run's root module calls are found.
#[derive(Clone, Debug, Default)]
pub enum Modules {
    /// In folders, as their sources name them.
    #[default]
    Beside,
    /// There, and where they are fetched from.
    Fetched(Packages),
    /// Among the run's files, where they were found before: those of a stored plan.
    Kept(Laid),
}

/// Where the called modules of a configuration were found, by their calls.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Laid {
    /// The folder of each.
    pub folders: BTreeMap<Module, Arc<str>>,
    /// The package of each that was fetched.
    pub packages: BTreeMap<Module, PackagePin>,
}

impl Laid {
    /// Those of a plan.
    pub fn of_plan(plan: &Plan) -> Self {
        Self {
            folders: plan.modules.clone(),
            packages: plan.packages.clone(),
        }
    }

    /// The folder that a call's module lies in. A source that tells another than was found then is refused: what lies there
    /// is not what the call asks for now.
    fn folder(&self, request: &ModuleRequest<'_>) -> Result<Option<Arc<str>>, Diags> {
        let Some(folder) = self.folders.get(request.path) else {
            return Ok(None);
        };
        let fits = match request.source {
            ModuleSource::Local(_) => beside(request)? == **folder,
            ModuleSource::Registry(_) | ModuleSource::Remote(_) => {
                let names: Vec<&str> = request.path.0.iter().map(|name| &**name).collect();
                let installed = format!("{INSTALLED}/{}", names.join("."));
                let inner = folder.strip_prefix(&installed);
                let pin = self.packages.get(request.path);
                inner.is_some_and(|inner| inner.is_empty() || inner.starts_with('/'))
                    && pin.is_none_or(|pin| is_of(pin, request))
            }
        };
        if fits {
            return Ok(Some(folder.clone()));
        }
        let detail = format!(
            "{} is called from {} now; when the configuration was fetched or planned, it was another module, which lies in \
             {folder}. Plan anew.",
            request.path,
            package_name(request.source)
        );
        Err(Diag::error("Module source has changed", detail)
            .at(request.span)
            .into())
    }
}

/// Is a package one that a call asks for?
fn is_of(pin: &PackagePin, request: &ModuleRequest<'_>) -> bool {
    let allowed = |version: &String| {
        version
            .parse()
            .is_ok_and(|version| request.version.allow(&version))
    };
    pin.source == package_name(request.source) && pin.version.as_ref().is_none_or(allowed)
}

impl Modules {
    /// What was fetched for the modules of a run that has loaded them.
    pub(crate) fn packages(&self) -> BTreeMap<Module, PackagePin> {
        match self {
            Self::Fetched(packages) => packages.by_call(),
            Self::Kept(laid) => laid.packages.clone(),
            Self::Beside => BTreeMap::new(),
        }
    }
}

/// Finds modules in the folders that their sources name.
pub struct Folders {
    /// The root module's folder.
    pub root: PathBuf,
    /// Whose language they are written in.
    pub dialect: Dialect,
    /// The folder outside of which nothing is read, be it by way of links, if there are bounds.
    pub confines: Option<PathBuf>,
    /// Fetches modules that lie elsewhere, if they may be fetched.
    pub packages: Option<Packages>,
}

impl Library for Folders {
    fn files(&self) -> Option<Arc<dyn Caps>> {
        Some(early_files(&self.root, self.confines.as_deref(), &[]))
    }

    fn find(&mut self, request: &ModuleRequest<'_>) -> Result<FoundModule, Diags> {
        if let Some(packages) = &self.packages {
            let found = match request.source {
                ModuleSource::Local(path) => packages.beside(request, path, self.dialect),
                _ => Some(packages.fetch(request, &self.root, self.dialect)),
            };
            if let Some(found) = found {
                return found;
            }
        }
        let folder = beside(request)?;
        let unreadable = |error: std::io::Error| {
            let detail = format!("{}, called as {}, cannot be read: {error}.", folder, request.path);
            Diags::from(Diag::error("Unreadable module directory", detail).at(request.span))
        };
        let path = self.root.join(&folder);
        let within = match &self.confines {
            Some(confines) => Some(confines.canonicalize().map_err(unreadable)?),
            None => None,
        };
        if let Some(root) = &within
            && !path.canonicalize().map_err(unreadable)?.starts_with(root)
        {
            let detail = format!(
                "{folder} leads out of the workspace's source, and in a cluster nothing outside of it can be read."
            );
            return Err(Diag::error("Unreadable module directory", detail)
                .at(request.span)
                .into());
        }
        let files = read(&path, &folder, self.dialect, within.as_deref())
            .map_err(|error| unreadable_folder(request, &folder, &error))?;
        Ok(FoundModule {
            folder: folder.into(),
            files,
        })
    }
}

/// The faults of a module whose folder cannot be read. Told twice, as Terraform does: of the folder, and of the call, which is
/// not blamed, but shown.
fn unreadable_folder(request: &ModuleRequest<'_>, folder: &str, error: &std::io::Error) -> Diags {
    let of_folder = format!("The folder {folder} cannot be read: {error}.");
    let of_call = format!(
        "{} has its source there. Look for a slip in the path, which goes from the folder of the calling module, or create the \
         folder with the module's files.",
        request.path
    );
    let fault = |detail: String| Diag::error("Unreadable module directory", detail);
    [fault(of_folder), fault(of_call).within(request.span)]
        .into_iter()
        .collect()
}

/// The folder of a called module that lies beside its caller.
fn beside(request: &ModuleRequest<'_>) -> Result<String, Diags> {
    let ModuleSource::Local(path) = request.source else {
        let detail = format!(
            "The module {} lies elsewhere, and is not among the files that are at hand.",
            package_name(request.source)
        );
        return Err(Diag::error("Module not installed", detail)
            .at(request.span)
            .into());
    };
    Ok(clean(&format!("{}/{path}", request.from)))
}

/// Finds modules among files that are at hand, their folders in front of their names.
pub struct Given<'f> {
    /// All files.
    pub files: &'f [(Arc<str>, Arc<str>)],
    /// Where they were found before; else they are where their sources say.
    pub laid: Option<&'f Laid>,
    /// What functions read that tell where modules are, if that is at hand.
    pub caps: Option<Arc<dyn Caps>>,
    /// Whose language they are written in.
    pub dialect: Dialect,
}

impl Library for Given<'_> {
    fn files(&self) -> Option<Arc<dyn Caps>> {
        self.caps.clone()
    }

    fn find(&mut self, request: &ModuleRequest<'_>) -> Result<FoundModule, Diags> {
        let folder: Arc<str> = match self.laid {
            None => beside(request)?.into(),
            Some(laid) => match (laid.folder(request)?, request.source) {
                (Some(folder), _) => folder,
                // It was not found when the others were: what follows says so.
                (None, ModuleSource::Local(_)) => beside(request)?.into(),
                (None, ModuleSource::Registry(_) | ModuleSource::Remote(_)) => {
                    let detail = format!(
                        "What is stored of the configuration does not hold {}.",
                        request.path
                    );
                    return Err(Diag::error("Module not installed", detail)
                        .at(request.span)
                        .into());
                }
            },
        };
        let is_inside = |name: &str| {
            let rest = name
                .strip_prefix(&*folder)
                .and_then(|rest| rest.strip_prefix('/'));
            rest.is_some_and(|rest| !rest.contains('/') && is_config(rest, self.dialect))
        };
        let files: Files = self
            .files
            .iter()
            .filter(|(name, _)| is_inside(name))
            .cloned()
            .collect();
        if files.is_empty() {
            let detail = format!(
                "{folder}, called as {}, is no folder with configuration.",
                request.path
            );
            return Err(Diag::error("Unreadable module directory", detail).into());
        }
        Ok(FoundModule { folder, files })
    }
}

/// What functions read while modules are still being loaded: no more than they may read later.
pub(crate) fn early_files(root: &Path, confines: Option<&Path>, held: &[PathBuf]) -> Arc<dyn Caps> {
    Arc::new(crate::files::Files {
        folder: root.to_owned(),
        confines: confines.map(Path::to_owned),
        held: held.to_vec(),
        home: crate::plan::home(confines.is_some()),
        plan_timestamp: String::new(),
        applying: false,
        made: Arc::default(),
        functions: None,
    })
}

/// Hands on what another library finds, and keeps the files.
pub(crate) struct Keeping<'l> {
    pub(crate) library: &'l mut dyn Library,
    pub(crate) files: Files,
    pub(crate) seen: BTreeSet<Arc<str>>,
}

impl Library for Keeping<'_> {
    fn files(&self) -> Option<Arc<dyn Caps>> {
        self.library.files()
    }

    fn find(&mut self, request: &ModuleRequest<'_>) -> Result<FoundModule, Diags> {
        let found = self.library.find(request)?;
        if self.seen.insert(found.folder.clone()) {
            self.files.extend(found.files.iter().cloned());
        }
        Ok(found)
    }
}

/// Largest configuration file, in bytes.
const LARGEST: u64 = 64 << 20;

/// The configuration files of a folder; `shown`: how it is called in front of their names, if it is another than the root
/// module's.
pub fn read_folder(folder: &Path, shown: &str, dialect: Dialect) -> std::io::Result<Files> {
    read(folder, shown, dialect, None)
}

fn read(folder: &Path, shown: &str, dialect: Dialect, within: Option<&Path>) -> std::io::Result<Files> {
    let mut files = Files::new();
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let Ok(name) = entry.file_name().into_string() else {
            continue;
        };
        let path = entry.path();
        if !is_config(&name, dialect) || path.is_dir() {
            continue;
        }
        if let Some(within) = within
            && !path.canonicalize()?.starts_with(within)
        {
            let why = format!("{name} is a link that leads out of the workspace's source");
            return Err(std::io::Error::other(why));
        }
        let metadata = std::fs::metadata(&path)?;
        if !metadata.is_file() || metadata.len() > LARGEST {
            let why = format!("{} is no file, or is larger than {LARGEST} bytes", path.display());
            return Err(std::io::Error::other(why));
        }
        let text = std::fs::read(path)?;
        let text = decode(&name, text);
        let name = if shown.is_empty() {
            name
        } else {
            format!("{shown}/{name}")
        };
        files.push((name.into(), text.into()));
    }
    files.sort();
    Ok(files)
}

#[cfg(test)]
mod tests;
