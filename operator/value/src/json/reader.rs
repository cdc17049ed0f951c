//! A reader of JSON text, token by token, as strict as Go's `encoding/json`; no tree is built.

use std::borrow::Cow;

use super::DEPTH_LIMIT;

/// What is wrong with the text, in words.
pub(super) type Fault = &'static str;

const ENDED: Fault = "the JSON text ends too early";
const UNEXPECTED: Fault = "there is an unexpected character in the JSON text";

/// What a value begins with.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Start {
    Null,
    True,
    False,
    Number,
    String,
    Array,
    Object,
}

/// A place in the text.
pub(super) struct Reader<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Reader<'t> {
    /// Fails if the bytes are not UTF-8.
    pub(super) fn new(bytes: &'t [u8]) -> Result<Self, Fault> {
        std::str::from_utf8(bytes)
            .map(|text| Self { text, at: 0 })
            .map_err(|_| "the JSON text is not UTF-8")
    }

    fn peek(&mut self) -> Option<u8> {
        let bytes = self.text.as_bytes();
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = bytes.get(self.at) {
            self.at += 1;
        }
        bytes.get(self.at).copied()
    }

    /// Takes this character if it is next.
    pub(super) fn take(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    /// Fails unless nothing but white space is left.
    pub(super) fn finish(mut self) -> Result<(), Fault> {
        if self.peek().is_none() {
            Ok(())
        } else {
            Err("there is text after the JSON value")
        }
    }

    /// What comes next.
    pub(super) fn start(&mut self) -> Result<Start, Fault> {
        match self.peek() {
            Some(b'n') => Ok(Start::Null),
            Some(b't') => Ok(Start::True),
            Some(b'f') => Ok(Start::False),
            Some(b'"') => Ok(Start::String),
            Some(b'[') => Ok(Start::Array),
            Some(b'{') => Ok(Start::Object),
            Some(b'-' | b'0'..=b'9') => Ok(Start::Number),
            Some(_) => Err(UNEXPECTED),
            None => Err(ENDED),
        }
    }

    /// Takes `null`, `true` or `false`.
    pub(super) fn word(&mut self, start: Start) -> Result<(), Fault> {
        let word = match start {
            Start::Null => "null",
            Start::True => "true",
            Start::False => "false",
            Start::Number | Start::String | Start::Array | Start::Object => return Err(UNEXPECTED),
        };
        let found = self
            .text
            .get(self.at..)
            .is_some_and(|rest| rest.starts_with(word));
        self.at += word.len();
        if found { Ok(()) } else { Err(UNEXPECTED) }
    }

    /// Takes a number, as it is written.
    pub(super) fn number(&mut self) -> Result<&'t str, Fault> {
        let from = self.at;
        let bytes = self.text.as_bytes();
        let digits = |at: &mut usize| {
            let first = *at;
            while bytes.get(*at).is_some_and(u8::is_ascii_digit) {
                *at += 1;
            }
            if *at > first {
                Ok(())
            } else {
                Err("a number in the JSON text lacks digits")
            }
        };
        let mut at = from + usize::from(bytes.get(from) == Some(&b'-'));
        if bytes.get(at) == Some(&b'0') {
            at += 1;
        } else {
            digits(&mut at)?;
        }
        if bytes.get(at) == Some(&b'.') {
            at += 1;
            digits(&mut at)?;
        }
        if let Some(b'e' | b'E') = bytes.get(at) {
            at += 1;
            at += usize::from(matches!(bytes.get(at), Some(b'+' | b'-')));
            digits(&mut at)?;
        }
        self.at = at;
        self.text.get(from..at).ok_or(ENDED)
    }

    /// Takes a string. Half a surrogate pair becomes U+FFFD.
    pub(super) fn string(&mut self) -> Result<Cow<'t, str>, Fault> {
        if !self.take(b'"') {
            return Err("a string is missing in the JSON text");
        }
        let rest = self.text.get(self.at..).ok_or(ENDED)?;
        let plain = rest.find(|c| c == '"' || c == '\\' || c < ' ').ok_or(ENDED)?;
        let (before, mut rest) = rest.split_at(plain);
        if rest.starts_with('"') {
            self.at += plain + 1;
            return Ok(Cow::Borrowed(before));
        }
        let mut text = before.to_owned();
        loop {
            let next = rest.find(|c| c == '"' || c == '\\' || c < ' ').ok_or(ENDED)?;
            let (plain, special) = rest.split_at(next);
            text.push_str(plain);
            let mut chars = special.chars();
            match chars.next() {
                Some('"') => {
                    self.at = self.text.len() - chars.as_str().len();
                    return Ok(Cow::Owned(text));
                }
                Some('\\') => {
                    let (c, after) = escape(chars.as_str())?;
                    text.push(c);
                    rest = after;
                }
                Some(_) => return Err("there is a control character in a JSON string"),
                None => return Err(ENDED),
            }
        }
    }

    /// Takes `[` or `{`. Then call [`Reader::more`] before each element.
    pub(super) fn open(&mut self) {
        self.at += 1;
    }

    /// Is there another element, `count` having been read? Takes the comma before it, or the closing bracket.
    pub(super) fn more(&mut self, count: usize, close: u8) -> Result<bool, Fault> {
        if self.take(close) {
            return Ok(false);
        }
        if count > 0 && !self.take(b',') {
            return Err(if self.peek().is_some() { UNEXPECTED } else { ENDED });
        }
        Ok(true)
    }

    /// Takes a key and its colon.
    pub(super) fn key(&mut self) -> Result<Cow<'t, str>, Fault> {
        let key = self.string()?;
        if self.take(b':') {
            Ok(key)
        } else {
            Err("a colon is missing in the JSON text")
        }
    }

    /// Steps over a value, which must be well formed, and gives its text. Needs no stack; what is deeper than any value that
    /// is read is refused, so that a text of brackets takes no memory.
    pub(super) fn skip(&mut self) -> Result<&'t str, Fault> {
        self.peek();
        let from = self.at;
        // The closing bracket of each open container, and how many elements it has.
        let mut open: Vec<(u8, usize)> = Vec::new();
        loop {
            if open.len() > 2 * DEPTH_LIMIT {
                return Err("the JSON text is nested too deeply");
            }
            match self.start()? {
                start @ (Start::Null | Start::True | Start::False) => self.word(start)?,
                Start::Number => drop(self.number()?),
                Start::String => drop(self.string()?),
                Start::Array => {
                    self.open();
                    open.push((b']', 0));
                }
                Start::Object => {
                    self.open();
                    open.push((b'}', 0));
                }
            }
            loop {
                let Some((close, count)) = open.last_mut() else {
                    return self.text.get(from..self.at).ok_or(ENDED);
                };
                let (close, read) = (*close, *count);
                *count += 1;
                if self.more(read, close)? {
                    if close == b'}' {
                        self.key()?;
                    }
                    break;
                }
                open.pop();
            }
        }
    }
}

