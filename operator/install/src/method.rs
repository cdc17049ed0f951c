//! Methods of installation: where which providers may be had from.
//!
//! Source: Terraform `internal/getproviders/multi_source.go`, `internal/command/cliconfig/provider_installation.go`; for
//! `oci_mirror` OpenTofu, the same files. How a method is used is not told here.

use std::{collections::BTreeMap, fmt, path::PathBuf, str::FromStr};

use ashlar_addr::Provider;

use crate::template::Template;

/// What `provider_installation` says.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Installation {
    /// In order of precedence.
    pub methods: Vec<Method>,
    /// Folders that stand for providers as they are, whatever version is asked for.
    pub overrides: BTreeMap<Provider, PathBuf>,
}

/// One way to have providers.
#[derive(Clone, Debug, PartialEq)]
pub struct Method {
    /// Where from.
    pub location: Location,
    /// Which providers; all if there is no pattern.
    pub include: Vec<Pattern>,
    /// Which ones not, even if they are included.
    pub exclude: Vec<Pattern>,
}

/// Where providers are had from.
#[derive(Clone, Debug, PartialEq)]
pub enum Location {
    /// The registry that the provider's address names.
    Direct,
    /// A folder.
    Filesystem(PathBuf),
    /// An address below which there is a network mirror. HTTPS, with a slash at its end.
    Network(String),
    /// Repositories of OCI registries.
    Oci(Template),
}

/// Which providers are meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    /// Any if there is none; then namespace and type are any, too.
    host: Option<String>,
    /// Any if there is none; then the type is any, too.
    namespace: Option<String>,
    name: Option<String>,
}

/// A text that is no pattern.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid provider matching pattern {text:?}: {why}")]
pub struct PatternError {
    text: String,
    why: &'static str,
}

impl Pattern {
    /// Is this one meant?
    pub fn matches(&self, provider: &Provider) -> bool {
        let fits = |part: &Option<String>, own: &str| part.as_deref().is_none_or(|part| part == own);
        fits(&self.host, &provider.host)
            && fits(&self.namespace, &provider.namespace)
            && fits(&self.name, &provider.name)
    }

    pub(crate) fn parts(&self) -> [Option<&str>; 3] {
        [&self.host, &self.namespace, &self.name].map(Option::as_deref)
    }
}

/// Reads `[HOST/]NAMESPACE/TYPE`, in which `*` is any.
impl FromStr for Pattern {
    type Err = PatternError;

    fn from_str(text: &str) -> Result<Self, PatternError> {
        let fault = |why| PatternError {
            text: text.chars().take(200).collect(),
            why,
        };
        let parts: Vec<&str> = text.split('/').collect();
        let (host, namespace, name) = match *parts {
            [namespace, name] => (Provider::DEFAULT_HOST, namespace, name),
            [host, namespace, name] => (host, namespace, name),
            _ => return Err(fault("it has neither two nor three parts with slashes between")),
        };
        // The rest is judged as an address, with a name in place of what may be anything.
        let plain = |part: &'static str, own: &str| match own {
            "*" => part.to_owned(),
            own => own.to_owned(),
        };
        let address = [plain("h", host), plain("n", namespace), plain("t", name)].join("/");
        let address: Provider = address
            .parse()
            .map_err(|_| fault("a part is neither a name nor *"))?;
        let part = |own: &str, read: &str| (own != "*").then(|| read.to_owned());
        let read = Self {
            host: part(host, &address.host),
            namespace: part(namespace, &address.namespace),
            name: part(name, &address.name),
        };
        if read.host.is_none() && (read.namespace.is_some() || read.name.is_some()) {
            return Err(fault("the host can be * only if both namespace and type are"));
        }
        if read.namespace.is_none() && read.name.is_some() {
            return Err(fault("the namespace can be * only if the type is"));
        }
        Ok(read)
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [host, namespace, name] = self.parts().map(|part| part.unwrap_or("*"));
        write!(f, "{host}/{namespace}/{name}")
    }
}

