//! What stands in brackets: calls, tuples, objects, `for`.

use ashlar_diag::Span;

use crate::{
    ast::{Call, Expr, ExprKind, For, Ident, ObjectItem, ObjectKey},
    parser::{Newlines, Parser, between, broken},
    token::{Kind, Token},
};

const BAD_FOR: &str = "Invalid 'for' expression";
const OPEN_OBJECT: &str = "Unterminated object constructor expression";
const FILE_ENDS: &str = "The file ends before the closing bracket. A bracket may be missing, or be one too many, \
                         somewhere before.";

impl Parser<'_> {
    /// Reads the rest of a call; `first` was its name, or the first namespace of it.
    pub(crate) fn call(&mut self, first: Token) -> Expr {
        let (name, open) = match self.call_name(first) {
            Ok(found) => found,
            Err(broken) => return broken,
        };
        let outer = self.measure();
        self.push_newlines(Newlines::Blank);
        let (args, expand_last, close) = self.arguments(name.span, open);
        self.pop_newlines();
        self.grow(1);
        self.merge(outer);
        let span = between(name.span, close);
        Expr {
            kind: ExprKind::Call(Call {
                name,
                args,
                expand_last,
                open,
                close,
            }),
            span,
        }
    }

    fn call_name(&mut self, first: Token) -> Result<(Ident, Span), Expr> {
        let mut name = self.token_text(first).to_owned();
        let start = self.span(first);
        let mut span = start;
        let mut open = self.read();
        while open.kind == Kind::DoubleColon {
            let next = self.read();
            let at = self.span(next);
            if next.kind != Kind::Ident {
                let detail = "After :: comes the name of a function, or of a further namespace.";
                self.error(at, Some(between(start, at)), "Missing function name", detail);
                self.recover_over(Kind::OpenParen);
                return Err(self.broken_off(between(start, at)));
            }
            name.push_str("::");
            name.push_str(self.token_text(next));
            span = between(start, at);
            open = self.read();
        }
        let at = self.span(open);
        if open.kind != Kind::OpenParen {
            let detail = "A function with a namespace can only be called, so a parenthesis is expected here.";
            self.error(at, Some(between(start, at)), "Missing open parenthesis", detail);
            self.recover_over(Kind::OpenParen);
            return Err(self.broken_off(between(start, at)));
        }
        Ok((
            Ident {
                name: name.into(),
                span,
            },
            at,
        ))
    }

    fn arguments(&mut self, name: Span, open: Span) -> (Vec<Expr>, bool, Span) {
        let mut args = Vec::new();
        loop {
            // Also after a trailing comma.
            if self.at(Kind::CloseParen) {
                let close = self.read();
                return (args, false, self.span(close));
            }
            let mark = self.mark();
            args.push(self.expr());
            if self.lost_since(mark) {
                let close = self.recover(Kind::CloseParen);
                return (args, false, self.span(close));
            }
            let next = self.read();
            match next.kind {
                Kind::Comma => {}
                Kind::CloseParen => return (args, false, self.span(next)),
                Kind::Ellipsis => {
                    let close = self.after_expansion(name, next);
                    return (args, true, self.span(close));
                }
                other => {
                    self.bad_argument(name, open, next, other);
                    let close = self.recover(Kind::CloseParen);
                    return (args, false, self.span(close));
                }
            }
        }
    }

    fn after_expansion(&mut self, name: Span, ellipsis: Token) -> Token {
        if self.at(Kind::CloseParen) {
            return self.read();
        }
        if !self.recovery {
            let at = self.span(ellipsis);
            let detail = "Only the last argument can be expanded with ..., and the closing parenthesis follows at once.";
            self.error(at, Some(between(name, at)), "Missing closing parenthesis", detail);
        }
        self.recover(Kind::CloseParen)
    }

    fn bad_argument(&mut self, name: Span, open: Span, next: Token, kind: Kind) {
        if kind == Kind::End {
            self.error(between(name, open), None, "Unterminated function call", FILE_ENDS);
            return;
        }
        let at = self.span(next);
        let detail = "Between two arguments of a call a comma is expected.";
        self.error(at, Some(between(name, at)), "Missing argument separator", detail);
    }

    /// Reads `[…]`.
    pub(crate) fn tuple(&mut self) -> Expr {
        let open = self.read();
        let outer = self.measure();
        self.push_newlines(Newlines::Blank);
        let expr = if self.at_word("for") {
            self.for_expr(open)
        } else {
            self.tuple_items(open)
        };
        self.pop_newlines();
        self.grow(1);
        self.merge(outer);
        expr
    }

    fn tuple_items(&mut self, open: Token) -> Expr {
        let open = self.span(open);
        let mut items = Vec::new();
        let close = loop {
            if self.at(Kind::CloseBracket) {
                break self.read();
            }
            let mark = self.mark();
            items.push(self.expr());
            if self.lost_since(mark) {
                break self.recover(Kind::CloseBracket);
            }
            let next = self.peek();
            match next.kind {
                Kind::CloseBracket => break self.read(),
                Kind::Comma => {
                    self.read();
                }
                other => {
                    self.bad_tuple(open, next, other);
                    break self.recover(Kind::CloseBracket);
                }
            }
        };
        Expr {
            kind: ExprKind::Tuple { items, open },
            span: between(open, self.span(close)),
        }
    }

    fn bad_tuple(&mut self, open: Span, next: Token, kind: Kind) {
        if self.recovery {
            return;
        }
        if kind == Kind::End {
            self.error(open, None, "Unterminated tuple constructor expression", FILE_ENDS);
            return;
        }
        let at = self.span(next);
        let detail = "Between two items a comma is expected.";
        self.error(at, Some(between(open, at)), "Missing item separator", detail);
    }

    /// Reads `{…}`.
    pub(crate) fn object(&mut self) -> Expr {
        let open = self.read();
        let outer = self.measure();
        // Newlines count among items, but not before `for`.
        self.push_newlines(Newlines::Blank);
        let is_for = self.at_word("for");
        let expr = if is_for {
            self.for_expr(open)
        } else {
            self.pop_newlines();
            self.push_newlines(Newlines::Count);
            self.object_items(open)
        };
        self.pop_newlines();
        self.grow(1);
        self.merge(outer);
        expr
    }

    fn object_items(&mut self, open: Token) -> Expr {
        let open = self.span(open);
        let mut items = Vec::new();
        let close = loop {
            match self.peek().kind {
                Kind::Newline => {
                    self.read();
                    continue;
                }
                Kind::CloseBrace => break self.read(),
                _ => {}
            }
            if !self.object_item(open, &mut items) {
                break self.recover(Kind::CloseBrace);
            }
            let next = self.peek();
            match next.kind {
                Kind::CloseBrace => break self.read(),
                Kind::Comma | Kind::Newline => {
                    self.read();
                }
                other => {
                    self.bad_item_end(open, next, other);
                    break self.recover(Kind::CloseBrace);
                }
            }
        };
        Expr {
            kind: ExprKind::Object { items, open },
            span: between(open, self.span(close)),
        }
    }

    /// Reads one item; `false` if the rest of the object must be skipped.
    fn object_item(&mut self, open: Span, items: &mut Vec<ObjectItem>) -> bool {
        // Parentheses around a bare name say that it is a reference.
        let forced = self.at(Kind::OpenParen);
        let mark = self.mark();
        let key = ObjectKey {
            expr: self.expr(),
            forced,
        };
        if self.lost_since(mark) {
            return false;
        }
        let next = self.peek();
        if !matches!(next.kind, Kind::Assign | Kind::Colon) {
            self.bad_key_end(open, next);
            return false;
        }
        self.read();
        let mark = self.mark();
        let value = self.expr();
        let lost = self.lost_since(mark);
        // As hcl, which keeps a value that broke off behind its first term.
        if !lost || self.broke_off && matches!(value.kind, ExprKind::Broken) {
            items.push(ObjectItem { key, value });
        }
        !lost
    }

    fn bad_key_end(&mut self, open: Span, next: Token) {
        if self.recovery {
            return;
        }
        let (summary, detail) = match next.kind {
            Kind::End => {
                self.error(open, None, OPEN_OBJECT, FILE_ENDS);
                return;
            }
            Kind::Newline | Kind::Comma => (
                "Missing attribute value",
                "A key is followed, on its line, by an equals sign and a value.",
            ),
            Kind::Ident => (
                "Missing key/value separator",
                "After a key an equals sign is expected. A key with dots or blanks in it must be put in quotes.",
            ),
            _ => (
                "Missing key/value separator",
                "After a key an equals sign is expected.",
            ),
        };
        let at = self.span(next);
        self.error(at, Some(between(open, at)), summary, detail);
    }

    fn bad_item_end(&mut self, open: Span, next: Token, kind: Kind) {
        if self.recovery {
            return;
        }
        if kind == Kind::End {
            self.error(open, None, OPEN_OBJECT, FILE_ENDS);
            return;
        }
        let at = self.span(next);
        let detail = "Between two items a comma or a line break is expected.";
        self.error(at, Some(between(open, at)), "Missing attribute separator", detail);
    }

    /// Reads the rest of `[for …]` or `{for …}`; the next token is `for`.
    fn for_expr(&mut self, open: Token) -> Expr {
        let close_kind = open.kind.opposite().unwrap_or(Kind::CloseBracket);
        let open = self.span(open);
        if !self.enter(2) {
            return broken(open);
        }
        self.push_newlines(Newlines::Blank);
        let expr = match self.for_parts(open, close_kind) {
            Some(parts) => {
                let span = between(open, parts.close);
                Expr {
                    kind: ExprKind::For(Box::new(parts)),
                    span,
                }
            }
            None => {
                let close = self.recover(close_kind);
                self.broke_off = false;
                broken(between(open, self.span(close)))
            }
        };
        self.pop_newlines();
        self.leave(2);
        expr
    }

    fn for_parts(&mut self, open: Span, close_kind: Kind) -> Option<For> {
        self.read();
        let (key_name, value_name) = self.for_names(open)?;
        if !self.at_word("in") {
            return self.bad_for(
                open,
                "After the names comes the word in, and then what is to be iterated.",
            );
        }
        self.read();
        let collection = self.for_part()?;
        if !self.at(Kind::Colon) {
            return self.bad_for(
                open,
                "After what is to be iterated comes a colon, and then the result for each element.",
            );
        }
        self.read();
        let (key, value) = self.for_result()?;
        let mut ellipsis = None;
        if self.at(Kind::Ellipsis) {
            let token = self.read();
            ellipsis = Some(self.span(token));
        }
        let mut condition = None;
        if self.at_word("if") {
            self.read();
            condition = Some(self.for_part()?);
        }
        let close = if self.at(close_kind) {
            self.read()
        } else {
            self.bad_for::<()>(
                open,
                "Here the expression is at its end, so a closing bracket is expected.",
            );
            self.recover(close_kind)
        };
        let close = self.span(close);
        let for_ = For {
            key_name,
            value_name,
            collection,
            key,
            value,
            condition,
            group: ellipsis.is_some(),
            open,
            close,
        };
        self.check_form(&for_, ellipsis, close_kind);
        Some(for_)
    }

    /// A value with a key makes an object, a value without one a tuple.
    fn check_form(&mut self, for_: &For, ellipsis: Option<Span>, close_kind: Kind) {
        let whole = Some(between(for_.open, for_.close));
        if close_kind == Kind::CloseBrace {
            if for_.key.is_none() {
                let detail = "In braces each element needs a key: key => value.";
                self.error(for_.value.span, whole, BAD_FOR, detail);
            }
            return;
        }
        if let Some(key) = &for_.key {
            self.error(
                key.span,
                whole,
                BAD_FOR,
                "In brackets elements have no keys; use braces to make an object.",
            );
        }
        if let Some(at) = ellipsis {
            self.error(
                at,
                whole,
                BAD_FOR,
                "Only values with keys, in braces, can be grouped with \"...\".",
            );
        }
    }

    fn for_names(&mut self, open: Span) -> Option<(Option<Ident>, Ident)> {
        let first = self.for_name(open, "After for comes a name for each element.")?;
        if !self.at(Kind::Comma) {
            return Some((None, first));
        }
        self.read();
        let second = self.for_name(open, "After the comma comes a name for each element's value.")?;
        Some((Some(first), second))
    }

    fn for_name(&mut self, open: Span, detail: &'static str) -> Option<Ident> {
        if !self.at(Kind::Ident) {
            return self.bad_for(open, detail);
        }
        let token = self.read();
        Some(self.ident(token))
    }

    /// Reads an expression within `for`; `None` if the rest must be skipped.
    fn for_part(&mut self) -> Option<Expr> {
        let mark = self.mark();
        let expr = self.expr();
        if self.lost_since(mark) { None } else { Some(expr) }
    }

    fn for_result(&mut self) -> Option<(Option<Expr>, Expr)> {
        let mark = self.mark();
        let first = self.expr();
        let mut result = (None, first);
        if self.at(Kind::FatArrow) {
            self.read();
            let value = self.expr();
            result = (Some(result.1), value);
        }
        if self.lost_since(mark) { None } else { Some(result) }
    }

    fn bad_for<T>(&mut self, open: Span, detail: &'static str) -> Option<T> {
        if !self.recovery {
            let at = self.next_span();
            self.error(at, Some(between(open, at)), BAD_FOR, detail);
        }
        None
    }
}
