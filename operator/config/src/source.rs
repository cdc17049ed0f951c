//! Where a called module is: the `source` argument, read by its form alone.
//!
//! Rules: Terraform `getmodules/moduleaddrs`, terraform-registry-address `module.go`.

use std::{fmt, sync::Arc};

pub use ashlar_funcs::clean_path as clean;

/// A module's source.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ModuleSource {
    /// A folder beside the calling module: `./…` or `../…`, in its shortest form.
    Local(Arc<str>),
    /// A module of a registry.
    Registry(RegistryModule),
    /// A package to be fetched.
    Remote(RemotePackage),
}

/// `[HOST/]NAMESPACE/NAME/SYSTEM[//FOLDER]`
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RegistryModule {
    /// The registry's host.
    pub host: Arc<str>,
    /// The namespace.
    pub namespace: Arc<str>,
    /// The module's name.
    pub name: Arc<str>,
    /// The system that it is for.
    pub system: Arc<str>,
    /// The folder in its package; empty for the package's root.
    pub folder: Arc<str>,
}

/// A package by its address.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RemotePackage {
    /// How it is fetched (`git`, `hg`, `s3`, `gcs`), where that does not follow from the address.
    pub getter: Option<Arc<str>>,
    /// The address, with a scheme.
    pub address: Arc<str>,
    /// The folder in it; empty for its root.
    pub folder: Arc<str>,
}

/// Why a text is no source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SourceFault {
    /// It may have been meant as a path.
    NoKind,
    /// What is wrong.
    Malformed(String),
}

impl ModuleSource {
    /// Reads a source. `versioned`: is a version asked for, so that it can be a registry's only?
    pub fn parse(text: &str, versioned: bool) -> Result<Self, SourceFault> {
        let is_local = ["./", "../", ".\\", "..\\"]
            .iter()
            .any(|start| text.starts_with(start));
        if versioned {
            let fault = SourceFault::Malformed;
            if is_local {
                return Err(fault("a folder has no versions".to_owned()));
            }
            return registry(text).map(Self::Registry).map_err(fault);
        }
        if is_local {
            let path = clean(&text.replace('\\', "/"));
            let path = if path.starts_with("../") || path == ".." {
                path
            } else {
                format!("./{path}")
            };
            return Ok(Self::Local(path.into()));
        }
        if let Ok(found) = registry(text) {
            return Ok(Self::Registry(found));
        }
        remote(text).map(Self::Remote)
    }
}

impl fmt::Display for ModuleSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let folder = match self {
            Self::Local(path) => return f.write_str(path),
            Self::Registry(module) => {
                let RegistryModule {
                    host,
                    namespace,
                    name,
                    system,
                    folder,
                } = module;
                write!(f, "{host}/{namespace}/{name}/{system}")?;
                folder
            }
            Self::Remote(package) => {
                if let Some(getter) = &package.getter {
                    write!(f, "{getter}::")?;
                }
                // The folder stands before the query, as it is written in a source.
                if let (Some((address, query)), false) =
                    (package.address.split_once('?'), package.folder.is_empty())
                {
                    return write!(f, "{address}//{}?{query}", package.folder);
                }
                f.write_str(&package.address)?;
                &package.folder
            }
        };
        if folder.is_empty() {
            Ok(())
        } else {
            write!(f, "//{folder}")
        }
    }
}

/// Splits `PACKAGE//FOLDER`, leaving the `//` of a scheme alone; a query belongs to the package.
fn split_folder(text: &str) -> (String, String) {
    let (path, query) = match text.split_once('?') {
        Some((path, query)) => (path, Some(query)),
        None => (text, None),
    };
    let after_scheme = path.find("://").map_or(0, |at| at + 3);
    let Some(at) = path[after_scheme..].find("//").map(|at| at + after_scheme) else {
        return (text.to_owned(), String::new());
    };
    let package = match query {
        Some(query) => format!("{}?{query}", &path[..at]),
        None => path[..at].to_owned(),
    };
    (package, clean(&path[at + 2..]))
}

