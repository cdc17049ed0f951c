//! We and real Terraform side by side: both take the steps of a case, each in its own place.

use std::{
    path::Path,
    time::{Duration, Instant},
};

use anyhow::Context;
use ashlar_runner::Settings;
use ashlar_xtask::tools::{self, Group};
use serde_json::Value as Json;

use super::{
    case::Case,
    estate::Estate,
    excused::{without_chance, without_lost_identities, without_lost_marks, without_spellings},
    next::next_step,
    peer::Peer,
    record, shrink,
};
use crate::{
    chance::Chance,
    report::Miss,
    scenarios::{self, compare, normalise, step::Bench},
};

/// Steps of a case.
const STEPS: usize = 3;
/// How many smaller cases are tried for one difference, and for how long.
const TRIES: usize = 400;
const PATIENCE: Duration = Duration::from_secs(600);

/// What became of a configuration.
pub(super) struct Found {
    pub(super) difference: Option<(Case, Miss)>,
    /// The exit of each phase, step by step.
    pub(super) told: String,
}

/// Both programs.
pub(super) struct Pair {
    pub(super) peer: Peer,
    pub(super) settings: Settings,
}

/// Where both take the steps of one case.
struct Race<'a> {
    pair: &'a Pair,
    ours: (Bench, tempfile::TempDir),
    theirs: (Bench, tempfile::TempDir),
    got: Vec<Json>,
    expected: Vec<Json>,
}

impl Pair {
    pub(super) fn new(scratch: &Path) -> anyhow::Result<Self> {
        let tools = tools::build(&[Group::Providers, Group::Terraform])?;
        Ok(Self {
            peer: Peer {
                program: tools.path("ASHLAR_TERRAFORM")?.to_owned(),
                settings: tools.path("ASHLAR_TERRAFORM_CONFIG")?.to_owned(),
            },
            settings: scenarios::settings(tools.path("ASHLAR_PLUGIN_MIRROR")?, scratch)?,
        })
    }

    fn race(&self) -> anyhow::Result<Race<'_>> {
        let place = || -> anyhow::Result<(Bench, tempfile::TempDir)> {
            let root = tempfile::Builder::new().prefix("ashlar-random-").tempdir()?;
            Ok((Bench::new(root.path(), self.settings.clone())?, root))
        };
        Ok(Race {
            pair: self,
            ours: place()?,
            theirs: place()?,
            got: Vec::new(),
            expected: Vec::new(),
        })
    }

    /// Makes a configuration and its edits while both run them, up to the first difference.
    pub(super) async fn explore(&self, seed: u64, number: u64) -> anyhow::Result<Found> {
        let mut chance = chance_of(seed, number);
        let mut estate = Estate::new(&mut chance);
        let mut race = self.race()?;
        let mut case = Case::default();
        for at in 0..STEPS {
            let world = race.theirs.0.world.clone();
            let state = race
                .expected
                .last()
                .map_or(Json::Null, |step| step["state"].clone());
            case.steps
                .push(next_step(at, &mut estate, &world, &state, &mut chance)?);
            let steps = case.scenario();
            if let Some(miss) = race.step(&steps[at]).await? {
                return Ok(Found {
                    difference: Some((case, miss)),
                    told: race.told(),
                });
            }
            if !race.got[at]["init"].is_null() || race.is_refused() || race.is_own_circle() {
                // What does not load is not told by the same command again.
                break;
            }
        }
        Ok(Found {
            difference: None,
            told: race.told(),
        })
    }

    /// The first difference of a case, if it can be run and has one.
    async fn differs(&self, case: &Case) -> anyhow::Result<Option<Miss>> {
        let mut race = self.race()?;
        for step in case.scenario() {
            match race.step(&step).await {
                Ok(None) => {}
                Ok(Some(miss)) => return Ok(Some(miss)),
                // A smaller case may ask to change what is not there.
                Err(_) => return Ok(None),
            }
        }
        Ok(None)
    }

    /// The smallest case found that differs likewise, and how many were tried.
    pub(super) async fn shrink(&self, case: Case, miss: &Miss) -> anyhow::Result<(Case, usize)> {
        let (wanted, started) = (kind_of(miss), Instant::now());
        let mut best = case;
        let mut tries = 0;
        'again: loop {
            for smaller in shrink::candidates(&best) {
                if tries == TRIES || started.elapsed() > PATIENCE {
                    return Ok((best, tries));
                }
                tries += 1;
                if self
                    .differs(&smaller)
                    .await?
                    .is_some_and(|miss| kind_of(&miss) == wanted)
                {
                    best = smaller;
                    continue 'again;
                }
            }
            return Ok((best, tries));
        }
    }

    /// Writes a case down with what Terraform did.
    pub(super) async fn record(
        &self,
        case: &Case,
        folder: &Path,
        title: &str,
    ) -> anyhow::Result<Option<Miss>> {
        let mut race = self.race()?;
        let mut steps = case.scenario();
        let mut miss = None;
        for step in &mut steps {
            let differs = race.step(step).await?;
            miss = miss.or(differs);
            let done = race.expected.last().unwrap_or(&Json::Null);
            let failed = ["init", "plan", "apply"]
                .iter()
                .find(|phase| done[**phase]["exit"].as_i64().is_some_and(|exit| exit != 0));
            if let Some(phase) = failed {
                step["expect"] = format!("fail-{phase}").into();
            }
        }
        record::write_scenario(folder, title, &steps)?;
        record::write_expected(folder, title, race.expected())?;
        Ok(miss)
    }
}

