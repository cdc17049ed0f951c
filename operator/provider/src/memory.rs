//! How much memory there is, and how much of it a process takes, as the kernel says.

use std::{fs, path::Path};

use crate::descent::children;

/// How far down a plugin's descendants are counted, and how many: enough for any that does not mean to hide.
const DEPTH: usize = 8;
const COUNT: usize = 256;

/// Resident memory of a process and of what it started, in bytes.
pub(crate) fn resident(pid: u32) -> Option<u64> {
    let mut whole = of_itself(pid)?;
    let mut generation = vec![pid];
    let mut counted = 0;
    for _ in 0..DEPTH {
        let next = generation.into_iter().flat_map(children);
        generation = next
            .map(|child| child.as_raw_nonzero().get().cast_unsigned())
            .take(COUNT - counted)
            .collect();
        counted += generation.len();
        whole += generation
            .iter()
            .filter_map(|child| of_itself(*child))
            .sum::<u64>();
    }
    Some(whole)
}

fn of_itself(pid: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    kilobytes(&status, "VmRSS:")
}

/// The figure of a line such as `VmRSS:   12 kB`, in bytes.
fn kilobytes(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    let figure = line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?;
    figure.checked_mul(1024)
}

/// Is there so little memory left, on this machine or of what this container may take, that some should be given back?
pub(crate) fn is_pressed() -> bool {
    let machine = fs::read_to_string("/proc/meminfo").is_ok_and(|text| is_short(&text));
    // Version 2 of control groups, then version 1; the names of a container's own group.
    let groups = [
        ("/sys/fs/cgroup", "memory.current", "memory.max", "inactive_file "),
        (
            "/sys/fs/cgroup/memory",
            "memory.usage_in_bytes",
            "memory.limit_in_bytes",
            "total_inactive_file ",
        ),
    ];
    let group = groups.iter().any(|(folder, used, most, cached)| {
        let text = |name: &str| fs::read_to_string(Path::new(folder).join(name)).ok();
        let figure = |name: &str| text(name)?.trim().parse::<u64>().ok();
        let Some((used, most)) = figure(used).zip(figure(most)) else {
            return false;
        };
        // What is kept of files that nobody reads is given back without being asked for.
        let stat = text("memory.stat").unwrap_or_default();
        let cached = stat
            .lines()
            .find_map(|line| line.strip_prefix(cached)?.parse().ok());
        is_full(used.saturating_sub(cached.unwrap_or(0)), most)
    });
    machine || group
}

/// Less than a tenth is available.
fn is_short(meminfo: &str) -> bool {
    let figures = kilobytes(meminfo, "MemAvailable:").zip(kilobytes(meminfo, "MemTotal:"));
    figures.is_some_and(|(available, total)| available < total / 10)
}

/// More than nine tenths are used.
fn is_full(used: u64, most: u64) -> bool {
    used > most / 10 * 9
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_of_the_kernel() {
        let text = "MemTotal:       1000 kB\nMemFree:  1 kB\nMemAvailable:     99 kB\n";
        assert_eq!(kilobytes(text, "MemTotal:"), Some(1000 * 1024));
        assert_eq!(kilobytes(text, "Missing:"), None);
        assert_eq!(kilobytes("MemTotal: many kB", "MemTotal:"), None);
        assert!(is_short(text));
        assert!(!is_short(&text.replace("99", "100")));
        assert!(!is_short(""));
        assert!(is_full(91, 100) && !is_full(90, 100) && !is_full(1 << 40, u64::MAX));
        assert!(resident(std::process::id()).unwrap() > 1 << 20);
    }

    #[test]
    fn what_a_process_started_counts() {
        use std::io::Read;
        let mut parent = std::process::Command::new("sh");
        parent
            .args(["-c", "sleep 600 & echo $!; wait"])
            .stdout(std::process::Stdio::piped());
        let mut parent = parent.spawn().unwrap();
        let mut said = [0; 1];
        parent.stdout.take().unwrap().read_exact(&mut said).unwrap();
        let (own, whole) = (of_itself(parent.id()).unwrap(), resident(parent.id()).unwrap());
        for process in children(parent.id()) {
            rustix::process::kill_process(process, rustix::process::Signal::KILL).unwrap();
        }
        parent.wait().unwrap();
        assert!(whole > own && own > 0);
    }
}
