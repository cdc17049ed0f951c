//! The typed root module: what the files declare, checked for form, expressions kept as trees.

use std::{collections::BTreeMap, sync::Arc};

use ashlar_addr::{Constraints, LocalProvider, Provider, ProviderConfig, Resource};
use ashlar_diag::{Diags, Span};
use ashlar_eval::{CheckRule, Defaults, Subject, Variable};
use ashlar_syntax::{Body, Expr, Traversal};
use ashlar_value::{Dialect, Path, Type};

/// One module.
#[derive(Clone, Debug, Default)]
pub struct Module {
    /// Whose language it is in.
    pub dialect: Dialect,
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
    /// The type the value is converted to; `any` if none is written.
    pub ty: Type,
    /// Defaults of optional attributes, filled in before that.
    pub defaults: Option<Defaults>,
    /// Is it not to be shown?
    pub sensitive: bool,
    /// Is it not to be kept? (A fault in a root module.)
    pub ephemeral: bool,
    /// The place of `deprecated`, if it is set. (A fault in a root module.)
    pub deprecated: Option<Span>,
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

/// A `provider` block.
#[derive(Clone, Debug)]
pub struct ProviderBlock {
    /// The arguments for the provider itself.
    pub body: Body,
    /// The deprecated `version` argument: the constraint as written.
    pub version: Option<(Arc<str>, Span)>,
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
    /// The provider configuration in use, as the module names it.
    pub local_provider: LocalProvider,
    /// The provider configuration in use, resolved.
    pub provider_config: ProviderConfig,
    /// What it waits for beside its references.
    pub depends_on: Vec<DependsOn>,
    /// Faults of entries of `depends_on` that name nothing: told when the others are looked at.
    pub depends_on_faults: Diags,
    /// The `lifecycle` block.
    pub lifecycle: Lifecycle,
    /// The arguments for the provider, meta-arguments taken out.
    pub body: Body,
    /// The place of the type.
    pub kind: Span,
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
    /// As it is written.
    pub traversal: Traversal,
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
    /// The paths of `ignore_changes` as they are written.
    pub ignored: Vec<Traversal>,
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
    /// The block that configures a provider, if there is one. Only the root module has such blocks.
    pub fn provider_block(&self, config: &ProviderConfig) -> Option<&ProviderBlock> {
        if !config.module.is_root() {
            return None;
        }
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

    /// Every provider the module needs, with all that is asked of its version.
    pub fn requirements(&self) -> BTreeMap<Provider, Constraints> {
        let parse = |version: &Option<(Arc<str>, Span)>| {
            // What is no constraint was refused when it was read.
            version
                .as_ref()
                .and_then(|(text, _)| text.parse().ok())
                .unwrap_or_default()
        };
        let required = self
            .required_providers
            .values()
            .map(|entry| (entry.source.clone(), parse(&entry.version)));
        let configured = self
            .providers
            .iter()
            .map(|(local, block)| (self.source_of(&local.name), parse(&block.version)));
        let used = self
            .resources
            .values()
            .map(|resource| (resource.provider_config.provider.clone(), Constraints::default()));
        let mut all = BTreeMap::<Provider, Constraints>::new();
        for (provider, constraints) in required.chain(configured).chain(used) {
            let before = all.entry(provider).or_default();
            *before = std::mem::take(before).and(&constraints);
        }
        all
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
    /// Has it preconditions or postconditions?
    pub fn has_conditions(&self) -> bool {
        !self.lifecycle.preconditions.is_empty() || !self.lifecycle.postconditions.is_empty()
    }

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
