//! Resources and their instances.

use std::{fmt, sync::Arc};

use crate::{
    InstanceKey, Module, ModuleInstance,
    parse::{ParseError, Reader},
};

/// How a resource is treated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Mode {
    /// `data`: only read.
    Data,
    /// `resource`: created, updated, deleted.
    Managed,
    /// `ephemeral`: opened and closed, never kept.
    Ephemeral,
}

impl Mode {
    /// As in state files and JSON plans.
    pub fn as_str(self) -> &'static str {
        match self {
            Mode::Data => "data",
            Mode::Managed => "managed",
            Mode::Ephemeral => "ephemeral",
        }
    }
}

/// A resource within its module.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Resource {
    /// Managed, data or ephemeral.
    pub mode: Mode,
    /// The type.
    pub kind: Arc<str>,
    /// The name.
    pub name: Arc<str>,
}

impl Resource {
    /// A resource within its module.
    pub fn new(mode: Mode, kind: impl Into<Arc<str>>, name: impl Into<Arc<str>>) -> Self {
        Self {
            mode,
            kind: kind.into(),
            name: name.into(),
        }
    }

    /// The local provider name that the type implies: what stands before the first `_`.
    pub fn implied_provider(&self) -> &str {
        self.kind.split('_').next().unwrap_or(&self.kind)
    }

    /// As a resource of a module instance.
    pub fn within(&self, module: ModuleInstance) -> AbsResource {
        AbsResource {
            module,
            resource: self.clone(),
        }
    }

    /// As a resource of a module in the configuration.
    pub fn within_config(&self, module: Module) -> ConfigResource {
        ConfigResource {
            module,
            resource: self.clone(),
        }
    }
}

impl fmt::Display for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.mode {
            Mode::Managed => {}
            Mode::Data => f.write_str("data.")?,
            Mode::Ephemeral => f.write_str("ephemeral.")?,
        }
        write!(f, "{}.{}", self.kind, self.name)
    }
}

/// A resource in the configuration, without instance keys.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConfigResource {
    /// The module that declares it.
    pub module: Module,
    /// The resource within it.
    pub resource: Resource,
}

impl fmt::Display for ConfigResource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.module.is_root() {
            write!(f, "{}.", self.module)?;
        }
        write!(f, "{}", self.resource)
    }
}

impl std::str::FromStr for ConfigResource {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let instance: ResourceInstance = text.parse()?;
        if instance.key != InstanceKey::None
            || instance
                .resource
                .module
                .0
                .iter()
                .any(|(_, key)| *key != InstanceKey::None)
        {
            return Err(ParseError::new(text, 0, "instance keys are not allowed here"));
        }
        Ok(instance.resource.config())
    }
}

/// A resource of one module instance.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AbsResource {
    /// The module instance.
    pub module: ModuleInstance,
    /// The resource within it.
    pub resource: Resource,
}

impl AbsResource {
    /// One instance of it.
    pub fn instance(&self, key: InstanceKey) -> ResourceInstance {
        ResourceInstance {
            resource: self.clone(),
            key,
        }
    }

    /// The resource in the configuration.
    pub fn config(&self) -> ConfigResource {
        ConfigResource {
            module: self.module.config(),
            resource: self.resource.clone(),
        }
    }
}

impl fmt::Display for AbsResource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.module.is_root() {
            write!(f, "{}.", self.module)?;
        }
        write!(f, "{}", self.resource)
    }
}

/// One instance of a resource: what a provider call is about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ResourceInstance {
    /// The resource.
    pub resource: AbsResource,
    /// Which of its instances.
    pub key: InstanceKey,
}

impl fmt::Display for ResourceInstance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.resource, self.key)
    }
}

impl std::str::FromStr for ResourceInstance {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let mut reader = Reader::new(text);
        let module = reader.module_instance_prefix()?;
        let resource = reader.resource()?;
        let key = reader.key()?;
        reader.finish(ResourceInstance {
            resource: resource.within(module),
            key,
        })
    }
}

/// Names an object that was replaced but not yet destroyed; printed as eight hex digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DeposedKey(pub u32);

impl fmt::Display for DeposedKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:08x}", self.0)
    }
}

impl std::str::FromStr for DeposedKey {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let plain = text.len() == 8
            && text
                .bytes()
                .all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte));
        match u32::from_str_radix(text, 16) {
            Ok(key) if plain => Ok(Self(key)),
            _ => Err(ParseError::new(
                text,
                0,
                "a deposed key is eight lower-case hex digits",
            )),
        }
    }
}
