//! The parser's place in the token stream: reading, newlines that count or not, recovery, nesting.
//!
//! What to do at a fault is hclsyntax's: skip to the closer that fits, tell nothing more while in doubt (`recovery`),
//! and go on with the next item of the body. The grammar stands in the sibling files; this one knows none of it.

use std::borrow::Cow;

use ashlar_diag::{Diag, FileId, Span, json::Escape};

use crate::{
    ast::{Expr, ExprKind, Ident},
    lexer::{self, Start},
    token::{self, Kind, Token},
};

/// How deep constructs may nest, and how high the tree of an expression may be (a chain of operators adds one for
/// each). Bounds the stack that reading, walking and dropping a tree need: reading takes less than 1.5 MiB in a build
/// without optimisation.
pub(crate) const DEPTH_LIMIT: u32 = 400;

/// Where a text stands in its file.
#[derive(Clone, Copy)]
pub(crate) struct Origin<'t> {
    file: FileId,
    start: u32,
    escapes: &'t [Escape],
    /// The text, if its places are counted from one character before it.
    early: Option<&'t str>,
}

impl<'t> Origin<'t> {
    /// The text is the whole file.
    pub(crate) fn file(file: FileId) -> Self {
        Self {
            file,
            start: 0,
            escapes: &[],
            early: None,
        }
    }

    /// The text is that of a JSON string; `start`: the place behind its quote.
    pub(crate) fn string(file: FileId, start: u32, escapes: &'t [Escape]) -> Self {
        Self {
            file,
            start,
            escapes,
            early: None,
        }
    }

    /// As hcl counts where a JSON string holds a reference or a type: from the quote.
    pub(crate) fn counted_from_quote(self, text: &'t str) -> Self {
        Self {
            early: Some(text),
            ..self
        }
    }

    fn place(&self, mut at: u32) -> u32 {
        if let Some(text) = self.early {
            let before = text
                .get(..at as usize)
                .and_then(|before| before.char_indices().next_back());
            match before {
                Some((before, _)) => at = u32::try_from(before).unwrap_or(at),
                None => return self.start.saturating_sub(1),
            }
        }
        let passed = self.escapes.partition_point(|escape| escape.end <= at);
        let last = passed.checked_sub(1).and_then(|last| self.escapes.get(last));
        at.saturating_add(self.start)
            .saturating_add(last.map_or(0, |escape| escape.shift))
    }

    /// The place in the file of a range of the text.
    pub(crate) fn span(&self, start: u32, end: u32) -> Span {
        Span {
            file: self.file,
            start: self.place(start),
            end: self.place(end),
        }
    }
}

/// The state of one parse.
pub(crate) struct Parser<'t> {
    text: &'t str,
    origin: Origin<'t>,
    tokens: Vec<Token>,
    next: usize,
    newlines: Vec<bool>,
    /// Set by the first recovery: what follows may be misread, so most faults are not told any more.
    pub(crate) recovery: bool,
    /// Was the last broken expression one that began well ([`Parser::broken_off`])?
    pub(crate) broke_off: bool,
    diags: Vec<Diag>,
    /// How many constructs are open.
    depth: u32,
    /// The height of the highest tree finished since it was last reset.
    height: u32,
    /// The depth limit was hit: nothing more is read or told.
    halted: bool,
    /// How many tokens were looked at.
    #[cfg(test)]
    pub(crate) looked: std::cell::Cell<usize>,
}

/// Do newlines end items, or are they blanks?
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Newlines {
    Count,
    Blank,
}

impl<'t> Parser<'t> {
    /// Starts on the first token. Faults of single tokens are told before all others.
    pub(crate) fn new(text: &'t str, origin: Origin<'t>, start: Start) -> Self {
        let mut diags = Vec::new();
        // Spans count in 32 bits.
        let text = if u32::try_from(text.len()).is_ok() {
            text
        } else {
            diags.push(Diag::error(
                "File too large",
                "A source text must be smaller than 4 GiB.",
            ));
            ""
        };
        let tokens = lexer::tokens(text, start);
        diags.extend(token::faults(text, &origin, &tokens));
        Self {
            text,
            origin,
            tokens,
            next: 0,
            newlines: Vec::new(),
            recovery: false,
            broke_off: false,
            diags,
            depth: 0,
            height: 0,
            halted: false,
            #[cfg(test)]
            looked: std::cell::Cell::default(),
        }
    }

