//! `ashlar workspace`: which workspace of which folder.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::shared::Backends;

/// `ashlar workspace`
#[derive(Subcommand)]
pub(crate) enum WorkspaceCommand {
    /// List them; the one that is selected has a star.
    List(WorkspacePlace),
    /// Print the name of the one that is selected.
    Show(WorkspacePlace),
    /// Make one and select it.
    New(NewWorkspaceArgs),
    /// Select another.
    Select(SelectWorkspaceArgs),
    /// Delete one with its state.
    Delete(DeleteWorkspaceArgs),
}

/// Where the workspaces are.
#[derive(Args)]
pub(crate) struct WorkspacePlace {
    /// Folder of the root module.
    #[arg(long, default_value = ".")]
    pub(crate) dir: PathBuf,
    #[command(flatten)]
    pub(crate) backends: Backends,
}

/// `ashlar workspace new`
#[derive(Args)]
pub(crate) struct NewWorkspaceArgs {
    #[command(flatten)]
    pub(crate) place: WorkspacePlace,
    /// Begin with what this state file holds.
    #[arg(long, value_name = "FILE")]
    pub(crate) state: Option<PathBuf>,
    /// Its name.
    pub(crate) name: String,
}

/// `ashlar workspace select`
#[derive(Args)]
pub(crate) struct SelectWorkspaceArgs {
    #[command(flatten)]
    pub(crate) place: WorkspacePlace,
    /// Make it if there is none.
    #[arg(long)]
    pub(crate) or_create: bool,
    /// Its name.
    pub(crate) name: String,
}

/// `ashlar workspace delete`
#[derive(Args)]
pub(crate) struct DeleteWorkspaceArgs {
    #[command(flatten)]
    pub(crate) place: WorkspacePlace,
    /// Even if its state still holds objects, which nobody manages then.
    #[arg(long)]
    pub(crate) force: bool,
    /// Its name.
    pub(crate) name: String,
}
