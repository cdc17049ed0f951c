//! Reads arguments of a provisioner, which were brought to their types already.

use ashlar_value::{Data, Value};

/// A text; none if it is null.
pub(crate) fn text(block: &Value, name: &str) -> Option<String> {
    Some(block.attr(name)?.as_str()?.to_string())
}

/// A truth; false if it is null.
pub(crate) fn flag(block: &Value, name: &str) -> bool {
    block.attr(name).and_then(|value| value.as_bool()) == Some(true)
}

/// The texts of a list that are not null.
pub(crate) fn texts(block: &Value, name: &str) -> Vec<String> {
    let Some(value) = block.attr(name) else {
        return Vec::new();
    };
    match value.data() {
        Data::List(_, items) => items
            .iter()
            .filter_map(|item| item.as_str().map(|text| text.to_string()))
            .collect(),
        _ => Vec::new(),
    }
}

/// All texts of a list, of which each has to say something.
pub(crate) fn all_texts(block: &Value, name: &str) -> Result<Vec<String>, String> {
    let Some(Data::List(_, items)) = block.attr(name).map(|value| value.data().clone()) else {
        return Ok(Vec::new());
    };
    let text = |(at, item): (usize, &Value)| match item.as_str() {
        None => Err(format!("{name}[{at}] is null, and must be a text.")),
        Some(text) if text.is_empty() => Err(format!("{name}[{at}] must not be empty.")),
        Some(text) => Ok(text.to_string()),
    };
    items.iter().enumerate().map(text).collect()
}

/// The entries of a map that are not null.
pub(crate) fn pairs(block: &Value, name: &str) -> Vec<(String, String)> {
    let Some(value) = block.attr(name) else {
        return Vec::new();
    };
    match value.data() {
        Data::Map(_, entries) => entries
            .iter()
            .filter_map(|(name, value)| Some((name.to_string(), value.as_str()?.to_string())))
            .collect(),
        _ => Vec::new(),
    }
}
