//! `cargo xtask`: the one tool for working on the project. Each command stands in a file of its own.
//!
//! It only starts other programs and reads the tree; no rule of the product may live here.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command line tool")]

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
    Tools(tool_paths::Args),
}

fn main() -> ExitCode {
    let result = match Cli::parse().command {
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
