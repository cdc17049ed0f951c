//! A value as text in the language's own syntax, with calls where a type would not show (`tolist([…])`): what the
//! console prints.
//!
//! Never shows what a marked value holds. Source: Terraform `internal/repl/format.go`.

use std::fmt::Write as _;

use ashlar_value::{Data, Mark, Type, Value, ops};

/// The value in the syntax of the language, without a final newline.
pub fn show(value: &Value) -> String {
    let mut out = String::new();
    write(value, 0, &mut out);
    out
}

fn write(value: &Value, indent: usize, out: &mut String) {
    if !value.is_known() {
        return out.push_str("(known after apply)");
    }
    if value.marks().contains(Mark::Sensitive) {
        return out.push_str("(sensitive value)");
    }
    if value.marks().contains(Mark::Ephemeral) {
        return out.push_str("(ephemeral value)");
    }
    match value.data() {
        Data::Null(ty) => out.push_str(&null(ty)),
        Data::Unknown(..) => {}
        Data::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
        Data::Number(number) => {
            let _ = write!(out, "{number}");
        }
        Data::String(text) if text.contains('\n') => heredoc(text, indent, out),
        Data::String(text) => write_quoted(text, out),
        Data::List(..) => call("tolist(", sequence, value, indent, out),
        Data::Set(..) => call("toset(", sequence, value, indent, out),
        Data::Map(..) => call("tomap(", mapping, value, indent, out),
        Data::Tuple(_) => sequence(value, indent, out),
        Data::Object(_) => mapping(value, indent, out),
    }
}

fn call(name: &str, inside: fn(&Value, usize, &mut String), value: &Value, indent: usize, out: &mut String) {
    out.push_str(name);
    inside(value, indent, out);
    out.push(')');
}

fn null(ty: &Type) -> String {
    match ty {
        Type::Dynamic => "null".to_owned(),
        Type::String => "tostring(null)".to_owned(),
        Type::Number => "tonumber(null)".to_owned(),
        Type::Bool => "tobool(null)".to_owned(),
        Type::List(element) => format!("tolist(null) /* of {} */", element.friendly_name()),
        Type::Set(element) => format!("toset(null) /* of {} */", element.friendly_name()),
        Type::Map(element) => format!("tomap(null) /* of {} */", element.friendly_name()),
        Type::Tuple(_) | Type::Object(_) => format!("null /* {} */", ty.friendly_name()),
    }
}

fn line(indent: usize, out: &mut String) {
    out.push('\n');
    out.extend(std::iter::repeat_n(' ', indent));
}

fn sequence(value: &Value, indent: usize, out: &mut String) {
    out.push('[');
    let items = value.as_items().unwrap_or_default();
    for item in items {
        line(indent + 2, out);
        write(item, indent + 2, out);
        out.push(',');
    }
    if !items.is_empty() {
        line(indent, out);
    }
    out.push(']');
}

fn mapping(value: &Value, indent: usize, out: &mut String) {
    out.push('{');
    let mut any = false;
    for (key, item) in ops::elements(value) {
        any = true;
        line(indent + 2, out);
        write(&key, indent + 2, out);
        out.push_str(" = ");
        write(&item, indent + 2, out);
    }
    if any {
        line(indent, out);
    }
    out.push('}');
}

/// The end marker is lengthened until no line equals it.
fn heredoc(text: &str, indent: usize, out: &mut String) {
    let mut marker = "EOT".to_owned();
    while text.split('\n').any(|line| line.trim() == marker) {
        marker.push('_');
    }
    out.push_str(if indent > 0 { "<<-" } else { "<<" });
    out.push_str(&marker);
    for part in text.split('\n') {
        line(indent, out);
        out.push_str(part);
    }
    line(indent, out);
    out.push_str(&marker);
}

/// The text on one line between quotes, as Go's `strconv.Quote` has it: nothing unprintable is left.
pub fn quote(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    write_quoted(text, &mut out);
    out
}

fn write_quoted(text: &str, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{7}' => out.push_str("\\a"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{b}' => out.push_str("\\v"),
            c if is_printable(c) => out.push(c),
            c => {
                let code = u32::from(c);
                let _ = match code {
                    0..0x80 => write!(out, "\\x{code:02x}"),
                    0x80..0x1_0000 => write!(out, "\\u{code:04x}"),
                    _ => write!(out, "\\U{code:08x}"),
                };
            }
        }
    }
    out.push('"');
}

/// Near enough to Go's `unicode.IsPrint`: the standard library's own idea of what needs no escape, but for spaces.
pub(crate) fn is_printable(c: char) -> bool {
    c == ' ' || (!c.is_whitespace() && (matches!(c, '\'') || c.escape_debug().count() == 1))
}

#[cfg(test)]
mod tests {
    use super::show;
    use ashlar_value::{Marks, Type, Value};

    fn check(value: &Value, expected: &str) {
        assert_eq!(show(value), expected);
    }

    #[test]
    fn types_that_do_not_show_are_named() {
        check(
            &Value::list(Type::String, vec![Value::string("a")]),
            "tolist([\n  \"a\",\n])",
        );
        check(&Value::null(Type::String), "tostring(null)");
        check(
            &Value::object([("b", Value::number(1i64)), ("a", Value::bool(true))]),
            "{\n  \"a\" = true\n  \"b\" = 1\n}",
        );
        check(&Value::tuple(Vec::new()), "[]");
    }

    #[test]
    fn marked_values_are_not_shown() {
        check(
            &Value::tuple(vec![Value::string("x").with_marks(Marks::SENSITIVE)]),
            "[\n  (sensitive value),\n]",
        );
    }

    #[test]
    fn text_of_several_lines_is_a_heredoc() {
        check(&Value::string("a\nEOT\n"), "<<EOT_\na\nEOT\n\nEOT_");
    }
}
