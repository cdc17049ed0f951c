//! Actions and their instances.

use std::{fmt, sync::Arc};

use crate::{
    InstanceKey, Module, ModuleInstance,
    parse::{ParseError, Reader},
};

/// An action in the configuration, without instance keys.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConfigAction {
    /// The module that declares it.
    pub module: Module,
    /// The type.
    pub kind: Arc<str>,
    /// The name.
    pub name: Arc<str>,
}

impl fmt::Display for ConfigAction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.module.is_root() {
            write!(f, "{}.", self.module)?;
        }
        write!(f, "action.{}.{}", self.kind, self.name)
    }
}

impl std::str::FromStr for ConfigAction {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let instance: ActionInstance = text.parse()?;
        let is_keyed = |(_, key): &(Arc<str>, InstanceKey)| *key != InstanceKey::None;
        if instance.key != InstanceKey::None || instance.module.0.iter().any(is_keyed) {
            return Err(ParseError::new(text, 0, "instance keys are not allowed here"));
        }
        Ok(instance.config())
    }
}

/// One instance of an action: what is invoked.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ActionInstance {
    /// The module instance.
    pub module: ModuleInstance,
    /// The type.
    pub kind: Arc<str>,
    /// The name.
    pub name: Arc<str>,
    /// Which of its instances.
    pub key: InstanceKey,
}

impl ActionInstance {
    /// The action in the configuration.
    pub fn config(&self) -> ConfigAction {
        ConfigAction {
            module: self.module.config(),
            kind: self.kind.clone(),
            name: self.name.clone(),
        }
    }
}

impl fmt::Display for ActionInstance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.module.is_root() {
            write!(f, "{}.", self.module)?;
        }
        write!(f, "action.{}.{}{}", self.kind, self.name, self.key)
    }
}

impl std::str::FromStr for ActionInstance {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let mut reader = Reader::new(text);
        let module = reader.module_instance_prefix()?;
        let (kind, name) = reader.action()?;
        let key = reader.key()?;
        reader.finish(ActionInstance {
            module,
            kind,
            name,
            key,
        })
    }
}
