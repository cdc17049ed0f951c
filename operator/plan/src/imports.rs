//! `import` blocks: which instances take in objects that are there already, and which objects.
//!
//! They stand in the root module and are expanded with the resource they are for. Source: Terraform
//! `internal/terraform/eval_import.go`, `expandResourceImports` and `importState` in `node_resource_plan.go` and
//! `node_resource_plan_instance.go`.

use std::collections::BTreeMap;

use ashlar_addr::{ConfigResource, ModuleInstance, ProviderConfig, ResourceInstance};
use ashlar_config::{Import, Tree, import_address};
use ashlar_diag::{Diag, Diags};
use ashlar_eval::{Scope, evaluate, evaluate_as};
use ashlar_graph::Graph;
use ashlar_port::{Activity, ImportRequest, Imported, KnownBy, Provider};
use ashlar_state::{State, Status};
use ashlar_syntax::{Expr, ExprKind, Literal, Step, Traversal};
use ashlar_value::{Mark, Marks, Type, Value, convert};

use crate::{
    engine::{Engine, resource_schema},
    expand::expand,
    instance::{
        Instance, Live,
        refresh::{deferred_fault, refresh},
    },
    model::Importing,
    node::Node,
    objchange::{mark_sensitive, non_null_write_only},
    provider_diags::place_all,
    values::{Expansion, InstanceScope, Repetition},
    watch::identity_text,
};

/// What each instance of a resource takes in.
pub(crate) type Targets = BTreeMap<ResourceInstance, Importing>;

/// The imports into a resource that are not done yet, as `is_managed` tells.
pub(crate) fn targets(
    engine: &Engine<'_>,
    resource: &ConfigResource,
    provider: &ProviderConfig,
    is_managed: impl Fn(&ResourceInstance) -> bool,
) -> Result<Targets, Diags> {
    let mut found = Targets::new();
    let mut diags = Diags::new();
    let imports = &engine.tree.root().imports;
    let own =
        |import: &&Import| import.resource.0 == resource.module && import.resource.1 == resource.resource;
    for import in imports.iter().filter(own) {
        let root = engine.values.root();
        let expansion = match &import.for_each {
            Some(for_each) => diags.take(expand(None, Some(for_each), &root.scope())),
            None => Some(Expansion::Single),
        };
        for key in expansion.iter().flat_map(Expansion::keys) {
            let repetition = expansion
                .as_ref()
                .map_or_else(Repetition::default, |expansion| expansion.repetition(&key));
            let scope = root.instance_scope(repetition, None);
            let one = address(&import.to, &scope)
                .and_then(|to| Ok((to, object(engine, import, resource, provider, &scope)?)));
            if let Some((to, object)) = diags.take(one) {
                found.insert(to, object);
            }
        }
    }
    found.retain(|address, _| !is_managed(address));
    if diags.has_errors() { Err(diags) } else { Ok(found) }
}

/// The resource that an import is into.
fn target(import: &Import) -> ConfigResource {
    let (module, resource) = &import.resource;
    resource.within_config(module.clone())
}

/// Resources that are imported into and not declared, and of which state holds nothing: what they are to be can be made up.
pub(crate) fn made_up<'a>(
    tree: &'a Tree,
    state: &'a State,
) -> impl Iterator<Item = (ConfigResource, ProviderConfig)> {
    let imports = tree.root().imports.iter().map(target);
    let lost = imports.filter(|resource| {
        let managed = resource.resource.within(ModuleInstance::root());
        tree.resource(resource).is_none() && !state.resources.contains_key(&managed)
    });
    lost.filter_map(|resource| {
        let provider = tree.provider_of_made_up(&resource)?;
        Some((resource, provider))
    })
}

/// The faults of imports into resources that nothing declares and that were not visited.
pub(crate) fn lost(tree: &Tree, visited: &Graph<Node>) -> Diags {
    let imports = tree.root().imports.iter();
    let lost = imports.filter(|import| {
        let resource = target(import);
        tree.resource(&resource).is_none() && !visited.contains(&Node::Resource(resource))
    });
    lost.map(undeclared).collect()
}

/// The fault of an import into a resource that nothing declares: there is nothing to make of the object that is found.
pub(crate) fn undeclared(import: &Import) -> Diag {
    let detail = format!(
        "An object is to be imported into {}, which no module declares. Write that resource block, or have it made up: \
         `ashlar plan --generate-config-out=FILE`.",
        target(import)
    );
    Diag::error("Configuration for import target does not exist", detail).at(import.to.span)
}

/// The fault of an import into an instance that is not configured.
pub(crate) fn missing<'a>(targets: impl IntoIterator<Item = &'a ResourceInstance>) -> Diags {
    // Terraform tells of the first.
    let first = targets.into_iter().next();
    let fault = first.map(|address| {
        let detail = format!(
            "An object is to be imported into {address}, but the configuration has no such instance. Declare it, or take the \
             import out."
        );
        Diag::error("Configuration for import target does not exist", detail)
    });
    fault.into_iter().collect()
}

