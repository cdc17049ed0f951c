//! The tree that native and JSON syntax is read into.
//!
//! A body in JSON stays unread until a schema tells its arguments from its blocks ([`Unread`]). Node kinds and their ranges are those of hcl's `hclsyntax` package, since the places that diagnostics blame follow
//! from them. The tree holds no evaluated value: numbers are kept as text, strings are NFC text.

use std::sync::Arc;

use ashlar_diag::{Diag, Span};

use crate::{JsonObject, JsonString, Unread};

/// A word with its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ident {
    /// The word.
    pub name: Arc<str>,
    /// Its place.
    pub span: Span,
}

/// The content of a file or block.
#[derive(Clone, Debug, Default)]
pub struct Body {
    /// Arguments in source order; a name occurs once.
    pub attributes: Vec<Attribute>,
    /// Nested blocks in source order.
    pub blocks: Vec<Block>,
    /// From the opening brace to the closing one (one-line block: the argument; file: from the first token to the end).
    pub span: Option<Span>,
    /// The empty place behind the last token of `span`.
    pub end: Option<Span>,
    /// Where a missing argument is blamed, unless at the empty place at which the body begins.
    pub missing: Option<Span>,
    /// Faults found when the body was read by its schema.
    pub faults: Vec<Diag>,
    /// Items that the schema does not know, found at the same time.
    pub unwanted: Vec<Diag>,
    /// Set if the body of an override file was laid over it. Items that a schema does not know are then passed over, and
    /// these arguments, which only the override sets, are still missing where they are required.
    pub overridden: Option<Vec<Arc<str>>>,
    /// A body in JSON that is not read yet; then there are no attributes and blocks.
    pub unread: Option<Box<Unread>>,
}

impl Body {
    /// The argument with this name.
    pub fn attribute(&self, name: &str) -> Option<&Attribute> {
        self.attributes
            .iter()
            .find(|attribute| &*attribute.name.name == name)
    }

    /// Where a missing argument is blamed (hcl `MissingItemRange`).
    pub fn missing_item(&self) -> Option<Span> {
        self.missing.or(self.span.map(|span| Span {
            end: span.start,
            ..span
        }))
    }

    /// Does it hold no items at all?
    pub fn is_empty(&self) -> bool {
        let unread = self.unread.as_deref();
        self.attributes.is_empty() && self.blocks.is_empty() && unread.is_none_or(Unread::is_empty)
    }

    /// All nested blocks of this type, in source order.
    pub fn blocks_of<'a>(&'a self, kind: &'a str) -> impl Iterator<Item = &'a Block> {
        self.blocks.iter().filter(move |block| &*block.kind.name == kind)
    }
}

/// `name = expression`.
#[derive(Clone, Debug)]
pub struct Attribute {
    /// The argument's name.
    pub name: Ident,
    /// The place of `=`.
    pub equals: Span,
    /// The value.
    pub expr: Expr,
    /// The whole item.
    pub span: Span,
}

/// `type "label" { … }`.
#[derive(Clone, Debug)]
pub struct Block {
    /// The block's type.
    pub kind: Ident,
    /// Its labels, quotes removed; a label's span includes its quotes.
    pub labels: Vec<Ident>,
    /// What stands in the braces.
    pub body: Body,
    /// The place of `{`.
    pub open: Span,
    /// The place of `}`.
    pub close: Span,
    /// The header in JSON, where it is the bracket that the value begins with.
    pub bracket: Option<Span>,
}

impl Block {
    /// The header: from the type to the last label (hcl `Block.DefRange`).
    pub fn header(&self) -> Span {
        self.bracket.unwrap_or_else(|| {
            self.labels
                .last()
                .map_or(self.kind.span, |last| self.kind.span.to(last.span))
        })
    }
}

/// An expression with its place.
#[derive(Clone, Debug)]
pub struct Expr {
    /// What it is.
    pub kind: ExprKind,
    /// Its whole range.
    pub span: Span,
}

