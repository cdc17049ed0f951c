//! The providers of one run: each schema asked once, a process started when it is needed.
//!
//! Which binary stands for which provider was decided before. Locally the process that told a schema becomes the first
//! instance that is asked for, so a provider that is used once is started once; where a pool is given, processes come from it
//! and go back to it.

use std::{
    collections::BTreeMap,
    sync::{Arc, OnceLock},
    time::{Duration, Instant},
};

use ashlar_diag::{Diag, Diags};
use ashlar_port::{Outside, Provider, ProviderDiag, Providers, States};
use ashlar_value::{Value, schema::ProviderSchema};
use async_trait::async_trait;

use crate::{
    builtin::{Builtin, Uuids},
    fault::as_diags,
    known::KnownSchema,
    lease::{Lease, config_digest},
    plugin::{OneConfig, Plugin, PluginOptions},
    process::Environment,
    schema_cache::{Binary, BinaryId, SchemaCache},
    sidecar::{Sidecar, Taken, Turns},
    warm::{Anchor, Idle, Key, Voice, WarmPool, digest_of, place_of},
};

/// The providers of one run.
pub struct Plugins {
    slots: BTreeMap<ashlar_addr::Provider, Slot>,
    options: PluginOptions,
    schemas: Arc<SchemaCache>,
    uuids: Uuids,
    states: Arc<dyn States>,
    warm: Option<Warmth>,
    turns: Arc<Turns>,
    /// The turns with sidecars, once any was needed.
    taken: tokio::sync::Mutex<Option<Taken>>,
}

/// Where processes come from that an earlier run left, and go to at the end of this one.
struct Warmth {
    pool: Arc<WarmPool>,
    tenant: Arc<str>,
    place: [u8; 32],
    anchor: Anchor,
}

/// What answers for a provider.
enum Program {
    /// A program that is started here.
    Here(Binary),
    /// One that runs elsewhere, with the configuration that this run gives it.
    Elsewhere(Sidecar, OneConfig),
}

struct Slot {
    program: Program,
    /// The process that told the schema, or was only asked about configurations, and serves nobody yet. Held while a schema is asked, so it is asked once.
    spare: tokio::sync::Mutex<Option<Arc<dyn Provider>>>,
    /// What a sidecar is like, in this run.
    known: OnceLock<Arc<KnownSchema>>,
}

impl Plugins {
    /// `binaries` names the program of each provider; the builtin one needs none, but ids for its objects and what other states hold.
    pub fn new(
        binaries: BTreeMap<ashlar_addr::Provider, Binary>,
        options: PluginOptions,
        schemas: Arc<SchemaCache>,
        outside: Arc<dyn Outside>,
        states: Arc<dyn States>,
    ) -> Self {
        let slots = binaries
            .into_iter()
            .map(|(provider, binary)| {
                (
                    provider,
                    Slot {
                        program: Program::Here(binary),
                        spare: tokio::sync::Mutex::default(),
                        known: OnceLock::new(),
                    },
                )
            })
            .collect();
        Self {
            slots,
            options,
            schemas,
            uuids: Arc::new(move || outside.uuid()),
            states,
            warm: None,
            turns: Arc::default(),
            taken: tokio::sync::Mutex::default(),
        }
    }

    /// Has these providers run elsewhere. `turns` is shared by all runs of the process.
    pub fn attached(mut self, sidecars: BTreeMap<ashlar_addr::Provider, Sidecar>, turns: Arc<Turns>) -> Self {
        self.turns = turns;
        for (provider, sidecar) in sidecars {
            let slot = Slot {
                program: Program::Elsewhere(sidecar, OneConfig::default()),
                spare: tokio::sync::Mutex::default(),
                known: OnceLock::new(),
            };
            self.slots.insert(provider, slot);
        }
        self
    }

    /// Connects to a sidecar, once this run has the turn of all that it uses.
    async fn attach(
        &self,
        provider: &ashlar_addr::Provider,
        sidecar: &Sidecar,
        config: &OneConfig,
    ) -> Result<Plugin, Diags> {
        let mut taken = self.taken.lock().await;
        if taken.is_none() {
            let sidecars = self.slots.values().filter_map(|slot| match &slot.program {
                Program::Elsewhere(sidecar, _) => Some(sidecar),
                Program::Here(_) => None,
            });
            let limit = self.options.timeouts.turn;
            let turns = tokio::time::timeout(limit, self.turns.take(sidecars)).await;
            *taken = Some(turns.map_err(|_| in_use_elsewhere(provider, sidecar, limit))?);
        }
        drop(taken);
        Plugin::attach(provider, sidecar, config.clone(), &self.options).await
    }

