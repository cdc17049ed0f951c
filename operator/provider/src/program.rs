//! A program that a configuration names, run as plugins are: in a group of its own, within the fence, gone with the run.
//!
//! Its folder is not opened to it, as a plugin's is: a configuration could name any.

use std::{ffi::OsString, fmt, io, os::fd::OwnedFd, path::PathBuf, process::ExitStatus, time::Duration};

use tokio::{
    io::AsyncReadExt,
    net::unix::pipe::Receiver,
    time::{Instant, sleep_until},
};

use crate::{
    launch::{Fence, Request, for_program},
    process::{LaunchOptions, PrivateFolder, launched},
    running::Running,
};

/// How long output is waited for once a fenced program has ended, and all that it started was killed.
const GRACE: Duration = Duration::from_secs(2);

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
        let private = PrivateFolder::new(&options.scratch, options.bounds.user)?;
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
        let mut output = Receiver::from_owned_fd(OwnedFd::from(reader))?;
        let mut running = Running::start(command, fenced).await?;
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
                () = &mut stop => return running.end().await.map(|_| Ending::Stopped),
            }
        }
        let status = match exited {
            Some((status, _)) => status,
            // It closed its output and goes on.
            None => tokio::select! {
                status = running.child.wait() => status?,
                () = &mut stop => return running.end().await.map(|_| Ending::Stopped),
            },
        };
        running.group.release();
        Ok(Ending::Exited(status))
    }
}