/// One provider and no other.
impl From<&Provider> for Pattern {
    fn from(provider: &Provider) -> Self {
        Self {
            host: Some(provider.host.to_string()),
            namespace: Some(provider.namespace.to_string()),
            name: Some(provider.name.to_string()),
        }
    }
}

impl Method {
    /// One for all providers.
    pub fn of(location: Location) -> Self {
        Self {
            location,
            include: Vec::new(),
            exclude: Vec::new(),
        }
    }

    /// Is it for this provider?
    pub fn serves(&self, provider: &Provider) -> bool {
        let meant = |patterns: &[Pattern]| patterns.iter().any(|pattern| pattern.matches(provider));
        !meant(&self.exclude) && (self.include.is_empty() || meant(&self.include))
    }
}

impl Location {
    /// Does it need a network?
    pub fn is_remote(&self) -> bool {
        !matches!(self, Self::Filesystem(_))
    }

    /// For people.
    pub(crate) fn place(&self, provider: &Provider) -> String {
        match self {
            Self::Direct => format!("the registry {}", provider.host),
            Self::Filesystem(folder) => format!("the folder {}", folder.display()),
            Self::Network(url) => format!("the provider mirror at {}", ashlar_sources::redacted(url)),
            Self::Oci(template) => match template.repository(provider) {
                Ok(repository) => format!("the OCI repository {repository}"),
                Err(_) => format!("the OCI mirror {template}"),
            },
        }
    }
}

impl Installation {
    /// Folders alone.
    pub fn of_folders(folders: Vec<PathBuf>) -> Self {
        let methods = folders.into_iter().map(Location::Filesystem).map(Method::of);
        Self {
            methods: methods.collect(),
            overrides: BTreeMap::new(),
        }
    }

    /// Does any of it need a network?
    pub fn is_remote(&self) -> bool {
        self.methods.iter().any(|method| method.location.is_remote())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_read() {
        let check = |text: &str, want: Result<&str, &str>| {
            let got = text.parse::<Pattern>();
            let got = got.map(|pattern| pattern.to_string()).map_err(|error| error.why);
            assert_eq!(got, want.map(str::to_owned), "{text}");
        };
        check("hashicorp/aws", Ok("registry.terraform.io/hashicorp/aws"));
        check("Forge.test/Studio/*", Ok("forge.test/studio/*"));
        check("*/*", Ok("registry.terraform.io/*/*"));
        check("*/*/*", Ok("*/*/*"));
        check(
            "aws",
            Err("it has neither two nor three parts with slashes between"),
        );
        check(
            "a/b/c/d",
            Err("it has neither two nor three parts with slashes between"),
        );
        check("*/aws", Err("the namespace can be * only if the type is"));
        check(
            "*/hashicorp/*",
            Err("the host can be * only if both namespace and type are"),
        );
        check("hashi corp/aws", Err("a part is neither a name nor *"));
        check("hashicorp/a*", Err("a part is neither a name nor *"));
    }

    #[test]
    fn exclusion_wins_and_no_inclusion_is_all() {
        let check = |include: &[&str], exclude: &[&str], want: bool| {
            let read = |texts: &[&str]| texts.iter().map(|text| text.parse().unwrap()).collect();
            let method = Method {
                location: Location::Direct,
                include: read(include),
                exclude: read(exclude),
            };
            let provider = "forge.test/studio/kiln".parse().unwrap();
            assert_eq!(method.serves(&provider), want, "{include:?} {exclude:?}");
        };
        check(&[], &[], true);
        check(&["forge.test/*/*"], &[], true);
        check(&["hashicorp/*", "forge.test/studio/kiln"], &[], true);
        check(&["hashicorp/*"], &[], false);
        check(&["forge.test/studio/other"], &[], false);
        check(&["*/*/*"], &["forge.test/studio/*"], false);
        check(&[], &["*/*"], true);
        check(&[], &["*/*/*"], false);
    }
}
