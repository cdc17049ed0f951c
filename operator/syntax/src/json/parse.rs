//! Tokens to values.
//!
//! After a fault the reader goes on behind what seems to be the end of the object or array, which is given up; where
//! hcl tells several faults of one mistake, so does this.

use ashlar_diag::{Diag, Diags, FileId, Span, json::unquote};

use crate::{
    ast::{Expr, ExprKind, Literal},
    json::{
        JsonItem, JsonObject, JsonString,
        scan::{self, Kind, Token},
    },
    literal,
    parser::{DEPTH_LIMIT, broken},
};

const VALUE: &str = "A value begins with a brace, a bracket, a quote, a number, or is true, false or null.";
/// hcl's word; tools match on it.
const NO_COMMA: &str = "Missing attribute seperator comma";

/// Reads the value that makes up the whole text. What could not be read is [`ExprKind::Broken`]; `None` if a limit was hit.
pub(super) fn value(text: &str, file: FileId) -> (Option<Expr>, Diags) {
    let mut reader = Reader {
        text,
        file,
        tokens: Vec::new(),
        next: 0,
        depth: 0,
        halted: false,
        diags: Diags::new(),
    };
    // Spans count in 32 bits.
    if u32::try_from(text.len()).is_err() {
        let diag = Diag::error("File too large", "A source text must be smaller than 4 GiB.");
        return (None, diag.into());
    }
    reader.tokens = scan::tokens(text);
    let root = reader.value();
    if reader.diags.is_empty() && reader.peek().kind != Kind::End {
        let at = reader.span(reader.peek());
        reader.error(
            at,
            "Extraneous data after value",
            "The value is complete before this.",
        );
    }
    ((!reader.halted).then_some(root), reader.diags)
}

struct Reader<'t> {
    text: &'t str,
    file: FileId,
    tokens: Vec<Token>,
    next: usize,
    depth: u32,
    /// The depth limit was hit: nothing more is read or told.
    halted: bool,
    diags: Diags,
}

