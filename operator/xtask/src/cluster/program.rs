//! The programs of a control plane: their flags, and starting and stopping one.
//!
//! A program is known by its process id **and** its start time, so that a reused id is never signalled.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use rustix::process::{Pid, Signal, kill_process};

use super::Cluster;
use crate::process;

/// The API server waits for open watches before it ends.
const STOP_WITHIN: Duration = Duration::from_secs(30);

/// A program of the control plane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Program {
    /// etcd
    Etcd,
    /// kube-apiserver
    ApiServer,
    /// kube-controller-manager
    ControllerManager,
}

impl Program {
    /// All of them, in the order in which they start.
    pub const IN_ORDER: [Program; 3] = [Program::Etcd, Program::ApiServer, Program::ControllerManager];

    /// The program's own name.
    pub fn name(self) -> &'static str {
        match self {
            Program::Etcd => "etcd",
            Program::ApiServer => "kube-apiserver",
            Program::ControllerManager => "kube-controller-manager",
        }
    }
}

/// A process as the kernel tells it apart from a later one of the same id.
#[derive(Debug, PartialEq, Eq)]
struct Process {
    id: i32,
    started: u64,
}

impl Process {
    /// What runs under this id now. A process that ended but was not waited for does not run.
    fn now(id: i32) -> Option<Self> {
        let stat = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
        // The second field is a name in parentheses, which may hold anything.
        let mut fields = stat.get(stat.rfind(')')? + 1..)?.split_whitespace();
        let state = fields.next()?;
        let started = fields.nth(18)?.parse().ok()?;
        (state != "Z" && state != "X").then_some(Self { id, started })
    }

    fn read(file: &Path) -> Option<Self> {
        let text = fs::read_to_string(file).ok()?;
        let (id, started) = text.trim().split_once(' ')?;
        Some(Self {
            id: id.parse().ok()?,
            started: started.parse().ok()?,
        })
    }

    fn is_running(&self) -> bool {
        Self::now(self.id).as_ref() == Some(self)
    }

    fn signal(&self, signal: Signal) -> Result<()> {
        let id = Pid::from_raw(self.id).context("a process id is never zero")?;
        match kill_process(id, signal) {
            Ok(()) | Err(rustix::io::Errno::SRCH) => Ok(()),
            Err(error) => Err(error).with_context(|| format!("cannot signal process {}", self.id)),
        }
    }

    fn ends_within(&self, time: Duration) -> bool {
        let deadline = Instant::now() + time;
        while self.is_running() {
            if Instant::now() > deadline {
                return false;
            }
            thread::sleep(Duration::from_millis(20));
        }
        true
    }
}

impl Cluster {
    fn pid_file(&self, program: Program) -> PathBuf {
        self.folder.join("pids").join(program.name())
    }

    /// Whether the program was started and not stopped since; it may have ended by itself.
    pub(super) fn was_started(&self, program: Program) -> bool {
        self.pid_file(program).exists()
    }

    /// Whether the program runs now.
    pub fn is_running(&self, program: Program) -> bool {
        Process::read(&self.pid_file(program)).is_some_and(|process| process.is_running())
    }

    /// Starts one program, unless it runs, without waiting until it serves.
    pub fn start(&self, program: Program) -> Result<()> {
        use std::os::unix::process::CommandExt as _;
        if self.is_running(program) {
            return Ok(());
        }
        let log = File::create(self.log(program))?;
        let mut command = self.command(program);
        // A group of its own: an interrupt typed at the starter's terminal is not meant for it.
        command
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .process_group(0);
        let child = command
            .spawn()
            .with_context(|| format!("cannot start {}", process::show(&command)))?;
        let id = i32::try_from(child.id())?;
        let Some(started) = Process::now(id) else {
            bail!(
                "{} ended at once:\n{}",
                program.name(),
                process::tail(&self.log(program), 3000)?
            );
        };
        fs::write(
            self.pid_file(program),
            format!("{} {}\n", started.id, started.started),
        )?;
        Ok(())
    }

    /// Stops one program in an orderly way, and by force after half a minute.
    pub fn stop(&self, program: Program) -> Result<()> {
        self.end(program, Signal::TERM, STOP_WITHIN)
    }

