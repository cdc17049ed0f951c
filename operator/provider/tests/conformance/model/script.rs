//! What the model plugin is told, in its environment.

use std::{ffi::OsString, path::PathBuf};

/// The variable whose presence makes this program the model plugin; it holds the protocol's generation.
const GENERATION: &str = "ASHLAR_MODEL";
const START: &str = "ASHLAR_MODEL_START";
const FAULT: &str = "ASHLAR_MODEL_FAULT";
const CALLS: &str = "ASHLAR_MODEL_CALLS";
const OPTIONAL: &str = "ASHLAR_MODEL_OPTIONAL";
/// What every plugin is started with.
const COOKIE: &str = "TF_PLUGIN_MAGIC_COOKIE";

/// How the plugin behaves.
#[derive(Clone, Debug, Default)]
pub(crate) struct Script {
    /// 5 or 6.
    pub(crate) generation: u8,
    /// What goes wrong when it starts; nothing if empty.
    pub(crate) start: String,
    /// `KIND`, or `KIND CALL`: what goes wrong with a call, by the name it has in generation 6, or with all.
    pub(crate) fault: String,
    /// Every call is noted here, one a line.
    pub(crate) calls: PathBuf,
    /// Does it say that its schema need not be asked of each process?
    pub(crate) schema_is_optional: bool,
}

impl Script {
    pub(crate) fn healthy(generation: u8) -> Self {
        Self {
            generation,
            ..Self::default()
        }
    }

    pub(crate) fn variables(&self) -> Vec<(OsString, OsString)> {
        let mut variables: Vec<(OsString, OsString)> = vec![
            (GENERATION.into(), self.generation.to_string().into()),
            (START.into(), self.start.clone().into()),
            (FAULT.into(), self.fault.clone().into()),
            (CALLS.into(), self.calls.clone().into()),
        ];
        if self.schema_is_optional {
            variables.push((OPTIONAL.into(), "1".into()));
        }
        variables
    }

    /// What this process is told, if it is to be the plugin.
    pub(crate) fn of_this_process() -> Option<Self> {
        let text = |name: &str| std::env::var(name).unwrap_or_default();
        let generation = match std::env::var(GENERATION) {
            Ok(generation) => generation,
            // One that is asked for its schema alone has none of the variables; it is a plugin all the same.
            Err(_) if std::env::var_os(COOKIE).is_some() => String::new(),
            Err(_) => return None,
        };
        Some(Self {
            generation: generation.parse().unwrap_or(6),
            start: text(START),
            fault: text(FAULT),
            calls: text(CALLS).into(),
            schema_is_optional: std::env::var_os(OPTIONAL).is_some(),
        })
    }

    /// What goes wrong with this call.
    pub(crate) fn fault(&self, call: &str) -> &str {
        match self.fault.split_once(' ') {
            Some((kind, of)) if of == call => kind,
            Some(_) => "",
            None => &self.fault,
        }
    }
}