    /// Takes processes from a pool and gives them back to it. `tenant` is whose run this is: one that has no other run at the
    /// same time. `anchor` is held as long as a process lives that this run started.
    pub fn kept_warm(mut self, pool: Arc<WarmPool>, tenant: Arc<str>, anchor: Anchor) -> Self {
        let place = place_of(&self.options);
        pool.begin(&tenant, &place);
        self.warm = Some(Warmth {
            pool,
            tenant,
            place,
            anchor,
        });
        self
    }

    /// Ends the processes that serve nobody. Those in use end through their own `close`, or when dropped.
    pub async fn close(&self) {
        for slot in self.slots.values() {
            if let Some(spare) = slot.spare.lock().await.take() {
                spare.close().await;
            }
        }
        drop(self.taken.lock().await.take());
    }

    /// Takes back what was started and never configured; the next who asks for this provider has it.
    pub async fn give_back(&self, provider: &ashlar_addr::Provider, unconfigured: Arc<dyn Provider>) {
        let slot = self.slots.get(provider);
        let is_here = slot.is_some_and(|slot| matches!(slot.program, Program::Here(_)));
        if is_here && self.warm.is_some() {
            unconfigured.close().await;
        } else if let Some(slot) = slot {
            let before = slot.spare.lock().await.replace(unconfigured);
            if let Some(before) = before {
                before.close().await;
            }
        }
    }

    fn voice(&self) -> Voice {
        Voice::new(self.options.launch.redact.clone(), self.options.secrets.clone())
    }

    /// One of an earlier run, which this run hears from now on.
    fn taken(
        &self,
        provider: &ashlar_addr::Provider,
        config: Option<[u8; 32]>,
    ) -> Option<(Arc<dyn Provider>, Vec<ProviderDiag>)> {
        let (warm, slot) = self.warm.as_ref().zip(self.slots.get(provider))?;
        let Program::Here(binary) = &slot.program else {
            return None;
        };
        let idle = warm.pool.take(&warm.key(provider, binary, config))?;
        let (redact, secrets) = (self.options.launch.redact.clone(), self.options.secrets.clone());
        idle.voice.switch(redact, secrets);
        let remarks = idle.remarks.clone();
        Some((Arc::new(Lease::new(idle, warm.pool.clone())), remarks))
    }

    fn slot(&self, provider: &ashlar_addr::Provider) -> Result<&Slot, Diags> {
        self.slots.get(provider).ok_or_else(|| {
            let detail = format!(
                "No plugin was chosen for provider {}. This is a bug of Ashlar: every provider that is used must be chosen before.",
                provider.for_display()
            );
            Diag::error("Missing provider", detail).into()
        })
    }

    /// What stands for a binary that is not written to; an error names the provider.
    fn id(provider: &ashlar_addr::Provider, binary: &Binary) -> Result<BinaryId, Diags> {
        BinaryId::of(&binary.path).map_err(|error| {
            let detail = format!(
                "The plugin of {} ({}) could not be read: {error}.",
                provider.for_display(),
                binary.path.display()
            );
            Diag::error("Failed to instantiate provider", detail).into()
        })
    }

    /// What is known of a binary, asked of a process if nothing is. That is one of its own where the answer lasts and the
    /// variables are not those of this process: what whoever wrote a workspace chose (`LD_PRELOAD`) must not tell all others what a provider is like.
    async fn known(
        &self,
        provider: &ashlar_addr::Provider,
        slot: &Slot,
        spare: &mut Option<Arc<dyn Provider>>,
    ) -> Result<Arc<KnownSchema>, Diags> {
        let binary = match &slot.program {
            Program::Here(binary) => binary,
            Program::Elsewhere(sidecar, config) => {
                if let Some(known) = slot.known.get() {
                    return Ok(known.clone());
                }
                // It may be another one each time, so it is asked in each run.
                let plugin = self.attach(provider, sidecar, config).await?;
                let (known, _) = plugin.ask_schema().await.map_err(as_diags)?;
                plugin.inherit(known.clone());
                *spare = Some(Arc::new(plugin));
                return Ok(slot.known.get_or_init(|| known).clone());
            }
        };
        let mut id = Self::id(provider, binary)?;
        if let Environment::Inherited(own) = &self.options.launch.environment {
            let variables = std::env::vars_os().chain(own.iter().cloned());
            id = id.with_variables(&provider.name, variables);
        }
        if let Some(known) = self.schemas.get(binary, &id).await {
            return Ok(known);
        }
        let mut options = self.options.clone();
        let lasts = self.schemas.is_shared() || self.warm.is_some();
        let is_own = lasts && matches!(options.launch.environment, Environment::Only(_));
        if is_own {
            options.launch.environment = Environment::Only(Vec::new());
            options.launch.readable.clear();
            options.launch.writable.clear();
            options.launch.working_folder = options.launch.scratch.clone();
        }
        let plugin = Plugin::start(provider, &binary.path, &options, None).await?;
        let told = plugin.ask_schema().await;
        let (known, packed) = match told {
            Ok(told) => told,
            Err(failed) => {
                plugin.close().await;
                return Err(as_diags(failed));
            }
        };
        if is_own {
            plugin.close().await;
        } else {
            plugin.inherit(known.clone());
            *spare = Some(Arc::new(plugin));
        }
        self.schemas.put(binary, id, known.clone(), packed).await;
        Ok(known)
    }
}

