//! The configuration as `terraform show -json` gives it: what is declared, and of each expression its constant value or what it
//! refers to.
//!
//! Source: Terraform `internal/command/jsonconfig`.

mod expression;
mod providers;

use std::collections::BTreeSet;

use ashlar_addr::{Mode, Module as ModuleAddr, Resource};
use ashlar_config::{DependsOn, Module, ModuleCall, ResourceConfig, Tree, provisioner_schema};
use ashlar_eval::{Reference, Variable, evaluate_constant};
use ashlar_value::{
    Type,
    schema::{self, Attribute, AttributeType},
};
use serde_json::{Map, Value as Json, json};

use self::{
    expression::{arguments, expression, subject},
    providers::Providers,
};
use super::find_schema;
use crate::Schemas;

/// The whole configuration, without some resources of the root module. Defaults and constants stand in it in clear.
pub(super) fn configuration(tree: &Tree, schemas: &Schemas, left_out: BTreeSet<&Resource>) -> Json {
    let view = View {
        left_out,
        tree,
        schemas,
        providers: Providers::of(tree, schemas),
    };
    let mut out = Map::new();
    out.insert("root_module".to_owned(), view.module(&ModuleAddr::root()));
    put_all(&mut out, "provider_config", view.providers.into_json());
    Json::Object(out)
}

struct View<'a> {
    left_out: BTreeSet<&'a Resource>,
    tree: &'a Tree,
    schemas: &'a Schemas,
    providers: Providers,
}

/// Puts a member in, unless there is nothing in it.
fn put_all(out: &mut Map<String, Json>, name: &str, value: Json) {
    let is_empty = match &value {
        Json::Null | Json::Bool(false) => true,
        Json::String(text) => text.is_empty(),
        Json::Array(items) => items.is_empty(),
        Json::Object(members) => members.is_empty(),
        Json::Bool(true) | Json::Number(_) => false,
    };
    if !is_empty {
        out.insert(name.to_owned(), value);
    }
}

