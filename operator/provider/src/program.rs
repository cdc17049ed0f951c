//! A program that a configuration names, run as plugins are: in a group of its own, within the fence, gone with the run.
//!
//! Its folder is not opened to it, as a plugin's is: a configuration could name any.

use std::{
    ffi::OsString,
    fmt, io,
    os::fd::OwnedFd,
    path::PathBuf,
    process::{ExitStatus, Stdio},
    time::Duration,
};

use tokio::{
    io::AsyncReadExt,
    net::unix::pipe::Receiver,
    process::{Child, ChildStdin},
    time::{Instant, sleep_until, timeout},
};

use crate::{
    launch::{Fence, Request, for_program},
    process::{Group, LaunchOptions, PrivateFolder, launched, spawn},
};

/// How long output is waited for once a fenced program has ended, and all that it started was killed.
const GRACE: Duration = Duration::from_secs(2);
/// How long whoever supervises a fenced program may take to end all that it started.
const PATIENCE: Duration = Duration::from_secs(15);

/// What is to be run.
#[derive(Clone)]
pub struct Program {
    /// The binary, looked for where `PATH` says if it is a mere name.
    pub binary: OsString,
    /// What it is told.
    pub arguments: Vec<OsString>,
    /// Where.
    pub folder: PathBuf,
    /// Variables that it sees beside those that all of the run see.
    pub variables: Vec<(OsString, OsString)>,
}

/// Shows no content: what a configuration says may be secret.
impl fmt::Debug for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Program").finish_non_exhaustive()
    }
}

/// How it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// By itself, or killed by others.
    Exited(ExitStatus),
    /// It was killed because `stop` ended.
    Stopped,
}

impl Program {
    /// Runs it to its end and hands over what it prints, on both streams, as it comes. Once `stop` ends it is killed; so it is
    /// when this is dropped. Within a fence all that it has started ends with it, wherever that went; what a program without a
    /// fence has started lives on after it, as in Terraform, unless it is killed.
    pub async fn run(
        &self,
        options: &LaunchOptions,
        mut printed: impl FnMut(&[u8]) + Send,
        stop: impl Future<Output = ()> + Send,
    ) -> io::Result<Ending> {
        let private = PrivateFolder::new(&options.scratch)?;
        let fenced = options.fence != Fence::Off;
        let request = Request {
            binary: self.binary.clone().into(),
            arguments: self.arguments.clone(),
            is_foreign: true,
            is_supervised: fenced,
            ..Request::default()
        };
        let (reader, writer) = io::pipe()?;
        let mut command = launched(request, &self.folder, options, &private);
        command.stdout(writer.try_clone()?).stderr(writer).envs(
            self.variables
                .iter()
                .map(|(name, value)| (for_program(name), value)),
        );
        if fenced {
            // Whoever supervises it ends when this closes, and not before all else has ended.
            command.stdin(Stdio::piped()).kill_on_drop(false);
        }
        let mut output = Receiver::from_owned_fd(OwnedFd::from(reader))?;
        let mut running = Running::of(spawn(command).await?, fenced);
        let mut chunk = vec![0; 16 << 10];
        let mut exited: Option<(ExitStatus, Instant)> = None;
        let mut stop = std::pin::pin!(stop);
        loop {
            let end = exited.map_or_else(Instant::now, |(_, at)| at + GRACE);
            tokio::select! {
                read = output.read(&mut chunk) => match read {
                    Ok(count) if count > 0 => printed(chunk.get(..count).unwrap_or_default()),
                    _ => break,
                },
                status = running.child.wait(), if exited.is_none() => exited = Some((status?, Instant::now())),
                () = sleep_until(end), if fenced && exited.is_some() => break,
                () = &mut stop => return running.end().await.map(|()| Ending::Stopped),
            }
        }
        let status = match exited {
            Some((status, _)) => status,
            // It closed its output and goes on.
            None => tokio::select! {
                status = running.child.wait() => status?,
                () = &mut stop => return running.end().await.map(|()| Ending::Stopped),
            },
        };
        running.group.release();
        Ok(Ending::Exited(status))
    }
}

/// A program that runs, or whoever supervises it.
struct Running {
    child: Child,
    group: Group,
    /// Is it supervised? Then it ends when its standard input does, which is when this is dropped.
    fenced: bool,
    /// Its standard input, out of the child's hands: to wait for a child closes what that has.
    input: Option<ChildStdin>,
}

impl Running {
    fn of(mut child: Child, fenced: bool) -> Self {
        let input = child.stdin.take();
        let mut group = Group::of(&child);
        if fenced {
            // Killed at once it could not end the others.
            group.release();
        }
        Self {
            child,
            group,
            fenced,
            input,
        }
    }

    /// Ends it and what it started.
    async fn end(mut self) -> io::Result<()> {
        if self.fenced {
            drop(self.input.take());
            if timeout(PATIENCE, self.child.wait()).await.is_ok() {
                return Ok(());
            }
            self.group = Group::of(&self.child);
        }
        self.group.kill();
        self.child.wait().await.map(|_| ())
    }
}
