//! What the language has and the engine does not run yet: refused before a plan, each at its line, never ignored.

use ashlar_diag::{Diag, Diags, Span};
use ashlar_eval::evaluate_constant;
use ashlar_syntax::Expr;

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
    let resources = tree
        .members
        .values()
        .flat_map(|member| member.module.resources.values());
    diags.extend(resources.filter_map(|config| destroy_fault(config.lifecycle.destroy.as_ref()?)));
    let root = tree.root();
    if let Some(span) = root.encryption {
        let detail = "Ashlar keeps state and plans itself and takes no keys from here. In a cluster they are sealed with the \
                      operator's own key; on the command line they are plain files. A state that OpenTofu has encrypted is to be \
                      brought over in plain form first (`tofu state pull`).";
        diags.push(Diag::warning("Unused encryption block", detail).at(span));
    }
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
    let repeated = module.providers.values().filter(|block| block.for_each.is_some());
    found.extend(repeated.map(|block| ("provider blocks with for_each", block.header)));
    found
}

/// Whether objects are destroyed must be known without anything else.
fn destroy_fault(expr: &Expr) -> Option<Diag> {
    let (value, faults) = evaluate_constant(expr);
    (faults.has_errors() || value.as_bool().is_none()).then(|| {
        let detail = "destroy is true or false, and refers to nothing.";
        Diag::error("Invalid lifecycle destroy expression", detail).at(expr.span)
    })
}

fn not_yet(what: &str, span: Span) -> Diag {
    let detail = format!(
        "Ashlar does not run {what} yet. Remove it, or keep this configuration with Terraform for now."
    );
    Diag::error("Not supported yet", detail).at(span)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use ashlar_diag::{Diags, Sources};
    use ashlar_value::Dialect;

    use crate::{FoundModule, Library, ModuleRequest};

    /// Every module that is called is there, and empty.
    struct Empty;

    impl Library for Empty {
        fn find(&mut self, _: &ModuleRequest<'_>) -> Result<FoundModule, Diags> {
            Ok(FoundModule {
                folder: "m".into(),
                files: Vec::new(),
            })
        }
    }

    #[test]
    fn what_only_opentofu_says_is_refused_by_name_or_told_to_be_unused() {
        let check = |text: &str, expected: &[(&str, &str)]| {
            let files = vec![("main.tf".into(), text.into())];
            let constants = BTreeMap::new();
            let mut sources = Sources::new();
            let (tree, diags) = crate::load(files, Dialect::OpenTofu, &constants, &mut Empty, &mut sources);
            assert!(diags.is_empty(), "{text}: {diags}");
            let limits = super::limits(&tree);
            let told: Vec<_> = limits
                .iter()
                .map(|diag| (&*diag.summary, &*diag.detail))
                .collect();
            assert_eq!(told.len(), expected.len(), "{text}: {limits}");
            for ((summary, detail), (wanted, word)) in told.iter().zip(expected) {
                assert!(summary == wanted && detail.contains(word), "{text}: {detail}");
            }
        };
        let refused = "Not supported yet";
        let resource = |lifecycle: &str| {
            format!("resource \"a_b\" \"c\" {{\n  lifecycle {{\n    {lifecycle}\n  }}\n}}\n")
        };
        check(&resource("enabled = true"), &[]);
        check(&resource("prevent_destroy = var.a"), &[]);
        check(&resource("prevent_destroy = true"), &[]);
        check(&resource("destroy = false"), &[]);
        let invalid = "Invalid lifecycle destroy expression";
        check(&resource("destroy = var.a"), &[(invalid, "refers to nothing")]);
        check(
            &resource("destroy = \"false\""),
            &[(invalid, "refers to nothing")],
        );
        check(&resource("destroy = true"), &[]);
        let call = "module \"m\" {\n  source = \"./m\"\n  lifecycle {\n    enabled = true\n  }\n}\n";
        check(call, &[]);
        let provider = "provider \"a\" {\n  alias    = \"b\"\n  for_each = {}\n}\n";
        check(provider, &[(refused, "for_each")]);
        check(
            "terraform {\n  encryption {}\n}\n",
            &[("Unused encryption block", "plain files")],
        );
    }
}