    /// Ends one program as a crash would.
    pub fn kill(&self, program: Program) -> Result<()> {
        self.end(program, Signal::KILL, Duration::ZERO)
    }

    fn end(&self, program: Program, signal: Signal, patience: Duration) -> Result<()> {
        let file = self.pid_file(program);
        let Some(process) = Process::read(&file) else {
            return Ok(());
        };
        if process.is_running() {
            process.signal(signal)?;
            if !process.ends_within(patience) {
                process.signal(Signal::KILL)?;
                if !process.ends_within(STOP_WITHIN) {
                    bail!("{} (process {}) does not end", program.name(), process.id);
                }
            }
        }
        fs::remove_file(&file).with_context(|| format!("cannot remove {}", file.display()))
    }

    fn command(&self, program: Program) -> Command {
        match program {
            Program::Etcd => self.etcd(),
            Program::ApiServer => self.api_server(),
            Program::ControllerManager => self.controller_manager(),
        }
    }

    fn etcd(&self) -> Command {
        let client = format!("http://127.0.0.1:{}", self.settings.ports.etcd);
        let peer = format!("http://127.0.0.1:{}", self.settings.ports.etcd_peer);
        let mut command = Command::new(&self.settings.programs.etcd);
        command.arg("--data-dir").arg(self.folder.join("etcd"));
        command.args(["--name", "e", "--unsafe-no-fsync", "--log-level", "warn"]);
        command.args([
            "--listen-client-urls",
            &client,
            "--advertise-client-urls",
            &client,
        ]);
        command.args([
            "--listen-peer-urls",
            &peer,
            "--initial-advertise-peer-urls",
            &peer,
        ]);
        command.args(["--initial-cluster", &format!("e={peer}")]);
        command
    }

    fn api_server(&self) -> Command {
        let pki = self.pki();
        let ports = &self.settings.ports;
        let mut command = Command::new(&self.settings.programs.api_server);
        command.arg(format!("--etcd-servers=http://127.0.0.1:{}", ports.etcd));
        command.arg(format!("--secure-port={}", ports.api_server));
        command.args([
            "--bind-address=127.0.0.1",
            "--advertise-address=127.0.0.1",
            // An Endpoints object may not hold a loopback address.
            "--endpoint-reconciler-type=none",
            "--authorization-mode=Node,RBAC",
            "--enable-admission-plugins=NodeRestriction",
            "--service-cluster-ip-range=10.96.0.0/16",
            "--service-account-issuer=https://kubernetes.default.svc",
            "--allow-privileged=true",
        ]);
        for (flag, file) in [
            ("--tls-cert-file", "api-server.crt"),
            ("--tls-private-key-file", "api-server.key"),
            ("--client-ca-file", "ca.crt"),
            ("--service-account-key-file", "service-accounts.pub"),
            ("--service-account-signing-key-file", "service-accounts.key"),
        ] {
            command.arg(flag).arg(pki.join(file));
        }
        command
    }

    fn controller_manager(&self) -> Command {
        let pki = self.pki();
        let mut command = Command::new(&self.settings.programs.controller_manager);
        command.arg("--kubeconfig").arg(self.manager_kubeconfig());
        command.arg(format!(
            "--secure-port={}",
            self.settings.ports.controller_manager
        ));
        command.args([
            "--bind-address=127.0.0.1",
            "--leader-elect=false",
            "--use-service-account-credentials=true",
        ]);
        for (flag, file) in [
            ("--service-account-private-key-file", "service-accounts.key"),
            ("--root-ca-file", "ca.crt"),
            ("--cluster-signing-cert-file", "ca.crt"),
            ("--cluster-signing-key-file", "ca.key"),
        ] {
            command.arg(flag).arg(pki.join(file));
        }
        command
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_told_from_a_later_one_of_the_same_id() {
        let own = Process::now(i32::try_from(std::process::id()).unwrap()).unwrap();
        assert!(own.is_running());
        assert!(
            !Process {
                started: own.started + 1,
                ..own
            }
            .is_running()
        );
    }
}
