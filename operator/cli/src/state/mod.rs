//! `ashlar state`: a state as it stands, of a folder or of a cluster, read and changed by hand.
//!
//! What only looks takes no lock. What changes something takes it, as a run does, and refuses while one holds it.

mod held;
pub(crate) mod mark;

use std::{io::Read, path::Path, process::ExitCode};

use anyhow::{Context, bail};
use ashlar_diag::{Diags, Sources};
use ashlar_state::{edit, instances, object_id, select};
use ashlar_store::{Pulled, file::FileStore, kube::pull};
use ashlar_value::Dialect;

use self::held::{Found, Held, change, glance};
use crate::{
    args::{ListArgs, MoveArgs, PushArgs, RemoveArgs, ReplaceProviderArgs, StateCommand, StatePlace},
    local::gate,
    printer::Printer,
};

/// The version of Terraform in whose name states are written.
pub(crate) const VERSION: &str = Dialect::Terraform.version();

/// A lineage for a state that begins here.
pub(crate) fn new_lineage() -> String {
    use ashlar_port::Outside as _;
    ashlar_runner::SystemOutside::default().uuid()
}

/// Runs the command.
pub(crate) async fn run(command: StateCommand, printer: &Printer) -> anyhow::Result<ExitCode> {
    match command {
        StateCommand::Pull(place) => write_out(&place, printer).await?,
        StateCommand::List(args) => list(&args, printer).await?,
        StateCommand::Show(args) => crate::local::show::object(&args, printer).await?,
        StateCommand::Mv(args) => relocate(&args, printer).await?,
        StateCommand::Rm(args) => remove(&args, printer).await?,
        StateCommand::Push(args) => push(&args, printer).await?,
        StateCommand::ReplaceProvider(args) => replace_provider(&args, printer).await?,
    }
    Ok(ExitCode::SUCCESS)
}

fn told(printer: &Printer) -> impl Fn(Diags) -> anyhow::Error {
    let printer = *printer;
    move |diags| printer.told(&diags, &Sources::new())
}

/// The state as it lies there, with what a journal adds to it.
async fn pulled(place: &StatePlace, printer: &Printer) -> anyhow::Result<Pulled> {
    let pulled = match Found::at(place, printer).await? {
        Found::Folder(folder) => FileStore::pull(folder).await,
        Found::Cluster(client, slot) => pull(&client, &slot).await,
    };
    let pulled = pulled.map_err(told(printer))?;
    printer.diags(&pulled.recovered.warnings, &Sources::new());
    if pulled.bytes.is_none() {
        bail!("There is no state at this place; check its name.");
    }
    Ok(pulled)
}

async fn write_out(place: &StatePlace, printer: &Printer) -> anyhow::Result<()> {
    let pulled = pulled(place, printer).await?;
    let bytes = pulled.bytes.unwrap_or_default();
    printer.result(std::str::from_utf8(&bytes).context("The state is no text")?);
    Ok(())
}

async fn list(args: &ListArgs, printer: &Printer) -> anyhow::Result<()> {
    let ListArgs { place, id, addresses } = args;
    let state = pulled(place, printer).await?.recovered.state;
    let found = if addresses.is_empty() {
        instances(&state).collect()
    } else {
        select(&state, addresses).map_err(told(printer))?
    };
    for address in found {
        let has_id = |id: &String| state.current(&address).and_then(object_id).as_ref() == Some(id);
        if id.as_ref().is_none_or(has_id) {
            printer.result(&format!("{address}\n"));
        }
    }
    Ok(())
}

