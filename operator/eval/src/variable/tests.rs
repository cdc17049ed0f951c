//! Declarations, values and validations of input variables.

use ashlar_diag::{Diags, Sources};
use ashlar_value::{Marks, Type, Value};

use crate::{
    Given, MapScope, ParseMode, Variable,
    fixture::{blamed, body},
};

fn read(text: &str) -> (Variable, Vec<String>) {
    let body = body(text);
    let (variable, diags) = Variable::read(&body.blocks[0]);
    (variable.unwrap(), blamed(&diags, text))
}

fn check_faults(text: &str, expected: &[&str]) {
    assert_eq!(read(text).1, expected, "{text}");
}

#[test]
fn declarations_are_checked() {
    check_faults("variable \"v\" {\n}", &[]);
    check_faults("variable \"count\" {\n}", &["Invalid variable name @ \"count\""]);
    check_faults(
        "variable \"v\" {\n  type = \"string\"\n}",
        &["Invalid quoted type constraints @ \"string\""],
    );
    check_faults(
        "variable \"v\" {\n  type = \"x\"\n}",
        &["Invalid legacy variable type hint @ \"x\""],
    );
    check_faults(
        "variable \"v\" {\n  type = number\n  default = \"x\"\n}",
        &["Invalid default value for variable @ \"x\""],
    );
    check_faults(
        "variable \"v\" {\n  nullable = false\n  default = null\n}",
        &["Invalid default value for variable @ null"],
    );
    check_faults(
        "variable \"v\" {\n  sensitive = 3\n}",
        &["Unsuitable value type @ 3"],
    );
    check_faults(
        "variable \"v\" {\n  typ = string\n}",
        &["Unsupported argument @ typ"],
    );
    check_faults(
        "variable \"v\" {\n  const = true\n  ephemeral = true\n}",
        &["Const variable cannot be ephemeral @ variable \"v\""],
    );
    check_faults(
        "variable \"v\" {\n  validation {\n    condition = var.w == 1\n    error_message = \"No.\"\n  }\n}",
        &["Invalid variable validation condition @ var.w == 1"],
    );
}

/// The value given (as an expression, or none), or the fault.
fn check_value(declared: &str, given: Option<Value>, expected: Result<Value, &str>) {
    let (variable, faults) = read(&format!("variable \"v\" {{\n{declared}\n}}"));
    assert_eq!(faults, [] as [&str; 0], "{declared}");
    let given = given.map(|value| Given { value, place: None });
    let (value, diags) = variable.value(given.as_ref());
    match expected {
        Ok(expected) => {
            assert!(!diags.has_errors(), "{declared}: {diags}");
            assert_eq!(variable.marked(value), expected, "{declared}");
        }
        Err(summary) => assert_eq!(diags.iter().next().unwrap().summary, summary, "{declared}"),
    }
}

#[test]
fn values_are_converted_and_null_is_dealt_with() {
    let null = || Some(Value::null(Type::Dynamic));
    check_value("type = number", Some(Value::string("5")), Ok(Value::number(5i64)));
    check_value(
        "type = number",
        Some(Value::string("x")),
        Err("Invalid value for input variable"),
    );
    check_value("type = number", None, Err("Required variable not set"));
    check_value("type = number\ndefault = 1", None, Ok(Value::number(1i64)));
    check_value(
        "type = number\ndefault = 1",
        null(),
        Ok(Value::null(Type::Number)),
    );
    check_value(
        "type = number\nnullable = false\ndefault = 1",
        null(),
        Ok(Value::number(1i64)),
    );
    check_value(
        "type = number\nnullable = false",
        null(),
        Err("Required variable not set"),
    );
    check_value(
        "type = object({ a = optional(string, \"d\") })",
        Some(Value::object::<&str>([])),
        Ok(Value::object([("a", Value::string("d"))])),
    );
    check_value(
        "sensitive = true",
        Some(Value::bool(true)),
        Ok(Value::bool(true).with_marks(Marks::SENSITIVE)),
    );
    check_value(
        "",
        Some(Value::bool(true).with_marks(Marks::EPHEMERAL)),
        Err("Ephemeral value not allowed"),
    );
}

#[test]
fn text_is_read_by_type() {
    let check = |declared: &str, mode: ParseMode, text: &str, expected: Result<Value, &str>| {
        let (variable, _) = read(&format!("variable \"v\" {{\n{declared}\n}}"));
        assert_eq!(variable.parse, mode, "{declared}");
        let (value, diags) = variable.parse_text(text, &mut Sources::new());
        match expected {
            Ok(expected) => assert_eq!(value, expected, "{declared}"),
            Err(summary) => assert_eq!(diags.iter().next().unwrap().summary, summary, "{declared}"),
        }
    };
    check(
        "type = number",
        ParseMode::Literal,
        "[1]",
        Ok(Value::string("[1]")),
    );
    check("", ParseMode::Literal, "[1]", Ok(Value::string("[1]")));
    check(
        "type = any",
        ParseMode::Expression,
        "[1]",
        Ok(Value::tuple(vec![Value::number(1i64)])),
    );
    check(
        "type = any",
        ParseMode::Expression,
        "x",
        Err("Variables not allowed"),
    );
    check(
        "type = list(string)",
        ParseMode::Expression,
        "a b",
        Err("Extra characters after expression"),
    );
}

#[test]
fn validations_tell_their_message() {
    let check = |value: Value, condition: &str, message: &str, expected: &[&str]| {
        let text = format!(
            "variable \"v\" {{\n  validation {{\n    condition = {condition}\n    error_message = {message}\n  }}\n}}"
        );
        let (variable, faults) = read(&text);
        assert_eq!(faults, [] as [&str; 0], "{text}");
        let scope = MapScope::new([("var", Value::object([("v", value)]))]);
        let rules = variable.validations.iter();
        let diags: Diags = rules
            .flat_map(|rule| rule.validate_variable(&scope, variable.declared))
            .collect();
        let told: Vec<String> = diags
            .iter()
            .map(|diag| format!("{}: {}", diag.summary, diag.detail))
            .collect();
        assert_eq!(told.len(), expected.len(), "{condition}: {told:?}");
        for (told, expected) in told.iter().zip(expected) {
            assert!(told.starts_with(expected), "{condition}: {told}");
        }
    };
    let text = || Value::string("a");
    check(text(), "var.v == \"a\"", "\"No.\"", &[]);
    check(
        text(),
        "var.v == \"b\"",
        "\"No ${var.v}.\"",
        &["Invalid value for variable: No a."],
    );
    check(Value::unknown(Type::String), "var.v == \"b\"", "\"No.\"", &[]);
    check(
        text(),
        "var.v",
        "\"No.\"",
        &["Invalid variable validation result"],
    );
    let secret = text().with_marks(Marks::SENSITIVE);
    check(
        secret,
        "var.v == \"b\"",
        "\"No ${var.v}.\"",
        &[
            "Error message refers to sensitive values",
            "Invalid value for variable: The error message included a sensitive value, so it will not be displayed.",
        ],
    );
}
