//! Called modules as a fetch finds them: local ones in the package of whoever calls them, all others fetched and pinned.
//!
//! A fetched package has its place where Terraform would install it, `.terraform/modules/CALL` below the root module, which
//! is what `path.module` tells.

use std::{collections::BTreeMap, sync::Arc};

use ashlar_addr::Module;
use ashlar_api::ModulePin;
use ashlar_config::{
    FoundModule, Library, ModuleRequest,
    source::{ModuleSource, clean},
};
use ashlar_diag::{Diag, Diags};
use ashlar_funcs::Caps;
use ashlar_plan::PackagePin;
use ashlar_runner::read_folder;
use ashlar_sources::{Content, Fetcher, Keyring, Pin, package_name};
use ashlar_value::Dialect;
use tokio::{
    runtime::Handle,
    time::{Instant, timeout_at},
};

use crate::{
    early_files::EarlyFiles,
    fetch_run::Base,
    package::{Package, Place, within},
    source::Order,
};

/// Most packages that one configuration calls: their pins stand in the status.
const MOST: usize = 256;

/// How pins are forgotten in a cluster.
const UPGRADE: &str = "annotate the Workspace with a new value of ashlar.dev/upgradeModules";

/// Finds and fetches modules.
pub(crate) struct Fetchable<'a> {
    /// The root module's package, if it is held here.
    package: Option<Arc<Package>>,
    /// The root module's folder in its package.
    root: &'a str,
    dialect: Dialect,
    keyring: &'a Keyring,
    known: &'a [ModulePin],
    fetcher: Fetcher,
    /// When all modules are to be here.
    deadline: Instant,
    /// The packages that there are, by their folders as a run sees them.
    pub(crate) places: Vec<Place>,
    /// Keeps them in the cache.
    contents: Vec<Content>,
    /// What was fetched.
    pub(crate) pins: Vec<ModulePin>,
    /// And for which call.
    pub(crate) by_call: BTreeMap<Module, PackagePin>,
    /// Why a module could not be fetched.
    pub(crate) failure: Option<String>,
}

impl<'a> Fetchable<'a> {
    pub(crate) fn new(base: &'a Base, order: &'a Order, fetcher: Fetcher, deadline: Instant) -> Self {
        let (package, places) = match base {
            Base::Files(package) => (Some(package.clone()), Vec::new()),
            Base::Content(content) => {
                let place = Place {
                    folder: ".".to_owned(),
                    content: content.folder.clone(),
                };
                (None, vec![place])
            }
        };
        Self {
            package,
            root: &order.path,
            dialect: order.dialect,
            keyring: &order.keyring,
            known: &order.pins,
            fetcher,
            deadline,
            places,
            contents: Vec::new(),
            pins: Vec::new(),
            by_call: BTreeMap::new(),
            failure: None,
        }
    }

    /// The package that a folder lies in: the folder it lies at, and the files, unless they are held here.
    fn package_of(&self, folder: &str) -> Option<&Place> {
        let around = self
            .places
            .iter()
            .filter(|place| within(folder, &place.folder).is_some());
        around.max_by_key(|place| place.folder.len())
    }

    /// A module in the package of its caller. `from` and `shown` are seen from the root module, as `path.module` is.
    fn local(&self, request: &ModuleRequest<'_>, path: &str) -> Result<FoundModule, Diags> {
        let shown = clean(&format!("{}/{path}", request.from));
        let (caller, folder) = (self.at(request.from), self.at(&shown));
        let place = self.package_of(&caller);
        let outer = place.map_or(".", |place| &place.folder);
        let Some(inner) = within(&folder, outer).filter(|inner| !is_outside(inner)) else {
            let detail = format!(
                "The module {} calls {path}, which lies outside of the package that it is part of.",
                request.path
            );
            return Err(Diag::error("Local module path escapes module package", detail)
                .at(request.span)
                .into());
        };
        let found = match (place, &self.package) {
            (Some(place), _) => read_folder(&place.content.join(inner), &shown, self.dialect)
                .map_err(|error| error.to_string()),
            (None, Some(package)) => {
                let files = package.folder_files(&folder, &shown, self.dialect);
                Some(files)
                    .filter(|files| !files.is_empty())
                    .ok_or_else(|| "no file of the source lies there".to_owned())
            }
            (None, None) => Err("there are no files".to_owned()),
        };
        let files = found.map_err(|why| {
            let detail = format!("{shown}, called as {}, cannot be read: {why}.", request.path);
            Diags::from(Diag::error("Unreadable module directory", detail).at(request.span))
        })?;
        Ok(FoundModule {
            folder: shown.into(),
            files,
        })
    }

