//! JSON text to tokens.
//!
//! Lax, as hcl's scanner: what looks like a number, a word or a string becomes one, and the parser judges it. The first
//! byte that begins nothing ends the scan.

use ashlar_diag::json::string_length;

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    OpenBrace,
    CloseBrace,
    OpenBracket,
    CloseBracket,
    Comma,
    Colon,
    /// Not of JSON; people used to native syntax write it.
    Equals,
    String,
    Number,
    Word,
    Invalid,
    End,
}

/// A token with its byte range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Token {
    pub(super) kind: Kind,
    pub(super) start: usize,
    pub(super) end: usize,
}

/// Makes tokens of the text; the last one is [`Kind::End`].
pub(super) fn tokens(text: &str) -> Vec<Token> {
    let mut tokens = Vec::with_capacity(text.len() / 8 + 1);
    let mut at = 0;
    loop {
        let rest = text.get(at..).unwrap_or("");
        let rest = rest.trim_start_matches([' ', '\n', '\r', '\t']);
        let start = text.len() - rest.len();
        let Some(first) = rest.chars().next() else {
            tokens.push(Token {
                kind: Kind::End,
                start,
                end: start,
            });
            return tokens;
        };
        let run = |part: fn(char) -> bool| rest.find(|c| !part(c)).unwrap_or(rest.len());
        let (kind, length) = match first {
            '{' => (Kind::OpenBrace, 1),
            '}' => (Kind::CloseBrace, 1),
            '[' => (Kind::OpenBracket, 1),
            ']' => (Kind::CloseBracket, 1),
            ',' => (Kind::Comma, 1),
            ':' => (Kind::Colon, 1),
            '=' => (Kind::Equals, 1),
            '"' => (Kind::String, string_length(rest)),
            '-' | '+' | '.' | '0'..='9' => {
                let part = |c| matches!(c, '-' | '+' | '.' | 'e' | 'E' | '0'..='9');
                (Kind::Number, run(part))
            }
            'a'..='z' | 'A'..='Z' => (Kind::Word, run(|c| c.is_ascii_alphabetic() || c == '_')),
            other => (Kind::Invalid, other.len_utf8()),
        };
        at = start + length;
        tokens.push(Token { kind, start, end: at });
        if kind == Kind::Invalid {
            // hcl's scanner takes one byte, whatever character it belongs to.
            tokens.push(Token {
                kind: Kind::End,
                start: start + 1,
                end: start + 1,
            });
            return tokens;
        }
    }
}
