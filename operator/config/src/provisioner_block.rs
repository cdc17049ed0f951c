//! `provisioner` and `connection` blocks.
//!
//! Rules: Terraform `configs/provisioner.go`.

use ashlar_diag::{Diag, Diags};
use ashlar_eval::{Shape, only_arguments, traversals};
use ashlar_syntax::{Block, Body, Step, Traversal};

use crate::{model::Provisioner, resource_block::merge_escaped, static_expr};

pub(crate) const SHAPE: Shape = Shape {
    required: &[],
    optional: &["when", "on_failure"],
    blocks: &[("_", &[]), ("connection", &[]), ("lifecycle", &[])],
};

/// Provisioners that Terraform had once.
const FORMER: &[&str] = &["chef", "habitat", "puppet", "salt-masterless"];

impl Provisioner {
    pub(crate) fn read(block: Block, diags: &mut Diags) -> Option<Self> {
        let header = block.header();
        let label = block.labels.into_iter().next()?;
        let mut content = SHAPE.split(block.body, Some(block.open), diags);
        if FORMER.contains(&&*label.name) {
            let summary = format!("The \"{}\" provisioner has been removed", label.name);
            let detail = "Terraform dropped it long ago. Use local-exec or remote-exec to run its program.";
            diags.push(Diag::error(summary, detail).at(label.span));
            return None;
        }
        let mut keyword = |name, words: [&str; 2], summary: &'static str| {
            let attribute = content.take(name)?;
            let given = static_expr::keyword(&attribute.expr, diags);
            let known = given.and_then(|given| words.iter().position(|word| *word == given));
            if known.is_none() {
                let detail = format!("{name} is one of these words: {}, {}.", words[0], words[1]);
                diags.push(Diag::error(summary, detail).at(attribute.expr.span));
            }
            known
        };
        let when = keyword("when", ["create", "destroy"], "Invalid \"when\" keyword");
        let on_failure = keyword(
            "on_failure",
            ["fail", "continue"],
            "Invalid \"on_failure\" keyword",
        );
        let on_destroy = when == Some(1);
        if on_destroy {
            diags.extend(own_references_only(&content.rest));
        }
        let mut connection = None;
        let mut escaped = Vec::new();
        for inner in content.blocks {
            match &*inner.kind.name {
                "_" => escaped.push(inner),
                "connection" => {
                    if on_destroy && connection.is_none() {
                        diags.extend(own_references_only(&inner.body));
                    }
                    only_connection(&mut connection, inner, "provisioner", diags);
                }
                reserved => {
                    let detail = format!("{reserved:?} is kept for a later version of the language.");
                    let summary = "Reserved block type name in provisioner block";
                    diags.push(Diag::error(summary, detail).at(inner.kind.span));
                }
            }
        }
        Some(Provisioner {
            kind: label.name,
            on_destroy,
            tolerated: on_failure == Some(1),
            body: merge_escaped(content.rest, escaped, diags),
            connection,
            open: block.open,
            kind_span: label.span,
            header,
        })
    }
}

/// Keeps the first connection; a second one is a fault.
pub(crate) fn only_connection(kept: &mut Option<Body>, block: Block, around: &str, diags: &mut Diags) {
    if kept.is_some() {
        let detail = format!("This {around} has a connection block already.");
        return diags.push(Diag::error("Duplicate connection block", detail).at(block.header()));
    }
    *kept = Some(block.body);
}

/// When an object is destroyed, nothing but itself is certain to be there.
pub(crate) fn own_references_only(body: &Body) -> Diags {
    let (attributes, _) = only_arguments(body.clone());
    let mut diags = Diags::new();
    for attribute in &attributes {
        for _ in traversals(&attribute.expr)
            .into_iter()
            .filter(|traversal| !is_own(traversal))
        {
            let detail = "What runs when an object is destroyed can refer to the object alone: self, count.index, each.key. \
                          Others may be gone by then.";
            let summary = "Invalid reference from destroy provisioner";
            diags.push(Diag::error(summary, detail).at(attribute.expr.span));
        }
    }
    diags
}

fn is_own(traversal: &Traversal) -> bool {
    let only = |wanted: &str| matches!(&*traversal.steps, [Step::Attr { name, .. }] if &**name == wanted);
    match &*traversal.root.name {
        "self" | "path" | "terraform" => true,
        "count" => only("index"),
        "each" => only("key"),
        _ => false,
    }
}
