//! Values as YAML text, byte for byte as the emitter behind Terraform writes it.
//!
//! Strings are double-quoted, or literal blocks if they have line breaks; lines fold at spaces past column 80; collections
//! are in block style unless empty.

use ashlar_value::{Data, Value};

/// Columns after which a space in a quoted string becomes a line break.
const WIDTH: usize = 80;
const STEP: usize = 2;
/// Longest key, in bytes, that stands before its colon without a question mark.
const LONGEST_KEY: usize = 128;

/// The document; the value is wholly known.
pub(super) fn encode(value: &Value) -> String {
    let mut emitter = Emitter {
        out: String::new(),
        column: 0,
        indent: None,
        space: true,
        indented: true,
        open: false,
    };
    emitter.node(value, Place::Root);
    emitter.line();
    if emitter.open {
        emitter.indicator("...", true, false);
        emitter.line();
    }
    emitter.out
}

/// Where a node stands.
#[derive(Clone, Copy, PartialEq)]
enum Place {
    Root,
    Item,
    /// A key on the line of its value.
    Key,
    /// A key after a question mark.
    LongKey,
    Value,
}

struct Emitter {
    out: String,
    /// Characters on the current line.
    column: usize,
    /// Columns of the current collection; none at the root.
    indent: Option<usize>,
    /// Was white space or an indicator that needs none after it written last?
    space: bool,
    /// Is there only indentation on the current line?
    indented: bool,
    /// Does the document need an end marker?
    open: bool,
}

impl Emitter {
    fn node(&mut self, value: &Value, place: Place) {
        match value.data() {
            Data::Null(_) | Data::Unknown(..) => self.plain("null", place),
            Data::Bool(truth) => self.plain(if *truth { "true" } else { "false" }, place),
            Data::Number(number) => self.plain(&number.to_string(), place),
            Data::String(text) => self.text(text, place),
            Data::List(_, items) | Data::Set(_, items) | Data::Tuple(items) => self.sequence(items, place),
            Data::Map(_, entries) | Data::Object(entries) => {
                if entries.is_empty() {
                    self.indicator("{", true, true);
                    self.indicator("}", false, false);
                    return;
                }
                let outer = self.enter(false);
                for (key, item) in entries.iter() {
                    self.line();
                    if key.len() <= LONGEST_KEY && !key.contains(is_break) {
                        self.text(key, Place::Key);
                        self.indicator(":", false, false);
                    } else {
                        self.indicator("?", true, false);
                        self.indented = true;
                        self.text(key, Place::LongKey);
                        self.line();
                        self.indicator(":", true, false);
                        self.indented = true;
                    }
                    self.node(item, Place::Value);
                }
                self.indent = outer;
            }
        }
    }

    fn sequence(&mut self, items: &[Value], place: Place) {
        if items.is_empty() {
            self.indicator("[", true, true);
            self.indicator("]", false, false);
            return;
        }
        // A sequence right after its key is not indented.
        let outer = self.enter(matches!(place, Place::Value) && !self.indented);
        for item in items {
            self.line();
            self.indicator("-", true, false);
            self.indented = true;
            self.node(item, Place::Item);
        }
        self.indent = outer;
    }

    /// Begins a collection; gives the indentation to come back to.
    fn enter(&mut self, same_indent: bool) -> Option<usize> {
        let outer = self.indent;
        self.indent = Some(match outer {
            None => 0,
            Some(indent) if same_indent => indent,
            Some(indent) => indent + STEP,
        });
        outer
    }

    fn put(&mut self, text: &str) {
        self.out.push_str(text);
        self.column += text.chars().count();
    }

    fn line_break(&mut self) {
        self.out.push('\n');
        self.column = 0;
    }

    /// Goes to the current indentation, on a new line if the current one has anything beyond it.
    fn line(&mut self) {
        let indent = self.indent.unwrap_or(0);
        if !self.indented || self.column > indent || (self.column == indent && !self.space) {
            self.line_break();
        }
        while self.column < indent {
            self.put(" ");
        }
        self.space = true;
        self.indented = true;
    }

    fn indicator(&mut self, text: &str, needs_space: bool, is_space: bool) {
        if needs_space && !self.space {
            self.put(" ");
        }
        self.put(text);
        self.space = is_space;
        self.indented = false;
        self.open = false;
    }

    fn plain(&mut self, text: &str, place: Place) {
        if !self.space {
            self.put(" ");
        }
        self.put(text);
        self.space = false;
        self.indented = false;
        if place == Place::Root {
            self.open = true;
        }
    }

    /// Further lines of a string stand one step in.
    fn text(&mut self, text: &str, place: Place) {
        let outer = self.indent;
        self.indent = Some(outer.map_or(STEP, |indent| indent + STEP));
        if text.contains('\n') && place != Place::Key && is_plain_block(text) {
            self.literal(text);
        } else {
            self.quoted(text, place != Place::Key);
        }
        self.indent = outer;
    }

