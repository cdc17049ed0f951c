//! Expressions against a small scope; the wide net is the recorded oracle, these pin one rule each.

use ashlar_funcs::{Caps, CapsError, FileKind};
use ashlar_value::{Dialect, Marks, Refinement, Type, Value, ops};

use crate::{
    MapScope, evaluate, evaluate_as, evaluate_constant,
    fixture::{blamed, expr},
};

fn scope() -> MapScope {
    let unknown = |ty| Value::unknown(ty);
    let var = Value::object([
        (
            "names",
            Value::list(Type::String, vec![Value::string("ann"), Value::string("bob")]),
        ),
        ("secret", Value::string("s3cr3t").with_marks(Marks::SENSITIVE)),
        ("none", Value::null(Type::String)),
        ("one", Value::object([("a", Value::number(1i64))])),
    ]);
    let local = Value::object([
        ("text", unknown(Type::String)),
        ("flag", unknown(Type::Bool)),
        ("list", unknown(Type::list(Type::String))),
        ("any", Value::dynamic()),
    ]);
    MapScope::new([("var", var), ("local", local)])
}

/// The value, or the first fault with the text it blames.
fn check(text: &str, expected: Result<Value, &str>) {
    let (value, diags) = evaluate(&expr(text), &scope());
    match expected {
        Ok(expected) => {
            assert!(!diags.has_errors(), "{text}: {diags}");
            assert_eq!(value, expected, "{text}");
        }
        Err(expected) => assert_eq!(
            blamed(&diags, text).first().map(String::as_str),
            Some(expected),
            "{text}"
        ),
    }
}

fn number(value: i64) -> Value {
    Value::number(value)
}

#[test]
fn operators_convert_and_refuse_null() {
    check("1 + \"2\" * 3", Ok(number(7)));
    check("-var.one.a", Ok(number(-1)));
    check("1 == \"1\"", Ok(Value::bool(false)));
    check("1 + null", Err("Operation failed @ 1 + null"));
    check("1 + []", Err("Invalid operand @ []"));
    check("!3", Err("Invalid operand @ 3"));
}

#[test]
fn one_side_decides_and_or() {
    check("false && var.none.x", Ok(Value::bool(false)));
    check("var.none.x || true", Ok(Value::bool(true)));
    check("null || false", Err("Operation failed @ null || false"));
    check("null && true", Ok(Value::bool(false)));
    check(
        "local.flag && true",
        Ok(ops::refine_not_null(Value::unknown(Type::Bool))),
    );
    check(
        "var.secret == \"x\" && false",
        Ok(Value::bool(false).with_marks(Marks::SENSITIVE)),
    );
}

#[test]
fn conditionals_unify_and_report_one_arm() {
    check("true ? 1 : \"a\"", Ok(Value::string("1")));
    check("true ? 1 : var.none.x", Ok(number(1)));
    check("false ? 1 : var.one.x", Err("Unsupported attribute @ .x"));
    check("null ? 1 : 2", Err("Null condition @ null"));
    check(
        "true ? [] : {}",
        Err("Inconsistent conditional result types @ [] : {}"),
    );
    let bounds = Refinement {
        min: Some(ashlar_value::Bound {
            value: 1i64.into(),
            inclusive: true,
        }),
        max: Some(ashlar_value::Bound {
            value: 2i64.into(),
            inclusive: true,
        }),
        ..Refinement::not_null()
    };
    check(
        "local.flag ? 1 : 2",
        Ok(ops::unknown_refined(Type::Number, bounds)),
    );
    check(
        "true ? 1 : var.secret",
        Ok(Value::string("1").with_marks(Marks::SENSITIVE)),
    );
}

#[test]
fn indexing_tells_what_is_wrong() {
    check("var.names[1]", Ok(Value::string("bob")));
    check("var.names[\"0\"]", Ok(Value::string("ann")));
    check("var.names[2]", Err("Invalid index @ [2]"));
    check("var.names[1 + 1]", Err("Invalid index @ [1 + 1]"));
    check("var.none[0]", Err("Attempt to index null value @ [0]"));
    check("var.none.x", Err("Attempt to get attribute from null value @ .x"));
    check("local.list[5]", Ok(Value::unknown(Type::String)));
    check("local.any.x[3]", Ok(Value::dynamic()));
    check("{ a = 1 }[var.secret]", Err("Invalid index @ [var.secret]"));
}