/// The character that an escape stands for, and the text after it; `text` begins behind the backslash.
fn escape(text: &str) -> Result<(char, &str), Fault> {
    let mut chars = text.chars();
    let c = match chars.next().ok_or(ENDED)? {
        c @ ('"' | '\\' | '/') => c,
        'b' => '\x08',
        'f' => '\x0c',
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        'u' => {
            let (unit, rest) = code_unit(chars.as_str())?;
            if let Some(low) = rest.strip_prefix("\\u")
                && (0xd800..0xdc00).contains(&unit)
                && let Ok((low, rest)) = code_unit(low)
                && (0xdc00..0xe000).contains(&low)
            {
                let pair = 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
                return Ok((char::from_u32(pair).unwrap_or(char::REPLACEMENT_CHARACTER), rest));
            }
            return Ok((char::from_u32(unit).unwrap_or(char::REPLACEMENT_CHARACTER), rest));
        }
        _ => return Err("there is an invalid escape in a JSON string"),
    };
    Ok((c, chars.as_str()))
}

fn code_unit(text: &str) -> Result<(u32, &str), Fault> {
    let digits = text
        .get(..4)
        .filter(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()));
    let unit = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok());
    match (unit, text.get(4..)) {
        (Some(unit), Some(rest)) => Ok((unit, rest)),
        _ => Err("there is an invalid escape in a JSON string"),
    }
}
