//! Published providers, run by us and by Terraform side by side, against servers of our own.
//!
//! Each case is planned and applied by both, each for itself; then each takes over what the other made, which must need no
//! change; then it is changed, and destroyed, which must leave nothing. What nobody can know before is left out of the
//! comparison, value by value: it is what the plan told to be unknown. What stands in a case's folder `before` Terraform applies first.

mod servers;

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

use anyhow::Context;
use ashlar_runner::Settings;
use serde_json::{Map, Value as Json, json};

use self::servers::Servers;
use super::{compare, instance_addresses, normalise, random::Peer, step::Bench};
use crate::report::{Miss, Report};

/// Runs all cases below a folder.
pub(crate) fn run(cases: &Path, report: &mut Report) -> anyhow::Result<()> {
    use ashlar_xtask::tools::{self, Group};
    let found: Vec<(String, PathBuf)> = super::find(cases, "main.tf")?
        .into_iter()
        .filter(|(id, _)| report.wants(id))
        .collect();
    let tools = tools::build(&[Group::Clouds, Group::Terraform, Group::Kube])?;
    let scratch = tempfile::Builder::new().prefix("ashlar-").tempdir()?;
    let mut servers = Servers::new(&tools, scratch.path());
    let rig = Rig {
        peer: Peer {
            program: tools.path("ASHLAR_TERRAFORM")?.to_owned(),
            settings: tools.path("ASHLAR_CLOUD_TERRAFORM_CONFIG")?.to_owned(),
        },
        settings: super::settings(tools.path("ASHLAR_CLOUD_MIRROR")?, scratch.path())?,
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    for (id, folder) in found {
        let group = id.split('/').next().unwrap_or(&id).to_owned();
        let sides = ["ours", "theirs"].map(|name| servers.side(&group, name));
        let outcome = match sides {
            [Ok(ours), Ok(theirs)] => runtime.block_on(rig.run_one(&group, &folder, &ours, &theirs)),
            [Err(error), _] | [_, Err(error)] => Err(error),
        };
        let outcome = outcome.unwrap_or_else(|error| Err(Miss::new("a run", format!("{error:#}"))));
        report.case(&group, &id, outcome);
    }
    servers.stop()
}

/// Stands for what was made up.
const MADE: &str = "<made>";

/// Words in a case's files, with what stands for them on one side.
type Words = Vec<(&'static str, String)>;

struct Rig {
    peer: Peer,
    settings: Settings,
}

/// Where one of the two works.
struct Side {
    bench: Bench,
    root: tempfile::TempDir,
    words: Words,
}

impl Side {
    fn new(settings: &Settings, words: &Words) -> anyhow::Result<Self> {
        let root = tempfile::Builder::new().prefix("ashlar-real-").tempdir()?;
        Ok(Self {
            bench: Bench::new(root.path(), settings.clone())?,
            root,
            words: words.clone(),
        })
    }

    fn step(&self, name: &str, action: &str, text: Option<&str>) -> Json {
        let mut step = json!({ "name": name, "action": action });
        if let Some(text) = text {
            let text = self
                .words
                .iter()
                .fold(text.to_owned(), |text, (word, value)| text.replace(word, value));
            step["files"] = json!({ "main.tf": text });
        }
        step
    }

    /// A step's facts with the words back in their places.
    fn facts(&self, settings: &Settings, done: Json) -> anyhow::Result<Json> {
        let mut words = super::words(&self.bench, self.root.path(), settings).to_vec();
        words.extend(self.words.iter().map(|(word, value)| (value.clone(), *word)));
        let mut steps = normalise::normalise(vec![done], &words);
        steps.pop().context("a step without facts")
    }
}

impl Rig {
    async fn run_one(
        &self,
        group: &str,
        folder: &Path,
        ours: &Words,
        theirs: &Words,
    ) -> anyhow::Result<Result<(), Miss>> {
        let (ours, theirs) = (
            Side::new(&self.settings, ours)?,
            Side::new(&self.settings, theirs)?,
        );
        let before = folder.join("before/main.tf");
        if before.is_file() {
            // What the servers must know before.
            let side = Side::new(&self.settings, &theirs.words)?;
            let step = side.step("before", "apply", Some(&std::fs::read_to_string(before)?));
            let done = tokio::task::block_in_place(|| self.peer.run(&side.bench, &step, true))?;
            if let Err(miss) = succeeded(&done) {
                return Ok(Err(miss));
            }
        }
        let first = std::fs::read_to_string(folder.join("main.tf"))?;
        let changed = std::fs::read_to_string(folder.join("changed/main.tf"))?;
        let mut unknown = Unknown::default();
        // Texts that were made up on one side or the other, which may stand in others.
        let mut made = BTreeSet::new();
        let steps = [
            ("create", "apply", Some(&*first)),
            ("again", "plan", None),
            ("taken over", "plan", None),
            ("change", "apply", Some(&*changed)),
            ("and again", "plan", None),
            ("destroy", "destroy", None),
            ("gone", "plan", None),
        ];
        let mut before = None;
        for (name, action, text) in steps {
            let states = [&ours, &theirs].map(|side| side.bench.work.join("terraform.tfstate"));
            match name {
                "destroy" => before = Some([std::fs::read(&states[0])?, std::fs::read(&states[1])?]),
                // Are the objects gone of which this state tells?
                "gone" => {
                    for (state, text) in states.iter().zip(before.iter().flatten()) {
                        std::fs::write(state, text)?;
                    }
                }
                _ => {}
            }
            let (one, other) = if name == "taken over" {
                (&theirs, &ours)
            } else {
                (&ours, &theirs)
            };
            let got = one.bench.run(&one.step(name, action, text)).await?;
            let got = got.map_err(|what| anyhow::anyhow!(what))?;
            let step = other.step(name, action, text);
            let is_first = name == "create" || name == "taken over";
            let expected = tokio::task::block_in_place(|| self.peer.run(&other.bench, &step, is_first))?;
            let mut got = one.facts(&self.settings, got)?;
            let mut expected = other.facts(&self.settings, expected)?;
            unknown.add(&expected);
            unknown.mask(&mut got, &mut made);
            unknown.mask(&mut expected, &mut made);
            let words: Vec<(String, &str)> = made.iter().map(|text| (text.clone(), MADE)).collect();
            let facts = [got, expected].map(|facts| normalise::normalise(vec![facts], &words).remove(0));
            let [got, expected] = facts;
            let same = compare::compare(&json!([expected]), std::slice::from_ref(&got));
            let outcome = same.and_then(|()| match name {
                "again" | "and again" | "taken over" => all(&got, &["no-op"]),
                "gone" if group != "offline" => all(&got, &["create"]),
                _ => succeeded(&got),
            });
            if let Err(miss) = outcome {
                return Ok(Err(Miss::new(
                    format!("[{name}] {}", miss.expected),
                    format!("[{name}] {}", miss.got),
                )));
            }
        }
        Ok(Ok(()))
    }
}

/// Every object is planned to be dealt with so.
fn all(step: &Json, actions: &[&str]) -> Result<(), Miss> {
    succeeded(step)?;
    let managed = step["plan"]["resource_changes"]
        .as_array()
        .into_iter()
        .flatten()
        .filter(|change| change["mode"] == "managed");
    let mut some = false;
    for change in managed {
        some = true;
        if change["change"]["actions"] != json!(actions) {
            return Err(Miss::new(format!("{actions:?} of all"), change.to_string()));
        }
    }
    if some {
        Ok(())
    } else {
        Err(Miss::new("some objects", "none"))
    }
}

fn succeeded(step: &Json) -> Result<(), Miss> {
    for phase in ["init", "plan", "apply"] {
        if step[phase]["exit"].as_i64().is_some_and(|exit| exit != 0) {
            return Err(Miss::new(format!("{phase} succeeds"), step[phase].to_string()));
        }
    }
    Ok(())
}

/// What plans told to be unknown, by address.
#[derive(Default)]
struct Unknown(BTreeMap<String, Vec<Json>>);

impl Unknown {
    fn add(&mut self, step: &Json) {
        for change in step["plan"]["resource_changes"].as_array().into_iter().flatten() {
            let address = change["address"].as_str().unwrap_or_default().to_owned();
            let unknown = change["change"]["after_unknown"].clone();
            self.0.entry(address).or_default().push(unknown);
        }
        for (name, change) in step["plan"]["output_changes"].as_object().into_iter().flatten() {
            let unknown = change["after_unknown"].clone();
            self.0.entry(format!("output.{name}")).or_default().push(unknown);
        }
    }

    /// Hides what was unknown, and gathers the texts that are hidden.
    fn mask(&self, step: &mut Json, made: &mut BTreeSet<String>) {
        for list in ["resource_changes", "resource_drift"] {
            for change in array(&mut step["plan"][list]) {
                let address = change["address"].as_str().unwrap_or_default().to_owned();
                self.hide(&address, &mut change["change"]["before"], made);
                self.hide(&address, &mut change["change"]["after"], made);
            }
        }
        for (name, change) in object(&mut step["plan"]["output_changes"]) {
            self.hide(&format!("output.{name}"), &mut change["before"], made);
            self.hide(&format!("output.{name}"), &mut change["after"], made);
        }
        for resource in array(&mut step["state"]["resources"]) {
            let addresses = instance_addresses(resource);
            for (address, instance) in addresses.iter().zip(array(&mut resource["instances"])) {
                self.hide(address, &mut instance["attributes"], made);
            }
        }
        for of in ["state", "apply"] {
            for (name, output) in object(&mut step[of]["outputs"]) {
                self.hide(&format!("output.{name}"), &mut output["value"], made);
            }
        }
        if let Some(fields) = step.as_object_mut() {
            // Indexing above may have made empty members.
            fields.retain(|_, value| !value.is_null() && *value != json!({ "outputs": null }));
        }
    }

    fn hide(&self, address: &str, value: &mut Json, made: &mut BTreeSet<String>) {
        for unknown in self.0.get(address).into_iter().flatten() {
            hide(value, unknown, made);
        }
    }
}

fn hide(value: &mut Json, unknown: &Json, made: &mut BTreeSet<String>) {
    match unknown {
        Json::Bool(true) => {
            gather(value, made);
            if !value.is_null() {
                *value = MADE.into();
            }
        }
        Json::Object(fields) => {
            for (name, unknown) in fields {
                if let Some(part) = value.get_mut(name) {
                    hide(part, unknown, made);
                }
            }
        }
        Json::Array(items) => {
            for (at, unknown) in items.iter().enumerate() {
                if let Some(part) = value.get_mut(at) {
                    hide(part, unknown, made);
                }
            }
        }
        _ => {}
    }
}

/// Texts long enough, and with a digit, to stand for nothing else.
fn gather(value: &Json, made: &mut BTreeSet<String>) {
    match value {
        Json::String(text) if text.len() >= 8 && text.contains(|c: char| c.is_ascii_digit()) => {
            made.insert(text.clone());
        }
        Json::Array(items) => items.iter().for_each(|item| gather(item, made)),
        Json::Object(fields) => fields.values().for_each(|field| gather(field, made)),
        _ => {}
    }
}

fn array(value: &mut Json) -> impl Iterator<Item = &mut Json> {
    value.as_array_mut().into_iter().flatten()
}

fn object(value: &mut Json) -> impl Iterator<Item = (String, &mut Json)> {
    value
        .as_object_mut()
        .into_iter()
        .flat_map(Map::iter_mut)
        .map(|(name, value)| (name.clone(), value))
}
