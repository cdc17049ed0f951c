//! Templates: text with interpolations and directives, quoted, in a heredoc, or a whole file.
//!
//! A template is read in two steps as in hcl: first a flat list of parts, on which `~` and the `<<-` form do their
//! work, then (in `directive`) the tree. `~` trims the neighbouring token only, which is why the lexer's splits
//! matter. The text of a `<<-` heredoc is cut as it stands in the source, never what is put in.

use std::borrow::Cow;

use ashlar_diag::Span;
use unicode_segmentation::UnicodeSegmentation;

use crate::{
    ast::{Expr, ExprKind, Ident},
    directive, literal,
    parser::{Newlines, Parser, between, broken},
    token::{Kind, Token},
};

const BAD_FOR: &str = "Invalid 'for' directive";
const UNCLOSED: &str = "Unclosed template interpolation sequence";

/// One part of a template, before the tree is made.
pub(crate) enum Part<'t> {
    /// Literal text, escapes resolved.
    Text { text: Cow<'t, str>, span: Span },
    /// `${value}`.
    Value(Expr),
    /// `%{ if condition }`.
    If { condition: Expr, span: Span },
    /// `%{ for names in collection }`.
    For {
        key_name: Option<Ident>,
        value_name: Ident,
        collection: Expr,
        span: Span,
    },
    /// `%{ else }`.
    Else(Span),
    /// `%{ endif }`.
    EndIf(Span),
    /// `%{ endfor }`.
    EndFor(Span),
}

impl<'t> Parser<'t> {
    /// Reads a quoted template or a heredoc.
    pub(crate) fn template(&mut self) -> Expr {
        let open = self.read();
        let end = open.kind.opposite().unwrap_or(Kind::CloseQuote);
        let flush = self.token_text(open).starts_with("<<-");
        if !self.enter(1) {
            return broken(self.span(open));
        }
        let (kind, _) = self.template_until(end, flush);
        self.leave(1);
        Expr {
            kind,
            span: between(self.span(open), self.last_span()),
        }
    }

    /// Reads a template that is the whole text.
    pub(crate) fn bare_template(&mut self) -> Expr {
        let (kind, span) = self.template_until(Kind::End, false);
        Expr { kind, span }
    }

    fn template_until(&mut self, end: Kind, flush: bool) -> (ExprKind, Span) {
        let outer = self.measure();
        let start = self.next_span();
        let (mut parts, last) = self.parts(start, end);
        if flush {
            dedent(&mut parts);
        }
        let mut parts = meld(parts);
        let kind = match parts.as_slice() {
            // An interpolation alone hands its value on as it is.
            [Part::Value(_)] => match parts.pop() {
                Some(Part::Value(value)) => ExprKind::Wrap(Box::new(value)),
                _ => ExprKind::Broken,
            },
            _ => ExprKind::Template(directive::tree(self, parts, last)),
        };
        self.grow(1);
        self.merge(outer);
        (kind, between(start, last))
    }

    /// Reads parts up to `end`, which is taken too; gives them and the place of the end.
    fn parts(&mut self, start: Span, end: Kind) -> (Vec<Part<'t>>, Span) {
        let mut parts: Vec<Part<'t>> = Vec::new();
        // Set by `~}`: the next token, if text, loses the blanks it begins with.
        let mut trim = false;
        let mut after_text = false;
        let last = loop {
            let token = self.read();
            if token.kind == end {
                break self.span(token);
            }
            let trim_this = std::mem::take(&mut trim);
            let follows_text = std::mem::take(&mut after_text);
            match token.kind {
                Kind::PlainText | Kind::QuotedText => {
                    let text = literal::text(self, token);
                    let text = if trim_this { trim_start(text) } else { text };
                    parts.push(Part::Text {
                        text,
                        span: self.span(token),
                    });
                    after_text = true;
                }
                Kind::Interpolation | Kind::Directive => {
                    if follows_text && self.token_text(token).ends_with('~') {
                        trim_end(&mut parts);
                    }
                    self.push_newlines(Newlines::Blank);
                    trim = if token.kind == Kind::Interpolation {
                        self.interpolation(&mut parts, start, end)
                    } else {
                        self.directive(&mut parts, start, token)
                    };
                    self.pop_newlines();
                }
                _ => {
                    if !self.recovery {
                        let at = self.span(token);
                        let detail = "The text goes on to here without its closing mark.";
                        self.error(
                            at,
                            Some(between(start, at)),
                            "Unterminated template string",
                            detail,
                        );
                    }
                    let found = self.recover(end);
                    break self.span(found);
                }
            }
        };
        if parts.is_empty() {
            parts.push(Part::Text {
                text: Cow::Borrowed(""),
                span: start.end_point(),
            });
        }
        (parts, last)
    }

