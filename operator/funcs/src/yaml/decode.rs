//! One YAML document as a value: mappings as objects, sequences as tuples, aliases and merge keys followed.
//!
//! Aliases share what they stand for, but types and later copies do not, so the whole is limited in size and depth.

use std::{collections::HashMap, sync::Arc};

use ashlar_value::{Type, Value, convert};
use saphyr_parser::{Event, Parser, ScalarStyle, Tag};

use super::scalar::{self, Scalar};

/// Collections within collections at most.
const DEEPEST: usize = 512;

/// Values in a document at most, aliases counted by what they stand for.
const MOST_VALUES: usize = 4_000_000;

/// Reads a document; the error is a clause for people.
pub(super) fn decode(text: &str) -> Result<Value, String> {
    if text
        .lines()
        .take_while(|line| line.starts_with(['%', '#']) || line.trim().is_empty())
        .any(is_other_version)
    {
        return Err("the document is of a YAML version other than 1.1".to_owned());
    }
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if !text.chars().all(is_allowed) {
        return Err("the document has control characters".to_owned());
    }
    let mut decoder = Decoder {
        parser: Parser::new_from_str(text),
        anchors: HashMap::new(),
        values: 0,
    };
    match (decoder.next()?, decoder.next()?) {
        (Event::StreamStart, Event::DocumentStart(_)) => {}
        _ => return Err("there is no document".to_owned()),
    }
    let first = decoder.next()?;
    let value = decoder.node(first, 0)?.0;
    match (decoder.next()?, decoder.next()?) {
        (Event::DocumentEnd, Event::StreamEnd) => Ok(value),
        _ => Err("there is more than one document".to_owned()),
    }
}

fn is_allowed(c: char) -> bool {
    let range =
        matches!(c, '\t' | '\n' | '\r' | ' '..='~' | '\u{85}' | '\u{a0}'..='\u{fffd}' | '\u{10000}'..);
    range && c != '\u{feff}'
}

fn is_other_version(line: &str) -> bool {
    line.strip_prefix("%YAML")
        .is_some_and(|version| version.trim() != "1.1")
}

struct Decoder<'a> {
    parser: Parser<'a, saphyr_parser::StrInput<'a>>,
    /// Finished values by anchor, with their sizes; `None` while still inside.
    anchors: HashMap<usize, Option<(Value, usize)>>,
    values: usize,
}

impl<'a> Decoder<'a> {
    fn next(&mut self) -> Result<Event<'a>, String> {
        match self.parser.next_event() {
            Some(Ok((event, _))) => Ok(event),
            Some(Err(error)) => {
                let mark = error.marker();
                Err(format!(
                    "line {}, column {}: {}",
                    mark.line(),
                    mark.col() + 1,
                    error.info()
                ))
            }
            None => Err("the document ends too early".to_owned()),
        }
    }

    fn count(&mut self, values: usize) -> Result<usize, String> {
        self.values = self.values.saturating_add(values);
        if self.values > MOST_VALUES {
            Err("the document holds too many values".to_owned())
        } else {
            Ok(values)
        }
    }

    /// The value that begins with this event, and how many values it holds.
    fn node(&mut self, event: Event<'a>, depth: usize) -> Result<(Value, usize), String> {
        if depth > DEEPEST {
            return Err("the document is too deeply nested".to_owned());
        }
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                let value = match resolve(tag.as_deref(), &text, style)? {
                    Scalar::Value(value) => value,
                    Scalar::Merge => Value::string("<<"),
                };
                let size = self.count(1)?;
                self.finish(anchor, &value, size);
                Ok((value, size))
            }
            Event::Alias(anchor) => match self.anchors.get(&anchor).cloned() {
                Some(Some((value, size))) => {
                    self.count(size)?;
                    Ok((value, size))
                }
                Some(None) => Err("an alias stands inside the value that it names".to_owned()),
                None => Err("an alias names no anchor".to_owned()),
            },
            Event::SequenceStart(anchor, tag) => {
                check_tag(tag.as_deref(), "!!seq")?;
                self.anchors.insert(anchor, None);
                let (mut items, mut size) = (Vec::new(), self.count(1)?);
                loop {
                    match self.next()? {
                        Event::SequenceEnd => break,
                        event => {
                            let (item, inside) = self.node(event, depth + 1)?;
                            size += inside;
                            items.push(item);
                        }
                    }
                }
                let value = Value::tuple(items);
                self.finish(anchor, &value, size);
                Ok((value, size))
            }
            Event::MappingStart(anchor, tag) => {
                check_tag(tag.as_deref(), "!!map")?;
                self.anchors.insert(anchor, None);
                let (value, size) = self.mapping(depth)?;
                self.finish(anchor, &value, size);
                Ok((value, size))
            }
            _ => Err("a value is missing".to_owned()),
        }
    }

    fn finish(&mut self, anchor: usize, value: &Value, size: usize) {
        if anchor > 0 {
            self.anchors.insert(anchor, Some((value.clone(), size)));
        }
    }

    fn mapping(&mut self, depth: usize) -> Result<(Value, usize), String> {
        let mut size = self.count(1)?;
        let mut entries: Vec<(Arc<str>, Value)> = Vec::new();
        loop {
            let (text, style, tag) = match self.next()? {
                Event::MappingEnd => return Ok((Value::object(entries), size)),
                Event::Scalar(text, style, _, tag) => (text, style, tag),
                _ => return Err("only scalars can be keys of a mapping".to_owned()),
            };
            let key = resolve(tag.as_deref(), &text, style)?;
            let event = self.next()?;
            let (value, inside) = self.node(event, depth + 1)?;
            size += inside;
            match key {
                Scalar::Merge => {
                    let merged = value
                        .as_entries()
                        .ok_or("only a mapping can be merged into a mapping")?;
                    entries.extend(merged.iter().map(|(key, value)| (key.clone(), value.clone())));
                }
                Scalar::Value(key) => {
                    let key = convert(&key, &Type::String).map_err(|error| error.message)?;
                    let key = key.as_str().ok_or("the key of a mapping cannot be null")?;
                    entries.push((key.clone(), value));
                }
            }
        }
    }
}

