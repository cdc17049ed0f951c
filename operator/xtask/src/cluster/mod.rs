//! A Kubernetes control plane on loopback: etcd, kube-apiserver with RBAC, kube-controller-manager, no node.
//!
//! All state of one lies in one folder, and every port is picked at random, so several run side by side. The programs
//! outlive the process that started them, until [`Cluster::down`]; nothing outside the folder is written.

mod pki;
mod program;

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};

pub use program::Program;

use crate::process::{self, Progress};
use crate::tools::Tools;

/// A start on a slow and busy machine takes 15 s; this is for a machine that does nothing any more.
const READY_WITHIN: Duration = Duration::from_secs(180);
const SETTINGS: &str = "cluster.json";

/// One control plane, running or not.
#[derive(Debug)]
pub struct Cluster {
    folder: PathBuf,
    settings: Settings,
}

/// What is fixed when the folder is laid out.
#[derive(Debug, Serialize, Deserialize)]
struct Settings {
    ports: Ports,
    programs: Programs,
}

/// Where the programs are.
#[derive(Debug, Serialize, Deserialize)]
struct Programs {
    etcd: PathBuf,
    api_server: PathBuf,
    controller_manager: PathBuf,
}

impl Programs {
    fn of(tools: &Tools) -> Result<Self> {
        Ok(Self {
            etcd: tools.path("ASHLAR_ETCD")?.to_path_buf(),
            api_server: tools.path("ASHLAR_KUBE_APISERVER")?.to_path_buf(),
            controller_manager: tools.path("ASHLAR_KUBE_CONTROLLER_MANAGER")?.to_path_buf(),
        })
    }
}

#[derive(Debug, Serialize, Deserialize)]
struct Ports {
    etcd: u16,
    etcd_peer: u16,
    api_server: u16,
    controller_manager: u16,
}

impl Cluster {
    /// Starts the control plane of this folder, laying the folder out when it is new, and waits until it serves. What
    /// runs already is left alone. `tools` needs the group `Kube`.
    pub fn up(folder: &Path, tools: &Tools) -> Result<Self> {
        let folder = std::path::absolute(folder)?;
        fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
        let _lock = process::lock(&folder.join("lock"), "cluster")?;
        let fresh = !folder.join(SETTINGS).exists();
        let mut attempts = if fresh { 3 } else { 1 };
        loop {
            attempts -= 1;
            let cluster = if fresh {
                Self::lay_out(&folder, tools)?
            } else {
                Self::resume(&folder, tools)?
            };
            match cluster.start_all() {
                Ok(()) => return Ok(cluster),
                // Another process took a port between our asking for a free one and the program's binding it.
                Err(error) if attempts > 0 && cluster.lost_a_port() => {
                    eprintln!("cluster: trying other ports ({error:#})");
                    cluster.kill_all()?;
                    process::remove_folder(&folder.join("etcd"))?;
                }
                Err(error) => {
                    cluster.kill_all()?;
                    return Err(error);
                }
            }
        }
    }

    /// The control plane that was laid out in this folder, or `None`.
    pub fn open(folder: &Path) -> Result<Option<Self>> {
        let folder = std::path::absolute(folder)?;
        if folder.join(SETTINGS).exists() {
            Self::read(&folder).map(Some)
        } else {
            Ok(None)
        }
    }

    fn read(folder: &Path) -> Result<Self> {
        let file = folder.join(SETTINGS);
        let text = fs::read(&file).with_context(|| format!("cannot read {}", file.display()))?;
        let settings =
            serde_json::from_slice(&text).with_context(|| format!("{} is damaged", file.display()))?;
        Ok(Self {
            folder: folder.to_path_buf(),
            settings,
        })
    }

    fn lay_out(folder: &Path, tools: &Tools) -> Result<Self> {
        process::need("kubectl", "reach the control plane")?;
        let [etcd, etcd_peer, api_server, controller_manager] = free_ports()?;
        let ports = Ports {
            etcd,
            etcd_peer,
            api_server,
            controller_manager,
        };
        let settings = Settings {
            ports,
            programs: Programs::of(tools)?,
        };
        let cluster = Self {
            folder: folder.to_path_buf(),
            settings,
        };
        for name in ["logs", "pids"] {
            fs::create_dir_all(folder.join(name))?;
        }
        pki::lay_out(&cluster.pki())?;
        pki::kubeconfig(&cluster.pki(), "admin", &cluster.url(), &cluster.kubeconfig())?;
        pki::kubeconfig(
            &cluster.pki(),
            "controller-manager",
            &cluster.url(),
            &cluster.manager_kubeconfig(),
        )?;
        cluster.save()?;
        Ok(cluster)
    }

