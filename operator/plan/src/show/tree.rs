//! Values as JSON: what is known of them, where they are unknown, where they are sensitive.
//!
//! The values come out in clear. Source: Terraform `omitUnknowns`, `unknownAsBool`, `SensitiveAsBool`.

use std::collections::BTreeMap;

use ashlar_value::{Data, Mark, Number, Path, PathStep, Type, Value};
use serde_json::{Map, Value as Json};

/// What is known: unknown attributes are left out, unknown elements of sequences are null. `None` if nothing is known.
/// Numbers keep every digit; an infinite one, which JSON cannot hold, is null.
pub(super) fn known(value: &Value) -> Option<Json> {
    Some(match value.data() {
        Data::Unknown(..) => return None,
        Data::Null(_) => Json::Null,
        Data::Bool(value) => Json::Bool(*value),
        Data::Number(value) => number(value),
        Data::String(text) => Json::String(text.to_string()),
        Data::List(_, items) | Data::Set(_, items) | Data::Tuple(items) => items
            .iter()
            .map(|item| known(item).unwrap_or(Json::Null))
            .collect(),
        Data::Map(_, entries) | Data::Object(entries) => {
            let entries = entries
                .iter()
                .filter_map(|(name, item)| Some((name.to_string(), known(item)?)));
            Json::Object(entries.collect())
        }
    })
}

/// The attributes of an object; none where there are no known ones.
pub(super) fn attributes(value: &Value) -> Option<Json> {
    known(value).filter(|known| known.as_object().is_some_and(|members| !members.is_empty()))
}

fn number(number: &Number) -> Json {
    let digits: Result<serde_json::Number, _> = number.to_string().parse();
    digits.map_or(Json::Null, Json::Number)
}

/// `true` where unknown; in sequences `false` where known, of attributes only those with something unknown inside, or
/// compound ones.
pub(super) fn unknown(value: &Value) -> Json {
    match value.data() {
        Data::Unknown(..) => Json::Bool(true),
        Data::Null(_) | Data::Bool(_) | Data::Number(_) | Data::String(_) => Json::Bool(false),
        Data::List(_, items) | Data::Set(_, items) | Data::Tuple(items) => {
            items.iter().map(unknown).collect()
        }
        Data::Map(_, entries) | Data::Object(entries) => without_false(entries, unknown),
    }
}

/// `true` where sensitive, in the shape of [`unknown`]. An unknown collection has the shape of an empty one.
pub(super) fn sensitive(value: &Value) -> Json {
    if value.marks().contains(Mark::Sensitive) {
        return Json::Bool(true);
    }
    match value.data() {
        Data::Unknown(Type::List(_) | Type::Set(_) | Type::Tuple(_), _) => Json::Array(Vec::new()),
        Data::Unknown(Type::Map(_) | Type::Object(_), _) => Json::Object(Map::new()),
        Data::Unknown(..) | Data::Null(_) | Data::Bool(_) | Data::Number(_) | Data::String(_) => {
            Json::Bool(false)
        }
        Data::List(_, items) | Data::Set(_, items) | Data::Tuple(items) => {
            items.iter().map(sensitive).collect()
        }
        Data::Map(_, entries) | Data::Object(entries) => without_false(entries, sensitive),
    }
}

fn without_false(entries: &BTreeMap<std::sync::Arc<str>, Value>, tree: fn(&Value) -> Json) -> Json {
    let entries = entries.iter().map(|(name, item)| (name.to_string(), tree(item)));
    Json::Object(entries.filter(|(_, item)| *item != Json::Bool(false)).collect())
}

/// The steps of a path: names and keys as strings, positions as numbers.
pub(super) fn path(path: &Path) -> Json {
    let step = |step: &PathStep| match step {
        PathStep::Attr(name) => Json::String(name.to_string()),
        PathStep::Index(key) => known(key).unwrap_or(Json::Null),
    };
    path.0.iter().map(step).collect()
}
