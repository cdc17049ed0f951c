//! `ashlar state pull` and `ashlar state list`: a state as it stands, of a folder or of a cluster.
//!
//! No lock is taken: it only looks.

use std::process::ExitCode;

use anyhow::Context;
use ashlar_diag::{Diags, Sources};
use ashlar_store::{
    Pulled,
    file::FileStore,
    kube::{Slot, pull},
};

use crate::{
    args::{StateCommand, StatePlace},
    printer::Printer,
};

/// Runs the command.
pub(crate) async fn run(command: &StateCommand, printer: &Printer) -> anyhow::Result<ExitCode> {
    let (StateCommand::Pull(place) | StateCommand::List(place)) = command;
    let pulled = match pulled(place).await? {
        Ok(pulled) => pulled,
        Err(diags) => {
            printer.diags(&diags, &Sources::new());
            return Ok(ExitCode::FAILURE);
        }
    };
    printer.diags(&pulled.recovered.warnings, &Sources::new());
    let Some(bytes) = &pulled.bytes else {
        anyhow::bail!("There is no state at this place; check its name.");
    };
    match command {
        StateCommand::Pull(_) => {
            printer.result(std::str::from_utf8(bytes).context("The state is no text")?);
        }
        StateCommand::List(_) => {
            for (address, deposed, _) in pulled.recovered.state.objects() {
                let deposed = deposed.map(|key| format!(" (deposed {key})")).unwrap_or_default();
                printer.result(&format!("{address}{deposed}\n"));
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

async fn pulled(place: &StatePlace) -> anyhow::Result<Result<Pulled, Diags>> {
    let (Some(namespace), Some(suffix)) = (&place.namespace, &place.suffix) else {
        return Ok(FileStore::pull(&place.dir).await);
    };
    let slot = match Slot::new(namespace, &place.workspace, suffix, Default::default()) {
        Ok(slot) => slot,
        Err(diags) => return Ok(Err(diags)),
    };
    let client = kube::Client::try_default()
        .await
        .context("The cluster cannot be reached; does KUBECONFIG name one?")?;
    Ok(pull(&client, &slot).await)
}