    /// A folder that was laid out before, with the programs of today: those of then may be gone from the cache.
    fn resume(folder: &Path, tools: &Tools) -> Result<Self> {
        let mut cluster = Self::read(folder)?;
        cluster.settings.programs = Programs::of(tools)?;
        cluster.save()?;
        Ok(cluster)
    }

    fn save(&self) -> Result<()> {
        let file = self.folder.join(SETTINGS);
        fs::write(&file, serde_json::to_vec_pretty(&self.settings)?)
            .with_context(|| format!("cannot write {}", file.display()))
    }

    fn start_all(&self) -> Result<()> {
        let mut progress = Progress::new("cluster");
        self.start(Program::Etcd)?;
        self.wait(&mut progress, |cluster| cluster.etcd_answers())?;
        self.start(Program::ApiServer)?;
        self.wait(&mut progress, Self::api_answers)?;
        self.start(Program::ControllerManager)?;
        // Pods and token requests fail before this account is there.
        self.wait(&mut progress, |cluster| {
            cluster.asks(&["get", "serviceaccount", "default", "-n", "default"])
        })?;
        progress.done();
        Ok(())
    }

    /// Polls until `ready` says so. A program that ended meanwhile is reported with the end of its log.
    fn wait(&self, progress: &mut Progress<'_>, ready: impl Fn(&Self) -> bool) -> Result<()> {
        let deadline = Instant::now() + READY_WITHIN;
        while !ready(self) {
            for program in Program::IN_ORDER {
                if self.was_started(program) && !self.is_running(program) {
                    let log = process::tail(&self.log(program), 3000)?;
                    bail!(
                        "{} ended; the end of {}:\n{log}",
                        program.name(),
                        self.log(program).display()
                    );
                }
            }
            if Instant::now() > deadline {
                bail!(
                    "the control plane in {} is not ready after {READY_WITHIN:?}",
                    self.folder.display()
                );
            }
            progress.tick();
            thread::sleep(Duration::from_millis(100));
        }
        Ok(())
    }

    fn etcd_answers(&self) -> bool {
        std::net::TcpStream::connect(("127.0.0.1", self.settings.ports.etcd)).is_ok()
    }

    /// Whether the API server calls itself ready.
    pub fn api_answers(&self) -> bool {
        self.asks(&["get", "--raw", "/readyz"])
    }

    fn asks(&self, args: &[&str]) -> bool {
        self.kubectl()
            .args(["--request-timeout", "5s"])
            .args(args)
            .output()
            .is_ok_and(|done| done.status.success())
    }

    fn lost_a_port(&self) -> bool {
        Program::IN_ORDER.into_iter().any(|program| {
            process::tail(&self.log(program), 20_000).is_ok_and(|log| log.contains("address already in use"))
        })
    }

    /// A `kubectl` command as the administrator of this control plane.
    pub fn kubectl(&self) -> Command {
        let mut command = Command::new("kubectl");
        command.arg("--kubeconfig").arg(self.kubeconfig());
        command
    }

    /// The administrator's kubeconfig; it holds its keys itself.
    pub fn kubeconfig(&self) -> PathBuf {
        self.folder.join("kubeconfig")
    }

    /// Where the API server serves.
    pub fn url(&self) -> String {
        format!("https://127.0.0.1:{}", self.settings.ports.api_server)
    }

    /// The folder that holds all of it.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    fn pki(&self) -> PathBuf {
        self.folder.join("pki")
    }

    fn manager_kubeconfig(&self) -> PathBuf {
        self.folder.join("controller-manager.kubeconfig")
    }

    /// What a program printed since it was last started.
    pub fn log(&self, program: Program) -> PathBuf {
        self.folder.join("logs").join(format!("{}.log", program.name()))
    }

    /// Stops all programs in order and keeps the data: [`Cluster::up`] goes on from there.
    pub fn down(&self) -> Result<()> {
        let mut order = Program::IN_ORDER;
        order.reverse();
        order.into_iter().try_for_each(|program| self.stop(program))
    }

    /// Ends all programs at once and removes the folder.
    pub fn destroy(self) -> Result<()> {
        self.kill_all()?;
        process::remove_folder(&self.folder)
    }

    fn kill_all(&self) -> Result<()> {
        let mut order = Program::IN_ORDER;
        order.reverse();
        order.into_iter().try_for_each(|program| self.kill(program))
    }
}

/// Ports that nothing listens on. They are held until all are known, so they differ.
fn free_ports<const N: usize>() -> Result<[u16; N]> {
    let listeners: Vec<TcpListener> = (0..N)
        .map(|_| TcpListener::bind(("127.0.0.1", 0)))
        .collect::<std::io::Result<_>>()?;
    let mut ports = [0; N];
    for (port, listener) in ports.iter_mut().zip(&listeners) {
        *port = listener.local_addr()?.port();
    }
    Ok(ports)
}
