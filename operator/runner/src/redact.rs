//! Keeps secrets of a run out of what its plugins log, and out of what is told of it.

use std::{
    ffi::OsString,
    sync::{Arc, Mutex, PoisonError},
};

use aho_corasick::{AhoCorasick, MatchKind};
use ashlar_provider::{Listener, Redactor};
use ashlar_state::{Object, State};
use ashlar_value::{Data, Mark, PathStep, Value};
use serde_json::Value as Json;

/// What stands in their place.
const REDACTED: &str = "(sensitive value)";
/// Shorter texts are not looked for: they would blank out half of every line.
const SHORTEST: usize = 4;

/// What takes the secrets of a run out of texts, and what tells it of more of them as ephemeral resources are opened.
#[derive(Clone)]
pub(crate) struct Redaction {
    pub(crate) redact: Redactor,
    pub(crate) secrets: Listener,
}

impl Redaction {
    /// For runs that know no secrets: nothing is taken out.
    pub(crate) fn none() -> Self {
        Self {
            redact: Arc::new(str::to_owned),
            secrets: Arc::new(|_, _| {}),
        }
    }
}

/// The texts that are looked for.
struct Secrets {
    texts: Vec<String>,
    /// Built when something is told for the first time, which is seldom.
    search: Option<AhoCorasick>,
}

/// A redactor that replaces every sensitive text among the values and in the state, and every value of the run's
/// environment.
pub(crate) fn redactor<'a>(
    values: impl IntoIterator<Item = &'a Value>,
    state: &State,
    env: &[(OsString, OsString)],
) -> Redaction {
    let mut texts: Vec<String> = Vec::new();
    for value in values {
        collect(value, false, &mut texts);
    }
    for output in state.outputs.values() {
        collect(&output.value, output.sensitive, &mut texts);
    }
    for (_, _, object) in state.objects() {
        collect_object(object, &mut texts);
    }
    texts.extend(
        env.iter()
            .filter_map(|(_, value)| value.to_str().map(str::to_owned)),
    );
    let known = Arc::new(Mutex::new(Secrets {
        texts: looked_for(texts),
        search: None,
    }));
    let learned = known.clone();
    Redaction {
        redact: Arc::new(move |text: &str| {
            known
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .replaced(text)
        }),
        secrets: Arc::new(move |config: &Value, result: &Value| {
            // What is configured is not secret for being handed back.
            let (mut given, mut found) = (Vec::new(), Vec::new());
            collect(config, true, &mut given);
            collect(result, true, &mut found);
            found.retain(|text| !given.contains(text));
            let mut learned = learned.lock().unwrap_or_else(PoisonError::into_inner);
            let texts = std::mem::take(&mut learned.texts);
            learned.texts = looked_for(texts.into_iter().chain(found).collect());
            learned.search = None;
        }),
    }
}

impl Secrets {
    fn replaced(&mut self, text: &str) -> String {
        if self.search.is_none() {
            // A secret that holds another is replaced whole.
            let kind = MatchKind::LeftmostLongest;
            self.search = AhoCorasick::builder().match_kind(kind).build(&self.texts).ok();
        }
        match &self.search {
            Some(search) => search.replace_all(text, &vec![REDACTED; search.patterns_len()]),
            // Too many to look for: then nothing is told.
            None => REDACTED.to_owned(),
        }
    }
}

/// The texts of some secrets that are looked for. One of several lines is told line by line.
fn looked_for(mut texts: Vec<String>) -> Vec<String> {
    let lines: Vec<String> = texts
        .iter()
        .filter(|text| text.contains('\n'))
        .flat_map(|text| text.lines().map(|line| line.trim().to_owned()))
        .collect();
    texts.extend(lines);
    texts.retain(|text| text.len() >= SHORTEST);
    texts.sort();
    texts.dedup();
    texts
}

fn collect(value: &Value, sensitive: bool, secrets: &mut Vec<String>) {
    let sensitive =
        sensitive || value.marks().contains(Mark::Sensitive) || value.marks().contains(Mark::Ephemeral);
    match value.data() {
        Data::String(text) if sensitive => secrets.push(text.to_string()),
        Data::Number(number) if sensitive => secrets.push(number.to_string()),
        Data::List(_, items) | Data::Set(_, items) | Data::Tuple(items) => {
            items.iter().for_each(|item| collect(item, sensitive, secrets));
        }
        Data::Map(_, entries) | Data::Object(entries) => {
            entries
                .values()
                .for_each(|entry| collect(entry, sensitive, secrets));
        }
        _ => {}
    }
}

/// The sensitive parts of an object, as the state has it.
fn collect_object(object: &Object, secrets: &mut Vec<String>) {
    if object.sensitive.is_empty() {
        return;
    }
    let Ok(attributes) = serde_json::from_slice::<Json>(&object.attributes) else {
        return;
    };
    for path in &object.sensitive {
        let found = path.0.iter().try_fold(&attributes, |json, step| match step {
            PathStep::Attr(name) => json.get(&**name),
            PathStep::Index(key) => match key.data() {
                Data::String(name) => json.get(&**name),
                Data::Number(number) => json.get(number.to_string().parse::<usize>().ok()?),
                _ => None,
            },
        });
        if let Some(found) = found {
            collect_json(found, secrets);
        }
    }
}

fn collect_json(json: &Json, secrets: &mut Vec<String>) {
    match json {
        Json::String(text) => secrets.push(text.clone()),
        Json::Number(number) => secrets.push(number.to_string()),
        Json::Array(items) => items.iter().for_each(|item| collect_json(item, secrets)),
        Json::Object(members) => members.values().for_each(|member| collect_json(member, secrets)),
        Json::Null | Json::Bool(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use ashlar_value::{Marks, Type};

    use super::*;

    #[test]
    fn sensitive_texts_and_environment_are_replaced() {
        let secret = Value::list(Type::String, vec![Value::string("hunter22")]).with_marks(Marks::SENSITIVE);
        let text = br#"{"version":4,"serial":1,"lineage":"l","outputs":{},"resources":[{"mode":"managed","type":"a","name":"b",
            "provider":"provider[\"registry.terraform.io/hashicorp/a\"]","instances":[{"schema_version":0,
            "attributes":{"keys":[{"pem":"BEGIN\nsecret line\nEND"}],"open":"public2"},
            "sensitive_attributes":[[{"type":"get_attr","value":"keys"},
                {"type":"index","value":{"value":0,"type":"number"}},{"type":"get_attr","value":"pem"}]]}]}]}"#;
        let state = ashlar_state::read(text).unwrap();
        let redact = redactor(
            [&secret, &Value::string("public")],
            &state,
            &[("TOKEN".into(), "abcdef".into())],
        );
        assert_eq!(
            (redact.redact)("hunter22 public public2 abcdef: secret line."),
            "(sensitive value) public public2 (sensitive value): (sensitive value)."
        );
    }

    #[test]
    fn what_an_ephemeral_resource_gave_is_replaced_from_then_on() {
        let redact = redactor([], &State::default(), &[]);
        assert_eq!((redact.redact)("at north: token-1"), "at north: token-1");
        let object = |token: Value| {
            Value::object(vec![
                (Arc::from("place"), Value::string("north")),
                (Arc::from("token"), token),
            ])
        };
        (redact.secrets)(
            &object(Value::null(Type::String)),
            &object(Value::string("token-1")),
        );
        assert_eq!(
            (redact.redact)("at north: token-1"),
            "at north: (sensitive value)"
        );
    }
}
