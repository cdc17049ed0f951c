//! Stands between us and a fenced program, be it a plugin or one that a configuration names: whatever the program starts ends with it.
//!
//! Runs as `ashlar launch --supervise …` in a process of its own, outside of the fence that the program is within, so that the
//! program cannot end it. What leaves its group or its session comes back here once its own parent is gone, because this
//! process is a subreaper. Our end of its standard input is its lifeline: when that closes, be it because we are gone, all
//! are killed.

use std::{
    ffi::OsString,
    fs::OpenOptions,
    io::{self, Read},
    os::unix::process::{CommandExt, ExitStatusExt},
    process::{Command, ExitStatus, Stdio},
    time::{Duration, Instant},
};

use rustix::process::{Resource, Signal, WaitOptions};

use crate::{
    descent::children,
    launch::{LaunchError, NO_CORE, Request},
};

/// How long is spent on killing what starts others without end.
const PATIENCE: Duration = Duration::from_secs(10);
/// What is told of a program that a signal ended, as shells do.
const BY_SIGNAL: i32 = 128;

/// Runs the request's program, and ends this process as the program ended, once all that it started is gone. Returns only if
/// the program could not be started. `before`: the arguments that lead to a launch.
pub(crate) fn run(request: Request, before: Vec<OsString>) -> LaunchError {
    match start(request, before) {
        Ok(status) => {
            end_all();
            if let Some(signal) = status.signal().and_then(Signal::from_named_raw) {
                end_by(signal);
            }
            let code = status.code().or_else(|| Some(BY_SIGNAL + status.signal()?));
            std::process::exit(code.unwrap_or(1))
        }
        Err(error) => error,
    }
}

fn start(request: Request, before: Vec<OsString>) -> Result<ExitStatus, LaunchError> {
    let limit = |error: rustix::io::Errno| LaunchError::Limit(error.into());
    // Ending as the program ended must leave no core of this process behind.
    rustix::process::setrlimit(Resource::Core, NO_CORE).map_err(limit)?;
    rustix::process::set_child_subreaper(Some(rustix::process::getpid())).map_err(limit)?;
    let own = std::env::current_exe().map_err(|error| LaunchError::Exec("ashlar".into(), error))?;
    let inner = Request {
        is_supervised: false,
        parent: std::process::id(),
        ..request
    };
    let started = Command::new(own)
        .args(before)
        .args(inner.arguments())
        .stdin(Stdio::null())
        .process_group(0)
        .spawn();
    let child = started.map_err(|error| LaunchError::Exec(inner.binary, error))?;
    // The other end is to see when the program closes them.
    if let Ok(nothing) = OpenOptions::new().write(true).open("/dev/null") {
        // Where that fails, they close with this process.
        let _ = rustix::stdio::dup2_stdout(&nothing);
        let _ = rustix::stdio::dup2_stderr(&nothing);
    }
    std::thread::spawn(|| {
        let mut line = io::stdin().lock();
        let mut nothing = [0; 64];
        // Nothing is ever said on it.
        while line.read(&mut nothing).is_ok_and(|count| count > 0) {}
        end_all();
        std::process::exit(BY_SIGNAL + Signal::KILL.as_raw());
    });
    Ok(wait_for(child.id()))
}

/// Ends this process by the signal that ended the program, so that whoever waits for it is told of it.
fn end_by(signal: Signal) {
    // The first may end in a handler that Rust's runtime has for it, which takes itself away.
    for _ in 0..2 {
        let _ = rustix::process::kill_process(rustix::process::getpid(), signal);
    }
}

/// Waits for one, and takes meanwhile what came to us and died, or the dead would use up the machine's process numbers.
fn wait_for(child: u32) -> ExitStatus {
    loop {
        match rustix::process::wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) if u32::try_from(pid.as_raw_nonzero().get()) == Ok(child) => {
                return ExitStatus::from_raw(status.as_raw());
            }
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            // The other thread has waited for it.
            Err(_) => return ExitStatus::from_raw(Signal::KILL.as_raw()),
        }
    }
}

/// Kills all children until there is none: those of a child that dies become ours. Between finding a child and killing it
/// there is as little as can be: one that leaves another behind and ends at once lives no longer than that.
fn end_all() {
    let begun = Instant::now();
    while begun.elapsed() < PATIENCE {
        let found = children(std::process::id());
        for child in &found {
            // It may be gone already.
            let _ = rustix::process::kill_process(*child, Signal::KILL);
        }
        // Where others come as fast as they die there is always one to wait for, so killing must go on meanwhile.
        let mut waited = 0;
        while waited <= found.len() {
            match rustix::process::wait(WaitOptions::NOHANG) {
                Ok(Some(_)) => waited += 1,
                Ok(None) => break,
                Err(_) => return,
            }
        }
        if waited == 0 {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}