#[async_trait]
impl Providers for Plugins {
    async fn schema(&self, provider: &ashlar_addr::Provider) -> Result<Arc<ProviderSchema>, Diags> {
        if provider.is_builtin() {
            return Ok(Builtin::provider_schema());
        }
        let slot = self.slot(provider)?;
        let mut spare = slot.spare.lock().await;
        let known = self.known(provider, slot, &mut spare).await?;
        Ok(known.schema.clone())
    }

    async fn start(&self, provider: &ashlar_addr::Provider) -> Result<Arc<dyn Provider>, Diags> {
        if provider.is_builtin() {
            return Ok(Arc::new(Builtin::new(self.uuids.clone(), self.states.clone())));
        }
        let slot = self.slot(provider)?;
        let known = {
            let mut spare = slot.spare.lock().await;
            let known = match &*spare {
                Some(_) => None,
                None => Some(self.known(provider, slot, &mut spare).await?),
            };
            if let Some(spare) = spare.take() {
                return Ok(spare);
            }
            known
        };
        let binary = match &slot.program {
            Program::Here(binary) => binary,
            Program::Elsewhere(sidecar, config) => {
                let plugin = self.attach(provider, sidecar, config).await?;
                // It may be one that was started since.
                plugin.known().await.map_err(as_diags)?;
                return Ok(Arc::new(plugin));
            }
        };
        let Some(warm) = &self.warm else {
            let plugin = Plugin::start(provider, &binary.path, &self.options, known).await?;
            plugin.known().await.map_err(as_diags)?;
            return Ok(Arc::new(plugin));
        };
        let voice = self.voice();
        let plugin = Plugin::start(provider, &binary.path, &voice.of(&self.options), known).await?;
        plugin.known().await.map_err(as_diags)?;
        warm.pool.counts.started();
        let idle = Idle {
            plugin: Arc::new(plugin),
            voice,
            key: warm.key(provider, binary, None),
            remarks: Vec::new(),
            started: Instant::now(),
            anchor: warm.anchor.clone(),
            role: None,
        };
        Ok(Arc::new(Lease::new(idle, warm.pool.clone())))
    }

    async fn plain(&self, provider: &ashlar_addr::Provider) -> Result<Arc<dyn Provider>, Diags> {
        match self.taken(provider, None) {
            Some((lease, _)) => Ok(lease),
            None => self.start(provider).await,
        }
    }

    async fn configured(
        &self,
        provider: &ashlar_addr::Provider,
        config: &Value,
    ) -> Option<(Arc<dyn Provider>, Vec<ProviderDiag>)> {
        if provider.is_builtin() || self.warm.is_none() {
            return None;
        }
        let schema = self.schema(provider).await.ok()?;
        let digest = config_digest(&schema, config)?;
        self.taken(provider, Some(digest))
    }
}

impl Warmth {
    fn key(&self, provider: &ashlar_addr::Provider, binary: &Binary, config: Option<[u8; 32]>) -> Key {
        let digest = binary.digest.as_deref().unwrap_or_default();
        let whose = provider.to_string();
        let path = binary.path.as_os_str().as_encoded_bytes();
        Key {
            tenant: self.tenant.clone(),
            place: self.place,
            program: digest_of([whose.as_bytes(), path, digest.as_bytes()]),
            config,
        }
    }
}

fn in_use_elsewhere(provider: &ashlar_addr::Provider, sidecar: &Sidecar, limit: Duration) -> Diag {
    let detail = format!(
        "{} runs as a sidecar at {sidecar}, which serves one run at a time, and others have had it, or another sidecar that this \
         run needs, for {limit:?}. Try again, or run more sidecars and give each to fewer namespaces.",
        provider.for_display()
    );
    Diag::error("Provider in use by another run", detail)
}
