//! What follows a term: attribute access, indexes, splats; and static paths alone.
//!
//! Steps with literal keys are gathered into one node, so that references can be read off the tree; a step that must be
//! evaluated makes a node of its own.

use ashlar_diag::Span;

use crate::{
    ast::{Expr, ExprKind, Literal, Step, Traversal},
    literal,
    parser::{Newlines, Parser, between, broken},
    token::{Kind, Token},
};

const NO_NAME: &str = "After a dot the name of an attribute is expected.";

impl Parser<'_> {
    /// Reads all steps after `from`.
    pub(crate) fn postfix(&mut self, from: Expr) -> Expr {
        let start = from.span;
        let mut expr = from;
        loop {
            match self.peek().kind {
                Kind::Dot => expr = self.after_dot(expr, start),
                Kind::OpenBracket => expr = self.brackets(expr, start),
                _ => return expr,
            }
        }
    }

    fn after_dot(&mut self, expr: Expr, start: Span) -> Expr {
        let dot = self.read();
        let dot = self.span(dot);
        let next = self.peek();
        let next_span = self.span(next);
        match next.kind {
            Kind::Ident => {
                self.read();
                let step = Step::Attr {
                    name: self.token_text(next).into(),
                    span: between(dot, next_span),
                };
                self.step(expr, step)
            }
            Kind::Number => {
                self.read();
                match self.legacy_index(next, next_span) {
                    Some(key) => self.step(
                        expr,
                        Step::Index {
                            key,
                            span: between(dot, next_span),
                        },
                    ),
                    None => self.index(expr, start, broken(next_span), between(dot, next_span)),
                }
            }
            Kind::Star => {
                self.read();
                self.attribute_splat(expr, start, between(dot, next_span), next)
            }
            _ => {
                self.error(next_span, None, "Invalid attribute name", NO_NAME);
                self.recovery = true;
                self.broken_off(between(start, dot))
            }
        }
    }

    /// The key of the old form `.0`. Two of them in a row look like one number with a point, and are refused.
    fn legacy_index(&mut self, token: Token, blamed: Span) -> Option<Literal> {
        if let Some((first, second)) = self.token_text(token).split_once('.') {
            let detail = format!(
                "Two indexes in a row cannot be written with dots. Use brackets: [{first}][{second}]."
            );
            self.error(blamed, None, "Invalid legacy index syntax", detail);
            return None;
        }
        literal::number(self, token)
    }

    /// `.*` takes names and old indexes only; brackets after it are applied to the whole result.
    fn attribute_splat(&mut self, source: Expr, start: Span, marker: Span, star: Token) -> Expr {
        let outer = self.measure();
        let mut each = Expr {
            kind: ExprKind::Item,
            span: marker,
        };
        // Whatever is wrong after it, hcl blames the star.
        let blamed = self.span(star);
        while self.at(Kind::Dot) {
            let dot = self.read();
            let dot = self.span(dot);
            let next = self.peek();
            let span = between(dot, self.span(next));
            match next.kind {
                Kind::Number => {
                    self.read();
                    each = match self.legacy_index(next, blamed) {
                        Some(key) => self.step(each, Step::Index { key, span }),
                        None => self.index(each, marker, broken(span), span),
                    };
                }
                Kind::Ident => {
                    self.read();
                    each = self.step(
                        each,
                        Step::Attr {
                            name: self.token_text(next).into(),
                            span,
                        },
                    );
                }
                other => {
                    if !self.recovery {
                        if other == Kind::Star {
                            let detail = "Within .* another one cannot stand. Use [*] for the outer one.";
                            let at = self.span(next);
                            self.error(at, None, "Nested splat expression not allowed", detail);
                        } else {
                            self.error(blamed, None, "Invalid attribute name", NO_NAME);
                        }
                    }
                    self.recovery = true;
                    self.merge(outer);
                    return source;
                }
            }
        }
        self.merge(outer);
        self.splat(source, start, each, marker)
    }

    fn splat(&mut self, source: Expr, start: Span, each: Expr, marker: Span) -> Expr {
        self.grow(1);
        let span = between(start, each.span);
        Expr {
            kind: ExprKind::Splat {
                source: Box::new(source),
                each: Box::new(each),
                marker,
            },
            span,
        }
    }

    fn brackets(&mut self, expr: Expr, start: Span) -> Expr {
        let open = self.read();
        let open = self.span(open);
        if self.at(Kind::Star) {
            return self.full_splat(expr, start, open);
        }
        self.push_newlines(Newlines::Blank);
        let mark = self.mark();
        let key = self.expr();
        let close = if self.lost_since(mark) {
            self.recover(Kind::CloseBracket)
        } else {
            self.index_close()
        };
        self.pop_newlines();
        let span = between(open, self.span(close));
        match static_key(key) {
            Ok(key) => self.step(expr, Step::Index { key, span }),
            Err(key) => self.index(expr, start, key, span),
        }
    }

    fn index_close(&mut self) -> Token {
        let close = self.read();
        if close.kind == Kind::CloseBracket || self.recovery {
            return close;
        }
        // hcl blames the bracket that it finds in the end.
        let found = self.recover(Kind::CloseBracket);
        let detail = "An index holds one key, and its closing bracket follows at once.";
        self.error(self.span(found), None, "Missing close bracket on index", detail);
        found
    }

    /// `[*]` takes all steps that follow.
    fn full_splat(&mut self, source: Expr, start: Span, open: Span) -> Expr {
        self.read();
        let mut close = self.read();
        if close.kind != Kind::CloseBracket && !self.recovery {
            close = self.recover(Kind::CloseBracket);
            let detail = "In a splat nothing but the star stands between the brackets.";
            self.error(
                self.span(close),
                None,
                "Missing close bracket on splat index",
                detail,
            );
        }
        let marker = between(open, self.span(close));
        if !self.enter(1) {
            return source;
        }
        let outer = self.measure();
        let each = self.postfix(Expr {
            kind: ExprKind::Item,
            span: marker,
        });
        self.merge(outer);
        self.leave(1);
        self.splat(source, start, each, marker)
    }

    fn index(&mut self, collection: Expr, start: Span, key: Expr, brackets: Span) -> Expr {
        self.grow(1);
        let kind = ExprKind::Index {
            collection: Box::new(collection),
            key: Box::new(key),
            brackets,
        };
        Expr {
            kind,
            span: between(start, brackets),
        }
    }

    /// Adds a static step, to the steps before it if there are any.
    fn step(&mut self, mut expr: Expr, step: Step) -> Expr {
        let span = between(expr.span, step.span());
        if let ExprKind::Traversal(Traversal { steps, .. }) | ExprKind::Relative { steps, .. } =
            &mut expr.kind
        {
            steps.push(step);
            expr.span = span;
            return expr;
        }
        self.grow(1);
        Expr {
            kind: ExprKind::Relative {
                source: Box::new(expr),
                steps: vec![step],
            },
            span,
        }
    }

    /// Reads a static path that makes up the whole text. What was read before a fault comes back with it.
    pub(crate) fn path(&mut self) -> Option<Traversal> {
        let root = self.read();
        let from = self.span(root);
        if root.kind != Kind::Ident {
            self.error(
                from,
                None,
                "Variable name required",
                "A reference begins with a name.",
            );
            return None;
        }
        let mut traversal = Traversal {
            root: self.ident(root),
            steps: Vec::new(),
        };
        loop {
            let next = self.peek();
            let step = match next.kind {
                Kind::End => return Some(traversal),
                Kind::Dot => self.path_name(from),
                Kind::OpenBracket => self.path_index(from),
                _ => {
                    let at = self.span(next);
                    let detail = "Here a dot with a name, or an index in brackets, is expected.";
                    self.error(at, Some(between(from, at)), "Invalid character", detail);
                    None
                }
            };
            match step {
                Some(step) => traversal.steps.push(step),
                None => return Some(traversal),
            }
        }
    }

    fn path_name(&mut self, from: Span) -> Option<Step> {
        let dot = self.read();
        let name = self.read();
        let at = self.span(name);
        if name.kind == Kind::Ident {
            return Some(Step::Attr {
                name: self.token_text(name).into(),
                span: between(self.span(dot), at),
            });
        }
        let detail = if name.kind == Kind::Star {
            "A splat cannot stand in this reference."
        } else {
            NO_NAME
        };
        self.error(at, Some(between(from, at)), "Attribute name required", detail);
        None
    }

    fn path_index(&mut self, from: Span) -> Option<Step> {
        let open = self.read();
        let open = self.span(open);
        let next = self.peek();
        let mark = self.mark();
        let key = match next.kind {
            Kind::Number => {
                self.read();
                literal::number(self, next)
            }
            Kind::OpenQuote => Some(literal::string(&self.quoted_literal().0)),
            other => {
                let at = self.span(next);
                let (summary, detail) = if other == Kind::Star {
                    (
                        "Attribute name required",
                        "A splat cannot stand in this reference.",
                    )
                } else {
                    (
                        "Index value required",
                        "In this reference an index is a number or a text in quotes.",
                    )
                };
                self.error(at, Some(between(from, at)), summary, detail);
                return None;
            }
        };
        let close = self.read();
        let span = between(open, self.span(close));
        if close.kind != Kind::CloseBracket {
            let detail = "After its key an index is closed by a bracket.";
            self.error(self.span(close), Some(span), "Unclosed index brackets", detail);
        }
        if self.errors_since(mark) {
            None
        } else {
            key.map(|key| Step::Index { key, span })
        }
    }
}

/// The key if it needs no evaluation, else the expression back.
fn static_key(key: Expr) -> Result<Literal, Expr> {
    match key {
        Expr {
            kind: ExprKind::Literal(key),
            ..
        } => Ok(key),
        Expr {
            kind: ExprKind::Template(mut parts),
            span,
        } => match parts.pop() {
            Some(Expr {
                kind: ExprKind::Literal(key @ Literal::String(_)),
                ..
            }) if parts.is_empty() => Ok(key),
            last => {
                parts.extend(last);
                Err(Expr {
                    kind: ExprKind::Template(parts),
                    span,
                })
            }
        },
        other => Err(other),
    }
}
