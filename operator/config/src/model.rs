//! The typed root module: what the files declare, checked for form, expressions kept as trees.

use std::{collections::BTreeMap, sync::Arc};

use ashlar_addr::{LocalProvider, Provider, ProviderConfig, Resource};
use ashlar_diag::Span;
use ashlar_eval::{CheckRule, Subject, Variable};
use ashlar_syntax::{Body, Expr};
use ashlar_value::Path;

/// One module.
#[derive(Clone, Debug, Default)]
pub struct Module {
    /// By local name.
    pub required_providers: BTreeMap<Arc<str>, RequiredProvider>,
    /// By name.
    pub variables: BTreeMap<Arc<str>, Variable>,
    /// By name.
    pub locals: BTreeMap<Arc<str>, Local>,
    /// By name.
    pub outputs: BTreeMap<Arc<str>, Output>,
    /// By local name and alias.
    pub providers: BTreeMap<LocalProvider, ProviderBlock>,
    /// Managed resources and data sources.
    pub resources: BTreeMap<Resource, ResourceConfig>,
}

/// An entry of `required_providers`.
#[derive(Clone, Debug)]
pub struct RequiredProvider {
    /// The source address.
    pub source: Provider,
    /// The version constraint as written, if any.
    pub version: Option<(Arc<str>, Span)>,
    /// The entry.
    pub declared: Span,
}

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
    /// Is it not to be shown?
    pub sensitive: bool,
    /// For people.
    pub description: Option<String>,
    /// What it waits for beside its references.
    pub depends_on: Vec<DependsOn>,
    /// What must hold before it is evaluated.
    pub preconditions: Vec<CheckRule>,
    /// The block's header.
    pub header: Span,
}

/// A `provider` block.
#[derive(Clone, Debug)]
pub struct ProviderBlock {
    /// The arguments for the provider itself.
    pub body: Body,
    /// The block's header.
    pub header: Span,
}

/// A `resource` or `data` block.
#[derive(Clone, Debug)]
pub struct ResourceConfig {
    /// How many.
    pub count: Option<Expr>,
    /// For each of what.
    pub for_each: Option<Expr>,
    /// The provider configuration in use, resolved.
    pub provider_config: ProviderConfig,
    /// What it waits for beside its references.
    pub depends_on: Vec<DependsOn>,
    /// The `lifecycle` block.
    pub lifecycle: Lifecycle,
    /// The arguments for the provider, meta-arguments taken out.
    pub body: Body,
    /// The block's header.
    pub header: Span,
}

/// One entry of `depends_on`.
#[derive(Clone, Debug)]
pub struct DependsOn {
    /// What is waited for.
    pub subject: Subject,
    /// Its place.
    pub span: Span,
}

/// A `lifecycle` block.
#[derive(Clone, Debug, Default)]
pub struct Lifecycle {
    /// Does the replacement come before the destruction? `None` if nothing is said.
    pub create_before_destroy: Option<bool>,
    /// Is destroying it an error?
    pub prevent_destroy: bool,
    /// Which changes of the configuration are not followed.
    pub ignore_changes: IgnoreChanges,
    /// Changes of these force a replacement.
    pub replace_triggered_by: Vec<Expr>,
    /// What must hold before it is looked at.
    pub preconditions: Vec<CheckRule>,
    /// What must hold once it is planned, read or applied.
    pub postconditions: Vec<CheckRule>,
}

/// `ignore_changes`.
#[derive(Clone, Debug, Default)]
pub enum IgnoreChanges {
    /// Nothing is ignored.
    #[default]
    None,
    /// All changes are.
    All,
    /// Changes at these paths are.
    Paths(Vec<(Path, Span)>),
}

impl Module {
    /// The block that configures a provider, if there is one.
    pub fn provider_block(&self, config: &ProviderConfig) -> Option<&ProviderBlock> {
        self.providers.iter().find_map(|(local, block)| {
            let same = local.alias == config.alias && self.source_of(&local.name) == config.provider;
            same.then_some(block)
        })
    }

    /// The provider that a local name means.
    pub fn source_of(&self, local: &str) -> Provider {
        self.required_providers
            .get(local)
            .map_or_else(|| Provider::implied(local), |required| required.source.clone())
    }

    /// The providers that have a `provider` block.
    pub fn configured_providers(&self) -> impl Iterator<Item = Provider> {
        self.providers.keys().map(|local| self.source_of(&local.name))
    }
}

impl Output {
    /// All its expressions.
    pub fn expressions(&self) -> impl Iterator<Item = &Expr> {
        std::iter::once(&self.value).chain(rules(&self.preconditions))
    }
}

impl ResourceConfig {
    /// All expressions outside its body.
    pub fn expressions(&self) -> impl Iterator<Item = &Expr> {
        let lifecycle = &self.lifecycle;
        self.count
            .iter()
            .chain(&self.for_each)
            .chain(&lifecycle.replace_triggered_by)
            .chain(rules(&lifecycle.preconditions))
            .chain(rules(&lifecycle.postconditions))
    }
}

fn rules(rules: &[CheckRule]) -> impl Iterator<Item = &Expr> {
    rules
        .iter()
        .flat_map(|rule| [&rule.condition, &rule.error_message])
}