impl Race<'_> {
    /// Takes one step on both sides.
    async fn step(&mut self, step: &Json) -> anyhow::Result<Option<Miss>> {
        let first = self.got.is_empty();
        let theirs = async {
            // The program is waited for on a thread of its own, so that both run at once.
            tokio::task::block_in_place(|| self.pair.peer.run(&self.theirs.0, step, first))
        };
        let (got, expected) = tokio::join!(self.ours.0.run(step), theirs);
        let got = got?
            .map_err(|what| anyhow::anyhow!(what))
            .context("a step of ours")?;
        self.got.push(got);
        self.expected.push(expected?);
        let words = scenarios::words(&self.ours.0, self.ours.1.path(), &self.pair.settings);
        let mut got = normalise::normalise(self.got.clone(), &words);
        let mut expected = self.expected();
        without_chance(&mut got);
        without_chance(&mut expected);
        without_lost_marks(&mut expected, &got);
        without_lost_identities(&mut expected, &got);
        without_spellings(&mut expected, &got);
        let apart: &[&str] = match (self.is_refused(), self.is_own_circle()) {
            (_, true) => &["plan", "apply", "state", "world"],
            (true, false) => &["apply", "state", "world"],
            (false, false) => &[],
        };
        for step in got.last_mut().into_iter().chain(expected.last_mut()) {
            let fields = step.as_object_mut().into_iter();
            fields.for_each(|fields| fields.retain(|name, _| !apart.contains(&&**name)));
        }
        Ok(compare::compare(&expected.into(), &got).err())
    }

    /// Did Terraform refuse to apply a plan of its own, because it changes nothing that is known? Then only the plans are
    /// compared, and what comes after is another story.
    fn is_refused(&self) -> bool {
        self.expected.last().is_some_and(|step| {
            let told = step["apply"]["diagnostics"].as_array();
            told.is_some_and(|told| {
                told.iter()
                    .any(|diag| diag["summary"] == "Cannot apply non-applyable plan")
            })
        })
    }

    /// Did Terraform make a circle that is none? It takes what is only forgotten for something to be destroyed, which what is created
    /// before its destruction cannot wait for (`transform_destroy_edge.go`: the edge to a node that forgets is never turned
    /// round). Here such a plan is made.
    fn is_own_circle(&self) -> bool {
        let circles = |step: &Json| {
            let told = step["plan"]["diagnostics"].as_array().into_iter().flatten();
            let mut summaries = told.filter_map(|diag| diag["summary"].as_str());
            summaries.any(|summary| summary.starts_with("Cycle: ") && summary.contains(" (forget)"))
        };
        self.expected.last().is_some_and(circles)
            && self.got.last().is_some_and(|step| step["plan"]["exit"] == 0)
    }

    fn expected(&self) -> Vec<Json> {
        let words = scenarios::words(&self.theirs.0, self.theirs.1.path(), &self.pair.settings);
        normalise::normalise(self.expected.clone(), &words)
    }

    fn told(&self) -> String {
        let step = |step: &Json| {
            let exits: Vec<String> = ["init", "plan", "apply"]
                .iter()
                .filter(|phase| step[**phase].is_object())
                .map(|phase| format!("{phase} {}", step[*phase]["exit"]))
                .collect();
            exits.join(" ")
        };
        let mut told = self.expected.iter().map(step).collect::<Vec<_>>().join("; ");
        if self.is_own_circle() {
            told.push_str(", which is a circle of Terraform's own");
        }
        told
    }
}

/// What a configuration is made with.
pub(super) fn chance_of(seed: u64, number: u64) -> Chance {
    Chance::new(seed.wrapping_mul(1_000_003).wrapping_add(number).wrapping_add(1))
}

/// What kind of difference it is: the part of a step that differs.
fn kind_of(miss: &Miss) -> String {
    let what = miss
        .expected
        .split_once("] ")
        .map_or(&*miss.expected, |(_, what)| what);
    what.chars()
        .take_while(|c| c.is_alphabetic() || *c == '.' || *c == '_')
        .collect()
}
