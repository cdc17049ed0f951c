//! The command line: local commands, the operator, and, as `ashlar launch`, what becomes a provider plugin.
//!
//! It reads arguments, picks a command and turns its result into an exit status. One file per command. Its only public
//! item is `main`.

mod args;
mod crd;
mod diagnostic_json;
mod local;
mod log;
mod operator;
mod other;
mod printer;
mod sidecar;
mod state;
mod version;

use std::{ffi::OsString, process::ExitCode};

use clap::{CommandFactory, Parser};

use crate::{
    args::{Cli, Command, Words, with_settled_flags},
    printer::{Printer, Told},
};

/// Runs the command that the arguments name, the first of them being the program. Nothing else may run in the process yet.
pub fn main(arguments: Vec<OsString>) -> ExitCode {
    // Before anything else, and without a thread: this process is about to become a plugin.
    if arguments.get(1).is_some_and(|word| word == "launch") {
        let error = ashlar_provider::launch::run(arguments.into_iter().skip(2));
        Printer::new(true).error(&format!("{error}"));
        return ExitCode::from(126);
    }
    let words = Words::of(arguments, |name| std::env::var(name).ok());
    let words = match words {
        Ok(Words { chdir: None, words }) => Ok(words),
        Ok(Words {
            chdir: Some(folder),
            words,
        }) => match std::env::set_current_dir(&folder) {
            Ok(()) => Ok(words),
            Err(error) => Err(format!("-chdir={} cannot be done: {error}.", folder.display())),
        },
        Err(why) => Err(why),
    };
    let words = words.and_then(|words| with_settled_flags(words, &Cli::command()));
    let words = match words {
        Ok(words) => words,
        Err(why) => {
            Printer::new(true).error(&why);
            return ExitCode::FAILURE;
        }
    };
    let cli = match Cli::try_parse_from(words) {
        Ok(cli) => cli,
        // As Terraform: 2 is said by --detailed-exitcode alone.
        Err(error) => {
            let failed = error.use_stderr();
            return match error.print() {
                Ok(()) if !failed => ExitCode::SUCCESS,
                _ => ExitCode::FAILURE,
            };
        }
    };
    log::init(&cli.command);
    let asked = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let mut printer = Printer::new(cli.no_color || asked);
    if cli.compact_warnings {
        printer = printer.compact();
    }
    if cli.command.is_for_programs() {
        printer = printer.for_programs();
    }
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            printer.error(&format!("The async runtime could not be started: {error}."));
            return ExitCode::FAILURE;
        }
    };
    let result = runtime.block_on(run(cli.command, &printer));
    // Children that hang must not keep the command from ending.
    runtime.shutdown_timeout(std::time::Duration::from_secs(2));
    match result {
        Ok(code) => code,
        Err(error) if error.is::<Told>() => ExitCode::FAILURE,
        Err(error) => {
            printer.error(&format!("{error:#}"));
            ExitCode::FAILURE
        }
    }
}

async fn run(command: Command, printer: &Printer) -> anyhow::Result<ExitCode> {
    match command {
        Command::Plan(args) => local::plan::run(&args, printer).await,
        Command::Apply(args) => local::apply::run(&args, printer).await,
        Command::Destroy(args) => local::apply::destroy(&args, printer).await,
        Command::Refresh(args) => local::apply::run(&args.into_apply(), printer).await,
        Command::Import(args) => local::import::run(&args, printer).await,
        Command::Output(args) => local::output::run(&args, printer).await,
        Command::Providers(args) => local::providers::run(&args, printer).await,
        Command::Console(args) => local::console::run(&args, printer).await,
        Command::Show(args) => local::show::run(&args, printer).await,
        Command::State(command) => state::run(command, printer).await,
        Command::Taint(args) => state::mark::taint(&args, printer).await,
        Command::Untaint(args) => state::mark::untaint(&args, printer).await,
        Command::Workspace(command) => local::workspace::run(&command, printer).await,
        Command::Version(args) => version::run(&args, printer),
        Command::Validate(args) => local::validate::run(&args, printer).await,
        Command::Graph(args) => local::graph::run(&args, printer).await,
        Command::Run(args) => operator::run(*args).await,
        Command::Sidecar(args) => sidecar::run(&args).await,
        Command::Crd => Ok(crd::run(printer)),
        Command::Other(words) => other::run(&words, printer),
    }
}
