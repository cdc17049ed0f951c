//! Functions that put marks on values, take them off or ask for them.

use ashlar_value::{Dialect, Mark, Marks, Type, Value, ops::OpError};

use crate::{
    Args, Builtin, Code, FuncError, Rule, Ty,
    protocol::{PURE, Param, any},
};

pub(crate) const TABLE: &[Builtin] = &[
    Builtin {
        name: "ephemeralasnull",
        doc: "Replaces everything ephemeral in a value by null, so that it can be stored.",
        examples: &[r#"ephemeralasnull({ a = 1 }) == { a = 1 }"#],
        code: Code::Run(ephemeral_as_null),
        ..MARKING
    },
    Builtin {
        name: "issensitive",
        doc: "Tells whether a value as a whole is sensitive. A sensitive value is so also while it is unknown.",
        only: Some(Dialect::Terraform),
        result: Rule::Is(Ty::Bool),
        examples: &["issensitive(sensitive(1))", "!issensitive([sensitive(1)])"],
        code: Code::Run(|args| {
            let value = args.get(0);
            Ok(if value.marks().contains(Mark::Sensitive) {
                Value::bool(true)
            } else if value.is_known() {
                Value::bool(false)
            } else {
                Value::unknown(Type::Bool)
            })
        }),
        ..MARKING
    },
    Builtin {
        name: "issensitive",
        doc: "Tells whether a value as a whole is sensitive. Of an unknown value that is not known.",
        only: Some(Dialect::OpenTofu),
        result: Rule::Is(Ty::Bool),
        not_null: true,
        examples: &["issensitive(sensitive(1))", "!issensitive([sensitive(1)])"],
        code: Code::Run(|args| {
            let value = args.get(0);
            Ok(if value.is_known() {
                Value::bool(value.marks().contains(Mark::Sensitive))
            } else {
                Value::unknown(Type::Bool)
            })
        }),
        ..MARKING
    },
    Builtin {
        name: "nonsensitive",
        doc: "The value no longer sensitive as a whole; sensitive parts inside stay so.",
        examples: &["!issensitive(nonsensitive(sensitive(1)))"],
        code: Code::Run(|args| {
            let (value, marks) = args.get(0).clone().unmark();
            Ok(value.with_marks(marks.without(Mark::Sensitive)))
        }),
        ..MARKING
    },
    Builtin {
        name: "sensitive",
        doc: "The value marked as not to be shown.",
        examples: &["issensitive(sensitive(1))"],
        code: Code::Run(|args| Ok(args.get(0).clone().with_marks(Marks::SENSITIVE))),
        ..MARKING
    },
];

const VALUE: Param = any("value").unknown().dynamic().null().marked();

const MARKING: Builtin = Builtin {
    params: &[VALUE],
    result: Rule::By(|args| Ok(args.get(0).ty())),
    not_null: false,
    ..PURE
};

/// What is ephemeral and unknown stays unknown: its type may yet turn out narrower than a null could promise.
fn ephemeral_as_null(args: &Args<'_>) -> Result<Value, FuncError> {
    let value = args.get(0);
    if !value.marks_deep().contains(Mark::Ephemeral) {
        return Ok(value.clone());
    }
    let result = value.transform(&mut |_, part| {
        if !part.marks().contains(Mark::Ephemeral) {
            return Ok::<_, OpError>(part);
        }
        let marks = part.marks().without(Mark::Ephemeral);
        let ty = part.ty();
        let replaced = if part.is_known() {
            Value::null(ty)
        } else {
            Value::unknown(ty)
        };
        Ok(replaced.with_marks(marks))
    })?;
    Ok(result)
}