    /// Reads the rest of `${value}`; was it closed with `~`?
    fn interpolation(&mut self, parts: &mut Vec<Part<'t>>, start: Span, end: Kind) -> bool {
        let value = self.expr();
        parts.push(Part::Value(value));
        let close = self.peek();
        if close.kind == Kind::SequenceEnd {
            return self.close_sequence();
        }
        if !self.recovery {
            self.bad_interpolation(close, start, end);
        }
        self.recover(Kind::SequenceEnd);
        false
    }

    fn bad_interpolation(&mut self, close: Token, start: Span, end: Kind) {
        let at = self.span(close);
        if close.kind == Kind::End {
            let detail = "The file ends before this interpolation's closing brace.";
            self.error(start, None, UNCLOSED, detail);
        } else if end == Kind::CloseQuote && matches!(close.kind, Kind::CloseQuote | Kind::OpenQuote) {
            let detail = "The text in quotes ends before this interpolation's closing brace.";
            self.error(start, None, UNCLOSED, detail);
        } else {
            let detail = "Here the interpolated expression is at its end, so a closing brace is expected. If this text is \
                          meant for another program, such as a shell, write $${ to have ${ in it.";
            let within = Some(between(start, at));
            self.error(
                at,
                within,
                "Extra characters after interpolation expression",
                detail,
            );
        }
    }

    /// Takes the closing brace; does it have a `~`?
    fn close_sequence(&mut self) -> bool {
        let close = self.read();
        close.end - close.start == 2
    }

    /// Reads the rest of `%{ … }`; was it closed with `~`?
    fn directive(&mut self, parts: &mut Vec<Part<'t>>, start: Span, open: Token) -> bool {
        let open = self.span(open);
        let word = self.peek();
        // A directive needs about twice the stack of other constructs.
        if !self.enter(1) {
            return false;
        }
        let part = self.directive_part(open, word);
        self.leave(1);
        let Some(part) = part else {
            self.recover(Kind::SequenceEnd);
            return false;
        };
        parts.push(part);
        let close = self.peek();
        if close.kind == Kind::SequenceEnd {
            return self.close_sequence();
        }
        if !self.recovery {
            let at = self.span(close);
            let summary = format!("Extra characters in {} marker", self.token_text(word));
            let detail = "Here the directive is at its end, so a closing brace is expected.";
            self.error(at, Some(between(start, at)), summary, detail);
        }
        self.recover(Kind::SequenceEnd);
        false
    }

    /// Reads a directive up to its closing brace; `None`, and told, if it is none.
    fn directive_part(&mut self, open: Span, word: Token) -> Option<Part<'t>> {
        let at = self.span(word);
        if word.kind != Kind::Ident {
            if !self.recovery {
                let detail = "A directive begins with one of the words if, else, endif, for and endfor.";
                self.error(at, Some(between(open, at)), "Invalid template directive", detail);
            }
            return None;
        }
        self.read();
        Some(match self.token_text(word) {
            "if" => {
                let condition = self.expr();
                Part::If {
                    condition,
                    span: between(open, self.next_span()),
                }
            }
            "for" => return self.for_directive(open),
            "else" => Part::Else(between(open, self.next_span())),
            "endif" => Part::EndIf(between(open, self.next_span())),
            "endfor" => Part::EndFor(between(open, self.next_span())),
            other => {
                if !self.recovery {
                    let detail =
                        format!("{other:?} is no directive; there are if, else, endif, for and endfor.");
                    self.error(
                        at,
                        Some(between(open, at)),
                        "Invalid template control keyword",
                        detail,
                    );
                }
                return None;
            }
        })
    }

    fn for_directive(&mut self, open: Span) -> Option<Part<'t>> {
        let mut key_name = None;
        let mut value_name = self.for_directive_name("After for comes a name for each element.")?;
        if self.at(Kind::Comma) {
            self.read();
            let second = self.for_directive_name("After the comma comes a name for each element's value.")?;
            key_name = Some(std::mem::replace(&mut value_name, second));
        }
        if !self.at_word("in") {
            return self
                .bad_for_directive("After the names comes the word in, and then what is to be iterated.");
        }
        self.read();
        let collection = self.expr();
        Some(Part::For {
            key_name,
            value_name,
            collection,
            span: between(open, self.next_span()),
        })
    }

    fn for_directive_name(&mut self, detail: &'static str) -> Option<Ident> {
        if !self.at(Kind::Ident) {
            return self.bad_for_directive(detail);
        }
        let token = self.read();
        Some(self.ident(token))
    }

    fn bad_for_directive<T>(&mut self, detail: &'static str) -> Option<T> {
        if !self.recovery {
            self.error(self.next_span(), None, BAD_FOR, detail);
        }
        None
    }
}