fn resolve(tag: Option<&Tag>, text: &str, style: ScalarStyle) -> Result<Scalar, String> {
    let short = tag.map(|tag| short(tag));
    // The tag "!" alone makes a string of any scalar.
    match short.as_deref() {
        Some("!") => Ok(Scalar::Value(Value::string(text))),
        tag => scalar::resolve(tag, text, style),
    }
}

fn short(tag: &Tag) -> String {
    let full = format!("{}{}", tag.handle, tag.suffix);
    match full.strip_prefix("tag:yaml.org,2002:") {
        Some(name) => format!("!!{name}"),
        None => full,
    }
}

fn check_tag(tag: Option<&Tag>, wanted: &str) -> Result<(), String> {
    match tag.map(|tag| short(tag)) {
        Some(tag) if tag != wanted && tag != "!" => {
            Err("the tag of a collection is not supported".to_owned())
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, want: &str) {
        assert_eq!(format!("{:?}", decode(text).expect(text)), want, "{text:?}");
    }

    #[test]
    fn documents() {
        check(
            "a: &x {k: v}\nb:\n  <<: *x\n  z: [1, ~]",
            r#"{"a": {"k": "v"}, "b": {"k": "v", "z": [1, null(any)]}}"#,
        );
        check("a: 1\na: 2", r#"{"a": 2}"#);
        check("--- 'x'\n...\n", r#""x""#);
        check("? a\n: |\n  b\n", r#"{"a": "b\n"}"#);
        check("!!str 5", r#""5""#);
        check("%YAML 1.1\n---\na", r#""a""#);
    }

    #[test]
    fn refuses() {
        for text in [
            "",
            "# only",
            "a: *nope",
            "&a [*a]",
            "--- a\n--- b",
            "%YAML 1.2\n---\na: 1",
            "null: x",
            "[1]: x",
            "!custom x",
            "!!set {a, b}",
            "a: b: c",
            "[a",
            "a:\n\tb: 1",
            "<<: [a]",
            ".nan",
            "@x",
        ] {
            assert!(decode(text).is_err(), "{text:?}");
        }
        let deep = "[".repeat(100_000);
        assert!(decode(&deep).is_err());
        let bomb: String = std::iter::once("a0: &a0 [x,x,x,x,x,x,x,x,x]\n".to_owned())
            .chain((1..12).map(|i| format!("a{i}: &a{i} [{}]\n", vec![format!("*a{}", i - 1); 9].join(","))))
            .collect();
        assert!(decode(&bomb).is_err());
    }
}
