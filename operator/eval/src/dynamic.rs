//! `dynamic "TYPE" { for_each iterator labels content {} }`.
//!
//! Reading is static; expansion is up to the decoder. Rules: hcl `ext/dynblock`.

use std::sync::Arc;

use ashlar_diag::{Diag, Diags};
use ashlar_syntax::{Attribute, Block, Body, Expr, ExprKind, Ident, Wanted};

use crate::{shape, suggest::hint};

const ARGUMENTS: [&str; 3] = ["for_each", "iterator", "labels"];

/// The arguments of a block that makes blocks with or without labels.
fn arguments(labelled: bool) -> &'static [&'static str] {
    if labelled { &ARGUMENTS } else { &ARGUMENTS[..2] }
}

/// A `dynamic` block, read but not expanded.
pub(crate) struct Spec<'b> {
    /// The type of the blocks it makes: its label.
    pub(crate) kind: &'b Ident,
    /// The block itself.
    pub(crate) block: &'b Block,
    /// What to go through.
    pub(crate) for_each: &'b Expr,
    /// The name of the present element.
    pub(crate) iterator: Arc<str>,
    /// The labels of each block.
    pub(crate) labels: Option<&'b [Expr]>,
    /// The place of the labels' expression.
    pub(crate) labels_expr: Option<&'b Expr>,
    /// What stands in each block.
    pub(crate) content: &'b Body,
}

impl<'b> Spec<'b> {
    /// Reads a block; `None` if it is no `dynamic` block or a broken one. `labelled`: have blocks of this type labels?
    pub(crate) fn read(block: &'b Block, labelled: impl Fn(&str) -> bool) -> (Option<Self>, Diags) {
        let mut diags = Diags::new();
        let [kind] = &*block.labels else {
            return (None, diags);
        };
        if &*block.kind.name != "dynamic" {
            return (None, diags);
        }
        let arguments = arguments(labelled(&kind.name));
        let body = read(&block.body, arguments);
        diags.extend(body.faults.iter().cloned());
        let missing = body.missing_item().unwrap_or(block.open);
        for attribute in &body.attributes {
            let name = &attribute.name;
            if !arguments.contains(&&*name.name) {
                let unset = arguments.iter().filter(|known| body.attribute(known).is_none());
                let near = hint(&name.name, unset.copied());
                let detail = format!(
                    "A dynamic block of this type takes {}, not {:?}.{near}",
                    arguments.join(", "),
                    &*name.name
                );
                diags.push(Diag::error("Unsupported argument", detail).at(name.span));
            }
        }
        let for_each = body.attribute("for_each");
        if for_each.is_none() {
            let detail = "A dynamic block needs for_each: what to make blocks for.";
            diags.push(Diag::error("Missing required argument", detail).at(missing));
        }
        if arguments.contains(&"labels") && body.attribute("labels").is_none() {
            let detail = format!(
                "Blocks of type {:?} have a label; set it with the argument labels.",
                &*kind.name
            );
            diags.push(Diag::error("Missing required argument", detail).at(missing));
        }
        for other in body.blocks.iter().filter(|other| &*other.kind.name != "content") {
            let detail = "A dynamic block holds one block, named content.";
            diags.push(Diag::error("Unsupported block type", detail).at(other.kind.span));
        }
        for content in body.blocks_of("content") {
            if let Some(label) = content.labels.first() {
                let detail =
                    "The content of a dynamic block takes no labels; set them with the argument labels.";
                diags.push(
                    Diag::error("Extraneous label for content", detail)
                        .at(label.span)
                        .within(content.kind.span.to(content.open)),
                );
            }
        }
        // As in hcl, what is in the wrong form is not looked at.
        let Some(for_each) = for_each.filter(|_| !diags.has_errors()) else {
            return (None, diags);
        };
        let iterator = match body.attribute("iterator") {
            Some(attribute) => iterator_name(attribute, &mut diags),
            None => Some(kind.name.clone()),
        };
        let labels_expr = body
            .attribute("labels")
            .filter(|_| arguments.contains(&"labels"))
            .map(|attribute| &attribute.expr);
        let labels = labels_expr.and_then(|expr| match &expr.kind {
            ExprKind::Tuple { items, .. } => Some(&**items),
            _ => {
                let detail = "The labels are written as a list in brackets.";
                diags.push(Diag::error("Invalid expression", detail).at(expr.span));
                None
            }
        });
        let mut contents = body.blocks_of("content");
        let content = contents.next();
        if content.is_none() {
            let detail = "A dynamic block needs one block named content: what stands in each block.";
            diags.push(Diag::error("Missing dynamic content block", detail).at(missing));
        }
        if let Some(extra) = contents.next() {
            let detail = "A dynamic block takes only one content block.";
            diags.push(Diag::error("Extraneous dynamic content block", detail).at(extra.header()));
        }
        let spec = match (iterator, content) {
            (Some(iterator), Some(content)) if !diags.has_errors() => Some(Spec {
                kind,
                block,
                for_each: &for_each.expr,
                iterator,
                labels,
                labels_expr,
                content: &content.body,
            }),
            _ => None,
        };
        (spec, diags)
    }
}

/// The body of a `dynamic` block; in JSON its form tells arguments from blocks.
fn read<'b>(body: &'b Body, arguments: &[&str]) -> &'b Body {
    body.read_once(|unread| {
        let reading = unread.read(|name| match name {
            "content" => Some(Wanted::Blocks(&[])),
            name => arguments.contains(&name).then_some(Wanted::Argument),
        });
        let unwanted = reading
            .rest
            .properties()
            .map(|property| shape::extraneous(property, arguments.iter().copied()));
        let faults = reading.faults.into_iter().chain(unwanted).collect();
        Body {
            attributes: reading.attributes,
            blocks: reading.blocks,
            faults,
            ..Body::default()
        }
    })
}

fn iterator_name(attribute: &Attribute, diags: &mut Diags) -> Option<Arc<str>> {
    match attribute.expr.as_traversal() {
        Some(traversal) if traversal.steps.is_empty() => Some(traversal.root.name),
        Some(traversal) => {
            let detail = "The iterator is a single name.";
            diags.push(Diag::error("Invalid dynamic iterator name", detail).at(traversal.span()));
            None
        }
        None => {
            let detail = "The iterator is a single name, without quotes.";
            diags.push(Diag::error("Invalid expression", detail).at(attribute.expr.span));
            None
        }
    }
}
