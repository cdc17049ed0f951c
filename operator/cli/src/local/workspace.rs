//! `ashlar workspace`: states beside each other for one configuration, in a folder.
//!
//! Source: Terraform `internal/command/workspace_*.go`, `meta.go` (`WorkspaceOverridden`).

use std::{path::Path, process::ExitCode};

use anyhow::{Context, bail};
use ashlar_addr::Mode;
use ashlar_diag::{Diag, Diags, Sources};
use ashlar_port::RunStore;
use ashlar_store::file::{DEFAULT, FileStore, StateFile, Workspaces, is_workspace_name};

use super::backend::{self, Elsewhere};
use crate::{
    args::{DeleteWorkspaceArgs, NewWorkspaceArgs, SelectWorkspaceArgs, WorkspaceCommand, WorkspacePlace},
    printer::Printer,
    state::VERSION,
};

/// Selects a workspace, whatever the folder says.
const OVERRIDE: &str = "TF_WORKSPACE";
const OVERRIDDEN: &str = "TF_WORKSPACE in the environment selects the workspace.";

/// The workspace that commands in a folder work in, and where its state lies.
pub(crate) fn selected(
    dir: &Path,
    elsewhere: Elsewhere,
    printer: &Printer,
) -> anyhow::Result<(String, StateFile)> {
    let workspaces = of(dir, elsewhere, printer)?;
    let name = match overridden()? {
        Some(name) => name,
        None => workspaces
            .selected()
            .map_err(|diags| printer.told(&diags, &Sources::new()))?,
    };
    let state = workspaces.state(&name);
    Ok((name, state))
}

/// The workspaces of a folder: where its backend block says.
fn of(dir: &Path, elsewhere: Elsewhere, printer: &Printer) -> anyhow::Result<Workspaces> {
    let name = |own: &Workspaces| overridden().ok().flatten().or_else(|| own.selected().ok());
    backend::workspaces(dir, elsewhere, name, printer)
}

fn of_place(place: &WorkspacePlace, printer: &Printer) -> anyhow::Result<Workspaces> {
    of(&place.dir, place.backends.elsewhere(), printer)
}

fn selected_at(place: &WorkspacePlace, printer: &Printer) -> anyhow::Result<(String, StateFile)> {
    selected(&place.dir, place.backends.elsewhere(), printer)
}

fn overridden() -> anyhow::Result<Option<String>> {
    match std::env::var(OVERRIDE) {
        Ok(name) if name.is_empty() => Ok(None),
        Ok(name) if is_workspace_name(&name) => Ok(Some(name)),
        Ok(name) => bail!("{OVERRIDE} is {name:?}, and no workspace can be called that."),
        Err(std::env::VarError::NotPresent) => Ok(None),
        Err(std::env::VarError::NotUnicode(_)) => bail!("{OVERRIDE} is no text."),
    }
}

/// Runs the command.
pub(crate) async fn run(command: &WorkspaceCommand, printer: &Printer) -> anyhow::Result<ExitCode> {
    match command {
        WorkspaceCommand::List(place) => list(place, printer)?,
        WorkspaceCommand::Show(place) => {
            let (name, _) = selected_at(place, printer)?;
            printer.result(&format!("{name}\n"));
        }
        WorkspaceCommand::New(args) => new(args, printer).await?,
        WorkspaceCommand::Select(args) => select(args, printer)?,
        WorkspaceCommand::Delete(args) => delete(args, printer).await?,
    }
    Ok(ExitCode::SUCCESS)
}

fn list(place: &WorkspacePlace, printer: &Printer) -> anyhow::Result<()> {
    let (current, _) = selected_at(place, printer)?;
    for name in all(&of_place(place, printer)?, printer)? {
        let mark = if name == current { "*" } else { " " };
        printer.result(&format!("{mark} {name}\n"));
    }
    if overridden()?.is_some() {
        printer.note(OVERRIDDEN);
    }
    Ok(())
}

fn all(workspaces: &Workspaces, printer: &Printer) -> anyhow::Result<Vec<String>> {
    workspaces.all().map_err(told(printer))
}

fn told(printer: &Printer) -> impl Fn(Diags) -> anyhow::Error {
    let printer = *printer;
    move |diags| printer.told(&diags, &Sources::new())
}

fn check_name(name: &str) -> anyhow::Result<()> {
    if !is_workspace_name(name) {
        bail!(
            "No workspace can be called {name:?}: its name becomes that of a folder, and part of URLs, so it must have no \
             character that means something there."
        );
    }
    Ok(())
}

