//! `provider` blocks.
//!
//! Rules: Terraform `configs/provider.go`.

use ashlar_addr::LocalProvider;
use ashlar_diag::Diag;
use ashlar_eval::{Shape, constant};
use ashlar_syntax::{Block, is_identifier};
use ashlar_value::{Dialect, Type};

use crate::{BAD_NAME, load::Loader, model::ProviderBlock, provider_name, resource_block::escaped};

pub(crate) const SHAPE: Shape = Shape {
    required: &[],
    optional: &["alias", "version", "count", "depends_on", "for_each", "source"],
    blocks: &[("_", &[]), ("lifecycle", &[]), ("locals", &[])],
};

impl Loader {
    pub(crate) fn provider_block(&mut self, block: Block) {
        let header = block.header();
        let mut content = SHAPE.split(block.body, Some(block.open), &mut self.diags);
        let Some(label) = block.labels.first() else { return };
        if let Some(diag) = provider_name::local_name_fault(&label.name, header) {
            return self.diags.push(diag);
        }
        let alias = content.take("alias").and_then(|attribute| {
            let alias = constant(&attribute.expr, &Type::String, &mut self.diags);
            let alias = alias.and_then(|alias| alias.as_str().cloned());
            if !alias.as_deref().is_some_and(is_identifier) {
                self.diags
                    .push(Diag::error("Invalid provider configuration alias", BAD_NAME));
            }
            alias
        });
        let version = content.take("version").and_then(|attribute| {
            let span = attribute.expr.span;
            let detail = "Move the constraint to the provider's entry in required_providers.";
            let summary = "Version constraints inside provider configuration blocks are deprecated";
            self.diags.push(Diag::warning(summary, detail).at(span));
            self.version_constraint(&attribute).map(|(text, _)| (text, span))
        });
        let mut for_each = None;
        if self.module.dialect == Dialect::OpenTofu {
            for_each = content.take("for_each").map(|attribute| attribute.expr);
            if let (Some(expr), None) = (&for_each, &alias) {
                let detail = "Only a configuration with an alias can be repeated.";
                let diag = Diag::error("Alias required when using \"for_each\"", detail);
                self.diags.push(diag.at(expr.span));
            }
        }
        for attribute in &content.attributes {
            let name = &attribute.name;
            let detail = format!("{:?} is kept for a later version of the language.", &*name.name);
            self.diags
                .push(Diag::error("Reserved argument name in provider block", detail).at(name.span));
        }
        let body = escaped(content.rest, content.blocks, "provider", &mut self.diags);
        let local = LocalProvider {
            name: label.name.clone(),
            alias,
        };
        let block = ProviderBlock {
            body,
            version,
            for_each,
            instances: None,
            header,
        };
        if self.overriding {
            return self.override_provider(local, block);
        }
        if self.module.providers.contains_key(&local) {
            let detail = match &local.alias {
                None => format!(
                    "The provider {:?} is configured twice. Give one of the blocks an alias.",
                    &*local.name
                ),
                Some(alias) => format!(
                    "The provider {:?} has two configurations with the alias {alias:?}.",
                    &*local.name
                ),
            };
            return self
                .diags
                .push(Diag::error("Duplicate provider configuration", detail).at(header));
        }
        self.module.providers.insert(local, block);
    }
}
