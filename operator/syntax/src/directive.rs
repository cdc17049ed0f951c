//! The parts of a template to a tree: `if` becomes a conditional, `for` a join over a for expression.
//!
//! Last step of reading a template. Branches without content stand for empty text.

use std::{iter::Peekable, vec::IntoIter};

use ashlar_diag::Span;

use crate::{
    ast::{Expr, ExprKind, For, Ident, Literal},
    literal,
    parser::{Parser, between, broken},
    template::Part,
};

const UNBALANCED: &str = "The directives of this template do not fit together.";

/// Makes the tree; `end` is the place where the template ends.
pub(crate) fn tree(parser: &mut Parser<'_>, parts: Vec<Part<'_>>, end: Span) -> Vec<Expr> {
    let mut out = Vec::with_capacity(parts.len());
    let mut builder = Builder {
        parser,
        parts: parts.into_iter().peekable(),
        end,
        level: 0,
        deepest: 0,
    };
    while let Some(part) = builder.parts.next() {
        out.push(builder.expr(part));
    }
    // A directive puts up to three nodes on top of its content.
    let levels = builder.deepest * 3;
    parser.grow(levels);
    out
}

struct Builder<'p, 't> {
    parser: &'p mut Parser<'t>,
    parts: Peekable<IntoIter<Part<'p>>>,
    end: Span,
    level: u32,
    deepest: u32,
}

impl Builder<'_, '_> {
    fn expr(&mut self, part: Part<'_>) -> Expr {
        match part {
            Part::Text { text, span } => Expr {
                kind: ExprKind::Literal(literal::string(&text)),
                span,
            },
            Part::Value(value) => value,
            Part::If { condition, span } => self.nested(|builder| builder.if_expr(condition, span)),
            Part::For {
                key_name,
                value_name,
                collection,
                span,
            } => self.nested(|builder| builder.for_expr(key_name, value_name, collection, span)),
            Part::Else(span) => self.unexpected("else", span, UNBALANCED),
            Part::EndIf(span) => self.unexpected("endif", span, UNBALANCED),
            Part::EndFor(span) => self.unexpected("endfor", span, UNBALANCED),
        }
    }

    fn nested(&mut self, read: impl FnOnce(&mut Self) -> Expr) -> Expr {
        if !self.parser.enter(1) {
            self.parts = Vec::new().into_iter().peekable();
            return broken(self.end);
        }
        self.level += 1;
        self.deepest = self.deepest.max(self.level);
        let expr = read(self);
        self.level -= 1;
        self.parser.leave(1);
        expr
    }

    fn unexpected(&mut self, word: &str, at: Span, detail: &str) -> Expr {
        self.parser
            .error(at, None, format!("Unexpected {word} directive"), detail);
        broken(at)
    }

    fn no_end(&mut self, detail: &str) -> Expr {
        self.parser
            .error(self.end, None, "Unexpected end of template", detail);
        broken(self.end)
    }

    fn if_expr(&mut self, condition: Expr, open: Span) -> Expr {
        let (mut yes, mut no) = (Vec::new(), Vec::new());
        let mut in_else = false;
        let close = loop {
            match self.parts.next() {
                None => return self.no_end("An if directive is not ended by endif."),
                Some(Part::EndIf(span)) => break span,
                Some(Part::Else(_)) if !in_else => in_else = true,
                Some(Part::Else(span)) => {
                    return self.unexpected("else", span, "This if directive has an else already.");
                }
                Some(Part::EndFor(span)) => {
                    return self.unexpected(
                        "endfor",
                        span,
                        "An if directive is open here, which endif ends.",
                    );
                }
                Some(part) => {
                    let expr = self.expr(part);
                    if in_else { no.push(expr) } else { yes.push(expr) }
                }
            }
        };
        let kind = ExprKind::Conditional {
            condition: Box::new(condition),
            yes: Box::new(content(yes, open.end_point())),
            no: Box::new(content(
                no,
                Span {
                    end: close.start,
                    ..close
                },
            )),
        };
        Expr {
            kind,
            span: between(open, close),
        }
    }

    fn for_expr(&mut self, key_name: Option<Ident>, value_name: Ident, collection: Expr, open: Span) -> Expr {
        let mut parts = Vec::new();
        let close = loop {
            match self.parts.next() {
                None => return self.no_end("A for directive is not ended by endfor."),
                Some(Part::EndFor(span)) => break span,
                Some(Part::Else(span)) => {
                    return self.unexpected("else", span, "A for directive has no else.");
                }
                Some(Part::EndIf(span)) => {
                    return self.unexpected(
                        "endif",
                        span,
                        "A for directive is open here, which endfor ends.",
                    );
                }
                Some(part) => parts.push(self.expr(part)),
            }
        };
        let value = content(parts, open.end_point());
        let (key, condition) = (None, None);
        let span = between(open, close);
        let for_ = For {
            key_name,
            value_name,
            collection,
            key,
            value,
            condition,
            group: false,
            open,
            close,
        };
        let tuple = Expr {
            kind: ExprKind::For(Box::new(for_)),
            span,
        };
        Expr {
            kind: ExprKind::Join(Box::new(tuple)),
            span,
        }
    }
}

/// A branch's content as a template; empty text at `place` if there is none.
fn content(mut parts: Vec<Expr>, place: Span) -> Expr {
    if parts.is_empty() {
        parts.push(Expr {
            kind: ExprKind::Literal(Literal::String("".into())),
            span: place,
        });
    }
    let first = parts.first().map_or(place, |part| part.span);
    let last = parts.last().map_or(place, |part| part.span);
    Expr {
        kind: ExprKind::Template(parts),
        span: between(first, last),
    }
}
