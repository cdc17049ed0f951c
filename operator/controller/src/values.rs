//! Values as users give them, to what the language takes.
//!
//! A value from a Secret is marked sensitive here, declared so or not, and no fault that is told about one shows its text.

use std::{collections::BTreeMap, sync::Arc};

use ashlar_config::{Input, InputValue, Module, Origin, parse_values_file};
use ashlar_diag::{Diag, Diags, Sources};
use ashlar_plan::Plan;
use ashlar_runner::{bounded, load_module};
use ashlar_value::{Dialect, Marks, Value, json};

/// A value, or a file of values, as it was found.
#[derive(Clone)]
pub(crate) struct Given {
    pub(crate) form: Form,
    pub(crate) sensitive: bool,
    pub(crate) origin: Origin,
    /// For messages.
    pub(crate) place: String,
    /// Higher ones win.
    pub(crate) rank: usize,
}

/// How it is written.
#[derive(Clone)]
pub(crate) enum Form {
    /// Read by the variable's type.
    Text(String),
    /// An expression without references.
    Expression(String),
    /// JSON of any type.
    Json(String),
    /// A file as terraform.tfvars.
    Tfvars(String),
    /// A JSON object with a member for each variable.
    JsonObject(String),
}

impl Form {
    pub(crate) fn text(&self) -> &str {
        match self {
            Form::Text(text)
            | Form::Expression(text)
            | Form::Json(text)
            | Form::Tfvars(text)
            | Form::JsonObject(text) => text,
        }
    }

    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Form::Text(_) => "text",
            Form::Expression(_) => "expression",
            Form::Json(_) => "json",
            Form::Tfvars(_) => "tfvars",
            Form::JsonObject(_) => "json-object",
        }
    }
}

/// What wins over what; between these there is room for many.
pub(crate) mod rank {
    /// `TF_VAR_` in `spec.env`.
    pub(crate) const ENVIRONMENT: usize = 0;
    /// Files of values beside the root module, in their order.
    pub(crate) const FILES: usize = 1;
    /// `spec.variablesFrom`, in its order.
    pub(crate) const OBJECTS: usize = usize::MAX / 2;
    /// `spec.variables`.
    pub(crate) const DIRECT: usize = usize::MAX;
}

/// The files of values beside a root module, as values; their texts by name, in their order.
pub(crate) fn of_files(files: impl IntoIterator<Item = (Arc<str>, Arc<str>)>) -> BTreeMap<String, Given> {
    let given = files.into_iter().enumerate().map(|(at, (name, text))| {
        let form = if name.ends_with(".json") {
            Form::JsonObject(text.to_string())
        } else {
            Form::Tfvars(text.to_string())
        };
        let given = Given {
            form,
            sensitive: false,
            origin: Origin::File(name.clone()),
            place: name.to_string(),
            rank: rank::FILES.saturating_add(at),
        };
        // No variable can have such a name.
        (format!("\0{name}"), given)
    });
    given.collect()
}

/// The values for the variables of a root module among these files, beside which these files of values lie. Of the module only
/// what its variables are is asked: the rest is told of by whoever loads it.
pub(crate) fn of_root(
    files: &[(Arc<str>, Arc<str>)],
    dialect: Dialect,
    values: BTreeMap<String, Given>,
    value_files: impl IntoIterator<Item = (Arc<str>, Arc<str>)>,
) -> Result<BTreeMap<Arc<str>, Input>, Diags> {
    let nothing = BTreeMap::new();
    let (root, _, _) = load_module(files, dialect, &nothing, &mut (), &mut Sources::new());
    let mut all = values;
    all.extend(of_files(value_files));
    let (inputs, diags) = bounded(|| resolve(&all, root.root()));
    if diags.has_errors() {
        Err(diags)
    } else {
        Ok(inputs)
    }
}

