//! Which provider configuration each resource uses, through calls of modules that hand configurations over.
//!
//! Rules: Terraform `configs/provider_validation.go`, `terraform/transform_provider.go`.

mod resolve;

use std::collections::{BTreeMap, BTreeSet};

use ashlar_addr::{LocalProvider, Module as ModuleAddr, Provider};
use ashlar_diag::{Diag, Diags, Span};
use ashlar_syntax::{Expr, Step};
use ashlar_value::Dialect;

pub(crate) use self::resolve::resolve;
use crate::{
    Module,
    model::{ModuleCall, PassedProvider, ProviderBlock},
    provider_name,
    tree::Tree,
};

/// Faults of how configurations are declared and handed over.
pub(crate) fn check(tree: &Tree) -> Diags {
    let mut diags = Diags::new();
    for (path, member) in &tree.members {
        let module = &member.module;
        diags.extend(duplicate_requirements(module));
        diags.extend(implied_names(module));
        diags.extend(key_faults(module));
        let calling = tree.call(path);
        let passed: BTreeMap<&LocalProvider, &PassedProvider> = calling
            .iter()
            .flat_map(|(_, call)| &call.providers)
            .map(|passed| (&passed.child.local, passed))
            .collect();
        let (configured, empty): (Vec<_>, Vec<_>) =
            module.providers.iter().partition(|(_, block)| !is_proxy(block));
        diags.extend(calls_with_named(
            path,
            module,
            &passed,
            &configured,
            calling.as_ref().map(|(_, call)| *call),
        ));
        let Some((parent, call)) = &calling else { continue };
        let Some(parent) = tree.members.get(parent) else {
            continue;
        };
        if let (false, Some(place)) = (configured.is_empty(), repeated(tree, path)) {
            let detail = format!(
                "{path} configures providers itself, so neither it nor a module around it can be called with count, \
                 for_each or depends_on. Move its provider blocks to the root module, and hand the configurations over."
            );
            let summary = match module.dialect {
                Dialect::Terraform => "Module is incompatible with count, for_each, and depends_on",
                Dialect::OpenTofu => "Module is incompatible with count, for_each, enabled and depends_on",
            };
            diags.push(Diag::error(summary, detail).at(place));
        }
        for (local, _) in &configured {
            if let Some(passed) = passed.get(local) {
                let detail = format!(
                    "{path} configures {local} itself, so no configuration can be handed over for it."
                );
                diags.push(
                    Diag::error("Cannot override provider configuration", detail).at(passed.child.span),
                );
            }
        }
        for (name, required) in &module.required_providers {
            for alias in &required.aliases {
                let local = LocalProvider {
                    name: name.clone(),
                    alias: alias.clone(),
                };
                let is_there =
                    passed.contains_key(&local) || configured.iter().any(|(own, _)| **own == local);
                if !is_there {
                    let detail = format!(
                        "{path} needs a configuration of {} as {local}. Add {local} to the providers of this block.",
                        required.source.for_display()
                    );
                    let diag = Diag::error("Missing required provider configuration", detail);
                    diags.push(diag.at(call.header));
                }
            }
        }
        for passed in passed.values() {
            diags.extend(passed_faults(path, module, &parent.module, passed, &empty));
        }
        diags.extend(empty_blocks(&empty));
    }
    diags
}

/// An empty block in a called module once meant that a configuration is to be handed over.
fn is_proxy(block: &ProviderBlock) -> bool {
    block.body.is_empty() && block.version.is_none() && block.for_each.is_none()
}

