//! `module` blocks.
//!
//! Rules: Terraform `configs/module_call.go`.

use std::collections::BTreeSet;

use ashlar_diag::{Diag, Diags};
use ashlar_eval::{Shape, evaluate_constant};
use ashlar_syntax::{Attribute, Block, Expr, is_identifier};
use ashlar_value::{Data, Dialect, Type};

use crate::{
    BAD_NAME,
    load::Loader,
    model::{ModuleCall, PassedProvider},
    resource_block::{both_repetitions, depends_on, escaped, provider_reference},
    static_expr,
};

pub(crate) const SHAPE: Shape = Shape {
    required: &["source"],
    optional: &[
        "version",
        "count",
        "for_each",
        "depends_on",
        "providers",
        "ignore_nested_deprecations",
    ],
    blocks: &[
        ("_", &[]),
        ("lifecycle", &[]),
        ("locals", &[]),
        ("provider", &["type"]),
    ],
};

pub(crate) const OPENTOFU: Shape = Shape {
    required: SHAPE.required,
    optional: &["version", "count", "for_each", "depends_on", "providers"],
    blocks: SHAPE.blocks,
};

pub(crate) const LIFECYCLE: Shape = Shape {
    required: &[],
    optional: &["enabled"],
    blocks: &[],
};

impl Loader {
    pub(crate) fn module_block(&mut self, block: Block) {
        let header = block.header();
        let Some(label) = block.labels.first() else { return };
        let required = !self.overriding;
        let dialect = self.module.dialect;
        let shape = match dialect {
            Dialect::Terraform => SHAPE,
            Dialect::OpenTofu => OPENTOFU,
        };
        let diags = &mut self.diags;
        let mut content = shape.split_where(block.body, Some(block.open), required, diags);
        if !is_identifier(&label.name) {
            diags.push(Diag::error("Invalid module instance name", BAD_NAME).at(label.span));
        }
        let mut expr = |name| content.take(name).map(|attribute| attribute.expr);
        let (source, version) = (expr("source"), expr("version"));
        let (count, for_each) = (content.take("count"), content.take("for_each"));
        let mut blocks = std::mem::take(&mut content.blocks);
        let mut enabled = None;
        if dialect == Dialect::OpenTofu {
            let (own, others) = blocks
                .into_iter()
                .partition(|block| &*block.kind.name == "lifecycle");
            blocks = others;
            enabled = lifecycle(own, diags);
        }
        let given = [count.as_ref(), for_each.as_ref(), enabled.as_ref()];
        diags.extend(both_repetitions(given, dialect));
        let waits = content.take("depends_on").map(|list| depends_on(&list, diags));
        let (depends_on, depends_on_faults) = match waits {
            Some((entries, faults)) => (Some(entries), faults),
            None => (None, Diags::new()),
        };
        let providers = content
            .take("providers")
            .map(|attribute| passed_providers(&attribute.expr, dialect, diags))
            .unwrap_or_default();
        let ignore_nested_deprecations = content
            .take("ignore_nested_deprecations")
            .is_some_and(|attribute| static_flag(&attribute.expr, diags));
        let body = escaped(content.rest, blocks, "module", diags);
        let call = ModuleCall {
            source,
            version,
            count: count.map(|attribute| attribute.expr),
            for_each: for_each.map(|attribute| attribute.expr),
            enabled,
            providers,
            depends_on,
            depends_on_faults,
            ignore_nested_deprecations,
            body,
            open: block.open,
            header,
        };
        if self.overriding {
            return self.override_call(label.name.clone(), call);
        }
        if self.module.calls.contains_key(&label.name) {
            let detail = format!("The module {:?} is called twice by this name.", &*label.name);
            self.diags
                .push(Diag::error("Duplicate module call", detail).at(header));
        }
        self.module.calls.insert(label.name.clone(), call);
    }
}

/// What the `lifecycle` block of a call says, of which OpenTofu takes one: whether the module is there at all.
fn lifecycle(blocks: Vec<Block>, diags: &mut Diags) -> Option<Attribute> {
    let mut blocks = blocks.into_iter();
    let first = blocks.next()?;
    let mut content = LIFECYCLE.content(first.body, Some(first.open), diags);
    for again in blocks {
        let detail = "A block can have one lifecycle block. Put all its arguments into one.";
        diags.push(Diag::error("Duplicate lifecycle block", detail).at(again.header()));
    }
    content.take("enabled")
}

fn static_flag(expr: &Expr, diags: &mut Diags) -> bool {
    let (value, faults) = evaluate_constant(expr);
    if faults.has_errors() {
        let detail = "It is true or false, and nothing else.";
        let summary = "Invalid value for ignore_nested_deprecations";
        diags.push(Diag::error(summary, detail).at(expr.span));
    }
    if !matches!(value.data(), Data::Bool(_)) && value.ty() != Type::Bool {
        let detail = "It is true or false, and nothing else.";
        let summary = "Invalid type for ignore_nested_deprecations";
        diags.push(Diag::error(summary, detail).at(expr.span));
    }
    value.as_bool() == Some(true)
}

/// `providers = { CHILD = PARENT }`.
fn passed_providers(expr: &Expr, dialect: Dialect, diags: &mut Diags) -> Vec<PassedProvider> {
    let Some(items) = static_expr::items(expr) else {
        let detail = "The configurations are written out here: { NAME_IN_MODULE = NAME_HERE }.";
        diags.push(Diag::error("Invalid expression", detail).at(expr.start()));
        return Vec::new();
    };
    let mut passed = Vec::new();
    let mut seen = BTreeSet::new();
    for item in items {
        let child = provider_reference(item.key, dialect, diags);
        let parent = provider_reference(item.value, dialect, diags);
        let (Some(child), Some(parent)) = (child, parent) else {
            continue;
        };
        if !seen.insert(child.local.clone()) {
            let detail = format!("A configuration is handed over as {} already.", child.local);
            diags.push(Diag::error("Duplicate provider address", detail).at(item.value.span));
            continue;
        }
        passed.push(PassedProvider { child, parent });
    }
    passed
}
