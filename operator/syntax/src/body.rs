//! Bodies: arguments and blocks.
//!
//! The top of the grammar. A fault in one item leaves the others to be read: the body that comes out holds what could
//! be understood.

use std::collections::HashSet;

use ashlar_diag::Span;

use crate::{
    ast::{Attribute, Block, Body, Ident},
    literal,
    parser::{Parser, between},
    token::{Kind, Token},
};

const ITEM_NEEDED: &str = "Argument or block definition required";
const ONE_LINE: &str = "Invalid single-argument block definition";

enum Item {
    Attribute(Attribute),
    Block(Block),
}

impl Parser<'_> {
    /// Reads items up to `end`, which is taken too.
    pub(crate) fn body(&mut self, end: Kind) -> Body {
        let start = self.last_span();
        let mut body = Body::default();
        let mut seen = HashSet::new();
        let last = loop {
            let next = self.peek();
            if next.kind == end {
                self.read();
                break self.span(next);
            }
            match next.kind {
                Kind::Newline => {
                    self.read();
                }
                Kind::Ident => match self.item() {
                    Some(Item::Block(block)) => body.blocks.push(block),
                    Some(Item::Attribute(attribute)) => {
                        let (name, span) = (&attribute.name.name, attribute.name.span);
                        if seen.insert(name.clone()) {
                            body.attributes.push(attribute);
                        } else {
                            let detail = format!(
                                "{name:?} has a value in this body already; each argument is set once."
                            );
                            self.error(span, None, "Attribute redefined", detail);
                        }
                    }
                    None => {}
                },
                _ => {
                    self.read();
                    if !self.recovery {
                        self.unexpected_in_body(next, start, end);
                    }
                    let last = self.last_span();
                    self.recover(end);
                    break last;
                }
            }
        };
        body.span = Some(between(start, last));
        body.end = Some(last.end_point());
        body
    }

    fn unexpected_in_body(&mut self, token: Token, start: Span, end: Kind) {
        let at = self.span(token);
        match token.kind {
            Kind::OpenQuote => {
                self.error(
                    at,
                    None,
                    "Invalid argument name",
                    "The name of an argument is written without quotes.",
                );
            }
            Kind::End if end == Kind::CloseBrace => {
                let detail = "The file ends before this block's closing brace. A brace may be missing, or be one too \
                              many, somewhere before.";
                self.error(start, None, "Unclosed configuration block", detail);
            }
            _ => self.error(
                at,
                None,
                ITEM_NEEDED,
                "Here the name of an argument or the type of a block is expected.",
            ),
        }
    }

    fn item(&mut self) -> Option<Item> {
        let name = self.read();
        match self.peek().kind {
            Kind::Assign => Some(Item::Attribute(self.attribute(name, false))),
            Kind::OpenQuote | Kind::OpenBrace | Kind::Ident => {
                if !self.enter(2) {
                    return None;
                }
                let block = self.block(name);
                self.leave(2);
                Some(Item::Block(block))
            }
            _ => {
                self.recover_after_item();
                self.lone_name(name);
                None
            }
        }
    }

    fn lone_name(&mut self, name: Token) {
        let detail = "A name alone sets nothing. Give the argument a value with an equals sign, or the block a body in \
                      braces.";
        self.error(self.span(name), None, ITEM_NEEDED, detail);
    }

    /// Reads `= value` and, unless the block is on one line, the newline behind it.
    fn attribute(&mut self, name: Token, one_line: bool) -> Attribute {
        let equals = self.read();
        let mark = self.mark();
        let expr = self.expr();
        let last = self.last_span();
        if self.lost_since(mark) {
            self.recover_after_item();
        } else if !one_line {
            let end = self.peek();
            if end.kind == Kind::Newline || end.kind == Kind::End {
                self.read();
            } else {
                if !self.recovery {
                    let (summary, detail) = if end.kind == Kind::Comma {
                        (
                            "Unexpected comma after argument",
                            "Arguments are separated by line breaks, not by commas.",
                        )
                    } else {
                        (
                            "Missing newline after argument",
                            "After its value an argument ends with the line.",
                        )
                    };
                    let at = self.span(end);
                    self.error(at, Some(between(self.span(name), at)), summary, detail);
                }
                self.recover_after_item();
            }
        }
        Attribute {
            name: self.ident(name),
            equals: self.span(equals),
            expr,
            span: between(self.span(name), last),
        }
    }

    fn block(&mut self, kind: Token) -> Block {
        let kind_span = self.span(kind);
        let mut labels = Vec::new();
        let open = loop {
            let token = self.peek();
            match token.kind {
                Kind::OpenBrace => {
                    self.read();
                    break self.span(token);
                }
                Kind::OpenQuote => {
                    let (name, span) = self.quoted_literal();
                    labels.push(Ident {
                        name: name.into(),
                        span,
                    });
                }
                Kind::Ident => {
                    self.read();
                    labels.push(self.ident(token));
                }
                _ => {
                    self.bad_header(kind_span, token);
                    self.recover_after_item();
                    let body = Body {
                        span: Some(kind_span),
                        end: Some(kind_span),
                        ..Body::default()
                    };
                    return Block {
                        kind: self.ident(kind),
                        labels,
                        body,
                        open: kind_span,
                        close: kind_span,
                        bracket: None,
                    };
                }
            }
        };
        // hcl tells faults of a one-line body after those of its braces.
        let mark = self.mark();
        let body = if matches!(self.peek().kind, Kind::Newline | Kind::End | Kind::CloseBrace) {
            Some(self.body(Kind::CloseBrace))
        } else {
            let body = self.one_line_body();
            let later = self.take_since(mark);
            self.close_one_line(kind_span, open);
            self.tell(later);
            body
        };
        let close = self.last_span();
        let end = self.peek();
        if end.kind == Kind::Newline || end.kind == Kind::End {
            self.read();
        } else {
            if !self.recovery {
                let at = self.span(end);
                let detail = "Nothing may follow a block's closing brace on its line.";
                self.error(
                    at,
                    Some(between(kind_span, at)),
                    "Missing newline after block definition",
                    detail,
                );
            }
            self.recover_after_item();
        }
        let body = body.unwrap_or_else(|| Body {
            span: Some(between(open, close)),
            end: Some(close),
            ..Body::default()
        });
        Block {
            kind: self.ident(kind),
            labels,
            body,
            open,
            close,
            bracket: None,
        }
    }

    fn bad_header(&mut self, kind: Span, token: Token) {
        let detail = match token.kind {
            Kind::Assign => {
                "An equals sign gives an argument its value; a block's body follows its header directly."
            }
            Kind::Newline => {
                "The opening brace of a block's body stands on the same line as the block's type and labels."
            }
            _ if self.recovery => return,
            _ => "After a block's type come its labels, in quotes, and then an opening brace.",
        };
        let at = self.span(token);
        self.error(at, Some(between(kind, at)), "Invalid block definition", detail);
    }

    /// The body of a block written on one line: one argument and no more.
    fn one_line_body(&mut self) -> Option<Body> {
        let name = self.read();
        if name.kind != Kind::Ident {
            self.recover_after_item();
            let detail = "Here the name of an argument is expected.";
            self.error(self.span(name), None, ITEM_NEEDED, detail);
            return None;
        }
        let next = self.peek();
        match next.kind {
            Kind::Assign => {
                let attribute = self.attribute(name, true);
                let span = attribute.span;
                Some(Body {
                    attributes: vec![attribute],
                    span: Some(span),
                    end: Some(span.end_point()),
                    ..Body::default()
                })
            }
            Kind::OpenQuote | Kind::OpenBrace | Kind::Ident => {
                self.recover_after_item();
                let detail = "A block written on one line holds a single argument. Put a nested block on a line of its \
                              own; give an argument its value with an equals sign.";
                let at = between(self.span(name), self.span(next));
                self.error(at, None, "Argument definition required", detail);
                None
            }
            _ => {
                self.recover_after_item();
                self.lone_name(name);
                None
            }
        }
    }

    fn close_one_line(&mut self, kind: Span, open: Span) {
        let next = self.peek();
        let at = self.span(next);
        match next.kind {
            Kind::CloseBrace => {
                self.read();
                return;
            }
            Kind::Comma => {
                let detail = "A block written on one line holds a single argument. Put each of several on a line of \
                              its own.";
                self.error(at, None, ONE_LINE, detail);
            }
            Kind::Newline => {
                let detail = "A block whose argument stands on the line of its opening brace is closed on that line too.";
                self.error(at, None, ONE_LINE, detail);
            }
            _ if self.recovery => {}
            Kind::End => {
                let detail = "The file ends before this block's closing brace. A brace may be missing, or be one too \
                              many, somewhere before.";
                self.error(
                    open,
                    Some(between(kind, open)),
                    "Unclosed configuration block",
                    detail,
                );
            }
            _ => {
                let detail = "After its single argument a block written on one line is closed at once.";
                self.error(at, None, ONE_LINE, detail);
            }
        }
        self.recover(Kind::CloseBrace);
    }

    /// Reads text in quotes that may hold no sequences, such as a label.
    pub(crate) fn quoted_literal(&mut self) -> (String, Span) {
        let open = self.read();
        let start = self.span(open);
        let mut text = String::new();
        loop {
            let token = self.read();
            let at = self.span(token);
            match token.kind {
                Kind::CloseQuote => return (text, between(start, at)),
                Kind::QuotedText => text.push_str(&literal::text(self, token)),
                Kind::Interpolation | Kind::Directive => {
                    let sign = if token.kind == Kind::Interpolation {
                        '$'
                    } else {
                        '%'
                    };
                    let detail = format!(
                        "This text is taken as it stands. To have {sign}{{ in it, write {sign}{sign}{{."
                    );
                    self.error(at, Some(between(start, at)), "Invalid string literal", detail);
                    // Whoever looks at the broken tree shall not take this for the text that was meant.
                    text.push(sign);
                    text.push_str("{ ... }");
                    self.recover(Kind::SequenceEnd);
                }
                Kind::End => {
                    let detail = "The file ends before the closing quote.";
                    self.error(
                        at,
                        Some(between(start, at)),
                        "Unterminated string literal",
                        detail,
                    );
                    return (text, between(start, at));
                }
                _ => {
                    let detail = "This cannot stand in such a text.";
                    self.error(at, Some(between(start, at)), "Invalid string literal", detail);
                    self.recover(Kind::CloseQuote);
                    return (text, between(start, at));
                }
            }
        }
    }
}