    /// A module that lies elsewhere. Blocks until it is here.
    fn remote(&mut self, request: &ModuleRequest<'_>) -> Result<FoundModule, Diags> {
        let known = self.known(request);
        let asked = self.fetcher.module(
            request.source,
            request.version,
            self.keyring,
            known.as_ref(),
            &|_, _| {},
        );
        let in_time = async { timeout_at(self.deadline, asked).await };
        let Ok(fetched) = Handle::current().block_on(in_time) else {
            let why = format!(
                "{}: the modules were not all fetched within spec.timeout. What was fetched is kept for the next attempt.",
                request.path
            );
            self.fail(why.clone());
            return Err(Diag::error("Failed to download module", why)
                .at(request.span)
                .into());
        };
        let (content, pin) = fetched.map_err(|fault| {
            // The command's own way is none here.
            let detail = fault.fault.text.replace("--upgrade", UPGRADE);
            let summary = fault.summary.text();
            self.fail(format!("{}: {summary}. {detail}", request.path));
            Diags::from(Diag::error(summary, detail).at(request.span))
        })?;
        let names: Vec<&str> = request.path.0.iter().map(|name| &**name).collect();
        let installed = format!(".terraform/modules/{}", names.join("."));
        let shown = match &*pin.folder {
            "" => installed.clone(),
            folder => format!("{installed}/{folder}"),
        };
        let place = Place {
            folder: self.at(&installed),
            content: content.folder.clone(),
        };
        let found = read_folder(&content.folder.join(&pin.folder), &shown, self.dialect);
        self.places.push(place);
        self.contents.push(content);
        self.by_call.insert(request.path.clone(), pin_of_plan(&pin));
        let pin = kept(pin);
        if !self.pins.contains(&pin) {
            self.pins.push(pin);
        }
        if self.pins.len() > MOST {
            self.fail(format!(
                "The configuration calls modules of more than {MOST} packages."
            ));
        }
        let files = found.map_err(|error| {
            let detail = format!("{shown}, called as {}, cannot be read: {error}.", request.path);
            Diags::from(Diag::error("Unreadable module directory", detail).at(request.span))
        })?;
        Ok(FoundModule {
            folder: shown.into(),
            files,
        })
    }

    /// The package that a call had last, or that another call got just now.
    fn known(&self, request: &ModuleRequest<'_>) -> Option<Pin> {
        let name = package_name(request.source);
        let fits = |pin: &&ModulePin| {
            let allowed = |version: &String| {
                version
                    .parse()
                    .is_ok_and(|version| request.version.allow(&version))
            };
            pin.source == name && pin.version.as_ref().is_none_or(allowed)
        };
        let pin = self.pins.iter().chain(self.known).find(fits)?;
        Some(Pin {
            source: pin.source.clone(),
            version: pin.version.clone(),
            revision: pin.revision.clone(),
            digest: pin.digest.clone(),
            folder: String::new(),
            package_folder: pin.package_folder.clone().unwrap_or_default(),
        })
    }

    fn fail(&mut self, why: String) {
        self.failure.get_or_insert(why);
    }

    /// A folder as the root module sees it, in the package that the root module lies in.
    fn at(&self, shown: &str) -> String {
        clean(&format!("{}/{shown}", self.root))
    }
}

