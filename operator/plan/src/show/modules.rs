//! Resources by module, as the JSON forms nest them.

use std::collections::BTreeMap;

use ashlar_addr::{InstanceKey, ModuleInstance};
use serde_json::{Map, Value as Json};

/// How deep modules are nested in JSON; resources of deeper ones stand in the deepest that is shown. No configuration
/// that loads is so deep, but a state file is text that anybody may have written.
const DEPTH_LIMIT: usize = 128;

/// One module instance with all inside.
#[derive(Default)]
pub(super) struct Modules {
    resources: Vec<Json>,
    children: BTreeMap<String, Modules>,
}

impl Modules {
    /// Adds a resource of a module.
    pub(super) fn add(&mut self, module: &ModuleInstance, resource: Json) {
        let mut here = self;
        let mut steps: Vec<(std::sync::Arc<str>, InstanceKey)> = Vec::new();
        for step in module.0.iter().take(DEPTH_LIMIT) {
            steps.push(step.clone());
            let address = ModuleInstance(steps.clone().into()).to_string();
            here = here.children.entry(address).or_default();
        }
        here.resources.push(resource);
    }

    /// As `root_module`.
    pub(super) fn into_json(self) -> Json {
        let mut out = Map::new();
        if !self.resources.is_empty() {
            out.insert("resources".to_owned(), Json::Array(self.resources));
        }
        let children: Vec<Json> = self
            .children
            .into_iter()
            .map(|(address, module)| {
                let mut json = module.into_json();
                if let Json::Object(members) = &mut json {
                    members.insert("address".to_owned(), address.into());
                }
                json
            })
            .collect();
        if !children.is_empty() {
            out.insert("child_modules".to_owned(), Json::Array(children));
        }
        Json::Object(out)
    }
}
