//! Values of variables across a plan and its apply: those of ephemeral variables are not kept with a plan, so they are given
//! again, and may be others then; all other values stay as they were planned.
//!
//! Rules: Terraform `terraform/context_plan.go` (`ApplyTimeVariables`), `context_apply.go` (`checkApplyTimeVariables`),
//! `backend/local/backend_apply.go`. No value is put into a diagnostic.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use ashlar_diag::{Diag, Diags, Sources};
use ashlar_eval::{Given, Variable};
use ashlar_value::Value;

use crate::{Input, InputValue, Module, Origin, inputs};

/// The ephemeral variables that are given values, which have to be given values again when the plan is applied.
pub fn to_be_given_again(module: &Module, inputs: &BTreeMap<Arc<str>, Input>) -> BTreeSet<Arc<str>> {
    let is_given = |name: &&Arc<str>| {
        let (Some(variable), Some(input)) = (module.variables.get(*name), inputs.get(*name)) else {
            return false;
        };
        // What is at fault with it is told when it is resolved.
        let given = given(variable, input, &mut Sources::new()).0;
        variable.ephemeral && !given.value.is_null()
    };
    module.variables.keys().filter(is_given).cloned().collect()
}

/// The values that a plan is applied with: those it was planned with, and those that are given again of the variables in
/// `again`. With errors they are not fit to be used. Validations are not run.
pub fn variables_at_apply(
    module: &Module,
    planned: &BTreeMap<Arc<str>, Value>,
    again: &BTreeSet<Arc<str>>,
    inputs: &BTreeMap<Arc<str>, Input>,
    sources: &mut Sources,
) -> (BTreeMap<Arc<str>, Value>, Diags) {
    let mut diags = inputs::undeclared_and_refused(module, inputs);
    let mut values = planned.clone();
    for (name, variable) in &module.variables {
        let (given, faults) = match inputs.get(name) {
            Some(input) => {
                let (given, faults) = given(variable, input, sources);
                (Some((given, input)), faults)
            }
            None => (None, Diags::new()),
        };
        if !variable.ephemeral {
            let planned = planned.get(name);
            diags.extend(given.and_then(|(given, input)| changed(variable, planned, &given, input)));
            continue;
        }
        diags.extend(faults);
        // A null is no value, whoever gives it.
        let given = given
            .map(|(given, _)| given)
            .filter(|given| !given.value.is_null());
        match (&given, again.contains(name)) {
            (None, true) => {
                let detail = format!(
                    "The plan was made with a value for the ephemeral variable {name:?}, which is not kept with it. Give it a \
                     value again to apply the plan."
                );
                diags.push(Diag::error("No value for required variable", detail));
                continue;
            }
            (Some(given), false) => {
                let detail = format!(
                    "The plan was made without a value for the ephemeral variable {name:?}, so it cannot be given one now. \
                     Leave it out, or plan anew with it."
                );
                let mut diag = Diag::error("Ephemeral variable was not set during planning", detail);
                diag.subject = given.place;
                diags.push(diag);
                continue;
            }
            (Some(_), true) | (None, false) => {}
        }
        let (value, faults) = variable.value(given.as_ref());
        diags.extend(faults);
        values.insert(name.clone(), variable.marked(value));
    }
    (values, diags)
}

fn given(variable: &Variable, input: &Input, sources: &mut Sources) -> (Given, Diags) {
    match &input.value {
        InputValue::Value(value, place) => {
            let (value, place) = (value.clone(), *place);
            (Given { value, place }, Diags::new())
        }
        InputValue::Text(text) => {
            let (value, diags) = variable.parse_text(text, sources);
            (Given { value, place: None }, diags)
        }
    }
}

