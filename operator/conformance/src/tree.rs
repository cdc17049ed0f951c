//! Our tree in the normal form of `tests/oracle/syntax`, in which hcl's tree is written too.

use ashlar_diag::Span;
use ashlar_syntax::{
    Attribute, BinaryOp, Block, Body, Expr, ExprKind, For, JsonString, Literal, ObjectKey, Step, Traversal,
    UnaryOp,
};
use serde_json::{Value, json};

/// Is this the expected tree? A range that is not recorded (null, 0 0 or negative) may be any.
pub(crate) fn matches(expected: &Value, got: &Value) -> bool {
    let (Some(wanted), Some(found)) = (expected.as_array(), got.as_array()) else {
        return expected == got;
    };
    let is_node = wanted.first().is_some_and(Value::is_string);
    let start = wanted.get(1).and_then(Value::as_i64);
    let end = wanted.get(2).and_then(Value::as_i64);
    let unrecorded = match (start, end) {
        (Some(start), Some(end)) => start < 0 || (start == 0 && end == 0),
        _ => is_node && wanted.len() >= 3 && wanted.iter().skip(1).take(2).all(Value::is_null),
    };
    let skipped = if is_node && unrecorded { 1..3 } else { 0..0 };
    wanted.len() == found.len()
        && wanted
            .iter()
            .zip(found)
            .enumerate()
            .all(|(at, (wanted, found))| skipped.contains(&at) || matches(wanted, found))
}

/// The normal form of a body.
pub(crate) fn body(body: &Body) -> Value {
    if let Some(unread) = &body.unread {
        let properties: Vec<Value> = unread.properties().map(attribute).collect();
        return json!(["body", null, null, properties, []]);
    }
    let (start, end) = (body.span.map(|span| span.start), body.span.map(|span| span.end));
    let attributes: Vec<Value> = body.attributes.iter().map(attribute).collect();
    let blocks: Vec<Value> = body.blocks.iter().map(block).collect();
    json!(["body", start, end, attributes, blocks])
}

fn attribute(attribute: &Attribute) -> Value {
    let (name, span) = (&attribute.name, attribute.span);
    json!([
        "attribute",
        span.start,
        span.end,
        name.span.start,
        name.span.end,
        &*name.name,
        expr(&attribute.expr)
    ])
}

fn block(block: &Block) -> Value {
    let labels: Vec<Value> = block
        .labels
        .iter()
        .map(|label| json!([label.span.start, label.span.end, &*label.name]))
        .collect();
    let (kind, span) = (&block.kind, block.kind.span.to(block.close));
    json!([
        "block",
        span.start,
        span.end,
        kind.span.start,
        kind.span.end,
        &*kind.name,
        labels,
        body(&block.body)
    ])
}

/// The normal form of an expression.
pub(crate) fn expr(node: &Expr) -> Value {
    let Span { start, end, .. } = node.span;
    match &node.kind {
        ExprKind::Literal(value) => literal(value, Some(node.span)),
        ExprKind::Traversal(traversal) => path(traversal),
        ExprKind::Relative { source, steps } => steps_from(expr(source), source.span, steps),
        ExprKind::Index { collection, key, .. } => json!(["index", start, end, expr(collection), expr(key)]),
        ExprKind::Splat { source, each, .. } => json!(["splat", start, end, expr(source), expr(each)]),
        ExprKind::Item => json!(["item", start, end]),
        ExprKind::Call(call) => {
            let args: Vec<Value> = call.args.iter().map(expr).collect();
            json!(["call", start, end, &*call.name.name, args, call.expand_last])
        }
        ExprKind::Conditional { condition, yes, no } => {
            json!(["cond", start, end, expr(condition), expr(yes), expr(no)])
        }
        ExprKind::Binary { op, left, right } => {
            json!(["bin", start, end, binary_symbol(*op), expr(left), expr(right)])
        }
        ExprKind::Unary { op, operand, .. } => {
            let symbol = match op {
                UnaryOp::Negate => "-",
                UnaryOp::Not => "!",
            };
            json!(["un", start, end, symbol, expr(operand)])
        }
        ExprKind::Parens(inner) => json!(["paren", start, end, expr(inner)]),
        ExprKind::Tuple { items, .. } => {
            json!(["tuple", start, end, items.iter().map(expr).collect::<Vec<_>>()])
        }
        ExprKind::Object { items, .. } => {
            let items: Vec<Value> = items
                .iter()
                .map(|item| json!([key(&item.key), expr(&item.value)]))
                .collect();
            json!(["obj", start, end, items])
        }
        ExprKind::For(node) => for_expr(node, start, end),
        ExprKind::Template(parts) => match parts.as_slice() {
            // The record writes a template of one piece of text as that text.
            [
                Expr {
                    kind: ExprKind::Literal(text @ Literal::String(_)),
                    ..
                },
            ] => literal(text, Some(node.span)),
            parts => {
                // The record leaves out text that was trimmed to nothing.
                let some = parts.iter().filter(|part| !is_empty_text(part));
                json!(["tmpl", start, end, some.map(expr).collect::<Vec<_>>()])
            }
        },
        ExprKind::Wrap(inner) => json!(["wrap", start, end, expr(inner)]),
        ExprKind::Join(inner) => json!(["join", start, end, expr(inner)]),
        ExprKind::JsonScalar(value) => literal(value, Some(node.span)),
        ExprKind::JsonString(string) => {
            json!(["str", start, end, &**string.text(), template(string)])
        }
        ExprKind::JsonObject(object) => {
            let items: Vec<Value> = object
                .items
                .iter()
                .map(|item| json!([expr(&item.key), expr(&item.value)]))
                .collect();
            json!(["obj", start, end, items])
        }
        ExprKind::Broken => json!(["broken", start, end]),
    }
}

