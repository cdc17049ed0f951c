//! A provider that runs as a plugin, as the engine sees it.
//!
//! Values are written by the schema's type and read by it; what cannot be read is an error that names the provider.
//! A null answer stands for "nothing sent" as in Terraform; `None` stands for a call that failed.

use std::{
    collections::HashMap,
    error::Error,
    path::Path,
    sync::{Arc, Mutex, PoisonError},
};

use ashlar_diag::{Diag, Diags, Severity};
use ashlar_port::{
    Answer, Applied, ApplyRequest, Deferred, PlanRequest, Planned, Provider, ProviderDiag, Read,
    ReadDataRequest, ReadRequest, UpgradeRequest,
};
use ashlar_value::{Type, Value, json::WireError, schema::ProviderSchema};
use async_trait::async_trait;
use tokio::sync::OnceCell;

use crate::{
    client::{CallError, Client, Timeouts},
    connect::connect,
    process::{LaunchOptions, Process},
    proto::tfplugin::{self, ClientCapabilities, Diagnostic, DynamicValue, RawState},
    schema::provider_schema,
    tls::Identity,
    wire,
};

/// A schema with the types that follow from it, made once each.
pub(crate) struct KnownSchema {
    pub(crate) schema: Arc<ProviderSchema>,
    provider: Type,
    /// A null of the type of `provider_meta`, if there is one.
    meta: Option<DynamicValue>,
    resources: Mutex<HashMap<Arc<str>, ResourceTypes>>,
    data_sources: Mutex<HashMap<Arc<str>, Type>>,
}

#[derive(Clone)]
struct ResourceTypes {
    object: Type,
    identity: Option<Type>,
}

impl KnownSchema {
    fn new(schema: ProviderSchema) -> Result<Self, WireError> {
        let meta = match &schema.provider_meta {
            Some(meta) => {
                let ty = meta.block.ty();
                wire::encode(&Value::null(ty.clone()), &ty)?
            }
            None => None,
        };
        Ok(Self {
            provider: schema.provider.block.ty(),
            schema: Arc::new(schema),
            meta,
            resources: Mutex::default(),
            data_sources: Mutex::default(),
        })
    }

    fn resource(&self, kind: &str) -> Option<ResourceTypes> {
        let mut known = self.resources.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(types) = known.get(kind) {
            return Some(types.clone());
        }
        let (name, schema) = self.schema.resources.get_key_value(kind)?;
        let types = ResourceTypes {
            object: schema.block.ty(),
            identity: schema.identity.as_ref().map(|identity| identity.ty()),
        };
        known.insert(name.clone(), types.clone());
        Some(types)
    }

    fn data_source(&self, kind: &str) -> Option<Type> {
        let mut known = self.data_sources.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(ty) = known.get(kind) {
            return Some(ty.clone());
        }
        let (name, schema) = self.schema.data_sources.get_key_value(kind)?;
        let ty = schema.block.ty();
        known.insert(name.clone(), ty.clone());
        Some(ty)
    }
}

/// How plugins are spoken to.
#[derive(Clone)]
pub struct PluginOptions {
    /// How they are run.
    pub launch: LaunchOptions,
    /// How long calls may take.
    pub timeouts: Timeouts,
    /// The Terraform version we present.
    pub terraform_version: String,
}

/// A running plugin.
pub(crate) struct Plugin {
    name: String,
    client: Client,
    terraform_version: String,
    /// Known from an earlier process of the same binary.
    inherited: Option<Arc<KnownSchema>>,
    known: OnceCell<Arc<KnownSchema>>,
}

