//! The command line.

use std::{ffi::OsString, path::PathBuf};

use ashlar_addr::Target;
use clap::{Args, Parser, Subcommand};

use crate::local::graph_text::GraphFormat;

/// Plans and applies Terraform-language infrastructure, locally or as the operator of a cluster.
#[derive(Parser)]
#[command(name = "ashlar", version)]
pub(crate) struct Cli {
    /// Print without colours. So does a NO_COLOR in the environment that is not empty.
    #[arg(long, global = true)]
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
    /// Evaluate expressions over the configuration and its state.
    ///
    /// At a terminal it asks for one after the other. From a pipe it prints the result of the last one, as Terraform does.
    Console(ConsoleArgs),
    /// Take over what changed outside, without asking: a refresh-only run whose plan is applied.
    Refresh(RefreshArgs),
    /// Take an object that exists already into the state, for a resource that is configured.
    Import(ImportArgs),
    /// Show the state, or a plan or state that lies in a file.
    Show(ShowArgs),
    /// Print the values of root outputs. One that is named is printed even if it is sensitive.
    Output(OutputArgs),
    /// List the providers that the modules and the state need.
    Providers(ProvidersArgs),
    /// Read or change the state of a folder or of a cluster, as Terraform's own `state` does. No provider is told of it.
    #[command(subcommand)]
    State(StateCommand),
    /// Mark an instance's object as one that is to be replaced.
    Taint(MarkArgs),
    /// Take such a mark back.
    Untaint(MarkArgs),
    /// List, make, select and delete workspaces: states beside each other for one configuration.
    #[command(subcommand)]
    Workspace(WorkspaceCommand),
    /// Check the configuration, and that of all modules it calls, without planning.
    Validate(ValidateArgs),
    /// Print the graph, or a stage of its making.
    Graph(GraphArgs),
    /// Run as the operator of a cluster.
    Run(Box<ashlar_controller::OperatorArgs>),
    /// Print the definitions of the custom resources.
    Crd,
    /// Print the version.
    Version(VersionArgs),
    /// A command of Terraform's that there is none of here, or a slip.
    #[command(external_subcommand)]
    Other(Vec<OsString>),
}

/// Where the configuration is.
#[derive(Args)]
pub(crate) struct Place {
    /// Folder of the root module and its state.
    #[arg(long, default_value = ".")]
    pub(crate) dir: PathBuf,
    /// Folder with provider packages (repeat for more); tried in order.
    #[arg(
        long = "mirror",
        visible_alias = "plugin-dir",
        env = "ASHLAR_PLUGIN_MIRROR",
        value_delimiter = ':'
    )]
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
    /// Read the objects before planning? With `--refresh=false` the state is taken as it is.
    #[arg(
        long,
        value_name = "BOOL",
        default_value = "true",
        default_missing_value = "true",
        num_args = 0..=1,
        require_equals = true,
        value_parser = truth,
        action = clap::ArgAction::Set
    )]
    pub(crate) refresh: bool,
    /// Plan only to take over what changed outside.
    #[arg(long)]
    pub(crate) refresh_only: bool,
    /// Replace this instance even without need.
    #[arg(long = "replace", value_name = "ADDRESS", value_parser = managed)]
    pub(crate) replace: Vec<ashlar_addr::ResourceInstance>,
    /// Invoke this action and do nothing else.
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) invoke: Option<ashlar_addr::ActionInstance>,
    /// Plan only this module, resource or instance, and what it needs (repeat for more).
    #[arg(long = "target", value_name = "ADDRESS", conflicts_with = "excludes")]
    pub(crate) targets: Vec<ashlar_addr::Target>,
    /// Leave out this module, resource or instance, and what needs it (repeat for more).
    #[arg(long = "exclude", value_name = "ADDRESS")]
    pub(crate) excludes: Vec<ashlar_addr::Target>,
    /// Provider calls at once.
    #[arg(long, default_value_t = 10)]
    pub(crate) parallelism: usize,
    #[command(flatten)]
    pub(crate) fetching: Fetching,
    #[command(flatten)]
    pub(crate) language: Language,
}

/// How modules that lie elsewhere are fetched.
#[derive(Args)]
pub(crate) struct Fetching {
    /// Take the newest modules and providers that fit, and forget which ones were used so far.
    #[arg(long)]
    pub(crate) upgrade: bool,
}

