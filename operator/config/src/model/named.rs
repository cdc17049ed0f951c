//! Values that a module names: `locals` and `output` blocks; and `check` blocks.

use std::sync::Arc;

use ashlar_addr::Resource;
use ashlar_diag::{Diags, Span};
use ashlar_eval::{CheckRule, Defaults};
use ashlar_syntax::Expr;
use ashlar_value::Type;

use super::resource::{DependsOn, rules};

/// A local value.
#[derive(Clone, Debug)]
pub struct Local {
    /// The value.
    pub expr: Expr,
    /// The name.
    pub declared: Span,
}

/// An output.
#[derive(Clone, Debug)]
pub struct Output {
    /// The value.
    pub value: Expr,
    /// The type the value is converted to; `any` if none is written.
    pub ty: Type,
    /// Defaults of optional attributes, filled in before that.
    pub defaults: Option<Defaults>,
    /// Is it not to be shown?
    pub sensitive: bool,
    /// Is it not to be kept? (A fault in a root module.)
    pub ephemeral: bool,
    /// What `deprecated` tells, and its place, if it is set. (A fault in a root module.)
    pub deprecated: Option<(Arc<str>, Span)>,
    /// For people.
    pub description: Option<String>,
    /// What it waits for beside its references.
    pub depends_on: Vec<DependsOn>,
    /// Faults of entries of `depends_on` that name nothing: told when the others are looked at.
    pub depends_on_faults: Diags,
    /// What must hold before it is evaluated.
    pub preconditions: Vec<CheckRule>,
    /// The block's header.
    pub header: Span,
}

impl Output {
    /// All its expressions.
    pub fn expressions(&self) -> impl Iterator<Item = &Expr> {
        std::iter::once(&self.value).chain(rules(&self.preconditions))
    }
}

/// A `check` block.
#[derive(Clone, Debug)]
pub struct Check {
    /// What should hold.
    pub asserts: Vec<CheckRule>,
    /// The data source that only this check can see.
    pub data: Option<Resource>,
    /// The block's header.
    pub header: Span,
}
