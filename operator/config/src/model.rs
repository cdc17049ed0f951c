//! A typed module: what its files declare, checked for form, expressions kept as trees.

use std::{collections::BTreeMap, sync::Arc};

use ashlar_addr::{
    Constraints, InstanceKey, LocalProvider, Module as ModuleAddr, Provider, ProviderConfig, Resource,
};
use ashlar_diag::{Diags, Span};
use ashlar_eval::{CheckRule, Defaults, Subject, Variable, evaluate_constant};
use ashlar_syntax::{Attribute, Body, Expr, Traversal};
use ashlar_value::{Dialect, Path, Type, Value, schema::ProviderSchema};

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

/// An `action` block.
#[derive(Clone, Debug)]
pub struct ActionConfig {
    /// How many.
    pub count: Option<Expr>,
    /// For each of what.
    pub for_each: Option<Expr>,
    /// The provider configuration in use, as the module names it.
    pub local_provider: LocalProvider,
    /// Is it named, not implied by the type?
    pub is_provider_named: bool,
    /// The provider configuration in use, resolved.
    pub provider_config: ProviderConfig,
    /// The `config` block's content.
    pub body: Body,
    /// Where a missing argument is blamed, if there is a `config` block.
    pub open: Option<Span>,
    /// The place of the type.
    pub kind: Span,
    /// The block's header.
    pub header: Span,
}

/// What can trigger an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "each is what it names")]
pub enum TriggerEvent {
    BeforeCreate,
    AfterCreate,
    BeforeUpdate,
    AfterUpdate,
}

impl TriggerEvent {
    /// All of them.
    pub const ALL: [Self; 4] = [
        Self::BeforeCreate,
        Self::AfterCreate,
        Self::BeforeUpdate,
        Self::AfterUpdate,
    ];

    /// As a configuration names it.
    pub fn word(self) -> &'static str {
        match self {
            Self::BeforeCreate => "before_create",
            Self::AfterCreate => "after_create",
            Self::BeforeUpdate => "before_update",
            Self::AfterUpdate => "after_update",
        }
    }

    /// Does the action come before the change?
    pub fn is_before(self) -> bool {
        matches!(self, Self::BeforeCreate | Self::BeforeUpdate)
    }
}

/// An `action_trigger` block of a resource.
#[derive(Clone, Debug)]
pub struct ActionTrigger {
    /// What triggers it.
    pub events: Vec<TriggerEvent>,
    /// Whether it is triggered.
    pub condition: Option<Expr>,
    /// References to actions.
    pub actions: Vec<Expr>,
    /// The block's header.
    pub header: Span,
}

/// A `moved` block.
#[derive(Clone, Debug)]
pub struct Moved {
    /// Where objects were.
    pub from: Endpoint,
    /// Where they are now.
    pub to: Endpoint,
    /// The block's header.
    pub header: Span,
}

/// An end of a `moved` block: a resource, a module, or an instance of either, as seen from its module.
#[derive(Clone, Debug)]
pub struct Endpoint {
    /// Calls on the way, keys where they are written.
    pub module: Vec<(Arc<str>, InstanceKey)>,
    /// The resource in there, unless modules are meant.
    pub resource: Option<(Resource, InstanceKey)>,
    /// Its place.
    pub span: Span,
}

/// A `removed` block.
#[derive(Clone, Debug)]
pub struct Removed {
    /// Calls on the way.
    pub module: ModuleAddr,
    /// The resource in there, unless all of the module is meant.
    pub resource: Option<Resource>,
    /// Are the objects destroyed, not only forgotten?
    pub destroy: bool,
    /// How the object is reached by provisioners.
    pub connection: Option<Body>,
    /// What is run when it is destroyed.
    pub provisioners: Vec<Provisioner>,
    /// The block's header.
    pub header: Span,
}

/// An `import` block.
#[derive(Clone, Debug)]
pub struct Import {
    /// The id of the object to be taken in.
    pub id: Option<Expr>,
    /// Its identity.
    pub identity: Option<Expr>,
    /// The instance it becomes.
    pub to: Expr,
    /// The resource that `to` names.
    pub resource: (ModuleAddr, Resource),
    /// For each of what.
    pub for_each: Option<Expr>,
    /// The provider configuration to be asked, if the resource's is not meant.
    pub provider: Option<ProviderRef>,
    /// The place of the argument that names it.
    pub provider_span: Option<Span>,
    /// The block's header.
    pub header: Span,
}

