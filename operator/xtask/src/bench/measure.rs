//! What one command costs: wall time, CPU time, peak memory, as the kernel counted them.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use ashlar_xtask::process;
use wait4::{ResUse, Wait4 as _};

/// The cost of one command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cost {
    pub(super) wall: Duration,
    /// Of the program in user mode and in the kernel, with the children that it waited for.
    pub(super) cpu: Duration,
    /// Largest resident set of the program or of one of its children, in bytes.
    pub(super) peak: u64,
}

/// Runs `command`, with both outputs in the file `log`. Any status but 0 is an error that quotes the end of the log.
pub(super) fn run(command: &mut Command, log: &Path) -> Result<Cost> {
    let file = File::create(log).with_context(|| format!("cannot write {}", log.display()))?;
    command
        .stdin(Stdio::null())
        .stdout(file.try_clone()?)
        .stderr(file);
    let start = Instant::now();
    let child = command
        .spawn()
        .with_context(|| format!("cannot start {}", process::show(command)))?;
    let ResUse { status, rusage } = child.wait4()?;
    let wall = start.elapsed();
    if !status.success() {
        bail!(
            "{} ended with {status}; the end of what it printed:\n{}",
            process::show(command),
            process::tail(log, 4000)?
        );
    }
    Ok(Cost {
        wall,
        cpu: rusage.utime + rusage.stime,
        peak: rusage.maxrss,
    })
}

/// As [`run`], with the peak of the program alone, and that of all programs that it started, added up. What is short-lived
/// is looked at every few milliseconds.
pub(super) fn run_with_plugins(command: &mut Command, log: &Path) -> Result<(Cost, u64)> {
    let file = File::create(log).with_context(|| format!("cannot write {}", log.display()))?;
    command
        .stdin(Stdio::null())
        .stdout(file.try_clone()?)
        .stderr(file);
    let start = Instant::now();
    let child = command
        .spawn()
        .with_context(|| format!("cannot start {}", process::show(command)))?;
    let id = child.id();
    let ended = AtomicBool::new(false);
    let (waited, mut peaks) = thread::scope(|scope| {
        let watch = scope.spawn(|| {
            let mut peaks = BTreeMap::new();
            while !ended.load(Ordering::Relaxed) {
                look(id, &mut peaks);
                thread::sleep(Duration::from_millis(5));
            }
            peaks
        });
        let waited = child.wait4().map(|used| (used, start.elapsed()));
        ended.store(true, Ordering::Relaxed);
        (waited, watch.join().unwrap_or_default())
    });
    let (ResUse { status, rusage }, wall) = waited?;
    if !status.success() {
        bail!(
            "{} ended with {status}; the end of what it printed:\n{}",
            process::show(command),
            process::tail(log, 4000)?
        );
    }
    let seen = peaks.remove(&id);
    let peak = match seen {
        Some(seen) if !peaks.is_empty() => seen,
        // With nobody else in it, the kernel's figure is the program's own, and exact.
        _ => rusage.maxrss,
    };
    let cost = Cost {
        wall,
        cpu: rusage.utime + rusage.stime,
        peak,
    };
    Ok((cost, peaks.values().sum()))
}

/// Notes the largest resident sets, in bytes, of a process and of all below it. After a process has become another program
/// its figure starts anew, so the last one counts.
fn look(top: u32, peaks: &mut BTreeMap<u32, u64>) {
    let mut family = vec![top];
    let mut next = 0;
    while let Some(parent) = family.get(next).copied() {
        next += 1;
        let tasks = fs::read_dir(format!("/proc/{parent}/task"))
            .into_iter()
            .flatten()
            .flatten();
        for task in tasks {
            let children = fs::read_to_string(task.path().join("children")).unwrap_or_default();
            family.extend(
                children
                    .split_whitespace()
                    .filter_map(|id| id.parse::<u32>().ok()),
            );
        }
        let status = fs::read_to_string(format!("/proc/{parent}/status")).unwrap_or_default();
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kilobytes = peak.and_then(|peak| peak.trim().strip_suffix(" kB")?.parse::<u64>().ok());
        if let Some(kilobytes) = kilobytes {
            peaks.insert(parent, kilobytes * 1024);
        }
    }
}

/// The median of each figure by itself; the lower one of the two in the middle. `None` without costs.
pub(super) fn median(costs: &[Cost]) -> Option<Cost> {
    fn middle<T: Ord>(figures: impl Iterator<Item = T>) -> Option<T> {
        let mut sorted: Vec<T> = figures.collect();
        sorted.sort_unstable();
        let middle = sorted.len().checked_sub(1)? / 2;
        sorted.into_iter().nth(middle)
    }
    Some(Cost {
        wall: middle(costs.iter().map(|cost| cost.wall))?,
        cpu: middle(costs.iter().map(|cost| cost.cpu))?,
        peak: middle(costs.iter().map(|cost| cost.peak))?,
    })
}

/// A line that tells what the figures were measured on, and how busy that was before.
pub(super) fn machine() -> Result<String> {
    let read = |file: &str| fs::read_to_string(file).with_context(|| format!("cannot read {file}"));
    let cores = std::thread::available_parallelism()?;
    let cpu = read("/proc/cpuinfo")?;
    let model = cpu
        .lines()
        .find_map(|line| line.strip_prefix("model name")?.split_once(": "))
        .map_or("unnamed", |(_, name)| name);
    let load = read("/proc/loadavg")?;
    let Some((load, _)) = load.split_once(' ') else {
        bail!("/proc/loadavg is empty")
    };
    Ok(format!(
        "Measured on {cores} cores ({model}), load {load} before the run."
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_taken_of_each_figure() {
        let cost = |wall, cpu, peak| Cost {
            wall: Duration::from_millis(wall),
            cpu: Duration::from_millis(cpu),
            peak,
        };
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[cost(5, 6, 7)]), Some(cost(5, 6, 7)));
        assert_eq!(median(&[cost(5, 1, 9), cost(2, 2, 8)]), Some(cost(2, 1, 8)));
        assert_eq!(
            median(&[cost(9, 3, 2), cost(1, 4, 3), cost(5, 5, 1)]),
            Some(cost(5, 4, 2))
        );
    }
}
