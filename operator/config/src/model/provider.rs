//! What a module says of providers.

use std::{collections::BTreeMap, sync::Arc};

use ashlar_addr::Provider;
use ashlar_diag::Span;
use ashlar_syntax::{Body, Expr};
use ashlar_value::Value;

/// An entry of `required_providers`.
#[derive(Clone, Debug)]
pub struct RequiredProvider {
    /// The source address.
    pub source: Provider,
    /// The version constraint as written, if any.
    pub version: Option<(Arc<str>, Span)>,
    /// Aliases of the configurations that a caller must pass; `None` for the one without.
    pub aliases: Vec<Option<Arc<str>>>,
    /// The entry.
    pub declared: Span,
}

/// A `provider` block.
#[derive(Clone, Debug)]
pub struct ProviderBlock {
    /// The arguments for the provider itself.
    pub body: Body,
    /// The deprecated `version` argument: the constraint as written.
    pub version: Option<(Arc<str>, Span)>,
    /// For each of what there is one. (OpenTofu)
    pub for_each: Option<Expr>,
    /// What that is, key and value, once the modules are loaded; `None` also where it is not known.
    pub instances: Option<BTreeMap<Arc<str>, Value>>,
    /// The block's header.
    pub header: Span,
}

/// A `provider_meta` block.
#[derive(Clone, Debug)]
pub struct ProviderMeta {
    /// Its arguments, constants all of them.
    pub body: Body,
    /// The place of the provider's name.
    pub provider: Span,
    /// The block's header.
    pub header: Span,
}
