//! Faults that show before anything is planned: every expression and block evaluated once, with unknown values for all
//! that only a plan can know.
//!
//! Called when the schemas are known. What depends on something at fault is passed over, so that one fault is told once.
//! Parts that need each other in a circle are told alone. Rules: Terraform's validate walk (`node_resource_validate.go`,
//! `node_output.go`, `eval_count.go`, `eval_for_each.go`).

mod action;
mod call;
mod import;
mod output;
mod parts;
mod provisioner;
pub(crate) mod repeat;
mod resource;
mod scope;

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use ashlar_addr::{Module as ModuleAddr, Provider, ProviderConfig, Resource};
use ashlar_diag::{Diag, Diags};
use ashlar_eval::{decode_block, evaluate, undeclared};
use ashlar_funcs::Caps;
use ashlar_value::{Value, schema::ProviderSchema};

use crate::tree::{Member, Tree};
pub use resource::ephemeral_faults;

use parts::{Kind, Part, Parts, Schemas};
use scope::{Repeated, StaticScope};

/// What a provider is asked about its part of a configuration.
pub struct Question<'t> {
    /// The provider.
    pub provider: &'t ProviderConfig,
    /// What is asked about.
    pub about: About<'t>,
    /// The body, for places of answers.
    pub body: &'t ashlar_syntax::Body,
    /// Its value.
    pub config: Value,
}

/// What a provider is asked about.
#[derive(Clone, Debug)]
pub enum About<'t> {
    /// Its own configuration.
    Provider,
    /// A resource of any mode, in a module.
    Resource(&'t Resource, &'t ModuleAddr),
    /// An action: its type, and its address.
    Action(&'t Arc<str>, String),
}

/// Who asks providers: one list of faults for each question. Questions of one call are independent of each other.
pub type Ask<'a> = dyn Fn(&[Question<'_>]) -> Vec<Diags> + 'a;

/// Asks nobody.
pub fn ask_nobody(questions: &[Question<'_>]) -> Vec<Diags> {
    questions.iter().map(|_| Diags::new()).collect()
}

/// Checks a configuration against the schemas of its providers.
pub fn check_schemas(
    tree: &Tree,
    schemas: &dyn Fn(&Provider) -> Option<Arc<ProviderSchema>>,
    caps: &dyn Caps,
    ask: &Ask<'_>,
) -> Diags {
    let needed = tree.requirements().into_keys();
    let schemas: Schemas = needed
        .filter_map(|provider| schemas(&provider).map(|schema| (provider, schema)))
        .collect();
    let unknown: Diags = tree
        .members
        .values()
        .flat_map(|member| member.module.provisioners())
        .filter_map(provisioner::unknown_kind)
        .collect();
    if unknown.has_errors() {
        return unknown;
    }
    let mut early = import::early_faults(tree);
    for member in tree.members.values() {
        for config in member.module.resources.values() {
            early.extend(action::trigger_faults(&member.module, &config.lifecycle));
        }
    }
    if early.has_errors() {
        return early;
    }
    let parts = Parts::of(tree, &schemas);
    let groups = parts.groups();
    let circles: Diags = groups
        .iter()
        .filter(|group| group.len() > 1)
        .map(|group| circle(&parts, group))
        .collect();
    if circles.has_errors() {
        return circles;
    }
    let mut check = Check {
        tree,
        schemas,
        caps,
        locals: BTreeMap::new(),
        arguments: BTreeMap::new(),
        diags: Diags::new(),
    };
    let order: Vec<usize> = groups.into_iter().flatten().collect();
    check.run(&parts, &order, ask);
    check.diags
}

fn circle(parts: &Parts<'_>, group: &[usize]) -> Diag {
    let parts = group.iter().filter_map(|at| parts.all.get(*at));
    circle_of(parts.map(Part::to_string).collect())
}

/// Parts that need each other.
pub(crate) fn circle_of(mut names: Vec<String>) -> Diag {
    names.sort();
    let detail = "Each of these needs another of them first, so none can be the first. Take one of the references out.";
    Diag::error(format!("Cycle: {}", names.join(", ")), detail)
}

/// What has been found out so far.
struct Check<'t> {
    tree: &'t Tree,
    schemas: Schemas,
    caps: &'t dyn Caps,
    locals: BTreeMap<&'t ModuleAddr, HashMap<&'t Arc<str>, Value>>,
    /// Values that calls give to variables.
    arguments: BTreeMap<&'t ModuleAddr, HashMap<&'t Arc<str>, Value>>,
    diags: Diags,
}

/// What came of one part.
#[derive(Default)]
struct Outcome<'t> {
    diags: Diags,
    question: Option<Question<'t>>,
    /// The value of a local or a variable.
    value: Option<Value>,
}

