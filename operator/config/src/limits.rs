//! What the language has and the engine does not run yet: refused before a plan, each at its line, never ignored.

use ashlar_addr::Mode;
use ashlar_diag::{Diag, Diags, Span};

use crate::{Module, Tree};

/// Faults of a sound configuration that cannot be planned yet, and what has no effect here.
pub fn limits(tree: &Tree) -> Diags {
    let mut found: Vec<(&str, Span)> = Vec::new();
    for member in tree.members.values() {
        found.extend(in_module(&member.module));
    }
    found.sort_by_key(|(_, span)| *span);
    found.dedup();
    let mut diags: Diags = found
        .into_iter()
        .map(|(what, span)| not_yet(what, span))
        .collect();
    let root = tree.root();
    for (span, word) in [(root.backend, "backend"), (root.cloud, "cloud")] {
        if let Some(span) = span {
            let detail = format!(
                "Ashlar keeps the state itself and does not look where this {word} block says. Where objects are in a state \
                 there, bring that state over first (`terraform state pull`), or they are planned anew."
            );
            diags.push(Diag::warning(format!("Unused {word} block"), detail).at(span));
        }
    }
    diags
}

fn in_module(module: &Module) -> Vec<(&'static str, Span)> {
    let mut found: Vec<(&str, Span)> = Vec::new();
    found.extend(
        module
            .actions
            .values()
            .map(|action| ("action blocks", action.header)),
    );
    let of_removed = module.removed.iter().flat_map(|removed| &removed.provisioners);
    found.extend(of_removed.map(|inner| ("provisioner blocks", inner.header)));
    found.extend(
        module
            .provider_metas
            .values()
            .map(|meta| ("provider_meta blocks", meta.header)),
    );
    for (resource, config) in &module.resources {
        if resource.mode == Mode::Ephemeral {
            found.push(("ephemeral blocks", config.header));
        }
        found.extend(
            config
                .provisioners
                .iter()
                .map(|inner| ("provisioner blocks", inner.header)),
        );
        if let (Some(_), []) = (&config.connection, &*config.provisioners) {
            found.push(("connection blocks", config.header));
        }
        let triggers = &config.lifecycle.action_triggers;
        found.extend(
            triggers
                .iter()
                .map(|trigger| ("action_trigger blocks", trigger.header)),
        );
    }
    found
}

fn not_yet(what: &str, span: Span) -> Diag {
    let detail = format!(
        "Ashlar does not run {what} yet. Remove it, or keep this configuration with Terraform for now."
    );
    Diag::error("Not supported yet", detail).at(span)
}
