//! What `removed` blocks say: which objects are not destroyed when their resource goes, only forgotten.
//!
//! Source: Terraform `internal/refactoring/remove_statement.go`.

use std::collections::BTreeMap;

use ashlar_addr::{AbsResource, ConfigResource, Module as ModuleAddr};
use ashlar_config::Tree;
use ashlar_diag::{Diag, Diags};

/// Everything that a `removed` block is about, and whether it is destroyed. What a calling module says comes first.
#[derive(Debug, Default)]
pub(crate) struct Removed {
    resources: BTreeMap<ConfigResource, bool>,
    modules: BTreeMap<ModuleAddr, bool>,
}

impl Removed {
    pub(crate) fn of(tree: &Tree) -> Self {
        let mut found = Self::default();
        // Callers stand before what they call.
        for (path, member) in &tree.members {
            for removed in &member.module.removed {
                let module = ModuleAddr(path.0.iter().chain(&*removed.module.0).cloned().collect());
                match &removed.resource {
                    Some(resource) => {
                        let resource = resource.within_config(module);
                        found.resources.entry(resource).or_insert(removed.destroy);
                    }
                    None => {
                        found.modules.entry(module).or_insert(removed.destroy);
                    }
                }
            }
        }
        found
    }

    /// What is said to be removed and is still there.
    pub(crate) fn faults(&self, tree: &Tree) -> Diags {
        let resources = self.resources.keys().filter_map(|resource| {
            let config = tree.resource(resource)?;
            let detail = format!(
                "{resource} is said to be removed, but it is still declared here. Take one of them out."
            );
            Some(Diag::error("Removed resource still exists", detail).at(config.header))
        });
        let modules = self.modules.keys().filter_map(|module| {
            let (_, call) = tree.call(module)?;
            let detail =
                format!("{module} is said to be removed, but it is still called here. Take one of them out.");
            Some(Diag::error("Removed module still exists", detail).at(call.header))
        });
        resources.chain(modules).collect()
    }

    /// Are the objects of a resource that is not wanted any more destroyed? `None` if nothing is said of them.
    pub(crate) fn destroys(&self, resource: &AbsResource) -> Option<bool> {
        let config = resource.config();
        let around = self
            .modules
            .iter()
            .filter(|(module, _)| config.module.0.starts_with(&module.0));
        let said = around.map(|(_, destroy)| *destroy);
        said.chain(self.resources.get(&config).copied())
            .reduce(|one, other| one && other)
    }
}
