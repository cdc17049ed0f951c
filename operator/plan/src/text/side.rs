//! The two states of a part, and the parts of a state.

use std::{collections::BTreeSet, sync::Arc};

use ashlar_value::{Marks, Type, Value};

use super::ink::Sign;

/// One state of a part; `None` where there is nothing.
pub(super) type Side<'v> = Option<&'v Value>;

/// The sign before anything inside was looked at.
pub(super) fn whole(before: Side<'_>, after: Side<'_>) -> Sign {
    match (before, after) {
        (None, Some(_)) => Sign::Add,
        (Some(_), None) => Sign::Remove,
        _ => Sign::Same,
    }
}

pub(super) fn whole_or_change(before: Side<'_>, after: Side<'_>) -> Sign {
    Sign::Change.with(whole(before, after))
}

pub(super) fn present(side: Side<'_>) -> Side<'_> {
    side.filter(|value| !value.is_null())
}

pub(super) fn entry<'v>(side: Side<'v>, name: &str) -> Side<'v> {
    side?.as_entries()?.get(name)
}

pub(super) fn part<'v>(side: Side<'v>, name: &str) -> Side<'v> {
    present(entry(side, name))
}

pub(super) fn items(side: Side<'_>) -> &[Value] {
    side.and_then(Value::as_items).unwrap_or_default()
}

/// Of blocks of which there are none, nothing is there.
pub(super) fn filled(side: Side<'_>) -> Side<'_> {
    side.filter(|value| {
        let items = value.as_items().is_some_and(<[Value]>::is_empty);
        let entries = value.as_entries().is_some_and(|entries| entries.is_empty());
        !items && !entries
    })
}

pub(super) fn names(before: Side<'_>, after: Side<'_>) -> BTreeSet<Arc<str>> {
    let both = [before, after]
        .into_iter()
        .flatten()
        .filter_map(Value::as_entries);
    both.flat_map(|entries| entries.keys().cloned()).collect()
}

/// The members of two sets, equal ones together, in the order of sets.
pub(super) fn merge<'v>(before: Side<'v>, after: Side<'v>) -> Vec<(Side<'v>, Side<'v>)> {
    let (mut old, mut new) = (items(before).iter().peekable(), items(after).iter().peekable());
    // The union is sorted as both are, so one pass through the three of them finds the equal ones.
    let union = Value::set(
        Type::Dynamic,
        items(before).iter().chain(items(after)).cloned().collect(),
    );
    let mut merged = Vec::new();
    for member in items(Some(&union)) {
        let pair = (
            old.next_if(|item| *item == member),
            new.next_if(|item| *item == member),
        );
        if pair != (None, None) {
            merged.push(pair);
        }
    }
    merged.extend(old.map(|item| (Some(item), None)));
    merged.extend(new.map(|item| (None, Some(item))));
    merged
}

pub(super) fn same_content(a: &Value, b: &Value) -> bool {
    let plain = |value: &Value| value.clone().map_marks(&mut |_| Marks::NONE);
    plain(a) == plain(b)
}
