//! `cargo xtask`: the one tool for working on the project. Each command stands in a file of its own.
//!
//! It only starts other programs and reads the tree; no rule of the product may live here.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command line tool")]

mod bench;
mod cargo;
mod check;
mod control_plane;
mod e2e;
mod fuzz;
mod generate;
mod language;
mod manual;
mod oracle;
mod quickstart;
mod step;
mod test;
mod tidy;
mod tool_paths;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Build, check and test Ashlar.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Cli {
    #[command(subcommand)]
    command: Task,
}

#[derive(Subcommand)]
enum Task {
    Bench(bench::Args),
    Check(check::Args),
    Cluster(control_plane::Args),
    E2e(e2e::Args),
    Fuzz(fuzz::Args),
    Gen(generate::Args),
    Oracle(oracle::Args),
    Quickstart(quickstart::Args),
    Test(test::Args),
    Tidy(tidy::Args),
    Tools(tool_paths::Args),
}

fn main() -> ExitCode {
    let result = match Cli::parse().command {
        Task::Bench(args) => bench::run(&args),
        Task::Check(args) => check::run(&args),
        Task::Cluster(args) => control_plane::run(&args),
        Task::E2e(args) => e2e::run(&args),
        Task::Fuzz(args) => fuzz::run(&args),
        Task::Gen(args) => generate::run(&args),
        Task::Oracle(args) => oracle::run(&args),
        Task::Quickstart(args) => quickstart::run(&args),
        Task::Test(args) => test::run(&args),
        Task::Tidy(args) => tidy::run(&args),
        Task::Tools(args) => tool_paths::run(&args),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
