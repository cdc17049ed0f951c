//! Expressions in places where nothing is evaluated: lists, references and keywords as they are written. In JSON a string
//! stands for what it holds.
//!
//! Rules: hcl `ExprList`, `ExprMap`, `AbsTraversalForExpr`; Terraform `configs/compat_shim.go` for references in quotes.

use std::borrow::Cow;

use ashlar_diag::{Diag, Diags, Sources, Span};
use ashlar_eval::evaluate_constant;
use ashlar_syntax::{Expr, ExprKind, Step, Traversal, parse_traversal};

const INVALID: &str = "Invalid expression";

/// The elements of a list that is written out.
pub(crate) fn list(expr: &Expr) -> Result<&[Expr], Diag> {
    match &expr.kind {
        ExprKind::Tuple { items, .. } => Ok(items),
        _ => Err(Diag::error(INVALID, "A list must be written out here: [a, b].").at(expr.start())),
    }
}

/// An item of an object that is written out.
pub(crate) struct Item<'e> {
    /// The key, if it is a bare word.
    pub(crate) word: Option<&'e str>,
    /// The key.
    pub(crate) key: &'e Expr,
    /// The value.
    pub(crate) value: &'e Expr,
}

/// The items of an object that is written out; `None` for what is none.
pub(crate) fn items(expr: &Expr) -> Option<Vec<Item<'_>>> {
    match &expr.kind {
        ExprKind::Object { items, .. } => {
            let items = items.iter().map(|item| Item {
                word: item.key.keyword(),
                key: &item.key.expr,
                value: &item.value,
            });
            Some(items.collect())
        }
        ExprKind::JsonObject(object) => {
            let items = object.items.iter().map(|item| Item {
                word: None,
                key: &item.key,
                value: &item.value,
            });
            Some(items.collect())
        }
        _ => None,
    }
}

/// A static reference; also a lone keyword, which is a reference by its form.
pub(crate) fn traversal(expr: &Expr) -> Result<Traversal, Diag> {
    expr.as_traversal().ok_or_else(|| {
        let detail = "Only a reference can stand here: names, attributes and constant keys. No calls, no templates, no \
                      calculations.";
        Diag::error(INVALID, detail).at(expr.span)
    })
}

/// As [`traversal`]; the old form in quotes is understood, with a warning.
pub(crate) fn reference(expr: &Expr, diags: &mut Diags) -> Option<Traversal> {
    if let Some(found) = quoted(expr, "references", diags) {
        return found;
    }
    match traversal(expr) {
        Ok(traversal) => Some(traversal),
        Err(diag) => {
            diags.push(diag);
            None
        }
    }
}

/// A bare word; the old form in quotes is understood, with a warning.
pub(crate) fn keyword<'e>(expr: &'e Expr, diags: &mut Diags) -> Option<Cow<'e, str>> {
    match quoted(expr, "keywords", diags) {
        Some(found) => {
            let found = found.filter(|traversal| traversal.steps.is_empty())?;
            Some(Cow::Owned(found.root.name.to_string()))
        }
        None => expr.keyword().map(Cow::Borrowed),
    }
}

/// An expression that stands in a string where the syntax is JSON, and for itself elsewhere.
pub(crate) fn in_json(expr: &Expr, diags: &mut Diags) -> Option<Expr> {
    match expr.in_json_string() {
        None if expr.is_json() => {
            let detail = "A string that holds a reference is expected here.";
            diags.push(Diag::error("Invalid reference expression", detail).at(expr.span));
            None
        }
        None => Some(expr.clone()),
        Some((inner, faults)) => {
            diags.extend(faults);
            Some(inner)
        }
    }
}

/// The reference in a quoted string. `None` if it is no constant string; `Some(None)` if the string is no reference.
fn quoted(expr: &Expr, what: &str, diags: &mut Diags) -> Option<Option<Traversal>> {
    if !is_quoted(expr) {
        return None;
    }
    let (value, faults) = evaluate_constant(expr);
    let text = value.as_str().filter(|_| !faults.has_errors())?;
    let mut sources = Sources::new();
    let file = sources.add("", text.clone());
    let (mut found, faults) = parse_traversal(&sources, file);
    // As if the text began right after the quote; an escape before the place shifts it, as in Terraform.
    let place = |span: Span| Span {
        file: expr.span.file,
        start: span.start + expr.span.start + 1,
        end: span.end + expr.span.start + 1,
    };
    diags.extend(faults.map(|mut diag| {
        diag.subject = diag.subject.map(place);
        diag.context = diag.context.map(place);
        diag
    }));
    if let Some(traversal) = &mut found {
        traversal.root.span = place(traversal.root.span);
        for step in &mut traversal.steps {
            match step {
                Step::Attr { span, .. } | Step::Index { span, .. } => *span = place(*span),
            }
        }
    }
    let summary = format!("Quoted {what} are deprecated");
    diags.push(Diag::warning(summary, "Write this without quotes.").at(expr.span));
    Some(found)
}

/// Is it a quoted string or template (and not just one interpolation)?
pub(crate) fn is_quoted(expr: &Expr) -> bool {
    matches!(expr.kind, ExprKind::Template(_))
}