/// Faults of keys that name one of several configurations.
fn key_faults(module: &Module) -> Diags {
    let mut diags = Diags::new();
    let mut judge = |what: &str,
                     local: &LocalProvider,
                     place: Span,
                     key: Option<&Expr>,
                     repeated: Option<&Expr>| {
        let block = module.providers.get(local);
        let several = block.and_then(|block| block.for_each.as_ref());
        let (detail, place) = match (key, several) {
            (Some(key), Some(several)) => {
                if repeated.is_some_and(|own| same_reference(own, several)) {
                    let detail = "Where an element is taken away, the object goes and the configuration that could destroy it goes \
                                  with it. Let the configuration be there for more elements than the objects.";
                    let summary = format!("Provider configuration for_each matches {what}");
                    diags.push(Diag::warning(summary, detail).at(repeated.map_or(key.span, |own| own.span)));
                }
                return;
            }
            (None, None) => return,
            (Some(_), None) if block.is_none_or(is_proxy) => (
                format!("This module has no provider block for {local}, so there are not several."),
                place,
            ),
            (Some(key), None) => (
                format!("The provider block for {local} has no for_each, so there is only one."),
                key.span,
            ),
            (None, Some(_)) => (
                format!(
                    "The provider block for {local} has a for_each, so one of several is named: {local}[KEY]."
                ),
                place,
            ),
        };
        diags.push(Diag::error(format!("Invalid {what} provider configuration"), detail).at(place));
    };
    for call in module.calls.values() {
        for passed in &call.providers {
            let given = &passed.parent;
            judge(
                "module",
                &given.local,
                given.span,
                given.key.as_ref(),
                call.for_each.as_ref(),
            );
        }
    }
    for config in module.resources.values() {
        if let Some(place) = config.provider_span {
            let key = config.provider_key.as_ref();
            judge(
                "resource",
                &config.local_provider,
                place,
                key,
                config.for_each.as_ref(),
            );
        }
    }
    diags
}

/// Are both the same reference?
fn same_reference(one: &Expr, other: &Expr) -> bool {
    let words = |expr: &Expr| {
        let traversal = expr.as_traversal()?;
        let steps = traversal.steps.iter().map(|step| match step {
            Step::Attr { name, .. } => Some(name.clone()),
            Step::Index { .. } => None,
        });
        std::iter::once(Some(traversal.root.name.clone()))
            .chain(steps)
            .collect::<Option<Vec<_>>>()
    };
    words(one).is_some_and(|one| words(other) == Some(one))
}

/// The place of the count, for_each or depends_on nearest around a module.
fn repeated(tree: &Tree, path: &ModuleAddr) -> Option<Span> {
    let mut path = path.clone();
    while let Some((parent, call)) = tree.call(&path) {
        let place = call
            .count
            .as_ref()
            .or(call.for_each.as_ref())
            .or(call.enabled.as_ref().map(|attribute| &attribute.expr))
            .map(|expr| expr.span)
            .or(call
                .depends_on
                .as_ref()
                .map(|waits| waits.first().map_or(call.header, |first| first.traversal.span())));
        if place.is_some() {
            return place;
        }
        path = parent;
    }
    None
}

/// Are the configurations that calls hand over declared?
fn calls_with_named(
    path: &ModuleAddr,
    module: &Module,
    passed: &BTreeMap<&LocalProvider, &PassedProvider>,
    configured: &[(&LocalProvider, &ProviderBlock)],
    calling: Option<&ModuleCall>,
) -> Diags {
    let mut diags = Diags::new();
    // Those with an alias are never inherited, and are judged inside the called module.
    let handed = module.calls.values().flat_map(|call| &call.providers);
    for handed in handed.filter(|handed| handed.parent.local.alias.is_none()) {
        let local = &handed.parent.local;
        let is_configured = configured.iter().any(|(own, _)| *own == local);
        let is_required = module.required_providers.contains_key(&local.name);
        if !is_configured && !is_required {
            let detail = format!(
                "Nothing in this module declares {local}, so hashicorp/{local} is taken. Add an entry to required_providers."
            );
            let diag = Diag::warning("Reference to undefined provider", detail);
            diags.push(diag.at(handed.parent.span));
        } else if let (false, false, Some(call)) = (is_configured, passed.contains_key(local), calling) {
            let detail = format!(
                "{path} hands {local} on, but is not given one. Add {local} to the providers of this block."
            );
            let diag = Diag::warning("Missing required provider configuration", detail);
            diags.push(diag.at(call.header));
        }
    }
    diags
}