impl Plugin {
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
                let detail = format!("The plugin of {name} does not take connections.");
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
            inherited,
            known: OnceCell::new(),
        })
    }

    /// The schema, asked of the plugin at most once; not at all where another process told it and that suffices.
    pub(crate) async fn known(&self) -> Result<&Arc<KnownSchema>, Vec<ProviderDiag>> {
        let known = self.known.get_or_try_init(|| async {
            match &self.inherited {
                Some(known) if known.schema.get_provider_schema_optional => Ok(known.clone()),
                // Plugins of the old SDK must be asked before anything else, though the answer is known.
                Some(known) => match self.client.schema().await {
                    Ok(_) => Ok(known.clone()),
                    Err(error) => Err(self.refused(&error, "GetProviderSchema")),
                },
                None => self.ask_schema().await.map(Arc::new),
            }
        });
        known.await
    }

    async fn ask_schema(&self) -> Result<KnownSchema, Vec<ProviderDiag>> {
        let mut response = self
            .client
            .schema()
            .await
            .map_err(|error| self.refused(&error, "GetProviderSchema"))?;
        let mut diags = wire::diags(std::mem::take(&mut response.diagnostics));
        if has_errors(&diags) {
            return Err(diags);
        }
        let request = tfplugin::get_resource_identity_schemas::Request {};
        let identities = match self.client.identity_schemas(request).await {
            Ok(response) => response,
            Err(error) if error.is_unimplemented() => Default::default(),
            Err(error) => return Err(self.refused(&error, "GetResourceIdentitySchemas")),
        };
        diags.extend(wire::diags(identities.diagnostics));
        if has_errors(&diags) {
            return Err(diags);
        }
        for diag in diags {
            tracing::warn!(provider = %self.name, "{}: {}", diag.summary, diag.detail);
        }
        let schema = provider_schema(response, identities.identity_schemas)
            .map_err(|error| self.nonsense(format!("sent a schema that makes no sense: {error}")))?;
        KnownSchema::new(schema)
            .map_err(|error| self.nonsense(format!("sent a schema that makes no sense: {}", error.message)))
    }

    fn refused(&self, error: &CallError, call: &str) -> Vec<ProviderDiag> {
        vec![error.diag(&self.name, call)]
    }

    fn nonsense(&self, what: String) -> Vec<ProviderDiag> {
        let detail = format!(
            "The plugin of {} {what}. This is a bug of the provider.",
            self.name
        );
        vec![ProviderDiag {
            is_call_fault: true,
            severity: Severity::Error,
            summary: "Plugin error".to_owned(),
            detail,
            path: None,
        }]
    }

    fn unreadable(&self, call: &str, error: &WireError) -> Vec<ProviderDiag> {
        self.nonsense(format!(
            "answered {call} with a value that does not fit its schema ({})",
            placed(error)
        ))
    }

    fn unwritable(&self, call: &str, error: &WireError) -> Vec<ProviderDiag> {
        let detail = format!(
            "A value for {call} of {} does not fit its schema ({}).",
            self.name,
            placed(error)
        );
        vec![ProviderDiag {
            is_call_fault: true,
            severity: Severity::Error,
            summary: "Plugin error".to_owned(),
            detail,
            path: None,
        }]
    }

    async fn resource(&self, kind: &str) -> Result<(&Arc<KnownSchema>, ResourceTypes), Vec<ProviderDiag>> {
        let known = self.known().await?;
        let types = known
            .resource(kind)
            .ok_or_else(|| unknown("resource type", kind))?;
        Ok((known, types))
    }

    async fn data_source(&self, kind: &str) -> Result<(&Arc<KnownSchema>, Type), Vec<ProviderDiag>> {
        let known = self.known().await?;
        let ty = known
            .data_source(kind)
            .ok_or_else(|| unknown("data source", kind))?;
        Ok((known, ty))
    }

    async fn try_validate_provider(&self, config: &Value) -> Result<Vec<Diagnostic>, Vec<ProviderDiag>> {
        const CALL: &str = "ValidateProviderConfig";
        let known = self.known().await?;
        let config = wire::encode(config, &known.provider).map_err(|error| self.unwritable(CALL, &error))?;
        let request = tfplugin::validate_provider_config::Request { config };
        let response = self.client.validate_provider(request).await;
        Ok(response.map_err(|error| self.refused(&error, CALL))?.diagnostics)
    }

    async fn try_configure(&self, config: &Value) -> Result<Vec<Diagnostic>, Vec<ProviderDiag>> {
        const CALL: &str = "ConfigureProvider";
        let known = self.known().await?;
        let request = tfplugin::configure_provider::Request {
            terraform_version: self.terraform_version.clone(),
            config: wire::encode(config, &known.provider).map_err(|error| self.unwritable(CALL, &error))?,
            client_capabilities: capabilities(false),
        };
        let response = self.client.configure(request).await;
        Ok(response.map_err(|error| self.refused(&error, CALL))?.diagnostics)
    }

    async fn try_validate_resource(
        &self,
        kind: &str,
        config: &Value,
    ) -> Result<Vec<Diagnostic>, Vec<ProviderDiag>> {
        const CALL: &str = "ValidateResourceConfig";
        let (_, types) = self.resource(kind).await?;
        let request = tfplugin::validate_resource_config::Request {
            type_name: kind.to_owned(),
            config: wire::encode(config, &types.object).map_err(|error| self.unwritable(CALL, &error))?,
            client_capabilities: capabilities(false),
        };
        let response = self.client.validate_resource(request).await;
        Ok(response.map_err(|error| self.refused(&error, CALL))?.diagnostics)
    }

    async fn try_validate_data(
        &self,
        kind: &str,
        config: &Value,
    ) -> Result<Vec<Diagnostic>, Vec<ProviderDiag>> {
        const CALL: &str = "ValidateDataResourceConfig";
        let (_, ty) = self.data_source(kind).await?;
        let request = tfplugin::validate_data_resource_config::Request {
            type_name: kind.to_owned(),
            config: wire::encode(config, &ty).map_err(|error| self.unwritable(CALL, &error))?,
        };
        let response = self.client.validate_data(request).await;
        Ok(response.map_err(|error| self.refused(&error, CALL))?.diagnostics)
    }

    async fn try_upgrade_state(
        &self,
        asked: &UpgradeRequest<'_>,
    ) -> Result<Answer<Option<Value>>, Vec<ProviderDiag>> {
        const CALL: &str = "UpgradeResourceState";
        let (_, types) = self.resource(asked.kind).await?;
        let request = tfplugin::upgrade_resource_state::Request {
            type_name: asked.kind.to_owned(),
            version: asked.version,
            raw_state: Some(raw(asked.json)),
        };
        let response = self
            .client
            .upgrade_state(request)
            .await
            .map_err(|error| self.refused(&error, CALL))?;
        let mut diags = wire::diags(response.diagnostics);
        let value = self.keep(
            &mut diags,
            CALL,
            wire::decode(response.upgraded_state, &types.object),
        );
        Ok(Answer { value, diags })
    }

    async fn try_upgrade_identity(
        &self,
        asked: &UpgradeRequest<'_>,
    ) -> Result<Answer<Option<Value>>, Vec<ProviderDiag>> {
        const CALL: &str = "UpgradeResourceIdentity";
        let (_, types) = self.resource(asked.kind).await?;
        let request = tfplugin::upgrade_resource_identity::Request {
            type_name: asked.kind.to_owned(),
            version: asked.version,
            raw_identity: Some(raw(asked.json)),
        };
        let response = self
            .client
            .upgrade_identity(request)
            .await
            .map_err(|error| self.refused(&error, CALL))?;
        let mut diags = wire::diags(response.diagnostics);
        let identity = wire::decode_identity(response.upgraded_identity, types.identity.as_ref());
        let value = self.keep(&mut diags, CALL, identity).flatten();
        Ok(Answer { value, diags })
    }

    async fn try_read(&self, asked: &ReadRequest<'_>) -> Result<Answer<Read>, Vec<ProviderDiag>> {
        const CALL: &str = "ReadResource";
        let (known, types) = self.resource(asked.kind).await?;
        let unwritable = |error: WireError| self.unwritable(CALL, &error);
        let request = tfplugin::read_resource::Request {
            type_name: asked.kind.to_owned(),
            current_state: wire::encode(asked.current, &types.object).map_err(unwritable)?,
            private: asked.private.to_vec(),
            provider_meta: known.meta.clone(),
            client_capabilities: capabilities(asked.deferral_allowed),
            current_identity: wire::encode_identity(asked.identity, types.identity.as_ref())
                .map_err(unwritable)?,
        };
        let response = self
            .client
            .read(request)
            .await
            .map_err(|error| self.refused(&error, CALL))?;
        let mut diags = wire::diags(response.diagnostics);
        let identity = wire::decode_identity(response.new_identity, types.identity.as_ref());
        let value = Read {
            state: self.keep(&mut diags, CALL, wire::decode(response.new_state, &types.object)),
            private: response.private,
            identity: self.keep(&mut diags, CALL, identity).flatten(),
            deferred: wire::deferred(response.deferred),
        };
        Ok(Answer { value, diags })
    }

    async fn try_plan(&self, asked: &PlanRequest<'_>) -> Result<Answer<Planned>, Vec<ProviderDiag>> {
        const CALL: &str = "PlanResourceChange";
        let (known, types) = self.resource(asked.kind).await?;
        if asked.proposed.is_null() && !known.schema.plan_destroy {
            return Ok(Answer::ok(Planned {
                state: Some(asked.proposed.clone()),
                private: asked.private.to_vec(),
                ..nothing_planned()
            }));
        }
        let unwritable = |error: WireError| self.unwritable(CALL, &error);
        let request = tfplugin::plan_resource_change::Request {
            type_name: asked.kind.to_owned(),
            prior_state: wire::encode(asked.prior, &types.object).map_err(unwritable)?,
            proposed_new_state: wire::encode(asked.proposed, &types.object).map_err(unwritable)?,
            config: wire::encode(asked.config, &types.object).map_err(unwritable)?,
            prior_private: asked.private.to_vec(),
            provider_meta: known.meta.clone(),
            client_capabilities: capabilities(asked.deferral_allowed),
            prior_identity: wire::encode_identity(asked.identity, types.identity.as_ref())
                .map_err(unwritable)?,
        };
        let response = self
            .client
            .plan(request)
            .await
            .map_err(|error| self.refused(&error, CALL))?;
        let mut diags = wire::diags(response.diagnostics);
        let identity = wire::decode_identity(response.planned_identity, types.identity.as_ref());
        let value = Planned {
            state: self.keep(
                &mut diags,
                CALL,
                wire::decode(response.planned_state, &types.object),
            ),
            requires_replace: response.requires_replace.into_iter().map(wire::path).collect(),
            private: response.planned_private,
            identity: self.keep(&mut diags, CALL, identity).flatten(),
            legacy_type_system: response.legacy_type_system,
            deferred: wire::deferred(response.deferred),
        };
        Ok(Answer { value, diags })
    }

    async fn try_apply(&self, asked: &ApplyRequest<'_>) -> Result<Answer<Applied>, Vec<ProviderDiag>> {
        const CALL: &str = "ApplyResourceChange";
        let (known, types) = self.resource(asked.kind).await?;
        let unwritable = |error: WireError| self.unwritable(CALL, &error);
        let request = tfplugin::apply_resource_change::Request {
            type_name: asked.kind.to_owned(),
            prior_state: wire::encode(asked.prior, &types.object).map_err(unwritable)?,
            planned_state: wire::encode(asked.planned, &types.object).map_err(unwritable)?,
            config: wire::encode(asked.config, &types.object).map_err(unwritable)?,
            planned_private: asked.private.to_vec(),
            provider_meta: known.meta.clone(),
            planned_identity: wire::encode_identity(asked.identity, types.identity.as_ref())
                .map_err(unwritable)?,
        };
        let response = self
            .client
            .apply(request)
            .await
            .map_err(|error| self.refused(&error, CALL))?;
        let mut diags = wire::diags(response.diagnostics);
        let identity = wire::decode_identity(response.new_identity, types.identity.as_ref());
        let value = Applied {
            state: self.keep(&mut diags, CALL, wire::decode(response.new_state, &types.object)),
            private: response.private,
            identity: self.keep(&mut diags, CALL, identity).flatten(),
            legacy_type_system: response.legacy_type_system,
        };
        Ok(Answer { value, diags })
    }

    async fn try_read_data(&self, asked: &ReadDataRequest<'_>) -> Result<DataAnswer, Vec<ProviderDiag>> {
        const CALL: &str = "ReadDataSource";
        let (known, ty) = self.data_source(asked.kind).await?;
        let request = tfplugin::read_data_source::Request {
            type_name: asked.kind.to_owned(),
            config: wire::encode(asked.config, &ty).map_err(|error| self.unwritable(CALL, &error))?,
            provider_meta: known.meta.clone(),
            client_capabilities: capabilities(asked.deferral_allowed),
        };
        let response = self
            .client
            .read_data(request)
            .await
            .map_err(|error| self.refused(&error, CALL))?;
        let mut diags = wire::diags(response.diagnostics);
        let state = self.keep(&mut diags, CALL, wire::decode(response.state, &ty));
        Ok(Answer {
            value: (state, wire::deferred(response.deferred)),
            diags,
        })
    }

    /// The value, or a remark that it could not be read.
    fn keep<T>(&self, diags: &mut Vec<ProviderDiag>, call: &str, read: Result<T, WireError>) -> Option<T> {
        read.map_err(|error| diags.extend(self.unreadable(call, &error)))
            .ok()
    }
}

