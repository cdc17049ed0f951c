//! Imports into a resource.
//!
//! Rules: Terraform `node_resource_validate.go` (`validateImportTargets`), `eval_import.go`.

use ashlar_addr::{InstanceKey, Module as ModuleAddr, Resource};
use ashlar_diag::{Diag, Diags};
use ashlar_eval::{Subject, evaluate, evaluate_as, references};
use ashlar_syntax::Expr;
use ashlar_value::{Data, Type, ops, schema::IdentitySchema};

use super::{
    Check,
    scope::{Repeated, StaticScope},
};
use crate::{address, model::Import, reference::schema_of, static_expr, tree::Tree};

/// Imports into resources that no module declares: their configuration would have to be made up.
pub(super) fn without_target(tree: &Tree) -> Diags {
    let mut diags = Diags::new();
    for import in &tree.root().imports {
        let (module, resource) = &import.resource;
        let declared = tree
            .members
            .get(module)
            .is_some_and(|member| member.module.resources.contains_key(resource));
        if let (true, Some(place)) = (declared, import.provider_span) {
            let detail = "The resource's own block tells its provider. Take this argument out.";
            diags.push(Diag::error("Invalid import provider argument", detail).at(place));
        }
        if declared {
            continue;
        }
        let keyed = import
            .to
            .as_traversal()
            .and_then(|traversal| address::endpoint(&traversal).ok())
            .and_then(|end| end.resource)
            .is_some_and(|(_, key)| key != InstanceKey::None);
        if !module.is_root() || keyed || import.for_each.is_some() {
            let detail = format!(
                "Nothing is declared as {resource}. Write the resource block that the object is to have."
            );
            let summary = "Configuration for import target does not exist";
            diags.push(Diag::error(summary, detail).at(import.to.span));
        }
    }
    diags
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
                let (value, diags) = evaluate(for_each, &scope);
                if diags.has_errors() {
                    return diags;
                }
                let none = match value.data() {
                    Data::Null(_) => true,
                    _ => value.is_known() && ops::elements(&value).next().is_none(),
                };
                if none {
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