async fn relocate(args: &MoveArgs, printer: &Printer) -> anyhow::Result<()> {
    let MoveArgs {
        place,
        dry_run,
        source,
        destination,
    } = args;
    let moved = change(place, "state-mv", printer, |state| {
        let before = state.clone();
        let moved = edit::relocate(state, source, destination).map_err(told(printer))?;
        if *dry_run {
            *state = before;
        }
        Ok(moved)
    })
    .await?;
    let word = if *dry_run { "Would move" } else { "Move" };
    for one in &moved {
        printer.result(&format!(
            "{word} {:?} to {:?}\n",
            one.from.to_string(),
            one.to.to_string()
        ));
    }
    if !dry_run {
        printer.result(&format!("Successfully moved {} object(s).\n", moved.len()));
    }
    Ok(())
}

async fn remove(args: &RemoveArgs, printer: &Printer) -> anyhow::Result<()> {
    let RemoveArgs {
        place,
        dry_run,
        addresses,
    } = args;
    let removed = change(place, "state-rm", printer, |state| {
        let before = state.clone();
        let removed = edit::remove(state, addresses);
        if *dry_run {
            *state = before;
        }
        Ok(removed)
    })
    .await?;
    let word = if *dry_run { "Would remove" } else { "Removed" };
    for address in &removed {
        printer.result(&format!("{word} {address}\n"));
    }
    match (dry_run, removed.len()) {
        (true, 0) => printer.result("Would have removed nothing.\n"),
        (true, _) => {}
        (false, 0) => bail!(
            "Invalid target address: nothing in the state is at what was named. `ashlar state list` tells what is there."
        ),
        (false, count) => printer.result(&format!("Successfully removed {count} resource instance(s).\n")),
    }
    Ok(())
}

async fn push(args: &PushArgs, printer: &Printer) -> anyhow::Result<()> {
    let PushArgs { place, force, file } = args;
    let bytes = if file == Path::new("-") {
        let mut bytes = Vec::new();
        let read = std::io::stdin().lock().read_to_end(&mut bytes);
        read.context("The state cannot be read from standard input")?;
        bytes
    } else {
        std::fs::read(file).with_context(|| format!("The state file {} cannot be read", file.display()))?
    };
    let mut new = ashlar_state::read(&bytes).map_err(told(printer))?;
    let (held, recovered) = Held::open(place, "state-push", printer).await?;
    let verdict = if *force {
        Ok(())
    } else {
        edit::may_replace(&recovered.state, &new)
    };
    let done = match verdict {
        // What is there already is not written a second time.
        Ok(()) if recovered.state == new => Ok(()),
        Ok(()) => {
            if new.lineage.is_empty() {
                new.lineage = new_lineage();
            }
            held.save_as_is(&new).await
        }
        Err(diags) => Err(diags),
    };
    let closed = held.close().await;
    done.and(closed).map_err(told(printer))
}

async fn replace_provider(args: &ReplaceProviderArgs, printer: &Printer) -> anyhow::Result<()> {
    let ReplaceProviderArgs {
        place,
        auto_approve,
        from,
        to,
    } = args;
    // Asked before the lock is taken: nobody waits for a person.
    let mut seen = glance(place, printer).await?;
    let wanted = edit::replace_provider(&mut seen, from, to);
    if wanted.is_empty() {
        printer.result("No matching resources found.\n");
        return Ok(());
    }
    let mut text = format!(
        "These {} resources will be managed by another provider:\n  - {from}\n  + {to}\n\n",
        wanted.len()
    );
    for address in &wanted {
        text.push_str(&format!("  {address}\n"));
    }
    printer.result(&text);
    let is_agreed = *auto_approve || {
        let question = "Do you want to make these changes?";
        gate::agreed(question, printer)
            .context("Nobody can be asked here. Approve it with --auto-approve.")?
    };
    if !is_agreed {
        printer.result("Cancelled replacing providers.\n");
        return Ok(());
    }
    change(place, "state-replace-provider", printer, |state| {
        if edit::replace_provider(state, from, to) != wanted {
            bail!("The state has other resources of {from} now than those above. Nothing was changed; do it again.");
        }
        Ok(())
    })
    .await?;
    printer.result(&format!(
        "\nSuccessfully replaced provider for {} resources.\n",
        wanted.len()
    ));
    Ok(())
}
