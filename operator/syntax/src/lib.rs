//! HCL text to a spanned tree; broken code is kept, with a diagnostic for each fault.
//!
//! Stands between the source texts and `eval`/`config`. It never evaluates, never reads files, and never gives up at
//! the first fault. Node kinds, ranges and the order of diagnostics follow hcl's hclsyntax package, v2.24. No text makes
//! it panic, and nesting is limited, so that neither reading nor walking nor dropping a tree needs more than a usual
//! stack.

mod ast;
mod body;
mod collection;
mod directive;
mod expr;
mod ident;
mod lexer;
mod literal;
mod parser;
mod postfix;
mod template;
mod token;

pub use ast::{
    Attribute, BinaryOp, Block, Body, Call, Expr, ExprKind, For, Ident, Literal, ObjectItem, ObjectKey, Step,
    Traversal, UnaryOp,
};
pub use ident::is_identifier;

use ashlar_diag::{Diags, FileId, Sources};

use crate::{
    lexer::Start,
    parser::{Newlines, Parser},
    token::Kind,
};

/// Reads a whole configuration file of native syntax. The body holds what could be read, also beside errors.
pub fn parse_file(sources: &Sources, file: FileId) -> (Body, Diags) {
    let mut parser = Parser::new(text(sources, file), file, Start::Code);
    let body = parser.body(Kind::End);
    (body, parser.finish().into_iter().collect())
}

/// Reads one expression that makes up the whole text (as `-var` values and console lines are).
pub fn parse_expression(sources: &Sources, file: FileId) -> (Expr, Diags) {
    let mut parser = Parser::new(text(sources, file), file, Start::Code);
    // As if in parentheses.
    parser.push_newlines(Newlines::Blank);
    let expr = parser.expr();
    if !parser.at(Kind::End) && !parser.recovery {
        let detail = "The expression is complete before this; nothing may follow it.";
        parser.error(
            parser.next_span(),
            None,
            "Extra characters after expression",
            detail,
        );
    }
    (expr, parser.finish().into_iter().collect())
}

/// Reads the text as a template (as `templatefile` does): the whole file is template text.
pub fn parse_template(sources: &Sources, file: FileId) -> (Expr, Diags) {
    let mut parser = Parser::new(text(sources, file), file, Start::Template);
    let expr = parser.bare_template();
    (expr, parser.finish().into_iter().collect())
}

/// Reads a static reference that makes up the whole text, such as an address given as an option (hcl
/// `ParseTraversalAbs`). Beside errors, what was read before the first of them; `None` if not even a name.
pub fn parse_traversal(sources: &Sources, file: FileId) -> (Option<Traversal>, Diags) {
    let mut parser = Parser::new(text(sources, file), file, Start::Code);
    parser.push_newlines(Newlines::Blank);
    let traversal = parser.path();
    (traversal, parser.finish().into_iter().collect())
}

fn text(sources: &Sources, file: FileId) -> &str {
    sources.get(file).map_or("", |source| &source.text)
}