fn passed_faults(
    path: &ModuleAddr,
    module: &Module,
    parent: &Module,
    passed: &PassedProvider,
    empty: &[(&LocalProvider, &ProviderBlock)],
) -> Diags {
    let mut diags = Diags::new();
    let (child, given) = (&passed.child, &passed.parent);
    let wanted = module.source_of(&child.local.name);
    let required = module.required_providers.get(&child.local.name);
    let is_declared = match &child.local.alias {
        None => required.is_some(),
        alias => required.is_some_and(|required| required.aliases.contains(alias)),
    };
    let is_empty = empty.iter().any(|(own, _)| **own == child.local);
    if !is_declared && !is_empty {
        let summary = "Reference to undefined provider";
        let detail = format!(
            "{path} declares no provider {}. It should have an entry in its required_providers.",
            child.local
        );
        // A default one works all the same.
        let is_default = &*wanted.host == Provider::DEFAULT_HOST && &*wanted.namespace == "hashicorp";
        let diag = if is_default {
            Diag::warning(summary, detail)
        } else {
            Diag::error(summary, detail)
        };
        diags.push(diag.at(child.span));
    }
    let source = parent.source_of(&given.local.name);
    if source != wanted {
        let other = module
            .required_providers
            .iter()
            .find(|(_, required)| required.source == source);
        let (detail, place) = match other {
            Some((name, _)) => (
                format!(
                    "The configuration is one of {}, which {path} names {name}.",
                    source.for_display()
                ),
                child.span,
            ),
            None => (
                format!(
                    "The configuration is one of {}, but {} of {path} is one of {}.",
                    source.for_display(),
                    child.local,
                    wanted.for_display()
                ),
                given.span,
            ),
        };
        diags.push(Diag::error("Provider type mismatch", detail).at(place));
    }
    diags
}

fn empty_blocks(empty: &[(&LocalProvider, &ProviderBlock)]) -> Diags {
    let mut first: BTreeMap<&str, Span> = BTreeMap::new();
    for (local, block) in empty {
        let place = first.entry(&local.name).or_insert(block.header);
        *place = (*place).min(block.header);
    }
    let warn = |(name, place): (&str, Span)| {
        let detail = format!(
            "An empty provider block configures nothing. That a configuration of {name} is to be handed over is told by \
             required_providers, with configuration_aliases where it has an alias."
        );
        Diag::warning("Redundant empty provider block", detail).at(place)
    };
    first.into_iter().map(warn).collect()
}

fn duplicate_requirements(module: &Module) -> Diags {
    let mut diags = Diags::new();
    let mut seen = BTreeSet::new();
    for (name, entry) in &module.required_providers {
        let provider = entry.source.for_display();
        let detail = if !seen.insert(&entry.source) {
            format!("The provider {provider} is required by two names. Use one of them.")
        } else if entry.source == Provider::implied(&entry.source.name)
            && *name != entry.source.name
            && module
                .providers
                .keys()
                .any(|local| local.name == entry.source.name)
        {
            format!(
                "The provider {provider} is required as {name:?} and configured as {:?}. Use the same name.",
                &*entry.source.name
            )
        } else {
            continue;
        };
        diags.push(Diag::warning("Duplicate required provider", detail).at(entry.declared));
    }
    diags
}

/// Names of providers that follow from types of resources.
fn implied_names(module: &Module) -> Diags {
    let mut told = Diags::new();
    for (resource, config) in &module.resources {
        let local = &config.local_provider;
        if config.is_provider_named || resource.mode == ashlar_addr::Mode::Ephemeral {
            continue;
        }
        if let Some(why) = provider_name::type_fault(&local.name) {
            let detail = format!(
                "The type's first word {:?} is no name for a provider: {why}.",
                &*local.name
            );
            told.push(Diag::error("Invalid provider local name", detail).at(config.header));
        } else if !module.required_providers.contains_key(&local.name) {
            let provider = Provider::implied(&local.name);
            for (name, _) in module
                .required_providers
                .iter()
                .filter(|(_, entry)| entry.source == provider)
            {
                let detail = format!(
                    "{resource} uses the provider {} by its implied name, but required_providers names it {name:?}. Use the \
                     same name, or set provider = {name} in the resource.",
                    provider.for_display()
                );
                told.push(Diag::warning("Duplicate required provider", detail).at(config.header));
            }
        }
    }
    told
}
