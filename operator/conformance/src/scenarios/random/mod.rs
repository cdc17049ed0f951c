//! Configurations made at random, run step by step by us and by real Terraform side by side, each from its own state and its
//! own copy of the world.
//!
//! A seed and a number fix a configuration, its edits, the drift and the faults. What is compared is what scenarios compare.
//! A difference is shrunk and written down as a scenario.

mod case;
mod drift;
mod edits;
mod estate;
mod exprs;
mod kinds;
mod moves;
mod parts;
mod peer;
mod record;
mod resources;
mod shrink;

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
    time::{Duration, Instant},
};

use anyhow::Context;
use ashlar_runner::Settings;
use ashlar_xtask::tools::{self, Group};
use serde_json::{Map, Value as Json, json};

pub(super) use self::peer::{Peer, flags, variables};
use self::{
    case::{Case, Step},
    estate::Estate,
};
use super::{compare, normalise, step::Bench};
use crate::{chance::Chance, report::Miss};

/// Steps of a case.
const STEPS: usize = 3;
/// How many smaller cases are tried for one difference, and for how long.
const TRIES: usize = 400;
const PATIENCE: Duration = Duration::from_secs(600);

/// What the comparison is told.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// What all configurations follow from.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How many configurations.
    #[arg(long, value_name = "N", default_value_t = 20)]
    count: u64,
    /// The first configuration's number.
    #[arg(long, value_name = "K", default_value_t = 0)]
    config: u64,
    /// The folder that scenarios of differences are written to.
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    /// Tell differences as they are.
    #[arg(long)]
    no_shrink: bool,
    /// Only print the first step's files of each.
    #[arg(long)]
    show: bool,
    /// Stop after so many differences.
    #[arg(long, value_name = "N", default_value_t = 10)]
    differences: usize,
}