fn trim_start(text: Cow<'_, str>) -> Cow<'_, str> {
    match text {
        Cow::Borrowed(text) => Cow::Borrowed(text.trim_start()),
        Cow::Owned(text) => Cow::Owned(text.trim_start().to_owned()),
    }
}

/// `~` after an opening: the text before loses the blanks it ends with.
fn trim_end(parts: &mut [Part<'_>]) {
    if let Some(Part::Text { text, .. }) = parts.last_mut() {
        *text = match std::mem::take(text) {
            Cow::Borrowed(text) => Cow::Borrowed(text.trim_end()),
            Cow::Owned(text) => Cow::Owned(text.trim_end().to_owned()),
        };
    }
}

/// Cuts from each line the blanks that all lines have in common (`<<-`). Characters count, not their width; a line of
/// blanks only counts for nothing and is left as it is.
fn dedent(parts: &mut [Part<'_>]) {
    let mut common = usize::MAX;
    let mut line_start = true;
    for part in &*parts {
        if line_start {
            common = common.min(indent(part).unwrap_or(usize::MAX));
        }
        line_start = ends_line(part);
    }
    if common == 0 || common == usize::MAX {
        return;
    }
    let mut line_start = true;
    for part in parts {
        let ends = ends_line(part);
        if line_start && indent(part).is_some() {
            cut(part, common);
        }
        line_start = ends;
    }
}

fn ends_line(part: &Part<'_>) -> bool {
    matches!(part, Part::Text { text, .. } if text.ends_with('\n'))
}

fn cut(part: &mut Part<'_>, characters: usize) {
    let Part::Text { text, span } = part else { return };
    let bytes = text.graphemes(true).take(characters).map(str::len).sum::<usize>();
    *text = match std::mem::take(text) {
        Cow::Borrowed(text) => Cow::Borrowed(text.get(bytes..).unwrap_or("")),
        Cow::Owned(text) => Cow::Owned(text.get(bytes..).unwrap_or("").to_owned()),
    };
    span.start = span
        .start
        .saturating_add(u32::try_from(bytes).unwrap_or(u32::MAX))
        .min(span.end);
}

/// How many blanks a line begins with whose first part this is; `None` for a line of blanks only.
fn indent(part: &Part<'_>) -> Option<usize> {
    let Part::Text { text, .. } = part else {
        return Some(0);
    };
    let blanks = text.len() - text.trim_start().len();
    if blanks == text.len() && text.ends_with('\n') {
        return None;
    }
    Some(text.get(..blanks).unwrap_or("").graphemes(true).count())
}

/// Joins texts that follow each other.
fn meld(parts: Vec<Part<'_>>) -> Vec<Part<'_>> {
    let mut out: Vec<Part<'_>> = Vec::with_capacity(parts.len().min(16));
    for part in parts {
        match (out.last_mut(), part) {
            (
                Some(Part::Text { text, span }),
                Part::Text {
                    text: more,
                    span: next,
                },
            ) => {
                text.to_mut().push_str(&more);
                span.end = next.end;
            }
            (_, part) => out.push(part),
        }
    }
    out
}
