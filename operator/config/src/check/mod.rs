//! Faults that show before anything is planned: every expression and block evaluated once, with unknown values for all
//! that only a plan can know.
//!
//! Called when the schemas are known. What depends on something at fault is passed over, so that one fault is told once.
//! Parts that need each other in a circle are passed over too: the engine's graph tells cycles.
//! Rules: Terraform's validate walk (`node_resource_validate.go`, `node_output.go`, `eval_count.go`, `eval_for_each.go`).

mod repeat;
mod resource;
mod scope;

use std::{collections::BTreeMap, sync::Arc};

use ashlar_addr::{Provider, ProviderConfig, Resource};
use ashlar_diag::{Diag, Diags};
use ashlar_eval::{Reference, Subject, block_references, decode_block, evaluate, references, undeclared};
use ashlar_funcs::Caps;
use ashlar_value::{Mark, Type, Value, convert, schema::ProviderSchema};

use crate::{Module, Output, ProviderBlock, reference::schema_of};
use scope::{Repeated, StaticScope};

/// Checks the module against the schemas of its providers.
pub fn check_schemas(
    module: &Module,
    schemas: &dyn Fn(&Provider) -> Option<Arc<ProviderSchema>>,
    caps: &dyn Caps,
) -> Diags {
    let needed = module.requirements().into_keys();
    let schemas = needed
        .filter_map(|provider| schemas(&provider).map(|schema| (provider, schema)))
        .collect();
    let mut check = Check {
        module,
        schemas,
        caps,
        locals: BTreeMap::new(),
        diags: Diags::new(),
    };
    check.run();
    check.diags
}