async fn new(args: &NewWorkspaceArgs, printer: &Printer) -> anyhow::Result<()> {
    let NewWorkspaceArgs { place, state, name } = args;
    check_name(name)?;
    if overridden()?.is_some_and(|current| current != *name) {
        bail!("{OVERRIDDEN} Unset it, or have it name the new one.");
    }
    let workspaces = of_place(place, printer)?;
    if all(&workspaces, printer)?.contains(name) {
        bail!("Workspace {name:?} already exists");
    }
    // Read first, so that nothing is made where there is nothing to begin with.
    let state = match state {
        Some(path) => {
            let bytes = std::fs::read(path)
                .with_context(|| format!("The state file {} cannot be read", path.display()))?;
            Some(ashlar_state::read(&bytes).map_err(told(printer))?)
        }
        None => None,
    };
    workspaces.make(name).map_err(told(printer))?;
    workspaces.select(name).map_err(told(printer))?;
    printer.result(&format!(
        "Created and switched to workspace {name:?}!\n\nIt has a state of its own, which is empty: what other workspaces hold is not \
         seen in it.\n"
    ));
    if let Some(mut state) = state {
        let opened = FileStore::open(workspaces.state(name), "workspace-new").await;
        let (store, _) = opened.map_err(told(printer))?;
        state.lineage = crate::state::new_lineage();
        state.serial = 1;
        let bytes = ashlar_state::write(&state, VERSION).map_err(told(printer))?;
        store.save(bytes, 0).await.map_err(told(printer))?;
    }
    Ok(())
}

fn select(args: &SelectWorkspaceArgs, printer: &Printer) -> anyhow::Result<()> {
    let SelectWorkspaceArgs {
        place,
        or_create,
        name,
    } = args;
    check_name(name)?;
    if overridden()?.is_some() {
        bail!("{OVERRIDDEN} Unset it, or have it name another.");
    }
    let workspaces = of_place(place, printer)?;
    // What is selected may be no name at all: this command is the way out.
    if workspaces.selected().is_ok_and(|current| current == *name) {
        return Ok(());
    }
    let found = all(&workspaces, printer)?.contains(name);
    if !found && !or_create {
        bail!(
            "Workspace {name:?} doesn't exist. Make it with `ashlar workspace new {name}`, or select it with --or-create."
        );
    }
    if !found {
        workspaces.make(name).map_err(told(printer))?;
    }
    workspaces.select(name).map_err(told(printer))?;
    let done = if found { "Switched" } else { "Created and switched" };
    printer.result(&format!("{done} to workspace {name:?}.\n"));
    Ok(())
}

async fn delete(args: &DeleteWorkspaceArgs, printer: &Printer) -> anyhow::Result<()> {
    let DeleteWorkspaceArgs { place, force, name } = args;
    let workspaces = of_place(place, printer)?;
    if !all(&workspaces, printer)?.contains(name) {
        bail!("Workspace {name:?} doesn't exist.");
    }
    if selected_at(place, printer)?.0 == *name {
        bail!("Workspace {name:?} is your active workspace. Select another one before it is deleted.");
    }
    if name == DEFAULT {
        bail!("The default workspace is always there and cannot be deleted.");
    }
    let opened = FileStore::open(workspaces.state(name), "workspace-delete").await;
    let (store, recovered) = opened.map_err(told(printer))?;
    let managed: Vec<String> = recovered
        .state
        .objects()
        .filter(|(address, ..)| address.resource.resource.mode == Mode::Managed)
        .map(|(address, deposed, _)| match deposed {
            None => format!("\n  - {address}"),
            Some(key) => format!("\n  - {address} (deposed object {key})"),
        })
        .collect();
    if !managed.is_empty() && !force {
        let detail = format!(
            "The state of workspace {name:?} holds these objects:{}\n\nNobody would manage them any more. Destroy them first, or \
             have the workspace deleted all the same with --force.",
            managed.concat()
        );
        let diag = Diag::error("Workspace is not empty", detail);
        return Err(printer.told(&diag.into(), &Sources::new()));
    }
    drop(store);
    workspaces.remove(name).map_err(told(printer))?;
    printer.result(&format!("Deleted workspace {name:?}!\n"));
    if !managed.is_empty() {
        printer.note(&format!(
            "Warning: {name:?} was not empty. What its state held may still exist, and nobody manages it."
        ));
    }
    Ok(())
}
