//! The `syntax` cases: a source text, and hclsyntax's tree or diagnostics for it; in JSON, hcl's diagnostics.
//!
//! Our tree is put into the normal form that the cases are written in; nothing is left out of the comparison but the
//! ranges that the record leaves out itself.

use std::path::Path;

use anyhow::Context;
use ashlar_diag::{Sources, Span};
use ashlar_syntax::{
    BinaryOp, Block, Body, Expr, ExprKind, For, Literal, ObjectKey, Step, Traversal, UnaryOp, parse_file,
};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::report::{Miss, Report};

#[derive(Deserialize)]
struct Case {
    id: String,
    source: String,
    accept: bool,
    tree: Option<Value>,
    diagnostics: Option<Vec<Recorded>>,
}

#[derive(Deserialize, PartialEq, Eq, Debug)]
struct Recorded {
    summary: String,
    line: usize,
    column: usize,
    byte: usize,
}

/// The files of cases, with the name that each of their sources has.
const FILES: [(&str, &str); 2] = [("edges.jsonl", "case.tf"), ("json.jsonl", "case.tf.json")];

/// Runs every case under `cases`.
pub(crate) fn run(cases: &Path, report: &mut Report) -> anyhow::Result<()> {
    let files = FILES.map(|(file, source)| (cases.join(file), source));
    let there: Vec<_> = files.iter().filter(|(path, _)| path.is_file()).collect();
    anyhow::ensure!(!there.is_empty(), "there are no cases in {}", cases.display());
    for (path, source) in there {
        run_file(path, source, report)?;
    }
    Ok(())
}

fn run_file(path: &Path, name: &str, report: &mut Report) -> anyhow::Result<()> {
    let text = std::fs::read_to_string(path).with_context(|| format!("reading {}", path.display()))?;
    for (at, line) in text.lines().enumerate() {
        let case: Case = serde_json::from_str(line).with_context(|| format!("line {}", at + 1))?;
        if report.wants(&case.id) {
            let group = case.id.rsplit_once('/').map_or("", |(group, _)| group);
            report.case(group, &case.id, judge(name, &case));
        }
    }
    Ok(())
}

fn judge(name: &str, case: &Case) -> Result<(), Miss> {
    let mut sources = Sources::new();
    let file = sources.add(name, case.source.as_str());
    let (parsed, diags) = parse_file(&sources, file);
    let got: Vec<Recorded> = diags
        .iter()
        .map(|diag| {
            let start = diag
                .subject
                .and_then(|span| sources.place(span))
                .map(|place| place.start);
            let (line, column, byte) =
                start.map_or((0, 0, 0), |start| (start.line, start.column, start.byte));
            Recorded {
                summary: diag.summary.to_string(),
                line,
                column,
                byte,
            }
        })
        .collect();
    let expected = case.diagnostics.as_deref().unwrap_or(&[]);
    if case.accept == diags.has_errors() || got != expected {
        return Err(Miss::new(format!("{expected:?}"), format!("{got:?}")));
    }
    let Some(tree) = &case.tree else { return Ok(()) };
    let mut expected = tree.clone();
    drop_unrecorded(&mut expected);
    let got = body(&parsed);
    if expected == got {
        Ok(())
    } else {
        Err(Miss::new(expected.to_string(), got.to_string()))
    }
}

/// Ranges that the record leaves out (0 0 or negative) become null, as in our normal form.
fn drop_unrecorded(node: &mut Value) {
    let Some(parts) = node.as_array_mut() else { return };
    let is_node = parts.first().is_some_and(Value::is_string);
    let start = parts.get(1).and_then(Value::as_i64);
    let end = parts.get(2).and_then(Value::as_i64);
    if let (true, Some(start), Some(end)) = (is_node, start, end)
        && (start < 0 || (start == 0 && end == 0))
    {
        for place in parts.iter_mut().skip(1).take(2) {
            *place = Value::Null;
        }
    }
    parts.iter_mut().for_each(drop_unrecorded);
}

fn body(body: &Body) -> Value {
    let attributes: Vec<Value> = body
        .attributes
        .iter()
        .map(|attribute| {
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
        })
        .collect();
    let blocks: Vec<Value> = body.blocks.iter().map(block).collect();
    json!(["body", null, null, attributes, blocks])
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

fn expr(node: &Expr) -> Value {
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
        // Of another syntax; no case holds them.
        ExprKind::JsonScalar(_) | ExprKind::JsonString(_) | ExprKind::JsonObject(_) | ExprKind::Broken => {
            json!(["broken", start, end])
        }
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

fn path(traversal: &Traversal) -> Value {
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
        "{significant}e{}",
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
    fn every_recorded_case_passes() {
        let cases = ashlar_xtask::layout::root().join("tests/oracle/syntax");
        for (file, name) in FILES {
            let text = std::fs::read_to_string(cases.join(file)).unwrap();
            for line in text.lines() {
                let case: Case = serde_json::from_str(line).unwrap();
                if let Err(miss) = judge(name, &case) {
                    panic!("{}: expected {}, got {}", case.id, miss.expected, miss.got);
                }
            }
        }
    }

    #[test]
    fn numbers_are_written_as_digits_and_exponent() {
        let cases = [
            ("1", "1e0"),
            ("1.50", "15e-1"),
            ("0.0", "0"),
            ("1E+3", "1e3"),
            ("1230", "123e1"),
            ("1.e2", "1e2"),
        ];
        for (text, expected) in cases {
            assert_eq!(exact(text), expected);
        }
    }
}
