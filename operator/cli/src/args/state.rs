//! `ashlar state`, `taint` and `untaint`: which state, and what of it.

use std::path::PathBuf;

use ashlar_addr::Target;
use clap::{Args, Subcommand};

use super::shared::{Backends, Language, Place};

/// `ashlar state`
#[derive(Subcommand)]
pub(crate) enum StateCommand {
    /// Write the state file (format version 4) to standard output. It holds sensitive values in clear.
    ///
    /// What a run that broke off left in its journal is part of it. A state that is kept in several parts comes out whole.
    Pull(StatePlace),
    /// List the addresses of all instances, or of those that the addresses name.
    List(ListArgs),
    /// Show one instance's object.
    Show(ShowObjectArgs),
    /// Give objects other addresses: an instance, a whole resource, or a whole module.
    #[command(visible_alias = "move")]
    Mv(MoveArgs),
    /// Forget objects; what they stand for stays as it is.
    #[command(visible_alias = "remove")]
    Rm(RemoveArgs),
    /// Put a state file in the place of the state.
    Push(PushArgs),
    /// Have the resources of one provider managed by another.
    ReplaceProvider(ReplaceProviderArgs),
}

/// `ashlar state list`
#[derive(Args)]
pub(crate) struct ListArgs {
    #[command(flatten)]
    pub(crate) place: StatePlace,
    /// Only those whose object has this id.
    #[arg(long, value_name = "ID")]
    pub(crate) id: Option<String>,
    /// Modules, resources or instances.
    pub(crate) addresses: Vec<Target>,
}

/// `ashlar state show`
#[derive(Args)]
pub(crate) struct ShowObjectArgs {
    #[command(flatten)]
    pub(crate) place: Place,
    #[command(flatten)]
    pub(crate) language: Language,
    /// The instance.
    pub(crate) address: ashlar_addr::ResourceInstance,
}

/// `ashlar state mv`
#[derive(Args)]
pub(crate) struct MoveArgs {
    #[command(flatten)]
    pub(crate) place: StatePlace,
    /// Tell only what would move.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// What moves.
    pub(crate) source: Target,
    /// Where to.
    pub(crate) destination: Target,
}

/// `ashlar state rm`
#[derive(Args)]
pub(crate) struct RemoveArgs {
    #[command(flatten)]
    pub(crate) place: StatePlace,
    /// Tell only what would be forgotten.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Modules, resources or instances.
    #[arg(required = true)]
    pub(crate) addresses: Vec<Target>,
}

/// `ashlar state push`
#[derive(Args)]
pub(crate) struct PushArgs {
    #[command(flatten)]
    pub(crate) place: StatePlace,
    /// Even in place of one that is newer, or that it has nothing to do with.
    #[arg(long)]
    pub(crate) force: bool,
    /// A state file, format version 4; `-` is standard input.
    pub(crate) file: PathBuf,
}

/// `ashlar state replace-provider`
#[derive(Args)]
pub(crate) struct ReplaceProviderArgs {
    #[command(flatten)]
    pub(crate) place: StatePlace,
    /// Do not ask.
    #[arg(long)]
    pub(crate) auto_approve: bool,
    /// The provider that manages them now.
    pub(crate) from: ashlar_addr::Provider,
    /// The one that is to.
    pub(crate) to: ashlar_addr::Provider,
}

/// `ashlar taint`, `ashlar untaint`
#[derive(Args)]
pub(crate) struct MarkArgs {
    #[command(flatten)]
    pub(crate) place: StatePlace,
    /// It is no error if there is no such instance.
    #[arg(long)]
    pub(crate) allow_missing: bool,
    /// The instance.
    pub(crate) address: ashlar_addr::ResourceInstance,
}

/// Which state.
#[derive(Args)]
pub(crate) struct StatePlace {
    /// Folder with the state.
    #[arg(long, default_value = ".", conflicts_with = "namespace")]
    pub(crate) dir: PathBuf,
    #[command(flatten)]
    pub(crate) backends: Backends,
    /// Namespace with the state, in the cluster that KUBECONFIG names.
    #[arg(long, requires = "suffix")]
    pub(crate) namespace: Option<String>,
    /// Terraform's workspace: `spec.terraformWorkspace`.
    #[arg(long, default_value = "default", requires = "namespace")]
    pub(crate) workspace: String,
    /// The last part of the Secret's name, `tfstate-WORKSPACE-SUFFIX`; see `status.state.secret`.
    #[arg(long, requires = "namespace")]
    pub(crate) suffix: Option<String>,
}
