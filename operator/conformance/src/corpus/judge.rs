//! One text, read twice.

use ashlar_diag::{Diags, LineColumn, Sources, Span};
use ashlar_syntax::{parse_expression, parse_file, parse_template, parse_traversal};
use serde_json::{Value, json};

use super::peer::Peer;
use crate::tree;

/// What a text is read as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Native,
    Json,
    Expression,
    Template,
    Path,
}

/// A text to be read.
#[derive(Clone)]
pub(crate) struct Text {
    /// Where it came from.
    pub(crate) name: String,
    pub(crate) kind: Kind,
    pub(crate) text: String,
}

/// What is not the same, the gravest of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum What {
    Panic,
    Verdict,
    FirstDiagnostic,
    Diagnostics,
    Ranges,
    Tree,
    PartialTree,
    /// Only columns in JSON behind odd characters, or the end of a fault in a JSON string, which hcl puts one column behind
    /// the line.
    Columns,
}

/// How the two went.
pub(crate) enum Outcome {
    Same {
        accepted: bool,
    },
    /// The text nests deeper than we read, or than this compares.
    Beyond,
    Differ(Difference),
}

/// What is not the same.
pub(crate) struct Difference {
    pub(crate) what: What,
    pub(crate) expected: String,
    pub(crate) got: String,
}

/// Reads a text by both.
pub(crate) fn judge(text: &Text, peer: &mut Peer) -> anyhow::Result<Outcome> {
    let Some(answer) = peer.ask(text)? else {
        return Ok(Outcome::Beyond);
    };
    let (tree, diagnostics) = ours(text);
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let (mut wanted, mut got) = (list(&answer.diagnostics), list(&diagnostics));
    // In JSON hcl takes a byte for a character, also at the end of the text.
    for point in points(&mut wanted).chain(points(&mut got)) {
        let byte = point[2].as_u64().and_then(|byte| usize::try_from(byte).ok());
        point[2] = json!(byte.map(|byte| text.text.ceil_char_boundary(byte)));
    }
    if got.iter().any(|diag| diag[0] == "Excessive nesting") {
        return Ok(Outcome::Beyond);
    }
    let heads = |list: &[Value]| -> Vec<_> {
        let head = |diag: &Value| (diag[0].clone(), diag[1][0][0].clone(), diag[1][0][2].clone());
        list.iter().map(head).collect()
    };
    let what = if !answer.panic.is_empty() {
        What::Panic
    } else if wanted.is_empty() != got.is_empty() {
        What::Verdict
    } else if heads(&wanted).first() != heads(&got).first() {
        What::FirstDiagnostic
    } else if heads(&wanted) != heads(&got) {
        What::Diagnostics
    } else if places(&wanted) != places(&got) {
        What::Ranges
    } else if wanted != got && tree::matches(&answer.tree, &tree) {
        What::Columns
    } else if tree::matches(&answer.tree, &tree) || text.kind == Kind::Path && !got.is_empty() {
        // What there is of a broken path nobody looks at.
        return Ok(Outcome::Same {
            accepted: wanted.is_empty(),
        });
    } else if wanted.is_empty() {
        What::Tree
    } else {
        What::PartialTree
    };
    let (expected, got) = match what {
        What::Panic => (answer.panic, String::new()),
        What::Tree | What::PartialTree => (answer.tree.to_string(), tree.to_string()),
        _ => (answer.diagnostics.to_string(), diagnostics.to_string()),
    };
    Ok(Outcome::Differ(Difference { what, expected, got }))
}

/// The diagnostics without what [`What::Columns`] tells of.
fn places(diagnostics: &[Value]) -> Vec<Value> {
    let mut diagnostics = diagnostics.to_vec();
    for diag in &mut diagnostics {
        if diag[0] == "Invalid JSON string" {
            diag[1][1] = json!([null, null, null]);
        }
    }
    for point in points(&mut diagnostics) {
        point[1] = Value::Null;
    }
    diagnostics
}

/// All starts and ends: line, column, byte.
fn points(diagnostics: &mut [Value]) -> impl Iterator<Item = &mut Value> {
    diagnostics
        .iter_mut()
        .filter_map(Value::as_array_mut)
        .flat_map(|diag| diag.iter_mut().skip(1))
        .filter_map(Value::as_array_mut)
        .flatten()
}

/// The difference in words.
pub(crate) fn explain(name: &str, text: &Text, peer: &mut Peer) -> anyhow::Result<String> {
    Ok(match judge(text, peer)? {
        Outcome::Differ(Difference { what, expected, got }) => format!(
            "{what:?} of {name} as {:?}\n  text     {:?}\n  expected {expected}\n  got      {got}",
            text.kind, text.text
        ),
        _ => format!("{name}: no difference any more in {:?}", text.text),
    })
}

fn ours(text: &Text) -> (Value, Value) {
    let mut sources = Sources::new();
    let name = if text.kind == Kind::Json {
        "case.json"
    } else {
        "case"
    };
    let file = sources.add(name, text.text.as_str());
    let (tree, diags) = match text.kind {
        Kind::Native | Kind::Json => {
            let (body, diags) = parse_file(&sources, file);
            (tree::body(&body), diags)
        }
        Kind::Expression => {
            let (expr, diags) = parse_expression(&sources, file);
            (tree::expr(&expr), diags)
        }
        Kind::Template => {
            let (expr, diags) = parse_template(&sources, file);
            (tree::expr(&expr), diags)
        }
        Kind::Path => {
            let (path, diags) = parse_traversal(&sources, file);
            (path.as_ref().map_or(Value::Null, tree::path), diags)
        }
    };
    (tree, facts(&sources, &diags))
}

fn facts(sources: &Sources, diags: &Diags) -> Value {
    let place = |span: Option<Span>| {
        let point = |at: LineColumn| json!([at.line, at.column, at.byte]);
        let place = span.and_then(|span| sources.place(span));
        place.map(|place| json!([point(place.start), point(place.end)]))
    };
    diags
        .iter()
        .map(|diag| json!([&*diag.summary, place(diag.subject), place(diag.context)]))
        .collect()
}
