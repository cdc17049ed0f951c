//! YAML: `yamlencode` writes exactly Terraform's text, `yamldecode` reads one document with YAML 1.1 scalars.

mod decode;
mod encode;
mod scalar;

use ashlar_value::{Type, Value};

use crate::{
    Args, Builtin, Code, FuncError, Rule, Ty,
    protocol::{CELL, PURE, any, text},
};

pub(crate) const TABLE: &[Builtin] = &[
    Builtin {
        name: "yamldecode",
        doc: "The value that a YAML document stands for.",
        params: &[text("src")],
        result: Rule::By(|_| Ok(Type::Dynamic)),
        not_null: false,
        examples: &[
            r#"yamldecode("hello: [1, ~, yes]") == { hello = [1, null, true] }"#,
            r#"yamldecode("a: &x {k: v}\nb: {<<: *x, z: 1}").b == { k = "v", z = 1 }"#,
        ],
        code: Code::Run(decode),
        ..PURE
    },
    Builtin {
        name: "yamlencode",
        doc: "A value as a YAML document in block style.",
        params: &[any("value").null().dynamic()],
        result: Rule::Is(Ty::String),
        not_null: false,
        examples: &[r#"yamlencode({ a = [1, "x"] }) == "\"a\":\n- 1\n- \"x\"\n""#],
        code: Code::Run(encode),
        ..PURE
    },
];

fn decode(args: &Args<'_>) -> Result<Value, FuncError> {
    let text = args.text(0)?;
    // Each value ends at one of these or at the end; aliases share what they stand for.
    let ends = text.bytes().filter(|byte| b"\n,:[{?-".contains(byte)).count() + 1;
    args.reserve(text.len().saturating_add(ends.saturating_mul(CELL)))?;
    decode::decode(text).map_err(FuncError::call)
}

fn encode(args: &Args<'_>) -> Result<Value, FuncError> {
    let value = args.get(0);
    Ok(if value.is_wholly_known() {
        Value::string(encode::encode(value))
    } else {
        Value::unknown(Type::String)
    })
}
