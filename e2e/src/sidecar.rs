//! A provider beside the operator, as a container of its Pod would run it.

use std::{
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};

use crate::Bench;

/// A provider that is reached at a fixed address; ended with the test.
pub struct Sidecar(Child);

impl Sidecar {
    /// Starts `ashlar sidecar` for the newest package of a provider, with a remote system for the test's own, and waits until it
    /// takes connections.
    pub fn start(bench: &Bench, provider: &str, listen: &str, world: &Path) -> Result<Self> {
        let child = Command::new(&bench.ashlar)
            .args(["sidecar", "--listen", listen])
            .arg(program(&bench.mirror.join(provider))?)
            .env("KILN_DIR", world)
            .env("KILN_SLOW", "20000:create kiln_pot slow")
            .stdin(Stdio::null())
            .spawn()
            .context("the sidecar cannot be started")?;
        let sidecar = Self(child);
        let end = Instant::now() + Duration::from_secs(30);
        let takes = || match listen.split_once(':') {
            Some(("unix", path)) => std::os::unix::net::UnixStream::connect(path).is_ok(),
            Some(("tcp", address)) => std::net::TcpStream::connect(address).is_ok(),
            _ => false,
        };
        while !takes() {
            if Instant::now() > end {
                bail!("the sidecar of {provider} does not listen at {listen}");
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        Ok(sidecar)
    }

    /// Ends it at once, as a container that fails.
    pub fn kill(mut self) -> Result<()> {
        self.end()
    }

    fn end(&mut self) -> Result<()> {
        self.0.kill()?;
        self.0.wait()?;
        Ok(())
    }
}

impl Drop for Sidecar {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.end();
    }
}

/// The program in the newest package below a provider's folder of a mirror.
fn program(provider: &Path) -> Result<PathBuf> {
    let mut folder = provider.to_owned();
    // The version, the platform, the program.
    for _ in 0..3 {
        let entries =
            std::fs::read_dir(&folder).with_context(|| format!("there is no {}", folder.display()))?;
        let mut names: Vec<_> = entries
            .map(|entry| Ok(entry?.path()))
            .collect::<std::io::Result<_>>()?;
        names.sort();
        folder = names
            .pop()
            .with_context(|| format!("{} is empty", folder.display()))?;
    }
    Ok(folder)
}
