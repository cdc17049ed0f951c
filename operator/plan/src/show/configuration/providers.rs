//! Provider configurations by their keys: `[MODULE:]NAME[.ALIAS]`. One that is only handed on is its origin.
//!
//! Source: Terraform `internal/command/jsonconfig/config.go` (`marshalProviderConfigs`, `findSourceProviderKey`).

use std::collections::BTreeMap;

use ashlar_addr::{Constraints, Module as ModuleAddr, Provider};
use ashlar_config::Tree;
use serde_json::{Map, Value as Json};

use super::{expression::arguments, put_all};
use crate::Schemas;

/// All of a configuration.
pub(super) struct Providers(BTreeMap<String, Configured>);

struct Configured {
    name: String,
    provider: Provider,
    alias: Option<String>,
    module: ModuleAddr,
    versions: String,
    expressions: Json,
    /// The key of the one that it is handed from.
    origin: Option<String>,
}

/// The key of a provider where a module names it.
pub(super) fn key_of(name: &str, module: &ModuleAddr) -> String {
    if module.is_root() {
        name.to_owned()
    } else {
        format!("{module}:{name}")
    }
}

impl Providers {
    pub(super) fn of(tree: &Tree, schemas: &Schemas) -> Self {
        let mut all = Self(BTreeMap::new());
        all.visit(tree, schemas, &ModuleAddr::root());
        all
    }

    /// The key under which a module's provider is found.
    pub(super) fn key(&self, name: &str, module: &ModuleAddr) -> String {
        let key = key_of(name, module);
        let origin = self.0.get(&key).and_then(|found| found.origin.clone());
        origin.filter(|origin| self.0.contains_key(origin)).unwrap_or(key)
    }

    fn visit(&mut self, tree: &Tree, schemas: &Schemas, path: &ModuleAddr) {
        let Some(member) = tree.members.get(path) else {
            return;
        };
        let module = &member.module;
        let asked = module.requirements();
        let versions = |provider: &Provider| {
            asked
                .get(provider)
                .map(Constraints::canonical)
                .unwrap_or_default()
        };
        for (local, block) in &module.providers {
            let provider = module
                .required_providers
                .get(&local.name)
                .map_or_else(|| Provider::implied(&local.name), |entry| entry.source.clone());
            let schema = schemas.get(&provider).map(|schema| &schema.provider.block);
            let configured = Configured {
                name: local.name.to_string(),
                alias: local.alias.as_ref().map(ToString::to_string),
                module: path.clone(),
                versions: versions(&provider),
                expressions: schema.map_or(Json::Null, |schema| arguments(&block.body, schema)),
                origin: None,
                provider,
            };
            self.0.insert(key_of(&local.to_string(), path), configured);
        }
        let plain = |name: &str, provider: &Provider, origin: Option<String>| Configured {
            name: name.to_owned(),
            alias: None,
            module: path.clone(),
            versions: versions(provider),
            expressions: Json::Null,
            origin,
            provider: provider.clone(),
        };
        for (name, entry) in &module.required_providers {
            for alias in entry.aliases.iter().flatten() {
                let key = key_of(&format!("{name}.{alias}"), path);
                self.0
                    .entry(key)
                    .or_insert_with(|| plain(name, &entry.source, None));
            }
            self.add(path, name, &entry.source, &plain);
        }
        // Of one that is there by its type alone Terraform tells no versions.
        let implied = |name: &str, provider: &Provider, origin: Option<String>| Configured {
            versions: String::new(),
            ..plain(name, provider, origin)
        };
        for provider in asked.keys() {
            self.add(path, &provider.name, provider, &implied);
        }
        for (name, call) in &module.calls {
            let inner = path.child(name.clone());
            let Some(callee) = tree.members.get(&inner) else {
                continue;
            };
            for passed in &call.providers {
                let child = passed.child.local.to_string();
                let local = &passed.child.local.name;
                let provider = callee
                    .module
                    .required_providers
                    .get(local)
                    .map_or_else(|| Provider::implied(local), |entry| entry.source.clone());
                let parent = key_of(&passed.parent.local.to_string(), path);
                let configured = Configured {
                    name: child.clone(),
                    alias: None,
                    module: inner.clone(),
                    versions: String::new(),
                    expressions: Json::Null,
                    origin: self.origin(parent, &provider),
                    provider,
                };
                self.0.insert(key_of(&child, &inner), configured);
            }
            self.visit(tree, schemas, &inner);
        }
    }

    /// One that no block configures, unless there is one already. A called module has it from its caller.
    fn add(
        &mut self,
        path: &ModuleAddr,
        name: &str,
        provider: &Provider,
        plain: &dyn Fn(&str, &Provider, Option<String>) -> Configured,
    ) {
        let key = key_of(name, path);
        if self.0.contains_key(&key) {
            return;
        }
        let origin = path
            .parent()
            .and_then(|parent| self.origin(key_of(name, &parent), provider));
        self.0.insert(key, plain(name, provider, origin));
    }

    /// Where a provider really comes from.
    fn origin(&self, start: String, provider: &Provider) -> Option<String> {
        let mut origin = None;
        let mut key = Some(start);
        while let Some(at) = key {
            let Some(found) = self.0.get(&at).filter(|found| found.provider == *provider) else {
                break;
            };
            key = found.origin.clone();
            origin = Some(at);
        }
        origin
    }

    /// Those that are configured, not handed on.
    pub(super) fn into_json(self) -> Json {
        let own = self.0.into_iter().filter(|(_, found)| found.origin.is_none());
        let told = own.map(|(key, found)| {
            let mut out = Map::new();
            put_all(&mut out, "name", found.name.into());
            put_all(&mut out, "full_name", found.provider.to_string().into());
            put_all(&mut out, "alias", found.alias.into());
            put_all(&mut out, "version_constraint", found.versions.into());
            put_all(&mut out, "module_address", found.module.to_string().into());
            put_all(&mut out, "expressions", found.expressions);
            (key, Json::Object(out))
        });
        Json::Object(told.collect())
    }
}
