//! Configuration in JSON.
//!
//! The text is read into expressions at once: arrays are tuples; scalars, strings and objects are nodes of their
//! own. What a string means depends on who asks: it is a template when it is evaluated with a scope, itself
//! when without, and a reference or type where one is wanted. What is an argument and what a block only a schema knows,
//! so bodies stay [`Unread`] until there is one. Faults, their order and their places are those of hcl's `json` package.

mod parse;
mod scan;
#[cfg(test)]
mod tests;
mod tree;
mod unread;

pub use tree::{JsonItem, JsonObject, JsonString};
pub use unread::{Reading, Unread, Wanted};

use ashlar_diag::{Diag, Diags, FileId};

use crate::{
    ast::{Body, Expr, ExprKind},
    parser::broken,
};

/// Reads a whole file.
pub(crate) fn parse(text: &str, file: FileId) -> (Body, Diags) {
    let (root, mut diags) = parse::value(text, file);
    let Some(root) = root else {
        return (Body::default(), diags);
    };
    if !matches!(root.kind, ExprKind::JsonObject(_) | ExprKind::Tuple { .. }) {
        let detail = "A configuration in JSON is an object, or an array of objects.";
        diags.push(Diag::error("Root value must be object", detail).at(root.start()));
        return (Body::default(), diags);
    }
    (body(root), diags)
}

/// A body that a value stands for.
fn body(value: Expr) -> Body {
    let missing = match &value.kind {
        ExprKind::JsonObject(object) => object.close,
        _ => value.start(),
    };
    Body {
        span: Some(value.span),
        end: Some(value.span.end_point()),
        missing: Some(missing),
        unread: Some(Box::new(Unread::new(value))),
        ..Body::default()
    }
}

/// Takes the value out.
fn take(expr: &mut Expr) -> Expr {
    let empty = broken(expr.span);
    std::mem::replace(expr, empty)
}
