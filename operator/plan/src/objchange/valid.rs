//! May a provider plan this object for that configuration?
//!
//! Called on each PlanResourceChange answer; a provider on the old SDK is forgiven by the caller. A provider may fill in
//! computed attributes, and may keep a prior value it holds for equivalent to the configured one; else configuration
//! stands. Values come without marks, so no message shows one. Source: Terraform `objchange/plan_valid.go` (1.15).

use std::{collections::BTreeMap, sync::Arc};

use ashlar_value::{
    Data, Path, Type, Value,
    schema::{Attribute, AttributeType, Block, NestedBlock, Nesting},
};

use super::{
    Problem,
    part::{count, element_at, elements, part, same},
};

const UNKNOWN_BLOCK: &str =
    "a nested block must not be unknown itself; the values of its attributes may be unknown instead";

/// Where the planned object breaks the rules. `config` is what was sent to the provider, after `ignore_changes`.
pub fn assert_plan_valid(schema: &Block, prior: &Value, config: &Value, planned: &Value) -> Vec<Problem> {
    let mut problems = Vec::new();
    check_block(schema, prior, config, planned, &Path::root(), &mut problems);
    problems
}

/// Do they agree on whether there is an object at all? If so, `true` where there is one.
fn both_exist(config: &Value, planned: &Value, path: &Path, problems: &mut Vec<Problem>) -> bool {
    match (config.is_null(), planned.is_null()) {
        (false, true) => problems.push(Problem::new(
            path,
            "planned for absence but config wants existence",
        )),
        (true, false) => problems.push(Problem::new(
            path,
            "planned for existence but config wants absence",
        )),
        (both, _) => return !both,
    }
    false
}

fn check_block(
    schema: &Block,
    prior: &Value,
    config: &Value,
    planned: &Value,
    path: &Path,
    problems: &mut Vec<Problem>,
) {
    if !both_exist(config, planned, path, problems) {
        return;
    }
    check_attributes(&schema.attributes, prior, config, planned, path, problems);
    for (name, nested) in &schema.blocks {
        let of = |object: &Value| part(object, name, || nested.ty());
        check_blocks(
            nested,
            &of(prior),
            &of(config),
            &of(planned),
            &path.attr(name.clone()),
            problems,
        );
    }
}

fn check_blocks(
    nested: &NestedBlock,
    prior: &Value,
    config: &Value,
    planned: &Value,
    path: &Path,
    problems: &mut Vec<Problem>,
) {
    if planned == config {
        return;
    }
    let mut problem = |message: String| problems.push(Problem::new(path, message));
    if !config.is_known() {
        return problem("planned another value for a dynamic block whose for_each is unknown".to_owned());
    }
    if !planned.is_known() {
        return problem(UNKNOWN_BLOCK.to_owned());
    }
    let mode = match nested.nesting {
        Nesting::Single | Nesting::Group => {
            return check_block(&nested.block, prior, config, planned, path, problems);
        }
        Nesting::List => "list",
        Nesting::Map => "map",
        Nesting::Set => "set",
    };
    if planned.is_null() {
        return problem(format!(
            "a {mode} of nested blocks must be empty where there are none, not null"
        ));
    }
    // A null list of blocks counts as empty: a provider on the old SDK and ignore_changes can bring it about.
    let (planned_count, config_count) = (count(planned), count(config));
    let by_count = match planned.data() {
        Data::Object(_) | Data::Set(..) => false,
        _ => planned_count != config_count,
    };
    if by_count {
        return problem(format!(
            "block count in plan ({planned_count}) disagrees with config ({config_count})"
        ));
    }
    for (step, block) in elements(planned) {
        let here = path.step(step.clone());
        if !block.is_known() {
            problems.push(Problem::new(&here, UNKNOWN_BLOCK));
            continue;
        }
        // Members of sets cannot be told apart well enough to hold them against the configuration.
        if nested.nesting == Nesting::Set {
            continue;
        }
        let Some(config) = element_at(config, &step) else {
            problems.push(Problem::new(&here, "a block in the plan is not in config"));
            continue;
        };
        let prior = element_at(prior, &step).unwrap_or_else(|| Value::null(nested.block.ty()));
        check_block(&nested.block, &prior, &config, &block, &here, problems);
    }
    if nested.nesting == Nesting::Map {
        for (step, _) in elements(config) {
            if element_at(planned, &step).is_none() {
                problems.push(Problem::new(
                    &path.step(step),
                    "a block in config is not in the plan",
                ));
            }
        }
    }
}

