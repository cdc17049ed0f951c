//! A provider that runs as a plugin, as the engine sees it.
//!
//! Values are written by the schema's type and read by it; what cannot be read is an error that names the provider.
//! A null answer stands for "nothing sent" as in Terraform; `None` stands for a call that failed.

use std::{
    error::Error,
    path::Path,
    sync::{Arc, OnceLock},
    time::{Duration, Instant},
};

use ashlar_diag::{Diag, Diags, Severity};
use ashlar_port::{
    Answer, Applied, ApplyRequest, Deferred, FunctionFault, ImportRequest, ImportedObject, ListRequest,
    Listed, MoveRequest, MovedObject, Opened, PlanRequest, Planned, Provider, ProviderDiag, Read,
    ReadDataRequest, ReadRequest, Renewed, Told, UpgradeRequest,
};
use ashlar_value::{Value, schema::ProviderSchema};
use async_trait::async_trait;
use bytes::Bytes;
use tokio::sync::OnceCell;

use crate::{
    calls::{DataAnswer, nothing_planned},
    client::{CallError, Client, Timeouts},
    connect::{Broken, attach, connect},
    fault::{self, Failed, as_diags, chain, plugin_error},
    known::KnownSchema,
    lease::sent_digest,
    log::{PluginLog, Redactor},
    packed::{pack, unpack},
    process::{Farewell, LaunchOptions, Process},
    proto::tfplugin::{self, Diagnostic},
    sidecar::Sidecar,
    tls::Identity,
    wire,
};

/// How plugins are spoken to.
#[derive(Clone)]
pub struct PluginOptions {
    /// How they are run.
    pub launch: LaunchOptions,
    /// How long calls may take.
    pub timeouts: Timeouts,
    /// The Terraform version we present.
    pub terraform_version: String,
    /// Told of each ephemeral resource that is opened, and of what is sensitive of each object that a provider tells of.
    pub secrets: Listener,
}

/// Hears what must not be told: of an ephemeral resource its configuration and what it gave, of an object each part that is
/// sensitive, with nothing before it.
pub type Listener = Arc<dyn Fn(&Value, &Value) + Send + Sync>;

/// A running plugin.
pub(crate) struct Plugin {
    pub(crate) name: String,
    pub(crate) client: Client,
    pub(crate) terraform_version: String,
    /// Takes what is sensitive out of what it says.
    pub(crate) redact: Redactor,
    pub(crate) secrets: Listener,
    /// Set where it runs elsewhere.
    attached: Option<Attached>,
    /// Known from an earlier process of the same binary.
    inherited: Option<Arc<KnownSchema>>,
    known: OnceCell<Arc<KnownSchema>>,
    /// The call during which it ended.
    last: OnceLock<&'static str>,
}

/// What there is of a plugin that runs elsewhere.
struct Attached {
    sidecar: Sidecar,
    ended: Farewell,
    /// The configuration that the run has given it.
    config: OneConfig,
}

/// The digest of the one configuration that a run gives a sidecar.
pub(crate) type OneConfig = Arc<OnceLock<[u8; 32]>>;

/// The first pause before a sidecar is asked once more, and the longest.
const PAUSES: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(5));