/// The instance that `to` names, its keys evaluated.
fn address(to: &Expr, scope: &InstanceScope<'_, '_>) -> Result<ResourceInstance, Diags> {
    let traversal = traversal(to, scope)?;
    let (calls, resource, key) = import_address(&traversal)?;
    Ok(resource.within(ModuleInstance(calls.into())).instance(key))
}

fn traversal(expr: &Expr, scope: &InstanceScope<'_, '_>) -> Result<Traversal, Diags> {
    match &expr.kind {
        ExprKind::Traversal(traversal) => Ok(traversal.clone()),
        ExprKind::Relative { source, steps } => {
            let mut whole = traversal(source, scope)?;
            whole.steps.extend(steps.iter().cloned());
            Ok(whole)
        }
        ExprKind::Index { collection, key, .. } => {
            let mut whole = traversal(collection, scope)?;
            let (value, diags) = evaluate(key, scope);
            if diags.has_errors() {
                return Err(diags);
            }
            if value.marks().contains(Mark::Sensitive) {
                let detail = "The key is sensitive, and it would be shown as part of an address.";
                return Err(Diag::error("Invalid index expression", detail)
                    .at(key.span)
                    .into());
            }
            let (value, _) = value.unmark();
            let literal = match (value.as_str(), value.as_number()) {
                (Some(text), _) => Literal::String(text.clone()),
                (None, Some(number)) => Literal::Number(number.to_string().into()),
                (None, None) => {
                    let detail = "The key of an instance is a string or a whole number that is known.";
                    return Err(Diag::error("Invalid index expression", detail)
                        .at(key.span)
                        .into());
                }
            };
            whole.steps.push(Step::Index {
                key: literal,
                span: key.span,
            });
            Ok(whole)
        }
        _ => {
            let detail = "The address of one instance of a resource is expected here.";
            Err(Diag::error("Invalid import 'to' expression", detail)
                .at(expr.span)
                .into())
        }
    }
}

/// Which object is taken in.
fn object(
    engine: &Engine<'_>,
    import: &Import,
    resource: &ConfigResource,
    provider: &ProviderConfig,
    scope: &dyn Scope,
) -> Result<Importing, Diags> {
    if let Some(id) = &import.id {
        return by_id(id, scope).map(Importing::Id);
    }
    let Some(identity) = &import.identity else {
        return Err(Diags::new());
    };
    let schema = resource_schema(engine.schemas, &provider.provider, &resource.resource)?;
    let Some(wanted) = &schema.identity else {
        let kind = &resource.resource.kind;
        let detail = "Objects of this type have no identity to be found by. Use id instead.";
        return Err(Diag::error(format!("unknown identity type \"{kind}\""), detail).into());
    };
    let fail =
        |detail: &str| Diags::from(Diag::error("Invalid import identity argument", detail).at(identity.span));
    let (value, diags) = evaluate_as(identity, &wanted.import_type(), scope);
    if diags.has_errors() {
        return Err(diags);
    }
    let (value, marks) = value.unmark_deep();
    if value.is_null() {
        return Err(fail("The identity of the object to be imported is null."));
    }
    if !value.is_wholly_known() {
        return Err(fail(
            "The identity of the object to be imported is known only after apply. Make it depend on known values only.",
        ));
    }
    Ok(Importing::Identity(hidden(value, marks)))
}

/// What was sensitive or ephemeral is kept with the plan, since apply needs it, and is shown nowhere.
fn hidden(value: Value, marks: Marks) -> Value {
    if marks == Marks::NONE {
        value
    } else {
        value.with_marks(Marks::SENSITIVE)
    }
}

fn by_id(id: &Expr, scope: &dyn Scope) -> Result<Value, Diags> {
    let fail = |detail: &str| Diags::from(Diag::error("Invalid import id argument", detail).at(id.span));
    let (value, diags) = evaluate(id, scope);
    if diags.has_errors() {
        return Err(diags);
    }
    let (value, marks) = value.unmark();
    if value.is_null() {
        return Err(fail("The id of the object to be imported is null."));
    }
    if !value.is_known() {
        return Err(fail(
            "The id of the object to be imported is known only after apply. Make it depend on known values only.",
        ));
    }
    let value = convert(&value, &Type::String)
        .map_err(|_| fail("The id of the object to be imported is no string."))?;
    match value.as_str() {
        Some(text) if !text.is_empty() => Ok(hidden(value.clone(), marks)),
        _ => Err(fail("The id of the object to be imported is empty.")),
    }
}

impl Importing {
    /// What people know the object by, unless that is sensitive.
    pub fn known_by(&self) -> Option<KnownBy> {
        let (key, value) = match self {
            Self::Id(id) => ("id", id),
            Self::Identity(identity) => ("identity", identity),
        };
        let (plain, marks) = value.clone().unmark_deep();
        if marks != Marks::NONE {
            return None;
        }
        let value = match self {
            Self::Id(_) => plain.as_str()?.clone(),
            Self::Identity(_) => identity_text(&plain).into(),
        };
        Some(KnownBy { key, value })
    }
}