/// Runs all configurations that are asked for.
pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    if args.show {
        for number in args.config..args.config + args.count {
            let estate = Estate::new(&mut chance_of(args.seed, number));
            for (name, body) in estate.files() {
                println!("# {name} of configuration {number}\n{}", body.text());
            }
        }
        return Ok(ExitCode::SUCCESS);
    }
    let scratch = tempfile::Builder::new().prefix("ashlar-").tempdir()?;
    let pair = Pair::new(scratch.path())?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let (mut equal, mut differ) = (0, 0);
    for number in args.config..args.config + args.count {
        let started = Instant::now();
        let found = runtime.block_on(pair.explore(args.seed, number))?;
        let seconds = started.elapsed().as_secs_f32();
        let Some((case, miss)) = found.difference else {
            equal += 1;
            println!(
                "seed {} configuration {number}: equal ({}), {seconds:.1} s",
                args.seed, found.told
            );
            continue;
        };
        differ += 1;
        println!(
            "seed {} configuration {number}: DIFFERS, {seconds:.1} s\n  terraform: {}\n  ashlar:    {}",
            args.seed,
            brief(&miss.expected),
            brief(&miss.got)
        );
        let (case, tries) = if args.no_shrink {
            (case, 0)
        } else {
            runtime.block_on(pair.shrink(case, &miss))?
        };
        if let Some(out) = &args.out {
            let folder = out.join(format!("{}-{number}", args.seed));
            let title = format!("Found at random: seed {}, configuration {number}.", args.seed);
            let miss = runtime.block_on(pair.record(&case, &folder, &title))?;
            println!("  after {tries} tries: {}", folder.display());
            if let Some(miss) = miss {
                println!(
                    "  terraform: {}\n  ashlar:    {}",
                    brief(&miss.expected),
                    brief(&miss.got)
                );
            }
        }
        if differ >= args.differences {
            break;
        }
    }
    println!("{equal} passed, {differ} failed");
    Ok(if differ == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// Scenarios whose record is made anew.
#[derive(clap::Args)]
pub(crate) struct RecordArgs {
    /// Folders, each with a `scenario.yaml`.
    #[arg(required = true)]
    folders: Vec<PathBuf>,
}

/// Runs scenarios in Terraform alone and writes down what it did. The order of calls is not told: one run does not show it.
pub(crate) fn record(args: &RecordArgs) -> anyhow::Result<ExitCode> {
    let scratch = tempfile::Builder::new().prefix("ashlar-").tempdir()?;
    let pair = Pair::new(scratch.path())?;
    for folder in &args.folders {
        let scenario = super::read_scenario(folder)?;
        let root = tempfile::Builder::new().prefix("ashlar-record-").tempdir()?;
        let bench = Bench::new(root.path(), pair.settings.clone())?;
        let mut expected = Vec::new();
        for step in scenario["steps"].as_array().into_iter().flatten() {
            expected.push(pair.peer.run(&bench, step, expected.is_empty())?);
        }
        let expected = normalise::normalise(expected, &super::words(&bench, root.path(), &pair.settings));
        record::write_expected(folder, scenario["title"].as_str().unwrap_or_default(), expected)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn chance_of(seed: u64, number: u64) -> Chance {
    Chance::new(seed.wrapping_mul(1_000_003).wrapping_add(number).wrapping_add(1))
}

fn brief(text: &str) -> String {
    text.chars().take(4000).collect()
}

/// What became of a configuration.
struct Found {
    difference: Option<(Case, Miss)>,
    /// The exit of each phase, step by step.
    told: String,
}

/// Both programs.
struct Pair {
    peer: Peer,
    settings: Settings,
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
    fn new(scratch: &Path) -> anyhow::Result<Self> {
        let tools = tools::build(&[Group::Providers, Group::Terraform])?;
        Ok(Self {
            peer: Peer {
                program: tools.path("ASHLAR_TERRAFORM")?.to_owned(),
                settings: tools.path("ASHLAR_TERRAFORM_CONFIG")?.to_owned(),
            },
            settings: super::settings(tools.path("ASHLAR_PLUGIN_MIRROR")?, scratch)?,
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
    async fn explore(&self, seed: u64, number: u64) -> anyhow::Result<Found> {
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
            if !race.got[at]["init"].is_null() || race.is_refused() {
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
    async fn shrink(&self, case: Case, miss: &Miss) -> anyhow::Result<(Case, usize)> {
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
    async fn record(&self, case: &Case, folder: &Path, title: &str) -> anyhow::Result<Option<Miss>> {
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
        let words = super::words(&self.ours.0, self.ours.1.path(), &self.pair.settings);
        let mut got = normalise::normalise(self.got.clone(), &words);
        let mut expected = self.expected();
        without_chance(&mut got);
        without_chance(&mut expected);
        without_lost_marks(&mut expected, &got);
        without_lost_identities(&mut expected, &got);
        without_spellings(&mut expected, &got);
        if self.is_refused() {
            for step in got.last_mut().into_iter().chain(expected.last_mut()) {
                let fields = step.as_object_mut().into_iter();
                fields.for_each(|fields| {
                    fields.retain(|name, _| !["apply", "state", "world"].contains(&&**name))
                });
            }
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

    fn expected(&self) -> Vec<Json> {
        let words = super::words(&self.theirs.0, self.theirs.1.path(), &self.pair.settings);
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
        self.expected.iter().map(step).collect::<Vec<_>>().join("; ")
    }
}

/// Puts what differs from run to run in one form. What a plan tells of several instances in the same words Terraform tells of
/// one of them, now of this and now of that.
fn without_chance(steps: &mut [Json]) {
    for step in steps {
        let changes = step
            .get_mut("plan")
            .and_then(|plan| plan.get_mut("resource_changes"));
        for change in changes.and_then(Json::as_array_mut).into_iter().flatten() {
            // Terraform tells them in no order of their own.
            let paths = change["change"].get_mut("replace_paths");
            if let Some(paths) = paths.and_then(Json::as_array_mut) {
                paths.sort_by_cached_key(Json::to_string);
            }
        }
        let plan = step.get_mut("plan");
        let diags = plan.and_then(|plan| plan.get_mut("diagnostics"));
        for diag in diags.and_then(Json::as_array_mut).into_iter().flatten() {
            // Of several that are missing Terraform tells one.
            const MISSING: &str = "missing provider ";
            if diag["summary"]
                .as_str()
                .is_some_and(|summary| summary.starts_with(MISSING))
            {
                diag["summary"] = MISSING.into();
            }
            if let Some(address) = diag["address"].as_str() {
                // Modules of one source say the same at the same place.
                let address = own_part(address);
                let mut depth = 0;
                let is_outside = |c: &char| {
                    depth += i32::from(*c == '[');
                    let outside = depth == 0;
                    depth -= i32::from(*c == ']');
                    outside
                };
                diag["address"] = address.chars().filter(is_outside).collect::<String>().into();
            }
        }
    }
}

/// An address without its modules.
fn own_part(address: &str) -> &str {
    let mut own = address;
    while let Some((_, rest)) = own
        .strip_prefix("module.")
        .and_then(|inner| inner.split_once('.'))
    {
        own = rest;
    }
    own
}

/// Where a change fails and the provider tells no identity, Terraform forgets the one it has. It stays here.
fn without_lost_identities(expected: &mut [Json], got: &[Json]) {
    for (expected, got) in expected.iter_mut().zip(got) {
        let failed = expected["apply"]["exit"].as_i64().is_some_and(|exit| exit != 0);
        let theirs = expected
            .pointer_mut("/state/resources")
            .filter(|_| failed)
            .and_then(Json::as_array_mut)
            .into_iter()
            .flatten();
        let ours = got["state"]["resources"].as_array().into_iter().flatten();
        for (theirs, ours) in theirs.zip(ours) {
            let theirs = theirs.get_mut("instances").and_then(Json::as_array_mut);
            let theirs = theirs.into_iter().flatten();
            let ours = ours["instances"].as_array().into_iter().flatten();
            for (theirs, ours) in theirs.zip(ours) {
                if theirs["identity"].is_null() && !ours["identity"].is_null() {
                    for field in ["identity", "identity_schema_version"] {
                        theirs[field] = ours[field].clone();
                    }
                }
            }
        }
    }
}

/// Where Terraform plans to replace an object, it forgets in that plan what the object's schema calls sensitive, and shows it
/// where it flows to. That is a fault of its own; ours stays hidden, and the more sensitive counts.
fn without_lost_marks(expected: &mut [Json], got: &[Json]) {
    for (expected, got) in expected.iter_mut().zip(got) {
        let plan = expected.get_mut("plan");
        let changes = plan.and_then(|plan| plan.get_mut("resource_changes"));
        let Some(changes) = changes.and_then(Json::as_array_mut) else {
            continue;
        };
        let replaces = |change: &Json| {
            change["change"]["actions"]
                .as_array()
                .is_some_and(|all| all.len() == 2)
        };
        if !changes.iter().any(replaces) {
            continue;
        }
        for change in changes {
            let same = got["plan"]["resource_changes"]
                .as_array()
                .into_iter()
                .flatten()
                .find(|other| other["address"] == change["address"] && other["deposed"] == change["deposed"]);
            if let Some(other) = same
                && hides_more(
                    &other["change"]["after_sensitive"],
                    &change["change"]["after_sensitive"],
                )
            {
                change["change"]["after_sensitive"] = other["change"]["after_sensitive"].clone();
            }
        }
    }
}

/// A refresh-only plan that changes nothing is worth applying to Terraform if state holds a data source: it compares what the
/// file holds with what it would write, letter by letter.
fn without_spellings(expected: &mut [Json], got: &[Json]) {
    let mut has_data = false;
    for (expected, got) in expected.iter_mut().zip(got) {
        let applyable = (&expected["plan"]["applyable"], &got["plan"]["applyable"]);
        if has_data && expected["action"] == "refresh-only" && applyable == (&json!(true), &json!(false)) {
            expected["plan"]["applyable"] = false.into();
        }
        let resources = expected["state"]["resources"].as_array().into_iter().flatten();
        has_data = resources.into_iter().any(|resource| resource["mode"] == "data");
    }
}

/// Does one hide all that the other does, and something more?
fn hides_more(one: &Json, other: &Json) -> bool {
    match (one, other) {
        (Json::Bool(true), Json::Bool(true)) => false,
        (Json::Bool(true), _) => true,
        (Json::Object(a), Json::Object(b)) => {
            b.iter().all(|(name, other)| {
                a.get(name)
                    .is_some_and(|one| one == other || hides_more(one, other))
            }) && one != other
        }
        (Json::Array(a), Json::Array(b)) if a.len() == b.len() => {
            a.iter()
                .zip(b)
                .all(|(one, other)| one == other || hides_more(one, other))
                && one != other
        }
        _ => false,
    }
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

/// The next step of a case: the configuration edited, the world changed.
fn next_step(
    at: usize,
    estate: &mut Estate,
    world: &Path,
    state: &Json,
    chance: &mut Chance,
) -> anyhow::Result<Step> {
    let mut edits = Vec::new();
    let mut options = Map::new();
    let mut action = "apply";
    if at > 0 {
        if chance.odds(35) {
            edits.extend(drift::drift(world, chance)?);
        }
        if chance.odds(85) {
            for _ in 0..1 + chance.below(3) {
                edits.extend(estate.edit(chance));
            }
        }
        action = match chance.below(20) {
            0 | 1 => "refresh-only",
            2 => "plan",
            3 if at == 1 => "destroy",
            3..=5 if at > 1 => "destroy",
            _ => "apply",
        };
        let addresses = drift::addresses(state);
        if action == "apply" && chance.odds(12) && !addresses.is_empty() {
            let address = &addresses[chance.below(addresses.len())];
            options.insert("replace".to_owned(), json!([address]));
        }
        if action != "refresh-only" && chance.odds(8) {
            options.insert("refresh".to_owned(), false.into());
        }
    }
    let may_fail = if at == 0 { 8 } else { 16 };
    if chance.odds(may_fail) {
        edits.push(drift::faults(world, chance)?);
    } else if at > 0 {
        edits.push(json!({ "faults": [] }));
    }
    Ok(Step {
        name: ["first", "second", "third"]
            .get(at)
            .copied()
            .unwrap_or("more")
            .to_owned(),
        action: action.to_owned(),
        files: estate.files(),
        world: edits,
        vars: estate.given(chance),
        options,
    })
}
