//! The parts of modules that need no provider: calls, variables, validations, local values, in all instances of their module.
//!
//! Used while planning, again while applying, and to look at values without either. Source: Terraform
//! `node_module_expand.go`, `node_module_variable.go`, `node_variable_validation.go`, `node_local.go`.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::Arc,
};

use ashlar_addr::{Module as ModuleAddr, ModuleInstance, ResourceInstance};
use ashlar_config::Tree;
use ashlar_diag::{Diags, Severity, Span};
use ashlar_eval::{CheckRule, Given, Scope, evaluate};
use ashlar_value::Value;

use crate::{
    expand::expand_call,
    model::{Check, CheckStatus},
    node::Node,
    show::declaration,
    values::{ModuleValues, Values},
};

/// Does something in each of some module instances, and gathers what is told; with an error in one, all have failed.
pub(crate) fn in_each<'v, 'a: 'v>(
    instances: impl IntoIterator<Item = &'v Arc<ModuleValues<'a>>>,
    mut work: impl FnMut(&Arc<ModuleValues<'a>>) -> Diags,
) -> Result<Diags, Diags> {
    let mut diags = Diags::new();
    for instance in instances {
        diags.extend(work(instance));
    }
    if diags.has_errors() { Err(diags) } else { Ok(diags) }
}

/// Finds out which instances a called module has.
pub fn call<'a>(tree: &Tree, values: &Values<'a>, module: &ModuleAddr) -> Result<Diags, Diags> {
    let Some((parent, call)) = tree.call(module) else {
        return Ok(Diags::new());
    };
    let mut expansions = Vec::new();
    let told = in_each(&*values.instances(&parent), |caller| {
        match expand_call(call, &caller.scope()) {
            Ok(expansion) => {
                expansions.push((caller.clone(), expansion));
                Diags::new()
            }
            Err(diags) => diags,
        }
    })?;
    values.expand(module, expansions);
    Ok(told)
}

/// The instance of the calling module that a module instance is called from.
fn caller<'a>(values: &Values<'a>, module: &ModuleValues<'a>) -> Option<Arc<ModuleValues<'a>>> {
    let (_, parent) = module.address.0.split_last()?;
    values.instance(&ModuleInstance(parent.into()))
}

/// Evaluates what calls give to a variable of the called module.
pub fn variable<'a>(
    tree: &Tree,
    values: &Values<'a>,
    module: &ModuleAddr,
    name: &Arc<str>,
) -> Result<Diags, Diags> {
    let arguments = tree.arguments(module);
    let expr = arguments.get(name).copied();
    in_each(&*values.instances(module), |instance| {
        let mut diags = Diags::new();
        let (Some(variable), Some(caller)) =
            (instance.module().variables.get(name), caller(values, instance))
        else {
            return diags;
        };
        let given = expr.map(|expr| {
            let scope = caller.instance_scope(instance.repetition.clone(), None);
            let (value, faults) = evaluate(expr, &scope);
            diags.extend(faults);
            Given {
                value,
                place: Some(expr.span),
            }
        });
        if !diags.has_errors() {
            let (value, faults) = variable.value(given.as_ref());
            diags.extend(faults);
            instance.set_variable(name, variable.marked(value));
        }
        diags
    })
}

/// Decides the validations of a variable, and tells of each instance what came of it. One that cannot be decided while
/// planning passes for now: apply decides it. `places` are those of the root module's values.
pub fn validation<'a>(
    tree: &Tree,
    values: &Values<'a>,
    module: &ModuleAddr,
    name: &Arc<str>,
    places: &BTreeMap<Arc<str>, Span>,
    mut note: impl FnMut(String, Check),
) -> Result<Diags, Diags> {
    let given = if module.is_root() {
        places.get(name).copied()
    } else {
        tree.arguments(module).get(name).map(|expr| expr.span)
    };
    in_each(&*values.instances(module), |instance| {
        let mut diags = Diags::new();
        let Some(variable) = instance.module().variables.get(name) else {
            return diags;
        };
        let place = given.unwrap_or(variable.declared);
        let mut check = Check::of(CheckStatus::Pass);
        for rule in &variable.validations {
            let told = rule.validate_variable(&instance.scope(), place);
            check = check.and(judged(rule, &told, &instance.scope()));
            diags.extend(told);
        }
        note(checked_address(&instance.address, "var", name), check);
        diags
    })
}