    /// Where a token begins with, or follows, a character that may join another into a cluster.
    pub(crate) fn seams(&self) -> Vec<u32> {
        let wide = |at: Option<u32>| {
            let byte = at.and_then(|at| self.text.as_bytes().get(at as usize));
            byte.is_some_and(|byte| !byte.is_ascii())
        };
        let starts = self.tokens.iter().map(|token| token.start);
        starts
            .filter(|start| wide(Some(*start)) || wide(start.checked_sub(1)))
            .collect()
    }

    /// The diagnostics, in the order they are to be told.
    pub(crate) fn finish(self) -> Vec<Diag> {
        self.diags
    }

    fn find(&self) -> (Token, usize) {
        let counting = self.newlines.last() != Some(&false);
        let mut at = self.next;
        while let Some(&token) = self.tokens.get(at) {
            at += 1;
            #[cfg(test)]
            self.looked.set(self.looked.get() + 1);
            match token.kind {
                Kind::Newline if !counting => {}
                Kind::Comment => {
                    // A line comment holds its line break, which may be what ends the item.
                    if counting && self.token_text(token).ends_with('\n') {
                        return (
                            Token {
                                kind: Kind::Newline,
                                ..token
                            },
                            at,
                        );
                    }
                }
                _ => return (token, at),
            }
        }
        let end = u32::try_from(self.text.len()).unwrap_or(u32::MAX);
        (
            Token {
                kind: Kind::End,
                start: end,
                end,
            },
            self.tokens.len(),
        )
    }

    /// The next token, not yet taken. At the end, [`Kind::End`] again and again.
    pub(crate) fn peek(&self) -> Token {
        self.find().0
    }

    /// Is the next token of this kind?
    pub(crate) fn at(&self, kind: Kind) -> bool {
        self.peek().kind == kind
    }

    /// Is the next token this word?
    pub(crate) fn at_word(&self, word: &str) -> bool {
        let next = self.peek();
        next.kind == Kind::Ident && self.token_text(next) == word
    }

    /// Takes the next token.
    pub(crate) fn read(&mut self) -> Token {
        let (token, next) = self.find();
        self.next = next;
        token
    }

    /// The place of the token taken last; before the first one, the place of the next.
    pub(crate) fn last_span(&self) -> Span {
        match self.next.checked_sub(1).and_then(|at| self.tokens.get(at)) {
            Some(token) => self.span(*token),
            None => self.span(self.peek()),
        }
    }

    /// A token's place.
    pub(crate) fn span(&self, token: Token) -> Span {
        self.origin.span(token.start, token.end)
    }

    /// The place of a range of the text.
    pub(crate) fn place(&self, start: usize, end: usize) -> Span {
        let clamp = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
        self.origin.span(clamp(start), clamp(end))
    }

    /// The place of the next token.
    pub(crate) fn next_span(&self) -> Span {
        self.span(self.peek())
    }