#[test]
fn splats() {
    check("var.one[*].a", Ok(Value::tuple(vec![number(1)])));
    check("var.none[*]", Ok(Value::tuple(Vec::new())));
    check(
        "[{ a = 1 }, { a = 2 }][*].a",
        Ok(Value::tuple(vec![number(1), number(2)])),
    );
    check("[[1, 2]].*[0]", Ok(Value::tuple(vec![number(1), number(2)])));
    check("local.text[*]", Ok(Value::dynamic()));
    check("var.names[*].x", Err("Unsupported attribute @ .x"));
}

#[test]
fn for_expressions() {
    check(
        "[for i, n in var.names : \"${i}${n}\" if i > 0]",
        Ok(Value::tuple(vec![Value::string("1bob")])),
    );
    check(
        "{ for n in var.names : n => 1 }",
        Ok(Value::object([("ann", number(1)), ("bob", number(1))])),
    );
    check(
        "{ for n in var.names : \"x\" => n... }",
        Ok(Value::object([(
            "x",
            Value::tuple(vec![Value::string("ann"), Value::string("bob")]),
        )])),
    );
    check(
        "{ for n in var.names : \"x\" => n }",
        Err("Duplicate object key @ \"x\""),
    );
    check("[for n in null : n]", Err("Iteration over null value @ null"));
    check("[for n in 5 : n]", Err("Iteration over non-iterable value @ 5"));
    check(
        "[for n in var.names : n if null]",
        Err("Condition is null @ null"),
    );
    check("[for n in var.names : n if local.flag]", Ok(Value::dynamic()));
    // The inner name hides the outer one.
    check(
        "[for n in [1] : [for n in [2] : n]]",
        Ok(Value::tuple(vec![Value::tuple(vec![number(2)])])),
    );
}

#[test]
fn templates() {
    check("\"${1}\"", Ok(number(1)));
    check("\"a${1}\"", Ok(Value::string("a1")));
    check("\"a${null}\"", Err("Invalid template interpolation value @ null"));
    check("\"a${[]}\"", Err("Invalid template interpolation value @ []"));
    let refinement = Refinement {
        prefix: Some("id-".into()),
        ..Refinement::not_null()
    };
    check(
        "\"id-${local.text}\"",
        Ok(ops::unknown_refined(Type::String, refinement)),
    );
    check(
        "\"${var.secret}!\"",
        Ok(Value::string("s3cr3t!").with_marks(Marks::SENSITIVE)),
    );
    check(
        "\"%{ for n in var.names }${n};%{ endfor }\"",
        Ok(Value::string("ann;bob;")),
    );
}

#[test]
fn objects() {
    check("{ a = 1, a = 2 }", Ok(Value::object([("a", number(2))])));
    check("{ null = 1 }", Ok(Value::object([("null", number(1))])));
    check("{ (var.names[0]) = 1 }", Ok(Value::object([("ann", number(1))])));
    check("{ var.none = 1 }", Err("Ambiguous attribute key @ var.none"));
    check("{ (local.text) = 1 }", Ok(Value::dynamic()));
    check("{ (null) = 1 }", Err("Null value as key @ 1"));
}

#[test]
fn references_are_resolved_before_anything_is_evaluated() {
    check("true ? 1 : nope.x", Err("Unknown variable @ nope"));
    check("var", Err("Invalid reference @ var"));
    check("template.x", Err("Reserved symbol name @ template"));
}

#[test]
fn calls_that_do_not_exist() {
    check("lenghth(1)", Err("Call to unknown function @ lenghth"));
    check(
        "provider::x::f(1)",
        Err("Unknown provider function @ provider::x::f"),
    );
}

#[test]
fn constants_name_and_call_nothing() {
    let first = |text| {
        let (_, diags) = evaluate_constant(&expr(text));
        blamed(&diags, text).into_iter().next().unwrap_or_default()
    };
    assert_eq!(first("[var.x]"), "Variables not allowed @ var");
    assert_eq!(first("upper(\"x\")"), "Function calls not allowed @ upper(\"x\")");
    assert_eq!(first("[for x in [1] : x]"), "");
}