/// A pin as the status keeps it: without the folder, which each call names for itself.
fn kept(pin: Pin) -> ModulePin {
    ModulePin {
        source: pin.source,
        version: pin.version,
        revision: pin.revision,
        digest: pin.digest,
        package_folder: Some(pin.package_folder).filter(|folder| !folder.is_empty()),
    }
}

/// The same, as a plan keeps it.
fn pin_of_plan(pin: &Pin) -> PackagePin {
    PackagePin {
        source: pin.source.clone(),
        version: pin.version.clone(),
        revision: pin.revision.clone(),
        digest: pin.digest.clone(),
    }
}

/// Does a clean path lead out of where it begins?
pub(crate) fn is_outside(folder: &str) -> bool {
    folder == ".." || folder.starts_with("../")
}

impl Library for Fetchable<'_> {
    fn files(&self) -> Option<Arc<dyn Caps>> {
        let files = EarlyFiles::new(self.root, self.package.clone(), self.places.clone());
        Some(Arc::new(files))
    }

    fn find(&mut self, request: &ModuleRequest<'_>) -> Result<FoundModule, Diags> {
        if self.failure.is_some() {
            // Nothing comes of the others any more.
            return Err(Diags::new());
        }
        match request.source {
            ModuleSource::Local(path) => self.local(request, path),
            ModuleSource::Registry(_) | ModuleSource::Remote(_) => self.remote(request),
        }
    }
}

#[cfg(test)]
mod tests {
    use ashlar_config::load;
    use ashlar_diag::Sources;
    use ashlar_sources::{Limits, Reach};

    use super::*;
    use crate::source::Wanted;

    /// The folders of called modules, and what is said of the tree.
    fn check(files: &[(&str, &str)]) -> (Vec<String>, String) {
        let texts = files
            .iter()
            .map(|(path, text)| ((*path).to_owned(), (*text).to_owned()));
        let package = Arc::new(Package::of_texts(texts.collect()));
        let (base, order) = (
            Base::Files(package.clone()),
            Order::of(Wanted::Files(package.clone())),
        );
        let cache = tempfile::tempdir().unwrap();
        let fetcher = Fetcher::new(
            cache.path().to_owned(),
            Limits::default(),
            Reach::guarded(Vec::new()),
        );
        let mut library = Fetchable::new(&base, &order, fetcher.unwrap(), Instant::now());
        let mut sources = Sources::new();
        let files = package.module_files(order.dialect);
        let (tree, diags) = load(files, order.dialect, &BTreeMap::new(), &mut library, &mut sources);
        let called = tree.members.iter().filter(|(path, _)| !path.is_root());
        let called = called.map(|(path, member)| format!("{path} {}", member.folder));
        (called.collect(), diags.to_string())
    }

    #[test]
    fn after_a_failure_or_the_deadline_nothing_more_is_fetched() {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let _inside = runtime.enter();
        let call =
            |name: &str| format!("module \"{name}\" {{\n  source = \"https://127.0.0.1:1/{name}.zip\"\n}}\n");
        let (called, told) = check(&[("main.tf", &(call("a") + &call("b") + &call("c")))]);
        assert!(called.is_empty());
        assert_eq!(told.matches("Failed to download module").count(), 1, "{told}");
    }

    #[test]
    fn local_modules_are_found_in_the_package_of_their_caller_and_nowhere_else() {
        let call = |source: &str| format!("module \"a\" {{\n  source = \"{source}\"\n}}\n");
        let (called, told) = check(&[
            ("main.tf", &call("./m")),
            ("m/main.tf", &call("../n")),
            ("n/main.tf", ""),
        ]);
        assert_eq!(called, ["module.a m", "module.a.module.a n"], "{told}");
        for way_out in ["../m", "./m/../../n", "../../../etc"] {
            let (called, told) = check(&[("main.tf", &call(way_out)), ("m/main.tf", "")]);
            assert!(called.is_empty(), "{way_out}");
            assert!(told.contains("escapes module package"), "{way_out}: {told}");
        }
    }
}
