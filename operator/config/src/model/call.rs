//! A `module` block, and provider configurations as they are named.

use ashlar_addr::LocalProvider;
use ashlar_diag::{Diags, Span};
use ashlar_syntax::{Attribute, Body, Expr};

use super::resource::DependsOn;

/// A `module` block.
#[derive(Clone, Debug)]
pub struct ModuleCall {
    /// Where the module is to be found. Without one the block was at fault.
    pub source: Option<Expr>,
    /// Which versions of a registry's module will do.
    pub version: Option<Expr>,
    /// How many.
    pub count: Option<Expr>,
    /// For each of what.
    pub for_each: Option<Expr>,
    /// Is it called at all? (OpenTofu)
    pub enabled: Option<Attribute>,
    /// Provider configurations handed over.
    pub providers: Vec<PassedProvider>,
    /// What all of it waits for. `None` if nothing is said.
    pub depends_on: Option<Vec<DependsOn>>,
    /// Faults of entries of `depends_on` that name nothing: told when the others are looked at.
    pub depends_on_faults: Diags,
    /// Is nobody told of what is deprecated inside?
    pub ignore_nested_deprecations: bool,
    /// The values of the module's variables.
    pub body: Body,
    /// Where a missing value is blamed.
    pub open: Span,
    /// The block's header.
    pub header: Span,
}

impl ModuleCall {
    /// The keys that say which of repeated provider configurations the called module is given. (OpenTofu)
    pub fn provider_keys(&self) -> impl Iterator<Item = &Expr> {
        self.providers
            .iter()
            .filter_map(|passed| passed.parent.key.as_ref())
    }
}

/// An entry of `providers` in a `module` block.
#[derive(Clone, Debug)]
pub struct PassedProvider {
    /// What the called module names it.
    pub child: ProviderRef,
    /// What the calling module names it.
    pub parent: ProviderRef,
}

/// A provider configuration as it is named somewhere.
#[derive(Clone, Debug)]
pub struct ProviderRef {
    /// The name.
    pub local: LocalProvider,
    /// Which of several, where it is repeated. (OpenTofu)
    pub key: Option<Expr>,
    /// The place of the local name.
    pub span: Span,
}