/// The forms of expression. Names in brackets are hclsyntax's.
#[derive(Clone, Debug)]
pub enum ExprKind {
    /// `null`, `true`, `1.5`, or a piece of template text (LiteralValueExpr).
    Literal(Literal),
    /// `name.step[0]`, all steps static (ScopeTraversalExpr).
    Traversal(Traversal),
    /// Static steps on any other expression (RelativeTraversalExpr).
    Relative {
        /// What the steps are taken from.
        source: Box<Expr>,
        /// At least one.
        steps: Vec<Step>,
    },
    /// `collection[key]` with a key that is not a literal (IndexExpr).
    Index {
        /// What is indexed.
        collection: Box<Expr>,
        /// The key.
        key: Box<Expr>,
        /// From `[` to `]`.
        brackets: Span,
    },
    /// `source.*…` or `source[*]…` (SplatExpr).
    Splat {
        /// What is iterated.
        source: Box<Expr>,
        /// Applied to each element; its innermost source is [`ExprKind::Item`].
        each: Box<Expr>,
        /// The place of `.*` or `[*]`.
        marker: Span,
    },
    /// The present element of the splat around it (AnonSymbolExpr).
    Item,
    /// `name(args…)` (FunctionCallExpr).
    Call(Call),
    /// `condition ? yes : no`, also `%{ if }` (ConditionalExpr).
    Conditional {
        /// The condition.
        condition: Box<Expr>,
        /// Chosen when true.
        yes: Box<Expr>,
        /// Chosen when false.
        no: Box<Expr>,
    },
    /// `left op right` (BinaryOpExpr).
    Binary {
        /// The operator.
        op: BinaryOp,
        /// Left operand.
        left: Box<Expr>,
        /// Right operand.
        right: Box<Expr>,
    },
    /// `-operand` or `!operand` (UnaryOpExpr).
    Unary {
        /// The operator.
        op: UnaryOp,
        /// The operand.
        operand: Box<Expr>,
        /// The operator's place.
        symbol: Span,
    },
    /// `( inner )` (ParenthesesExpr).
    Parens(Box<Expr>),
    /// `[a, b]` (TupleConsExpr).
    Tuple {
        /// The elements.
        items: Vec<Expr>,
        /// The place of `[`.
        open: Span,
    },
    /// `{ k = v }` (ObjectConsExpr).
    Object {
        /// The items in source order, keys possibly repeated.
        items: Vec<ObjectItem>,
        /// The place of `{`.
        open: Span,
    },
    /// `[for …]`, `{for …}` (ForExpr).
    For(Box<For>),
    /// A quoted or heredoc template of other than exactly one interpolation (TemplateExpr).
    Template(Vec<Expr>),
    /// `"${inner}"` (TemplateWrapExpr).
    Wrap(Box<Expr>),
    /// The body of `%{ for }`: a tuple whose elements are joined as text (TemplateJoinExpr).
    Join(Box<Expr>),
    /// A number, `true`, `false` or `null` in JSON, which is no bare word.
    JsonScalar(Literal),
    /// A string in JSON.
    JsonString(Box<JsonString>),
    /// An object in JSON.
    JsonObject(JsonObject),
    /// A place where no expression could be read; a diagnostic told so (ExprSyntaxError).
    Broken,
}

/// A constant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Literal {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number as it was written.
    Number(Arc<str>),
    /// Text, escapes resolved, in NFC.
    String(Arc<str>),
}

/// A static path from a root name.
#[derive(Clone, Debug)]
pub struct Traversal {
    /// The first name.
    pub root: Ident,
    /// What follows.
    pub steps: Vec<Step>,
}

impl Traversal {
    /// The whole range.
    pub fn span(&self) -> Span {
        self.steps
            .last()
            .map_or(self.root.span, |last| self.root.span.to(last.span()))
    }
}

/// One static step.
#[derive(Clone, Debug)]
pub enum Step {
    /// `.name`; the span includes the dot.
    Attr {
        /// The name.
        name: Arc<str>,
        /// From the dot to the end of the name.
        span: Span,
    },
    /// `[literal]` or the old form `.0`; the span includes brackets or dot.
    Index {
        /// A number or string literal.
        key: Literal,
        /// From the opening bracket to the closing one.
        span: Span,
    },
}

impl Step {
    /// The step's place.
    pub fn span(&self) -> Span {
        match self {
            Step::Attr { span, .. } | Step::Index { span, .. } => *span,
        }
    }
}

