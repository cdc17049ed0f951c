//! Values for the root module's variables: gathered and converted.
//!
//! Called once per run, before planning. Rules: Terraform `backend/backendrun/unparsed_value.go`,
//! `command/arguments/vars.go`, `terraform/eval_variable.go`. No value is put into a diagnostic.

use std::{collections::BTreeMap, sync::Arc};

use ashlar_diag::{Diag, Diags, Severity, Sources, Span};
use ashlar_eval::{Given, Shape, evaluate_constant, only_arguments};
use ashlar_syntax::parse_file;
use ashlar_value::Value;

use crate::Module;

/// Of so many undeclared names in files each gets a warning of its own; the others share one.
const UNDECLARED_SHOWN: usize = 2;

/// A value for a variable.
#[derive(Clone, Debug)]
pub struct Input {
    /// The value.
    pub value: InputValue,
    /// Where it comes from; that decides what an undeclared name is.
    pub origin: Origin,
}

/// A value as it is given.
#[derive(Clone)]
pub enum InputValue {
    /// Text, read by the variable's type: text itself, or an expression.
    Text(Arc<str>),
    /// A value, with its place if it stands in a file.
    Value(Value, Option<Span>),
}

/// Shows no content: the variable may be sensitive.
impl std::fmt::Debug for InputValue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            InputValue::Text(_) => "Text(…)",
            InputValue::Value(..) => "Value(…)",
        })
    }
}

/// Where a value comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A file of values. An undeclared name is worth a warning.
    File(Arc<str>),
    /// Settings meant for many configurations. An undeclared name is ignored.
    Shared,
    /// Given for this configuration alone. An undeclared name is an error.
    Direct,
}

/// What comes of a variable that has neither a value nor a default.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Absent {
    /// An error.
    Refused,
    /// Its value is unknown: for who only looks.
    Unknown,
}

/// Reads a file of values (`*.tfvars`, `*.tfvars.json`).
pub fn parse_values_file(
    name: impl Into<Arc<str>>,
    text: impl Into<Arc<str>>,
    sources: &mut Sources,
) -> (BTreeMap<Arc<str>, Input>, Diags) {
    let name: Arc<str> = name.into();
    let file = sources.add(name.clone(), text);
    let (body, mut diags) = parse_file(sources, file);
    let mut inputs = BTreeMap::new();
    let declarations = Shape {
        required: &[],
        optional: &[],
        blocks: &[("variable", &["name"])],
    };
    // Whatever else is at fault here is told below.
    let found = declarations.split(body.clone(), None, &mut Diags::new());
    if let Some(block) = found.blocks.first() {
        let detail =
            "This file gives values to variables: NAME = VALUE. Declarations belong into a .tf file.";
        diags.push(Diag::error("Variable declaration in .tfvars file", detail).at(block.kind.span));
        return (inputs, diags);
    }
    let (attributes, faults) = only_arguments(body);
    diags.extend(faults);
    let sound = !diags.has_errors();
    for attribute in attributes {
        let (value, faults) = evaluate_constant(&attribute.expr);
        // In a file with faults Terraform looks at no value.
        if sound {
            diags.extend(faults);
        }
        let value = InputValue::Value(value, Some(attribute.expr.span));
        inputs.insert(
            attribute.name.name,
            Input {
                value,
                origin: Origin::File(name.clone()),
            },
        );
    }
    (inputs, diags)
}

/// Values of the root module's variables.
#[derive(Debug, Default)]
pub struct Resolved {
    /// The value of every variable, as references see it: converted, defaults filled in, marked.
    pub values: BTreeMap<Arc<str>, Value>,
    /// The values that were given, as they were given, but for those of ephemeral variables.
    pub given: BTreeMap<Arc<str>, Value>,
    /// Where those stand that files give.
    pub places: BTreeMap<Arc<str>, Span>,
    /// What is wrong with values that are given and do not fit their variables. Those are not known, and what needs them
    /// cannot be planned.
    pub refused: BTreeMap<Arc<str>, Diags>,
}

/// Resolves all variables. Whether they are valid is decided while planning, among all that they look at. With errors the
/// values are not fit to be used.
pub fn resolve_variables(
    module: &Module,
    inputs: &BTreeMap<Arc<str>, Input>,
    absent: Absent,
    sources: &mut Sources,
) -> (Resolved, Diags) {
    let mut diags = undeclared(module, inputs);
    let Resolved {
        mut values,
        given: mut all_given,
        mut places,
        mut refused,
    } = Resolved::default();
    // Faults are told in the order of declaration.
    let mut declared: Vec<_> = module.variables.iter().collect();
    declared.sort_by_key(|(_, variable)| variable.declared);
    for (name, variable) in declared {
        let given = inputs.get(name).map(|input| match &input.value {
            InputValue::Value(value, place) => Given {
                value: value.clone(),
                place: *place,
            },
            InputValue::Text(text) => {
                let (value, faults) = variable.parse_text(text, sources);
                diags.extend(faults);
                Given { value, place: None }
            }
        });
        if let Some(given) = given.as_ref().filter(|_| !variable.ephemeral) {
            all_given.insert(name.clone(), variable.marked(given.value.clone()));
        }
        if given.is_none() && variable.default.is_none() {
            if absent == Absent::Refused {
                let detail = format!("The variable {name:?} has no default, so it must be given a value.");
                diags.push(Diag::error("No value for required variable", detail).at(variable.declared));
            }
            values.insert(
                name.clone(),
                variable.marked(Value::unknown(variable.ty.without_optional())),
            );
            continue;
        }
        let (value, faults) = variable.value(given.as_ref());
        if faults.has_errors() {
            refused.insert(name.clone(), faults);
        } else {
            diags.extend(faults);
        }
        values.insert(name.clone(), variable.marked(value));
        if let Some(place) = given.and_then(|given| given.place) {
            places.insert(name.clone(), place);
        }
    }
    let resolved = Resolved {
        values,
        given: all_given,
        places,
        refused,
    };
    (resolved, diags)
}

/// The errors of values given for what is not declared.
pub(crate) fn undeclared_and_refused(module: &Module, inputs: &BTreeMap<Arc<str>, Input>) -> Diags {
    let told = undeclared(module, inputs).into_iter();
    told.filter(|diag| diag.severity == Severity::Error).collect()
}

fn undeclared(module: &Module, inputs: &BTreeMap<Arc<str>, Input>) -> Diags {
    const SUMMARY: &str = "Value for undeclared variable";
    let mut diags = Diags::new();
    let mut in_files = 0;
    for (name, input) in inputs
        .iter()
        .filter(|(name, _)| !module.variables.contains_key(*name))
    {
        match &input.origin {
            Origin::Shared => {}
            Origin::Direct => {
                let detail =
                    format!("A value is given for {name:?}, but the module declares no such variable.");
                diags.push(Diag::error(SUMMARY, detail));
            }
            Origin::File(file) => {
                in_files += 1;
                if in_files <= UNDECLARED_SHOWN {
                    let detail = format!(
                        "{file} gives a value for {name:?}, but the module declares no such variable."
                    );
                    diags.push(Diag::warning(SUMMARY, detail));
                }
            }
        }
    }
    if in_files > UNDECLARED_SHOWN {
        let detail = format!(
            "{} more values are for variables that are not declared.",
            in_files - UNDECLARED_SHOWN
        );
        diags.push(Diag::warning("Values for undeclared variables", detail));
    }
    diags
}

#[cfg(test)]
mod tests;
