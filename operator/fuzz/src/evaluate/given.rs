//! The names that expressions refer to: each with a known value, one that it could be as well, and what may be known of it
//! beforehand.

use ashlar_value::{Bound, Data, Number, Refinement, Type, Value, ops};
use std::sync::Arc;

use super::{MARK, choices::Choices};

/// All names, a kind of value each.
pub(crate) const NAMES: [&str; 9] = ["s", "n", "b", "ls", "ln", "ss", "ms", "o", "t"];

/// One name.
#[derive(Debug)]
struct One {
    name: &'static str,
    value: Value,
    other: Value,
    unknown: Option<Value>,
    sensitive: bool,
}

/// What is given to one expression.
#[derive(Debug)]
pub(crate) struct Given(Vec<One>);

impl Given {
    pub(crate) fn make(choices: &mut Choices<'_>) -> Self {
        let one = |name| {
            let (value, other) = (value(name, choices), value(name, choices));
            let unknown = choices.flip().then(|| before(&value, choices));
            let sensitive = choices.flip();
            One {
                name,
                value,
                other,
                unknown,
                sensitive,
            }
        };
        Self(NAMES.into_iter().map(one).collect())
    }

    /// All known.
    pub(crate) fn known(&self) -> Vec<(&'static str, Value)> {
        self.0.iter().map(|one| (one.name, one.value.clone())).collect()
    }

    /// Some unknown, wholly or in part.
    pub(crate) fn unknown(&self) -> Vec<(&'static str, Value)> {
        let value = |one: &One| one.unknown.clone().unwrap_or_else(|| one.value.clone());
        self.0.iter().map(|one| (one.name, value(one))).collect()
    }

    /// All known, one of another value.
    pub(crate) fn changed(&self, name: &str) -> Vec<(&'static str, Value)> {
        let value = |one: &One| if one.name == name { &one.other } else { &one.value }.clone();
        self.0.iter().map(|one| (one.name, value(one))).collect()
    }

    /// These values, some of them marked.
    pub(crate) fn sensitive(&self, values: Vec<(&'static str, Value)>) -> Vec<(&'static str, Value)> {
        let mark = |(name, value): (&'static str, Value)| {
            let value = if self.is_sensitive(name) {
                value.with_marks(MARK)
            } else {
                value
            };
            (name, value)
        };
        values.into_iter().map(mark).collect()
    }

    /// Is there one of which not even the type is known beforehand?
    pub(crate) fn has_open_types(&self) -> bool {
        self.0
            .iter()
            .any(|one| one.unknown.as_ref().is_some_and(|value| value.ty().has_dynamic()))
    }

    pub(crate) fn is_sensitive(&self, name: &str) -> bool {
        self.0.iter().any(|one| one.name == name && one.sensitive)
    }
}

const TEXTS: [&str; 12] = [
    "",
    "a",
    "b",
    "ab",
    "A b",
    "1",
    "-2.5",
    "true",
    "a,b,,c",
    "ä\u{301}x",
    "10.0.0.0/8",
    "%s ${x}",
];
const NUMBERS: [&str; 10] = [
    "0",
    "1",
    "2",
    "-1",
    "3",
    "0.5",
    "10",
    "-2.5",
    "1e30",
    "12345678901234567890",
];

fn text(choices: &mut Choices<'_>) -> Value {
    Value::string(choices.one(&TEXTS))
}

fn number(choices: &mut Choices<'_>) -> Value {
    Number::parse(choices.one(&NUMBERS)).map_or_else(|| Value::number(7), Value::number)
}

fn some<T>(choices: &mut Choices<'_>, make: fn(&mut Choices<'_>) -> T) -> Vec<T> {
    (0..choices.below(4)).map(|_| make(choices)).collect()
}

fn value(name: &str, choices: &mut Choices<'_>) -> Value {
    match name {
        "s" => text(choices),
        "n" => number(choices),
        "b" => Value::bool(choices.flip()),
        "ls" => Value::list(Type::String, some(choices, text)),
        "ln" => Value::list(Type::Number, some(choices, number)),
        "ss" => Value::set(Type::String, some(choices, text)),
        "ms" => Value::map(
            Type::String,
            some(choices, |choices| {
                (choices.one(&["a", "b", "c d"]), text(choices))
            }),
        ),
        "o" => Value::object([
            ("a", text(choices)),
            ("b", number(choices)),
            ("c", Value::list(Type::String, some(choices, text))),
        ]),
        _ => Value::tuple(vec![text(choices), number(choices), Value::bool(choices.flip())]),
    }
}

/// What could be said of the value before it is known.
fn before(value: &Value, choices: &mut Choices<'_>) -> Value {
    let ty = value.ty();
    match choices.below(4) {
        0 => Value::unknown(ty),
        1 => Value::dynamic(),
        2 => ops::unknown_refined(ty, refinement(value, choices)),
        _ => in_part(value, choices),
    }
}

fn refinement(value: &Value, choices: &mut Choices<'_>) -> Refinement {
    let mut known = Refinement::not_null();
    match value.data() {
        Data::String(text) => {
            let end = (0..=choices.below(4))
                .filter(|at| text.is_char_boundary(*at))
                .max();
            known.prefix = end
                .and_then(|end| text.get(..end))
                .filter(|text| !text.is_empty())
                .map(Arc::from);
        }
        Data::Number(number) => {
            let bound = || Bound {
                value: number.clone(),
                inclusive: true,
            };
            known.min = choices.flip().then(bound);
            known.max = choices.flip().then(bound);
        }
        Data::List(_, items) | Data::Set(_, items) => lengths(items.len(), &mut known, choices),
        Data::Map(_, entries) => lengths(entries.len(), &mut known, choices),
        _ => {}
    }
    known
}

fn lengths(length: usize, known: &mut Refinement, choices: &mut Choices<'_>) {
    let length = length as u64;
    known.length_min = choices
        .flip()
        .then(|| length.saturating_sub(choices.below(2) as u64));
    known.length_max = choices.flip().then(|| length + choices.below(2) as u64);
}

/// The value with some unknown parts.
fn in_part(value: &Value, choices: &mut Choices<'_>) -> Value {
    let mut part = |value: &Value| {
        if choices.flip() {
            Value::unknown(value.ty())
        } else {
            value.clone()
        }
    };
    match value.data() {
        Data::List(element, items) => Value::list(element.clone(), items.iter().map(part).collect()),
        Data::Set(element, items) => Value::set(element.clone(), items.iter().map(part).collect()),
        Data::Map(element, entries) => Value::map(
            element.clone(),
            entries.iter().map(|(key, value)| (key, part(value))),
        ),
        Data::Tuple(items) => Value::tuple(items.iter().map(part).collect()),
        Data::Object(attrs) => Value::object(attrs.iter().map(|(name, value)| (name.clone(), part(value)))),
        _ => part(value),
    }
}
