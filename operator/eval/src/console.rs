//! One line of a console: the value as text, or the type that `type(…)` asks for.
//!
//! Source: Terraform `internal/repl/session.go`.

use ashlar_diag::{Diag, Diags};
use ashlar_syntax::Expr;
use ashlar_value::{Data, Type, Value};

use crate::{Scope, evaluate, show};

/// The attribute that holds the text in a value that stands for a type. Nothing else has this name, so such a value fits
/// nowhere but where any value does.
const TYPE: &str = "\u{0}type";

/// What `type(value)` gives.
pub(crate) fn type_of(value: &Value) -> Value {
    let mut text = String::new();
    write_type(&value.ty(), 0, &mut text);
    Value::object([(TYPE, Value::string(text))])
}

fn is_type(ty: &Type) -> bool {
    matches!(ty, Type::Object(object) if object.get(TYPE).is_some())
}

fn has_type(ty: &Type) -> bool {
    is_type(ty)
        || match ty {
            Type::List(element) | Type::Set(element) | Type::Map(element) => has_type(element),
            Type::Tuple(items) => items.iter().any(has_type),
            Type::Object(object) => object.attrs().iter().any(|attr| has_type(&attr.ty)),
            Type::Dynamic | Type::Bool | Type::Number | Type::String => false,
        }
}

/// Evaluates an expression and writes what a console prints for it, without a final newline. With errors the text is
/// empty.
pub fn evaluate_for_console(expr: &Expr, scope: &dyn Scope) -> (String, Diags) {
    let (value, mut diags) = evaluate(expr, scope);
    if diags.has_errors() {
        return (String::new(), diags);
    }
    let ty = value.ty();
    if let Data::Object(attrs) = value.data()
        && let Some(text) = attrs.get(TYPE).and_then(Value::as_str)
    {
        return (text.to_string(), diags);
    }
    if has_type(&ty) {
        let detail = "What type gives can be shown alone, not as a part of a value.";
        diags.push(Diag::error("Invalid use of type function", detail).at(expr.span));
        return (String::new(), diags);
    }
    (show(&value), diags)
}

fn indent(level: usize, out: &mut String) {
    out.extend(std::iter::repeat_n("    ", level));
}

fn write_type(ty: &Type, level: usize, out: &mut String) {
    let mut collection = |name: &str, element: &Type| {
        out.push_str(name);
        out.push('(');
        if matches!(element, Type::Object(_) | Type::Tuple(_)) {
            out.push('\n');
            indent(level + 1, out);
            write_type(element, level + 1, out);
            out.push_str(",\n");
            indent(level, out);
        } else {
            write_type(element, level, out);
        }
        out.push(')');
    };
    match ty {
        Type::Dynamic | Type::Bool | Type::Number | Type::String => out.push_str(&ty.friendly_name()),
        Type::List(element) => collection("list", element),
        Type::Set(element) => collection("set", element),
        Type::Map(element) => collection("map", element),
        Type::Tuple(items) if items.is_empty() => out.push_str("tuple([])"),
        Type::Tuple(items) => {
            out.push_str("tuple([\n");
            for item in items.iter() {
                indent(level + 1, out);
                write_type(item, level + 1, out);
                out.push_str(",\n");
            }
            indent(level, out);
            out.push_str("])");
        }
        ty if is_type(ty) => out.push_str("type"),
        Type::Object(object) if object.attrs().is_empty() => out.push_str("object({})"),
        Type::Object(object) => {
            out.push_str("object({\n");
            for attr in object.attrs() {
                indent(level + 1, out);
                out.push_str(&attr.name);
                out.push_str(": ");
                write_type(&attr.ty, level + 1, out);
                out.push_str(",\n");
            }
            indent(level, out);
            out.push_str("})");
        }
    }
}

#[cfg(test)]
mod tests {
    use ashlar_diag::Diags;
    use ashlar_funcs::Caps;
    use ashlar_value::Value;

    use super::evaluate_for_console;
    use crate::{MapScope, Reference, Scope, fixture::expr};

    /// A console of nothing.
    struct Console(MapScope);

    impl Scope for Console {
        fn lookup(&self, reference: &Reference<'_>) -> Result<Value, Diags> {
            self.0.lookup(reference)
        }

        fn caps(&self) -> &dyn Caps {
            self.0.caps()
        }

        fn dialect(&self) -> ashlar_value::Dialect {
            ashlar_value::Dialect::Terraform
        }

        fn is_console(&self) -> bool {
            true
        }
    }

    fn check(text: &str, expected: &str) {
        let (got, diags) = evaluate_for_console(&expr(text), &Console(MapScope::empty()));
        assert!(!diags.has_errors(), "{text}: {diags}");
        assert_eq!(got, expected, "{text}");
    }

    #[test]
    fn values_and_types() {
        check("[1, \"a\"]", "[\n  1,\n  \"a\",\n]");
        check("type([1, null])", "tuple([\n    number,\n    dynamic,\n])");
        check("(type({ a = {} }))", "object({\n    a: object({}),\n})");
        check("type([type(1)])", "tuple([\n    type,\n])");
        check("true ? [type(1)][0] : type(\"a\")", "number");
        check("try(type(\"a\"), 1)", "string");
    }

    #[test]
    fn a_type_is_no_part_of_a_value() {
        let refused = |text: &str, scope: &dyn Scope| {
            let (_, diags) = evaluate_for_console(&expr(text), scope);
            diags
                .iter()
                .map(|diag| diag.summary.to_string())
                .collect::<Vec<_>>()
        };
        let console = Console(MapScope::empty());
        for (text, expected) in [
            ("[type(1)]", "Invalid use of type function"),
            ("upper(type(1))", "Invalid function argument"),
            ("\"a${type(1)}\"", "Invalid template interpolation value"),
            ("type(1) + 1", "Invalid operand"),
        ] {
            assert_eq!(refused(text, &console), [expected], "{text}");
        }
        assert_eq!(
            refused("type(1)", &MapScope::empty()),
            ["Call to unknown function"]
        );
    }
}
