//! An object as the text of a resource block: what an import without configuration is given to go on with.
//!
//! The form is that of Terraform `internal/genconfig`, laid out as its formatter does. What the schema alone can set is left
//! out, and what is sensitive is not written.

use std::sync::Arc;

use ashlar_value::{
    Data, Type, Value, json, ops,
    schema::{Attribute, AttributeType, Block, NestedBlock, Nesting},
};

/// The arguments and nested blocks of `value`, one line each or more, for a body that stands two deep. With `is_state` the
/// value is an object as the provider keeps it, and what cannot be configured is left out; else it is a configuration.
/// `provider` names the provider configuration, where it must be named.
pub(crate) fn body(block: &Block, value: &Value, is_state: bool, provider: Option<&str>) -> String {
    let mut writer = Writer {
        lines: Vec::new(),
        is_state,
    };
    if let Some(provider) = provider {
        writer.assign("provider", provider, None);
    }
    writer.block(block, value, true);
    layout(&writer.lines)
}

/// One line, in the cells that are aligned with those of the lines around.
struct Line {
    lead: String,
    assign: Option<String>,
    comment: Option<&'static str>,
}

struct Writer {
    lines: Vec<Line>,
    is_state: bool,
}

impl Writer {
    fn line(&mut self, lead: impl Into<String>) {
        self.lines.push(Line {
            lead: lead.into(),
            assign: None,
            comment: None,
        });
    }

    /// `NAME = TEXT`; what goes on over more lines is not aligned with others.
    fn assign(&mut self, name: &str, text: &str, comment: Option<&'static str>) {
        let mut lines = text.split('\n');
        let first = lines.next().unwrap_or_default();
        let (lead, assign) = if brackets(first) == 0 {
            (name.to_owned(), Some(format!("= {first}")))
        } else {
            (format!("{name} = {first}"), None)
        };
        self.lines.push(Line {
            lead,
            assign,
            comment,
        });
        for line in lines {
            self.inner(line);
        }
    }

    /// A line of a value that goes over several.
    fn inner(&mut self, line: &str) {
        match member_of(line) {
            Some((name, rest)) if brackets(rest) == 0 => {
                self.lines.push(Line {
                    lead: name.to_owned(),
                    assign: Some(format!("= {rest}")),
                    comment: None,
                });
            }
            _ => self.line(line),
        }
    }

    fn block(&mut self, block: &Block, value: &Value, is_outermost: bool) {
        for (name, attribute) in &block.attributes {
            self.attribute(name, attribute, &member(value, name), is_outermost);
        }
        for (name, nested) in &block.blocks {
            if !(self.is_state && nested.block.deprecated.is_some()) {
                self.nested_block(name, nested, &member(value, name));
            }
        }
    }

    fn attribute(&mut self, name: &Arc<str>, attribute: &Attribute, value: &Value, is_outermost: bool) {
        let value = if self.is_state && is_out_of_place(name, attribute, value, is_outermost) {
            Value::null(value.ty())
        } else {
            value.clone()
        };
        if attribute.computed && value.is_null() || attribute.deprecated.is_some() {
            return;
        }
        if let AttributeType::Nested { nesting, attributes } = &attribute.ty {
            let inner = Block {
                attributes: attributes.clone(),
                ..Block::default()
            };
            return self.nested_attribute(name, *nesting, &inner, attribute.sensitive, &value);
        }
        if attribute.sensitive {
            self.assign(name, "null", Some("# sensitive"));
        } else {
            self.assign(name, &expression(&value), None);
        }
    }

    fn nested_attribute(
        &mut self,
        name: &str,
        nesting: Nesting,
        inner: &Block,
        is_sensitive: bool,
        value: &Value,
    ) {
        let is_list = matches!(nesting, Nesting::List | Nesting::Set);
        if is_sensitive {
            return self.assign(name, if is_list { "[]" } else { "{}" }, Some("# sensitive"));
        }
        if value.is_null() {
            return self.assign(name, "null", None);
        }
        match nesting {
            Nesting::Single | Nesting::Group => {
                self.line(format!("{name} = {{"));
                self.block(inner, value, false);
                self.line("}");
            }
            Nesting::List | Nesting::Set => {
                self.line(format!("{name} = ["));
                for (_, item) in ops::elements(value) {
                    self.line("{");
                    self.block(inner, &item, false);
                    self.line("},");
                }
                self.line("]");
            }
            Nesting::Map => {
                self.line(format!("{name} = {{"));
                for (key, item) in ops::elements(value) {
                    self.line(format!("{} = {{", key_text(key.as_str().map_or("", |key| key))));
                    self.block(inner, &item, false);
                    self.line("}");
                }
                self.line("}");
            }
        }
    }

    fn nested_block(&mut self, name: &str, nested: &NestedBlock, value: &Value) {
        if value.is_null() {
            return;
        }
        let mut one = |head: String, value: &Value| {
            self.line(format!("{head} {{"));
            self.block(&nested.block, value, false);
            self.line("}");
        };
        match nested.nesting {
            Nesting::Single | Nesting::Group => one(name.to_owned(), value),
            Nesting::List | Nesting::Set => {
                for (_, item) in ops::elements(value) {
                    one(name.to_owned(), &item);
                }
            }
            Nesting::Map => {
                for (key, item) in ops::elements(value) {
                    let label = quoted(key.as_str().map_or("", |key| key));
                    one(format!("{name} {label}"), &item);
                }
            }
        }
    }
}

