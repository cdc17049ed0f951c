//! Imports into a resource.
//!
//! Rules: Terraform `node_resource_validate.go` (`validateImportTargets`), `eval_import.go`.

use ashlar_addr::{InstanceKey, Module as ModuleAddr, Resource};
use ashlar_diag::{Diag, Diags};
use ashlar_eval::{Subject, evaluate, evaluate_as, references};
use ashlar_syntax::Expr;
use ashlar_value::{Mark, Type, ops, schema::IdentitySchema};

use super::{
    Check,
    scope::{Repeated, StaticScope},
};
use crate::{address, model::Import, reference::schema_of, static_expr, tree::Tree};

/// What is told of imports before anything is evaluated: modules that are not called, and providers that are not for them
/// to say.
pub(super) fn early_faults(tree: &Tree) -> Diags {
    let mut diags = Diags::new();
    for import in &tree.root().imports {
        let (path, resource) = &import.resource;
        let Some(member) = tree.members.get(path) else {
            diags.push(no_target(import));
            continue;
        };
        let config = member.module.resources.get(resource);
        // It may say once more what the resource's block says.
        let named = config
            .filter(|config| config.is_provider_named)
            .map(|config| &config.local_provider);
        let says_same = import.provider.as_ref().map(|provider| &provider.local) == named;
        if let (true, false, Some(place)) = (config.is_some(), says_same, import.provider_span) {
            let detail = "The resource's own block tells its provider. Take this argument out.";
            diags.push(Diag::error("Invalid import provider argument", detail).at(place));
        }
    }
    diags
}

fn no_target(import: &Import) -> Diag {
    let detail = format!(
        "Nothing is declared as {}. Write the resource block that the object is to have.",
        import.resource.1
    );
    let summary = "Configuration for import target does not exist";
    Diag::error(summary, detail).at(import.to.span)
}

impl<'t> Check<'t> {
    /// The imports into one resource; the first fault ends them, as in Terraform.
    pub(super) fn imports(&self, path: &ModuleAddr, resource: &Resource) -> Diags {
        let Some((root, member)) = self.tree.members.get_key_value(&ModuleAddr::root()) else {
            return Diags::new();
        };
        let here = |import: &&Import| import.resource.0 == *path && import.resource.1 == *resource;
        for import in member.module.imports.iter().filter(here) {
            let scope = StaticScope::new(self, root, member);
            let diags = self.import(import, resource, path, scope);
            if diags.has_errors() {
                return diags;
            }
        }
        Diags::new()
    }

    /// An import into a resource that its module does not declare: its configuration would have to be made up, which can be
    /// done for a resource of the root module that is not repeated.
    pub(super) fn import_without_target(&self, import: &Import) -> Diags {
        let (path, resource) = &import.resource;
        let end = import
            .to
            .as_traversal()
            .and_then(|to| address::endpoint(&to).ok());
        let keyed = end
            .and_then(|end| end.resource)
            .is_some_and(|(_, key)| key != InstanceKey::None);
        if !path.is_root() || keyed || import.for_each.is_some() {
            return no_target(import).into();
        }
        let Some((root, member)) = self.tree.members.get_key_value(&ModuleAddr::root()) else {
            return Diags::new();
        };
        self.import(import, resource, path, StaticScope::new(self, root, member))
    }