/// Whose language it is.
#[derive(Args)]
pub(crate) struct Language {
    /// Read the configuration as this product does: terraform or opentofu.
    #[arg(long, default_value = "terraform")]
    pub(crate) dialect: ashlar_value::Dialect,
}

/// A truth value in any spelling that Terraform's options take.
fn truth(text: &str) -> Result<bool, &'static str> {
    match text {
        "1" | "t" | "T" | "true" | "TRUE" | "True" => Ok(true),
        "0" | "f" | "F" | "false" | "FALSE" | "False" => Ok(false),
        _ => Err("either true or false should stand here"),
    }
}

/// An instance of what is managed: nothing else can be replaced.
fn managed(text: &str) -> Result<ashlar_addr::ResourceInstance, String> {
    let instance: ashlar_addr::ResourceInstance = text
        .parse()
        .map_err(|fault: ashlar_addr::ParseError| fault.to_string())?;
    match instance.resource.resource.mode {
        ashlar_addr::Mode::Managed => Ok(instance),
        ashlar_addr::Mode::Data | ashlar_addr::Mode::Ephemeral => {
            Err("only instances of managed resources can be replaced".to_owned())
        }
    }
}

impl Choices {
    /// Why these choices do not go together; source: Terraform `internal/command/arguments/extended.go`.
    pub(crate) fn conflict(&self, destroy: bool) -> Option<&'static str> {
        let Self {
            refresh_only,
            refresh,
            replace,
            invoke,
            ..
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
    pub(crate) place: Place,
    #[command(flatten)]
    pub(crate) values: Values,
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
    /// Print the steps of the plan, too, in the order in which apply takes them: each with those it waits for.
    #[arg(long)]
    pub(crate) steps: bool,
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
    /// Apply the plan in this file, from `plan --out`, and nothing else: it needs no further approval. Values are given to
    /// ephemeral variables alone: no plan keeps theirs.
    #[arg(value_name = "FILE", conflicts_with_all = ["replace", "invoke", "targets", "excludes", "refresh_only", "approve"])]
    pub(crate) plan: Option<PathBuf>,
}

/// `ashlar refresh`
#[derive(Args)]
pub(crate) struct RefreshArgs {
    #[command(flatten)]
    pub(crate) place: Place,
    #[command(flatten)]
    pub(crate) values: Values,
    /// Read only this module, resource or instance, and what it needs (repeat for more).
    #[arg(long = "target", value_name = "ADDRESS", conflicts_with = "excludes")]
    pub(crate) targets: Vec<ashlar_addr::Target>,
    /// Leave out this module, resource or instance, and what needs it (repeat for more).
    #[arg(long = "exclude", value_name = "ADDRESS")]
    pub(crate) excludes: Vec<ashlar_addr::Target>,
    /// Provider calls at once.
    #[arg(long, default_value_t = 10)]
    pub(crate) parallelism: usize,
    #[command(flatten)]
    pub(crate) fetching: Fetching,
    #[command(flatten)]
    pub(crate) language: Language,
}

impl RefreshArgs {
    /// As the refresh-only run that it is, which nobody is asked about.
    pub(crate) fn into_apply(self) -> ApplyArgs {
        let Self {
            place,
            values,
            targets,
            excludes,
            parallelism,
            fetching,
            language,
        } = self;
        ApplyArgs {
            place,
            values,
            choices: Choices {
                refresh: true,
                refresh_only: true,
                replace: Vec::new(),
                invoke: None,
                targets,
                excludes,
                parallelism,
                fetching,
                language,
            },
            approve: None,
            auto_approve: true,
            plan: None,
        }
    }
}

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

/// `ashlar providers`
#[derive(Args)]
pub(crate) struct ProvidersArgs {
    #[command(flatten)]
    pub(crate) place: Place,
    #[command(flatten)]
    pub(crate) values: Values,
    #[command(flatten)]
    pub(crate) fetching: Fetching,
    #[command(flatten)]
    pub(crate) language: Language,
}

/// `ashlar import`
#[derive(Args)]
pub(crate) struct ImportArgs {
    #[command(flatten)]
    pub(crate) place: Place,
    #[command(flatten)]
    pub(crate) values: Values,
    /// Provider calls at once.
    #[arg(long, default_value_t = 10)]
    pub(crate) parallelism: usize,
    #[command(flatten)]
    pub(crate) fetching: Fetching,
    #[command(flatten)]
    pub(crate) language: Language,
    /// The instance that the object is to be.
    pub(crate) address: ashlar_addr::ResourceInstance,
    /// What the provider knows the object by.
    #[arg(allow_hyphen_values = true)]
    pub(crate) id: String,
}

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

/// `ashlar version`
#[derive(Args)]
pub(crate) struct VersionArgs {
    /// As JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Which state.
#[derive(Args)]
pub(crate) struct StatePlace {
    /// Folder with the state.
    #[arg(long, default_value = ".", conflicts_with = "namespace")]
    pub(crate) dir: PathBuf,
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

/// The arguments with a second dash where Terraform's users leave it out: `-json` is `--json`. Single letters stay.
pub(crate) fn with_two_dashes(arguments: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let two = |argument: OsString| match argument.to_str().and_then(|text| text.strip_prefix('-')) {
        Some(name) if name.len() > 1 && name.starts_with(|first: char| first.is_ascii_alphabetic()) => {
            format!("--{name}").into()
        }
        _ => argument,
    };
    arguments.into_iter().map(two).collect()
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn choices_that_exclude_each_other_are_refused() {
        let check = |arguments: &str, destroy: bool, sound: bool| {
            let words = format!("ashlar plan {arguments}");
            let parsed = Cli::try_parse_from(words.split_whitespace());
            let Ok(Cli {
                command: Command::Plan(args),
                ..
            }) = parsed
            else {
                panic!("{words}");
            };
            assert_eq!(args.choices.conflict(destroy).is_none(), sound, "{words}");
        };
        check("", true, true);
        check("--refresh-only", false, true);
        check("--refresh-only", true, false);
        check("--refresh-only --refresh=false", false, false);
        check("--refresh-only --refresh=true", false, true);
        check("--refresh-only --replace a.b", false, false);
        check("--replace a.b", true, false);
        check("--replace a.b", false, true);
    }

    #[test]
    fn a_refresh_takes_no_plan_and_no_approval() {
        let parses = |words: &str| Cli::try_parse_from(words.split_whitespace()).is_ok();
        assert!(parses("ashlar refresh --var a=b --target a.b --parallelism 3"));
        for more in [
            "plan",
            "--approve sha256:x",
            "--auto-approve",
            "--invoke action.a.b",
            "--replace a.b",
        ] {
            assert!(!parses(&format!("ashlar refresh {more}")), "{more}");
        }
        assert!(parses("ashlar apply --var a=b --var-file c plan"));
        assert!(!parses("ashlar import --replace a.b a.b id"));
    }

    #[test]
    fn options_are_taken_as_terraform_spells_them() {
        let parse = |arguments: &str| {
            let words = format!("ashlar plan {arguments}");
            let words = with_two_dashes(words.split_whitespace().map(OsString::from));
            match Cli::try_parse_from(words) {
                Ok(Cli {
                    command: Command::Plan(args),
                    ..
                }) => Some(args.choices),
                _ => None,
            }
        };
        let taken =
            parse("-refresh=false -parallelism=3 -target=module.m[0] -target a.b -replace=a.b[0]").unwrap();
        assert!(!taken.refresh);
        assert_eq!(taken.parallelism, 3);
        let targets: Vec<String> = taken.targets.iter().map(ToString::to_string).collect();
        assert_eq!(targets, ["module.m[0]", "a.b"]);
        assert!(parse("-refresh").unwrap().refresh);
        assert!(parse("").unwrap().refresh);
        assert_eq!(parse("-exclude=data.a.b").unwrap().excludes.len(), 1);
        for refused in [
            "-refresh=maybe",
            "-replace=data.a.b",
            "-target=a",
            "-target=a.b -exclude=a.c",
        ] {
            assert!(parse(refused).is_none(), "{refused}");
        }
    }

    #[test]
    fn a_state_is_named_by_a_folder_or_by_all_of_its_name() {
        Cli::command().debug_assert();
        let check = |arguments: &str, want: bool| {
            let words = format!("ashlar state {arguments}");
            let parsed = Cli::try_parse_from(words.split_whitespace());
            assert_eq!(parsed.is_ok(), want, "{arguments}");
        };
        check("pull", true);
        check("list --dir x", true);
        check("pull --namespace n --suffix s", true);
        check("pull --namespace n --workspace w --suffix s", true);
        check("pull --namespace n", false);
        check("pull --suffix s", false);
        check("pull --workspace w", false);
        check("pull --dir x --namespace n --suffix s", false);
    }
}