/// A function call.
#[derive(Clone, Debug)]
pub struct Call {
    /// The name, namespaces joined with `::`, as written.
    pub name: Ident,
    /// The arguments.
    pub args: Vec<Expr>,
    /// Was the last argument followed by `...`?
    pub expand_last: bool,
    /// The place of `(`.
    pub open: Span,
    /// The place of `)`.
    pub close: Span,
}

/// One item of an object constructor.
#[derive(Clone, Debug)]
pub struct ObjectItem {
    /// The key.
    pub key: ObjectKey,
    /// The value.
    pub value: Expr,
}

/// A key in an object constructor (ObjectConsKeyExpr).
#[derive(Clone, Debug)]
pub struct ObjectKey {
    /// The expression as parsed: a bare name is a root-only traversal (or a keyword literal).
    pub expr: Expr,
    /// Was it in parentheses, so that even a bare name is evaluated?
    pub forced: bool,
}

impl ObjectKey {
    /// The key as a bare word (`a`, `true`, `null`), which is then its text (hcl `ExprAsKeyword`).
    pub fn keyword(&self) -> Option<&str> {
        if self.forced { None } else { self.expr.keyword() }
    }
}

/// A for expression.
#[derive(Clone, Debug)]
pub struct For {
    /// The first of two names.
    pub key_name: Option<Ident>,
    /// The only or second name.
    pub value_name: Ident,
    /// What is iterated.
    pub collection: Expr,
    /// The key expression of `{for …}`; `None` in `[for …]`.
    pub key: Option<Expr>,
    /// The value expression.
    pub value: Expr,
    /// The `if` clause.
    pub condition: Option<Expr>,
    /// Was the value followed by `...`?
    pub group: bool,
    /// The place of the opening bracket.
    pub open: Span,
    /// The place of the closing bracket.
    pub close: Span,
}

/// Operators of two operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "each variant is its symbol's name")]
pub enum BinaryOp {
    Or,
    And,
    Equal,
    NotEqual,
    Greater,
    GreaterOrEqual,
    Less,
    LessOrEqual,
    Add,
    Subtract,
    Multiply,
    Divide,
    Modulo,
}

/// Operators of one operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum UnaryOp {
    /// `-`
    Negate,
    /// `!`
    Not,
}

impl Expr {
    /// The expression as a bare word, as hcl's `ExprAsKeyword`: a traversal without steps, or a keyword literal; in JSON, a
    /// string of it.
    pub fn keyword(&self) -> Option<&str> {
        match &self.kind {
            ExprKind::Traversal(traversal) if traversal.steps.is_empty() => Some(&traversal.root.name),
            ExprKind::Literal(Literal::Bool(true)) => Some("true"),
            ExprKind::Literal(Literal::Bool(false)) => Some("false"),
            ExprKind::Literal(Literal::Null) => Some("null"),
            ExprKind::JsonString(string) => string.word(),
            _ => None,
        }
    }

    /// The place that hcl's `StartRange` gives: what a diagnostic blames that tells of an operand or argument.
    pub fn start(&self) -> Span {
        match &self.kind {
            ExprKind::Index { brackets, .. } => Span {
                end: brackets.start + 1,
                ..*brackets
            },
            ExprKind::Splat { marker, .. } => *marker,
            ExprKind::Call(call) => call.name.span.to(call.open),
            ExprKind::Conditional { condition, .. } => condition.start(),
            ExprKind::Binary { left, .. } => left.start(),
            ExprKind::Unary { symbol, .. } => *symbol,
            ExprKind::Parens(inner) => inner.start(),
            ExprKind::Tuple { open, .. } | ExprKind::Object { open, .. } => *open,
            ExprKind::For(for_) => for_.open,
            ExprKind::JsonObject(object) => object.open,
            ExprKind::Template(parts) => parts.first().map_or(self.span, Expr::start),
            ExprKind::Join(inner) => inner.start(),
            ExprKind::Traversal(_)
            | ExprKind::Relative { .. }
            | ExprKind::Literal(_)
            | ExprKind::Item
            | ExprKind::Wrap(_)
            | ExprKind::JsonScalar(_)
            | ExprKind::JsonString(_)
            | ExprKind::Broken => self.span,
        }
    }
}
