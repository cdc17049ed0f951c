//! What is sound and cannot be planned, and what has no effect here: told before a plan, each at its line, never ignored.

use std::collections::BTreeMap;

use ashlar_diag::{Diag, Diags, Span};
use ashlar_eval::{evaluate_constant, only_arguments};
use ashlar_syntax::{Attribute, Expr};

use crate::{Module, ProviderBlock, Tree};

/// Faults of a sound configuration that cannot be planned, and what has no effect here.
pub fn limits(tree: &Tree) -> Diags {
    let mut diags = Diags::new();
    for member in tree.members.values() {
        let blocks = member.module.providers.values();
        diags.extend(blocks.filter_map(unknown_repetition));
    }
    let resources = tree
        .members
        .values()
        .flat_map(|member| member.module.resources.values());
    diags.extend(resources.filter_map(|config| destroy_fault(config.lifecycle.destroy.as_ref()?)));
    for member in tree.members.values() {
        diags.extend(unsupported_ways(&member.module));
    }
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

/// Which provider configurations there are must be known before anything is planned.
fn unknown_repetition(block: &ProviderBlock) -> Option<Diag> {
    let for_each = block.for_each.as_ref().filter(|_| block.instances.is_none())?;
    let detail = "It is not known for what there is to be a provider configuration. The value can be made of literals, of \
                  variables that are given and of locals that are made of those.";
    Some(Diag::error("Invalid for_each argument", detail).at(for_each.span))
}

/// Ways to reach a machine that there are none of here, where they are plainly asked for.
fn unsupported_ways(module: &Module) -> Vec<Diag> {
    let of_resources = module.resources.values();
    let of_resources = of_resources.map(|config| (&config.connection, &config.provisioners));
    let of_removed = module.removed.iter();
    let of_removed = of_removed.map(|removed| (&removed.connection, &removed.provisioners));
    let mut found: BTreeMap<Span, Diag> = BTreeMap::new();
    for (around, provisioners) in of_resources.chain(of_removed) {
        // Of the others nothing is reached.
        let reaching = provisioners
            .iter()
            .filter(|own| matches!(&*own.kind, "remote-exec" | "file"));
        for provisioner in reaching {
            let Some(connection) = provisioner.connection_within(around.as_ref()) else {
                continue;
            };
            let (arguments, _) = only_arguments(connection);
            found.extend(arguments.iter().filter_map(no_way));
        }
    }
    found.into_values().collect()
}

/// What an argument of a connection asks for and there is not.
fn no_way(argument: &Attribute) -> Option<(Span, Diag)> {
    let (value, faults) = evaluate_constant(&argument.expr);
    let text = value
        .as_str()
        .filter(|text| !faults.has_errors() && !text.is_empty())?;
    let detail = match (&*argument.name.name, &**text) {
        ("type", "winrm") => {
            "A connection of type winrm is not supported here. Reach the machine by ssh: Windows has OpenSSH's server as an optional \
             feature."
        }
        ("target_platform", "windows") => "The target_platform windows is not supported here, only unix.",
        ("proxy_host", _) => {
            "A connection through a proxy (proxy_host) is not supported here. Use a bastion_host."
        }
        _ => return None,
    };
    let span = argument.expr.span;
    Some((span, Diag::error("Unsupported connection", detail).at(span)))
}

/// Whether objects are destroyed must be known without anything else.
fn destroy_fault(expr: &Expr) -> Option<Diag> {
    let (value, faults) = evaluate_constant(expr);
    (faults.has_errors() || value.as_bool().is_none()).then(|| {
        let detail = "destroy is true or false, and refers to nothing.";
        Diag::error("Invalid lifecycle destroy expression", detail).at(expr.span)
    })
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
    fn what_cannot_be_known_is_refused_and_what_is_unused_is_told() {
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
        let provider =
            |each: &str| format!("provider \"a\" {{\n  alias    = \"b\"\n  for_each = {each}\n}}\n");
        check(&provider("{}"), &[]);
        check(&provider("toset([\"k\"])"), &[]);
        check(
            &(provider("var.each") + "variable \"each\" {}\n"),
            &[("Invalid for_each argument", "is not known")],
        );
        let reached = |inner: &str| {
            format!(
                "resource \"a_b\" \"c\" {{\n  connection {{\n    host = \"h\"\n    type = \"winrm\"\n  }}\n{inner}}}\n"
            )
        };
        let file = |inner: &str| {
            format!("  provisioner \"file\" {{\n    destination = \"/d\"\n    content = \"c\"\n{inner}  }}\n")
        };
        let unsupported = "Unsupported connection";
        check(&reached(&file("")), &[(unsupported, "OpenSSH's server")]);
        // Once, at its line, however many need it.
        check(&reached(&(file("") + &file(""))), &[(unsupported, "winrm")]);
        check(&reached(""), &[]);
        check(
            &reached("  provisioner \"local-exec\" {\n    command = \"c\"\n  }\n"),
            &[],
        );
        let own = |arguments: &str| file(&format!("    connection {{\n{arguments}\n    }}\n"));
        check(&reached(&own("type = \"ssh\"")), &[]);
        check(&reached(&own("type = var.kind")), &[]);
        check(
            &reached(&own(
                "type = \"ssh\"\ntarget_platform = \"windows\"\nproxy_host = \"p\"",
            )),
            &[(unsupported, "only unix"), (unsupported, "bastion_host")],
        );
        check(
            "removed {\n  from = a_b.c\n  lifecycle {\n    destroy = true\n  }\n  provisioner \"remote-exec\" {\n    when   = destroy\n    inline = [\"x\"]\n    connection {\n      host = \"h\"\n      type = \"winrm\"\n    }\n  }\n}\n",
            &[(unsupported, "winrm")],
        );
        check(
            "terraform {\n  encryption {}\n}\n",
            &[("Unused encryption block", "plain files")],
        );
    }
}
