//! What planning and applying share: the configuration, its values so far, and the providers at hand.
//!
//! It starts and configures providers and hands out permits for their calls; what to do with one is decided elsewhere.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use ashlar_addr::{AbsResource, InstanceKey, Module as ModuleAddr, Provider as ProviderAddr, ProviderConfig};
use ashlar_config::{ProviderBlock, Tree};
use ashlar_diag::{Diag, Diags, Severity};
use ashlar_eval::{block_references, decode_block};
use ashlar_port::{Outside, Progress, Provider, Providers};
use ashlar_syntax::Body;
use ashlar_value::{
    Mark, Value,
    schema::{Block, ProviderSchema, Schema},
};
use async_lock::{Semaphore, SemaphoreGuard};

use crate::{
    ephemeral::Ephemerals,
    model::{Mode, Options},
    provider_diags::place_all,
    values::{Repetition, Values},
    walk::gather,
};

/// Schemas by provider.
pub type Schemas = BTreeMap<ProviderAddr, Arc<ProviderSchema>>;

/// Shared by all nodes of one walk.
pub struct Engine<'a> {
    /// The configuration.
    pub tree: &'a Tree,
    /// What expressions refer to.
    pub values: Values<'a>,
    /// All schemas needed.
    pub schemas: &'a Schemas,
    /// Clock and chance.
    pub outside: &'a dyn Outside,
    /// Who watches.
    pub progress: &'a dyn Progress,
    /// What the run is for.
    pub mode: Mode,
    /// Which ephemeral resources are open.
    pub(crate) ephemerals: Ephemerals<'a>,
    providers: &'a dyn Providers,
    /// All that were started, to be stopped and ended.
    started: Mutex<Vec<Arc<dyn Provider>>>,
    /// Those that took their configuration; nothing may be asked of others.
    configured: Mutex<BTreeMap<ProviderConfig, Arc<dyn Provider>>>,
    /// What modules tell providers about themselves, evaluated once.
    metas: Mutex<HashMap<(ModuleAddr, ProviderAddr), Value>>,
    permits: Semaphore,
    /// Did a provider refuse a configuration that no value could mend?
    refused: AtomicBool,
}