fn registry(text: &str) -> Result<RegistryModule, String> {
    let (package, folder) = split_folder(text);
    if folder.starts_with("../") || folder == ".." {
        return Err("the folder leads out of the package".to_owned());
    }
    let mut parts: Vec<&str> = package.split('/').collect();
    let host = match parts.len() {
        3 => "registry.terraform.io".to_owned(),
        4 => {
            let host = parts.remove(0);
            if !is_host(host) {
                return Err(format!("{host:?} is no host name"));
            }
            if ["github.com", "bitbucket.org", "gitlab.com"].contains(&host) {
                return Err(format!("{host} is no registry; its modules are fetched with git"));
            }
            host.to_lowercase()
        }
        _ => return Err("a registry's module is [HOST/]NAMESPACE/NAME/SYSTEM".to_owned()),
    };
    let [namespace, name, system] = &*parts else {
        return Err("a registry's module is [HOST/]NAMESPACE/NAME/SYSTEM".to_owned());
    };
    for part in [namespace, name] {
        if !is_registry_name(part) {
            return Err(format!("{part:?} is no name in a registry"));
        }
    }
    let is_system = (1..=64).contains(&system.len())
        && system
            .chars()
            .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit());
    if !is_system {
        return Err(format!("{system:?} is no name of a system"));
    }
    Ok(RegistryModule {
        host: host.into(),
        namespace: (*namespace).into(),
        name: (*name).into(),
        system: (*system).into(),
        folder: folder.into(),
    })
}

fn is_host(text: &str) -> bool {
    let (name, port) = text.split_once(':').unwrap_or((text, "0"));
    let labels: Vec<&str> = name.split('.').collect();
    let is_label = |label: &&str| {
        !label.is_empty()
            && !label.starts_with('-')
            && !label.ends_with('-')
            && label.chars().all(|c| c.is_alphanumeric() || c == '-')
    };
    (labels.len() > 1 || name == "localhost") && labels.iter().all(is_label) && port.parse::<u16>().is_ok()
}

fn is_registry_name(text: &str) -> bool {
    let ends = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
    (1..=64).contains(&text.len())
        && ends(text.chars().next())
        && ends(text.chars().last())
        && text
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_')
}

fn remote(text: &str) -> Result<RemotePackage, SourceFault> {
    let (package, folder) = split_folder(text);
    if folder.starts_with("../") || folder == ".." {
        return Err(SourceFault::Malformed(
            "the folder leads out of the package".to_owned(),
        ));
    }
    let (getter, rest) = match package.split_once("::") {
        Some((getter, rest)) if !getter.is_empty() && getter.chars().all(|c| c.is_ascii_alphanumeric()) => {
            (Some(getter.to_owned()), rest.to_owned())
        }
        _ => (None, package),
    };
    let (detected, address, inner) = detect(&rest)?;
    let getter = getter.or(detected.map(str::to_owned));
    let folder = match (inner.is_empty(), folder.is_empty()) {
        (true, _) => folder,
        (false, true) => inner,
        (false, false) => clean(&format!("{inner}/{folder}")),
    };
    Ok(RemotePackage {
        getter: getter.map(Into::into),
        address: address.into(),
        folder: folder.into(),
    })
}

