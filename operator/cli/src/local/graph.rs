//! `ashlar graph`: what waits for what, whole or after one of the passes that build it.

use std::process::ExitCode;

use anyhow::bail;
use ashlar_diag::Sources;
use ashlar_plan::node::PASSES;
use ashlar_runner::{LookRequest, look};
use ashlar_store::file::FileStore;

use super::{backend::Elsewhere, graph_text, inputs, packages::Fetched, session, workspace};
use crate::{args::GraphArgs, printer::Printer};

/// Runs the command. Providers are started for their schemas, which tell what of a resource's body are references.
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
    let dir = session::folder(&args.place)?;
    let scratch = session::scratch()?;
    let settings = session::settings(&args.place, &dir, scratch.path(), printer)?;
    let mut sources = Sources::new();
    // A graph does nothing to what is kept elsewhere.
    let (workspace, state_file) = workspace::selected(&dir, Elsewhere::PassedOver, printer)?;
    let recovered = match FileStore::peek(state_file).await {
        Ok(recovered) => recovered,
        Err(diags) => {
            printer.diags(&diags, &sources);
            return Ok(ExitCode::FAILURE);
        }
    };
    let fetched = Fetched::open(&dir, &args.fetching, printer)?;
    let request = LookRequest {
        files: inputs::module_files(&dir, args.language.dialect)?,
        inputs: Default::default(),
        env: Vec::new(),
        state: recovered.state,
        folder: dir,
        workspace,
        dialect: args.language.dialect,
        packages: Some(fetched.packages.clone()),
    };
    let (looked, diags) = look(&settings, request, &mut sources).await;
    fetched.keep(looked.is_some())?;
    printer.diags(&diags, &sources);
    let Some(looked) = looked else {
        return Ok(ExitCode::FAILURE);
    };
    let graph = looked.graph(args.after.as_deref());
    looked.close().await;
    printer.result(&graph_text::write(&graph, args.format));
    Ok(ExitCode::SUCCESS)
}
