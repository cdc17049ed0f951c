//! Finds the configuration behind each local name, from a module up through the calls around it.

use std::collections::{BTreeMap, BTreeSet};

use ashlar_addr::{LocalProvider, Module as ModuleAddr, Provider, ProviderConfig};
use ashlar_diag::{Diag, Diags};
use ashlar_syntax::Expr;

use crate::tree::Tree;

/// Finds the configuration that each resource and action uses; tells of those that are nowhere, unless there are other
/// faults (`silent`).
pub(crate) fn resolve(tree: &mut Tree, silent: bool) -> Diags {
    let mut diags = Diags::new();
    let paths: Vec<ModuleAddr> = tree.members.keys().cloned().collect();
    for path in paths {
        let Some(member) = tree.members.get(&path) else {
            continue;
        };
        let locals: BTreeSet<LocalProvider> = member
            .module
            .resources
            .values()
            .map(|config| config.local_provider.clone())
            .chain(
                member
                    .module
                    .actions
                    .values()
                    .map(|action| action.local_provider.clone()),
            )
            .collect();
        let found: BTreeMap<LocalProvider, Result<Found, ProviderConfig>> = locals
            .into_iter()
            .map(|local| (local.clone(), find(tree, &path, &local)))
            .collect();
        if !silent {
            for (resource, config) in &member.module.resources {
                if let Some(Err(_)) = found.get(&config.local_provider) {
                    let name = resource.within_config(path.clone()).to_string();
                    diags.push(not_present(&name, &config.local_provider));
                }
            }
            for (local, resource) in member.module.made_up().filter(|_| path.is_root()) {
                if find(tree, &path, &local).is_err() {
                    diags.push(not_present(&resource.to_string(), &local));
                }
            }
        }
        let Some(member) = tree.members.get_mut(&path) else {
            continue;
        };
        for config in member.module.resources.values_mut() {
            match found.get(&config.local_provider) {
                Some(Ok(found)) => {
                    config.provider_config = found.config.clone();
                    config.passed_key.clone_from(&found.key);
                }
                Some(Err(missing)) => config.provider_config = missing.clone(),
                None => {}
            }
        }
        for action in member.module.actions.values_mut() {
            if let Some(Ok(Found { config, .. }) | Err(config)) = found.get(&action.local_provider) {
                action.provider_config = config.clone();
            }
        }
    }
    diags
}

fn not_present(name: &str, local: &LocalProvider) -> Diag {
    let detail = format!(
        "{name} uses the provider configuration {local}, which no provider block declares. Add the block, or change the \
         provider argument."
    );
    Diag::error("Provider configuration not present", detail)
}

/// A configuration that a module means by a local name.
struct Found {
    config: ProviderConfig,
    /// Which of several, if a call on the way says so: the called module, and the key. Only one of the calls can, that of the
    /// module that has the block.
    key: Option<(ModuleAddr, Expr)>,
}

/// The configuration that a module means by a local name; `Err` with its address if there is none.
fn find(tree: &Tree, path: &ModuleAddr, local: &LocalProvider) -> Result<Found, ProviderConfig> {
    let module = |path: &ModuleAddr| tree.members.get(path).map(|member| &member.module);
    let provider = module(path).map_or_else(
        || Provider::implied(&local.name),
        |module| module.source_of(&local.name),
    );
    let mut wanted = ProviderConfig {
        module: path.clone(),
        provider,
        alias: local.alias.clone(),
        key: ashlar_addr::InstanceKey::None,
    };
    let mut key = None;
    loop {
        let Some(here) = module(&wanted.module) else {
            return Err(wanted);
        };
        if wanted.module.is_root() {
            let is_there = wanted.alias.is_none() || here.own_block(&wanted).is_some();
            return if is_there {
                Ok(Found { config: wanted, key })
            } else {
                Err(wanted)
            };
        }
        let Some((parent, call)) = tree.call(&wanted.module) else {
            return Err(wanted);
        };
        let handed = call.providers.iter().find(|passed| {
            let child = &passed.child.local;
            child.alias == wanted.alias && here.source_of(&child.name) == wanted.provider
        });
        if let Some(handed) = handed {
            let given = &handed.parent.local;
            if let Some(expr) = &handed.parent.key {
                key = Some((wanted.module.clone(), expr.clone()));
            }
            let provider = module(&parent).map_or_else(
                || Provider::implied(&given.name),
                |parent| parent.source_of(&given.name),
            );
            wanted = ProviderConfig {
                module: parent,
                provider,
                alias: given.alias.clone(),
                key: ashlar_addr::InstanceKey::None,
            };
            continue;
        }
        if here.own_block(&wanted).is_some() {
            return Ok(Found { config: wanted, key });
        }
        // Without an alias it is inherited; with one never.
        if wanted.alias.is_some() {
            return Err(wanted);
        }
        wanted.module = parent;
    }
}