type DataAnswer = Answer<(Option<Value>, Option<Deferred>)>;

fn nothing_planned() -> Planned {
    Planned {
        state: None,
        requires_replace: Vec::new(),
        private: Vec::new(),
        identity: None,
        legacy_type_system: false,
        deferred: None,
    }
}

fn capabilities(deferral_allowed: bool) -> Option<ClientCapabilities> {
    Some(ClientCapabilities {
        deferral_allowed,
        write_only_attributes_allowed: true,
    })
}

fn raw(json: &[u8]) -> RawState {
    RawState {
        json: json.to_vec(),
        flatmap: HashMap::new(),
    }
}

fn has_errors(diags: &[ProviderDiag]) -> bool {
    diags.iter().any(|diag| diag.severity == Severity::Error)
}

fn unknown(what: &str, kind: &str) -> Vec<ProviderDiag> {
    let summary = format!("unknown {what} {kind:?}");
    vec![ProviderDiag {
        is_call_fault: true,
        severity: Severity::Error,
        summary,
        detail: String::new(),
        path: None,
    }]
}

fn placed(error: &WireError) -> String {
    if error.path.is_root() {
        error.message.clone()
    } else {
        format!("{}: {}", error.path, error.message)
    }
}

/// An error with its causes.
pub(crate) fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(source) = next {
        text.push_str(": ");
        text.push_str(&source.to_string());
        next = source.source();
    }
    text
}

