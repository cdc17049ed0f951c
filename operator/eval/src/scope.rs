//! What an expression may refer to.
//!
//! The evaluator asks a [`Scope`] for each reference of an expression once, before it evaluates anything (as Terraform
//! builds its evaluation context), so an undeclared name is a fault also in an arm that is not taken. Variables
//! of `for`, splats, `dynamic` blocks and templates never reach the scope. A scope must be quick: values are cheap to
//! clone, so build a referenced object once, not per reference.

use std::{collections::BTreeMap, sync::Arc};

use ashlar_addr::Provider;
use ashlar_diag::{Diag, Diags};
use ashlar_funcs::{Caps, NoCaps};
use ashlar_syntax::Step;
use ashlar_value::{Dialect, Value, schema::ProviderSchema};

use crate::{Reference, access};

/// Where references get their values.
pub trait Scope: Sync {
    /// Static faults of a reference: undeclared names, instance keys that do not fit. All references are checked before
    /// any is looked up, and none is looked up if one has an error.
    fn check(&self, reference: &Reference<'_>) -> Diags {
        let _ = reference;
        Diags::new()
    }

    /// The value of what the reference's first [`Reference::consumed`] steps name: a whole resource (all its instances),
    /// a whole module call, a variable. The evaluator takes the remaining steps, instance keys included. An error without
    /// diagnostics means that the fault was told elsewhere: the evaluation stops quietly.
    fn lookup(&self, reference: &Reference<'_>) -> Result<Value, Diags>;

    /// Files, time and randomness for functions.
    fn caps(&self) -> &dyn Caps;

    /// Whose language the expressions are in.
    fn dialect(&self) -> Dialect;

    /// Is this a console, which has `type` and not `plantimestamp`?
    fn is_console(&self) -> bool {
        false
    }

    /// The provider that the module's `required_providers` names so, and what it offers.
    fn provider(&self, local: &str) -> Option<(Provider, Arc<ProviderSchema>)> {
        let _ = local;
        None
    }

    /// Is nothing planned yet, so that no provider is configured?
    fn is_early(&self) -> bool {
        false
    }

    /// Where a call of a provider's function that is not known yields an unknown value without a fault (before
    /// providers are there).
    fn tolerates_unknown_functions(&self) -> bool {
        false
    }
}

/// A scope of root names with given values: for tests, consoles and tools.
pub struct MapScope {
    roots: BTreeMap<Arc<str>, Value>,
    caps: Box<dyn Caps>,
    dialect: Dialect,
}

impl MapScope {
    /// A scope without files, time and randomness.
    pub fn new<N: Into<Arc<str>>>(roots: impl IntoIterator<Item = (N, Value)>) -> Self {
        Self::with_caps(roots, NoCaps)
    }

    /// A scope that functions reach the outside through.
    pub fn with_caps<N: Into<Arc<str>>>(
        roots: impl IntoIterator<Item = (N, Value)>,
        caps: impl Caps + 'static,
    ) -> Self {
        Self {
            roots: roots
                .into_iter()
                .map(|(name, value)| (name.into(), value))
                .collect(),
            caps: Box::new(caps),
            dialect: Dialect::default(),
        }
    }

    /// The scope for expressions of this dialect.
    #[must_use]
    pub fn in_dialect(self, dialect: Dialect) -> Self {
        Self { dialect, ..self }
    }

    /// No names at all.
    pub fn empty() -> Self {
        Self::new::<Arc<str>>([])
    }
}

impl Scope for MapScope {
    fn lookup(&self, reference: &Reference<'_>) -> Result<Value, Diags> {
        let traversal = reference.traversal;
        let Some(root) = self.roots.get(&traversal.root.name) else {
            let detail = format!("Nothing here is named {:?}.", &*traversal.root.name);
            return Err(Diag::error("Unknown variable", detail)
                .at(traversal.root.span)
                .into());
        };
        let steps = traversal
            .steps
            .get(..reference.consumed)
            .unwrap_or(&traversal.steps);
        steps
            .iter()
            .try_fold(root.clone(), |value, step| access::step(&value, step))
            .map_err(Diags::from)
    }

    fn caps(&self) -> &dyn Caps {
        &*self.caps
    }

    fn dialect(&self) -> Dialect {
        self.dialect
    }
}

/// Steps that were all taken by attribute name, as text; used by scopes to report what is missing.
pub(crate) fn attr_name(step: &Step) -> Option<&Arc<str>> {
    match step {
        Step::Attr { name, .. } => Some(name),
        Step::Index { .. } => None,
    }
}
