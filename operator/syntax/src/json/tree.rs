//! Strings and objects of JSON as expressions.

use std::sync::Arc;

use ashlar_diag::{
    Diag, Span,
    json::{Escape, Unquoted},
};

use crate::{
    ast::{Expr, ExprKind, Ident, Traversal},
    ident::is_identifier,
    lexer::Start,
    parser::{Newlines, Origin, Parser},
};

/// A string. Evaluated with a scope it is a template, else its own text; where a reference, a type or the like is wanted,
/// it is read as an expression.
#[derive(Clone, Debug)]
pub struct JsonString {
    text: Arc<str>,
    escapes: Box<[Escape]>,
    template: Template,
}

#[derive(Clone, Debug)]
enum Template {
    /// No sequences: the text itself.
    Plain,
    Read(Expr),
    Faulty(Vec<Diag>),
}

/// An object. Evaluated, its keys are templates, and no two may be equal.
#[derive(Clone, Debug)]
pub struct JsonObject {
    /// The properties in order, names possibly repeated.
    pub items: Vec<JsonItem>,
    /// The place of `{`.
    pub open: Span,
    /// The place of `}`.
    pub close: Span,
}

/// A property of an object.
#[derive(Clone, Debug)]
pub struct JsonItem {
    /// Its name, a [`JsonString`].
    pub key: Expr,
    /// The place of `:`.
    pub colon: Span,
    /// Its value.
    pub value: Expr,
}

impl JsonString {
    /// Reads a string that stands at `span`, quotes included.
    pub(super) fn new(string: Unquoted, span: Span) -> Self {
        let text: Arc<str> = string.text.into();
        let escapes = string.escapes.into_boxed_slice();
        let template = if text.contains("${") || text.contains("%{") {
            let mut parser = Parser::new(&text, origin(span, &escapes), Start::Template);
            let expr = parser.bare_template();
            let faults = parser.finish();
            if faults.is_empty() {
                Template::Read(expr)
            } else {
                Template::Faulty(faults)
            }
        } else {
            Template::Plain
        };
        Self {
            text,
            escapes,
            template,
        }
    }

    /// The text, taken as it is.
    pub fn text(&self) -> &Arc<str> {
        &self.text
    }

    /// The template that the text is; `None` if it has no sequences, and so stands for itself.
    pub fn template(&self) -> Result<Option<&Expr>, &[Diag]> {
        match &self.template {
            Template::Plain => Ok(None),
            Template::Read(expr) => Ok(Some(expr)),
            Template::Faulty(faults) => Err(faults),
        }
    }

    /// The text as a single name.
    pub(crate) fn word(&self) -> Option<&str> {
        let word = self.text.trim_matches([' ', '\t', '\n', '\r']);
        is_identifier(word).then_some(word)
    }

    fn static_parser(&self, span: Span) -> Parser<'_> {
        let origin = origin(span, &self.escapes).counted_from_quote(&self.text);
        let mut parser = Parser::new(&self.text, origin, Start::Code);
        parser.push_newlines(Newlines::Blank);
        parser
    }
}

fn origin(span: Span, escapes: &[Escape]) -> Origin<'_> {
    Origin::string(span.file, span.start.saturating_add(1), escapes)
}

impl JsonItem {
    /// The name as it is written.
    pub fn name(&self) -> Ident {
        let name = match &self.key.kind {
            ExprKind::JsonString(string) => string.text.clone(),
            _ => "".into(),
        };
        Ident {
            name,
            span: self.key.span,
        }
    }
}

impl Expr {
    /// As a static reference, or a lone keyword, which is one by its form (hcl `AbsTraversalForExpr`).
    pub fn as_traversal(&self) -> Option<Traversal> {
        match &self.kind {
            ExprKind::Traversal(traversal) => Some(traversal.clone()),
            ExprKind::JsonString(string) => {
                let mut parser = string.static_parser(self.span);
                let traversal = parser.path();
                traversal.filter(|_| parser.finish().is_empty())
            }
            _ => self.keyword().map(|word| Traversal {
                root: Ident {
                    name: word.into(),
                    span: self.span,
                },
                steps: Vec::new(),
            }),
        }
    }

    /// Was it written in JSON? An empty array cannot be told from an empty tuple.
    pub fn is_json(&self) -> bool {
        match &self.kind {
            ExprKind::JsonScalar(_) | ExprKind::JsonString(_) | ExprKind::JsonObject(_) => true,
            ExprKind::Tuple { items, .. } => items.first().is_some_and(Expr::is_json),
            _ => false,
        }
    }

    /// The expression that a string in JSON holds, and its faults; `None` for what is no string in JSON.
    pub fn in_json_string(&self) -> Option<(Expr, Vec<Diag>)> {
        let ExprKind::JsonString(string) = &self.kind else {
            return None;
        };
        let mut parser = string.static_parser(self.span);
        let expr = parser.whole();
        Some((expr, parser.finish()))
    }
}
