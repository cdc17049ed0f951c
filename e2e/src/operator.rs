//! An operator as a process, ended with the test whatever becomes of it.

use std::{
    fs::File,
    path::PathBuf,
    process::{Child, ExitStatus, Stdio},
    thread::sleep,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};
use ashlar_xtask::process::tail;
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use crate::Namespace;

/// How long an operator may take to end in order.
const FAREWELL: Duration = Duration::from_secs(60);

/// A running operator, as the Deployment in its namespace would have it.
pub struct Operator {
    child: Child,
    folder: TempDir,
}

impl Operator {
    /// Starts one as the chart's ServiceAccount, with further arguments.
    pub fn start(namespace: &Namespace, arguments: &[&str]) -> Result<Self> {
        // Short: sockets lie below.
        let folder = tempfile::Builder::new().prefix("a").tempdir_in("/tmp")?;
        let mut command = namespace
            .release()
            .operator(&namespace.bench.ashlar, folder.path())?;
        let log = File::create(folder.path().join("log"))?;
        let child = command
            .args(["--log-format", "text"])
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .spawn()
            .context("the operator cannot be started")?;
        Ok(Self { child, folder })
    }

    /// What it logs to.
    pub fn log(&self) -> PathBuf {
        self.folder.path().join("log")
    }

    /// The file that holds its token, which no provider may see.
    pub fn token(&self) -> PathBuf {
        self.folder.path().join("token")
    }

    /// The folder that holds what its runs lay out.
    pub fn work(&self) -> PathBuf {
        self.folder.path().join("w")
    }

    /// Its process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Kills it at once, as a node that fails would.
    pub fn kill(mut self) -> Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }

    /// Asks it to end, and waits until it has.
    pub fn stop(mut self) -> Result<ExitStatus> {
        self.end()
            .with_context(|| format!("the log ends:\n{}", tail(&self.log(), 4000).unwrap_or_default()))
    }

    fn end(&mut self) -> Result<ExitStatus> {
        if let Some(status) = self.child.try_wait()? {
            return Ok(status);
        }
        kill_process(Pid::from_child(&self.child), Signal::TERM)?;
        let end = Instant::now() + FAREWELL;
        loop {
            if let Some(status) = self.child.try_wait()? {
                return Ok(status);
            }
            if Instant::now() > end {
                self.child.kill()?;
                self.child.wait()?;
                bail!("the operator did not end within {FAREWELL:?}");
            }
            sleep(Duration::from_millis(100));
        }
    }
}

impl Drop for Operator {
    #[expect(clippy::print_stderr, reason = "a failed test shows the operator's log")]
    fn drop(&mut self) {
        let ended = self.end();
        if std::thread::panicking() {
            eprintln!(
                "operator ended: {ended:?}; its log ends:\n{}",
                tail(&self.log(), 8000).unwrap_or_default()
            );
        }
    }
}
