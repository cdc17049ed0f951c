//! What became of providers that may outlive a run, as counters that only grow and gauges that tell of now.

use std::{
    fmt::Write as _,
    sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed},
};

use crate::warm_rules::Ended;

/// Counters and gauges of a pool.
#[derive(Debug, Default)]
pub struct WarmCounts {
    started: AtomicU64,
    reused: AtomicU64,
    ended: [AtomicU64; Ended::ALL.len()],
    idle: AtomicUsize,
    in_use: AtomicUsize,
    resident: AtomicU64,
}

impl WarmCounts {
    pub(crate) fn started(&self) {
        self.started.fetch_add(1, Relaxed);
    }

    pub(crate) fn reused(&self) {
        self.reused.fetch_add(1, Relaxed);
    }

    pub(crate) fn ended(&self, why: Ended) {
        let counter = Ended::ALL.iter().zip(&self.ended).find(|(one, _)| **one == why);
        if let Some((_, counter)) = counter {
            counter.fetch_add(1, Relaxed);
        }
    }

    pub(crate) fn idle(&self, count: usize) {
        self.idle.store(count, Relaxed);
    }

    pub(crate) fn resident(&self, bytes: u64) {
        self.resident.store(bytes, Relaxed);
    }

    pub(crate) fn taken(&self) {
        self.in_use.fetch_add(1, Relaxed);
    }

    pub(crate) fn left(&self) {
        self.in_use.fetch_sub(1, Relaxed);
    }

    /// Processes started for runs.
    pub fn all_started(&self) -> u64 {
        self.started.load(Relaxed)
    }

    /// How often one served another run.
    pub fn all_reused(&self) -> u64 {
        self.reused.load(Relaxed)
    }

    /// How many were ended for this reason.
    pub fn all_ended(&self, why: Ended) -> u64 {
        let counter = Ended::ALL.iter().zip(&self.ended).find(|(one, _)| **one == why);
        counter.map_or(0, |(_, counter)| counter.load(Relaxed))
    }

    /// How many serve a run, and how many serve nobody.
    pub fn now(&self) -> (usize, usize) {
        (self.in_use.load(Relaxed), self.idle.load(Relaxed))
    }

    /// In Prometheus' text form.
    pub fn exposition(&self) -> String {
        let (in_use, idle) = self.now();
        let mut text = String::new();
        let mut family = |name: &str, kind: &str, help: &str, lines: Vec<(String, u64)>| {
            // Writing to a String cannot fail.
            let _ = writeln!(
                text,
                "# HELP ashlar_provider_{name} {help}\n# TYPE ashlar_provider_{name} {kind}"
            );
            for (labels, figure) in lines {
                let _ = writeln!(text, "ashlar_provider_{name}{labels} {figure}");
            }
        };
        let plain = |figure: u64| vec![(String::new(), figure)];
        family(
            "started_total",
            "counter",
            "Provider processes started for runs.",
            plain(self.all_started()),
        );
        family(
            "reused_total",
            "counter",
            "Times that a provider process served another run.",
            plain(self.all_reused()),
        );
        let ended = Ended::ALL.iter();
        family(
            "ended_total",
            "counter",
            "Provider processes that ended, by reason.",
            ended
                .map(|why| (format!("{{reason=\"{}\"}}", why.as_str()), self.all_ended(*why)))
                .collect(),
        );
        let state = |name: &str| format!("{{state=\"{name}\"}}");
        let figure = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
        family(
            "processes",
            "gauge",
            "Provider processes that serve a run, and that serve nobody.",
            vec![(state("in_use"), figure(in_use)), (state("idle"), figure(idle))],
        );
        family(
            "idle_resident_bytes",
            "gauge",
            "Resident memory of providers that serve nobody.",
            plain(self.resident.load(Relaxed)),
        );
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_form_has_each_reason() {
        let counts = WarmCounts::default();
        counts.started();
        counts.ended(Ended::Crashed);
        counts.taken();
        counts.idle(3);
        let text = counts.exposition();
        for line in [
            "ashlar_provider_started_total 1",
            "ashlar_provider_reused_total 0",
            "ashlar_provider_ended_total{reason=\"crashed\"} 1",
            "ashlar_provider_ended_total{reason=\"shutdown\"} 0",
            "ashlar_provider_processes{state=\"in_use\"} 1",
            "ashlar_provider_processes{state=\"idle\"} 3",
            "# TYPE ashlar_provider_idle_resident_bytes gauge",
        ] {
            assert!(text.lines().any(|told| told == line), "{line} is not in\n{text}");
        }
    }
}
