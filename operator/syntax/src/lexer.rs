//! Text to tokens.
//!
//! First step of parsing. Every byte of the text but blanks lands in a token, broken text in [`Kind::Invalid`]; nothing
//! is reported here. A stack of modes follows the nesting of templates, so the parser never has to tell the lexer where
//! it is. Where a token ends decides what `~` trims, so the splits are exactly those of hcl's scanner
//! (`scan_tokens.rl`), odd ones included. One pass, linear in the text.

use ashlar_diag::is_broken;

use crate::{
    ident,
    token::{Kind, Token},
};

/// What the text is to be read as.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Start {
    /// Configuration or an expression.
    Code,
    /// Template text.
    Template,
}

/// Makes tokens of the whole text; the last one is [`Kind::End`]. A leading byte order mark is skipped.
pub(crate) fn tokens(text: &str, start: Start) -> Vec<Token> {
    let mut lexer = Lexer {
        text,
        bytes: text.as_bytes(),
        at: if text.starts_with('\u{feff}') { 3 } else { 0 },
        tokens: Vec::with_capacity(text.len() / 5 + 1),
        modes: Vec::new(),
        base: match start {
            Start::Code => Mode::Code,
            Start::Template => Mode::Bare,
        },
        braces: 0,
        returns: Vec::new(),
        heredocs: Vec::new(),
        comments_close: true,
    };
    while lexer.at < lexer.bytes.len() {
        match lexer.modes.last().copied().unwrap_or(lexer.base) {
            Mode::Code => lexer.code(),
            Mode::Quoted => lexer.quoted(),
            Mode::Heredoc => lexer.heredoc(),
            Mode::Bare => lexer.bare(),
        }
    }
    lexer.push(Kind::End, 0);
    lexer.tokens
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    Code,
    Quoted,
    Heredoc,
    /// A template that is the whole text.
    Bare,
}

struct Heredoc<'t> {
    marker: &'t str,
    /// Is the next piece of text at the start of a line, where the marker may stand?
    line_start: bool,
}

struct Lexer<'t> {
    text: &'t str,
    bytes: &'t [u8],
    at: usize,
    tokens: Vec<Token>,
    base: Mode,
    modes: Vec<Mode>,
    /// Open braces, also those of sequences; below zero if more were closed than opened.
    braces: i64,
    /// The counts of `braces` at which a closing brace ends a sequence, innermost last.
    returns: Vec<i64>,
    heredocs: Vec<Heredoc<'t>>,
    /// May there be a `*/` further on? Once none was found there is none, so the rest is not searched again.
    comments_close: bool,
}

impl<'t> Lexer<'t> {
    fn byte(&self, ahead: usize) -> Option<u8> {
        self.bytes.get(self.at + ahead).copied()
    }

    fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or("")
    }

    /// Emits the next `length` bytes as one token.
    fn push(&mut self, kind: Kind, length: usize) {
        let end = self.at + length;
        let place = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
        self.tokens.push(Token {
            kind,
            start: place(self.at),
            end: place(end),
        });
        self.at = end;
    }

    fn code(&mut self) {
        let Some(byte) = self.byte(0) else { return };
        let next = self.byte(1);
        let (kind, length) = match byte {
            b' ' | b'\t' => {
                self.at += 1;
                return;
            }
            b'\n' => (Kind::Newline, 1),
            b'\r' if next == Some(b'\n') => (Kind::Newline, 2),
            b'a'..=b'z' | b'A'..=b'Z' | b'_' => (Kind::Ident, ident::length(self.rest())),
            b'0'..=b'9' => (Kind::Number, self.number_length()),
            b'#' => (Kind::Comment, self.line_length()),
            b'/' if next == Some(b'/') => (Kind::Comment, self.line_length()),
            b'/' if next == Some(b'*') => match self.comment_length() {
                Some(length) => (Kind::Comment, length),
                None => (Kind::Slash, 1),
            },
            b'"' => {
                self.push(Kind::OpenQuote, 1);
                self.modes.push(Mode::Quoted);
                return;
            }
            b'{' => {
                self.braces += 1;
                (Kind::OpenBrace, 1)
            }
            b'}' => return self.close_brace(1),
            b'~' if next == Some(b'}') => return self.close_brace(2),
            b'<' if next == Some(b'<') => match self.heredoc_marker() {
                Some((marker, length)) => {
                    self.push(Kind::OpenHeredoc, length);
                    self.heredocs.push(Heredoc {
                        marker,
                        line_start: true,
                    });
                    self.modes.push(Mode::Heredoc);
                    return;
                }
                None => (Kind::Less, 1),
            },
            _ => self.symbol(byte, next),
        };
        self.push(kind, length);
    }

    fn symbol(&self, byte: u8, next: Option<u8>) -> (Kind, usize) {
        let pair = |second: u8, double: Kind, single: Kind| {
            if next == Some(second) {
                (double, 2)
            } else {
                (single, 1)
            }
        };
        match byte {
            b'[' => (Kind::OpenBracket, 1),
            b']' => (Kind::CloseBracket, 1),
            b'(' => (Kind::OpenParen, 1),
            b')' => (Kind::CloseParen, 1),
            b',' => (Kind::Comma, 1),
            b'*' => (Kind::Star, 1),
            b'/' => (Kind::Slash, 1),
            b'%' => (Kind::Percent, 1),
            b'+' => (Kind::Plus, 1),
            b'-' => (Kind::Minus, 1),
            b'?' => (Kind::Question, 1),
            b'.' if next == Some(b'.') && self.byte(2) == Some(b'.') => (Kind::Ellipsis, 3),
            b'.' => (Kind::Dot, 1),
            b'=' if next == Some(b'>') => (Kind::FatArrow, 2),
            b'=' => pair(b'=', Kind::Equal, Kind::Assign),
            b'!' => pair(b'=', Kind::NotEqual, Kind::Bang),
            b'<' => pair(b'=', Kind::LessOrEqual, Kind::Less),
            b'>' => pair(b'=', Kind::GreaterOrEqual, Kind::Greater),
            b'&' => pair(b'&', Kind::And, Kind::BitwiseAnd),
            b'|' => pair(b'|', Kind::Or, Kind::BitwiseOr),
            b':' => pair(b':', Kind::DoubleColon, Kind::Colon),
            b'~' => (Kind::BitwiseNot, 1),
            b'^' => (Kind::BitwiseXor, 1),
            b';' => (Kind::Semicolon, 1),
            b'`' => (Kind::Backtick, 1),
            b'\'' => (Kind::Apostrophe, 1),
            _ => match ident::length(self.rest()) {
                0 => (
                    Kind::Invalid,
                    self.rest().chars().next().map_or(1, char::len_utf8),
                ),
                length => (Kind::Ident, length),
            },
        }
    }

    /// The longest prefix that looks like a number. It may hold several points; whether it is one is judged later.
    fn number_length(&self) -> usize {
        let digit = |at: usize| self.byte(at).is_some_and(|byte| byte.is_ascii_digit());
        let (mut at, mut end) = (1, 1);
        loop {
            match self.byte(at) {
                Some(b'0'..=b'9') => {
                    at += 1;
                    end = at;
                }
                // Only part of the number if a digit or exponent follows.
                Some(b'.') => at += 1,
                Some(b'e' | b'E') => {
                    let sign = usize::from(matches!(self.byte(at + 1), Some(b'+' | b'-')));
                    if !digit(at + 1 + sign) {
                        return end;
                    }
                    at += 2 + sign;
                    end = at;
                }
                _ => return end,
            }
        }
    }

    /// To the end of the line, line break included.
    fn line_length(&self) -> usize {
        let rest = self.rest();
        rest.find('\n').map_or(rest.len(), |at| at + 1)
    }

    fn comment_length(&mut self) -> Option<usize> {
        if !self.comments_close {
            return None;
        }
        let found = self.text.get(self.at + 2..).and_then(|body| body.find("*/"));
        self.comments_close = found.is_some();
        found.map(|at| at + 4)
    }

    /// The marker and the length of a heredoc's opening, if there is one here.
    fn heredoc_marker(&self) -> Option<(&'t str, usize)> {
        let rest = self.rest();
        let name = rest.get(2..)?;
        let name = name.strip_prefix('-').unwrap_or(name);
        let length = ident::length(name);
        let (marker, after) = (name.get(..length)?, name.get(length..)?);
        if length == 0 || break_length(after) == 0 {
            return None;
        }
        Some((marker, rest.len() - after.len() + break_length(after)))
    }

    /// A `}` or `~}`.
    fn close_brace(&mut self, length: usize) {
        let ends = self.returns.last() == Some(&self.braces);
        // `~}` outside a sequence is still told apart, so that the parser can refuse it.
        self.push(
            if ends || length == 2 {
                Kind::SequenceEnd
            } else {
                Kind::CloseBrace
            },
            length,
        );
        self.braces -= 1;
        if ends {
            self.returns.pop();
            self.modes.pop();
        }
    }

    /// Emits the opening of a sequence if one is here.
    fn sequence(&mut self) -> bool {
        let kind = match (self.byte(0), self.byte(1)) {
            (Some(b'$'), Some(b'{')) => Kind::Interpolation,
            (Some(b'%'), Some(b'{')) => Kind::Directive,
            _ => return false,
        };
        let length = 2 + usize::from(self.byte(2) == Some(b'~'));
        self.push(kind, length);
        self.braces += 1;
        self.returns.push(self.braces);
        if let Some(heredoc) = self.heredocs.last_mut() {
            heredoc.line_start = false;
        }
        self.modes.push(Mode::Code);
        true
    }

    /// The length of `$${`, `%%{` (with `~` if it follows): a sequence's opening written as text.
    fn escape_length(&self) -> Option<usize> {
        let same = self.byte(0) == self.byte(1);
        (same && self.byte(2) == Some(b'{')).then(|| 3 + usize::from(self.byte(3) == Some(b'~')))
    }

    fn quoted(&mut self) {
        if self.sequence() {
            return;
        }
        match self.byte(0) {
            Some(b'"') => {
                self.push(Kind::CloseQuote, 1);
                self.modes.pop();
            }
            Some(b'\n' | b'\r') => {
                let breaks = self
                    .rest()
                    .bytes()
                    .take_while(|byte| matches!(byte, b'\n' | b'\r'))
                    .count();
                self.push(Kind::QuotedNewline, breaks);
            }
            Some(b'$' | b'%') => match self.escape_length() {
                Some(length) => self.push(Kind::QuotedText, length),
                None if self.byte(1).is_none() => self.push(Kind::Invalid, 1),
                None => self.push(Kind::QuotedText, 1),
            },
            _ => {
                let length = self.quoted_text_length();
                if length == 0 {
                    self.push(Kind::Invalid, self.broken_length().unwrap_or(1));
                } else {
                    self.push(Kind::QuotedText, length);
                }
            }
        }
    }

    /// Text up to a quote, line break or `$`/`%`; a backslash takes the next character with it. Zero for a backslash
    /// with nothing to take.
    fn quoted_text_length(&self) -> usize {
        let rest = self.rest();
        let bytes = rest.as_bytes();
        let mut at = 0;
        while let Some(byte) = bytes.get(at) {
            match byte {
                b'"' | b'$' | b'%' | b'\n' | b'\r' => break,
                b'\\' => match rest.get(at + 1..).and_then(|after| after.chars().next()) {
                    None | Some('\n' | '\r') => break,
                    Some(taken) if is_broken(taken) => break,
                    Some(taken) => at += 1 + taken.len_utf8(),
                },
                0xf4 if rest.get(at..).is_some_and(begins_broken) => break,
                _ => at += 1,
            }
        }
        at
    }

    /// The length of a character that stands for a byte of none, if one is here.
    fn broken_length(&self) -> Option<usize> {
        let next = self.rest().chars().next()?;
        is_broken(next).then(|| next.len_utf8())
    }

    fn heredoc(&mut self) {
        if self.sequence() {
            return;
        }
        if let Some(length) = self.broken_length() {
            self.push(Kind::Invalid, length);
            return;
        }
        match self.plain_length() {
            Plain::Line { length, line_break } => {
                let line_start = self.heredocs.last().is_some_and(|heredoc| heredoc.line_start);
                let text = self.text.get(self.at..self.at + length).unwrap_or("");
                if line_start
                    && self
                        .heredocs
                        .last()
                        .is_some_and(|heredoc| heredoc.marker == text.trim())
                {
                    self.push(Kind::CloseHeredoc, length - line_break);
                    // Apart from the marker, so that it can end the argument.
                    self.push(Kind::Newline, line_break);
                    self.heredocs.pop();
                    self.modes.pop();
                    return;
                }
                self.push(Kind::PlainText, length);
                if let Some(heredoc) = self.heredocs.last_mut() {
                    heredoc.line_start = true;
                }
            }
            Plain::Part(length) => {
                self.push(Kind::PlainText, length);
                if let Some(heredoc) = self.heredocs.last_mut() {
                    heredoc.line_start = false;
                }
            }
            Plain::Stuck => self.push(Kind::Invalid, self.bytes.len() - self.at),
        }
    }

    fn bare(&mut self) {
        if self.sequence() {
            return;
        }
        if let Some(length) = self.broken_length() {
            self.push(Kind::Invalid, length);
            return;
        }
        match self.plain_length() {
            Plain::Line { length, .. } | Plain::Part(length) => self.push(Kind::PlainText, length),
            // Here there is nothing around the text that could be missed, so it is taken as it is.
            Plain::Stuck => self.push(Kind::PlainText, self.bytes.len() - self.at),
        }
    }

    /// The next piece of text outside quotes.
    fn plain_length(&self) -> Plain {
        let line = |length: usize| match break_length(self.text.get(self.at + length..).unwrap_or("")) {
            0 => Plain::Part(length),
            line_break => Plain::Line {
                length: length + line_break,
                line_break,
            },
        };
        if let Some(b'$' | b'%') = self.byte(0) {
            return match self.escape_length() {
                Some(length) => line(length),
                None if self.byte(1).is_none() => Plain::Stuck,
                // Only before the end of a line does hcl keep the character after a lone `$` with it.
                None if matches!(self.byte(2), Some(b'\n' | b'\r')) => Plain::Part(2),
                None => Plain::Part(1),
            };
        }
        let rest = self.rest().as_bytes();
        let ends = |(at, byte): (usize, &u8)| match byte {
            b'$' | b'%' | b'\n' | b'\r' => true,
            0xf4 => self.text.get(self.at + at..).is_some_and(begins_broken),
            _ => false,
        };
        let end = rest.iter().enumerate().position(ends).unwrap_or(rest.len());
        match line(end) {
            // A carriage return alone: hcl's scanner knows no way on.
            Plain::Part(0) => Plain::Stuck,
            piece => piece,
        }
    }
}

enum Plain {
    /// Ends with a line break, whose length is given too.
    Line { length: usize, line_break: usize },
    /// Ends within a line.
    Part(usize),
    /// No token can be made of what follows.
    Stuck,
}

fn begins_broken(text: &str) -> bool {
    text.starts_with(is_broken)
}

/// The length of the line break that the text begins with, zero if none.
fn break_length(text: &str) -> usize {
    if text.starts_with('\n') {
        1
    } else if text.starts_with("\r\n") {
        2
    } else {
        0
    }
}
