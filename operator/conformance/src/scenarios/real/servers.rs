//! The servers that published providers talk to: a Kubernetes control plane, and moto in place of AWS, one for each side.

use std::{
    net::{TcpListener, TcpStream},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use anyhow::{Context, bail};
use ashlar_xtask::{cluster::Cluster, process, tools::Tools};

use super::Words;

/// A start of moto on a busy machine takes 20 s.
const MOTO_WITHIN: Duration = Duration::from_secs(120);

/// The servers that run.
pub(super) struct Servers<'a> {
    tools: &'a Tools,
    scratch: PathBuf,
    cluster: Option<Cluster>,
    motos: Vec<Child>,
}

impl<'a> Servers<'a> {
    pub(super) fn new(tools: &'a Tools, scratch: &Path) -> Self {
        Self {
            tools,
            scratch: scratch.to_owned(),
            cluster: None,
            motos: Vec::new(),
        }
    }

    /// What stands in one side's files for the words of a group, whose servers are started.
    pub(super) fn side(&mut self, group: &str, side: &str) -> anyhow::Result<Words> {
        let mut words = vec![("@SIDE@", format!("side-{side}"))];
        match group {
            "kubernetes" => {
                if self.cluster.is_none() {
                    self.cluster = Some(Cluster::up(&self.scratch.join("cluster"), self.tools)?);
                }
                let kubeconfig = self.cluster.as_ref().map(Cluster::kubeconfig).unwrap_or_default();
                words.push(("@KUBECONFIG@", kubeconfig.display().to_string()));
            }
            "aws" => words.push(("@AWS@", self.moto()?)),
            _ => {}
        }
        Ok(words)
    }

    /// Starts a moto and returns where it serves.
    fn moto(&mut self) -> anyhow::Result<String> {
        let python = process::need("python3", "run moto")?;
        let free = TcpListener::bind("127.0.0.1:0")?.local_addr()?;
        let child = Command::new(python)
            .args(["-m", "moto.server", "-H", "127.0.0.1", "-p"])
            .arg(free.port().to_string())
            .env("PYTHONPATH", self.tools.path("ASHLAR_MOTO")?)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .context("moto cannot be started")?;
        self.motos.push(child);
        let started = Instant::now();
        while TcpStream::connect(free).is_err() {
            if started.elapsed() > MOTO_WITHIN {
                bail!("moto does not answer at {free}");
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        Ok(format!("http://{free}"))
    }

    /// Ends them.
    pub(super) fn stop(mut self) -> anyhow::Result<()> {
        self.end_motos();
        self.cluster.take().map_or(Ok(()), Cluster::destroy)
    }

    fn end_motos(&mut self) {
        for mut moto in self.motos.drain(..) {
            // One that ended by itself is no fault.
            let _ = moto.kill();
            let _ = moto.wait();
        }
    }
}

impl Drop for Servers<'_> {
    fn drop(&mut self) {
        self.end_motos();
        if let Some(cluster) = self.cluster.take() {
            // The run fails already with what happened before.
            let _ = cluster.destroy();
        }
    }
}