/// Remarks without a place in a provider's configuration.
pub(crate) fn as_diags(diags: Vec<ProviderDiag>) -> Diags {
    diags
        .into_iter()
        .map(|diag| Diag {
            severity: diag.severity,
            ..Diag::error(diag.summary, diag.detail)
        })
        .collect()
}

fn remarks(answer: Result<Vec<Diagnostic>, Vec<ProviderDiag>>) -> Vec<ProviderDiag> {
    answer.map_or_else(|failed| failed, wire::diags)
}

fn failed_with<T>(value: T) -> impl FnOnce(Vec<ProviderDiag>) -> Answer<T> {
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
        remarks(self.try_configure(config).await)
    }

    async fn validate_resource(&self, kind: &str, config: &Value) -> Vec<ProviderDiag> {
        remarks(self.try_validate_resource(kind, config).await)
    }

    async fn validate_data(&self, kind: &str, config: &Value) -> Vec<ProviderDiag> {
        remarks(self.try_validate_data(kind, config).await)
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

    async fn stop(&self) {
        match self.client.stop(tfplugin::stop_provider::Request {}).await {
            Ok(response) if response.error.is_empty() => {}
            Ok(response) => {
                tracing::warn!(provider = %self.name, "the provider cannot stop: {}", response.error)
            }
            Err(error) => {
                tracing::warn!(provider = %self.name, ?error, "the provider could not be told to stop")
            }
        }
    }

    async fn close(&self) {
        self.client.close().await;
    }
}