/// What is told of another value for a variable whose planned value stays. Values in files are for all plans, so they are
/// passed over.
fn changed(variable: &Variable, planned: Option<&Value>, given: &Given, input: &Input) -> Option<Diag> {
    let (value, faults) = variable.value(Some(given));
    let plain = |value: &Value| value.clone().unmark_deep().0;
    if !faults.has_errors() && planned.is_some_and(|planned| plain(planned) == plain(&value)) {
        return None;
    }
    let detail = format!(
        "The plan holds the value of the variable {:?} that it was made with, and another cannot take its place. Plan anew \
         with it, or declare the variable ephemeral.",
        &*variable.name
    );
    let mut diag = match input.origin {
        Origin::File(_) => return None,
        Origin::Shared => Diag::warning("Ignoring variable when applying a saved plan", detail),
        Origin::Direct => Diag::error("Can't change variable when applying a saved plan", detail),
    };
    diag.subject = given.place;
    Some(diag)
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use ashlar_diag::Sources;
    use ashlar_value::{Dialect, Value};

    use super::*;
    use crate::{Absent, resolve_variables};

    const TEXT: &str = "variable \"e\" {\n  type = string\n  ephemeral = true\n  default = null\n}\n\
                        variable \"n\" {\n  type = number\n  default = 1\n}\n";

    fn inputs(given: &[(&str, &str, Origin)]) -> BTreeMap<Arc<str>, Input> {
        let input = |(name, text, origin): &(&str, &str, Origin)| {
            let value = InputValue::Text((*text).into());
            (
                Arc::from(*name),
                Input {
                    value,
                    origin: origin.clone(),
                },
            )
        };
        given.iter().map(input).collect()
    }

    /// Plans with some values and applies with others; the summaries, and what `e` is.
    fn check(
        first: &[(&str, &str, Origin)],
        then: &[(&str, &str, Origin)],
        expected: &[&str],
        e: Option<&str>,
    ) {
        let files = vec![("main.tf".into(), TEXT.into())];
        let mut sources = Sources::new();
        let (tree, faults) = crate::load(files, Dialect::Terraform, &BTreeMap::new(), &mut (), &mut sources);
        assert!(faults.is_empty(), "{faults}");
        let module = tree.root();
        let first = inputs(first);
        let (resolved, faults) = resolve_variables(module, &first, Absent::Refused, &mut sources);
        assert!(faults.is_empty(), "{faults}");
        let again = to_be_given_again(module, &first);
        let kept: BTreeMap<_, _> = resolved
            .values
            .into_iter()
            .filter(|(name, _)| &**name != "e")
            .collect();
        let (values, told) = variables_at_apply(module, &kept, &again, &inputs(then), &mut sources);
        let summaries: Vec<_> = told.iter().map(|diag| &*diag.summary).collect();
        assert_eq!(summaries, expected);
        if !told.has_errors() {
            let (found, _) = values["e"].clone().unmark();
            assert_eq!(found.as_str().map(|text| text.to_string()).as_deref(), e);
        }
    }

    #[test]
    fn an_ephemeral_variable_is_given_again_if_it_was_given() {
        let one = || ("e", "one", Origin::Direct);
        let two = || ("e", "two", Origin::Shared);
        check(&[], &[], &[], None);
        check(&[one()], &[two()], &[], Some("two"));
        check(&[one()], &[], &["No value for required variable"], None);
        check(
            &[],
            &[two()],
            &["Ephemeral variable was not set during planning"],
            None,
        );
        let other = ("zz", "1", Origin::Direct);
        check(
            &[one()],
            &[one(), other],
            &["Value for undeclared variable"],
            None,
        );
    }

    #[test]
    fn another_value_of_a_variable_that_is_kept_is_refused_or_passed_over() {
        let planned = || ("n", "2", Origin::Direct);
        let with = |text, origin| ("n", text, origin);
        check(&[planned()], &[with("2", Origin::Direct)], &[], None);
        let refused = &["Can't change variable when applying a saved plan"];
        check(&[planned()], &[with("3", Origin::Direct)], refused, None);
        let told = &["Ignoring variable when applying a saved plan"];
        check(&[planned()], &[with("3", Origin::Shared)], told, None);
        check(&[planned()], &[with("3", Origin::File("a".into()))], &[], None);
    }

    #[test]
    fn a_null_is_no_value() {
        let files = vec![("main.tf".into(), TEXT.into())];
        let (tree, _) = crate::load(
            files,
            Dialect::Terraform,
            &BTreeMap::new(),
            &mut (),
            &mut Sources::new(),
        );
        let null = Input {
            value: InputValue::Value(Value::null(ashlar_value::Type::Dynamic), None),
            origin: Origin::Direct,
        };
        let inputs = BTreeMap::from([(Arc::from("e"), null)]);
        assert_eq!(to_be_given_again(tree.root(), &inputs), BTreeSet::new());
        let (planned, again) = (BTreeMap::new(), BTreeSet::new());
        let (values, told) = variables_at_apply(tree.root(), &planned, &again, &inputs, &mut Sources::new());
        assert!(
            told.is_empty() && values["e"].clone().unmark().0.is_null(),
            "{told}"
        );
    }
}
