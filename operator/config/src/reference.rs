//! Faults of references that the module alone tells.
//!
//! Rules: Terraform `terraform/evaluate_valid.go`, `validate_selfref.go`.

use ashlar_addr::{Mode, Resource};
use ashlar_diag::{Diag, Diags};
use ashlar_eval::{
    Reference, Subject, block_references, references,
    undeclared::{self, Repetition},
};
use ashlar_value::schema::{ProviderSchema, Schema};

use crate::{Module, ResourceConfig};

/// References to resources and modules that are not declared, and instance keys that do not fit. (Variables and local
/// values are found out when they are looked up.)
pub fn check_reference(module: &Module, reference: &Reference<'_>) -> Diags {
    match &reference.subject {
        Subject::Resource(resource) => match module.resources.get(resource) {
            Some(config) => undeclared::instance_key(reference, resource, repetition(config))
                .into_iter()
                .collect(),
            None => {
                let data = Resource {
                    mode: Mode::Data,
                    ..resource.clone()
                };
                undeclared::resource(reference, resource, module.resources.contains_key(&data)).into()
            }
        },
        Subject::List { kind, name } => undeclared::list_resource(reference, kind, name).into(),
        Subject::Module { call, .. } if !module.calls.contains_key(call) => {
            undeclared::module(reference, call, module.calls.keys().map(|name| &**name)).into()
        }
        Subject::Action { .. } => undeclared::action(reference).into(),
        Subject::Caller => undeclared::no_self(reference).into(),
        Subject::Module { .. }
        | Subject::Var(_)
        | Subject::Local(_)
        | Subject::Path(_)
        | Subject::Terraform(_)
        | Subject::Each(_)
        | Subject::Count(_)
        | Subject::SelfRef => Diags::new(),
    }
}

fn repetition(config: &ResourceConfig) -> Repetition {
    match (&config.count, &config.for_each) {
        (Some(_), _) => Repetition::Count,
        (None, Some(_)) => Repetition::ForEach,
        (None, None) => Repetition::Single,
    }
}

/// The schema of a resource's type, if its provider has the type.
pub(crate) fn schema_of<'s>(schemas: &'s ProviderSchema, resource: &Resource) -> Option<&'s Schema> {
    match resource.mode {
        Mode::Managed => schemas.resources.get(&resource.kind),
        Mode::Data => schemas.data_sources.get(&resource.kind),
        Mode::Ephemeral => schemas.ephemeral_resources.get(&resource.kind),
    }
}

/// Resources whose number hangs on themselves; Terraform tells this when it plans, not when it validates.
pub fn self_repetitions(module: &Module) -> Diags {
    let mut diags = Diags::new();
    for (resource, config) in &module.resources {
        for expr in config.count.iter().chain(&config.for_each) {
            diags.extend(blame(resource, references(expr).0));
        }
    }
    diags
}

/// The references of a resource's own arguments to itself. As with Terraform they are faults of each of its instances.
pub fn self_references(resource: &Resource, config: &ResourceConfig, schema: &Schema) -> Diags {
    blame(resource, block_references(&config.body, &schema.block).0)
}

fn blame(resource: &Resource, found: Vec<Reference<'_>>) -> Diags {
    let own = |reference: &Reference<'_>| matches!(&reference.subject, Subject::Resource(named) if named == resource);
    let fault = |reference: Reference<'_>| {
        let detail = format!("The configuration of {resource} may not refer to itself.");
        Diag::error("Self-referential block", detail).at(reference.span)
    };
    found.into_iter().filter(own).map(fault).collect()
}