#[test]
fn a_value_of_another_type_is_blamed_on_the_expression() {
    let (value, diags) = evaluate_as(&expr("[1]"), &Type::Number, &scope());
    assert_eq!(blamed(&diags, "[1]"), ["Incorrect value type @ [1]"]);
    assert_eq!(value, Value::unknown(Type::Number));
}

#[test]
fn deep_nesting_needs_no_deep_stack() {
    for (open, close) in [
        ("[", "]"),
        ("{ a = ", " }"),
        ("true ? 1 : (", ")"),
        ("[for x in [1] : ", "]"),
        ("try(", ")"),
        ("\"a${", "}\""),
        ("-(", ")"),
    ] {
        let text = format!("{}1{}", open.repeat(80), close.repeat(80));
        let (_, diags) = evaluate(&expr(&text), &scope());
        assert!(!diags.has_errors(), "{open}: {diags}");
    }
    let sum = vec!["1"; 250].join(" + ");
    check(&sum, Ok(number(250)));
}

#[test]
fn nested_loops_end() {
    // Each level looks at its condition twice, so this would take 2^60 steps.
    let text = format!(
        "{}true{}",
        "[for x in [1] : x if can(".repeat(60),
        ")]".repeat(60)
    );
    let (_, diags) = evaluate(&expr(&text), &scope());
    assert_eq!(
        diags.iter().last().map(|diag| &*diag.summary),
        Some("Expression takes too long"),
        "{diags}"
    );
}

#[test]
fn forms_take_expressions() {
    check("try(var.none.x, 2)", Ok(number(2)));
    check(
        "try(var.none.x, var.none.y)",
        Err("Error in function call @ try("),
    );
    check("can(var.one.a)", Ok(Value::bool(true)));
    check("can(var.one.b)", Ok(Value::bool(false)));
    check("try(local.text, 1)", Ok(Value::dynamic()));
    check(
        "convert([\"1\"], list(number))",
        Ok(Value::list(Type::Number, vec![number(1)])),
    );
    check(
        "convert([1], list(string, number))",
        Err("Invalid type specification @ number"),
    );
    check("convert([], number)", Err("Invalid function argument @ ["));
    check("try([1, 2]...)", Ok(number(1)));
    check("type(1)", Err("Call to unknown function @ type"));
}

#[test]
fn a_function_of_the_other_dialect_is_unknown_and_told() {
    for (text, dialect, said) in [
        ("urldecode(\"a\")", Dialect::Terraform, "spec.dialect: OpenTofu"),
        (
            "convert(\"1\", \"x\")",
            Dialect::OpenTofu,
            "spec.dialect: Terraform",
        ),
        (
            "core::convert(\"1\", \"x\")",
            Dialect::OpenTofu,
            "--dialect terraform",
        ),
    ] {
        let (_, diags) = evaluate(&expr(text), &scope().in_dialect(dialect));
        let diag = diags.iter().next().unwrap();
        assert_eq!(diag.summary, "Call to unknown function", "{text}");
        assert!(diag.detail.contains(said), "{diag}");
        let (_, diags) = evaluate(&expr(text), &scope().in_dialect(dialect.other()));
        let unknown = diags
            .iter()
            .any(|diag| diag.summary == "Call to unknown function");
        assert!(!unknown, "{text}: {diags}");
    }
}

#[test]
fn a_function_that_only_consoles_have_is_of_no_dialect() {
    let (_, diags) = evaluate(&expr("type(1)"), &scope());
    assert!(!diags.to_string().contains("dialect"), "{diags}");
}

/// Every file is a template that renders itself.
struct Mirror;

impl Caps for Mirror {
    fn read_file(&self, _path: &str) -> Result<Vec<u8>, CapsError> {
        Ok(b"${templatefile(\"self\", {})}".to_vec())
    }

    fn file_kind(&self, _path: &str) -> Result<FileKind, CapsError> {
        Ok(FileKind::Regular)
    }

    fn list_dir(&self, _path: &str) -> Result<Vec<(String, FileKind)>, CapsError> {
        Ok(Vec::new())
    }

    fn cwd(&self) -> Result<String, CapsError> {
        Ok("/".to_owned())
    }

    fn home(&self) -> Result<String, CapsError> {
        Ok("/".to_owned())
    }

    fn timestamp(&self) -> Option<String> {
        None
    }