impl Instance<'_, '_> {
    /// Finds the object that this instance takes in, as it is now.
    pub(crate) async fn import(
        &self,
        provider: &dyn Provider,
        of: &Importing,
    ) -> Result<(Live, Diags), Diags> {
        let (imported, mut diags) = self.take_in(provider, of).await?;
        let (live, remarks) = self.read_imported(provider, &imported).await?;
        diags.extend(remarks);
        Ok((live.ok_or_else(|| self.not_there())?, diags))
    }

    /// The object that this instance takes in, as the provider's import has it.
    pub(crate) async fn take_in(
        &self,
        provider: &dyn Provider,
        of: &Importing,
    ) -> Result<(Live, Diags), Diags> {
        let kind = &*self.address.resource.resource.kind;
        let request = ImportRequest {
            kind,
            of: match of {
                Importing::Id(id) => Imported::Id(id.as_str().map_or("", |id| &**id)),
                Importing::Identity(identity) => Imported::Identity(identity),
            },
            deferral_allowed: false,
        };
        let answer = {
            let _permit = self.engine.permit().await;
            let watch = self
                .engine
                .watch(&self.address, None, Activity::Find, of.known_by());
            let answer = provider.import(request).await;
            if !answer.has_errors() {
                watch.completed(None);
            }
            answer
        };
        let mut diags = place_all(answer.diags, &self.config.body, &self.address);
        // What a provider says of an import belongs to no argument.
        diags = diags
            .into_iter()
            .map(|mut diag| {
                diag.subject = None;
                diag.address = None;
                let space = if diag.detail.is_empty() { "" } else { " " };
                diag.detail = format!("{}{space}(Importing into {}.)", diag.detail, self.address);
                diag
            })
            .collect();
        if diags.has_errors() {
            return Err(diags);
        }
        let (found, deferred) = answer.value;
        if deferred.is_some() {
            return Err(deferred_fault(&self.address));
        }
        let fail = |summary: &'static str, what: &str| -> Diags {
            let detail = format!(
                "The provider {} was asked for the object to be imported into {}, and answered with {what}.",
                self.provider.provider.for_display(),
                self.address
            );
            Diag::error(summary, detail).into()
        };
        let object = match &*found {
            [] => return Err(fail("Import returned no resources", "none at all")),
            [object] => object,
            [..] => return Err(fail("Multiple import states not supported", "several")),
        };
        if object.kind != kind {
            let what = format!("one of the type {:?}", object.kind);
            return Err(fail("Import returned an object of another type", &what));
        }
        let Some(state) = object.state.clone().filter(|state| !state.is_null()) else {
            return Err(fail("Import returned null resource", "an object that is null"));
        };
        if matches!(of, Importing::Identity(_)) && object.identity.as_ref().is_none_or(Value::is_null) {
            return Err(fail(
                "Import returned no identity",
                "an object without an identity",
            ));
        }
        let leaked = non_null_write_only(&self.schema.block, &state);
        if !leaked.is_empty() {
            let fault = |path| {
                let what = format!("a value for the write-only attribute {path}");
                fail(
                    "Import returned a non-null value for a write-only attribute",
                    &what,
                )
            };
            return Err(leaked.iter().flat_map(fault).collect());
        }
        let imported = Live {
            value: mark_sensitive(&self.schema.block, state),
            private: object.private.clone().into(),
            status: Status::Ready,
            dependencies: std::sync::Arc::default(),
            create_before_destroy: false,
            skip_destroy: false,
            identity: object.identity.clone().filter(|identity| !identity.is_null()),
        };
        Ok((imported, diags))
    }

    /// An object that was just taken in, as it is now; `None` if there is none.
    pub(crate) async fn read_imported(
        &self,
        provider: &dyn Provider,
        imported: &Live,
    ) -> Result<(Option<Live>, Diags), Diags> {
        let (live, diags) =
            refresh(self.engine, provider, &self.address, self.schema, imported, None).await?;
        Ok((live.present(), diags))
    }

    /// The fault of an import of what is not there.
    pub(crate) fn not_there(&self) -> Diags {
        let detail = format!(
            "There is no object to be imported into {} under the id that is given. Only what exists can be imported: look at \
             the id, and at the region or endpoint that the provider is configured for.",
            self.address
        );
        Diag::error("Cannot import non-existent remote object", detail).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_missing_instance_is_told_of() {
        let instance = |text: &str| text.parse::<ResourceInstance>().unwrap();
        let missing = missing(&[instance("a.b[1]"), instance("a.b[2]")]);
        assert_eq!(missing.iter().count(), 1);
        assert!(super::missing(&[]).is_empty());
    }
}
