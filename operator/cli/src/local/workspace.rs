//! `ashlar workspace`: states beside each other for one configuration, in a folder.
//!
//! Source: Terraform `internal/command/workspace_*.go`, `meta.go` (`WorkspaceOverridden`).

use std::{path::Path, process::ExitCode};

use anyhow::{Context, bail};
use ashlar_addr::Mode;
use ashlar_config::{LocalBackend, read_root};
use ashlar_diag::{Diag, Diags, Sources};
use ashlar_port::RunStore;
use ashlar_runner::read_folder;
use ashlar_store::file::{DEFAULT, FileStore, StateFile, Workspaces, is_workspace_name};
use ashlar_value::Dialect;

use crate::{
    args::{DeleteWorkspaceArgs, NewWorkspaceArgs, SelectWorkspaceArgs, WorkspaceCommand},
    printer::Printer,
    state::VERSION,
};

/// Selects a workspace, whatever the folder says.
const OVERRIDE: &str = "TF_WORKSPACE";
const OVERRIDDEN: &str = "TF_WORKSPACE in the environment selects the workspace.";

/// The backend block that is obeyed. In whose language the configuration is read is not known everywhere it is asked for, so both
/// must find the same.
fn local_backend(dir: &Path) -> anyhow::Result<Option<LocalBackend>> {
    let read = |dialect| -> anyhow::Result<Option<LocalBackend>> {
        let files = read_folder(dir, "", dialect)
            .with_context(|| format!("The backend block in {} could not be looked for", dir.display()))?;
        let (root, _) = read_root(&files, dialect, &mut Sources::new());
        Ok(root.local_backend)
    };
    let found = read(Dialect::Terraform)?;
    if read(Dialect::OpenTofu)? != found {
        bail!(
            "The backend block is another one in the .tofu files than in the others. Have one, in a .tf file."
        );
    }
    if found.as_ref().is_some_and(|found| !found.is_clear) {
        bail!("The arguments of the local backend tell where the state lies, so they must be plain texts.");
    }
    Ok(found)
}

/// Diagnostics without the warning that a backend block has no effect, where it is one that is obeyed here.
pub(crate) fn without_obeyed(diags: Diags, dir: &Path) -> Diags {
    let is_about = |diag: &Diag| &*diag.summary == "Unused backend block";
    if !diags.iter().any(is_about) || !matches!(local_backend(dir), Ok(Some(_))) {
        return diags;
    }
    diags.into_iter().filter(|diag| !is_about(diag)).collect()
}

fn laid(dir: &Path, backend: Option<&LocalBackend>) -> Workspaces {
    let own = Workspaces::of(dir);
    let Some(LocalBackend {
        path, workspace_dir, ..
    }) = backend
    else {
        return own;
    };
    let path = path.as_deref().map(Path::new);
    own.within(path, workspace_dir.as_deref().map(Path::new))
}

/// The workspaces of a folder: where the root module's `backend "local"` block says, if it has one. A block that came, went or
/// changed while there are states where it said before is refused, as Terraform does until `init` is told what to do.
fn of(dir: &Path, printer: &Printer) -> anyhow::Result<Workspaces> {
    let backend = local_backend(dir)?;
    let there = laid(dir, backend.as_ref());
    let note = dir.join(USED);
    let used = match std::fs::read_to_string(&note) {
        Ok(text) => serde_json::from_str::<Option<Used>>(&text)
            .with_context(|| format!("{} cannot be read", note.display()))?,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
        Err(error) => return Err(error).with_context(|| format!("{} cannot be read", note.display())),
    };
    let before = laid(dir, used.map(LocalBackend::from).as_ref());
    for name in all(&before, printer)? {
        let (old, new) = (before.state(&name).path(), there.state(&name).path());
        if old != new && old.exists() && !new.exists() {
            bail!(
                "The backend block says that the state of workspace {name:?} lies in {}, where there is none, and there is one in \
                 {}. Move it there, or all objects would be planned anew; or have the block as it was.",
                new.display(),
                old.display()
            );
        }
    }
    let now = backend.map(Used::from);
    if now.is_some() || note.exists() {
        let text = serde_json::to_string(&now)?;
        if std::fs::read_to_string(&note).ok().as_ref() != Some(&text) {
            let folder = note.parent().unwrap_or(dir);
            std::fs::create_dir_all(folder)
                .and_then(|()| std::fs::write(&note, text))
                .with_context(|| format!("{} cannot be written", note.display()))?;
        }
    }
    Ok(there)
}