    fn import(
        &self,
        import: &Import,
        resource: &Resource,
        path: &ModuleAddr,
        scope: StaticScope<'_, 't>,
    ) -> Diags {
        let own = |expr: &Expr, summary: &'static str| {
            let is_own = |subject: &Subject| matches!(subject, Subject::Resource(named) if named == resource);
            let found = references(expr)
                .0
                .into_iter()
                .find(|reference| is_own(&reference.subject));
            let detail = format!("What is imported into {resource} cannot be told by {resource} itself.");
            found.map(|reference| Diag::error(summary, detail).at(reference.span))
        };
        let of_id = import
            .id
            .as_ref()
            .and_then(|id| own(id, "Invalid import id argument"));
        if let Some(diag) = of_id {
            return diag.into();
        }
        let scope = match &import.for_each {
            None => {
                // Without for_each the target is named by constants.
                let found = static_expr::traversal(&import.to).and_then(|to| address::endpoint(&to));
                let end = match found {
                    Ok(end) => end,
                    Err(diag) => return diag.into(),
                };
                let key = end.resource.map(|(_, key)| key).unwrap_or_default();
                let diags = self.expansion(import, resource, path, &key);
                if diags.has_errors() {
                    return diags;
                }
                scope
            }
            Some(for_each) => {
                if let Some(diag) = own(for_each, "Invalid for_each argument") {
                    return diag.into();
                }
                let (value, mut diags) = evaluate(for_each, &scope);
                // What is imported is not known yet, so nothing can be said of it.
                if diags.has_errors() || !value.is_known() {
                    return diags;
                }
                let mut fail = |detail: &str| {
                    diags.push(Diag::error("Invalid for_each argument", detail).at(for_each.span));
                };
                if value.marks().contains(Mark::Ephemeral) {
                    fail(
                        "The value is ephemeral, so it may differ between plan and apply. Use a lasting value.",
                    );
                }
                if !value.is_null() && value.ty().is_primitive() {
                    fail("The value must be a collection: a list, a set, a map or an object.");
                }
                if diags.has_errors() || value.is_null() || ops::elements(&value).next().is_none() {
                    return diags;
                }
                scope.repeated(Repeated::ForEach)
            }
        };
        if let Some(id) = &import.id {
            return id_faults(id, &scope);
        }
        let (Some(identity), Some(config)) = (
            &import.identity,
            self.tree
                .members
                .get(path)
                .and_then(|member| member.module.resources.get(resource)),
        ) else {
            return Diags::new();
        };
        let schema = self
            .schemas
            .get(&config.provider_config.provider)
            .and_then(|schemas| schema_of(schemas, resource))
            .and_then(|schema| schema.identity.as_ref());
        let ty = schema.map_or(Type::Dynamic, IdentitySchema::import_type);
        let (value, mut diags) = evaluate_as(identity, &ty, &scope);
        if !diags.has_errors() && value.is_null() {
            let detail = "The identity is null, but something must be named.";
            diags.push(Diag::error("Invalid import identity argument", detail).at(identity.span));
        }
        diags
    }

    /// Has the target a key just when the resource is repeated?
    fn expansion(&self, import: &Import, resource: &Resource, path: &ModuleAddr, key: &InstanceKey) -> Diags {
        let config = self
            .tree
            .members
            .get(path)
            .and_then(|member| member.module.resources.get(resource));
        let Some(config) = config else { return Diags::new() };
        let detail = match key {
            InstanceKey::String(_) if config.for_each.is_none() => {
                "has no for_each, so it takes no key of text"
            }
            InstanceKey::Int(_) if config.count.is_none() => "has no count, so it takes no number as key",
            InstanceKey::None if config.for_each.is_some() => {
                "has for_each, so one of its instances must be named"
            }
            InstanceKey::None if config.count.is_some() => "has count, so one of its instances must be named",
            _ => return Diags::new(),
        };
        Diag::error("Invalid import 'to' expression", format!("{resource} {detail}."))
            .at(import.to.span)
            .into()
    }
}

fn id_faults(id: &Expr, scope: &StaticScope<'_, '_>) -> Diags {
    let (value, mut diags) = evaluate_as(id, &Type::String, scope);
    if diags.has_errors() {
        return diags;
    }
    let detail = if value.is_null() {
        "The id is null, but something must be named."
    } else if value.as_str().is_some_and(|text| text.is_empty()) {
        "The id is empty, but something must be named."
    } else {
        return diags;
    };
    diags.push(Diag::error("Invalid import id argument", detail).at(id.span));
    diags
}
