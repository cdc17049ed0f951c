//! Values against declarations: results, and faults by their summaries.

use super::*;
use ashlar_value::Marks;

const DECLARED: &str = r#"
variable "text" {}
variable "amount" { type = number }
variable "secret" {
  default   = "s"
  sensitive = true
}
"#;

fn text(value: &str) -> Input {
    Input {
        value: InputValue::Text(value.into()),
        origin: Origin::Direct,
    }
}

fn resolve(inputs: &[(&str, Input)]) -> (BTreeMap<Arc<str>, Value>, Vec<String>) {
    let mut sources = Sources::new();
    let (tree, diags) = crate::fixture::load_text(DECLARED, &mut sources);
    assert!(diags.is_empty(), "{diags}");
    let inputs = inputs
        .iter()
        .map(|(name, input)| (Arc::from(*name), input.clone()))
        .collect();
    let (resolved, diags) = resolve_variables(tree.root(), &inputs, Absent::Refused, &mut sources);
    let told = diags
        .iter()
        .chain(resolved.refused.values().flat_map(Diags::iter));
    let told = told.map(|diag| diag.summary.to_string()).collect();
    (resolved.values, told)
}

#[test]
fn text_is_read_by_the_type() {
    let (values, faults) = resolve(&[("text", text("5")), ("amount", text("5"))]);
    assert_eq!(faults, Vec::<String>::new());
    assert_eq!(values["text"], Value::string("5"));
    assert_eq!(values["amount"], Value::number(5));
    assert_eq!(values["secret"], Value::string("s").with_marks(Marks::SENSITIVE));
}

#[test]
fn what_lacks_or_does_not_fit_is_told() {
    assert_eq!(
        resolve(&[("amount", text("1"))]).1,
        ["No value for required variable"]
    );
    assert_eq!(
        resolve(&[("text", text("")), ("amount", text("[]"))]).1,
        ["Invalid value for input variable"]
    );
}

#[test]
fn an_undeclared_name_counts_by_its_origin() {
    let needed = [("text", text("")), ("amount", text("1"))];
    let check = |origin: Origin, names: &[&'static str], want: &[&str]| {
        let input = Input {
            value: InputValue::Text("x".into()),
            origin,
        };
        let mut inputs = needed.to_vec();
        inputs.extend(names.iter().map(|name| (*name, input.clone())));
        assert_eq!(resolve(&inputs).1, want);
    };
    check(Origin::Shared, &["a"], &[]);
    check(Origin::Direct, &["a"], &["Value for undeclared variable"]);
    let each = "Value for undeclared variable";
    check(
        Origin::File("f".into()),
        &["a", "b", "c"],
        &[each, each, "Values for undeclared variables"],
    );
}

#[test]
fn files_of_values_are_read() {
    let mut sources = Sources::new();
    let (inputs, diags) = parse_values_file("x.tfvars", "a = [1]\nb = c\n", &mut sources);
    assert_eq!(
        diags.iter().map(|diag| &*diag.summary).collect::<Vec<_>>(),
        ["Variables not allowed"]
    );
    assert!(matches!(&inputs["a"].value, InputValue::Value(value, Some(_)) if value.is_wholly_known()));
    let (_, diags) = parse_values_file("x.tfvars", "variable \"a\" {}\n", &mut sources);
    assert_eq!(
        diags.iter().map(|diag| &*diag.summary).collect::<Vec<_>>(),
        ["Variable declaration in .tfvars file"]
    );
}

#[test]
fn no_value_shows_when_inputs_are_printed() {
    assert!(!format!("{:?}", text("hunter2")).contains("hunter2"));
}
