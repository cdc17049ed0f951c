//! One resource or data source against its schema.
//!
//! Rules: Terraform `node_resource_validate.go`. The provider's own validation is asked for by the engine.

use ashlar_addr::{Mode, Module as ModuleAddr, Resource};
use ashlar_diag::{Diag, Diags};
use ashlar_eval::{decode_block, evaluate, evaluate_constant, locate, suggest, undeclared};
use ashlar_syntax::{Body, Expr, Step, Traversal};
use ashlar_value::{
    Mark, Path, PathStep, Type, Value, convert,
    schema::{Block, ProviderSchema},
};

use super::{About, Check, Outcome, Question, repeated, scope::StaticScope};
use crate::{ResourceConfig, reference::schema_of, tree::Member};

impl<'t> Check<'t> {
    pub(super) fn resource(
        &self,
        path: &'t ModuleAddr,
        member: &'t Member,
        resource: &'t Resource,
    ) -> Outcome<'t> {
        let Some(config) = member.module.resources.get(resource) else {
            return Outcome::default();
        };
        let mut diags = self.imports(path, resource);
        let mut outcome = self.arguments(path, member, resource, config);
        diags.extend(std::mem::take(&mut outcome.diags));
        let repeated = repeated(config.count.is_some(), config.for_each.is_some());
        let outside = StaticScope::new(self, path, member).repeated(repeated);
        let inside = StaticScope::new(self, path, member)
            .repeated(repeated)
            .with_self(resource);
        if let Some(expr) = &config.lifecycle.prevent_destroy_when {
            diags.extend(prevention_fault(expr));
        }
        for rule in &config.lifecycle.preconditions {
            diags.extend(evaluate(&rule.condition, &outside).1);
            diags.extend(evaluate(&rule.error_message, &outside).1);
        }
        for rule in &config.lifecycle.postconditions {
            diags.extend(evaluate(&rule.condition, &inside).1);
            diags.extend(evaluate(&rule.error_message, &inside).1);
        }
        for provisioner in &config.provisioners {
            diags.extend(self.provisioner(provisioner, config.connection.as_ref(), &inside));
            if diags.has_errors() {
                break;
            }
        }
        outcome.diags = diags;
        outcome
    }

    fn arguments(
        &self,
        path: &'t ModuleAddr,
        member: &'t Member,
        resource: &'t Resource,
        config: &'t ResourceConfig,
    ) -> Outcome<'t> {
        let outside = StaticScope::new(self, path, member);
        let mut diags = Diags::new();
        if let Some(count) = &config.count {
            diags.extend(outside.count(count));
        } else if let Some(for_each) = &config.for_each {
            diags.extend(outside.for_each(for_each));
        }
        diags.extend(outside.depends_on(&config.depends_on, &config.depends_on_faults));
        let provider = &config.provider_config.provider;
        let told = |diags| Outcome {
            diags,
            ..Outcome::default()
        };
        let Some(schemas) = self.schemas.get(provider) else {
            let detail = format!(
                "The schema of the provider {} is not known.",
                provider.for_display()
            );
            diags.push(Diag::error("Failed provider schema lookup", detail).at(config.kind));
            return told(diags);
        };
        let Some(schema) = schema_of(schemas, resource) else {
            diags.push(unknown_type(schemas, resource, config));
            return told(diags);
        };
        let repeated = repeated(config.count.is_some(), config.for_each.is_some());
        let scope = StaticScope::new(self, path, member).repeated(repeated);
        let (value, faults) = decode_block(&config.body, &schema.block, &scope);
        let failed = faults.has_errors();
        diags.extend(faults);
        if failed {
            return told(diags);
        }
        let value = scope.used_in(value, &config.body, &schema.block, &mut diags);
        let address = resource.within_config(path.clone()).to_string();
        if resource.mode != Mode::Ephemeral {
            diags.extend(ephemeral_faults(&value, &schema.block, &address, &config.body));
        }
        for traversal in &config.lifecycle.ignored {
            ignored(traversal, &schema.block, config, &mut diags);
        }
        let question = Question {
            provider: &config.provider_config,
            about: About::Resource(resource, path),
            body: &config.body,
            config: value.unmark_deep().0,
        };
        Outcome {
            diags,
            question: Some(question),
            value: None,
        }
    }
}