/// Locks, and goes on if another holder panicked: what is guarded is only ever replaced whole.
pub fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<'a> Engine<'a> {
    /// With no provider configured yet.
    pub fn new(
        tree: &'a Tree,
        values: Values<'a>,
        schemas: &'a Schemas,
        providers: &'a dyn Providers,
        outside: &'a dyn Outside,
        progress: &'a dyn Progress,
        options: &Options,
    ) -> Self {
        Self {
            tree,
            values,
            schemas,
            outside,
            progress,
            mode: options.mode,
            ephemerals: Ephemerals::default(),
            providers,
            started: Mutex::default(),
            configured: Mutex::default(),
            metas: Mutex::default(),
            permits: Semaphore::new(options.parallelism.max(1)),
            refused: AtomicBool::new(false),
        }
    }

    /// What a condition that does not hold comes to.
    pub fn failed_condition(&self) -> Severity {
        match self.mode {
            Mode::Normal => Severity::Error,
            Mode::Destroy | Mode::RefreshOnly => Severity::Warning,
        }
    }

    /// Notes that a provider refused a configuration. One that refers to nothing is at fault whatever is planned, so that there
    /// is no plan at all, not even one that shows how far planning came.
    pub fn refuse(&self, body: &Body, block: &Block) {
        let (references, _) = block_references(body, block);
        if references.is_empty() {
            self.refused.store(true, Ordering::Relaxed);
        }
    }

    /// Was there such a configuration?
    pub(crate) fn has_refused(&self) -> bool {
        self.refused.load(Ordering::Relaxed)
    }

    /// Waits until one more provider call may run.
    pub async fn permit(&self) -> SemaphoreGuard<'_> {
        self.permits.acquire().await
    }

    /// The schema of a resource type or data source.
    pub fn resource_schema(
        &self,
        provider: &ProviderAddr,
        resource: &ashlar_addr::Resource,
    ) -> Result<&'a Schema, Diags> {
        resource_schema(self.schemas, provider, resource)
    }

    /// A provider configured before by [`Engine::configure`].
    pub fn provider(&self, config: &ProviderConfig) -> Result<Arc<dyn Provider>, Diags> {
        lock(&self.configured).get(config).cloned().ok_or_else(|| {
            let detail = format!(
                "The provider configuration {config} was not prepared, so nothing can be asked of it."
            );
            Diag::error("Provider configuration not present", detail).into()
        })
    }

    /// Starts a provider and gives it its configuration, which may hold unknown values only while planning. Where the
    /// configuration is repeated, all of them are started.
    pub async fn configure(&self, config: &ProviderConfig, unknown_allowed: bool) -> Result<Diags, Diags> {
        let block = self.tree.provider_block(config);
        let Some(instances) = block.and_then(|block| block.instances.as_ref()) else {
            return self
                .configure_one(config.clone(), block, Repetition::default(), unknown_allowed)
                .await;
        };
        let each = instances.iter().map(|(key, value)| {
            let repetition = Repetition {
                count_index: None,
                each: Some((Value::string(key), value.clone())),
            };
            let config = config.with_key(InstanceKey::String(key.clone()));
            self.configure_one(config, block, repetition, unknown_allowed)
        });
        gather(futures::future::join_all(each).await)
    }

    async fn configure_one(
        &self,
        config: ProviderConfig,
        block: Option<&ProviderBlock>,
        repetition: Repetition,
        unknown_allowed: bool,
    ) -> Result<Diags, Diags> {
        let told = self.hand_over(&config, block, repetition, unknown_allowed).await;
        match told {
            Ok((provider, diags)) => {
                lock(&self.configured).insert(config, provider);
                Ok(diags)
            }
            Err(mut diags) => {
                if block.is_none() {
                    let detail = format!(
                        "The configuration has no provider block for {}, and the provider cannot be used without one. Add a \
                         provider block, with the arguments that the provider asks for.",
                        config.provider.for_display()
                    );
                    diags.push(Diag::error("Invalid provider configuration", detail));
                }
                Err(diags)
            }
        }
    }

    /// Evaluates a provider's configuration and gives it to the provider, unless one has it already.
    async fn hand_over(
        &self,
        config: &ProviderConfig,
        block: Option<&ProviderBlock>,
        repetition: Repetition,
        unknown_allowed: bool,
    ) -> Result<(Arc<dyn Provider>, Diags), Diags> {
        let schema = self.providers.schema(&config.provider).await?;
        let empty = Body::default();
        let body = block.map_or(&empty, |block| &block.body);
        let modules = self.values.instances(&config.module);
        // A module with provider blocks of its own is called once and without conditions; that was checked.
        let Some(module) = modules.first() else {
            let detail =
                format!("The module that holds the provider configuration {config} has no instance.");
            return Err(Diag::error("Provider configuration not present", detail).into());
        };
        let (value, mut diags) = decode_block(
            body,
            &schema.provider.block,
            &module.instance_scope(repetition, None),
        );
        if diags.has_errors() {
            return Err(diags);
        }
        let (value, marks) = value.unmark_deep();
        let is_passing = marks.contains(Mark::Ephemeral);
        // A variable without a value is none that will be known later: it was given where nobody can read it any more.
        let lacking = self.values.lacking();
        if !(value.is_wholly_known() || unknown_allowed && lacking.is_empty()) {
            let detail = match &*lacking {
                [] => format!(
                    "The configuration of {config} depends on values that are not known even now, so the provider cannot be used."
                ),
                names => format!(
                    "The configuration of {config} depends on values that cannot be had: these variables were given values that \
                     are kept with no plan, and cannot be read any more: {}. Without them the provider cannot be used.",
                    names.join(", ")
                ),
            };
            let mut diag = Diag::error("Invalid provider configuration", detail);
            diag.subject = block.map(|block| block.header);
            return Err(diag.into());
        }
        let _permit = self.permit().await;
        if !is_passing
            && let Some((provider, told)) = self.providers.configured(&config.provider, &value).await
        {
            lock(&self.started).push(provider.clone());
            provider.stands_for(&config.to_string());
            diags.extend(place_all(told, body, config));
            return Ok((provider, diags));
        }
        let provider = self.providers.start(&config.provider).await?;
        lock(&self.started).push(provider.clone());
        provider.stands_for(&config.to_string());
        if is_passing {
            provider.keep_apart();
        }
        diags.extend(place_all(provider.validate_provider(&value).await, body, config));
        if diags.has_errors() {
            self.refuse(body, &schema.provider.block);
        }
        if !diags.has_errors() {
            diags.extend(place_all(provider.configure(&value).await, body, config));
        }
        if diags.has_errors() {
            Err(diags)
        } else {
            Ok((provider, diags))
        }
    }

    /// What the module that declares a resource tells its provider about itself (`provider_meta`): nothing if there is no such
    /// resource, or no such block.
    pub fn meta(&self, resource: &AbsResource) -> Result<Option<Value>, Diags> {
        let declared = resource.config();
        let member = self.tree.members.get(&declared.module);
        let Some((config, member)) = self.tree.resource(&declared).zip(member) else {
            return Ok(None);
        };
        let provider = &config.provider_config.provider;
        let Some(meta) = member.module.provider_meta(provider) else {
            return Ok(None);
        };
        let schema = self
            .schemas
            .get(provider)
            .and_then(|schema| schema.provider_meta.as_ref());
        let Some(schema) = schema else {
            let summary = format!("Provider {provider} doesn't support provider_meta");
            let detail =
                format!("{resource} belongs to a provider that takes no provider_meta. Take the block out.");
            return Err(Diag::error(summary, detail).at(meta.provider).into());
        };
        let of = (declared.module.clone(), provider.clone());
        if let Some(known) = lock(&self.metas).get(&of) {
            return Ok(Some(known.clone()));
        }
        // It refers to nothing, and the module's instance may be gone.
        let module = self.values.bare(member, resource.module.clone());
        let (value, diags) = decode_block(&meta.body, &schema.block, &module.scope());
        if diags.has_errors() {
            return Err(diags);
        }
        let value = unmarked(&value);
        lock(&self.metas).insert(of, value.clone());
        Ok(Some(value))
    }

    /// Ends all providers.
    pub async fn close(&self) {
        lock(&self.configured).clear();
        let providers = std::mem::take(&mut *lock(&self.started));
        futures::future::join_all(providers.iter().map(|provider| provider.close())).await;
    }

    /// Tells providers to abandon what they are doing.
    pub async fn stop_providers(&self) {
        let providers = lock(&self.started).clone();
        futures::future::join_all(providers.iter().map(|provider| provider.stop())).await;
    }

    /// Ends providers whatever they are doing; their calls answer with errors.
    pub async fn end_providers(&self) {
        let providers = lock(&self.started).clone();
        futures::future::join_all(providers.iter().map(|provider| provider.close())).await;
    }
}

