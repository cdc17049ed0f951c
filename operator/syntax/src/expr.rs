//! Expressions: conditional, operators, terms.
//!
//! A Pratt parser over hcl's six levels of binary operators. What follows a term (`.name`, `[key]`, splats) is in
//! `postfix`, what stands in brackets in `collection`, quoted text in `template`. Functions that call themselves are
//! kept small, since a level of nesting passes through several of them.

use ashlar_diag::Span;

use crate::{
    ast::{BinaryOp, Expr, ExprKind, Literal, Traversal, UnaryOp},
    literal,
    parser::{Newlines, Parser, between, broken},
    token::{Kind, Token},
};

impl Parser<'_> {
    /// Reads the expression that makes up the whole text.
    pub(crate) fn whole(&mut self) -> Expr {
        let expr = self.expr();
        if !self.at(Kind::End) && !self.recovery {
            let detail = "The expression is complete before this; nothing may follow it.";
            self.error(
                self.next_span(),
                None,
                "Extra characters after expression",
                detail,
            );
        }
        expr
    }

    /// Reads one expression.
    pub(crate) fn expr(&mut self) -> Expr {
        if !self.enter(1) {
            return broken(self.next_span());
        }
        let outer = self.measure();
        let mark = self.mark();
        let mut expr = self.binary(0);
        if !self.lost_since(mark) && self.at(Kind::Question) {
            expr = self.conditional(expr);
        }
        self.merge(outer);
        self.leave(1);
        expr
    }

    /// Reads `? yes : no`. A conditional that cannot be finished leaves its condition.
    fn conditional(&mut self, condition: Expr) -> Expr {
        self.read();
        let mark = self.mark();
        let yes = self.expr();
        if self.lost_since(mark) {
            return condition;
        }
        let colon = self.peek();
        if colon.kind != Kind::Colon {
            let at = self.span(colon);
            let detail =
                "After the value for true come a colon and the value for false: condition ? yes : no.";
            let within = between(condition.span, at);
            self.error(
                at,
                Some(within),
                "Missing false expression in conditional",
                detail,
            );
            return condition;
        }
        self.read();
        let mark = self.mark();
        let no = self.expr();
        if self.lost_since(mark) {
            return condition;
        }
        self.grow(1);
        let span = between(condition.span, no.span);
        let kind = ExprKind::Conditional {
            condition: Box::new(condition),
            yes: Box::new(yes),
            no: Box::new(no),
        };
        Expr { kind, span }
    }

    /// Reads operands joined by operators of at least this level, which is at most one above the highest.
    fn binary(&mut self, level: u8) -> Expr {
        let outer = self.measure();
        let mark = self.mark();
        let mut left = self.operand();
        if !self.lost_since(mark) {
            while let Some((op, of)) = binary_op(self.peek().kind)
                && of >= level
            {
                self.read();
                let mark = self.mark();
                if !self.enter(1) {
                    break;
                }
                let right = self.binary(of + 1);
                self.leave(1);
                if self.lost_since(mark) {
                    break;
                }
                left = self.joined(op, left, right);
            }
        }
        self.merge(outer);
        left
    }

    fn joined(&mut self, op: BinaryOp, left: Expr, right: Expr) -> Expr {
        self.grow(1);
        let span = between(left.span, right.span);
        Expr {
            kind: ExprKind::Binary {
                op,
                left: Box::new(left),
                right: Box::new(right),
            },
            span,
        }
    }

    /// Reads a term and what follows it.
    fn operand(&mut self) -> Expr {
        let outer = self.measure();
        let term = self.term();
        let expr = if matches!(self.peek().kind, Kind::Dot | Kind::OpenBracket) {
            self.postfix(term)
        } else {
            term
        };
        self.merge(outer);
        expr
    }

    fn term(&mut self) -> Expr {
        let start = self.peek();
        match start.kind {
            Kind::OpenParen => self.parens(),
            Kind::Number => self.number(),
            Kind::Ident => self.word(),
            Kind::OpenQuote | Kind::OpenHeredoc => self.template(),
            Kind::Minus => self.unary(UnaryOp::Negate),
            Kind::Bang => self.unary(UnaryOp::Not),
            Kind::OpenBracket => self.tuple(),
            Kind::OpenBrace => self.object(),
            _ => self.no_term(start),
        }
    }

    fn no_term(&mut self, token: Token) -> Expr {
        let span = self.span(token);
        if !self.recovery {
            if token.kind == Kind::End {
                let detail = "The text ends where an expression is expected.";
                self.error(span, None, "Missing expression", detail);
            } else {
                let detail = "An expression is expected here, and none begins like this.";
                self.error(span, None, "Invalid expression", detail);
            }
        }
        self.recovery = true;
        self.broke_off = false;
        broken(span)
    }

    fn parens(&mut self) -> Expr {
        let open = self.read();
        self.push_newlines(Newlines::Blank);
        let mark = self.mark();
        let inner = self.expr();
        if self.errors_since(mark) || self.is_halted() {
            self.recover(Kind::CloseParen);
            self.pop_newlines();
            return inner;
        }
        let close = self.peek();
        if close.kind != Kind::CloseParen {
            self.unbalanced(open, close);
        }
        self.read();
        self.pop_newlines();
        self.grow(1);
        let span = between(self.span(open), self.span(close));
        Expr {
            kind: ExprKind::Parens(Box::new(inner)),
            span,
        }
    }

    fn unbalanced(&mut self, open: Token, close: Token) {
        let at = self.span(close);
        let detail =
            "Here the expression in parentheses is at its end, so a closing parenthesis is expected.";
        self.error(
            at,
            Some(between(self.span(open), at)),
            "Unbalanced parentheses",
            detail,
        );
        self.recovery = true;
    }

    fn unary(&mut self, op: UnaryOp) -> Expr {
        let symbol = self.read();
        let symbol = self.span(symbol);
        if !self.enter(1) {
            return broken(symbol);
        }
        // One operand only, so that the operator binds more tightly than any between two.
        let operand = self.operand();
        self.leave(1);
        self.grow(1);
        let span = between(symbol, operand.span);
        Expr {
            kind: ExprKind::Unary {
                op,
                operand: Box::new(operand),
                symbol,
            },
            span,
        }
    }

    fn number(&mut self) -> Expr {
        let token = self.read();
        let span = self.span(token);
        match literal::number(self, token) {
            Some(value) => Expr {
                kind: ExprKind::Literal(value),
                span,
            },
            None => broken(span),
        }
    }

    /// Reads what begins with a name: a call, a keyword or the root of a traversal.
    fn word(&mut self) -> Expr {
        let token = self.read();
        if matches!(self.peek().kind, Kind::OpenParen | Kind::DoubleColon) {
            return self.call(token);
        }
        self.name(token)
    }

    fn name(&self, token: Token) -> Expr {
        let span: Span = self.span(token);
        let kind = match self.token_text(token) {
            "true" => ExprKind::Literal(Literal::Bool(true)),
            "false" => ExprKind::Literal(Literal::Bool(false)),
            "null" => ExprKind::Literal(Literal::Null),
            _ => ExprKind::Traversal(Traversal {
                root: self.ident(token),
                steps: Vec::new(),
            }),
        };
        Expr { kind, span }
    }
}

/// The operator and its level, from 0 for the one that binds least.
fn binary_op(kind: Kind) -> Option<(BinaryOp, u8)> {
    Some(match kind {
        Kind::Or => (BinaryOp::Or, 0),
        Kind::And => (BinaryOp::And, 1),
        Kind::Equal => (BinaryOp::Equal, 2),
        Kind::NotEqual => (BinaryOp::NotEqual, 2),
        Kind::Greater => (BinaryOp::Greater, 3),
        Kind::GreaterOrEqual => (BinaryOp::GreaterOrEqual, 3),
        Kind::Less => (BinaryOp::Less, 3),
        Kind::LessOrEqual => (BinaryOp::LessOrEqual, 3),
        Kind::Plus => (BinaryOp::Add, 4),
        Kind::Minus => (BinaryOp::Subtract, 4),
        Kind::Star => (BinaryOp::Multiply, 5),
        Kind::Slash => (BinaryOp::Divide, 5),
        Kind::Percent => (BinaryOp::Modulo, 5),
        _ => return None,
    })
}
