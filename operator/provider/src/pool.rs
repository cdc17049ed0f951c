//! The providers of one run: each schema asked once, a process started when it is needed.
//!
//! Which binary stands for which provider was decided before. The process that told a schema becomes the first instance
//! that is asked for, so a provider that is used once is started once.

use std::{
    collections::{BTreeMap, HashMap},
    fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use ashlar_diag::{Diag, Diags};
use ashlar_port::{Outside, Provider, Providers, States};
use ashlar_value::schema::ProviderSchema;
use async_trait::async_trait;

use crate::{
    builtin::{Builtin, Uuids},
    fault::as_diags,
    known::KnownSchema,
    plugin::{Plugin, PluginOptions},
};

/// Schemas by the binary that told them; shared by all runs of a process.
#[derive(Default)]
pub struct SchemaCache(Mutex<HashMap<BinaryId, Arc<KnownSchema>>>);

/// A binary that was not written since: the file, its length and its times.
#[derive(Clone, PartialEq, Eq, Hash)]
struct BinaryId {
    path: PathBuf,
    file: (u64, u64),
    length: u64,
    written: (i64, i64),
    changed: (i64, i64),
}

impl BinaryId {
    fn of(path: &Path) -> std::io::Result<Self> {
        let metadata = fs::metadata(path)?;
        Ok(Self {
            path: path.to_owned(),
            file: (metadata.dev(), metadata.ino()),
            length: metadata.len(),
            written: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        })
    }
}

impl SchemaCache {
    fn get(&self, binary: &BinaryId) -> Option<Arc<KnownSchema>> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get(binary)
            .cloned()
    }

    fn put(&self, binary: BinaryId, known: Arc<KnownSchema>) {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(binary, known);
    }
}

/// The providers of one run.
pub struct Plugins {
    slots: BTreeMap<ashlar_addr::Provider, Slot>,
    options: PluginOptions,
    schemas: Arc<SchemaCache>,
    uuids: Uuids,
    states: Arc<dyn States>,
}

struct Slot {
    binary: PathBuf,
    /// The process that told the schema, or was only asked about configurations, and serves nobody yet. Held while a schema is asked, so it is asked once.
    spare: tokio::sync::Mutex<Option<Arc<dyn Provider>>>,
}

impl Plugins {
    /// `binaries` names the program of each provider; the builtin one needs none, but ids for its objects and what other states hold.
    pub fn new(
        binaries: BTreeMap<ashlar_addr::Provider, PathBuf>,
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
                        binary,
                        spare: tokio::sync::Mutex::default(),
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
        }
    }

    /// Ends the processes that serve nobody. Those in use end through their own `close`, or when dropped.
    pub async fn close(&self) {
        for slot in self.slots.values() {
            if let Some(spare) = slot.spare.lock().await.take() {
                spare.close().await;
            }
        }
    }

    /// Takes back what was started and never configured; the next who asks for this provider has it.
    pub async fn give_back(&self, provider: &ashlar_addr::Provider, unconfigured: Arc<dyn Provider>) {
        if let Some(slot) = self.slots.get(provider) {
            let before = slot.spare.lock().await.replace(unconfigured);
            if let Some(before) = before {
                before.close().await;
            }
        }
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

    async fn launch(
        &self,
        provider: &ashlar_addr::Provider,
        slot: &Slot,
    ) -> Result<(Arc<Plugin>, BinaryId), Diags> {
        let binary = BinaryId::of(&slot.binary).map_err(|error| {
            let detail = format!(
                "The plugin of {} ({}) could not be read: {error}.",
                provider.for_display(),
                slot.binary.display()
            );
            Diag::error("Failed to instantiate provider", detail)
        })?;
        let known = self.schemas.get(&binary);
        let plugin = Plugin::start(provider, &slot.binary, &self.options, known).await?;
        Ok((Arc::new(plugin), binary))
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
        if let Some(known) = BinaryId::of(&slot.binary)
            .ok()
            .and_then(|binary| self.schemas.get(&binary))
        {
            return Ok(known.schema.clone());
        }
        let (plugin, binary) = self.launch(provider, slot).await?;
        let known = plugin.known().await.map_err(as_diags)?.clone();
        let schema = known.schema.clone();
        self.schemas.put(binary, known);
        *spare = Some(plugin);
        Ok(schema)
    }

    async fn start(&self, provider: &ashlar_addr::Provider) -> Result<Arc<dyn Provider>, Diags> {
        if provider.is_builtin() {
            return Ok(Arc::new(Builtin::new(self.uuids.clone(), self.states.clone())));
        }
        let slot = self.slot(provider)?;
        if let Some(spare) = slot.spare.lock().await.take() {
            return Ok(spare);
        }
        let (plugin, binary) = self.launch(provider, slot).await?;
        let known = plugin.known().await.map_err(as_diags)?.clone();
        self.schemas.put(binary, known);
        Ok(plugin)
    }
}