    fn quoted(&mut self, text: &str, fold: bool) {
        self.indicator("\"", true, false);
        let mut after_space = false;
        let mut chars = text.char_indices().peekable();
        let marked = text.starts_with('\u{feff}');
        while let Some((at, c)) = chars.next() {
            if c == ' ' && !marked {
                let inside = at > 0 && at + 1 < text.len();
                if fold && !after_space && self.column > WIDTH && inside {
                    self.line();
                    if chars.peek().is_some_and(|(_, next)| *next == ' ') {
                        self.put("\\");
                    }
                } else {
                    self.put(" ");
                }
                after_space = true;
                continue;
            }
            after_space = false;
            if marked || c == '"' || c == '\\' || is_break(c) || !is_printable(c) {
                self.put(&escape(c));
            } else {
                self.put(c.encode_utf8(&mut [0; 4]));
            }
        }
        self.indicator("\"", false, false);
    }

    fn literal(&mut self, text: &str) {
        self.indicator("|", true, false);
        if text.starts_with(|c| c == ' ' || is_break(c)) {
            self.indicator("2", false, false);
        }
        let mut last = text.chars().rev();
        match (last.next().is_some_and(is_break), last.next()) {
            (false, _) => self.indicator("-", false, false),
            (true, before) if before.is_none_or(is_break) => self.indicator("+", false, false),
            _ => {}
        }
        self.line_break();
        (self.indented, self.space) = (true, true);
        let mut at_start = true;
        for c in text.chars() {
            if is_break(c) {
                if c == '\n' {
                    self.line_break();
                } else {
                    self.out.push(c);
                    self.column = 0;
                }
                self.indented = true;
                at_start = true;
            } else {
                if at_start {
                    self.line();
                }
                self.put(c.encode_utf8(&mut [0; 4]));
                self.indented = false;
                at_start = false;
            }
        }
    }
}

/// Can it be a literal block: no space at the end, none before a line break, nothing unprintable?
fn is_plain_block(text: &str) -> bool {
    let mut after_space = false;
    for c in text.chars() {
        if !is_printable(c) || (after_space && is_break(c)) {
            return false;
        }
        after_space = c == ' ';
    }
    !after_space
}

fn is_break(c: char) -> bool {
    matches!(c, '\r' | '\n' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// What the emitter holds for printable: nothing outside the basic plane.
fn is_printable(c: char) -> bool {
    matches!(c, '\n' | ' '..='~' | '\u{a0}'..='\u{d7ff}' | '\u{e000}'..='\u{fffd}') && c != '\u{feff}'
}

fn escape(c: char) -> String {
    let short = match c {
        '\0' => '0',
        '\x07' => 'a',
        '\x08' => 'b',
        '\t' => 't',
        '\n' => 'n',
        '\x0b' => 'v',
        '\x0c' => 'f',
        '\r' => 'r',
        '\x1b' => 'e',
        '"' => '"',
        '\\' => '\\',
        '\u{85}' => 'N',
        '\u{a0}' => '_',
        '\u{2028}' => 'L',
        '\u{2029}' => 'P',
        _ => {
            return match u32::from(c) {
                code @ 0..=0xff => format!("\\x{code:02X}"),
                code @ 0..=0xffff => format!("\\u{code:04X}"),
                code => format!("\\U{code:08X}"),
            };
        }
    };
    format!("\\{short}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(value: Value, want: &str) {
        assert_eq!(encode(&value), want);
    }

    #[test]
    fn scalars() {
        check(Value::number(1), "1\n...\n");
        check(Value::string("a\"b"), "\"a\\\"b\"\n");
        check(Value::string("multi\nline"), "|-\n  multi\n  line\n");
        check(Value::string("é 👩\u{2028}"), "\"é \\U0001F469\\L\"\n");
        check(Value::string("trail \n"), "\"trail \\n\"\n");
    }

    #[test]
    fn collections() {
        let text = |text: &str| Value::string(text);
        check(
            Value::object([
                ("a", Value::tuple(vec![Value::number(1), Value::tuple(vec![])])),
                ("b", text("\n x")),
            ]),
            "\"a\":\n- 1\n- []\n\"b\": |2-\n\n   x\n",
        );
        check(
            Value::tuple(vec![
                Value::tuple(vec![text("x"), text("y")]),
                Value::object([("k", text("l1\n\nl3\n\n"))]),
            ]),
            "- - \"x\"\n  - \"y\"\n- \"k\": |+\n    l1\n\n    l3\n\n",
        );
    }

    #[test]
    fn long_lines_fold_and_long_keys_stand_alone() {
        let (long, short) = ("a".repeat(82), "b".repeat(30));
        check(
            Value::string(format!("{long} {short}")),
            &format!("\"{long}\n  {short}\"\n"),
        );
        check(
            Value::string(format!("{long}  {short}")),
            &format!("\"{long}\n  \\ {short}\"\n"),
        );
        check(
            Value::object([(
                "no newline\nend",
                Value::tuple(vec![Value::string("no newline\nend")]),
            )]),
            "? |-\n  no newline\n  end\n: - |-\n    no newline\n    end\n",
        );
    }
}
