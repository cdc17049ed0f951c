//! Did the provider make of the plan what the plan said?
//!
//! Called after apply, and on the plan made again at apply; a provider on the old SDK is forgiven by the caller. What
//! was known must stay, what was unknown may become anything within its type and refinement. A sensitive value is not
//! shown. Source: Terraform `objchange/compatible.go` (1.15).

use ashlar_value::{
    Data, Mark, Path, PathStep, Type, Value, ops,
    schema::{Block, NestedBlock, Nesting},
};

use super::{
    Problem,
    part::{count, element_at, elements, part},
};

/// How much of a value a message shows.
const SHOWN: usize = 200;

/// Where the actual object is no completion of the planned one. Both conform to the schema; marks may be on them, and
/// count only for what messages may show.
pub fn assert_object_compatible(schema: &Block, planned: &Value, actual: &Value) -> Vec<Problem> {
    let mut problems = Vec::new();
    check_block(schema, planned, actual, &Path::root(), &mut problems);
    problems
}

fn is_sensitive(value: &Value) -> bool {
    value.marks_deep().contains(Mark::Sensitive)
}

fn check_block(schema: &Block, planned: &Value, actual: &Value, path: &Path, problems: &mut Vec<Problem>) {
    let root = if path.is_root() { "the whole object " } else { "" };
    match (planned.is_null(), actual.is_null()) {
        (true, false) => {
            return problems.push(Problem::new(path, format!("{root}was absent, but now present")));
        }
        (false, true) => {
            return problems.push(Problem::new(path, format!("{root}was present, but now absent")));
        }
        (true, true) => return,
        (false, false) => {}
    }
    for (name, attribute) in &schema.attributes {
        let of = |object: &Value| part(object, name, || attribute.ty());
        let (planned, actual) = (of(planned), of(actual));
        let hide = attribute.sensitive || is_sensitive(&planned) || is_sensitive(&actual);
        check_attribute(&planned, &actual, hide, &path.attr(name.clone()), problems);
    }
    for (name, nested) in &schema.blocks {
        let of = |object: &Value| part(object, name, || nested.ty());
        check_blocks(
            nested,
            &of(planned),
            &of(actual),
            &path.attr(name.clone()),
            problems,
        );
    }
}

fn check_attribute(planned: &Value, actual: &Value, hide: bool, path: &Path, problems: &mut Vec<Problem>) {
    let (planned, actual) = (planned.clone().unmark_deep().0, actual.clone().unmark_deep().0);
    if !hide {
        return check_value(&planned, &actual, path, problems);
    }
    let mut hidden = Vec::new();
    check_value(&planned, &actual, path, &mut hidden);
    if !hidden.is_empty() {
        problems.push(Problem::new(path, "inconsistent values for sensitive attribute"));
    }
}

fn check_blocks(
    nested: &NestedBlock,
    planned: &Value,
    actual: &Value,
    path: &Path,
    problems: &mut Vec<Problem>,
) {
    if nested.nesting.is_one() {
        // An unknown dynamic block may have come to no block at all.
        if planned.is_known() || !actual.is_null() {
            check_block(&nested.block, planned, actual, path, problems);
        }
        return;
    }
    if !planned.is_known() || !actual.is_known() || planned.is_null() || actual.is_null() {
        return;
    }
    let (before, after) = (count(planned), count(actual));
    match (nested.nesting, planned.data()) {
        (Nesting::Set, _) => {
            let pairs = |planned: &Value, actual: &Value| {
                let mut found = Vec::new();
                let path = path.index(actual.clone());
                check_block(&nested.block, planned, actual, &path, &mut found);
                found.is_empty()
            };
            // Marks of members are on the set.
            let hide = nested.block.has_sensitive() || is_sensitive(planned) || is_sensitive(actual);
            check_set(planned, actual, &pairs, hide, path, problems);
            if before < after {
                problems.push(Problem::new(
                    path,
                    format!("block set length changed from {before} to {after}"),
                ));
            }
            return;
        }
        (_, Data::Object(_)) => {
            for (step, _) in elements(actual)
                .into_iter()
                .filter(|(step, _)| element_at(planned, step).is_none())
            {
                problems.push(Problem::new(&path.step(step), "a new block has appeared"));
            }
        }
        _ if before != after => {
            return problems.push(Problem::new(
                path,
                format!("block count changed from {before} to {after}"),
            ));
        }
        _ => {}
    }
    for (step, planned) in elements(planned) {
        let here = path.step(step.clone());
        match element_at(actual, &step) {
            Some(actual) => check_block(&nested.block, &planned, &actual, &here, problems),
            None => problems.push(Problem::new(&here, "the block has vanished")),
        }
    }
}

