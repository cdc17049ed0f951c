//! `resource` and `data` blocks: meta-arguments taken out, the rest left for the provider's schema.
//!
//! Rules: Terraform `configs/resource.go`, `depends_on.go`.

use ashlar_addr::{LocalProvider, Mode, Module as ModuleAddr, Provider, ProviderConfig, Resource};
use ashlar_diag::{Diag, Diags};
use ashlar_eval::{Reference, Shape};
use ashlar_syntax::{Attribute, Block, Body, Expr, Step, is_identifier};

use crate::{
    BAD_NAME,
    load::Loader,
    model::{DependsOn, Lifecycle, ResourceConfig},
    not_yet, provider_name, static_expr,
};

const META: &[&str] = &["count", "for_each", "provider", "depends_on"];

const RESOURCE: Shape = Shape {
    required: &[],
    optional: META,
    blocks: &[
        ("locals", &[]),
        ("lifecycle", &[]),
        ("connection", &[]),
        ("provisioner", &["type"]),
        ("_", &[]),
    ],
};

const DATA: Shape = Shape {
    required: &[],
    optional: META,
    blocks: &[("lifecycle", &[]), ("locals", &[]), ("_", &[])],
};

impl Loader {
    pub(crate) fn resource_block(&mut self, block: Block, mode: Mode) {
        let header = block.header();
        let [kind, name] = &*block.labels else { return };
        let (shape, bad_kind, bad_name) = match mode {
            Mode::Data => (DATA, "Invalid data source name", "Invalid data resource name"),
            Mode::Managed | Mode::Ephemeral => {
                (RESOURCE, "Invalid resource type name", "Invalid resource name")
            }
        };
        let diags = &mut self.diags;
        let mut content = shape.split(block.body, Some(block.open), diags);
        for (label, summary) in [(kind, bad_kind), (name, bad_name)] {
            if !is_identifier(&label.name) {
                diags.push(Diag::error(summary, BAD_NAME).at(label.span));
            }
        }
        let resource = Resource::new(mode, kind.name.clone(), name.name.clone());
        let count = content.take("count").map(|attribute| attribute.expr);
        let for_each = content.take("for_each");
        if let (Some(_), Some(for_each)) = (&count, &for_each) {
            let detail = "How often a block is repeated is told by count or by for_each, not by both.";
            let summary = "Invalid combination of \"count\" and \"for_each\"";
            diags.push(Diag::error(summary, detail).at(for_each.name.span));
        }
        let named = content
            .take("provider")
            .and_then(|attribute| provider_reference(&attribute.expr, diags));
        let local_provider = named.unwrap_or_else(|| LocalProvider {
            name: resource.implied_provider().into(),
            alias: None,
        });
        let (depends_on, depends_on_faults) = content
            .take("depends_on")
            .map(|list| depends_on(&list, diags))
            .unwrap_or_default();
        let (lifecycle, others): (Vec<_>, Vec<_>) = content
            .blocks
            .into_iter()
            .partition(|block| &*block.kind.name == "lifecycle");
        let mut lifecycles = lifecycle.into_iter();
        let lifecycle = match lifecycles.next() {
            Some(block) => Lifecycle::read(block, &resource, diags),
            None => Lifecycle::default(),
        };
        for again in lifecycles {
            let detail = "A block can have one lifecycle block. Put all its arguments into one.";
            diags.push(Diag::error("Duplicate lifecycle block", detail).at(again.header()));
        }
        let (unsupported, others): (Vec<_>, Vec<_>) = others
            .into_iter()
            .partition(|block| matches!(&*block.kind.name, "connection" | "provisioner"));
        for block in unsupported {
            diags.push(not_yet(&format!("{} blocks", block.kind.name), block.header()));
        }
        let what = if mode == Mode::Data { "data" } else { "resource" };
        let body = escaped(content.rest, others, what, diags);
        if self.module.resources.contains_key(&resource) {
            let detail = format!("{resource} is declared twice in this module.");
            let summary = format!("Duplicate {what} \"{}\" configuration", kind.name);
            return diags.push(Diag::error(summary, detail).at(header));
        }
        let provider_config = ProviderConfig {
            module: ModuleAddr::root(),
            provider: Provider::implied(&local_provider.name),
            alias: local_provider.alias.clone(),
        };
        let config = ResourceConfig {
            count,
            for_each: for_each.map(|attribute| attribute.expr),
            local_provider,
            provider_config,
            depends_on,
            depends_on_faults,
            lifecycle,
            body,
            kind: kind.span,
            header,
        };
        self.module.resources.insert(resource, config);
    }
}

