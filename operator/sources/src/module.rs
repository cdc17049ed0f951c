//! Modules that a configuration calls: from a registry, or by the address of their package.

use ashlar_addr::{Constraints, Version};
use ashlar_config::source::{ModuleSource, RegistryModule, RemotePackage};
use sha2::{Digest, Sha256};

use crate::{
    address::{Address, encode},
    cache::Content,
    credentials::Keyring,
    fault::Fault,
    fetcher::Fetcher,
    package::Package,
    pin::Pin,
    registry::Registry,
    subfolder,
};

/// Why a module was not fetched, by the summary that Terraform has for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModuleFault {
    /// The summary.
    pub summary: Summary,
    /// The rest.
    pub fault: Fault,
}

/// Terraform's words for what can go wrong with a module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Summary {
    /// The package did not come.
    Failed,
    /// The registry has no such module.
    NotFound,
    /// The registry cannot be spoken to.
    Inaccessible,
    /// It says something that is no answer.
    InvalidResponse,
    /// It names no package.
    InvalidLocation,
    /// It has no version of the module.
    NoVersions,
    /// It has none that fits.
    NoneFits,
    /// The package has no such folder.
    NoFolder,
}

impl Summary {
    /// The words.
    pub fn text(self) -> &'static str {
        match self {
            Self::Failed => "Failed to download module",
            Self::NotFound => "Module not found",
            Self::Inaccessible => "Error accessing remote module registry",
            Self::InvalidResponse => "Invalid response from remote module registry",
            Self::InvalidLocation => "Invalid package location from module registry",
            Self::NoVersions => "Module has no versions",
            Self::NoneFits => "Unresolvable module version constraint",
            Self::NoFolder => "Failed to expand subdir globs",
        }
    }
}

impl ModuleFault {
    pub(crate) fn new(summary: Summary, fault: Fault) -> Self {
        Self { summary, fault }
    }
}

impl From<Fault> for ModuleFault {
    fn from(fault: Fault) -> Self {
        Self::new(Summary::Failed, fault)
    }
}

/// Told right before a package is downloaded: the package without its folder, and its version.
pub type Notice<'a> = &'a (dyn Fn(&str, Option<&Version>) + Send + Sync);

impl Fetcher {
    /// The package of a module, and what to keep so that the same comes again: with that pin it does, or it is an error that
    /// says so. A pin of another source, or of a version that no longer fits, is none. Pins must come from where only we
    /// write: whoever names a digest is given what is kept under it.
    ///
    /// The module is in [`Pin::folder`] of the package, which need not be there.
    pub async fn module(
        &self,
        source: &ModuleSource,
        version: &Constraints,
        credentials: &Keyring,
        pin: Option<&Pin>,
        notice: Notice<'_>,
    ) -> Result<(Content, Pin), ModuleFault> {
        let name = package_name(source);
        let pin = pin.filter(|pin| pin.source == name && is_allowed(pin, version) && !is_local(source));
        if let Some(pin) = pin
            && let Some(content) = self.cache.find(&pin.digest, &pin.revision)?
        {
            let mut pin = pin.clone();
            pin.folder = folder_of(source, &pin.package_folder, &content)?;
            return Ok((content, pin));
        }
        // A commit is what a pin knows of git; of all else the content alone can tell.
        let commit = pin
            .map(|pin| &*pin.revision)
            .filter(|text| crate::git::is_commit(text));
        let mut package = Package::new(self, credentials, commit);
        let (content, version, package_folder) = match source {
            ModuleSource::Local(path) => {
                return Err(Fault::asked(format!(
                    "{path} is a folder beside the calling module, and no package."
                ))
                .into());
            }
            ModuleSource::Remote(remote) => {
                notice(&name, None);
                (package.fetch(remote).await?, None, String::new())
            }
            ModuleSource::Registry(module) => {
                let (version, remote) = {
                    let registry = Registry::discover(&package, &module.host).await?;
                    let version = match pin.and_then(pinned_version) {
                        Some(version) => version,
                        None => registry.choose(module, version).await?,
                    };
                    notice(&name, Some(&version));
                    let remote = registry.locate(module, &version).await?;
                    (version, remote)
                };
                (
                    package.fetch(&remote).await?,
                    Some(version),
                    remote.folder.to_string(),
                )
            }
        };
        if let Some(pin) = pin
            && pin.digest != content.digest
        {
            let version = version.map_or(String::new(), |version| format!(" {version}"));
            return Err(Fault::changed(format!(
                "{name}{version} has another content than it had when it was pinned: {}, not {}. Its tag was moved, or its archive replaced. It is not used; if that was meant, forget the pins (--upgrade).",
                content.digest, pin.digest
            ))
            .into());
        }
        let pin = Pin {
            source: name,
            version: version.map(|version| version.to_string()),
            revision: content.revision.clone(),
            digest: content.digest.clone(),
            folder: folder_of(source, &package_folder, &content)?,
            package_folder,
        };
        Ok((content, pin))
    }
}

