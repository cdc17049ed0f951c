//! Conversions to a type, and the forms whose argument is an expression that only the evaluator can look at.

use ashlar_value::{Dialect, Value, convert};

use crate::{
    Args, Builtin, Code, FuncError, Purity, Rule, Ty,
    protocol::{PURE, Param, any, text},
};

pub(crate) const TABLE: &[Builtin] = &[
    Builtin {
        name: "can",
        doc: "Tells whether an expression can be evaluated without an error.",
        params: &[any("expression")],
        result: Rule::Is(Ty::Bool),
        examples: &[r#"!can(tonumber("a"))"#, "can([1][0])"],
        ..FORM
    },
    Builtin {
        name: "convert",
        only: Some(Dialect::Terraform),
        doc: "Converts a value to a type constraint, and completes it with the constraint's defaults.",
        params: &[any("value").dynamic().null(), any("type")],
        examples: &[r#"convert(["1"], list(number))[0] == 1"#],
        ..FORM
    },
    Builtin {
        name: "list",
        doc: "Was removed from the language; `tolist([…])` does the same.",
        variadic: Some(any("vals").unknown().dynamic().null()),
        result: Rule::By(|_| Err(gone("list", "tolist([…])"))),
        code: Code::Run(|_| Err(gone("list", "tolist([…])"))),
        examples: &["!can(list(1))"],
        ..CONVERSION
    },
    Builtin {
        name: "map",
        doc: "Was removed from the language; `tomap({…})` does the same.",
        variadic: Some(any("vals").unknown().dynamic().null()),
        result: Rule::By(|_| Err(gone("map", "tomap({…})"))),
        code: Code::Run(|_| Err(gone("map", "tomap({…})"))),
        examples: &[r#"!can(map("a", 1))"#],
        ..CONVERSION
    },
    Builtin {
        name: "templatefile",
        doc: "Renders a template file with the given variables. The template may call functions, but not those that render \
              templates.",
        only: Some(Dialect::Terraform),
        params: &[text("path").unknown().marked(), any("vars").unknown().marked()],
        purity: Purity::Files,
        examples: &[r#"!can(templatefile("no/such/file", {}))"#],
        ..FORM
    },
    Builtin {
        name: "templatefile",
        doc: "Renders a template file with the given variables. The template may call functions, and so render further \
              templates.",
        only: Some(Dialect::OpenTofu),
        params: &[text("path").unknown().marked(), any("vars").unknown().marked()],
        purity: Purity::Files,
        examples: &[r#"!can(templatefile("no/such/file", {}))"#],
        ..FORM
    },
    Builtin {
        name: "templatestring",
        doc: "Renders a template that another object gives as a string, with the given variables; no files are read.",
        only: Some(Dialect::Terraform),
        params: &[text("template"), any("vars")],
        result: Rule::Is(Ty::String),
        not_null: true,
        examples: &[r#"!can(templatestring("literal", {}))"#],
        ..FORM
    },
    Builtin {
        name: "templatestring",
        doc: "Renders a string as a template with the given variables; the template may call any function.",
        only: Some(Dialect::OpenTofu),
        params: &[text("data").unknown().marked(), any("vars").unknown().marked()],
        examples: &[
            r#"templatestring("Hello, $${name}!", { name = "Ann" }) == "Hello, Ann!""#,
            r#"templatestring("$${n}", { n = [1] }) == [1]"#,
        ],
        ..FORM
    },
    Builtin {
        name: "tobool",
        doc: "Converts a value to bool: true, false and the strings of these names.",
        params: &[V],
        result: Rule::Is(Ty::Bool),
        examples: &[r#"tobool("true") == true"#, r#"!can(tobool("yes"))"#],
        code: Code::Run(|args| to(args, Ty::Bool)),
        ..CONVERSION
    },
    Builtin {
        name: "tolist",
        doc: "Converts a value to a list, its elements to one type.",
        params: &[V],
        result: Rule::Is(Ty::List(&Ty::Any)),
        examples: &[r#"tolist(["a", 3])[1] == "3""#],
        code: Code::Run(|args| to(args, Ty::List(&Ty::Any))),
        ..CONVERSION
    },
    Builtin {
        name: "tomap",
        doc: "Converts a value to a map, its elements to one type.",
        params: &[V],
        result: Rule::Is(Ty::Map(&Ty::Any)),
        examples: &[r#"tomap({ a = "foo", b = true })["b"] == "true""#],
        code: Code::Run(|args| to(args, Ty::Map(&Ty::Any))),
        ..CONVERSION
    },
    Builtin {
        name: "tonumber",
        doc: "Converts a value to a number.",
        params: &[V],
        result: Rule::Is(Ty::Number),
        examples: &[r#"tonumber("1.5") == 1.5"#, r#"!can(tonumber("no"))"#],
        code: Code::Run(|args| to(args, Ty::Number)),
        ..CONVERSION
    },
    Builtin {
        name: "toset",
        doc: "Converts a value to a set, its elements to one type.",
        params: &[V],
        result: Rule::Is(Ty::Set(&Ty::Any)),
        examples: &[r#"length(toset(["a", "b", "a"])) == 2"#],
        code: Code::Run(|args| to(args, Ty::Set(&Ty::Any))),
        ..CONVERSION
    },
    Builtin {
        name: "tostring",
        doc: "Converts a value to a string.",
        params: &[V],
        result: Rule::Is(Ty::String),
        examples: &[r#"tostring(1) == "1""#, r#"tostring(true) == "true""#],
        code: Code::Run(|args| to(args, Ty::String)),
        ..CONVERSION
    },
    Builtin {
        name: "try",
        doc: "The value of the first expression that can be evaluated without an error.",
        variadic: Some(any("expressions")),
        examples: &[r#"try(tonumber("a"), 2) == 2"#],
        ..FORM
    },
    Builtin {
        name: "type",
        doc: "The type of a value; only in the console.",
        params: &[any("value").unknown().dynamic().null()],
        ..FORM
    },
];

const CONVERSION: Builtin = Builtin {
    not_null: false,
    ..PURE
};

/// Entries that the evaluator carries out.
const FORM: Builtin = Builtin {
    code: Code::Form,
    ..CONVERSION
};

const V: Param = any("v").dynamic().unknown().null().marked();

fn gone(name: &str, instead: &str) -> FuncError {
    FuncError::call(format!(
        "the function {name:?} is no longer part of the language; write {instead} instead"
    ))
}

/// An unknown value loses its refinements here, as in Terraform.
fn to(args: &Args<'_>, ty: Ty) -> Result<Value, FuncError> {
    let value = args.get(0);
    let wanted = ty.to_type();
    let converted = convert(value, &wanted).map_err(|error| FuncError::from(error).at(0))?;
    if value.is_known() {
        return Ok(converted);
    }
    Ok(Value::unknown(wanted).with_marks(value.marks()))
}
