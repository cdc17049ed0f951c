//! Flux's source-controller as a process, for the sources of one namespace. It acts as the administrator: what Flux may do
//! is not what is looked at here.

use std::{
    fs::File,
    net::TcpListener,
    path::PathBuf,
    process::{Child, Command, Stdio},
};

use anyhow::{Context, Result};
use ashlar_xtask::process::tail;
use tempfile::TempDir;

use crate::Namespace;

/// The kinds that Workspaces take their sources from.
pub const KINDS: [&str; 4] = [
    "gitrepositories",
    "ocirepositories",
    "buckets",
    "externalartifacts",
];

/// A running source-controller, ended when it is dropped.
pub struct Flux {
    child: Child,
    folder: TempDir,
}

impl Flux {
    /// Removes the kinds, which an earlier run may have left.
    pub fn uninstall(namespace: &Namespace) -> Result<()> {
        let definitions = namespace.bench.flux_definitions.display().to_string();
        let line = ["delete", "--ignore-not-found", "--wait", "-f", &definitions];
        namespace.bench.kubectl(&line).map(drop)
    }

    /// Installs the kinds and starts it.
    pub fn start(namespace: &Namespace) -> Result<Self> {
        let bench = &namespace.bench;
        let definitions = bench.flux_definitions.display().to_string();
        bench.kubectl(&["apply", "--server-side", "-f", &definitions])?;
        for kind in KINDS {
            let kind = format!("crd/{kind}.source.toolkit.fluxcd.io");
            bench.kubectl(&["wait", "--for=condition=Established", &kind, "--timeout=60s"])?;
        }
        let folder = tempfile::Builder::new().prefix("f").tempdir_in("/tmp")?;
        let ports: Vec<TcpListener> = (0..3)
            .map(|_| TcpListener::bind(("127.0.0.1", 0)))
            .collect::<std::io::Result<_>>()?;
        let addresses = ports
            .iter()
            .map(|port| port.local_addr().map(|address| address.to_string()))
            .collect::<std::io::Result<Vec<String>>>()?;
        drop(ports);
        let log = File::create(folder.path().join("log"))?;
        let child = Command::new(&bench.flux_source_controller)
            .env_clear()
            .env("KUBECONFIG", &bench.kubeconfig)
            .env("RUNTIME_NAMESPACE", &namespace.name)
            .env("HOME", folder.path())
            .env("TMPDIR", folder.path())
            .args(["--watch-all-namespaces=false", "--storage-path"])
            .arg(folder.path())
            .arg(format!("--storage-addr={}", addresses[0]))
            .arg(format!("--storage-adv-addr={}", addresses[0]))
            .arg(format!("--metrics-addr={}", addresses[1]))
            .arg(format!("--health-addr={}", addresses[2]))
            .arg("--events-addr=")
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .spawn()
            .context("source-controller cannot be started")?;
        Ok(Self { child, folder })
    }

    fn log(&self) -> PathBuf {
        self.folder.path().join("log")
    }
}

impl Drop for Flux {
    #[expect(clippy::print_stderr, reason = "a failed test shows the controller's log")]
    fn drop(&mut self) {
        // One that has ended already is no fault.
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::thread::panicking() {
            eprintln!(
                "source-controller's log ends:\n{}",
                tail(&self.log(), 4000).unwrap_or_default()
            );
        }
    }
}