fn folder_of(source: &ModuleSource, package_folder: &str, content: &Content) -> Result<String, ModuleFault> {
    let own = match source {
        ModuleSource::Local(_) => "",
        ModuleSource::Registry(RegistryModule { folder, .. })
        | ModuleSource::Remote(RemotePackage { folder, .. }) => folder,
    };
    let folder = format!("{package_folder}/{own}");
    subfolder::expand(&content.folder, &folder).map_err(|fault| ModuleFault::new(Summary::NoFolder, fault))
}

/// A folder of this machine: whoever changes it wants that seen, as with Terraform, which makes a link.
fn is_local(source: &ModuleSource) -> bool {
    let ModuleSource::Remote(package) = source else {
        return false;
    };
    crate::package::has_scheme(package, "file")
        && package.getter.as_deref().is_none_or(|getter| getter == "file")
}

fn pinned_version(pin: &Pin) -> Option<Version> {
    pin.version.as_deref()?.parse().ok()
}

fn is_allowed(pin: &Pin, constraints: &Constraints) -> bool {
    match &pin.version {
        None => true,
        Some(_) => pinned_version(pin).is_some_and(|version| constraints.allow(&version)),
    }
}

/// Parameters that say what is meant; others may be secrets.
const MEANING: [&str; 9] = [
    "archive",
    "checksum",
    "depth",
    "digest",
    "ref",
    "region",
    "tag",
    "version",
    "versionId",
];

/// A package's name without anything secret: the source without its folder. Where that leaves out what may choose other
/// content, a hash of it follows, so that two sources have two names.
pub fn package_name(source: &ModuleSource) -> String {
    match source {
        ModuleSource::Local(path) => path.to_string(),
        ModuleSource::Registry(module) => {
            let RegistryModule {
                host,
                namespace,
                name,
                system,
                ..
            } = module;
            format!("{host}/{namespace}/{name}/{system}")
        }
        ModuleSource::Remote(package) => {
            let getter = package
                .getter
                .as_ref()
                .map_or(String::new(), |getter| format!("{getter}::"));
            let Ok(mut address) = Address::parse(&package.address) else {
                return format!("{getter}…#{}", hash_of(&[&package.address]));
            };
            let whole = address.without_account();
            let kept: Vec<String> = MEANING
                .iter()
                .filter_map(|name| Some(format!("{name}={}", encode(&address.parameter(name)?))))
                .collect();
            let parameters = address.query.take();
            let parameters = parameters.as_deref().map_or(0, |query| query.split('&').count());
            // A password opens a place, and is not part of what lies there.
            let hidden = address.user.as_deref().filter(|_| address.scheme != "ssh");
            let hash = if parameters == kept.len() && hidden.is_none() {
                String::new()
            } else {
                format!("#{}", hash_of(&[hidden.unwrap_or_default(), &whole]))
            };
            let query = if kept.is_empty() {
                String::new()
            } else {
                format!("?{}", kept.join("&"))
            };
            format!("{getter}{address}{query}{hash}")
        }
    }
}

/// Enough of a hash to tell sources apart.
fn hash_of(parts: &[&str]) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update(part.len().to_be_bytes());
        hash.update(part);
    }
    hex::encode(hash.finalize()).chars().take(16).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_that_differ_have_different_names_without_secrets() {
        let name = |source: &str| package_name(&ModuleSource::parse(source, false).unwrap());
        assert_eq!(
            name("git::https://h.test/r//sub?ref=v1"),
            "git::https://h.test/r?ref=v1"
        );
        let sources = [
            "https://h.test/get?file=a&token=s3cret&archive=zip",
            "https://h.test/get?file=b&token=s3cret&archive=zip",
            "https://h.test/get?archive=zip",
            "https://h.test/get?archive=zip&archive=tar",
            "https://one:s3cret@h.test/get?archive=zip",
            "https://two:s3cret@h.test/get?archive=zip",
        ];
        let names: std::collections::BTreeSet<String> = sources.map(name).into();
        assert_eq!(names.len(), sources.len(), "{names:?}");
        assert!(!names.iter().any(|name| name.contains("s3cret")), "{names:?}");
        // The folder in the package is no part of it, and neither is a password.
        for other in [
            "https://h.test/get//sub?archive=zip",
            "https://:other@h.test/get?archive=zip",
        ] {
            assert_eq!(name(other), name("https://h.test/get?archive=zip"), "{other}");
        }
    }
}
