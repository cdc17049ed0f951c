//! Commands that only look: `show`, `output`, `console`, `validate`, `graph`, `version`.

use std::path::PathBuf;

use clap::Args;

use super::{
    shared::{Fetching, Language, Place, Values},
    workspace::WorkspacePlace,
};
use crate::local::graph_text::GraphFormat;

/// `ashlar console`
#[derive(Args)]
pub(crate) struct ConsoleArgs {
    #[command(flatten)]
    pub(crate) place: Place,
    #[command(flatten)]
    pub(crate) values: Values,
    #[command(flatten)]
    pub(crate) fetching: Fetching,
    #[command(flatten)]
    pub(crate) language: Language,
}

/// `ashlar show`
#[derive(Args)]
pub(crate) struct ShowArgs {
    #[command(flatten)]
    pub(crate) place: Place,
    /// Print it as JSON, in the form of `terraform show -json`: with all values in clear.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) language: Language,
    /// A plan from `plan --out`, or a state file.
    #[arg(value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
}

/// `ashlar output`
#[derive(Args)]
pub(crate) struct OutputArgs {
    #[command(flatten)]
    pub(crate) place: WorkspacePlace,
    /// As JSON: of all outputs with types and with what is sensitive in clear, of one its value alone.
    #[arg(long, conflicts_with = "raw")]
    pub(crate) json: bool,
    /// The value of one output as it is, if it is a string, a number or a bool.
    #[arg(long, requires = "name")]
    pub(crate) raw: bool,
    /// Of this output alone.
    pub(crate) name: Option<String>,
}

/// `ashlar version`
#[derive(Args)]
pub(crate) struct VersionArgs {
    /// As JSON.
    #[arg(long)]
    pub(crate) json: bool,
    /// Folder of the root module, whose lock file tells the versions of providers.
    #[arg(long, default_value = ".")]
    pub(crate) dir: PathBuf,
}

/// `ashlar validate`
#[derive(Args)]
pub(crate) struct ValidateArgs {
    #[command(flatten)]
    pub(crate) place: Place,
    #[command(flatten)]
    pub(crate) values: Values,
    /// Print the answer as JSON, in the form of `terraform validate -json`.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) fetching: Fetching,
    #[command(flatten)]
    pub(crate) language: Language,
}

/// `ashlar graph`
#[derive(Args)]
pub(crate) struct GraphArgs {
    #[command(flatten)]
    pub(crate) place: Place,
    /// Stop after this pass.
    #[arg(long, value_name = "PASS")]
    pub(crate) after: Option<String>,
    /// How it is written.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: GraphFormat,
    #[command(flatten)]
    pub(crate) fetching: Fetching,
    #[command(flatten)]
    pub(crate) language: Language,
}