impl<'t> Check<'t> {
    /// Evaluates all parts in order, wave by wave: a wave's parts do not need each other, so providers are asked of all of
    /// them at once.
    fn run(&mut self, parts: &Parts<'t>, order: &[usize], ask: &Ask<'_>) {
        let mut depth = vec![0_usize; parts.all.len()];
        let mut waves: Vec<Vec<usize>> = Vec::new();
        for at in order {
            let needs = parts.needs.get(*at).into_iter().flatten();
            let own = needs
                .filter_map(|need| depth.get(*need))
                .max()
                .map_or(0, |deepest| deepest + 1);
            if let Some(depth) = depth.get_mut(*at) {
                *depth = own;
            }
            if waves.len() <= own {
                waves.resize_with(own + 1, Vec::new);
            }
            if let Some(wave) = waves.get_mut(own) {
                wave.push(*at);
            }
        }
        let mut failed = vec![false; parts.all.len()];
        for wave in waves {
            let mut questions = Vec::new();
            let mut asked = Vec::new();
            for at in wave {
                let mut needs = parts.needs.get(at).into_iter().flatten();
                let skip = needs.any(|need| failed.get(*need) == Some(&true));
                let Some(part) = parts.all.get(at).filter(|_| !skip) else {
                    mark(&mut failed, at);
                    continue;
                };
                let outcome = self.visit(*part);
                match (part.kind, outcome.value) {
                    (Kind::Local(name), Some(value)) => {
                        self.locals.entry(part.path).or_default().insert(name, value);
                    }
                    (Kind::Variable(name), Some(value)) => {
                        self.arguments.entry(part.path).or_default().insert(name, value);
                    }
                    _ => {}
                }
                if outcome.diags.has_errors() {
                    mark(&mut failed, at);
                } else if let Some(question) = outcome.question {
                    questions.push(question);
                    asked.push(at);
                }
                self.diags.extend(outcome.diags);
            }
            if questions.is_empty() {
                continue;
            }
            for (at, answer) in asked.into_iter().zip(ask(&questions)) {
                if answer.has_errors() {
                    mark(&mut failed, at);
                }
                self.diags.extend(answer);
            }
        }
    }

    fn visit(&self, part: Part<'t>) -> Outcome<'t> {
        let Part { path, member, kind } = part;
        let scope = StaticScope::new(self, path, member);
        let diags_only = |diags| Outcome {
            diags,
            ..Outcome::default()
        };
        match kind {
            Kind::Variable(name) => self.argument(path, member, name),
            Kind::Validations(name) => {
                let Some(variable) = member.module.variables.get(name) else {
                    return Outcome::default();
                };
                let given = self.given(path, member, name);
                let place = given.map_or(variable.declared, |(.., expr)| expr.span);
                let scope = scope.validating(name);
                let rules = variable.validations.iter();
                diags_only(
                    rules
                        .flat_map(|rule| rule.validate_early(&scope, place))
                        .collect(),
                )
            }
            Kind::Local(name) => {
                let Some(local) = member.module.locals.get(name) else {
                    return Outcome::default();
                };
                let own = undeclared::own_local(name, &local.expr);
                if own.has_errors() {
                    return diags_only(own);
                }
                let (value, mut diags) = evaluate(&local.expr, &scope);
                let value = scope.used(value, &local.expr, &mut diags);
                Outcome {
                    diags,
                    value: Some(value),
                    question: None,
                }
            }
            Kind::Provider(config) => self.provider(path, member, config),
            Kind::Resource(resource) => self.resource(path, member, resource),
            Kind::Output(name) => match member.module.outputs.get(name) {
                Some(output) => diags_only(self.output(path, output, &scope)),
                None => Outcome::default(),
            },
            Kind::Call(name) => match member.module.calls.get(name) {
                Some(call) => diags_only(self.call(call, &scope)),
                None => Outcome::default(),
            },
            Kind::Close(_) => Outcome::default(),
            Kind::Check(name) => match member.module.checks.get(name) {
                Some(check) => diags_only(self.asserts(&scope.in_check(name), check)),
                None => Outcome::default(),
            },
            Kind::Action(key) => self.action(path, member, key),
            Kind::Import(at, _) => match self.tree.root().imports.get(at) {
                Some(import) => diags_only(self.import_without_target(import)),
                None => Outcome::default(),
            },
        }
    }

    fn provider(&self, path: &'t ModuleAddr, member: &'t Member, config: &'t ProviderConfig) -> Outcome<'t> {
        let block = member.module.own_block(config);
        // A block without arguments is not looked at: it configures nothing.
        let (Some(block), Some(schemas)) = (
            block.filter(|block| !block.body.is_empty()),
            self.schemas.get(&config.provider),
        ) else {
            return Outcome::default();
        };
        let scope = StaticScope::new(self, path, member).repeated(repeated(false, block.for_each.is_some()));
        let (value, mut diags) = decode_block(&block.body, &schemas.provider.block, &scope);
        let value = scope.used_in(value, &block.body, &schemas.provider.block, &mut diags);
        let question = (!diags.has_errors()).then(|| Question {
            provider: config,
            about: About::Provider,
            body: &block.body,
            config: value.unmark_deep().0,
        });
        Outcome {
            diags,
            question,
            value: None,
        }
    }

    fn asserts(&self, scope: &StaticScope<'_, 't>, check: &crate::Check) -> Diags {
        let mut diags = Diags::new();
        for rule in &check.asserts {
            diags.extend(rule.judge_form(scope));
        }
        diags
    }
}

fn mark(failed: &mut [bool], at: usize) {
    if let Some(failed) = failed.get_mut(at) {
        *failed = true;
    }
}

/// How instances of the block around are told apart.
fn repeated(count: bool, for_each: bool) -> Repeated {
    match (count, for_each) {
        (true, _) => Repeated::Count,
        (false, true) => Repeated::ForEach,
        (false, false) => Repeated::No,
    }
}

#[cfg(test)]
mod tests;
