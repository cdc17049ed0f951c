//! Servers of sources on loopback, each test's own: git over http and ssh, an OCI registry, and a fake module registry;
//! see `tools/hosts`.

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread::sleep,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};
use ashlar_xtask::process;
use serde_json::Value;
use tempfile::TempDir;

use crate::Bench;

/// Running servers, ended when they are dropped.
pub struct Hosts {
    child: Child,
    program: PathBuf,
    folder: TempDir,
    addresses: Value,
}

impl Hosts {
    /// Starts them.
    pub fn start(bench: &Bench) -> Result<Self> {
        let folder = tempfile::Builder::new().prefix("h").tempdir_in("/tmp")?;
        let log = File::create(folder.path().join("log"))?;
        let child = Command::new(&bench.hosts)
            .arg(folder.path())
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .spawn()
            .context("the hosts cannot be started")?;
        let mut hosts = Self {
            child,
            program: bench.hosts.clone(),
            folder,
            addresses: Value::Null,
        };
        let file = hosts.path("hosts.json");
        let end = Instant::now() + Duration::from_secs(60);
        while !file.exists() {
            if Instant::now() > end {
                bail!("the hosts do not serve: {}", hosts.text("log")?);
            }
            sleep(Duration::from_millis(50));
        }
        hosts.addresses = serde_json::from_str(&fs::read_to_string(file)?)?;
        Ok(hosts)
    }

    /// `HOST:PORT` of one: http, ssh, oci or modules.
    pub fn address(&self, name: &str) -> &str {
        self.addresses[name].as_str().unwrap_or_default()
    }

    /// A file of theirs, to be read or written.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// What a file of theirs holds.
    pub fn text(&self, name: &str) -> Result<String> {
        fs::read_to_string(self.path(name)).with_context(|| format!("the hosts have no {name}"))
    }

    /// Writes a file of theirs.
    pub fn write(&self, name: &str, text: &str) -> Result<()> {
        let path = self.path(name);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        Ok(fs::write(path, text)?)
    }

    /// Commits these files (path and text) to the branch main of a repository, on top of what is there, and gives the
    /// commit's name.
    pub fn commit(&self, repository: &str, files: &[(&str, &str)]) -> Result<String> {
        let bare = self.path(&format!("git/{repository}.git"));
        let work = self.path(&format!("work/{repository}"));
        if !bare.exists() {
            fs::create_dir_all(&work)?;
            process::output(
                git(Path::new("/"))?
                    .args(["init", "-q", "--bare", "-b", "main"])
                    .arg(&bare),
            )?;
            process::output(git(&work)?.args(["init", "-q", "-b", "main"]))?;
        }
        for (path, text) in files {
            self.write(&format!("work/{repository}/{path}"), text)?;
        }
        process::output(git(&work)?.args(["add", "--all"]))?;
        process::output(git(&work)?.args(["commit", "-q", "-m", "another state"]))?;
        process::output(git(&work)?.args(["push", "-q"]).arg(&bare).arg("main"))?;
        let name = process::output(git(&work)?.args(["rev-parse", "HEAD"]))?;
        Ok(name.trim().to_owned())
    }

    /// Packs these files into an archive that is served over http, and gives its digest.
    pub fn pack(&self, name: &str, files: &[(&str, &str)]) -> Result<String> {
        let folder = laid_out(files)?;
        let archive = self.path(&format!("archives/{name}"));
        fs::create_dir_all(self.path("archives"))?;
        let mut pack = Command::new(&self.program);
        pack.arg("pack").arg(folder.path()).arg(&archive);
        Ok(process::output(&mut pack)?.trim().to_owned())
    }

    /// Puts these files into the OCI registry, as `REPOSITORY:TAG`, and gives the manifest's digest.
    pub fn push(&self, tag: &str, files: &[(&str, &str)]) -> Result<String> {
        let folder = laid_out(files)?;
        let mut push = Command::new(&self.program);
        push.args(["push", &format!("{}/{tag}", self.address("oci"))])
            .arg(folder.path())
            .env(
                "OCI_PASSWORD",
                self.text("oci-password").unwrap_or_default().trim(),
            );
        Ok(process::output(&mut push)?.trim().to_owned())
    }
}

impl Drop for Hosts {
    fn drop(&mut self) {
        // One that has ended already is no fault.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn laid_out(files: &[(&str, &str)]) -> Result<TempDir> {
    let folder = tempfile::tempdir()?;
    for (path, text) in files {
        let path = folder.path().join(path);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::write(path, text)?;
    }
    Ok(folder)
}

/// git, without whatever the person at this machine has set up.
fn git(folder: &Path) -> Result<Command> {
    let mut git = Command::new(process::need("git", "make the repositories that are served")?);
    git.current_dir(folder)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .args(["-c", "user.name=Test", "-c", "user.email=test@example.test"]);
    Ok(git)
}