/// A `provisioner` block.
#[derive(Clone, Debug)]
pub struct Provisioner {
    /// `local-exec`, `remote-exec`, `file`.
    pub kind: Arc<str>,
    /// Is it run when the object is destroyed, not when it is created?
    pub on_destroy: bool,
    /// Does the run go on if it fails?
    pub tolerated: bool,
    /// Its own arguments.
    pub body: Body,
    /// How the object is reached, if not as the resource says.
    pub connection: Option<Body>,
    /// Where a missing argument is blamed.
    pub open: Span,
    /// The place of the type.
    pub kind_span: Span,
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

/// A `resource` or `data` block.
#[derive(Clone, Debug)]
pub struct ResourceConfig {
    /// How many.
    pub count: Option<Expr>,
    /// For each of what.
    pub for_each: Option<Expr>,
    /// The provider configuration in use, as the module names it.
    pub local_provider: LocalProvider,
    /// Is it named, not implied by the type?
    pub is_provider_named: bool,
    /// Which of several provider configurations, where they are repeated. (OpenTofu)
    pub provider_key: Option<Expr>,
    /// The place of the provider's local name, where it is named.
    pub provider_span: Option<Span>,
    /// The provider configuration in use, resolved.
    pub provider_config: ProviderConfig,
    /// Which of several, where a call of a module around it says so: the called module, and the key as the call has it.
    /// (OpenTofu)
    pub passed_key: Option<(ModuleAddr, Expr)>,
    /// What it waits for beside its references.
    pub depends_on: Vec<DependsOn>,
    /// Faults of entries of `depends_on` that name nothing: told when the others are looked at.
    pub depends_on_faults: Diags,
    /// The `lifecycle` block.
    pub lifecycle: Lifecycle,
    /// How its objects are reached by provisioners.
    pub connection: Option<Body>,
    /// What is run when an object is created or destroyed.
    pub provisioners: Vec<Provisioner>,
    /// The check block around it, which alone can refer to it.
    pub check: Option<Arc<str>>,
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
    /// Is destroying it an error? `None` if nothing is said.
    pub prevent_destroy: Option<bool>,
    /// The same, where it is no constant (OpenTofu).
    pub prevent_destroy_when: Option<Expr>,
    /// Is there an object at all? (OpenTofu)
    pub enabled: Option<Attribute>,
    /// Is the object destroyed when it goes, not only forgotten? (OpenTofu)
    pub destroy: Option<Expr>,
    /// Which changes of the configuration are not followed.
    pub ignore_changes: IgnoreChanges,
    /// The paths of `ignore_changes` as they are written.
    pub ignored: Vec<Traversal>,
    /// Changes of these force a replacement.
    pub replace_triggered_by: Vec<Expr>,
    /// Actions that changes trigger.
    pub action_triggers: Vec<ActionTrigger>,
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

impl Output {
    /// All its expressions.
    pub fn expressions(&self) -> impl Iterator<Item = &Expr> {
        std::iter::once(&self.value).chain(rules(&self.preconditions))
    }
}

impl Lifecycle {
    /// Are objects left alone where they would be destroyed, and only forgotten? (OpenTofu)
    pub fn keeps_objects(&self) -> bool {
        let destroy = self.destroy.as_ref().map(evaluate_constant);
        destroy.is_some_and(|(value, _)| value.as_bool() == Some(false))
    }
}

impl ModuleCall {
    /// The keys that say which of repeated provider configurations the called module is given. (OpenTofu)
    pub fn provider_keys(&self) -> impl Iterator<Item = &Expr> {
        self.providers
            .iter()
            .filter_map(|passed| passed.parent.key.as_ref())
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
            .chain(&self.provider_key)
            .chain(lifecycle.enabled.iter().map(|attribute| &attribute.expr))
            .chain(&lifecycle.prevent_destroy_when)
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