    fn plan_timestamp(&self) -> Option<String> {
        None
    }

    fn random(&self) -> Option<[u8; 16]> {
        None
    }
}

#[test]
fn templates_that_render_themselves_end() {
    for (text, said) in [
        ("templatefile(\"self\", {})", "nested"),
        (
            "templatestring(\"$${templatestring(t, { t = t })}\", { t = \"$${templatestring(t, { t = t })}\" })",
            "nested",
        ),
    ] {
        let scope = MapScope::with_caps::<&str>([], Mirror).in_dialect(Dialect::OpenTofu);
        let (_, diags) = evaluate(&expr(text), &scope);
        let diag = diags.iter().next().unwrap();
        assert_eq!(diag.summary, "Error in function call", "{text}");
        assert!(diag.detail.contains(said), "{diag}");
    }
}

#[test]
fn calls_blame_the_argument() {
    check("upper(\"a\", \"b\")", Err("Too many function arguments @ b"));
    check("upper()", Err("Not enough function arguments @ )"));
    check("upper([])", Err("Invalid function argument @ ["));
    check("upper(null...)", Err("Invalid expanding argument value @ null"));
    check("max(var.names...)", Err("Invalid function argument @ var.names"));
    check("min([3, 2]...)", Ok(number(2)));
    check("core::upper(var.names[0])", Ok(Value::string("ANN")));
}

#[test]
fn templates_held_elsewhere_see_their_own_names_only() {
    let var = Value::object([
        ("good", Value::string("${upper(name)}!")),
        ("bad", Value::string("${other}")),
        ("file", Value::string("${file(\"x\")}")),
    ]);
    let scope = MapScope::new([("var", var)]);
    let check = |text: &str, expected: Result<&str, &str>| {
        let (value, diags) = evaluate(&expr(text), &scope);
        match expected {
            Ok(expected) => assert_eq!(
                value.as_str().map(|text| &**text),
                Some(expected),
                "{text}: {diags}"
            ),
            Err(expected) => assert_eq!(blamed(&diags, text), [expected], "{text}"),
        }
    };
    check("templatestring(var.good, { name = \"x\" })", Ok("X!"));
    check(
        "templatestring(var.bad, { name = \"x\" })",
        Err("Invalid function argument @ {"),
    );
    check("templatestring(\"a\", {})", Err("Invalid function argument @ a"));
    check(
        "templatestring(var.file, {})",
        Err("Error in function call @ templatestring("),
    );
    check("templatefile(\"x\", {})", Err("Invalid function argument @ x"));
}

#[test]
fn texts_may_be_longer_than_a_width_of_rust() {
    for (text, length) in [
        ("length(\"a${1e74500}\")", 74_502),
        ("length(format(\"%070000d\", 1))", 70_000),
        ("length(format(\"%70000.2f\", 1))", 70_000),
        // The nearest number of 512 bits is a little less, and so has a digit less.
        ("length(format(\"%f\", 1e70000))", 70_007),
        ("length(format(\"%.70000f\", 1))", 70_002),
        ("length(format(\"%.70000e\", 1))", 70_006),
    ] {
        check(text, Ok(number(length)));
    }
}

#[test]
fn a_function_of_a_provider_that_is_not_there() {
    let told = |text: &str, dialect| {
        let scope = crate::MapScope::empty().in_dialect(dialect);
        let (_, diags) = evaluate(&crate::fixture::expr(text), &scope);
        diags
            .iter()
            .map(|diag| diag.summary.to_string())
            .collect::<Vec<_>>()
    };
    let (terraform, opentofu) = (Dialect::Terraform, Dialect::OpenTofu);
    let text = "provider::a::b(1)";
    assert_eq!(told(text, terraform), ["Unknown provider function"]);
    assert_eq!(told(text, opentofu), ["Unknown function provider"]);
    assert_eq!(
        told("provider::a(1)", opentofu),
        ["Unable to parse provider function"]
    );
    assert_eq!(told("a::b(1)", opentofu), ["Unknown function namespace"]);
    for text in ["can(provider::a::b(1))", "try(provider::a::b(1), 2)"] {
        assert!(told(text, terraform).is_empty(), "{text}");
        // There it is looked up before anything is evaluated.
        assert_eq!(told(text, opentofu), ["Unknown function provider"], "{text}");
    }
}
