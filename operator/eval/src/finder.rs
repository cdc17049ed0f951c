//! The finder of references: every traversal from a root that is not a local name.
//!
//! Used for dependency edges and static checks. It evaluates nothing and needs no stack: trees of any depth are walked
//! with a list. Order: as the parts stand in the source, which is hcl's order.

use std::sync::Arc;

use ashlar_diag::Diags;
use ashlar_syntax::{Body, Expr, ExprKind, Traversal};
use ashlar_value::schema;

use crate::{Reference, body, dynamic};

/// Every reference in an expression, and the faults of those that name nothing.
pub fn references(expr: &Expr) -> (Vec<Reference<'_>>, Diags) {
    parse_all(&traversals(expr))
}

/// Every reference in a block's arguments and nested blocks, as the schema takes them, `dynamic` blocks included.
pub fn block_references<'a>(body: &'a Body, schema: &schema::Block) -> (Vec<Reference<'a>>, Diags) {
    parse_all(&traversals_in_block(body, schema))
}

fn parse_all<'a>(traversals: &[&'a Traversal]) -> (Vec<Reference<'a>>, Diags) {
    let mut references = Vec::with_capacity(traversals.len());
    let mut diags = Diags::new();
    for traversal in traversals {
        match Reference::parse(traversal) {
            Ok(reference) => references.extend(reference),
            Err(diag) => diags.push(diag),
        }
    }
    (references, diags)
}

/// Every traversal in an expression whose root is not a local name.
pub fn traversals(expr: &Expr) -> Vec<&Traversal> {
    traversals_without(expr, &[])
}

/// Every traversal in a block as the schema takes it, but not those of iterators of `dynamic` blocks.
pub fn traversals_in_block<'a>(body: &'a Body, schema: &schema::Block) -> Vec<&'a Traversal> {
    let mut found = Vec::new();
    in_body(body, schema, &mut Vec::new(), &mut found);
    found
}

fn without<'a>(expr: &'a Expr, hidden: &[Arc<str>], found: &mut Vec<&'a Traversal>) {
    let hidden: Vec<&str> = hidden.iter().map(|name| &**name).collect();
    found.extend(traversals_without(expr, &hidden));
}

fn in_body<'a>(
    body: &'a Body,
    schema: &schema::Block,
    hidden: &mut Vec<Arc<str>>,
    found: &mut Vec<&'a Traversal>,
) {
    let body = body::by_schema(body, schema);
    for attribute in &body.attributes {
        if schema.attributes.contains_key(&*attribute.name.name) {
            without(&attribute.expr, hidden, found);
        }
    }
    for nested in &body.blocks {
        if let Some(inner) = body::nested_schema(schema, &nested.kind.name) {
            in_body(&nested.body, &inner, hidden, found);
        } else if let Some(spec) = dynamic::Spec::read(nested, |kind| body::is_labelled(schema, kind)).0
            && let Some(inner) = body::nested_schema(schema, &spec.kind.name)
        {
            without(spec.for_each, hidden, found);
            hidden.push(spec.iterator.clone());
            for label in spec.labels.unwrap_or_default() {
                without(label, hidden, found);
            }
            in_body(spec.content, &inner, hidden, found);
            hidden.pop();
        }
    }
}

/// Names that hide the scope's, as a list linked towards the root.
struct Hidden<'a> {
    names: Vec<&'a str>,
    outer: Option<usize>,
}

/// As [`traversals`], leaving out those of the names in `hidden`.
pub(crate) fn traversals_without<'h, 'a: 'h>(expr: &'a Expr, hidden: &[&'h str]) -> Vec<&'a Traversal> {
    let mut found = Vec::new();
    let mut scopes = vec![Hidden {
        names: hidden.to_vec(),
        outer: None,
    }];
    let mut left: Vec<(&Expr, usize)> = vec![(expr, 0)];
    while let Some((expr, scope)) = left.pop() {
        // Pushed in reverse, so that parts are visited in order.
        let mut then = |parts: &[&'a Expr]| left.extend(parts.iter().rev().map(|part| (*part, scope)));
        match &expr.kind {
            ExprKind::Traversal(traversal) => {
                let mut at = Some(scope);
                let mut local = false;
                while let Some(here) = at.and_then(|at| scopes.get(at)) {
                    local |= here.names.contains(&&*traversal.root.name);
                    at = here.outer;
                }
                if !local {
                    found.push(traversal);
                }
            }
            ExprKind::Relative { source, .. } => then(&[source]),
            ExprKind::Index { collection, key, .. } => then(&[collection, key]),
            ExprKind::Splat { source, each, .. } => then(&[source, each]),
            ExprKind::Call(call) => left.extend(call.args.iter().rev().map(|arg| (arg, scope))),
            ExprKind::Conditional { condition, yes, no } => then(&[condition, yes, no]),
            ExprKind::Binary {
                left: a, right: b, ..
            } => then(&[a, b]),
            ExprKind::Unary { operand, .. } => then(&[operand]),
            ExprKind::Parens(inner) | ExprKind::Wrap(inner) | ExprKind::Join(inner) => then(&[inner]),
            ExprKind::Tuple { items, .. } | ExprKind::Template(items) => {
                left.extend(items.iter().rev().map(|item| (item, scope)));
            }
            ExprKind::Object { items, .. } => {
                for item in items.iter().rev() {
                    left.push((&item.value, scope));
                    if item.key.keyword().is_none() {
                        left.push((&item.key.expr, scope));
                    }
                }
            }
            ExprKind::For(for_) => {
                let names = for_
                    .key_name
                    .iter()
                    .chain([&for_.value_name])
                    .map(|name| &*name.name)
                    .collect();
                scopes.push(Hidden {
                    names,
                    outer: Some(scope),
                });
                let inner = scopes.len() - 1;
                left.extend(for_.condition.iter().map(|expr| (expr, inner)));
                left.push((&for_.value, inner));
                left.extend(for_.key.iter().map(|expr| (expr, inner)));
                left.push((&for_.collection, scope));
            }
            ExprKind::JsonString(string) => {
                left.extend(string.template().ok().flatten().map(|expr| (expr, scope)))
            }
            ExprKind::JsonObject(object) => {
                for item in object.items.iter().rev() {
                    then(&[&item.key, &item.value]);
                }
            }
            ExprKind::Literal(_) | ExprKind::JsonScalar(_) | ExprKind::Item | ExprKind::Broken => {}
        }
    }
    found
}