impl Plugin {
    /// Connects to one that runs elsewhere, which may be about to start.
    pub(crate) async fn attach(
        provider: &ashlar_addr::Provider,
        sidecar: &Sidecar,
        config: OneConfig,
        options: &PluginOptions,
    ) -> Result<Self, Diags> {
        let name = provider.for_display();
        let how =
            format!("the connection to its sidecar at {sidecar} broke, so what it did of it is not known");
        let last = Instant::now() + options.launch.handshake;
        let mut pause = PAUSES.0;
        let (channel, process, ended) = loop {
            // One for each try: the end of a connection that came to nothing says nothing of the next.
            let (process, ended) = Process::elsewhere();
            let (telling, how) = (ended.clone(), how.clone());
            let broken: Broken = Arc::new(move || telling.tell(&how));
            let connecting = attach(sidecar.address.clone(), broken);
            let error = match tokio::time::timeout_at(last.into(), connecting).await {
                Ok(Ok(channel)) => break (channel, process, ended),
                Ok(Err(error)) => chain(&error),
                Err(_) => "it does not answer".to_owned(),
            };
            if Instant::now() + pause >= last {
                let detail = format!(
                    "The sidecar of {name} at {sidecar} takes no connections: {error}. See that it runs and listens there."
                );
                return Err(Diag::error("Failed to instantiate provider", detail).into());
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(PAUSES.1);
        };
        let log = PluginLog::new(name.as_str().into(), options.launch.redact.clone());
        let client = Client::new(
            sidecar.generation,
            channel,
            Arc::new(process),
            log,
            options.timeouts,
        );
        Ok(Self {
            name,
            client,
            terraform_version: options.terraform_version.clone(),
            redact: options.launch.redact.clone(),
            secrets: options.secrets.clone(),
            attached: Some(Attached {
                sidecar: sidecar.clone(),
                ended,
                config,
            }),
            inherited: None,
            known: OnceCell::new(),
            last: OnceLock::new(),
        })
    }

    /// Starts `binary`; errors name the provider.
    pub(crate) async fn start(
        provider: &ashlar_addr::Provider,
        binary: &Path,
        options: &PluginOptions,
        inherited: Option<Arc<KnownSchema>>,
    ) -> Result<Self, Diags> {
        let name = provider.for_display();
        let failed = |error: &dyn Error| {
            let detail = format!(
                "The plugin of {name} ({}) could not be started: {}.",
                binary.display(),
                chain(error)
            );
            Diags::from(Diag::error("Failed to instantiate provider", detail))
        };
        let identity = Identity::new().map_err(|error| failed(&error))?;
        let plugin_name: Arc<str> = name.as_str().into();
        let (process, handshake, log) = Process::start(&plugin_name, binary, identity.pem(), &options.launch)
            .await
            .map_err(|error| failed(&error))?;
        let tls = identity
            .trusting(handshake.certificate.into())
            .map_err(|error| failed(&error))?;
        let channel = tokio::time::timeout(options.launch.handshake, connect(handshake.address, tls)).await;
        let channel = match channel {
            Ok(channel) => channel.map_err(|error| failed(&error))?,
            Err(_) => {
                let detail = format!(
                    "The plugin of {name} ({}) took no connection within {:?}.",
                    binary.display(),
                    options.launch.handshake
                );
                return Err(Diag::error("Failed to instantiate provider", detail).into());
            }
        };
        let client = Client::new(
            handshake.generation,
            channel,
            Arc::new(process),
            log,
            options.timeouts,
        );
        Ok(Self {
            name,
            client,
            terraform_version: options.terraform_version.clone(),
            redact: options.launch.redact.clone(),
            secrets: options.secrets.clone(),
            attached: None,
            inherited,
            known: OnceCell::new(),
            last: OnceLock::new(),
        })
    }

    /// Its process's id, if it runs here.
    pub(crate) fn pid(&self) -> Option<u32> {
        self.client.process().pid()
    }

    /// Can nothing be asked of it any more?
    pub(crate) fn has_ended(&self) -> bool {
        self.client.process().has_ended().is_some()
    }

    /// The schema, asked of the plugin at most once; not at all where another process told it and that suffices.
    pub(crate) async fn known(&self) -> Result<&Arc<KnownSchema>, Failed> {
        let known = self.known.get_or_try_init(|| async {
            match &self.inherited {
                Some(known) if known.schema.get_provider_schema_optional => Ok(known.clone()),
                // Plugins of the old SDK must be asked before anything else, though the answer is known.
                Some(known) => {
                    let told = self.answer("GetProviderSchema", self.client.schema_again().await)?;
                    let diags = wire::diags(told);
                    if has_errors(&diags) {
                        Err(diags)
                    } else {
                        Ok(known.clone())
                    }
                }
                None => self.ask_schema().await.map(|(known, _)| known),
            }
        });
        known.await
    }

    /// Takes it that the schema, which was just asked, is this.
    pub(crate) fn inherit(&self, known: Arc<KnownSchema>) {
        // One that is known already is the same.
        let _ = self.known.set(known);
    }

    /// Asks for the schema; gives it also as it is kept.
    pub(crate) async fn ask_schema(&self) -> Result<(Arc<KnownSchema>, Bytes), Failed> {
        let response = self.client.schema().await;
        if let (Some(attached), Err(error)) = (&self.attached, &response)
            && error.is_unimplemented()
        {
            let detail = format!(
                "The sidecar of {} at {} does not speak protocol {}, as its settings say. Give the protocol that it speaks.",
                self.name,
                attached.sidecar,
                attached.sidecar.protocol()
            );
            return Err(vec![fault::error("Failed to instantiate provider", detail)]);
        }
        let mut response = self.answer("GetProviderSchema", response)?;
        let mut diags = wire::diags(std::mem::take(&mut response.diagnostics));
        if has_errors(&diags) {
            return Err(diags);
        }
        let request = tfplugin::get_resource_identity_schemas::Request {};
        let identities = match self.client.identity_schemas(request).await {
            Err(error) if error.is_unimplemented() => Default::default(),
            answer => self.answer("GetResourceIdentitySchemas", answer)?,
        };
        diags.extend(wire::diags(identities.diagnostics));
        if has_errors(&diags) {
            return Err(diags);
        }
        for diag in diags {
            tracing::warn!(provider = %self.name, "{}: {}", diag.summary, diag.detail);
        }
        let senseless =
            |error: &dyn Error| self.nonsense(format!("sent a schema that makes no sense: {error}"));
        let packed: Bytes = pack(response, identities.identity_schemas)
            .map_err(|error| senseless(&error))?
            .into();
        let schema = unpack(packed.clone()).map_err(|error| senseless(&error))?;
        let known = KnownSchema::new(schema).map_err(|error| {
            self.nonsense(format!("sent a schema that makes no sense: {}", error.message))
        })?;
        Ok((Arc::new(known), packed))
    }

    /// The answer to `call`, or a remark why there is none.
    pub(crate) fn answer<T>(&self, call: &'static str, answer: Result<T, CallError>) -> Result<T, Failed> {
        answer.map_err(|error| vec![self.failure(call, &error)])
    }

    fn failure(&self, call: &'static str, error: &CallError) -> ProviderDiag {
        if matches!(
            error,
            CallError::Ended(_) | CallError::Slow(_) | CallError::Left(_)
        ) {
            let _ = self.last.set(call);
        }
        error.diag(&self.name, call, self.last.get().copied())
    }

    /// A remark on an answer that no provider should give.
    pub(crate) fn nonsense(&self, what: String) -> Failed {
        plugin_error(format!(
            "The plugin of {} {what}. This is a bug of the provider.",
            self.name
        ))
    }
}

fn has_errors(diags: &[ProviderDiag]) -> bool {
    diags.iter().any(|diag| diag.severity == Severity::Error)
}

fn remarks(answer: Result<Vec<Diagnostic>, Failed>) -> Vec<ProviderDiag> {
    answer.map_or_else(|failed| failed, wire::diags)
}

fn failed_with<T>(value: T) -> impl FnOnce(Failed) -> Answer<T> {
    move |diags| Answer { value, diags }
}

#[async_trait]
impl Provider for Plugin {
    async fn schema(&self) -> Result<Arc<ProviderSchema>, Diags> {
        self.known()
            .await
            .map(|known| known.schema.clone())
            .map_err(as_diags)
    }

