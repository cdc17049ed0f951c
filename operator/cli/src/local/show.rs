//! `ashlar show`: the state's outputs and resources.

use std::process::ExitCode;

use ashlar_diag::Sources;
use ashlar_plan::text;
use ashlar_store::file::FileStore;

use super::workspace;
use crate::{args::ShowArgs, printer::Printer};

/// Runs the command. Takes no lock: it only looks.
pub(crate) async fn run(args: &ShowArgs, printer: &Printer) -> anyhow::Result<ExitCode> {
    let (_, state_dir) = workspace::selected(&args.place.dir, printer)?;
    let recovered = match FileStore::peek(&state_dir).await {
        Ok(recovered) => recovered,
        Err(diags) => {
            printer.diags(&diags, &Sources::new());
            return Ok(ExitCode::FAILURE);
        }
    };
    for (address, deposed, object) in recovered.state.objects() {
        let deposed = deposed.map(|key| format!(" (deposed {key})")).unwrap_or_default();
        let tainted = if object.status == ashlar_state::Status::Tainted {
            " (tainted)"
        } else {
            ""
        };
        printer.result(&format!("{address}{deposed}{tainted}\n"));
    }
    let outputs = text::outputs(&recovered.state, printer.style());
    if !outputs.is_empty() {
        printer.result(&format!("\n{outputs}"));
    }
    for intent in &recovered.uncertain {
        printer.note(&format!(
            "Uncertain: {} of {} was begun, its end is not known.",
            intent.action, intent.subject
        ));
    }
    Ok(ExitCode::SUCCESS)
}
