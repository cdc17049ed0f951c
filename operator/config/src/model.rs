//! A typed module: what its files declare, checked for form, expressions kept as trees.

mod action;
mod call;
mod named;
mod provider;
mod refactor;
mod resource;

use std::{collections::BTreeMap, sync::Arc};

use ashlar_addr::{Constraints, LocalProvider, Provider, ProviderConfig, Resource};
use ashlar_diag::{Diags, Span};
use ashlar_eval::Variable;
use ashlar_syntax::Attribute;
use ashlar_value::{Dialect, schema::ProviderSchema};

pub use self::{
    action::{ActionConfig, ActionTrigger, TriggerEvent},
    call::{ModuleCall, PassedProvider, ProviderRef},
    named::{Check, Local, Output},
    provider::{ProviderBlock, ProviderMeta, RequiredProvider},
    refactor::{Endpoint, Import, Moved, Removed},
    resource::{DependsOn, IgnoreChanges, Lifecycle, Provisioner, ResourceConfig},
};

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
    /// Managed resources, data sources (those inside `check` blocks too) and ephemeral resources.
    pub resources: BTreeMap<Resource, ResourceConfig>,
    /// Calls of other modules, by name.
    pub calls: BTreeMap<Arc<str>, ModuleCall>,
    /// By name.
    pub checks: BTreeMap<Arc<str>, Check>,
    /// By type and name.
    pub actions: BTreeMap<(Arc<str>, Arc<str>), ActionConfig>,
    /// In the order of source.
    pub moved: Vec<Moved>,
    /// In the order of source.
    pub removed: Vec<Removed>,
    /// In the order of source.
    pub imports: Vec<Import>,
    /// By the provider's local name.
    pub provider_metas: BTreeMap<Arc<str>, ProviderMeta>,
    /// What is asked of the version of Terraform.
    pub core_versions: Vec<(Constraints, Span)>,
    /// The headers of a `backend` and a `cloud` block.
    pub backend: Option<Span>,
    /// What a `backend "local"` block says, where its arguments are constants.
    pub local_backend: Option<LocalBackend>,
    /// Faults of the `backend` block's arguments, which count in a root module.
    pub backend_faults: Diags,
    /// The arguments of the `backend` block, where they are no constants (OpenTofu).
    pub backend_arguments: Vec<Attribute>,
    /// See `backend`.
    pub cloud: Option<Span>,
    /// The header of an `encryption` block.
    pub encryption: Option<Span>,
}

/// Where a `backend "local"` block says that states lie.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LocalBackend {
    /// The state file of the workspace that is always there.
    pub path: Option<Arc<str>>,
    /// The folder with those of the others.
    pub workspace_dir: Option<Arc<str>>,
    /// Are all arguments that are set constant texts?
    pub is_clear: bool,
}

impl Module {
    /// The block of this module that configures a provider.
    pub(crate) fn own_block(&self, config: &ProviderConfig) -> Option<&ProviderBlock> {
        self.providers.iter().find_map(|(local, block)| {
            let same = local.alias == config.alias && self.source_of(&local.name) == config.provider;
            same.then_some(block)
        })
    }

    /// All provisioners in it, those of `removed` blocks included.
    pub fn provisioners(&self) -> impl Iterator<Item = &Provisioner> {
        let of_removed = self.removed.iter().flat_map(|removed| &removed.provisioners);
        let own = self.resources.values().flat_map(|config| &config.provisioners);
        own.chain(of_removed)
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
            .map(|resource| &resource.local_provider)
            .chain(self.actions.values().map(|action| &action.local_provider))
            .map(|local| self.source_of(&local.name))
            .chain(self.made_up().map(|(local, _)| self.source_of(&local.name)))
            .map(|provider| (provider, Constraints::default()));
        let mut all = BTreeMap::<Provider, Constraints>::new();
        for (provider, constraints) in required.chain(configured).chain(used) {
            let before = all.entry(provider).or_default();
            *before = std::mem::take(before).and(&constraints);
        }
        all
    }

    /// Resources of this module that are not declared, but imported, with the provider configurations for them.
    pub(crate) fn made_up(&self) -> impl Iterator<Item = (LocalProvider, &Resource)> {
        let imports = self.imports.iter().filter(|import| {
            let (path, resource) = &import.resource;
            path.is_root() && !self.resources.contains_key(resource)
        });
        imports.map(|import| {
            let (_, resource) = &import.resource;
            let implied = || LocalProvider {
                name: resource.kind.split('_').next().unwrap_or(&resource.kind).into(),
                alias: None,
            };
            let named = import.provider.as_ref().map(|named| named.local.clone());
            (named.unwrap_or_else(implied), resource)
        })
    }

    /// What the module tells a provider about itself.
    pub fn provider_meta(&self, provider: &Provider) -> Option<&ProviderMeta> {
        let mut metas = self.provider_metas.iter();
        metas.find_map(|(local, meta)| (self.source_of(local) == *provider).then_some(meta))
    }

    /// The provider that functions `provider::LOCAL::…` are of, and what it offers. Only those that are declared have any.
    pub fn function_provider(
        &self,
        local: &str,
        schemas: &BTreeMap<Provider, Arc<ProviderSchema>>,
    ) -> Option<(Provider, Arc<ProviderSchema>)> {
        let provider = &self.required_providers.get(local)?.source;
        Some((provider.clone(), schemas.get(provider)?.clone()))
    }
}