    async fn validate_provider(&self, config: &Value) -> Vec<ProviderDiag> {
        remarks(self.try_validate_provider(config).await)
    }

    async fn configure(&self, config: &Value) -> Vec<ProviderDiag> {
        if let Some(attached) = self.attached.as_ref().filter(|one| one.sidecar.takes_turns) {
            let known = match self.known().await {
                Ok(known) => known,
                Err(failed) => return remarks(Err(failed)),
            };
            // What cannot be told apart counts as another one.
            let own = sent_digest(&known.schema, config);
            if own.is_none_or(|own| *attached.config.get_or_init(|| own) != own) {
                let detail = format!(
                    "{} runs as a sidecar at {}, which has one configuration at a time, and this run gives it two. Take one of \
                     the provider blocks out, or have the operator start the provider.",
                    self.name, attached.sidecar
                );
                return vec![fault::unasked("Sidecar has another configuration", detail)];
            }
        }
        remarks(self.try_configure(config).await)
    }

    async fn validate_resource(&self, kind: &str, config: &Value) -> Vec<ProviderDiag> {
        remarks(self.try_validate_resource(kind, config).await)
    }

    async fn validate_data(&self, kind: &str, config: &Value) -> Vec<ProviderDiag> {
        remarks(self.try_validate_data(kind, config).await)
    }

    async fn validate_ephemeral(&self, kind: &str, config: &Value) -> Vec<ProviderDiag> {
        remarks(self.try_validate_ephemeral(kind, config).await)
    }

    async fn open_ephemeral(&self, kind: &str, config: &Value) -> Answer<Opened> {
        let nothing = Opened {
            result: None,
            private: Vec::new(),
            renew_at: None,
            deferred: None,
        };
        self.try_open_ephemeral(kind, config)
            .await
            .unwrap_or_else(failed_with(nothing))
    }