/// The values for the root module's variables, and what is wrong with the others.
fn resolve(given: &BTreeMap<String, Given>, module: &Module) -> (BTreeMap<Arc<str>, Input>, Diags) {
    let mut ordered: Vec<(&String, &Given)> = given.iter().collect();
    ordered.sort_by_key(|(_, given)| given.rank);
    let mut inputs = BTreeMap::new();
    let mut diags = Diags::new();
    for (name, given) in ordered {
        match read(name, given, module) {
            Ok(found) => inputs.extend(found),
            Err(fault) => diags.push(fault),
        }
    }
    (inputs, diags)
}

/// The values of ephemeral variables, which are not kept with a plan: taken from the inputs that it was made from, and that
/// it is applied with only as long as they are the same.
pub(crate) fn given_again(
    plan: &Plan,
    values: BTreeMap<String, Given>,
    files: impl IntoIterator<Item = (Arc<str>, Arc<str>)>,
) -> Result<BTreeMap<Arc<str>, Input>, Diags> {
    if plan.given_again.is_empty() {
        return Ok(BTreeMap::new());
    }
    let mut given = of_root(&plan.config, plan.options.dialect, values, files)?;
    given.retain(|name, _| plan.given_again.contains(name));
    Ok(given)
}

/// The same where inputs are gone: what cannot be read any more has an unknown value, which is enough for a plan in which no
/// provider needs it.
pub(crate) fn left_over(
    plan: &Plan,
    values: BTreeMap<String, Given>,
    files: impl IntoIterator<Item = (Arc<str>, Arc<str>)>,
) -> BTreeMap<Arc<str>, Input> {
    let nothing = BTreeMap::new();
    let dialect = plan.options.dialect;
    let (root, _, _) = load_module(&plan.config, dialect, &nothing, &mut (), &mut Sources::new());
    let mut all = values;
    all.extend(of_files(files));
    let (mut inputs, _) = bounded(|| resolve(&all, root.root()));
    let again = plan.given_again.iter().map(|name| {
        let unknown = || Input {
            value: InputValue::Value(Value::dynamic(), None),
            origin: Origin::Shared,
        };
        (name.clone(), inputs.remove(name).unwrap_or_else(unknown))
    });
    again.collect()
}

fn read(name: &str, given: &Given, module: &Module) -> Result<BTreeMap<Arc<str>, Input>, Diag> {
    let input = |value: Value| Input {
        value: InputValue::Value(marked(value, given.sensitive), None),
        origin: given.origin.clone(),
    };
    let one = |value: Value| BTreeMap::from([(Arc::from(name), input(value))]);
    match &given.form {
        Form::Text(text) => match module.variables.get(name) {
            // What it is read as depends on the declaration, which may not be there at all.
            Some(variable) => {
                let mut sources = Sources::new();
                let (value, faults) = variable.parse_text(text, &mut sources);
                if faults.has_errors() {
                    Err(unreadable(given, &faults))
                } else {
                    Ok(one(value))
                }
            }
            None => Ok(one(Value::string(text.as_str()))),
        },
        Form::Expression(text) => {
            let mut found = tfvars(given, &format!("value = (\n{text}\n)\n"))?;
            match (found.remove("value"), found.is_empty()) {
                (Some(value), true) => Ok(one(value)),
                _ => Err(Diag::error(
                    SUMMARY,
                    format!("{} holds more than one expression.", given.place),
                )),
            }
        }
        Form::Json(text) => json::decode_implied(text.as_bytes())
            .map(one)
            .map_err(|_| not_json(given)),
        Form::Tfvars(text) => Ok(tfvars(given, text)?
            .into_iter()
            .map(|(name, value)| (name, input(value)))
            .collect()),
        Form::JsonObject(text) => {
            let value = json::decode_implied(text.as_bytes()).map_err(|_| not_json(given))?;
            let ashlar_value::Data::Object(members) = value.data() else {
                return Err(Diag::error(
                    SUMMARY,
                    format!("{} holds JSON that is no object.", given.place),
                ));
            };
            Ok(members
                .iter()
                .map(|(name, value)| (Arc::from(&**name), input(value.clone())))
                .collect())
        }
    }
}

const SUMMARY: &str = "Invalid value for input variable";