fn check_attributes(
    attributes: &BTreeMap<Arc<str>, Attribute>,
    prior: &Value,
    config: &Value,
    planned: &Value,
    path: &Path,
    problems: &mut Vec<Problem>,
) {
    for (name, attribute) in attributes {
        let of = |object: &Value| part(object, name, || attribute.ty());
        let path = path.attr(name.clone());
        check_attribute(attribute, &of(prior), &of(config), &of(planned), &path, problems);
    }
}

fn check_attribute(
    attribute: &Attribute,
    prior: &Value,
    config: &Value,
    planned: &Value,
    path: &Path,
    problems: &mut Vec<Problem>,
) {
    if same(planned, config) || (!prior.is_null() && !config.is_null() && same(planned, prior)) {
        return;
    }
    let mut problem = |message: &str| problems.push(Problem::new(path, message));
    if attribute.write_only {
        if !planned.is_null() {
            problem("planned value for write-only attribute is not null");
        }
        return;
    }
    // Configuration for what is only computed can be left over from ignore_changes; that is no fault of the provider.
    if attribute.computed && (!attribute.optional || config.is_null()) {
        return;
    }
    if config.is_null() && !planned.is_null() {
        return problem("planned a value for an attribute that is neither configured nor computed");
    }
    match &attribute.ty {
        AttributeType::Nested { nesting, attributes } => {
            check_nested(*nesting, attributes, prior, config, planned, path, problems);
        }
        AttributeType::Plain(_) if prior.is_null() => problem("planned value does not match config value"),
        AttributeType::Plain(_) => problem("planned value matches neither config value nor prior value"),
    }
}

fn check_nested(
    nesting: Nesting,
    attributes: &BTreeMap<Arc<str>, Attribute>,
    prior: &Value,
    config: &Value,
    planned: &Value,
    path: &Path,
    problems: &mut Vec<Problem>,
) {
    if !both_exist(config, planned, path, problems) {
        return;
    }
    let mut problem = |message: String| problems.push(Problem::new(path, message));
    if !planned.is_known() {
        return problem("planned unknown for configured value".to_owned());
    }
    if nesting.is_one() {
        return check_attributes(attributes, prior, config, planned, path, problems);
    }
    if !config.is_known() {
        // The number of members of a set may come out as anything; of a list or map it must stay open.
        if nesting != Nesting::Set {
            problem("planned a known number of elements where config does not know it yet".to_owned());
        }
        return;
    }
    let (planned_count, config_count) = (count(planned), count(config));
    if nesting == Nesting::Set {
        // Members that are not wholly known may still turn out to be one.
        let settled = planned.is_wholly_known() && config.is_wholly_known();
        if settled && planned_count != config_count {
            problem(format!(
                "count in plan ({planned_count}) disagrees with count in config ({config_count})"
            ));
        }
        return;
    }
    if planned_count != config_count {
        return problem(format!(
            "count in plan ({planned_count}) disagrees with count in config ({config_count})"
        ));
    }
    let absent = || {
        Value::null(Type::object(
            attributes.iter().map(|(name, inner)| (name.clone(), inner.ty())),
        ))
    };
    for (step, item) in elements(planned) {
        let here = path.step(step.clone());
        match element_at(config, &step) {
            None => problems.push(Problem::new(&here, "an element in the plan is not in config")),
            Some(config) => {
                let prior = element_at(prior, &step).unwrap_or_else(absent);
                check_attributes(attributes, &prior, &config, &item, &here, problems);
            }
        }
    }
}