/// Both without marks.
fn check_value(planned: &Value, actual: &Value, path: &Path, problems: &mut Vec<Problem>) {
    let mut problem = |message: String| problems.push(Problem::new(path, message));
    if let Data::Unknown(ty, _) = planned.data() {
        let actual_type = actual.ty();
        if !ops::conforms(&actual_type, ty) {
            problem(wrong_type(&actual_type, ty));
        } else if ops::equal(planned, actual).as_bool() == Some(false) {
            // Equality is false only where what was known of the placeholder rules the value out.
            problem(format!(
                "final value {} does not fit the planned {}",
                shown(actual),
                shown(planned)
            ));
        }
        return;
    }
    match (planned.is_null(), actual.is_null()) {
        (true, true) => return,
        // The type of a null needs no look inside: a dynamic one admits all, others are told by their type alone.
        _ if !kind_fits(planned, actual) => return problem(wrong_type(&actual.ty(), &planned.ty())),
        (true, false) if matches!(planned.data(), Data::Null(Type::Dynamic)) => return,
        (true, false) => return problem(format!("was null, but now {}", shown(actual))),
        (false, true) => return problem(format!("was {}, but now null", shown(planned))),
        (false, false) => {}
    }
    if !actual.is_known() {
        return problem("was known, but now unknown".to_owned());
    }
    match planned.data() {
        Data::Set(..) => {
            let pairs = |planned: &Value, actual: &Value| {
                let mut found = Vec::new();
                check_value(planned, actual, path, &mut found);
                found.is_empty()
            };
            check_set(planned, actual, &pairs, false, path, problems);
            let (before, after) = (count(planned), count(actual));
            if before < after {
                problems.push(Problem::new(
                    path,
                    format!("length changed from {before} to {after}"),
                ));
            }
        }
        Data::List(..) | Data::Tuple(_) | Data::Map(..) | Data::Object(_) => {
            for (step, planned) in elements(planned) {
                let here = path.step(step.clone());
                match element_at(actual, &step) {
                    Some(actual) => check_value(&planned, &actual, &here, problems),
                    None => problems.push(Problem::new(
                        path,
                        format!("element {} has vanished", name_of(&step)),
                    )),
                }
            }
            if count(actual) > count(planned) || matches!(planned.data(), Data::Map(..)) {
                for (step, _) in elements(actual)
                    .into_iter()
                    .filter(|(step, _)| element_at(planned, step).is_none())
                {
                    problems.push(Problem::new(
                        path,
                        format!("new element {} has appeared", name_of(&step)),
                    ));
                }
            }
        }
        _ if ops::equal(planned, actual).as_bool() == Some(true) => {}
        _ => problem(format!("was {}, but now {}", shown(planned), shown(actual))),
    }
}

/// Do the types agree? For containers whose parts are compared one by one only as far as that comparison needs.
fn kind_fits(planned: &Value, actual: &Value) -> bool {
    match (planned.data(), actual.data()) {
        (Data::Bool(_), Data::Bool(_))
        | (Data::Number(_), Data::Number(_))
        | (Data::String(_), Data::String(_)) => true,
        (Data::Null(Type::Dynamic), _) => true,
        _ => ops::conforms(&actual.ty(), &planned.ty()),
    }
}

fn wrong_type(actual: &Type, planned: &Type) -> String {
    format!("wrong final value type: {planned} was planned, but now {actual}")
}

/// Each planned member needs a counterpart among the actual ones, and the other way round; several planned ones may
/// have become one.
fn check_set(
    planned: &Value,
    actual: &Value,
    pairs: &dyn Fn(&Value, &Value) -> bool,
    hide: bool,
    path: &Path,
    problems: &mut Vec<Problem>,
) {
    if planned == actual {
        return;
    }
    let (before, after) = (
        planned.as_items().unwrap_or_default(),
        actual.as_items().unwrap_or_default(),
    );
    let mut met_before = vec![false; before.len()];
    let mut met_after = vec![false; after.len()];
    for (planned, met) in before.iter().zip(&mut met_before) {
        for (actual, also_met) in after.iter().zip(&mut met_after) {
            if !(*met && *also_met) && pairs(planned, actual) {
                *met = true;
                *also_met = true;
            }
        }
    }
    let show = |member: &Value| {
        if hide {
            String::new()
        } else {
            format!(" {}", shown(member))
        }
    };
    let known = problems.len();
    for member in before
        .iter()
        .zip(&met_before)
        .filter(|(_, met)| !**met)
        .map(|(member, _)| member)
    {
        let message = format!(
            "planned set element{} does not correlate with any element in actual",
            show(member)
        );
        problems.push(Problem::new(path, message));
    }
    if problems.len() > known {
        return;
    }
    for member in after
        .iter()
        .zip(&met_after)
        .filter(|(_, met)| !**met)
        .map(|(member, _)| member)
    {
        let message = format!(
            "actual set element{} does not correlate with any element in plan",
            show(member)
        );
        problems.push(Problem::new(path, message));
    }
}

fn name_of(step: &PathStep) -> String {
    match step {
        PathStep::Attr(name) => format!("{name:?}"),
        PathStep::Index(key) => format!("{key:?}"),
    }
}

/// The value for people, cut short.
fn shown(value: &Value) -> String {
    let mut text = format!("{value:?}");
    if let Some((cut, _)) = text.char_indices().nth(SHOWN) {
        text.truncate(cut);
        text.push('…');
    }
    text
}
