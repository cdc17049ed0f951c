//! The members of a set: distinct, and in cty's order, which users see.
//!
//! Known members first, then unknown ones, then null. Strings by bytes, numbers by value, false before true; anything
//! else by the bytes of a text that writes numbers with ten significant digits, strings as Go quotes them, attributes by
//! name. Source: cty `set_internals.go`.

use std::{cmp::Ordering, collections::HashSet, fmt::Write};

use crate::{Data, Marks, Value};

use super::equal::same_member;

/// The distinct elements in cty's set order, unmarked, and the marks they had. Of equal ones the first is kept.
pub(crate) fn set_elements(items: Vec<Value>) -> (Vec<Value>, Marks) {
    let mut marks = Marks::NONE;
    let mut known = Vec::with_capacity(items.len());
    let mut unknown = Vec::new();
    let mut null = None;
    for item in items {
        let (item, its_marks) = item.unmark_deep();
        marks = marks.union(its_marks);
        match item.data() {
            Data::Unknown(..) => unknown.push(item),
            Data::Null(_) => null = null.or(Some(item)),
            _ => known.push(item),
        }
    }
    let mut members = match known.first().map(Value::data) {
        Some(Data::Bool(_) | Data::String(_) | Data::Number(_)) => distinct_primitives(known),
        _ => distinct_compounds(known),
    };
    members.append(&mut unknown);
    members.extend(null);
    (members, marks)
}

fn distinct_primitives(mut members: Vec<Value>) -> Vec<Value> {
    // Fractions are equal by text, and the order by value may put another between two equal ones.
    let mut seen = HashSet::new();
    members.retain(|member| match member.data() {
        Data::Number(number) if !number.is_integer() => seen.insert(number.equality_key()),
        _ => true,
    });
    members.sort_by(compare_primitives);
    members.dedup_by(|later, first| same_member(later, first));
    members
}

/// The sort is stable, so that of equal numbers of different precision the first given comes first.
fn compare_primitives(a: &Value, b: &Value) -> Ordering {
    match (a.data(), b.data()) {
        (Data::Bool(a), Data::Bool(b)) => a.cmp(b),
        (Data::String(a), Data::String(b)) => a.cmp(b),
        (Data::Number(a), Data::Number(b)) => {
            // Minus zero is a member of its own; where it stands follows from CRC-32 of "-0" and "0" in cty.
            a.compare(b)
                .then_with(|| b.is_negative_zero().cmp(&a.is_negative_zero()))
        }
        _ => Ordering::Equal,
    }
}

fn distinct_compounds(members: Vec<Value>) -> Vec<Value> {
    let mut keyed: Vec<(String, Value)> = members
        .into_iter()
        .map(|member| {
            let mut key = String::new();
            write_key(&member, Digits::Ten, &mut key);
            (key, member)
        })
        .collect();
    keyed.sort_by(|(a, _), (b, _)| a.cmp(b));
    let mut distinct: Vec<Value> = Vec::with_capacity(keyed.len());
    let mut keyed = keyed.into_iter().peekable();
    while let Some((key, first)) = keyed.next() {
        if keyed.peek().is_none_or(|(next, _)| *next != key) {
            distinct.push(first);
            continue;
        }
        let mut seen = HashSet::new();
        let mut keep = |member: Value| {
            // With something unknown inside, a member is equal to no other.
            if !member.is_wholly_known() || seen.insert(exact_key(&member)) {
                distinct.push(member);
            }
        };
        keep(first);
        while let Some((_, member)) = keyed.next_if(|(next, _)| *next == key) {
            keep(member);
        }
    }
    distinct
}

/// How numbers are written in a key.
#[derive(Clone, Copy)]
enum Digits {
    /// Rounded to ten significant digits, as cty's order has it.
    Ten,
    /// So that equal keys mean equal numbers.
    All,
}

fn exact_key(member: &Value) -> String {
    let mut key = String::new();
    write_key(member, Digits::All, &mut key);
    key
}

fn write_key(value: &Value, digits: Digits, key: &mut String) {
    match value.data() {
        Data::Unknown(..) => key.push('?'),
        Data::Null(_) => key.push('~'),
        Data::Bool(truth) => key.push(if *truth { 'T' } else { 'F' }),
        Data::Number(number) => match digits {
            Digits::Ten => key.push_str(&number.to_general(10)),
            Digits::All => key.push_str(&number.equality_key()),
        },
        Data::String(text) => write_quoted(text, key),
        Data::Map(_, entries) => {
            key.push('{');
            for (name, item) in entries.iter() {
                write_quoted(name, key);
                key.push(':');
                write_key(item, digits, key);
                key.push(';');
            }
            key.push('}');
        }
        Data::List(_, items) | Data::Set(_, items) => write_items(items.iter(), ['[', ']'], digits, key),
        Data::Tuple(items) => write_items(items.iter(), ['<', '>'], digits, key),
        Data::Object(attrs) => write_items(attrs.values(), ['<', '>'], digits, key),
    }
}

fn write_items<'a>(
    items: impl Iterator<Item = &'a Value>,
    [open, close]: [char; 2],
    digits: Digits,
    key: &mut String,
) {
    key.push(open);
    for item in items {
        write_key(item, digits, key);
        key.push(';');
    }
    key.push(close);
}

/// As Go's `%q` quotes text.
fn write_quoted(text: &str, key: &mut String) {
    key.push('"');
    for c in text.chars() {
        match c {
            '"' => key.push_str("\\\""),
            '\\' => key.push_str("\\\\"),
            '\x07' => key.push_str("\\a"),
            '\x08' => key.push_str("\\b"),
            '\x0c' => key.push_str("\\f"),
            '\n' => key.push_str("\\n"),
            '\r' => key.push_str("\\r"),
            '\t' => key.push_str("\\t"),
            '\x0b' => key.push_str("\\v"),
            ' '..='~' => key.push(c),
            c if c < ' ' || c == '\x7f' => write_escape(key, 'x', 2, c),
            c if is_printable(c) => key.push(c),
            c if c < '\u{10000}' => write_escape(key, 'u', 4, c),
            c => write_escape(key, 'U', 8, c),
        }
    }
    key.push('"');
}

fn write_escape(key: &mut String, kind: char, width: usize, c: char) {
    // Writing to a String cannot fail.
    let _ = write!(key, "\\{kind}{:0width$x}", u32::from(c));
}

/// Letters, marks, numbers, punctuation and symbols, which Rust's debug form leaves as they are too. Combining marks it
/// escapes only at the beginning of a text, so the character is asked about behind another.
fn is_printable(c: char) -> bool {
    let mut text = [0; 5];
    text[0] = b'a';
    let length = c.encode_utf8(&mut text[1..]).len();
    std::str::from_utf8(&text[..=length]).is_ok_and(|text| text.escape_debug().nth(1) == Some(c))
}