/// One thing to evaluate.
#[derive(Clone, Copy)]
enum Part<'m> {
    Validations(&'m Arc<str>),
    Local(&'m Arc<str>),
    Provider(&'m ProviderConfig, &'m ProviderBlock),
    Resource(&'m Resource),
    Output(&'m Output),
}

/// What has been found out so far.
struct Check<'a> {
    module: &'a Module,
    schemas: BTreeMap<Provider, Arc<ProviderSchema>>,
    caps: &'a dyn Caps,
    locals: BTreeMap<Arc<str>, Value>,
    diags: Diags,
}

impl<'a> Check<'a> {
    fn run(&mut self) {
        let parts = self.parts();
        let needs: Vec<Vec<usize>> = self.needs(&parts);
        let mut needed_by: Vec<Vec<usize>> = vec![Vec::new(); parts.len()];
        let mut waiting: Vec<usize> = needs.iter().map(Vec::len).collect();
        for (at, needs) in needs.iter().enumerate() {
            for need in needs {
                if let Some(list) = needed_by.get_mut(*need) {
                    list.push(at);
                }
            }
        }
        let mut failed = vec![false; parts.len()];
        let mut ready: Vec<usize> = (0..parts.len())
            .filter(|at| waiting.get(*at) == Some(&0))
            .rev()
            .collect();
        while let Some(at) = ready.pop() {
            let skip = needs
                .get(at)
                .into_iter()
                .flatten()
                .any(|need| failed.get(*need) == Some(&true));
            let fault = skip || parts.get(at).is_some_and(|part| !self.visit(*part));
            if let Some(failed) = failed.get_mut(at) {
                *failed = fault;
            }
            for next in needed_by.get(at).into_iter().flatten() {
                if let Some(count) = waiting.get_mut(*next) {
                    *count -= 1;
                    if *count == 0 {
                        ready.push(*next);
                    }
                }
            }
        }
    }

    fn parts(&self) -> Vec<Part<'a>> {
        let module = self.module;
        let mut used: BTreeMap<&ProviderConfig, &ProviderBlock> = BTreeMap::new();
        for config in module.resources.values() {
            let provider = &config.provider_config;
            if !used.contains_key(provider)
                && let Some(block) = module.provider_block(provider)
            {
                used.insert(provider, block);
            }
        }
        let variables = module
            .variables
            .iter()
            .filter(|(_, variable)| !variable.validations.is_empty());
        variables
            .map(|(name, _)| Part::Validations(name))
            .chain(module.locals.keys().map(Part::Local))
            .chain(
                used.into_iter()
                    .map(|(provider, block)| Part::Provider(provider, block)),
            )
            .chain(module.resources.keys().map(Part::Resource))
            .chain(module.outputs.values().map(Part::Output))
            .collect()
    }

    /// For each part the positions of those it needs, each once, itself left out.
    fn needs(&self, parts: &[Part<'a>]) -> Vec<Vec<usize>> {
        let mut by_subject: BTreeMap<Subject, usize> = BTreeMap::new();
        let mut by_provider: BTreeMap<&ProviderConfig, usize> = BTreeMap::new();
        for (at, part) in parts.iter().enumerate() {
            match part {
                Part::Local(name) => {
                    by_subject.insert(Subject::Local((*name).clone()), at);
                }
                Part::Resource(resource) => {
                    by_subject.insert(Subject::Resource((*resource).clone()), at);
                }
                Part::Provider(provider, _) => {
                    by_provider.insert(provider, at);
                }
                Part::Validations(_) | Part::Output(_) => {}
            }
        }
        let needs_of = |(at, part): (usize, &Part<'a>)| {
            let mut needs: Vec<usize> = self
                .subjects(*part)
                .iter()
                .filter_map(|subject| by_subject.get(subject))
                .copied()
                .collect();
            if let Part::Resource(resource) = part
                && let Some(config) = self.module.resources.get(*resource)
            {
                needs.extend(by_provider.get(&config.provider_config));
            }
            needs.sort_unstable();
            needs.dedup();
            needs.retain(|need| *need != at);
            needs
        };
        parts.iter().enumerate().map(needs_of).collect()
    }

    fn subjects(&self, part: Part<'a>) -> Vec<Subject> {
        let module = self.module;
        let mut found: Vec<Reference<'a>> = Vec::new();
        let mut others: Vec<Subject> = Vec::new();
        match part {
            Part::Validations(name) => {
                let rules = module
                    .variables
                    .get(name)
                    .into_iter()
                    .flat_map(|variable| &variable.validations);
                for rule in rules {
                    found.extend(references(&rule.condition).0);
                    found.extend(references(&rule.error_message).0);
                }
            }
            Part::Local(name) => {
                if let Some(local) = module.locals.get(name) {
                    found.extend(references(&local.expr).0);
                }
            }
            Part::Provider(provider, block) => {
                if let Some(schemas) = self.schemas.get(&provider.provider) {
                    found.extend(block_references(&block.body, &schemas.provider.block).0);
                }
            }
            Part::Resource(resource) => {
                let Some(config) = module.resources.get(resource) else {
                    return others;
                };
                for expr in config.expressions() {
                    found.extend(references(expr).0);
                }
                let schemas = self.schemas.get(&config.provider_config.provider);
                if let Some(schema) = schemas.and_then(|schemas| schema_of(schemas, resource)) {
                    found.extend(block_references(&config.body, &schema.block).0);
                }
                others.extend(config.depends_on.iter().map(|depends| depends.subject.clone()));
            }
            Part::Output(output) => {
                for expr in output.expressions() {
                    found.extend(references(expr).0);
                }
                others.extend(output.depends_on.iter().map(|depends| depends.subject.clone()));
            }
        }
        others.extend(found.into_iter().map(|reference| reference.subject));
        others
    }

    /// Evaluates a part; `false` if it has an error.
    fn visit(&mut self, part: Part<'a>) -> bool {
        let mut diags = Diags::new();
        let scope = StaticScope::new(self, Repeated::No, None);
        let mut local = None;
        match part {
            Part::Validations(name) => {
                if let Some(variable) = self.module.variables.get(name) {
                    diags.extend(variable.validate(&scope));
                }
            }
            Part::Local(name) => {
                if let Some(declared) = self.module.locals.get(name) {
                    diags.extend(undeclared::own_local(name, &declared.expr));
                    if !diags.has_errors() {
                        let (value, faults) = evaluate(&declared.expr, &scope);
                        diags.extend(faults);
                        local = Some((name.clone(), value));
                    }
                }
            }
            Part::Provider(provider, block) => {
                // A block without arguments is not looked at: it configures nothing.
                let is_empty = block.body.is_empty();
                if let Some(schemas) = self.schemas.get(&provider.provider).filter(|_| !is_empty) {
                    diags.extend(decode_block(&block.body, &schemas.provider.block, &scope).1);
                }
            }
            Part::Resource(resource) => diags.extend(self.resource(resource)),
            Part::Output(output) => diags.extend(self.output(output, &scope)),
        }
        self.locals.extend(local);
        let sound = !diags.has_errors();
        self.diags.extend(diags);
        sound
    }

    fn output(&self, output: &Output, scope: &StaticScope<'_>) -> Diags {
        if output.ephemeral {
            let detail = "Outputs of the root module are kept in state, so they cannot be ephemeral.";
            return Diag::error("Ephemeral output not allowed", detail)
                .at(output.header)
                .into();
        }
        let mut diags = Diags::new();
        for rule in &output.preconditions {
            diags.extend(evaluate(&rule.condition, scope).1);
            diags.extend(evaluate(&rule.error_message, scope).1);
        }
        if diags.has_errors() {
            return diags;
        }
        let (value, faults) = evaluate(&output.value, scope);
        let failed = faults.has_errors();
        diags.extend(faults);
        let value = match &output.defaults {
            Some(defaults) if !failed => defaults.apply(&value),
            _ => value,
        };
        let value = match convert(&value, &output.ty) {
            _ if failed => Value::unknown(Type::Dynamic),
            Ok(value) => value,
            Err(error) => {
                let detail = format!("The value does not fit the output's type: {}.", error.message);
                diags.push(Diag::error("Invalid output value", detail).at(output.value.span));
                Value::unknown(Type::Dynamic)
            }
        };
        diags.extend(scope.depends_on(&output.depends_on, &output.depends_on_faults));
        if !output.sensitive && value.marks_deep().contains(Mark::Sensitive) {
            let detail = "The value holds sensitive values, and outputs are shown. Set sensitive = true to confirm that it \
                          is meant.";
            diags.push(Diag::error("Output refers to sensitive values", detail).at(output.header));
        }
        if diags.has_errors() {
            return diags;
        }
        if value.marks_deep().contains(Mark::Ephemeral) {
            let detail = "The value is ephemeral, but outputs of the root module are kept in state.";
            diags.push(Diag::error("Ephemeral value not allowed", detail).at(output.value.span));
        } else if let Some(place) = output.deprecated {
            let detail =
                "No module calls the root module, so nobody could be told that its output is deprecated.";
            diags.push(Diag::error("Root module output deprecated", detail).at(place));
        }
        diags
    }
}

#[cfg(test)]
mod tests;
