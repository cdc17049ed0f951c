//! Providers and their configurations.

use std::{fmt, sync::Arc};

use crate::{
    InstanceKey, Module,
    parse::{ParseError, Reader},
};

/// A provider's source address.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Provider {
    /// The registry host.
    pub host: Arc<str>,
    /// The namespace at that host.
    pub namespace: Arc<str>,
    /// The provider's type name.
    pub name: Arc<str>,
}

impl Provider {
    /// The host meant where a source names none.
    pub const DEFAULT_HOST: &'static str = "registry.terraform.io";

    /// The provider meant where a module says nothing of `name`.
    pub fn implied(name: &str) -> Self {
        if name == "terraform" {
            return Self::builtin();
        }
        Self {
            host: Self::DEFAULT_HOST.into(),
            namespace: "hashicorp".into(),
            name: name.into(),
        }
    }

    /// The provider that lives in the engine: `terraform_data` and kin.
    pub fn builtin() -> Self {
        Self {
            host: "terraform.io".into(),
            namespace: "builtin".into(),
            name: "terraform".into(),
        }
    }

    /// Is it the one that lives in the engine?
    pub fn is_builtin(&self) -> bool {
        &*self.host == "terraform.io" && &*self.namespace == "builtin"
    }

    /// For people: the default host is left out.
    pub fn for_display(&self) -> String {
        if &*self.host == Self::DEFAULT_HOST {
            format!("{}/{}", self.namespace, self.name)
        } else {
            self.to_string()
        }
    }
}

impl fmt::Display for Provider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}/{}", self.host, self.namespace, self.name)
    }
}

/// Reads `name`, `namespace/name` or `host/namespace/name`.
impl std::str::FromStr for Provider {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        // Letters are judged in lower case, as they are kept: some become more than one.
        let lower = text.to_lowercase();
        let parts: Vec<&str> = lower.split('/').collect();
        let (host, namespace, name) = match parts.as_slice() {
            [name] => (Self::DEFAULT_HOST, "hashicorp", *name),
            [namespace, name] => (Self::DEFAULT_HOST, *namespace, *name),
            // As Terraform has it: the usual port says nothing.
            [host, namespace, name] => (host.strip_suffix(":443").unwrap_or(host), *namespace, *name),
            _ => {
                return Err(ParseError::new(
                    text,
                    0,
                    "a provider source is [HOST/][NAMESPACE/]TYPE",
                ));
            }
        };
        let valid_part = |part: &str| {
            !part.is_empty()
                && !part.starts_with('-')
                && !part.ends_with('-')
                && !part.contains("--")
                && part.chars().all(|c| c.is_alphanumeric() || c == '-' || c == '_')
        };
        let valid_host = !host.is_empty()
            && !host.contains("..")
            && !host.starts_with('.')
            && !host.ends_with('.')
            && host
                .chars()
                .all(|c| c.is_alphanumeric() || matches!(c, '.' | '-' | ':'));
        if !valid_part(namespace) || !valid_part(name) || !valid_host {
            return Err(ParseError::new(
                text,
                0,
                "a provider source is [HOST/][NAMESPACE/]TYPE",
            ));
        }
        Ok(Self {
            host: host.into(),
            namespace: namespace.into(),
            name: name.into(),
        })
    }
}

/// A provider configuration as a module names it: `aws` or `aws.west`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LocalProvider {
    /// The local name.
    pub name: Arc<str>,
    /// The alias.
    pub alias: Option<Arc<str>>,
}

impl fmt::Display for LocalProvider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        self.alias.as_ref().map_or(Ok(()), |alias| write!(f, ".{alias}"))
    }
}

/// A provider configuration of a module in the configuration.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProviderConfig {
    /// The module it is declared in.
    pub module: Module,
    /// Which provider.
    pub provider: Provider,
    /// The alias.
    pub alias: Option<Arc<str>>,
    /// Which of several, where the configuration is repeated. (OpenTofu)
    pub key: InstanceKey,
}

impl ProviderConfig {
    /// The one of a repeated configuration that has this key.
    #[must_use]
    pub fn with_key(&self, key: InstanceKey) -> Self {
        Self { key, ..self.clone() }
    }

    /// The configuration without the key: all of those that it is repeated for.
    #[must_use]
    pub fn whole(&self) -> Self {
        self.with_key(InstanceKey::None)
    }
}

impl fmt::Display for ProviderConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.module.is_root() {
            write!(f, "{}.", self.module)?;
        }
        write!(f, "provider[\"{}\"]", self.provider)?;
        self.alias
            .as_ref()
            .map_or(Ok(()), |alias| write!(f, ".{alias}"))?;
        write!(f, "{}", self.key)
    }
}

impl std::str::FromStr for ProviderConfig {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let mut reader = Reader::new(text);
        let module = reader.module_instance_prefix()?.config();
        let config = reader.provider_config(module)?;
        reader.finish(config)
    }
}
