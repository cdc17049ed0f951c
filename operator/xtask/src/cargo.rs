//! Calling cargo for the tree this tool was built from.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, Result};
use ashlar_xtask::layout;
use serde_json::Value;

/// A cargo command in the root of the tree. Its own lines on standard error are the progress that a user sees.
pub(crate) fn cargo(line: &str) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(layout::root()).args(line.split_whitespace());
    // What cargo told this tool about itself. Build scripts look at it (that of `ring`), so that everything behind them
    // would be built anew by turns: here, and where cargo is called by hand.
    for (name, _) in std::env::vars_os() {
        if name.to_str().is_some_and(is_about_this_tool) {
            command.env_remove(name);
        }
    }
    command
}

fn is_about_this_tool(name: &str) -> bool {
    let prefixes = ["CARGO_PKG_", "CARGO_MANIFEST_"];
    let names = ["CARGO_BIN_NAME", "CARGO_CRATE_NAME", "CARGO_PRIMARY_PACKAGE"];
    names.contains(&name) || prefixes.iter().any(|prefix| name.starts_with(prefix))
}

/// How a program is built.
#[derive(Clone, Copy)]
pub(crate) enum Profile {
    /// Soon.
    Dev,
    /// As it is delivered.
    Release,
}

/// Builds the product's program and returns its path.
pub(crate) fn build_ashlar(profile: Profile) -> Result<PathBuf> {
    let profile = match profile {
        Profile::Dev => "dev",
        Profile::Release => "release",
    };
    let line = "build --package ashlar-cli --bin ashlar --message-format json-render-diagnostics --profile";
    let output = cargo(line)
        .arg(profile)
        .stderr(Stdio::inherit())
        .output()
        .context("cannot start cargo")?;
    let messages = String::from_utf8_lossy(&output.stdout).into_owned();
    messages
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .find_map(|message| Some(PathBuf::from(message.get("executable")?.as_str()?)))
        .filter(|_| output.status.success())
        .context("the program `ashlar` does not build")
}
