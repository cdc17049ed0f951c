//! From a path inside a block's value to the place in source that gave it, so that a provider's diagnostics point at
//! the user's text.
//!
//! Source: Terraform `tfdiags/contextual.go`, which goes as far as attributes; here object and tuple constructors are
//! entered too.

use ashlar_diag::Span;
use ashlar_syntax::{Body, Expr, ExprKind, Literal};
use ashlar_value::{Path, PathStep};

/// The place of what the path names, or of the nearest thing around it that stands in source. `None` where the body has no place.
pub fn locate(body: &Body, path: &Path) -> Option<Span> {
    let mut body = body.as_read();
    let mut steps = path.0.as_slice();
    loop {
        let (PathStep::Attr(name), rest) = steps.split_first()? else {
            return None;
        };
        if let Some(attribute) = body.attribute(name) {
            return Some(inside(&attribute.expr, rest));
        }
        let mut blocks = body.blocks_of(name);
        let (block, rest) = match rest.split_first() {
            Some((PathStep::Index(key), rest)) => {
                let position = key
                    .as_number()
                    .and_then(|number| number.to_i64())
                    .and_then(|at| usize::try_from(at).ok());
                let block = match (position, key.as_str()) {
                    (Some(at), _) => blocks.nth(at),
                    (None, Some(label)) => {
                        blocks.find(|block| block.labels.first().is_some_and(|first| *first.name == **label))
                    }
                    // The element of a set: which block it was cannot be told.
                    (None, None) => None,
                };
                (block, rest)
            }
            // All blocks of a type have no place of their own.
            None => return body.missing_item(),
            Some(_) => (blocks.next(), rest),
        };
        match block {
            Some(block) if rest.is_empty() => return Some(block.header()),
            Some(block) => {
                body = block.body.as_read();
                steps = rest;
            }
            None => return body.missing_item(),
        }
    }
}

/// As deep into constructors as the path leads.
fn inside(expr: &Expr, steps: &[PathStep]) -> Span {
    let mut expr = expr;
    let mut steps = steps.iter();
    loop {
        while let ExprKind::Parens(inner) = &expr.kind {
            expr = inner;
        }
        let Some(step) = steps.next() else {
            return expr.span;
        };
        let next = match (&expr.kind, step) {
            (ExprKind::Object { items, .. }, PathStep::Attr(name)) => items
                .iter()
                .rev()
                .find(|item| key_is(&item.key, name))
                .map(|item| &item.value),
            (ExprKind::Object { items, .. }, PathStep::Index(key)) => key
                .as_str()
                .and_then(|name| items.iter().rev().find(|item| key_is(&item.key, name)))
                .map(|item| &item.value),
            (ExprKind::Tuple { items, .. }, PathStep::Index(key)) => key
                .as_number()
                .and_then(|number| number.to_i64())
                .and_then(|at| usize::try_from(at).ok())
                .and_then(|at| items.get(at)),
            (ExprKind::JsonObject(object), step) => {
                let name = match step {
                    PathStep::Attr(name) => Some(name),
                    PathStep::Index(key) => key.as_str(),
                };
                name.and_then(|name| object.items.iter().find(|item| item.name().name == *name))
                    .map(|item| &item.value)
            }
            _ => None,
        };
        match next {
            Some(next) => expr = next,
            None => return expr.span,
        }
    }
}

fn key_is(key: &ashlar_syntax::ObjectKey, name: &str) -> bool {
    if let Some(word) = key.keyword() {
        return word == name;
    }
    match &key.expr.kind {
        ExprKind::Template(parts) => match &**parts {
            [
                Expr {
                    kind: ExprKind::Literal(Literal::String(text)),
                    ..
                },
            ] => **text == *name,
            _ => false,
        },
        ExprKind::Literal(Literal::String(text)) => **text == *name,
        _ => false,
    }
}