/// Can a value of the state not be configured? Older providers keep empty text for what is not set, and add an `id`.
fn is_out_of_place(name: &str, attribute: &Attribute, value: &Value, is_outermost: bool) -> bool {
    let is_made = attribute.computed && !attribute.optional;
    let is_added_id = is_outermost && name == "id" && attribute.computed;
    attribute.deprecated.is_some()
        || is_made
        || is_added_id
        || attribute.optional && value.as_str().is_some_and(|text| text.is_empty())
}

/// A member of an object; null where there is none.
fn member(value: &Value, name: &str) -> Value {
    if value.is_null() {
        return Value::null(Type::Dynamic);
    }
    ops::get_attr(value, name).unwrap_or_else(|_| Value::null(Type::Dynamic))
}

/// A value as an expression. Text that is a document in JSON is written as what it encodes.
fn expression(value: &Value) -> String {
    let decoded = value
        .as_str()
        .and_then(|text| json::decode_implied(text.as_bytes()).ok())
        .filter(|decoded| !decoded.is_null() && !decoded.ty().is_primitive());
    match decoded {
        Some(decoded) => format!("jsonencode({})", literal(&decoded)),
        None => literal(value),
    }
}

fn literal(value: &Value) -> String {
    match value.data() {
        Data::Bool(is) => is.to_string(),
        Data::Number(number) => number.to_string(),
        Data::String(text) => quoted(text),
        Data::List(..) | Data::Set(..) | Data::Tuple(_) => {
            let items: Vec<String> = ops::elements(value).map(|(_, item)| literal(&item)).collect();
            format!("[{}]", items.join(", "))
        }
        Data::Map(..) | Data::Object(_) => {
            let members: Vec<String> = ops::elements(value)
                .map(|(key, item)| {
                    let key = key_text(key.as_str().map_or("", |key| key));
                    format!("{key} = {}\n", literal(&item))
                })
                .collect();
            if members.is_empty() {
                return "{}".to_owned();
            }
            format!("{{\n{}}}", members.concat())
        }
        Data::Null(_) | Data::Unknown(..) => "null".to_owned(),
    }
}

/// A key: a name as it is, anything else in quotes.
fn key_text(key: &str) -> String {
    if ashlar_syntax::is_identifier(key) {
        key.to_owned()
    } else {
        quoted(key)
    }
}

fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        rest = &rest[c.len_utf8()..];
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '$' | '%' if rest.starts_with('{') => {
                out.push(c);
                out.push(c);
            }
            c if c.is_control() => {
                let code = u32::from(c);
                out.push_str(&format!("\\u{code:04x}"));
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// A line `KEY = TEXT` in its two parts.
fn member_of(line: &str) -> Option<(&str, &str)> {
    let (mut is_quoted, mut is_escaped) = (false, false);
    for (at, c) in line.char_indices() {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' if is_quoted => is_escaped = true,
            '"' => is_quoted = !is_quoted,
            ' ' if !is_quoted => return Some((&line[..at], line[at..].strip_prefix(" = ")?)),
            _ => {}
        }
    }
    None
}

/// How many more brackets are opened than closed, quoted text apart.
fn brackets(text: &str) -> i32 {
    let (mut net, mut is_quoted, mut is_escaped) = (0, false, false);
    for c in text.chars() {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' if is_quoted => is_escaped = true,
            '"' => is_quoted = !is_quoted,
            '(' | '[' | '{' if !is_quoted => net += 1,
            ')' | ']' | '}' if !is_quoted => net -= 1,
            _ => {}
        }
    }
    net
}

/// Puts lines under each other: indented by brackets, equals signs and comments of neighbours aligned.
fn layout(lines: &[Line]) -> String {
    let assigned = widths(lines, |line| {
        line.assign.as_ref().map(|_| line.lead.chars().count())
    });
    let whole = |at: usize, line: &Line| {
        let assign = line.assign.as_ref().map_or(0, |text| text.chars().count());
        let lead = match assigned.get(at) {
            Some(Some(width)) => width + 1,
            _ => line.lead.chars().count(),
        };
        lead + assign
    };
    let mut at = 0;
    let commented = widths(lines, |line| {
        let width = line.comment.map(|_| whole(at, line));
        at += 1;
        width
    });
    let mut out = String::new();
    let mut open: Vec<i32> = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let assign = line.assign.as_deref().unwrap_or_default();
        let net = brackets(&line.lead) + brackets(assign);
        let mut closed = (-net).max(0);
        while let Some(last) = open.last_mut().filter(|_| closed > 0) {
            let taken = closed.min(*last);
            *last -= taken;
            closed -= taken;
            if *last == 0 {
                open.pop();
            }
        }
        let mut text = line.lead.clone();
        if let (Some(Some(width)), false) = (assigned.get(at), assign.is_empty()) {
            text = format!("{text:<0$}{assign}", width + 1);
        }
        if let (Some(Some(width)), Some(comment)) = (commented.get(at), line.comment) {
            text = format!("{text:<0$}{comment}", width + 1);
        }
        out.push_str(&"  ".repeat(open.len() + 1));
        out.push_str(&text);
        out.push('\n');
        if net > 0 {
            open.push(net);
        }
    }
    out
}

/// The greatest width among neighbours that have one, for each line.
fn widths(lines: &[Line], width: impl FnMut(&Line) -> Option<usize>) -> Vec<Option<usize>> {
    let own: Vec<Option<usize>> = lines.iter().map(width).collect();
    let mut all = own.clone();
    for group in all.chunk_by_mut(|a, b| a.is_some() == b.is_some()) {
        let most = group.iter().flatten().max().copied();
        group
            .iter_mut()
            .flatten()
            .for_each(|width| *width = most.unwrap_or(*width));
    }
    all
}

#[cfg(test)]
mod tests;
