//! Commands that plan: `plan`, `apply`, `destroy`, `refresh`, `import`.

use std::path::PathBuf;

use ashlar_addr::{ActionInstance, Mode, ParseError, ResourceInstance};
use clap::{ArgAction, Args};

use super::shared::{Basics, Limits, truth};

/// Choices about the plan.
#[derive(Args)]
pub(crate) struct Choices {
    /// Read the objects before planning? With `--refresh=false` the state is taken as it is.
    #[arg(
        long,
        value_name = "BOOL",
        default_value = "true",
        default_missing_value = "true",
        num_args = 0..=1,
        require_equals = true,
        value_parser = truth,
        action = ArgAction::Set
    )]
    pub(crate) refresh: bool,
    /// Plan only to take over what changed outside.
    #[arg(long)]
    pub(crate) refresh_only: bool,
    /// Replace this instance even without need.
    #[arg(long = "replace", value_name = "ADDRESS", value_parser = managed)]
    pub(crate) replace: Vec<ResourceInstance>,
    /// Invoke this action and do nothing else.
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) invoke: Option<ActionInstance>,
    #[command(flatten)]
    pub(crate) limits: Limits,
    /// Is it `refresh`, which needs no configuration?
    #[arg(skip)]
    pub(crate) is_refresh: bool,
}

/// An instance of what is managed: nothing else can be replaced.
fn managed(text: &str) -> Result<ResourceInstance, String> {
    let instance: ResourceInstance = text.parse().map_err(|fault: ParseError| fault.to_string())?;
    match instance.resource.resource.mode {
        Mode::Managed => Ok(instance),
        Mode::Data | Mode::Ephemeral => Err("only instances of managed resources can be replaced".to_owned()),
    }
}

impl Choices {
    /// Those of a run that plans all there is, within these limits.
    pub(crate) fn within(limits: Limits) -> Self {
        Self {
            refresh: true,
            refresh_only: false,
            replace: Vec::new(),
            invoke: None,
            limits,
            is_refresh: false,
        }
    }

    /// Why these choices do not go together; source: Terraform `internal/command/arguments/extended.go`.
    pub(crate) fn conflict(&self, destroy: bool) -> Option<&'static str> {
        let Self {
            refresh_only,
            refresh,
            replace,
            invoke,
            limits: _,
            is_refresh: _,
        } = self;
        if *refresh_only && destroy {
            Some("--refresh-only changes no object, so it cannot go together with destroying all of them.")
        } else if *refresh_only && !*refresh {
            Some(
                "--refresh-only does nothing but read the objects, so it cannot go together with --refresh=false.",
            )
        } else if *refresh_only && !replace.is_empty() {
            Some("--refresh-only changes no object, so it cannot go together with --replace.")
        } else if invoke.is_some() && (destroy || !replace.is_empty()) {
            Some(
                "--invoke does nothing but invoke an action, so it cannot go together with destroying or replacing objects.",
            )
        } else if destroy && !replace.is_empty() {
            Some("Where all objects are destroyed none is replaced, so --replace cannot be given.")
        } else {
            None
        }
    }
}

/// `ashlar plan`
#[derive(Args)]
pub(crate) struct PlanArgs {
    #[command(flatten)]
    pub(crate) basics: Basics,
    #[command(flatten)]
    pub(crate) choices: Choices,
    /// Plan to destroy everything.
    #[arg(long)]
    pub(crate) destroy: bool,
    /// Write the configuration of imported objects that nothing declares into this new file.
    #[arg(long, value_name = "FILE")]
    pub(crate) generate_config_out: Option<PathBuf>,
    /// End with status 2 if there are changes.
    #[arg(long)]
    pub(crate) detailed_exitcode: bool,
    /// Keep the plan in this file, for `apply FILE` and `show FILE`. It holds all values in clear.
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Tell all as JSON, an object a line, in the form of Terraform's machine-readable UI. Nobody is asked then.
    #[arg(long)]
    pub(crate) json: bool,
    /// Print the steps of the plan, too, in the order in which apply takes them: each with those it waits for.
    #[arg(long)]
    pub(crate) steps: bool,
}

/// `ashlar apply`, `ashlar destroy`
#[derive(Args)]
pub(crate) struct ApplyArgs {
    #[command(flatten)]
    pub(crate) basics: Basics,
    #[command(flatten)]
    pub(crate) choices: Choices,
    /// Tell all as JSON, an object a line, in the form of Terraform's machine-readable UI. Nobody is asked then.
    #[arg(long)]
    pub(crate) json: bool,
    /// Destroy everything, as `ashlar destroy` does.
    #[arg(long)]
    pub(crate) destroy: bool,
    /// Approve the plan with this digest (whole, `sha256:…`) and no other.
    #[arg(long, value_name = "DIGEST", conflicts_with = "auto_approve")]
    pub(crate) approve: Option<String>,
    /// Approve whatever is planned.
    #[arg(long)]
    pub(crate) auto_approve: bool,
    /// Apply the plan in this file, from `plan --out`, and nothing else: it needs no further approval. Values are given to
    /// ephemeral variables alone: no plan keeps theirs.
    #[arg(value_name = "FILE", conflicts_with_all = ["replace", "invoke", "targets", "excludes", "refresh_only", "approve"])]
    pub(crate) plan: Option<PathBuf>,
}

/// `ashlar refresh`
#[derive(Args)]
pub(crate) struct RefreshArgs {
    #[command(flatten)]
    basics: Basics,
    #[command(flatten)]
    limits: Limits,
    /// Tell all as JSON, an object a line, in the form of Terraform's machine-readable UI. Nobody is asked then.
    #[arg(long)]
    pub(crate) json: bool,
}

impl RefreshArgs {
    /// As the refresh-only run that it is, which nobody is asked about.
    pub(crate) fn into_apply(self) -> ApplyArgs {
        let Self { basics, limits, json } = self;
        ApplyArgs {
            basics,
            choices: Choices {
                refresh_only: true,
                is_refresh: true,
                ..Choices::within(limits)
            },
            json,
            destroy: false,
            approve: None,
            auto_approve: true,
            plan: None,
        }
    }
}

/// `ashlar import`
#[derive(Args)]
pub(crate) struct ImportArgs {
    #[command(flatten)]
    pub(crate) basics: Basics,
    /// The instance that the object is to be.
    pub(crate) address: ResourceInstance,
    /// What the provider knows the object by.
    #[arg(allow_hyphen_values = true)]
    pub(crate) id: String,
}