/// How to fetch, the full address, and the folder that the short form named.
type Detected = (Option<&'static str>, String, String);

/// Short forms in full. What has a scheme stays as it is.
fn detect(text: &str) -> Result<Detected, SourceFault> {
    if text.is_empty() {
        return Err(SourceFault::Malformed("it is empty".to_owned()));
    }
    if let Some((scheme, rest)) = text.split_once("://") {
        let valid = scheme.chars().next().is_some_and(|c| c.is_ascii_alphabetic()) && !rest.is_empty();
        return if valid {
            Ok((None, text.to_owned(), String::new()))
        } else {
            Err(SourceFault::NoKind)
        };
    }
    for (host, least) in [("github.com/", 3), ("gitlab.com/", 3), ("bitbucket.org/", 3)] {
        if text.starts_with(host) {
            return hosted(text, least);
        }
    }
    if let Some((user, rest)) = text.split_once('@')
        && let Some((host, path)) = rest.split_once(':')
        && !user.contains('/')
        && !host.contains('/')
    {
        let path = path.trim_start_matches('/');
        return Ok((Some("git"), format!("ssh://{user}@{host}/{path}"), String::new()));
    }
    if text.contains(".amazonaws.com/") {
        return Ok((Some("s3"), format!("https://{text}"), String::new()));
    }
    if text.starts_with("www.googleapis.com/storage/v1/") {
        return Ok((Some("gcs"), format!("https://{text}"), String::new()));
    }
    if text.starts_with('/') {
        return Ok((None, format!("file://{text}"), String::new()));
    }
    Err(SourceFault::NoKind)
}

/// `HOST/OWNER/REPOSITORY[/FOLDER]`
fn hosted(text: &str, least: usize) -> Result<Detected, SourceFault> {
    let (path, query) = match text.split_once('?') {
        Some((path, query)) => (path, format!("?{query}")),
        None => (text, String::new()),
    };
    let parts: Vec<&str> = path.split('/').collect();
    if parts.len() < least || parts.iter().any(|part| part.is_empty()) {
        let detail = "it must name an owner and a repository after the host";
        return Err(SourceFault::Malformed(detail.to_owned()));
    }
    let (repository, folder) = parts.split_at(least);
    let mut address = format!("https://{}", repository.join("/"));
    if !address.ends_with(".git") {
        address.push_str(".git");
    }
    address.push_str(&query);
    Ok((Some("git"), address, folder.join("/")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, versioned: bool, want: Result<&str, Option<&str>>) {
        let got = ModuleSource::parse(text, versioned).map(|source| source.to_string());
        match (got, want) {
            (Ok(got), Ok(want)) => assert_eq!(got, want, "{text}"),
            (Err(SourceFault::NoKind), Err(None)) => {}
            (Err(SourceFault::Malformed(why)), Err(Some(part))) => {
                assert!(why.contains(part), "{text}: {why}");
            }
            (got, want) => panic!("{text}: {got:?}, not {want:?}"),
        }
    }

    #[test]
    fn sources_are_told_apart() {
        check("./m/../n//o/", false, Ok("./n/o"));
        check("..\\m", false, Ok("../m"));
        check("./m", true, Err(Some("no versions")));
        check("m", false, Err(None));
        check("a/b/aws", false, Ok("registry.terraform.io/a/b/aws"));
        check("Forge.test/a/b/aws//x/y", true, Ok("forge.test/a/b/aws//x/y"));
        check("a/b", true, Err(Some("NAMESPACE")));
        check("a/b/AWS", true, Err(Some("system")));
        check(
            "github.com/o/r//sub?ref=v1",
            false,
            Ok("git::https://github.com/o/r.git//sub?ref=v1"),
        );
        check(
            "github.com/o/r/in//sub",
            false,
            Ok("git::https://github.com/o/r.git//in/sub"),
        );
        check("github.com/o", false, Err(Some("owner")));
        check(
            "git@host.test:o/r.git",
            false,
            Ok("git::ssh://git@host.test/o/r.git"),
        );
        check(
            "git::https://host.test/r.git//a/b?ref=x",
            false,
            Ok("git::https://host.test/r.git//a/b?ref=x"),
        );
        check("https://host.test/m.zip", false, Ok("https://host.test/m.zip"));
        check("/abs/m", false, Ok("file:///abs/m"));
        check("a.b/c//../x", false, Err(Some("leads out")));
    }

    #[test]
    fn paths_are_shortened() {
        for (path, want) in [
            ("a/./b//c/..", "a/b"),
            ("../../a", "../../a"),
            ("/../a", "/a"),
            ("", "."),
            ("./", "."),
        ] {
            assert_eq!(clean(path), want, "{path}");
        }
    }
}
