//! `ashlar graph`: the graph as dot text, whole or after one of the passes that build it.

use std::{fmt::Write as _, process::ExitCode};

use anyhow::bail;
use ashlar_diag::Sources;
use ashlar_plan::{
    Schemas,
    node::{PASSES, Sight, build},
};
use ashlar_runner::{Folders, load_module};
use ashlar_store::file::FileStore;

use super::{inputs, packages::Fetched};
use crate::{args::GraphArgs, printer::Printer};

/// Runs the command. Schemas are not asked for: references inside provider blocks show only where they stand outside of
/// arguments.
pub(crate) async fn run(args: &GraphArgs, printer: &Printer) -> anyhow::Result<ExitCode> {
    if let Some(after) = &args.after
        && !PASSES.iter().any(|(name, _)| name == after)
    {
        let names: Vec<&str> = PASSES.iter().map(|(name, _)| *name).collect();
        bail!(
            "There is no pass {after:?}. The passes are, in order: {}.",
            names.join(", ")
        );
    }
    let mut sources = Sources::new();
    let fetched = Fetched::open(&args.place.dir, &args.fetching, printer)?;
    let mut library = Folders {
        root: args.place.dir.clone(),
        dialect: args.language.dialect,
        confines: None,
        packages: Some(fetched.packages.clone()),
    };
    let (tree, _, diags) = load_module(
        &inputs::module_files(&args.place.dir, args.language.dialect)?,
        args.language.dialect,
        &mut library,
        &mut sources,
    );
    fetched.keep(!diags.has_errors())?;
    printer.diags(&diags, &sources);
    if diags.has_errors() {
        return Ok(ExitCode::FAILURE);
    }
    let recovered = match FileStore::peek(&args.place.dir).await {
        Ok(recovered) => recovered,
        Err(diags) => {
            printer.diags(&diags, &sources);
            return Ok(ExitCode::FAILURE);
        }
    };
    let schemas = Schemas::new();
    let sight = Sight {
        tree: &tree,
        state: &recovered.state,
        schemas: &schemas,
    };
    let graph = build(&sight, args.after.as_deref());
    let mut text = String::from("digraph {\n");
    for node in graph.nodes() {
        let _ = writeln!(text, "  {:?}", node.to_string());
        for dependency in graph.dependencies(node) {
            let _ = writeln!(text, "  {:?} -> {:?}", node.to_string(), dependency.to_string());
        }
    }
    text.push_str("}\n");
    printer.result(&text);
    Ok(ExitCode::SUCCESS)
}