fn unknown_type(schemas: &ProviderSchema, resource: &Resource, config: &ResourceConfig) -> Diag {
    let kind = &resource.kind;
    let (summary, what, other, known) = match resource.mode {
        Mode::Ephemeral => (
            "Invalid ephemeral resource",
            "ephemeral resource type",
            None,
            &schemas.ephemeral_resources,
        ),
        Mode::Managed => {
            let other = schemas
                .data_sources
                .contains_key(kind)
                .then_some("a data source; write data instead of resource");
            (
                "Invalid resource type",
                "resource type",
                other,
                &schemas.resources,
            )
        }
        Mode::Data => {
            let other = schemas
                .resources
                .contains_key(kind)
                .then_some("a resource type; write resource instead of data");
            ("Invalid data source", "data source", other, &schemas.data_sources)
        }
    };
    let hint = match (other, suggest(kind, known.keys().map(|name| &**name))) {
        (Some(other), _) => format!(" It has {other}."),
        (None, Some(near)) => format!(" Did you mean {near:?}?"),
        (None, None) => String::new(),
    };
    let provider = config.provider_config.provider.for_display();
    Diag::error(
        summary,
        format!("The provider {provider} has no {what} {kind:?}.{hint}"),
    )
    .at(config.kind)
}

/// Ephemeral values in arguments that are kept.
pub fn ephemeral_faults(value: &Value, schema: &Block, address: &str, body: &Body) -> Diags {
    let mut diags = Diags::new();
    if !value.marks_deep().contains(Mark::Ephemeral) {
        return diags;
    }
    let mut places: Vec<Path> = Vec::new();
    value.walk(&mut |path, value| {
        if value.marks().contains(Mark::Ephemeral) {
            places.push(path.clone());
        }
        value.marks_deep().contains(Mark::Ephemeral)
    });
    for mut path in places {
        let mut found = schema.attribute_at(&path.0);
        while !found.is_some_and(|attribute| attribute.write_only) && path.0.len() > 1 {
            path.0.pop();
            found = schema.attribute_at(&path.0);
        }
        if found.is_some_and(|attribute| attribute.write_only) {
            continue;
        }
        let name = path.to_string();
        let detail = format!(
            "{:?} is kept in state or plan, so it cannot be set to an ephemeral value. Only write-only arguments can.",
            name.trim_start_matches('.')
        );
        let diag = Diag::error("Invalid use of ephemeral value", detail).about(address);
        diags.push(match locate(body, &path) {
            Some(place) => diag.at(place),
            None => diag,
        });
    }
    diags
}

/// An entry of `ignore_changes` must lead somewhere, and means nothing where only the provider decides.
fn ignored(traversal: &Traversal, schema: &Block, config: &ResourceConfig, diags: &mut Diags) {
    let root = Step::Attr {
        name: traversal.root.name.clone(),
        span: traversal.root.span,
    };
    let steps: Vec<Step> = std::iter::once(root)
        .chain(traversal.steps.iter().cloned())
        .collect();
    diags.extend(undeclared::steps(&steps, schema));
    if diags.has_errors() {
        return;
    }
    let names: Vec<PathStep> = steps
        .iter()
        .map(|step| match step {
            Step::Attr { name, .. } => PathStep::Attr(name.clone()),
            // Only names lead to attributes of the schema.
            Step::Index { .. } => PathStep::from(0),
        })
        .collect();
    if schema
        .attribute_at(&names)
        .is_some_and(|attribute| attribute.computed && !attribute.optional)
    {
        let detail = format!(
            "{:?} is decided by the provider alone, so there is no configured value whose changes could be ignored. \
             Remove it from ignore_changes.",
            &*traversal.root.name
        );
        diags.push(Diag::warning("Redundant ignore_changes element", detail).at(config.kind));
    }
}

/// A constant that is neither true nor false; what refers to something is judged when it is planned.
fn prevention_fault(expr: &Expr) -> Option<Diag> {
    let (value, faults) = evaluate_constant(expr);
    let why = convert(&value, &Type::Bool)
        .err()
        .filter(|_| !faults.has_errors())?;
    let detail = format!("It is true or false: {}.", why.message);
    Some(Diag::error("Invalid value for prevent_destroy", detail).at(expr.span))
}