/// Where states lay when they were used last, in the folder.
const USED: &str = ".ashlar/backend.json";

/// What a backend block said.
#[derive(serde::Serialize, serde::Deserialize)]
struct Used {
    path: Option<String>,
    workspace_dir: Option<String>,
}

impl From<LocalBackend> for Used {
    fn from(backend: LocalBackend) -> Self {
        Self {
            path: backend.path.map(|path| path.to_string()),
            workspace_dir: backend.workspace_dir.map(|folder| folder.to_string()),
        }
    }
}

impl From<Used> for LocalBackend {
    fn from(used: Used) -> Self {
        Self {
            path: used.path.map(Into::into),
            workspace_dir: used.workspace_dir.map(Into::into),
            is_clear: true,
        }
    }
}

/// The workspace that commands in a folder work in, and where its state lies.
pub(crate) fn selected(dir: &Path, printer: &Printer) -> anyhow::Result<(String, StateFile)> {
    let workspaces = of(dir, printer)?;
    let name = match overridden()? {
        Some(name) => name,
        None => workspaces
            .selected()
            .map_err(|diags| printer.told(&diags, &Sources::new()))?,
    };
    let state = workspaces.state(&name);
    Ok((name, state))
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
        WorkspaceCommand::List(place) => list(&of(&place.dir, printer)?, &place.dir, printer)?,
        WorkspaceCommand::Show(place) => {
            let (name, _) = selected(&place.dir, printer)?;
            printer.result(&format!("{name}\n"));
        }
        WorkspaceCommand::New(args) => new(args, printer).await?,
        WorkspaceCommand::Select(args) => select(args, printer)?,
        WorkspaceCommand::Delete(args) => delete(args, printer).await?,
    }
    Ok(ExitCode::SUCCESS)
}

fn list(workspaces: &Workspaces, dir: &Path, printer: &Printer) -> anyhow::Result<()> {
    let (current, _) = selected(dir, printer)?;
    for name in all(workspaces, printer)? {
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
    let workspaces = of(&place.dir, printer)?;
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
    let workspaces = of(&place.dir, printer)?;
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
    let workspaces = of(&place.dir, printer)?;
    if !all(&workspaces, printer)?.contains(name) {
        bail!("Workspace {name:?} doesn't exist.");
    }
    if selected(&place.dir, printer)?.0 == *name {
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

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn state_of(dir: &Path, name: &str) -> Result<String, String> {
        let workspaces = of(dir, &Printer::new(true)).map_err(|error| error.to_string())?;
        let path = workspaces.state(name).path().to_owned();
        Ok(path.strip_prefix(dir).unwrap().display().to_string())
    }

    #[test]
    fn a_state_is_not_left_behind_where_the_backend_block_changes() {
        let root = tempfile::tempdir().unwrap();
        let dir = root.path();
        let block = |arguments: &str| {
            let text = format!("terraform {{\n  backend \"local\" {{\n{arguments}\n  }}\n}}\n");
            fs::write(dir.join("main.tf"), text).unwrap();
        };
        block("path = \"a.tfstate\"");
        assert_eq!(state_of(dir, DEFAULT).unwrap(), "a.tfstate");
        // Nothing was made yet, so it may change.
        block("path = \"b.tfstate\"");
        assert_eq!(state_of(dir, DEFAULT).unwrap(), "b.tfstate");
        fs::write(dir.join("b.tfstate"), "{}").unwrap();
        let other = dir.join("terraform.tfstate.d/prod");
        fs::create_dir_all(&other).unwrap();
        fs::write(other.join("terraform.tfstate"), "{}").unwrap();
        for changed in [
            "path = \"c.tfstate\"",
            "path = \"b.tfstate\"\nworkspace_dir = \"w\"",
        ] {
            block(changed);
            let refused = state_of(dir, DEFAULT).unwrap_err();
            assert!(refused.contains("planned anew"), "{refused}");
        }
        fs::write(dir.join("main.tf"), "locals {}\n").unwrap();
        assert!(state_of(dir, DEFAULT).unwrap_err().contains("planned anew"));
        block("path = var.where");
        assert!(state_of(dir, DEFAULT).unwrap_err().contains("plain texts"));
        block("path = \"b.tfstate\"");
        assert_eq!(state_of(dir, DEFAULT).unwrap(), "b.tfstate");
        // What cannot be read is not taken for no block.
        std::os::unix::fs::symlink("/nowhere", dir.join("z.tf")).unwrap();
        assert!(
            state_of(dir, DEFAULT)
                .unwrap_err()
                .contains("could not be looked for")
        );
    }
}
