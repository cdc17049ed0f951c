//! Runs the command line of the product as a process of its own: this program, which holds it whole.

use std::{
    ffi::OsString,
    path::PathBuf,
    process::{Command, Stdio},
};

use anyhow::Context;

use super::COMMAND_LINE;

/// Where and with what it runs.
pub(super) struct Invocation {
    pub(super) folder: PathBuf,
    pub(super) env: Vec<(OsString, OsString)>,
    pub(super) mirrors: Vec<PathBuf>,
    /// For caches, which all scenarios share.
    pub(super) scratch: PathBuf,
}

/// What it said and how it ended.
pub(super) struct Ended {
    pub(super) exit: u8,
    pub(super) stdout: String,
    pub(super) stderr: String,
}

/// Runs it with these arguments and waits for its end.
pub(super) async fn run(how: Invocation, argv: &[String]) -> anyhow::Result<Ended> {
    let mut command = Command::new(std::env::current_exe()?);
    command
        .arg(COMMAND_LINE)
        .args(argv)
        .current_dir(how.folder)
        .env_clear()
        .env("ASHLAR_PLUGIN_MIRROR", std::env::join_paths(&how.mirrors)?)
        .env("XDG_CACHE_HOME", how.scratch.join("commands"))
        .env("HOME", &how.scratch)
        .envs(how.env)
        .stdin(Stdio::null());
    let output = tokio::task::spawn_blocking(move || command.output()).await??;
    let code = output.status.code().context("the command was killed")?;
    Ok(Ended {
        exit: u8::try_from(code)?,
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    })
}
