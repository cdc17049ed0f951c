//! A program that runs, by itself or under whoever supervises it, and its certain end.
//!
//! By itself it is killed with its group. Whoever supervises a program is never killed as long as it does its work: it is told to end all,
//! by the end of its standard input.

use std::{io, process::Stdio, time::Duration};

use rustix::process::{Pid, Signal};
use tokio::{
    process::{Child, ChildStdin, Command},
    time::timeout,
};

use crate::process::spawn;

/// How long whoever supervises a program may take to end all that it started.
const PATIENCE: Duration = Duration::from_secs(15);

/// A program that runs, or whoever supervises it. Nothing of it is left soon after this is dropped.
pub(crate) struct Running {
    pub(crate) child: Child,
    pub(crate) group: Group,
    is_supervised: bool,
    /// Its standard input, out of the child's hands: to wait for a child closes what that has.
    input: Option<ChildStdin>,
}

impl Running {
    /// Starts it.
    pub(crate) async fn start(mut command: Command, is_supervised: bool) -> io::Result<Self> {
        if is_supervised {
            // Whoever supervises it ends when this closes, and not before all else has ended.
            command.stdin(Stdio::piped()).kill_on_drop(false);
        }
        let mut child = spawn(command).await?;
        let input = child.stdin.take();
        let mut group = Group::of(&child);
        if is_supervised {
            // Killed at once it could not end the others.
            group.release();
        }
        Ok(Self {
            child,
            group,
            is_supervised,
            input,
        })
    }

    /// Ends it and what it started.
    pub(crate) async fn end(&mut self) -> io::Result<std::process::ExitStatus> {
        if self.is_supervised {
            drop(self.input.take());
            if let Ok(status) = timeout(PATIENCE, self.child.wait()).await {
                return status;
            }
            self.group = Group::of(&self.child);
        }
        self.group.kill();
        self.child.wait().await
    }
}

/// The group a process leads. Nothing of it is left when this is dropped, be it because the process ended, or because
/// the runtime did.
pub(crate) struct Group(Option<Pid>);

impl Group {
    /// The group that a process leads which was just started.
    fn of(child: &Child) -> Self {
        Self(child.id().and_then(|pid| Pid::from_raw(pid.cast_signed())))
    }

    /// Lets what is left of it live on.
    pub(crate) fn release(&mut self) {
        self.0 = None;
    }

    fn kill(&self) {
        if let Some(group) = self.0 {
            // It fails only when nothing is left to kill.
            let _ = rustix::process::kill_process_group(group, Signal::KILL);
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.kill();
    }
}
