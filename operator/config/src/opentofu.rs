//! Blocks that only OpenTofu has: `language`, and `encryption` in a `terraform` block.
//!
//! What they say is checked for its form; nothing of it changes how the configuration is read. Rules: OpenTofu
//! `configs/language.go`, `encryption/config`.

use ashlar_addr::Version;
use ashlar_diag::{Diag, Diags};
use ashlar_eval::Shape;
use ashlar_syntax::{Block, Expr};

use crate::{load::Loader, static_expr};

pub(crate) const LANGUAGE: Shape = Shape {
    required: &[],
    optional: &["edition", "experiments"],
    blocks: &[("compatible_with", &[])],
};

/// What it holds beside is meant for others.
pub(crate) const COMPATIBLE_WITH: Shape = Shape {
    required: &[],
    optional: &["opentofu"],
    blocks: &[],
};

pub(crate) const ENCRYPTION: Shape = Shape {
    required: &[],
    optional: &[],
    blocks: &[
        ("key_provider", &["type", "name"]),
        ("method", &["type", "name"]),
        ("state", &[]),
        ("plan", &[]),
        ("remote_state_data_sources", &[]),
    ],
};

/// The only edition there is.
const EDITION: &str = "tofu2024";

/// The first release that reads `compatible_with`.
const FIRST_TO_READ: &str = "1.12.0";
const LAST_NOT_TO_READ: &str = "1.11.0";

impl Loader {
    pub(crate) fn language_block(&mut self, block: Block) {
        let header = block.header();
        if self.overriding {
            let detail = "What holds for the whole module is said in an ordinary file.";
            let diag = Diag::error("Language selections in override file", detail);
            return self.diags.push(diag.at(header));
        }
        let mut content = LANGUAGE.content(block.body, Some(block.open), &mut self.diags);
        if let Some(attribute) = content.take("edition") {
            self.diags.extend(edition_fault(&attribute.expr));
        }
        if let Some(attribute) = content.take("experiments") {
            self.diags.extend(experiment_faults(&attribute.expr));
        }
        let mut seen = false;
        for inner in content.blocks {
            if seen {
                let detail = "One compatible_with block says which versions of OpenTofu will do.";
                let diag = Diag::error("Duplicate compatible_with block", detail);
                self.diags.push(diag.at(header));
                continue;
            }
            let mut content = COMPATIBLE_WITH.split(inner.body, Some(inner.open), &mut self.diags);
            let Some(attribute) = content.take("opentofu") else {
                continue;
            };
            let Some((_, constraints)) = self.version_constraint(&attribute) else {
                continue;
            };
            seen = true;
            if LAST_NOT_TO_READ
                .parse::<Version>()
                .is_ok_and(|version| constraints.allow(&version))
            {
                let detail = format!(
                    "Releases before {FIRST_TO_READ} do not read this block, so the constraint cannot hold for them. Begin with \
                     \">= {FIRST_TO_READ}\", or use required_version in a file whose name ends with .tofu."
                );
                let diag = Diag::warning("Ineffective version constraint", detail);
                self.diags.push(diag.at(attribute.span));
            }
            self.module.core_versions.push((constraints, attribute.span));
        }
    }

    /// Ashlar keeps state and plans itself, so of this block only the form matters.
    pub(crate) fn encryption_block(&mut self, block: Block) {
        let header = block.header();
        let mut diags = Diags::new();
        let content = ENCRYPTION.content(block.body, Some(block.open), &mut diags);
        let mut seen: Vec<Vec<&str>> = Vec::new();
        for inner in &content.blocks {
            let mut name = vec![&*inner.kind.name];
            name.extend(inner.labels.iter().map(|label| &*label.name));
            if !seen.contains(&name) {
                seen.push(name);
                continue;
            }
            let detail = format!("There is another {} block here.", name.join(" "));
            diags.push(if inner.labels.is_empty() {
                Diag::error(format!("Duplicate {} block", inner.kind.name), detail).at(inner.header())
            } else {
                Diag::error(format!("Duplicate {}", inner.kind.name), detail).at(header)
            });
        }
        self.diags.extend(diags);
        let again = if self.overriding {
            std::mem::replace(&mut self.in_file.encryption, true)
        } else {
            self.module.encryption.is_some()
        };
        if again {
            let detail = "A module can have one encryption block.";
            let diag = Diag::error("Duplicate encryption configuration", detail);
            return self.diags.push(diag.at(header));
        }
        self.module.encryption = Some(header);
    }
}

fn edition_fault(expr: &Expr) -> Option<Diag> {
    let (summary, detail) = match expr.keyword() {
        Some(EDITION) => return None,
        Some(_) => (
            "Unsupported language edition",
            format!("Only the edition {EDITION} is known."),
        ),
        None => (
            "Invalid language edition",
            format!("The edition is a bare word: {EDITION}."),
        ),
    };
    Some(Diag::error(summary, detail).at(expr.span))
}

fn experiment_faults(expr: &Expr) -> Diags {
    let items = match static_expr::list(expr) {
        Ok(items) => items,
        Err(diag) => return diag.into(),
    };
    let fault = |item: &Expr| {
        let (summary, detail) = match item.keyword() {
            Some(word) => (
                "Unknown experiment keyword",
                format!("There is no experiment {word:?}."),
            ),
            None => (
                "Invalid experiment keyword",
                "An experiment is a bare word.".to_owned(),
            ),
        };
        Diag::error(summary, detail).at(item.span)
    };
    items.iter().map(fault).collect()
}
