//! Stands between us and a program that a configuration names: whatever the program starts ends with it.
//!
//! Runs as `ashlar launch --supervise …` in a process of its own, outside of the fence that the program is within, so that the
//! program cannot end it. What leaves its group or its session comes back here once its own parent is gone, because this
//! process is a subreaper. Our end of its standard input is its lifeline: when that closes, be it because we are gone, all
//! are killed.

use std::{
    ffi::OsString,
    fs,
    io::{self, Read},
    os::unix::process::{CommandExt, ExitStatusExt},
    process::{Command, ExitStatus, Stdio},
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, WaitOptions};

use crate::launch::{LaunchError, Request};

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
            let code = status.code().or_else(|| Some(BY_SIGNAL + status.signal()?));
            std::process::exit(code.unwrap_or(1))
        }
        Err(error) => error,
    }
}

fn start(request: Request, before: Vec<OsString>) -> Result<ExitStatus, LaunchError> {
    let limit = |error: rustix::io::Errno| LaunchError::Limit(error.into());
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
        let found = children();
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

/// The kernel's own list, which takes a fraction of a look at all processes; kernels may be built without it.
fn children() -> Vec<Pid> {
    listed_children().unwrap_or_else(|_| found_children())
}

fn listed_children() -> io::Result<Vec<Pid>> {
    let mut listed = Vec::new();
    for thread in fs::read_dir("/proc/self/task")? {
        let list = fs::read_to_string(thread?.path().join("children"))?;
        let pids = list.split_whitespace().filter_map(|pid| pid.parse().ok());
        listed.extend(pids.filter_map(Pid::from_raw));
    }
    Ok(listed)
}

fn found_children() -> Vec<Pid> {
    let own = std::process::id();
    let Ok(entries) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    let processes = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<i32>().ok());
    let is_child = |pid: &i32| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        // The name of the program may hold anything; behind it stand its state and its parent.
        let parent = stat
            .rsplit_once(')')
            .and_then(|(_, rest)| rest.split_whitespace().nth(1)?.parse().ok());
        parent == Some(own)
    };
    processes.filter(is_child).filter_map(Pid::from_raw).collect()
}
