//! `encode_tfvars`, `decode_tfvars` and `encode_expr` of the builtin provider.
//!
//! Source of the behaviour: Terraform 1.15.5 `internal/builtin/providers/terraform/functions.go`.

use std::{collections::BTreeMap, sync::Arc};

use ashlar_diag::{Diags, Sources};
use ashlar_eval::{evaluate_constant, only_arguments, source_text};
use ashlar_port::FunctionFault;
use ashlar_syntax::{is_identifier, parse_file};
use ashlar_value::{
    Refinement, Type, Value, ops,
    schema::{Function, Parameter},
};

/// Their signatures.
pub(super) fn signatures() -> BTreeMap<Arc<str>, Function> {
    let function = |param: &str, ty, unknown, result| Function {
        params: vec![Parameter {
            name: param.to_owned(),
            ty,
            null: false,
            unknown,
        }],
        variadic: None,
        result,
    };
    BTreeMap::from([
        (
            "decode_tfvars".into(),
            function("src", Type::String, false, Type::Dynamic),
        ),
        (
            "encode_expr".into(),
            function("value", Type::Dynamic, true, Type::String),
        ),
        (
            "encode_tfvars".into(),
            function("value", Type::Dynamic, true, Type::String),
        ),
    ])
}

/// Calls one of them.
pub(super) fn call(name: &str, args: &[Value]) -> Result<Value, FunctionFault> {
    match (name, args) {
        ("encode_tfvars", [value]) => encode_tfvars(value),
        ("decode_tfvars", [text]) => decode_tfvars(text),
        ("encode_expr", [value]) => Ok(encode_expr(value)),
        _ => Err(fault(format!(
            "the provider has no function {name:?} of {} arguments",
            args.len()
        ))),
    }
}

fn fault(message: impl Into<String>) -> FunctionFault {
    FunctionFault {
        argument: None,
        message: message.into(),
    }
}

fn encode_tfvars(value: &Value) -> Result<Value, FunctionFault> {
    if !value.is_wholly_known() {
        return Ok(ops::refine_not_null(Value::unknown(Type::String)));
    }
    let Some(entries) = value.as_entries() else {
        return Err(fault(
            "what is written must be an object or a map: its names become those of variables",
        ));
    };
    let mut text = String::new();
    for (name, value) in entries {
        if !is_identifier(name) {
            return Err(fault(format!(
                "{name:?} is no name of a variable: names begin with a letter and go on with letters, digits, underscores and \
                 dashes"
            )));
        }
        text.extend([name, " = ", &source_text(value), "\n"]);
    }
    Ok(Value::string(text))
}

fn decode_tfvars(text: &Value) -> Result<Value, FunctionFault> {
    let text = text.as_str().map(|text| &**text).unwrap_or_default();
    let mut sources = Sources::new();
    let file = sources.add("decode_tfvars", text);
    let told = |what: &str, diags: &Diags| match diags.iter().find(|diag| diag.is_error()) {
        Some(diag) => {
            let place = diag.subject.and_then(|span| sources.place(span));
            let place = place.map_or_else(String::new, |place| {
                format!(" (line {}, column {})", place.start.line, place.start.column)
            });
            Err(fault(format!("{what}: {diag}{place}")))
        }
        None => Ok(()),
    };
    let (body, diags) = parse_file(&sources, file);
    told("the text is not of the form of values for variables", &diags)?;
    let (attributes, diags) = only_arguments(body);
    told("the text holds more than values for variables", &diags)?;
    let mut values = BTreeMap::new();
    for attribute in attributes {
        let (value, diags) = evaluate_constant(&attribute.expr);
        told("a value cannot be read", &diags)?;
        values.insert(attribute.name.name, value);
    }
    Ok(Value::object_of(values))
}

fn encode_expr(value: &Value) -> Value {
    if value.is_wholly_known() {
        return Value::string(source_text(value));
    }
    // What begins the text follows from the type, unless it may be `null`.
    let start = match value.ty() {
        _ if !ops::range(value).not_null => None,
        Type::Object(_) | Type::Map(_) => Some("{"),
        Type::Tuple(_) | Type::List(_) | Type::Set(_) => Some("["),
        Type::String => Some("\""),
        Type::Dynamic | Type::Bool | Type::Number => None,
    };
    let facts = Refinement {
        prefix: start.map(Into::into),
        ..Refinement::not_null()
    };
    ops::unknown_refined(Type::String, facts)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(text: &str) -> Result<Value, String> {
        decode_tfvars(&Value::string(text)).map_err(|fault| fault.message)
    }

    #[test]
    fn values_of_variables_are_written_and_read() {
        let value = Value::object([
            ("a", Value::number(1_i64)),
            ("b", Value::tuple(vec![Value::string("x")])),
        ]);
        let text = encode_tfvars(&value).unwrap();
        assert_eq!(text.as_str().map(|text| &**text), Some("a = 1\nb = [\"x\"]\n"));
        assert_eq!(decoded("a = 1\nb = [\"x\"]\n"), Ok(value));
        assert!(encode_tfvars(&Value::object([("a b", Value::bool(true))])).is_err());
        assert!(encode_tfvars(&Value::string("x")).is_err());
    }

    #[test]
    fn faults_of_the_text_are_told_with_their_place() {
        let check = |text: &str, start: &str, end: &str| {
            let fault = decoded(text).unwrap_err();
            assert!(fault.starts_with(start) && fault.ends_with(end), "{fault}");
        };
        check("a = ", "the text is not of the form", "(line 1, column 5)");
        check("a {}\n", "the text holds more", "(line 1, column 1)");
        check("\na = var.b\n", "a value cannot be read", "(line 2, column 5)");
    }

    #[test]
    fn of_what_is_not_known_the_first_character_may_be() {
        let prefix = |value: Value| ops::range(&encode_expr(&value)).prefix;
        let known = ops::refine_not_null(Value::unknown(Type::list(Type::String)));
        assert_eq!(prefix(known).as_deref(), Some("["));
        assert_eq!(
            prefix(Value::object([("a", Value::dynamic())])).as_deref(),
            Some("{")
        );
        assert_eq!(prefix(Value::unknown(Type::String)), None);
    }
}