    async fn renew_ephemeral(&self, kind: &str, private: &[u8]) -> Answer<Renewed> {
        self.try_renew_ephemeral(kind, private)
            .await
            .unwrap_or_else(failed_with(Renewed::default()))
    }

    async fn close_ephemeral(&self, kind: &str, private: &[u8]) -> Vec<ProviderDiag> {
        remarks(self.try_close_ephemeral(kind, private).await)
    }

    async fn validate_action(&self, kind: &str, config: &Value) -> Vec<ProviderDiag> {
        remarks(self.try_validate_action(kind, config).await)
    }

    async fn plan_action(&self, kind: &str, config: &Value) -> Answer<Option<Deferred>> {
        self.try_plan_action(kind, config)
            .await
            .unwrap_or_else(failed_with(None))
    }

    async fn invoke_action(&self, kind: &str, config: &Value, told: Told<'_>) -> Vec<ProviderDiag> {
        remarks(self.try_invoke_action(kind, config, told).await)
    }

    async fn upgrade_state(&self, request: UpgradeRequest<'_>) -> Answer<Option<Value>> {
        self.try_upgrade_state(&request)
            .await
            .unwrap_or_else(failed_with(None))
    }

    async fn upgrade_identity(&self, request: UpgradeRequest<'_>) -> Answer<Option<Value>> {
        self.try_upgrade_identity(&request)
            .await
            .unwrap_or_else(failed_with(None))
    }

    async fn move_state(&self, request: MoveRequest<'_>) -> Answer<MovedObject> {
        self.try_move(&request)
            .await
            .unwrap_or_else(failed_with(MovedObject::default()))
    }

    async fn import(&self, request: ImportRequest<'_>) -> Answer<(Vec<ImportedObject>, Option<Deferred>)> {
        self.try_import(&request)
            .await
            .unwrap_or_else(failed_with((Vec::new(), None)))
    }

    async fn generate_config(&self, kind: &str, state: &Value) -> Answer<Option<Value>> {
        self.try_generate_config(kind, state)
            .await
            .unwrap_or_else(failed_with(None))
    }

    async fn validate_list(&self, kind: &str, config: &Value) -> Vec<ProviderDiag> {
        remarks(self.try_validate_list(kind, config).await)
    }

    async fn list(&self, request: ListRequest<'_>) -> Answer<Vec<Listed>> {
        self.try_list(&request)
            .await
            .unwrap_or_else(failed_with(Vec::new()))
    }

    async fn read(&self, request: ReadRequest<'_>) -> Answer<Read> {
        let nothing = Read {
            state: None,
            private: Vec::new(),
            identity: None,
            deferred: None,
        };
        self.try_read(&request).await.unwrap_or_else(failed_with(nothing))
    }

    async fn plan(&self, request: PlanRequest<'_>) -> Answer<Planned> {
        self.try_plan(&request)
            .await
            .unwrap_or_else(failed_with(nothing_planned()))
    }

    async fn apply(&self, request: ApplyRequest<'_>) -> Answer<Applied> {
        let nothing = Applied {
            state: None,
            private: Vec::new(),
            identity: None,
            legacy_type_system: false,
        };
        self.try_apply(&request)
            .await
            .unwrap_or_else(failed_with(nothing))
    }

    async fn read_data(&self, request: ReadDataRequest<'_>) -> DataAnswer {
        self.try_read_data(&request)
            .await
            .unwrap_or_else(failed_with((None, None)))
    }

    async fn call_function(&self, name: &str, args: &[Value]) -> Result<Value, FunctionFault> {
        let answer = self.try_call_function(name, args).await;
        answer.unwrap_or_else(|failed| Err(fault::of_function(&failed)))
    }

    async fn stop(&self) {
        match self.client.stop(tfplugin::stop_provider::Request {}).await {
            Ok(response) if response.error.is_empty() => {}
            Ok(response) => {
                tracing::warn!(provider = %self.name, "the provider cannot stop: {}", response.error)
            }
            Err(error) => {
                let why = self.failure("StopProvider", &error).detail;
                tracing::warn!(provider = %self.name, "the provider could not be told to stop: {why}")
            }
        }
    }

    async fn close(&self) {
        match &self.attached {
            None => self.client.close().await,
            // It serves others after us. What it is still asked for has no answer.
            Some(attached) => attached.ended.tell("the run gave it up"),
        }
    }
}
