//! A value as an expression in the language, laid out as `terraform fmt` leaves it where it comes from tokens.
//!
//! What is written reads back as the same value, but for types that look alike (a list is written as a tuple). Marks are
//! not seen. Layout: hclwrite `TokensForValue` and `format.go`, v2.24.

use std::fmt::Write;

use ashlar_syntax::is_identifier;
use ashlar_value::{Data, Value};
use unicode_segmentation::UnicodeSegmentation;

use crate::show::is_printable;

/// The source of an expression that gives this value, which must be wholly known.
pub fn source_text(value: &Value) -> String {
    let mut tokens = Vec::new();
    write(value, &mut tokens);
    let mut lines: Vec<Line> = tokens
        .split(|token| *token == Token::Newline)
        .map(Line::of)
        .collect();
    indent(&mut lines);
    align(&mut lines);
    let lines: Vec<&str> = lines.iter().map(|line| &*line.text).collect();
    lines.join("\n")
}

#[derive(PartialEq)]
enum Token {
    /// A literal or a name, in one piece.
    Word(String),
    OpenBrace,
    CloseBrace,
    OpenBracket,
    CloseBracket,
    Comma,
    Equals,
    Newline,
}

impl Token {
    fn text(&self) -> &str {
        match self {
            Token::Word(word) => word,
            Token::OpenBrace => "{",
            Token::CloseBrace => "}",
            Token::OpenBracket => "[",
            Token::CloseBracket => "]",
            Token::Comma => ",",
            Token::Equals => "=",
            Token::Newline => "\n",
        }
    }

    fn nesting(&self) -> isize {
        match self {
            Token::OpenBrace | Token::OpenBracket => 1,
            Token::CloseBrace | Token::CloseBracket => -1,
            Token::Word(_) | Token::Comma | Token::Equals | Token::Newline => 0,
        }
    }

    /// Does a space stand between the two?
    fn parts_from(&self, next: &Token) -> bool {
        match (self, next) {
            (_, Token::Comma) | (Token::OpenBrace, Token::CloseBrace) => false,
            (Token::Comma | Token::OpenBrace, _) | (_, Token::CloseBrace) => true,
            (Token::OpenBracket, _) | (_, Token::CloseBracket) => false,
            _ => true,
        }
    }
}

fn write(value: &Value, tokens: &mut Vec<Token>) {
    let (bare, _) = value.clone().unmark();
    match bare.data() {
        Data::Bool(flag) => tokens.push(Token::Word(flag.to_string())),
        Data::Number(number) => tokens.push(Token::Word(number.to_string())),
        Data::String(text) => tokens.push(Token::Word(quoted(text))),
        _ => {
            if let Some(entries) = bare.as_entries() {
                tokens.push(Token::OpenBrace);
                if !entries.is_empty() {
                    tokens.push(Token::Newline);
                }
                for (key, value) in entries {
                    let key = if is_identifier(key) {
                        key.to_string()
                    } else {
                        quoted(key)
                    };
                    tokens.extend([Token::Word(key), Token::Equals]);
                    write(value, tokens);
                    tokens.push(Token::Newline);
                }
                tokens.push(Token::CloseBrace);
            } else if let Some(items) = bare.as_items() {
                tokens.push(Token::OpenBracket);
                for (at, item) in items.iter().enumerate() {
                    if at > 0 {
                        tokens.push(Token::Comma);
                    }
                    write(item, tokens);
                }
                tokens.push(Token::CloseBracket);
            } else {
                tokens.push(Token::Word("null".to_owned()));
            }
        }
    }
}

fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '$' | '%' => {
                out.push(c);
                if chars.peek() == Some(&'{') {
                    out.push(c);
                }
            }
            c if is_printable(c) => out.push(c),
            c => {
                let code = u32::from(c);
                let _ = if code < 0x1_0000 {
                    write!(out, "\\u{code:04x}")
                } else {
                    write!(out, "\\U{code:08x}")
                };
            }
        }
    }
    out.push('"');
    out
}

struct Line {
    text: String,
    /// How many more brackets it opens than it closes.
    nesting: isize,
    /// Where the sign of an assignment stands that lies on this line alone, in bytes.
    assign: Option<usize>,
}

