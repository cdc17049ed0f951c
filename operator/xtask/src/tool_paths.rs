//! `cargo xtask tools`: builds the pinned tools and tells where they are.

use anyhow::Result;
use ashlar_xtask::tools::{self, Group};

/// Build the pinned tools that tests need, into the cache folder; what is there already is left alone.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Groups to build; all but `fuzz` and `node` when none is named.
    groups: Vec<Group>,
    /// Print only NAME=PATH lines, as a shell takes them.
    #[arg(long)]
    print: bool,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let groups = if args.groups.is_empty() {
        &Group::DEFAULT
    } else {
        args.groups.as_slice()
    };
    let tools = tools::build(groups)?;
    if !args.print {
        println!("The tools are there:");
    }
    for (name, path) in tools.variables() {
        println!("{name}={}", path.display());
    }
    Ok(())
}