/// What a validation's diagnostics come to.
fn judged(rule: &CheckRule, told: &Diags, scope: &dyn Scope) -> Check {
    let mut check = Check::of(CheckStatus::Pass);
    let mut errors = told.iter().filter(|diag| diag.severity == Severity::Error);
    // A message that may not be shown is a fault beside it.
    let invalid = errors
        .clone()
        .find(|diag| diag.summary == CheckRule::INVALID_VALUE);
    match (invalid, errors.next()) {
        (Some(fault), _) => {
            check.status = CheckStatus::Fail;
            check.problems.push(fault.detail.to_string());
        }
        (None, Some(_)) => check.status = CheckStatus::Error,
        (None, None) if !evaluate(&rule.condition, scope).0.is_known() => check.status = CheckStatus::Unknown,
        (None, None) => {}
    }
    check
}

/// The address of something of a module that is no resource, as checks are told by: `[MODULE.]WORD.NAME`.
pub fn checked_address(module: &impl fmt::Display, word: &str, name: &str) -> String {
    let module = module.to_string();
    let dot = if module.is_empty() { "" } else { "." };
    format!("{module}{dot}{word}.{name}")
}

/// Declarations with conditions of which no object was checked, because there is none.
pub(crate) fn add_vacant(
    tree: &Tree,
    status: impl Fn(&Node) -> CheckStatus,
    checks: &mut BTreeMap<String, Check>,
) {
    let mut found: BTreeSet<String> = BTreeSet::new();
    for address in checks.keys() {
        found.insert(
            match (declaration(address), address.parse::<ResourceInstance>()) {
                (Some((module, word, name)), _) => checked_address(&module.config(), word, name),
                (None, Ok(instance)) => instance.resource.config().to_string(),
                (None, Err(_)) => address.clone(),
            },
        );
    }
    for (path, member) in &tree.members {
        let module = &member.module;
        let with_rules = |rules: &[CheckRule]| !rules.is_empty();
        let resources = module
            .resources
            .iter()
            .filter(|(_, config)| config.has_conditions())
            .map(|(resource, _)| resource.within_config(path.clone()))
            .map(|resource| (resource.to_string(), Node::Resource(resource)));
        let outputs = module
            .outputs
            .iter()
            .filter(|(_, output)| with_rules(&output.preconditions))
            .map(|(name, _)| {
                (
                    checked_address(path, "output", name),
                    Node::Output(path.clone(), name.clone()),
                )
            });
        let variables = module
            .variables
            .iter()
            .filter(|(_, variable)| with_rules(&variable.validations))
            .map(|(name, _)| {
                (
                    checked_address(path, "var", name),
                    Node::Validation(path.clone(), name.clone()),
                )
            });
        let blocks = module.checks.keys().map(|name| {
            (
                checked_address(path, "check", name),
                Node::Check(path.clone(), name.clone()),
            )
        });
        for (address, node) in resources.chain(outputs).chain(variables).chain(blocks) {
            if !found.contains(&address) {
                let vacant = true;
                checks.insert(
                    address,
                    Check {
                        vacant,
                        ..Check::of(status(&node))
                    },
                );
            }
        }
    }
}

/// Evaluates a local value.
pub fn local(values: &Values<'_>, module: &ModuleAddr, name: &Arc<str>) -> Result<Diags, Diags> {
    in_each(&*values.instances(module), |instance| {
        let Some(local) = instance.module().locals.get(name) else {
            return Diags::new();
        };
        let (value, diags) = evaluate(&local.expr, &instance.scope());
        if !diags.has_errors() {
            instance.set_local(name, value);
        }
        diags
    })
}

/// What the calling module sees of a value that one of its calls puts out.
pub(crate) fn seen_outside(output: &ashlar_config::Output, value: Value) -> Value {
    let mut marks = ashlar_value::Marks::NONE;
    if output.sensitive {
        marks = marks.union(ashlar_value::Marks::SENSITIVE);
    }
    if output.ephemeral {
        marks = marks.union(ashlar_value::Marks::EPHEMERAL);
    }
    value.with_marks(marks)
}