/// The schema of a resource type or data source.
pub(crate) fn resource_schema<'a>(
    schemas: &'a Schemas,
    provider: &ProviderAddr,
    resource: &ashlar_addr::Resource,
) -> Result<&'a Schema, Diags> {
    let schemas = schemas.get(provider);
    let found = schemas.and_then(|schemas| match resource.mode {
        ashlar_addr::Mode::Managed => schemas.resources.get(&resource.kind),
        ashlar_addr::Mode::Data => schemas.data_sources.get(&resource.kind),
        ashlar_addr::Mode::Ephemeral => schemas.ephemeral_resources.get(&resource.kind),
    });
    found.ok_or_else(|| {
        let (what, summary) = match resource.mode {
            ashlar_addr::Mode::Managed => ("resource type", "Invalid resource type"),
            ashlar_addr::Mode::Data => ("data source", "Invalid data source"),
            ashlar_addr::Mode::Ephemeral => ("ephemeral resource type", "Invalid ephemeral resource"),
        };
        let detail = format!(
            "The provider {} has no {what} {:?}. Use a version of the provider that has it, or take it out.",
            provider.for_display(),
            &*resource.kind
        );
        Diag::error(summary, detail).into()
    })
}

/// The value without what must not be kept: ephemeral marks are refused before, sensitive ones stay.
pub fn unmarked(value: &Value) -> Value {
    value.clone().unmark_deep().0
}
