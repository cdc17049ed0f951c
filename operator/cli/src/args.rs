//! The command line.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

/// Plans and applies Terraform-language infrastructure, locally or as the operator of a cluster.
#[derive(Parser)]
#[command(name = "ashlar", version)]
pub(crate) struct Cli {
    /// Print without colours.
    #[arg(long, global = true, env = "NO_COLOR", value_parser = clap::builder::BoolishValueParser::new(), default_value_t = false, num_args = 0..=1, default_missing_value = "true")]
    pub(crate) no_color: bool,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What to do.
#[derive(Subcommand)]
pub(crate) enum Command {
    /// Show what would be done.
    Plan(PlanArgs),
    /// Do it, once it is approved.
    Apply(ApplyArgs),
    /// Destroy all objects, once that is approved.
    Destroy(ApplyArgs),
    /// Show the state.
    Show(ShowArgs),
    /// Check the configuration without planning.
    Validate(ValidateArgs),
    /// Print the graph, or a stage of its making.
    Graph(GraphArgs),
    /// Run as the operator of a cluster.
    Run(Box<ashlar_controller::OperatorArgs>),
    /// Print the definitions of the custom resources.
    Crd,
}

/// Where the configuration is.
#[derive(Args)]
pub(crate) struct Place {
    /// Folder of the root module and its state.
    #[arg(long, default_value = ".")]
    pub(crate) dir: PathBuf,
    /// Folder with provider packages (repeat for more); tried in order.
    #[arg(long = "mirror", env = "ASHLAR_PLUGIN_MIRROR", value_delimiter = ':')]
    pub(crate) mirrors: Vec<PathBuf>,
}

/// Values of variables.
#[derive(Args)]
pub(crate) struct Values {
    /// Value of a variable: NAME=VALUE. Wins over files.
    #[arg(long = "var")]
    pub(crate) vars: Vec<String>,
    /// File with values of variables. Later ones win.
    #[arg(long = "var-file")]
    pub(crate) var_files: Vec<PathBuf>,
}

/// Choices about the plan.
#[derive(Args)]
pub(crate) struct Choices {
    /// Do not read the objects before planning.
    #[arg(long)]
    pub(crate) no_refresh: bool,
    /// Plan only to take over what changed outside.
    #[arg(long)]
    pub(crate) refresh_only: bool,
    /// Replace this instance even without need.
    #[arg(long = "replace", value_name = "ADDRESS")]
    pub(crate) replace: Vec<ashlar_addr::ResourceInstance>,
    /// Provider calls at once.
    #[arg(long, default_value_t = 10)]
    pub(crate) parallelism: usize,
}

/// `ashlar plan`
#[derive(Args)]
pub(crate) struct PlanArgs {
    #[command(flatten)]
    pub(crate) place: Place,
    #[command(flatten)]
    pub(crate) values: Values,
    #[command(flatten)]
    pub(crate) choices: Choices,
    /// Plan to destroy everything.
    #[arg(long)]
    pub(crate) destroy: bool,
    /// End with status 2 if there are changes.
    #[arg(long)]
    pub(crate) detailed_exitcode: bool,
}

/// `ashlar apply`, `ashlar destroy`
#[derive(Args)]
pub(crate) struct ApplyArgs {
    #[command(flatten)]
    pub(crate) place: Place,
    #[command(flatten)]
    pub(crate) values: Values,
    #[command(flatten)]
    pub(crate) choices: Choices,
    /// Approve the plan with this digest (whole, `sha256:…`) and no other.
    #[arg(long, value_name = "DIGEST", conflicts_with = "auto_approve")]
    pub(crate) approve: Option<String>,
    /// Approve whatever is planned.
    #[arg(long)]
    pub(crate) auto_approve: bool,
}

/// `ashlar show`
#[derive(Args)]
pub(crate) struct ShowArgs {
    #[command(flatten)]
    pub(crate) place: Place,
}

/// `ashlar validate`
#[derive(Args)]
pub(crate) struct ValidateArgs {
    /// Folder of the root module.
    #[arg(long, default_value = ".")]
    pub(crate) dir: PathBuf,
}

/// `ashlar graph`
#[derive(Args)]
pub(crate) struct GraphArgs {
    #[command(flatten)]
    pub(crate) place: Place,
    /// Stop after this pass.
    #[arg(long, value_name = "PASS")]
    pub(crate) after: Option<String>,
}