    /// A token's text.
    pub(crate) fn token_text(&self, token: Token) -> &'t str {
        self.text
            .get(token.start as usize..token.end as usize)
            .unwrap_or("")
    }

    /// A token as a name.
    pub(crate) fn ident(&self, token: Token) -> Ident {
        Ident {
            name: self.token_text(token).into(),
            span: self.span(token),
        }
    }

    /// Makes newlines count or not until [`Parser::pop_newlines`].
    pub(crate) fn push_newlines(&mut self, newlines: Newlines) {
        self.newlines.push(newlines == Newlines::Count);
    }

    /// Back to what held before the last [`Parser::push_newlines`].
    pub(crate) fn pop_newlines(&mut self) {
        self.newlines.pop();
    }

    /// Tells of a fault.
    pub(crate) fn error(
        &mut self,
        at: Span,
        within: Option<Span>,
        summary: impl Into<Cow<'static, str>>,
        detail: impl Into<String>,
    ) {
        if self.halted {
            return;
        }
        let mut diag = Diag::error(summary, detail).at(at);
        diag.context = within;
        self.diags.push(diag);
    }

    /// A mark for [`Parser::errors_since`].
    pub(crate) fn mark(&self) -> usize {
        self.diags.len()
    }

    /// Were faults told since the mark?
    pub(crate) fn errors_since(&self, mark: usize) -> bool {
        self.diags.len() > mark
    }

    /// Were faults told since the mark, and is the place now doubtful? Then the caller gives up its construct.
    pub(crate) fn lost_since(&self, mark: usize) -> bool {
        self.recovery && self.errors_since(mark) || self.halted
    }

    /// Takes back the faults told since the mark, to be told later by [`Parser::tell`].
    pub(crate) fn take_since(&mut self, mark: usize) -> Vec<Diag> {
        self.diags.split_off(mark.min(self.diags.len()))
    }

    /// Tells faults taken back before.
    pub(crate) fn tell(&mut self, diags: Vec<Diag>) {
        self.diags.extend(diags);
    }

    /// Skips past the closer that fits the bracket now open, or to the end; gives the token it stopped behind.
    pub(crate) fn recover(&mut self, end: Kind) -> Token {
        self.recovery = true;
        let start = end.opposite();
        let mut nested = 0u32;
        loop {
            let token = self.read();
            let kind = match token.kind {
                // Both are closed by the end of a sequence.
                Kind::Directive if end == Kind::SequenceEnd => Kind::Interpolation,
                kind => kind,
            };
            if kind == Kind::End {
                return token;
            }
            if Some(kind) == start {
                nested += 1;
            } else if kind == end {
                if nested == 0 {
                    return token;
                }
                nested -= 1;
            }
        }
    }

    /// Skips past the next construct in brackets of this kind, or to the end.
    pub(crate) fn recover_over(&mut self, start: Kind) {
        loop {
            let kind = self.read().kind;
            if kind == start || kind == Kind::End {
                break;
            }
        }
        if let Some(end) = start.opposite() {
            self.recover(end);
        }
    }

    /// Skips to the next line that is not within brackets opened on the way.
    pub(crate) fn recover_after_item(&mut self) {
        self.recovery = true;
        let mut open: Vec<Kind> = Vec::new();
        loop {
            let kind = self.read().kind;
            match kind {
                Kind::Newline if open.is_empty() => return,
                Kind::End => return,
                Kind::OpenBrace
                | Kind::OpenBracket
                | Kind::OpenParen
                | Kind::OpenQuote
                | Kind::OpenHeredoc
                | Kind::Interpolation
                | Kind::Directive => open.push(kind),
                Kind::CloseBrace
                | Kind::CloseBracket
                | Kind::CloseParen
                | Kind::CloseQuote
                | Kind::CloseHeredoc
                | Kind::SequenceEnd => {
                    // An opener between that was never closed is forgotten.
                    while open.pop().is_some_and(|opener| opener.opposite() != Some(kind)) {}
                }
                _ => {}
            }
        }
    }

    /// Goes down into a construct; `false` at the limit, and then nothing more is read. Each `true` needs a
    /// [`Parser::leave`] of the same weight, which is 1 unless reading the construct needs much stack.
    pub(crate) fn enter(&mut self, weight: u32) -> bool {
        if self.depth + weight > DEPTH_LIMIT {
            self.halt();
            return false;
        }
        self.depth += weight;
        true
    }

    /// Comes up again.
    pub(crate) fn leave(&mut self, weight: u32) {
        self.depth = self.depth.saturating_sub(weight);
    }

    /// Starts measuring the parts of one construct; the result goes to [`Parser::merge`].
    pub(crate) fn measure(&mut self) -> u32 {
        std::mem::replace(&mut self.height, 0)
    }

    /// Ends measuring the parts of one construct.
    pub(crate) fn merge(&mut self, outer: u32) {
        self.height = self.height.max(outer);
    }

    /// A node was put on top of what was measured.
    pub(crate) fn grow(&mut self, by: u32) {
        self.height = self.height.saturating_add(by);
        if self.height > DEPTH_LIMIT {
            self.halt();
        }
    }

    fn halt(&mut self) {
        if !self.halted {
            let at = self.next_span();
            let detail = format!(
                "Constructs may be nested, and operators chained, {DEPTH_LIMIT} deep at most. Split this into several \
                 local values."
            );
            self.error(at, None, "Excessive nesting", detail);
        }
        self.halted = true;
        self.recovery = true;
        self.next = self.tokens.len();
    }

    /// What stands for an expression that began well (hcl `ExprSyntaxError`).
    pub(crate) fn broken_off(&mut self, span: Span) -> Expr {
        self.broke_off = true;
        broken(span)
    }

    /// Was the limit hit?
    pub(crate) fn is_halted(&self) -> bool {
        self.halted
    }
}

/// From the start of one place to the end of another; empty if that would run backwards.
pub(crate) fn between(from: Span, to: Span) -> Span {
    Span {
        end: to.end.max(from.start),
        ..from
    }
}

/// What stands where nothing could be read.
pub(crate) fn broken(span: Span) -> Expr {
    Expr {
        kind: ExprKind::Broken,
        span,
    }
}
