//! Modules and instance keys.

use std::{fmt, sync::Arc};

use crate::parse::{ParseError, Reader};

/// What tells the instances of one resource or module call apart.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum InstanceKey {
    /// The only instance, without count or for_each.
    #[default]
    None,
    /// By `count`.
    Int(i64),
    /// By `for_each`.
    String(Arc<str>),
}

impl fmt::Display for InstanceKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            InstanceKey::None => Ok(()),
            InstanceKey::Int(at) => write!(f, "[{at}]"),
            InstanceKey::String(key) => {
                f.write_str("[\"")?;
                let mut rest = &**key;
                while let Some(c) = rest.chars().next() {
                    match c {
                        '"' => f.write_str("\\\"")?,
                        '\\' => f.write_str("\\\\")?,
                        '\n' => f.write_str("\\n")?,
                        '\r' => f.write_str("\\r")?,
                        '\t' => f.write_str("\\t")?,
                        '$' | '%' if rest[1..].starts_with('{') => write!(f, "{c}{c}")?,
                        c if c.is_control() => write!(f, "\\u{:04x}", u32::from(c))?,
                        c => write!(f, "{c}")?,
                    }
                    rest = &rest[c.len_utf8()..];
                }
                f.write_str("\"]")
            }
        }
    }
}

/// A module in the configuration: names of calls from the root. The root has none.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Module(pub Arc<[Arc<str>]>);

impl Module {
    /// The root module.
    pub fn root() -> Self {
        Self::default()
    }

    /// Is this the root module?
    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// The module called `name` from this one.
    #[must_use]
    pub fn child(&self, name: impl Into<Arc<str>>) -> Self {
        Self(self.0.iter().cloned().chain([name.into()]).collect())
    }

    /// The module that calls this one; the root module is called by none.
    pub fn parent(&self) -> Option<Self> {
        let (_, parent) = self.0.split_last()?;
        Some(Self(parent.into()))
    }
}

impl fmt::Display for Module {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, name) in self.0.iter().enumerate() {
            write!(f, "{}module.{name}", if at > 0 { "." } else { "" })?;
        }
        Ok(())
    }
}

/// One instance of a module. The root has no steps.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ModuleInstance(pub Arc<[(Arc<str>, InstanceKey)]>);

impl ModuleInstance {
    /// The root module.
    pub fn root() -> Self {
        Self::default()
    }

    /// Is this the root module?
    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// The instance `key` of the module called `name` from this one.
    #[must_use]
    pub fn child(&self, name: impl Into<Arc<str>>, key: InstanceKey) -> Self {
        Self(self.0.iter().cloned().chain([(name.into(), key)]).collect())
    }

    /// The module in the configuration.
    pub fn config(&self) -> Module {
        Module(self.0.iter().map(|(name, _)| name.clone()).collect())
    }
}

impl fmt::Display for ModuleInstance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, (name, key)) in self.0.iter().enumerate() {
            write!(f, "{}module.{name}{key}", if at > 0 { "." } else { "" })?;
        }
        Ok(())
    }
}

impl std::str::FromStr for ModuleInstance {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let mut reader = Reader::new(text);
        let module = reader.module_instance()?;
        reader.finish(module)
    }
}
