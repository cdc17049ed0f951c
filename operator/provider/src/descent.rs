//! Which processes a process has started, as the kernel tells. What it says may be over by the time it is read.

use std::{fs, io};

use rustix::process::Pid;

/// The children of a process. The kernel's own list takes a fraction of a look at all processes, but kernels may be built without it.
pub(crate) fn children(pid: u32) -> Vec<Pid> {
    listed(pid).unwrap_or_else(|_| found(pid))
}

fn listed(pid: u32) -> io::Result<Vec<Pid>> {
    let mut listed = Vec::new();
    for thread in fs::read_dir(format!("/proc/{pid}/task"))? {
        let list = fs::read_to_string(thread?.path().join("children"))?;
        let pids = list.split_whitespace().filter_map(|pid| pid.parse().ok());
        listed.extend(pids.filter_map(Pid::from_raw));
    }
    Ok(listed)
}

fn found(pid: u32) -> Vec<Pid> {
    let Ok(entries) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    let processes = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<i32>().ok());
    let is_child = |child: &i32| {
        let stat = fs::read_to_string(format!("/proc/{child}/stat")).unwrap_or_default();
        // The name of the program may hold anything; behind it stand its state and its parent.
        let parent = stat
            .rsplit_once(')')
            .and_then(|(_, rest)| rest.split_whitespace().nth(1)?.parse().ok());
        parent == Some(pid)
    };
    processes.filter(is_child).filter_map(Pid::from_raw).collect()
}
