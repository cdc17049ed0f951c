//! Keeps secrets of a run out of what its plugins log, and out of what is told of it.

use std::{
    collections::HashSet,
    ffi::OsString,
    ops::Range,
    sync::{Arc, Mutex, PoisonError},
};

use aho_corasick::AhoCorasick;
use ashlar_provider::{Listener, Redactor};
use ashlar_state::{Object, State};
use ashlar_value::{Data, Mark, PathStep, Value};
use serde_json::Value as Json;

/// What stands in their place.
const REDACTED: &str = "(sensitive value)";
/// Shorter texts are not looked for: they would blank out half of every line.
const SHORTEST: usize = 4;

/// What takes the secrets of a run out of texts, and what tells it of more of them as they arise.
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

/// The texts that are looked for. Many are learned on the way, and much is told in between, so what is searched by is built
/// anew for few texts at a time: the sets that it is built for at least double in size from last to first.
#[derive(Default)]
struct Secrets {
    seen: HashSet<String>,
    /// Not searched for yet.
    fresh: Vec<String>,
    sets: Vec<Set>,
}

struct Set {
    texts: Vec<String>,
    /// Nothing if it could not be built.
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
    let known = Arc::new(Mutex::new(Secrets::default()));
    known.lock().unwrap_or_else(PoisonError::into_inner).add(texts);
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
            learned.lock().unwrap_or_else(PoisonError::into_inner).add(found);
        }),
    }
}

impl Secrets {
    /// One of several lines is told line by line.
    fn add(&mut self, texts: Vec<String>) {
        for text in texts {
            if text.contains('\n') {
                for line in text.lines() {
                    self.add_one(line.trim());
                }
            }
            self.add_one(&text);
        }
    }

    fn add_one(&mut self, text: &str) {
        if text.len() >= SHORTEST && !self.seen.contains(text) {
            self.seen.insert(text.to_owned());
            self.fresh.push(text.to_owned());
        }
    }

    fn build(&mut self) {
        let mut texts = std::mem::take(&mut self.fresh);
        if texts.is_empty() {
            return;
        }
        while let Some(last) = self.sets.pop_if(|last| last.texts.len() < 2 * texts.len()) {
            texts.extend(last.texts);
        }
        let search = AhoCorasick::new(&texts).ok();
        self.sets.push(Set { texts, search });
    }

    /// The text without all that any secret has part in: one may hold another, or overlap with it.
    fn replaced(&mut self, text: &str) -> String {
        self.build();
        let mut spans: Vec<Range<usize>> = Vec::new();
        for set in &self.sets {
            // Too many to look for: then nothing is told.
            let Some(search) = &set.search else {
                return REDACTED.to_owned();
            };
            // Their ends never go back. What overlaps is one from the beginning, or hostile texts would fill the memory.
            let first = spans.len();
            for found in search.find_overlapping_iter(text) {
                let mut span = found.range();
                while let Some(last) = spans
                    .get(first..)
                    .and_then(<[_]>::last)
                    .filter(|last| last.end > span.start)
                {
                    span.start = span.start.min(last.start);
                    spans.pop();
                }
                spans.push(span);
            }
        }
        spans.sort_by_key(|span| span.start);
        let (mut told, mut at) = (String::new(), 0);
        for span in spans {
            if span.start >= at {
                told.push_str(text.get(at..span.start).unwrap_or_default());
                told.push_str(REDACTED);
            }
            at = at.max(span.end);
        }
        told.push_str(text.get(at..).unwrap_or_default());
        told
    }
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

    #[test]
    fn what_is_learned_on_the_way_is_replaced_whole_beside_what_was_known() {
        let redact = redactor([], &State::default(), &[("A".into(), "north".into())]);
        let null = Value::null(Type::Dynamic);
        // One that holds a known one, and one that overlaps with it.
        for text in ["x-north-y", "-y-and-z"] {
            assert!((redact.redact)(text).contains(text.split('-').next_back().unwrap()));
            (redact.secrets)(&null, &Value::string(text));
        }
        assert_eq!((redact.redact)("at x-north-y-and-z."), "at (sensitive value).");
        for number in 0..1000 {
            (redact.secrets)(&null, &Value::string(format!("secret {number:04}")));
            let told = (redact.redact)(&format!("north, secret {number:04}, secret 0000"));
            assert_eq!(told, "(sensitive value), (sensitive value), (sensitive value)");
        }
    }
}