impl Reader<'_> {
    fn peek(&self) -> Token {
        let end = Token {
            kind: Kind::End,
            start: self.text.len(),
            end: self.text.len(),
        };
        self.tokens.get(self.next).copied().unwrap_or(end)
    }

    fn read(&mut self) -> Token {
        let token = self.peek();
        if token.kind != Kind::End {
            self.next += 1;
        }
        token
    }

    fn span(&self, token: Token) -> Span {
        Span::new(self.file, token.start, token.end)
    }

    fn text_of(&self, token: Token) -> &str {
        self.text.get(token.start..token.end).unwrap_or("")
    }

    fn error(&mut self, at: Span, summary: &'static str, detail: impl Into<String>) {
        if !self.halted {
            self.diags.push(Diag::error(summary, detail).at(at));
        }
    }

    /// Skips to where the object or array seems to end, from a token taken already.
    fn recover(&mut self, from: Token, open: Kind, close: Kind) {
        let mut token = from;
        let mut nested = 1;
        loop {
            if token.kind == open {
                nested += 1;
            } else if token.kind == close {
                nested -= 1;
                if nested <= 1 {
                    return;
                }
            } else if token.kind == Kind::End {
                return;
            }
            token = self.read();
        }
    }

    fn value(&mut self) -> Expr {
        let token = self.peek();
        let span = self.span(token);
        let (summary, detail) = match token.kind {
            Kind::OpenBrace | Kind::OpenBracket => return self.nested(span, token.kind),
            Kind::Number => return self.number(),
            Kind::String => return self.string(),
            Kind::Word => return self.word(),
            Kind::CloseBrace => ("Missing JSON value", VALUE),
            Kind::CloseBracket => ("Missing array element value", VALUE),
            Kind::End => ("Missing value", "The text ends where a value is expected."),
            Kind::Comma | Kind::Colon | Kind::Equals | Kind::Invalid => ("Invalid start of value", VALUE),
        };
        self.error(span, summary, detail);
        broken(span)
    }

    fn nested(&mut self, open: Span, kind: Kind) -> Expr {
        if self.depth >= DEPTH_LIMIT {
            let detail = format!("Objects and arrays may be nested {DEPTH_LIMIT} deep at most.");
            self.error(open, "Excessive nesting", detail);
            self.halted = true;
            self.next = self.tokens.len();
            return broken(open);
        }
        self.depth += 1;
        let expr = if kind == Kind::OpenBrace {
            self.object()
        } else {
            self.array()
        };
        self.depth -= 1;
        expr.unwrap_or_else(|| broken(open))
    }

    fn object(&mut self) -> Option<Expr> {
        let open = self.read();
        let open = self.span(open);
        let mut items = Vec::new();
        while self.peek().kind != Kind::CloseBrace {
            let key = self.value();
            if !matches!(key.kind, ExprKind::JsonString(_)) {
                let detail = "The name of a property is a string.";
                self.error(key.start(), "Invalid object property name", detail);
                return None;
            }
            let colon = self.read();
            if colon.kind != Kind::Colon {
                self.no_colon(colon);
                return None;
            }
            let colon = self.span(colon);
            let value = self.value();
            items.push(JsonItem { key, colon, value });
            if !self.after_property(open)? {
                break;
            }
        }
        let close = self.read();
        let close = self.span(close);
        Some(Expr {
            span: open.to(close),
            kind: ExprKind::JsonObject(JsonObject { items, open, close }),
        })
    }

    fn no_colon(&mut self, token: Token) {
        let (summary, detail) = match token.kind {
            Kind::CloseBrace | Kind::Comma => (
                "Missing object value",
                "A property has a value, after a colon. A list is written in brackets.",
            ),
            Kind::Equals => (
                "Missing property value colon",
                "In JSON a colon stands between name and value, not an equals sign.",
            ),
            _ => (
                "Missing property value colon",
                "Between a property's name and its value stands a colon.",
            ),
        };
        self.recover(token, Kind::OpenBrace, Kind::CloseBrace);
        self.error(self.span(token), summary, detail);
    }

    /// Goes on behind a property: `Some(true)` to the next one, `Some(false)` to the end; `None` if that went wrong.
    fn after_property(&mut self, open: Span) -> Option<bool> {
        let next = self.peek();
        match next.kind {
            Kind::Comma => {
                self.read();
                if self.peek().kind != Kind::CloseBrace {
                    return Some(true);
                }
                let detail = "After the last property of an object stands no comma.";
                self.error(self.span(next), "Trailing comma in object", detail);
            }
            Kind::CloseBrace => return Some(false),
            Kind::End => self.error(open, "Unclosed object", "This object's closing brace is missing."),
            Kind::CloseBracket => {
                self.read();
                let at = self.span(self.peek());
                self.error(
                    at,
                    "Mismatched braces",
                    "An object ends with a brace, not with a bracket.",
                );
            }
            _ => {
                let token = self.read();
                self.recover(token, Kind::OpenBrace, Kind::CloseBrace);
                let at = self.span(self.peek());
                self.error(at, NO_COMMA, "Between the properties of an object stand commas.");
            }
        }
        None
    }

    fn array(&mut self) -> Option<Expr> {
        let open = self.read();
        let open = self.span(open);
        let mut items = Vec::new();
        while self.peek().kind != Kind::CloseBracket {
            items.push(self.value());
            if !self.after_element(open)? {
                break;
            }
        }
        let close = self.read();
        Some(Expr {
            span: open.to(self.span(close)),
            kind: ExprKind::Tuple { items, open },
        })
    }

    /// As [`Reader::after_property`], for arrays.
    fn after_element(&mut self, open: Span) -> Option<bool> {
        let next = self.peek();
        let (summary, detail) = match next.kind {
            Kind::Comma => {
                self.read();
                if self.peek().kind != Kind::CloseBracket {
                    return Some(true);
                }
                let detail = "After the last element of an array stands no comma.";
                self.error(self.span(next), "Trailing comma in array", detail);
                return None;
            }
            Kind::CloseBracket => return Some(false),
            Kind::End => {
                let detail = "This array's closing bracket is missing.";
                self.error(open, "Unclosed object", detail);
                return None;
            }
            Kind::Colon => (
                "Invalid array value",
                "The elements of an array have no names, so no colon can stand here.",
            ),
            Kind::CloseBrace => (
                "Mismatched brackets",
                "An array ends with a bracket, not with a brace.",
            ),
            _ => (NO_COMMA, "Between the elements of an array stand commas."),
        };
        let token = self.read();
        self.recover(token, Kind::OpenBracket, Kind::CloseBracket);
        self.error(self.span(self.peek()), summary, detail);
        None
    }

    fn number(&mut self) -> Expr {
        let token = self.read();
        let span = self.span(token);
        let text = self.text_of(token);
        if is_json_number(text) && literal::is_number(text.trim_start_matches('-')) {
            let kind = ExprKind::JsonScalar(Literal::Number(text.into()));
            return Expr { kind, span };
        }
        let detail = "A number has digits, perhaps a minus sign before them, a fraction and an exponent; the exponent has \
                      a limit.";
        self.error(span, "Invalid JSON number", detail);
        broken(span)
    }

    fn string(&mut self) -> Expr {
        let token = self.read();
        let span = self.span(token);
        match unquote(self.text_of(token)) {
            Ok(string) => Expr {
                kind: ExprKind::JsonString(Box::new(JsonString::new(string, span))),
                span,
            },
            Err(read) => {
                let at = (token.start + read).min(token.end);
                // Where the string ends, places are counted otherwise than inside a broken one.
                let end = if at + 1 < token.end { at + 1 } else { at };
                let detail = "A string ends with a quote on its own line, and after a backslash stands one of n, r, t, b, \
                              f, \\, /, \" and u with four hexadecimal digits.";
                let fault = Diag::error("Invalid JSON string", detail).at(Span::new(self.file, at, end));
                if !self.halted {
                    self.diags.push(fault.within(span));
                }
                broken(span)
            }
        }
    }

    fn word(&mut self) -> Expr {
        let token = self.read();
        let span = self.span(token);
        let literal = match self.text_of(token) {
            "true" => Literal::Bool(true),
            "false" => Literal::Bool(false),
            "null" => Literal::Null,
            word => {
                let detail = format!("The only words in JSON are true, false and null, not {word:?}.");
                self.error(span, "Invalid JSON keyword", detail);
                return broken(span);
            }
        };
        Expr {
            kind: ExprKind::JsonScalar(literal),
            span,
        }
    }
}

/// Is it a number by JSON's grammar?
fn is_json_number(text: &str) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let text = text.strip_prefix('-').unwrap_or(text);
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (text, None),
    };
    let (whole, fraction) = match mantissa.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (mantissa, None),
    };
    digits(whole)
        && (whole == "0" || !whole.starts_with('0'))
        && fraction.is_none_or(digits)
        && exponent.is_none_or(|exponent| digits(exponent.strip_prefix(['+', '-']).unwrap_or(exponent)))
}
