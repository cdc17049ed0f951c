//! The command line.

mod look;
mod providers;
mod run;
mod shared;
mod state;
mod words;
mod workspace;

use std::ffi::OsString;

use clap::{Parser, Subcommand};

pub(crate) use self::{
    look::{ConsoleArgs, GraphArgs, OutputArgs, ShowArgs, ValidateArgs, VersionArgs},
    providers::{ProvidersArgs, ProvidersCommand, ProvidersLockArgs, ProvidersMirrorArgs},
    run::{ApplyArgs, Choices, ImportArgs, PlanArgs, RefreshArgs},
    shared::{Asking, Basics, Fetching, Language, Limits, Place, Values},
    state::{
        ListArgs, MarkArgs, MoveArgs, PushArgs, RemoveArgs, ReplaceProviderArgs, ShowObjectArgs,
        StateCommand, StatePlace,
    },
    words::{Words, with_settled_flags},
    workspace::{
        DeleteWorkspaceArgs, NewWorkspaceArgs, SelectWorkspaceArgs, WorkspaceCommand, WorkspacePlace,
    },
};

/// Plans and applies Terraform-language infrastructure, locally or as the operator of a cluster.
#[derive(Parser)]
#[command(name = "ashlar", version, args_override_self = true)]
pub(crate) struct Cli {
    /// Print without colours. So does a NO_COLOR in the environment that is not empty.
    #[arg(long, global = true)]
    pub(crate) no_color: bool,
    /// Tell warnings in a line or two each, where there are no errors among them.
    #[arg(long, global = true)]
    pub(crate) compact_warnings: bool,
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
    /// Run a provider that others reach at a fixed address, such as an operator in the container beside.
    ///
    /// Whoever can connect has the provider with all that it may do, and nothing is encrypted: listen on a socket in a volume
    /// that is shared with nobody else, or on loopback.
    Sidecar(crate::sidecar::SidecarArgs),
    /// Print the definitions of the custom resources.
    Crd,
    /// Print the version.
    Version(VersionArgs),
    /// A command of Terraform's that there is none of here, or a slip.
    #[command(external_subcommand)]
    Other(Vec<OsString>),
}

impl Command {
    /// Is all that it tells to be messages for programs?
    pub(crate) fn is_for_programs(&self) -> bool {
        match self {
            Self::Plan(args) => args.json,
            Self::Apply(args) | Self::Destroy(args) => args.json,
            Self::Refresh(args) => args.json,
            _ => false,
        }
    }
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
            let typed = words.split_whitespace().map(OsString::from).collect();
            let words = Words::of(typed, |_| None).unwrap().words;
            match Cli::try_parse_from(words) {
                Ok(Cli {
                    command: Command::Plan(args),
                    ..
                }) => Some(args),
                _ => None,
            }
        };
        let taken =
            parse("-refresh=false -parallelism=3 -target=module.m[0] -target a.b -replace=a.b[0]").unwrap();
        assert!(!taken.choices.refresh);
        assert_eq!(taken.basics.parallelism, 3);
        let targets: Vec<String> = taken
            .choices
            .limits
            .targets
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(targets, ["module.m[0]", "a.b"]);
        assert!(parse("-refresh").unwrap().choices.refresh);
        assert!(parse("").unwrap().choices.refresh);
        assert_eq!(
            parse("-exclude=data.a.b").unwrap().choices.limits.excludes.len(),
            1
        );
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
