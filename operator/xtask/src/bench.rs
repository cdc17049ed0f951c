//! `cargo xtask bench`: what Ashlar costs, beside a peer that does the same work in the same minutes.
//!
//! Figures of two runs at different times say little on a machine that does other things as well, so nothing here
//! compares with a figure that was kept.

mod backend;
mod engine;
mod eval;
mod eval_rows;
mod layers;
mod measure;
mod schema;
mod table;
mod tree;
mod tree_config;
mod warm;

use anyhow::Result;

/// Measure.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(clap::Subcommand)]
enum What {
    Engine(engine::Args),
    Eval(eval::Args),
    Schema(schema::Args),
    Tree(tree::Args),
    Warm(warm::Args),
}

pub(crate) fn run(args: &Args) -> Result<()> {
    match &args.what {
        What::Engine(args) => engine::run(args),
        What::Eval(args) => eval::run(args),
        What::Schema(args) => schema::run(args),
        What::Tree(args) => tree::run(args),
        What::Warm(args) => warm::run(args),
    }
}
