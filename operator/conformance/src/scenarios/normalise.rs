//! Replaces what differs from run to run, or from machine to machine, by stable words; as the records were.

use std::{collections::BTreeMap, sync::LazyLock};

use regex::Regex;
use serde_json::{Map, Value as Json};

static UUID: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"(?i)\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b").ok()
});

/// Normalises the steps of one scenario; `words` are folders and hosts, longest first.
pub(super) fn normalise(steps: Vec<Json>, words: &[(String, &str)]) -> Vec<Json> {
    let mut names = Names::new(words);
    for step in &steps {
        names.find_deposed(step);
    }
    steps.into_iter().map(|step| names.step(step)).collect()
}

/// Normalises the documents of one scenario, whose lists keep their order.
pub(super) fn documents(documents: Json, words: &[(String, &str)]) -> Json {
    let mut names = Names::new(words);
    names.find_deposed(&documents);
    names.walk(documents)
}

#[derive(Default)]
struct Names {
    words: Vec<(String, String)>,
    deposed: BTreeMap<String, String>,
    uuids: BTreeMap<String, String>,
}

impl Names {
    fn new(words: &[(String, &str)]) -> Self {
        Self {
            words: words
                .iter()
                .map(|(text, word)| (text.clone(), (*word).to_owned()))
                .collect(),
            ..Self::default()
        }
    }

    fn find_deposed(&mut self, value: &Json) {
        match value {
            Json::Object(fields) => {
                for name in ["deposed", "deposed_key"] {
                    if let Some(key) = fields.get(name).and_then(Json::as_str) {
                        let word = format!("<deposed:{}>", self.deposed.len() + 1);
                        self.deposed.entry(key.to_owned()).or_insert(word);
                    }
                }
                fields.values().for_each(|field| self.find_deposed(field));
            }
            Json::Array(items) => items.iter().for_each(|item| self.find_deposed(item)),
            _ => {}
        }
    }

    /// The state comes first, so that ids are numbered in the order of addresses.
    fn step(&mut self, mut step: Json) -> Json {
        let state = step
            .as_object_mut()
            .and_then(|fields| fields.remove("state"))
            .map(|state| self.walk(state));
        let mut done = self.walk(step);
        if let Some(state) = state {
            done["state"] = state;
        }
        for name in ["resource_changes", "resource_drift"] {
            sort(&mut done["plan"][name], |change| {
                format!("{}\u{0}{}", text(&change["address"]), text(&change["deposed"]))
            });
        }
        for resource in done["state"]["resources"].as_array_mut().into_iter().flatten() {
            sort(&mut resource["instances"], |instance| {
                format!(
                    "{}\u{0}{}",
                    text(&instance["index_key"]),
                    text(&instance["deposed"])
                )
            });
        }
        if let Some(fields) = done.as_object_mut() {
            // Indexing above may have made empty members.
            fields.retain(|_, value| !value.is_null() && !is_empty_phase(value));
        }
        done
    }

    fn walk(&mut self, value: Json) -> Json {
        match value {
            Json::String(text) => Json::String(self.text(&text)),
            Json::Array(items) => items.into_iter().map(|item| self.walk(item)).collect(),
            Json::Object(fields) => {
                let mut out = Map::new();
                for (name, field) in fields {
                    let name = self.text(&name);
                    let field = self.walk(field);
                    out.insert(name, field);
                }
                Json::Object(out)
            }
            other => other,
        }
    }

    fn text(&mut self, text: &str) -> String {
        let mut text = text.to_owned();
        for (key, word) in &self.words {
            text = text.replace(key.as_str(), word);
        }
        for (key, word) in &self.deposed {
            text = text.replace(key.as_str(), word);
        }
        // Most texts have none, and need not be looked through.
        if !text.contains('-') {
            return text;
        }
        let Some(pattern) = &*UUID else {
            return text;
        };
        let uuids = &mut self.uuids;
        pattern
            .replace_all(&text, |found: &regex::Captures<'_>| {
                let word = format!("<uuid:{}>", uuids.len() + 1);
                uuids.entry(found[0].to_lowercase()).or_insert(word).clone()
            })
            .into_owned()
    }
}

fn is_empty_phase(value: &Json) -> bool {
    value
        .as_object()
        .is_some_and(|fields| fields.values().all(Json::is_null) && !fields.is_empty())
}

fn text(value: &Json) -> String {
    match value {
        Json::Null => String::new(),
        Json::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn sort(list: &mut Json, key: impl Fn(&Json) -> String) {
    if let Some(items) = list.as_array_mut() {
        items.sort_by_cached_key(|item| key(item));
    }
}