/// What a string in JSON is when it is evaluated: a template, or the faults in one.
fn template(string: &JsonString) -> Value {
    match string.template() {
        Ok(template) => template.map_or(Value::Null, expr),
        Err(faults) => json!(faults.iter().map(|fault| &*fault.summary).collect::<Vec<_>>()),
    }
}

fn is_empty_text(part: &Expr) -> bool {
    matches!(&part.kind, ExprKind::Literal(Literal::String(text)) if text.is_empty())
}

fn for_expr(node: &For, start: u32, end: u32) -> Value {
    json!([
        "for",
        start,
        end,
        node.key_name.as_ref().map_or("", |name| &*name.name),
        &*node.value_name.name,
        expr(&node.collection),
        node.key.as_ref().map(expr),
        expr(&node.value),
        node.condition.as_ref().map(expr),
        node.group,
    ])
}

/// The normal form of a path.
pub(crate) fn path(traversal: &Traversal) -> Value {
    let root = &traversal.root;
    steps_from(
        json!(["var", root.span.start, root.span.end, &*root.name]),
        root.span,
        &traversal.steps,
    )
}

fn steps_from(source: Value, from: Span, steps: &[Step]) -> Value {
    steps.iter().fold(source, |source, step| match step {
        Step::Attr { name, span } => json!(["attr", from.start, span.end, source, &**name]),
        Step::Index { key, span } => json!(["index", from.start, span.end, source, literal(key, None)]),
    })
}

fn key(key: &ObjectKey) -> Value {
    match key.keyword() {
        Some(word) => json!(["kid", key.expr.span.start, key.expr.span.end, word]),
        None => expr(&key.expr),
    }
}

fn literal(value: &Literal, span: Option<Span>) -> Value {
    let (start, end) = (span.map(|span| span.start), span.map(|span| span.end));
    match value {
        Literal::Null => json!(["null", start, end]),
        Literal::Bool(value) => json!(["bool", start, end, value]),
        Literal::Number(text) => json!(["num", start, end, exact(text)]),
        Literal::String(text) => json!(["str", start, end, &**text]),
    }
}

/// A number as the record writes it: significant digits without a point, then the exponent; zero is `0`.
fn exact(text: &str) -> String {
    let (sign, text) = text.strip_prefix('-').map_or(("", text), |text| ("-", text));
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{whole}{fraction}");
    let digits = digits.trim_start_matches('0');
    let significant = digits.trim_end_matches('0');
    if significant.is_empty() {
        return "0".to_owned();
    }
    let exponent: i64 = exponent.parse().unwrap_or(i64::MAX);
    let shift = i64::try_from(digits.len() - significant.len()).unwrap_or(0);
    let point = i64::try_from(fraction.len()).unwrap_or(0);
    format!(
        "{sign}{significant}e{}",
        exponent.saturating_add(shift).saturating_sub(point)
    )
}

fn binary_symbol(op: BinaryOp) -> &'static str {
    match op {
        BinaryOp::Or => "||",
        BinaryOp::And => "&&",
        BinaryOp::Equal => "==",
        BinaryOp::NotEqual => "!=",
        BinaryOp::Greater => ">",
        BinaryOp::GreaterOrEqual => ">=",
        BinaryOp::Less => "<",
        BinaryOp::LessOrEqual => "<=",
        BinaryOp::Add => "+",
        BinaryOp::Subtract => "-",
        BinaryOp::Multiply => "*",
        BinaryOp::Divide => "/",
        BinaryOp::Modulo => "%",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_digits_and_exponent() {
        let cases = [
            ("1", "1e0"),
            ("1.50", "15e-1"),
            ("0.0", "0"),
            ("1E+3", "1e3"),
            ("1230", "123e1"),
            ("1.e2", "1e2"),
            ("-1.50", "-15e-1"),
            ("-0", "0"),
        ];
        for (text, expected) in cases {
            assert_eq!(exact(text), expected);
        }
    }
}