fn tfvars(given: &Given, text: &str) -> Result<BTreeMap<Arc<str>, Value>, Diag> {
    let mut sources = Sources::new();
    // The name decides how it is read, and the place may end in anything.
    let name = format!("{}.tfvars", given.place);
    let (found, faults) = parse_values_file(name, text, &mut sources);
    if faults.has_errors() {
        return Err(unreadable(given, &faults));
    }
    let values = found.into_iter().filter_map(|(name, input)| match input.value {
        InputValue::Value(value, _) => Some((name, value)),
        InputValue::Text(_) => None,
    });
    Ok(values.collect())
}

/// Summaries name no content; details may.
fn unreadable(given: &Given, faults: &Diags) -> Diag {
    let first = faults.iter().find(|diag| diag.is_error());
    let why = first.map_or("it is no value", |diag| &*diag.summary);
    Diag::error(
        SUMMARY,
        format!(
            "The value in {} cannot be read as an expression without references: {why}.",
            given.place
        ),
    )
}

fn not_json(given: &Given) -> Diag {
    Diag::error(SUMMARY, format!("{} holds no valid JSON.", given.place))
}

fn marked(value: Value, sensitive: bool) -> Value {
    if sensitive {
        value.with_marks(Marks::SENSITIVE)
    } else {
        value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MODULE: &str = "variable \"text\" {\n  type = string\n}\nvariable \"list\" {\n  type = list(number)\n}\nvariable \"any\" {}\n";

    fn resolved(name: &str, form: Form, sensitive: bool) -> Result<Value, String> {
        let mut sources = Sources::new();
        let (tree, diags) = ashlar_config::load(
            vec![("main.tf".into(), MODULE.into())],
            Dialect::Terraform,
            &Default::default(),
            &mut (),
            &mut sources,
        );
        assert!(!diags.has_errors());
        let given = Given {
            form,
            sensitive,
            origin: Origin::Direct,
            place: "Secret here.json".to_owned(),
            rank: 0,
        };
        let (mut inputs, diags) = resolve(&[(name.to_owned(), given)].into(), tree.root());
        if diags.has_errors() {
            return Err(diags.iter().map(|diag| diag.detail.clone()).collect::<String>());
        }
        match inputs.remove(name).map(|input| input.value) {
            Some(InputValue::Value(value, _)) => Ok(value),
            other => Err(format!("{other:?}")),
        }
    }

    fn check(name: &str, form: Form, want: Value) {
        assert_eq!(resolved(name, form, false), Ok(want));
    }

    #[test]
    fn objects_win_over_files_and_later_files_over_earlier_ones() {
        let mut sources = Sources::new();
        let files = vec![("main.tf".into(), "variable \"text\" {}\n".into())];
        let (tree, _) = ashlar_config::load(
            files,
            Dialect::Terraform,
            &Default::default(),
            &mut (),
            &mut sources,
        );
        let value = |given: &BTreeMap<String, Given>| {
            let (mut inputs, _) = resolve(given, tree.root());
            match inputs.remove("text").map(|input| input.value) {
                Some(InputValue::Value(value, _)) => value.as_str().map(ToString::to_string),
                _ => None,
            }
        };
        let file = |name: &str, text: &str| -> (Arc<str>, Arc<str>) { (name.into(), text.into()) };
        let mut given = of_files([
            file("terraform.tfvars", "text = \"first\""),
            file("a.auto.tfvars.json", "{\"text\": \"second\"}"),
        ]);
        assert_eq!(value(&given).as_deref(), Some("second"));
        let mut add = |rank, text: &str| {
            let given_text = Given {
                form: Form::Text(text.to_owned()),
                sensitive: false,
                origin: Origin::Shared,
                place: String::new(),
                rank,
            };
            given.insert("text".to_owned(), given_text);
            value(&given)
        };
        assert_eq!(add(rank::ENVIRONMENT, "environment").as_deref(), Some("second"));
        assert_eq!(add(rank::OBJECTS, "object").as_deref(), Some("object"));
    }

    #[test]
    fn an_approved_plan_gets_its_ephemeral_values_from_the_inputs_it_was_made_from() {
        let text = "variable \"e\" {\n  ephemeral = true\n}\nvariable \"f\" {\n  ephemeral = true\n  default = null\n}\n\
                    variable \"n\" {}\n";
        let plan = |again: &[&str]| Plan {
            options: ashlar_plan::Options::default(),
            config: vec![("main.tf".into(), text.into())],
            modules: BTreeMap::new(),
            packages: BTreeMap::new(),
            variables: BTreeMap::new(),
            given_again: again.iter().map(|name| Arc::from(*name)).collect(),
            given: BTreeMap::new(),
            previous_state: Default::default(),
            prior_state: Default::default(),
            changes: Vec::new(),
            drift: Vec::new(),
            outputs: BTreeMap::new(),
            checks: BTreeMap::new(),
            steps: Vec::new(),
            providers: Vec::new(),
            functions: Default::default(),
            timestamp: String::new(),
            errored: false,
            invocations: Vec::new(),
            generated: BTreeMap::new(),
            module_outputs: BTreeMap::new(),
        };
        let values = || {
            let given = |text: &str| Given {
                form: Form::Text(text.to_owned()),
                sensitive: true,
                origin: Origin::Direct,
                place: String::new(),
                rank: rank::DIRECT,
            };
            let given = [("e", "token"), ("n", "kept")].map(|(name, text)| (name.to_owned(), given(text)));
            BTreeMap::from(given)
        };
        let files = || [(Arc::from("a.auto.tfvars"), Arc::from("f = \"filed\"\n"))];
        let found = |again: &[&str]| -> Vec<(String, String)> {
            let given = given_again(&plan(again), values(), files()).unwrap();
            let text = |value: InputValue| match value {
                InputValue::Value(value, _) => value.unmark().0.as_str().unwrap().to_string(),
                InputValue::Text(text) => text.to_string(),
            };
            let given = given.into_iter();
            given
                .map(|(name, input)| (name.to_string(), text(input.value)))
                .collect()
        };
        assert_eq!(found(&[]), []);
        let pair = |name: &str, text: &str| (name.to_owned(), text.to_owned());
        assert_eq!(found(&["e", "f"]), [pair("e", "token"), pair("f", "filed")]);
        // Where inputs are gone, what is left is taken, and the rest is not known.
        let mut some = values();
        some.retain(|name, _| name != "e");
        let left = left_over(&plan(&["e", "f"]), some, files());
        let known = |name: &str| match &left[name].value {
            InputValue::Value(value, _) => value.is_wholly_known(),
            InputValue::Text(_) => true,
        };
        assert_eq!((left.len(), known("e"), known("f")), (2, false, true));
    }

    #[test]
    fn text_is_read_by_type_and_expressions_are_expressions() {
        check("text", Form::Text("[1]".into()), Value::string("[1]"));
        check(
            "list",
            Form::Text("[1]".into()),
            Value::tuple(vec![Value::number(1)]),
        );
        check(
            "text",
            Form::Expression("\"a${1}\" # remark".into()),
            Value::string("a1"),
        );
        check(
            "any",
            Form::Json("{\"a\":true}".into()),
            Value::object([(Arc::from("a"), Value::bool(true))]),
        );
        check(
            "list",
            Form::Tfvars("list = [1]\n".into()),
            Value::tuple(vec![Value::number(1)]),
        );
        check(
            "text",
            Form::JsonObject("{\"text\":\"x\"}".into()),
            Value::string("x"),
        );
        assert!(resolved("any", Form::Expression("1)\nother = (2".into()), false).is_err());
    }

    #[test]
    fn secrets_are_marked_and_never_quoted() {
        let value = resolved("list", Form::Text("[1]".into()), true).unwrap();
        assert!(value.marks().contains(ashlar_value::Mark::Sensitive));
        let fault = resolved("list", Form::Text("hunter22 hunter22".into()), true).unwrap_err();
        assert!(!fault.contains("hunter22"), "{fault}");
    }
}
