//! One YAML document as a value: mappings as objects, sequences as tuples, aliases and merge keys followed.
//!
//! Aliases share what they stand for, but types and later copies do not, so the whole is limited in size and depth.

use std::{borrow::Cow, collections::HashMap, sync::Arc};

use ashlar_value::{Type, Value, convert};
use saphyr_parser::{Event, Parser, ScalarStyle, Tag};

use super::scalar::{self, Scalar};

/// Collections within collections at most.
const DEEPEST: usize = 512;

/// Values in a document at most, aliases counted by what they stand for.
const MOST_VALUES: usize = 4_000_000;

/// Reads a document; the error is a clause for people.
pub(super) fn decode(text: &str) -> Result<Value, String> {
    let text = prepare(text)?;
    let mut decoder = Decoder {
        parser: Parser::new_from_str(&text),
        open_end: (!text.ends_with(['\n', '\r'])).then(|| text.chars().count()),
        end: 0,
        anchors: HashMap::new(),
        values: 0,
    };
    match (decoder.next()?, decoder.next()?) {
        (Event::StreamStart, Event::DocumentStart(_)) => {}
        _ => return Err("there is no document".to_owned()),
    }
    let first = decoder.next()?;
    if matches!(&first, Event::Scalar(_, style, ..) if is_block(*style)) && !block_is_indented(&text) {
        return Err("the lines of a block scalar must be indented".to_owned());
    }
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

/// The text in the terms of the parser, which knows YAML 1.2; what only 1.1 refuses is refused here.
fn prepare(text: &str) -> Result<Cow<'_, str>, String> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if !text.chars().all(is_allowed) {
        return Err("the document has control characters".to_owned());
    }
    for line in text.lines() {
        let content = line.trim_start();
        if line[..line.len() - content.len()].contains('\t') {
            return Err("a line before the document begins with a tab".to_owned());
        }
        if content
            .strip_prefix("%YAML")
            .is_some_and(|version| version.trim() != "1.1")
        {
            return Err("the document is of a YAML version other than 1.1".to_owned());
        }
        if !content.is_empty() && !content.starts_with(['%', '#']) {
            break;
        }
    }
    Ok(if text.contains('\u{85}') {
        text.replace('\u{85}', "\n").into()
    } else {
        text.into()
    })
}

/// Of a text that is one block scalar: does its first line after the header begin with a space?
fn block_is_indented(text: &str) -> bool {
    let mut lines = text.lines().skip_while(|line| !line.contains(['|', '>'])).skip(1);
    lines
        .find(|line| !line.trim().is_empty())
        .is_none_or(|line| line.starts_with(' '))
}

struct Decoder<'a> {
    parser: Parser<'a, saphyr_parser::StrInput<'a>>,
    /// Characters in the text, if it does not end with a line break.
    open_end: Option<usize>,
    /// Where the last event ended, in characters.
    end: usize,
    /// Finished values by anchor, with their sizes; `None` while still inside.
    anchors: HashMap<usize, Option<(Value, usize)>>,
    values: usize,
}

impl<'a> Decoder<'a> {
    fn next(&mut self) -> Result<Event<'a>, String> {
        match self.parser.next_event() {
            Some(Ok((event, span))) => {
                self.end = span.end.index();
                Ok(event)
            }
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
                let text = self.without_added_break(&text, style);
                let value = match resolve(tag.as_deref(), text, style)? {
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

    /// The parser ends a block scalar at the end of the text with a line break that is not there.
    fn without_added_break<'t>(&self, text: &'t str, style: ScalarStyle) -> &'t str {
        match text.strip_suffix('\n') {
            Some(rest) if is_block(style) && self.open_end.is_some_and(|end| self.end >= end) => rest,
            _ => text,
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
    let text = match style {
        // In YAML 1.1 these separators are line breaks.
        ScalarStyle::Plain => text.trim_matches(['\u{2028}', '\u{2029}']),
        _ => text,
    };
    let resolved = scalar::resolve(tag.map(short).as_deref(), text, style)?;
    Ok(match resolved {
        // What a block says is read as if it were plain, and then made a string again.
        Scalar::Value(value) if tag.is_none() && is_block(style) => {
            Scalar::Value(convert(&value, &Type::String).map_err(|error| error.message)?)
        }
        other => other,
    })
}

fn short(tag: &Tag) -> String {
    let full = format!("{}{}", tag.handle, tag.suffix);
    match full.strip_prefix("tag:yaml.org,2002:") {
        Some(name) => format!("!!{name}"),
        None => full,
    }
}

fn is_block(style: ScalarStyle) -> bool {
    matches!(style, ScalarStyle::Literal | ScalarStyle::Folded)
}

fn check_tag(tag: Option<&Tag>, wanted: &str) -> Result<(), String> {
    match tag.map(short) {
        Some(tag) if tag != wanted => Err("the tag of a collection is not supported".to_owned()),
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
        check("- |\n x\n- >\n y", r#"["x\n", "true"]"#);
        check("a: |-\n 1.50", r#"{"a": "1.5"}"#);
        check("- |+\n x\n\n", r#"["x\n\n"]"#);
        check("- \u{85}\n- \u{2028}a", r#"[null(any), "a"]"#);
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
            "\ta",
            "! x",
            "|\n- x",
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
