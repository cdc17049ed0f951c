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
    command
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