/// The body with the content of the escaping block `_` added; `special`: the blocks of the language, of which only that
/// one is allowed. `what`: the word for the block around.
pub(crate) fn escaped(mut body: Body, special: Vec<Block>, what: &str, diags: &mut Diags) -> Body {
    let mut seen = false;
    for block in special {
        if &*block.kind.name != "_" {
            let detail = format!(
                "{:?} is kept for a later version of the language.",
                &*block.kind.name
            );
            let summary = format!("Reserved block type name in {what} block");
            diags.push(Diag::error(summary, detail).at(block.kind.span));
            continue;
        }
        if seen {
            let detail = "A block can have one block \"_\". Put all escaped arguments into one.";
            diags.push(Diag::error("Duplicate escaping block", detail).at(block.header()));
            continue;
        }
        seen = true;
        for attribute in block.body.attributes {
            if body.attribute(&attribute.name.name).is_some() {
                let detail = format!(
                    "{:?} is set inside and outside of the block \"_\".",
                    &*attribute.name.name
                );
                diags.push(Diag::error("Duplicate argument", detail).at(attribute.name.span));
            } else {
                body.attributes.push(attribute);
            }
        }
        body.blocks.extend(block.body.blocks);
        match (&mut body.unread, block.body.unread) {
            (Some(unread), Some(more)) => unread.append(*more),
            (unread, more) => *unread = unread.take().or(more),
        }
    }
    body
}

/// The entries of `depends_on`, and the faults of those that name nothing.
pub(crate) fn depends_on(attribute: &Attribute, diags: &mut Diags) -> (Vec<DependsOn>, Diags) {
    let mut found = Vec::new();
    let mut faults = Diags::new();
    let items = match static_expr::list(&attribute.expr) {
        Ok(items) => items,
        Err(diag) => {
            diags.push(diag);
            return (found, faults);
        }
    };
    for item in items {
        let Some(traversal) = static_expr::reference(item, diags) else {
            continue;
        };
        if &*traversal.root.name == "action" {
            let detail = "An action runs because of a resource. Depend on that resource instead.";
            diags.push(Diag::error("Invalid depends_on Action Reference", detail).at(item.span));
            continue;
        }
        match Reference::parse(&traversal) {
            Ok(Some(reference)) => {
                let (subject, span) = (reference.subject.clone(), reference.span);
                found.push(DependsOn {
                    subject,
                    span,
                    traversal,
                });
            }
            Ok(None) => {
                let detail = "After a resource type must follow the resource's name, as in TYPE.NAME.";
                faults.push(Diag::error("Invalid reference", detail).at(traversal.span()));
            }
            Err(diag) => faults.push(diag),
        }
    }
    (found, faults)
}

/// `provider = NAME` or `provider = NAME.ALIAS`.
fn provider_reference(expr: &Expr, diags: &mut Diags) -> Option<LocalProvider> {
    const INVALID: &str = "Invalid provider configuration reference";
    let mut faults = Diags::new();
    let found = static_expr::reference(expr, &mut faults);
    let Some(traversal) = found.filter(|traversal| traversal.steps.len() <= 1) else {
        let detail = if static_expr::is_quoted(expr) {
            "A provider configuration is named without quotes."
        } else {
            "A provider configuration is named by the provider's local name, and its alias after a dot if it has one."
        };
        diags.push(Diag::error(INVALID, detail).at(expr.span));
        return None;
    };
    diags.extend(faults);
    if let Some(diag) = provider_name::local_name_fault(&traversal.root.name, traversal.root.span) {
        diags.push(diag);
        return None;
    }
    let alias = match traversal.steps.first() {
        None => None,
        Some(Step::Attr { name, .. }) => Some(name.clone()),
        Some(step) => {
            let detail = "After the local name can follow only a dot and the alias.";
            diags.push(Diag::error(INVALID, detail).at(step.span()));
            return None;
        }
    };
    Some(LocalProvider {
        name: traversal.root.name,
        alias,
    })
}
