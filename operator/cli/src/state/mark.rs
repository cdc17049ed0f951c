//! `ashlar taint` and `ashlar untaint`.

use std::process::ExitCode;

use ashlar_addr::ResourceInstance;
use ashlar_diag::{Diags, Sources};
use ashlar_state::{State, edit};

use super::held::change;
use crate::{args::MarkArgs, printer::Printer};

/// Runs `ashlar taint`.
pub(crate) async fn taint(args: &MarkArgs, printer: &Printer) -> anyhow::Result<ExitCode> {
    mark(args, "taint", edit::taint, "has been marked as tainted", printer).await
}

/// Runs `ashlar untaint`.
pub(crate) async fn untaint(args: &MarkArgs, printer: &Printer) -> anyhow::Result<ExitCode> {
    mark(
        args,
        "untaint",
        edit::untaint,
        "has been successfully untainted",
        printer,
    )
    .await
}

async fn mark(
    args: &MarkArgs,
    operation: &str,
    edit: fn(&mut State, &ResourceInstance) -> Result<(), Diags>,
    done: &str,
    printer: &Printer,
) -> anyhow::Result<ExitCode> {
    let MarkArgs {
        place,
        allow_missing,
        address,
    } = args;
    let there = change(place, operation, printer, |state| {
        if *allow_missing && state.instance(address).is_none() {
            return Ok(false);
        }
        edit(state, address).map_err(|diags| printer.told(&diags, &Sources::new()))?;
        Ok(true)
    })
    .await?;
    if there {
        printer.result(&format!("Resource instance {address} {done}.\n"));
    } else {
        printer.note(&format!(
            "Warning: there is no {address} in the state, and --allow-missing says that this is no fault."
        ));
    }
    Ok(ExitCode::SUCCESS)
}
