//! Runs recorded oracle cases against our own crates and tells what differs.
//!
//! A tool for developers and for CI. It reads cases and prints; it must never change a case, and never count a case
//! as passed that it did not run.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a tool whose output is its text"
)]

mod chance;
mod corpus;
mod expressions;
mod lang;
mod modules;
mod report;
mod scenarios;
mod syntax;
mod tree;
mod validate;
mod wire;

use std::{path::PathBuf, process::ExitCode};

use clap::{Parser, Subcommand};

use crate::report::{Options, Report};

#[derive(Parser)]
#[command(name = "ashlar-conformance", about = "Runs recorded oracle cases.")]
struct Cli {
    #[command(subcommand)]
    suite: Suite,
}

#[derive(Subcommand)]
enum Suite {
    /// Native syntax: verdict, tree with ranges, diagnostics.
    Syntax(Run),
    /// Values on the wire: encoding, decoding, conversion, unification.
    Wire(Run),
    /// Expressions: type, value, refinement, marks.
    Expressions(InDialect),
    /// Whole runs: plans, applies, state.
    Scenarios(Run),
    /// Configurations made at random, run by us and by Terraform side by side.
    Random(scenarios::RandomArgs),
    /// What `show -json` tells of each plan and state of whole runs, in whole.
    ShowJson(scenarios::DocumentsArgs),
    /// Scenarios, run by Terraform to make their records.
    Record(scenarios::RecordArgs),
    /// Published providers, run by us and by Terraform side by side.
    Real(Run),
    /// Whole configurations: diagnostics, planned values.
    Lang(Run),
    /// Configurations: what `validate` says of them.
    Validate(InDialect),
    /// Files and mutants of them, read by us and by hcl side by side.
    Corpus(corpus::Args),
    /// Repositories of modules: every folder loaded, by us and by Terraform side by side.
    Modules(modules::Args),
}

#[derive(clap::Args)]
struct InDialect {
    #[command(flatten)]
    run: Run,
    /// Whose language the cases are in: terraform or opentofu.
    #[arg(long, default_value = "terraform")]
    dialect: ashlar_value::Dialect,
}

#[derive(clap::Args)]
struct Run {
    /// The folder with the cases.
    cases: PathBuf,
    #[command(flatten)]
    options: Options,
}

fn main() -> ExitCode {
    // Providers of scenarios are started through this program, as the operator starts them through `ashlar launch`.
    if std::env::args_os().nth(1).is_some_and(|word| word == "launch") {
        eprintln!("{}", ashlar_provider::launch::run(std::env::args_os().skip(2)));
        return ExitCode::from(126);
    }
    // The command line of scenarios: that of the product, whole.
    if std::env::args_os()
        .nth(1)
        .is_some_and(|word| word == scenarios::COMMAND_LINE)
    {
        return ashlar_cli::main(std::env::args_os().skip(1).collect());
    }
    match run(Cli::parse().suite) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(2)
        }
    }
}

fn run(suite: Suite) -> anyhow::Result<ExitCode> {
    let args = match &suite {
        Suite::Corpus(args) => return corpus::run(args),
        Suite::Modules(args) => return modules::run(args),
        Suite::Random(args) => return scenarios::run_random(args),
        Suite::Record(args) => return scenarios::record(args),
        Suite::ShowJson(args) => return scenarios::run_documents(args),
        Suite::Syntax(args)
        | Suite::Wire(args)
        | Suite::Expressions(InDialect { run: args, .. })
        | Suite::Validate(InDialect { run: args, .. })
        | Suite::Scenarios(args)
        | Suite::Real(args)
        | Suite::Lang(args) => args,
    };
    let mut report = Report::new(&args.options)?;
    match &suite {
        Suite::Syntax(args) => syntax::run(&args.cases, &mut report)?,
        Suite::Wire(args) => wire::run(&args.cases, &mut report)?,
        Suite::Expressions(args) => expressions::run(&args.run.cases, args.dialect, &mut report)?,
        Suite::Scenarios(args) => scenarios::run(&args.cases, &mut report)?,
        Suite::Real(args) => scenarios::run_real(&args.cases, &mut report)?,
        Suite::Lang(args) => lang::run(&args.cases, &mut report)?,
        Suite::Validate(args) => validate::run(&args.run.cases, args.dialect, &mut report)?,
        Suite::Corpus(_) | Suite::Modules(_) | Suite::Random(_) | Suite::Record(_) | Suite::ShowJson(_) => {}
    }
    Ok(report.finish())
}