impl View<'_> {
    fn module(&self, path: &ModuleAddr) -> Json {
        let mut out = Map::new();
        let Some(member) = self.tree.members.get(path) else {
            return Json::Object(out);
        };
        let module = &member.module;
        let outputs = module.outputs.iter().map(|(name, output)| {
            let mut told = Map::new();
            put_all(&mut told, "sensitive", output.sensitive.into());
            told.insert("expression".to_owned(), expression(&output.value));
            put_all(&mut told, "depends_on", depends_on(&output.depends_on));
            put_all(&mut told, "description", output.description.clone().into());
            (name.to_string(), Json::Object(told))
        });
        put_all(&mut out, "outputs", outputs.collect::<Map<_, _>>().into());
        put_all(&mut out, "resources", self.resources(path, module));
        let calls = module.calls.iter().map(|(name, call)| {
            let inner = path.child(name.clone());
            (name.to_string(), self.call(&inner, call))
        });
        put_all(&mut out, "module_calls", calls.collect::<Map<_, _>>().into());
        let variables = module.variables.iter();
        let variables = variables.map(|(name, declared)| (name.to_string(), variable(declared)));
        put_all(&mut out, "variables", variables.collect::<Map<_, _>>().into());
        let actions = module.actions.iter().map(|((kind, name), action)| {
            // Terraform follows providers that are handed on for resources alone.
            let key = providers::key_of(&action.local_provider.to_string(), path);
            let mut told = Map::new();
            told.insert("address".to_owned(), format!("action.{kind}.{name}").into());
            told.insert("type".to_owned(), (**kind).into());
            told.insert("name".to_owned(), (**name).into());
            told.insert("provider_config_key".to_owned(), key.into());
            repetition(&mut told, action.count.as_ref(), action.for_each.as_ref());
            Json::Object(told)
        });
        put_all(&mut out, "actions", actions.collect());
        Json::Object(out)
    }

    /// Managed resources, then data sources, each by address.
    fn resources(&self, path: &ModuleAddr, module: &Module) -> Json {
        let mut found: Vec<_> = module
            .resources
            .iter()
            .filter(|(resource, _)| resource.mode != Mode::Ephemeral)
            .filter(|(resource, _)| !path.is_root() || !self.left_out.contains(resource))
            .map(|(resource, config)| {
                let told = self.resource(path, resource, config);
                (resource.mode == Mode::Data, resource.to_string(), told)
            })
            .collect();
        found.sort_by(|(data, a, _), (other, b, _)| (data, a).cmp(&(other, b)));
        found.into_iter().map(|(_, _, told)| told).collect()
    }

    fn resource(&self, path: &ModuleAddr, resource: &Resource, config: &ResourceConfig) -> Json {
        let schema = find_schema(&config.provider_config.provider, resource, self.schemas);
        let key = self.providers.key(&config.local_provider.to_string(), path);
        let mut out = Map::new();
        out.insert("address".to_owned(), resource.to_string().into());
        out.insert("mode".to_owned(), resource.mode.as_str().into());
        out.insert("type".to_owned(), (*resource.kind).into());
        out.insert("name".to_owned(), (*resource.name).into());
        out.insert("provider_config_key".to_owned(), key.into());
        let provisioners = config.provisioners.iter().map(|provisioner| {
            let mut told = Map::new();
            told.insert("type".to_owned(), (*provisioner.kind).into());
            let schema = provisioner_schema(&provisioner.kind);
            let inner = schema.map_or(Json::Null, |schema| arguments(&provisioner.body, schema));
            put_all(&mut told, "expressions", inner);
            Json::Object(told)
        });
        put_all(&mut out, "provisioners", provisioners.collect());
        if let Some(schema) = schema {
            put_all(&mut out, "expressions", arguments(&config.body, &schema.block));
        }
        let version = schema.map_or(0, |schema| schema.version);
        out.insert("schema_version".to_owned(), version.into());
        repetition(&mut out, config.count.as_ref(), config.for_each.as_ref());
        put_all(&mut out, "depends_on", depends_on(&config.depends_on));
        Json::Object(out)
    }

    fn call(&self, path: &ModuleAddr, call: &ModuleCall) -> Json {
        let mut out = Map::new();
        let text = |expr: Option<&ashlar_syntax::Expr>| {
            let (value, _) = evaluate_constant(expr?);
            value.as_str().map(ToString::to_string)
        };
        let source = text(call.source.as_ref());
        let source = source.or_else(|| Some(self.tree.members.get(path)?.source.to_string()));
        put_all(&mut out, "source", source.into());
        put_all(&mut out, "version_constraint", text(call.version.as_ref()).into());
        repetition(&mut out, call.count.as_ref(), call.for_each.as_ref());
        if let Some(member) = self.tree.members.get(path) {
            let schema = arguments_of_call(&member.module);
            put_all(&mut out, "expressions", arguments(&call.body, &schema));
        }
        out.insert("module".to_owned(), self.module(path));
        let waits = call.depends_on.as_deref().unwrap_or_default();
        put_all(&mut out, "depends_on", depends_on(waits));
        Json::Object(out)
    }
}

/// What a call of the module takes, as a schema.
pub(super) fn arguments_of_call(module: &Module) -> schema::Block {
    let attributes = module.variables.iter().map(|(name, variable)| {
        let attribute = Attribute {
            ty: AttributeType::Plain(Type::Dynamic),
            required: variable.default.is_none(),
            optional: variable.default.is_some(),
            computed: false,
            sensitive: false,
            write_only: false,
            deprecated: None,
        };
        (name.clone(), attribute)
    });
    schema::Block {
        attributes: attributes.collect(),
        ..schema::Block::default()
    }
}

fn repetition(
    out: &mut Map<String, Json>,
    count: Option<&ashlar_syntax::Expr>,
    for_each: Option<&ashlar_syntax::Expr>,
) {
    for (name, expr) in [("count_expression", count), ("for_each_expression", for_each)] {
        put_all(out, name, expr.map_or(Json::Null, expression));
    }
}

fn depends_on(entries: &[DependsOn]) -> Json {
    let named = entries.iter().filter_map(|entry| {
        let reference = Reference::parse(&entry.traversal).ok().flatten()?;
        Some(Json::from(subject(&reference)))
    });
    named.collect()
}

fn variable(variable: &Variable) -> Json {
    let mut out = Map::new();
    if let Some(default) = &variable.default {
        out.insert(
            "default".to_owned(),
            super::tree::known(default).unwrap_or(Json::Null),
        );
    }
    put_all(&mut out, "description", variable.description.clone().into());
    put_all(&mut out, "sensitive", variable.sensitive.into());
    json!(out)
}
