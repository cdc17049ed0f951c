//! One line of a console: the value as text, or the type that `type(…)` asks for.
//!
//! Source: Terraform `internal/repl/session.go`.

use ashlar_diag::Diags;
use ashlar_syntax::{Expr, ExprKind};
use ashlar_value::Type;

use crate::{Scope, evaluate, show};

/// Evaluates an expression and writes what a console prints for it, without a final newline. With errors the text is
/// empty.
pub fn evaluate_for_console(expr: &Expr, scope: &dyn Scope) -> (String, Diags) {
    let asked = asks_type(expr);
    let (value, diags) = evaluate(asked.unwrap_or(expr), scope);
    let mut text = String::new();
    if !diags.has_errors() {
        match asked {
            Some(_) => write_type(&value.ty(), 0, &mut text),
            None => text = show(&value),
        }
    }
    (text, diags)
}

/// The argument of a call of `type` that is the whole expression.
fn asks_type(mut expr: &Expr) -> Option<&Expr> {
    loop {
        match &expr.kind {
            ExprKind::Parens(inner) => expr = inner,
            ExprKind::Call(call)
                if matches!(&*call.name.name, "type" | "core::type") && !call.expand_last =>
            {
                return match &*call.args {
                    [argument] => Some(argument),
                    _ => None,
                };
            }
            _ => return None,
        }
    }
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
    use super::evaluate_for_console;
    use crate::{MapScope, fixture::expr};

    fn check(text: &str, expected: &str) {
        let (got, diags) = evaluate_for_console(&expr(text), &MapScope::empty());
        assert!(!diags.has_errors(), "{text}: {diags}");
        assert_eq!(got, expected, "{text}");
    }

    #[test]
    fn values_and_types() {
        check("[1, \"a\"]", "[\n  1,\n  \"a\",\n]");
        check("type([1, null])", "tuple([\n    number,\n    dynamic,\n])");
        check("(type({ a = {} }))", "object({\n    a: object({}),\n})");
    }
}