impl Line {
    fn of(tokens: &[Token]) -> Self {
        let mut text = String::new();
        let mut sign = None;
        let mut after = 0;
        for (at, token) in tokens.iter().enumerate() {
            if at > 0 && tokens.get(at - 1).is_some_and(|before| before.parts_from(token)) {
                text.push(' ');
            }
            if *token == Token::Equals && at > 0 && sign.is_none() {
                sign = Some(text.len());
                after = tokens.iter().skip(at).map(Token::nesting).sum();
            }
            text.push_str(token.text());
        }
        Self {
            text,
            nesting: tokens.iter().map(Token::nesting).sum(),
            assign: sign.filter(|_| after == 0),
        }
    }
}

/// A line is one step deeper for each line above that opens something, however many brackets that opens.
fn indent(lines: &mut [Line]) {
    let mut open: Vec<isize> = Vec::new();
    for line in lines {
        let mut closed = -line.nesting;
        while closed > 0
            && let Some(last) = open.last_mut()
        {
            if closed < *last {
                *last -= closed;
                break;
            }
            closed -= *last;
            open.pop();
        }
        let depth = 2 * open.len();
        line.text.insert_str(0, &" ".repeat(depth));
        line.assign = line.assign.map(|at| at + depth);
        if line.nesting > 0 {
            open.push(line.nesting);
        }
    }
}

/// Signs of assignments on neighbouring lines stand one below the other.
fn align(lines: &mut [Line]) {
    for group in lines.chunk_by_mut(|a, b| a.assign.is_some() == b.assign.is_some()) {
        let columns = |line: &Line| {
            let name = line.text.get(..line.assign?)?;
            Some(name.trim_end().graphemes(true).count())
        };
        let widest = group.iter().filter_map(columns).max().unwrap_or_default();
        for line in group {
            if let (Some(width), Some(at)) = (columns(line), line.assign) {
                line.text.insert_str(at, &" ".repeat(widest - width));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::source_text;
    use crate::{evaluate_constant, fixture::expr};

    fn check(text: &str, expected: &str) {
        let (value, diags) = evaluate_constant(&expr(text));
        assert!(!diags.has_errors(), "{text}: {diags}");
        let got = source_text(&value);
        assert_eq!(got, expected, "{text}");
        assert!(
            evaluate_constant(&expr(&got)).0 == value,
            "{text} reads back otherwise"
        );
    }

    /// Expected texts are what `provider::terraform::encode_expr` of Terraform 1.15.5 gives.
    #[test]
    fn values_are_laid_out_as_hclwrite_does() {
        check("-1.5", "-1.5");
        check("{}", "{}");
        check(
            "[1, [true, null], [], 1e50]",
            "[1, [true, null], [], 100000000000000000000000000000000000000000000000000]",
        );
        check(
            "{ b = 1, long = \"x\", \"a b\" = {}, c = [{ d = 1 }, { e = 2 }], z = { y = 1 }, zz = 2, n = [null, {}] }",
            "{\n  \"a b\" = {}\n  b     = 1\n  c = [{\n    d = 1\n    }, {\n    e = 2\n  }]\n  long = \"x\"\n  n    = [null, {}]\n  z = {\n    y = 1\n  }\n  zz = 2\n}",
        );
        check(
            "[[{ a = 1 }], { b = { c = [{}] } }]",
            "[[{\n  a = 1\n  }], {\n  b = {\n    c = [{}]\n  }\n}]",
        );
        check(
            "{ \"Ünï\" = 1, b = 2, \"日本\" = 3, \"x\\ny\" = 4 }",
            "{\n  b      = 2\n  \"x\\ny\" = 4\n  Ünï    = 1\n  日本     = 3\n}",
        );
    }

    #[test]
    fn texts_are_escaped() {
        let text = r#""a\n\t\"\\$${x} %%{y} $$ \u0007é e\u0301 \u00a0 \u200b""#;
        let (value, _) = evaluate_constant(&expr(text));
        assert_eq!(
            source_text(&value),
            r#""a\n\t\"\\$${x} %%{y} $$ \u0007é é \u00a0 \u200b""#
        );
    }
}
