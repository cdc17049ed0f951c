//! The manual of the builtin functions, `docs/functions.md`, written from their tables.
//!
//! It says what the tables say and nothing else: whoever wants another sentence there changes the table.

use std::fmt::Write as _;

use ashlar_funcs::{Builtin, Param, Purity, Rule, Ty, families};

/// Where it belongs.
pub(crate) const FILE: &str = "docs/functions.md";

const HEAD: &str = "\
# Functions

<!-- Written by `cargo xtask gen` from the tables in operator/funcs. Do not edit. -->

The builtin functions of the language, family by family. Each can also be called as `core::NAME`. Functions of providers are
called `provider::NAME::FUNCTION` and are described by their providers. The examples are expressions that are true; tests
evaluate each of them, and `cargo xtask oracle` asks the real Terraform.

## What holds for all

- **Types.** An argument is converted to the type of its parameter where that can be done. `any` takes every type. A parameter
  with `...` takes any number of arguments; `f(list...)` hands over the elements of a list.
- **Null.** A null argument is an error unless the function says that the parameter may be null.
- **Unknown.** While a value is known only after apply, so is the result, unless the function says that it looks at unknown
  values. An unknown result is never null unless the function says so.
- **Sensitive and ephemeral.** What is made of a sensitive or ephemeral argument is so too, unless the function says that it
  handles these marks itself. No error shows what a sensitive argument holds.
- **Dialect.** The language is Terraform's unless the workspace says `spec.dialect: OpenTofu` (on the command line
  `--dialect opentofu`). Functions marked with one of the names exist, or work as described, only there.
- **In a cluster** functions read files of the workspace's source and nothing else, each of at most 16 MiB, and what a run makes
  of texts and collections is limited to 512 MiB.
";

/// The whole text.
pub(crate) fn text() -> String {
    let mut out = HEAD.to_owned();
    out.push_str("\n## Contents\n\n");
    for family in families() {
        let mut names: Vec<&str> = family.table.iter().map(|builtin| builtin.name).collect();
        names.dedup();
        let links: Vec<String> = names.iter().map(|name| format!("[{name}](#{name})")).collect();
        // Writing to a String cannot fail.
        let _ = writeln!(out, "- **{}**: {}", family.title, links.join(" · "));
    }
    for family in families() {
        let _ = writeln!(out, "\n## {}", family.title);
        let mut last = "";
        for builtin in family.table {
            if builtin.name != last {
                let _ = writeln!(out, "\n### {}", builtin.name);
                last = builtin.name;
            }
            entry(&mut out, builtin);
        }
    }
    out
}

fn entry(out: &mut String, builtin: &Builtin) {
    let _ = writeln!(out, "\n```text\n{}\n```\n", signature(builtin));
    if let Some(only) = builtin.only {
        let _ = write!(out, "**{only} only.** ");
    }
    let _ = writeln!(out, "{}", builtin.doc);
    let notes = notes(builtin);
    if !notes.is_empty() {
        let _ = writeln!(out, "\n{}", notes.join("\n"));
    }
    if !builtin.examples.is_empty() {
        let _ = writeln!(out, "\n```hcl\n{}\n```", builtin.examples.join("\n"));
    }
}

/// As a person writes it down: `join(separator string, lists list(string)...) -> string`.
fn signature(builtin: &Builtin) -> String {
    let param = |param: &Param| format!("{} {}", param.name, ty(param.ty));
    let mut params: Vec<String> = builtin.params.iter().map(param).collect();
    params.extend(builtin.variadic.as_ref().map(|variadic| param(variadic) + "..."));
    let result = match builtin.result {
        Rule::Is(result) => ty(result),
        Rule::By(_) => "by the arguments".to_owned(),
    };
    format!("{}({}) -> {result}", builtin.name, params.join(", "))
}

fn ty(ty: Ty) -> String {
    ty.to_type().to_string()
}

/// What differs from what holds for all.
fn notes(builtin: &Builtin) -> Vec<String> {
    let params = || builtin.params.iter().chain(&builtin.variadic);
    let named = |which: fn(&Param) -> bool| -> Option<String> {
        let names: Vec<String> = params()
            .filter(|param| which(param))
            .map(|param| format!("`{}`", param.name))
            .collect();
        (!names.is_empty()).then(|| names.join(", "))
    };
    let mut notes = Vec::new();
    if let Some(names) = named(|param| param.null) {
        notes.push(format!("- May be null: {names}."));
    }
    if let Some(names) = named(|param| param.unknown) {
        notes.push(format!("- Looked at also while unknown: {names}."));
    }
    if let Some(names) = named(|param| param.marked) {
        notes.push(format!("- Marks are handled by the function itself: {names}."));
    }
    if !builtin.not_null {
        notes.push("- The result may be null, or may turn out so while it is unknown.".to_owned());
    }
    match builtin.purity {
        Purity::Pure => {}
        Purity::Files => {
            notes.push("- Reads files; they must be the same when planning and when applying.".to_owned());
        }
        Purity::PlanTime => notes.push("- Gives the time of the plan, also when applying.".to_owned()),
        Purity::Impure => notes.push(
            "- Different each time: unknown while planning, and whatever depends on it changes with every run."
                .to_owned(),
        ),
    }
    notes
}

#[cfg(test)]
mod tests {
    use ashlar_value::Dialect;

    use super::*;

    #[test]
    fn every_function_is_described() {
        let text = text();
        for builtin in ashlar_funcs::all() {
            assert!(
                text.contains(&format!("\n### {}\n", builtin.name)),
                "{}",
                builtin.name
            );
            assert!(text.contains(builtin.doc), "{}", builtin.name);
            for example in builtin.examples {
                assert!(text.contains(example), "{example}");
            }
        }
        assert_eq!(text.matches("**OpenTofu only.**").count(), of(Dialect::OpenTofu));
        assert_eq!(
            text.matches("**Terraform only.**").count(),
            of(Dialect::Terraform)
        );
    }

    fn of(dialect: Dialect) -> usize {
        ashlar_funcs::all()
            .filter(|builtin| builtin.only == Some(dialect))
            .count()
    }

    #[test]
    fn signatures_read_like_calls() {
        let check = |name: &str, want: &str| {
            let builtin = ashlar_funcs::find(name, Dialect::Terraform).unwrap();
            assert_eq!(signature(builtin), want);
        };
        check("join", "join(separator string, lists list(string)...) -> string");
        check("flatten", "flatten(list any) -> by the arguments");
        check("timestamp", "timestamp() -> string");
    }
}
