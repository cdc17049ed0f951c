//! Bools, numbers, text and null, side by side.
//!
//! Text that holds JSON is compared as what it holds, text of several lines by line. Control characters never come out
//! as they are: what a provider says must not steer the terminal on which a plan is approved.

use std::sync::Arc;

use ashlar_eval::quote;
use ashlar_value::{Data, Value, json};

use super::{
    diff::{Body, Diff},
    ink::Sign,
    place::Place,
    side::Side,
};

/// The sign and the content. Neither side may be sensitive. `depth` is that of the value within what is compared.
pub(super) fn compare(before: Side<'_>, after: Side<'_>, depth: usize) -> (Sign, Body) {
    let sign = match (before, after) {
        (None, None) => Sign::Same,
        (None, Some(_)) => Sign::Add,
        (Some(_), None) => Sign::Remove,
        (Some(a), Some(b)) if a == b || (a.is_null() && b.is_null()) => Sign::Same,
        (Some(_), Some(_)) => Sign::Change,
    };
    let texts = (before.map(Value::as_str), after.map(Value::as_str));
    let body = match texts {
        (Some(None), _) | (_, Some(None)) => in_line(before, after),
        (old, new) => match held_json(old.flatten(), new.flatten(), depth + 1) {
            Some(diff) => Body::Json(Box::new(diff)),
            None => text(before, after, old.flatten(), new.flatten()),
        },
    };
    (sign, body)
}

fn in_line(before: Side<'_>, after: Side<'_>) -> Body {
    Body::Scalar {
        before: before.map(inline),
        after: after.map(inline),
    }
}

fn text(before: Side<'_>, after: Side<'_>, old: Option<&Arc<str>>, new: Option<&Arc<str>>) -> Body {
    let texts = || [old, new].into_iter().flatten();
    if texts().any(|text| text.trim_end_matches('\n').contains('\n'))
        && texts().all(|text| is_printable(text))
    {
        return Body::Lines {
            before: old.cloned(),
            after: new.cloned(),
        };
    }
    in_line(before, after)
}

/// The difference of what the texts hold, if each that is there holds a JSON object or array.
fn held_json(old: Option<&Arc<str>>, new: Option<&Arc<str>>, depth: usize) -> Option<Diff> {
    let read = |text: &Arc<str>| {
        let is_compound = text.starts_with(['{', '[']);
        is_compound
            .then(|| json::decode_implied(text.as_bytes()).ok())
            .flatten()
    };
    let read_side = |side: Option<&Arc<str>>| match side {
        None => Some(None),
        Some(text) => read(text).map(Some),
    };
    let old = read_side(old)?;
    let new = read_side(new)?;
    Some(Place::free(depth).plain(old.as_ref(), new.as_ref()))
}

/// Can it be shown line by line as it is?
fn is_printable(text: &str) -> bool {
    text.chars().all(|c| c == '\n' || c == '\t' || !is_steering(c))
}

/// Control characters, and those that turn the direction of writing.
fn is_steering(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{2028}' | '\u{2029}')
}

/// A single value on one line.
fn inline(value: &Value) -> String {
    match value.data() {
        Data::Bool(value) => value.to_string(),
        Data::Number(number) => number.to_string(),
        Data::String(text) => quote(text),
        Data::Null(_) => "null".to_owned(),
        // Compounds never come here; were one to, nothing is better than a guess.
        _ => "(known after apply)".to_owned(),
    }
}
