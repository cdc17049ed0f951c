//! The calls to a plugin: values to messages, messages to answers.
//!
//! An `Err` is a call that has no answer; its remarks say why and name the provider.

use std::collections::HashMap;

use ashlar_port::{
    Answer, Applied, ApplyRequest, Deferred, FunctionFault, ImportRequest, Imported, ImportedObject,
    MoveRequest, MovedObject, Opened, PlanRequest, Planned, ProviderDiag, Read, ReadDataRequest, ReadRequest,
    Renewed, Told, UpgradeRequest,
};
use ashlar_value::{Type, Value, json::WireError, schema::Block};

use crate::{
    fault::{Failed, error, plugin_error},
    known::{KnownSchema, ResourceTypes},
    plugin::Plugin,
    proto::tfplugin::{self, ClientCapabilities, Diagnostic, RawState},
    secrets::sensitive_parts,
    wire,
};

pub(crate) type DataAnswer = Answer<(Option<Value>, Option<Deferred>)>;

pub(crate) fn nothing_planned() -> Planned {
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

impl Plugin {
    async fn resource(&self, kind: &str) -> Result<(&KnownSchema, ResourceTypes), Failed> {
        let known = self.known().await?;
        let types = known
            .resource(kind)
            .ok_or_else(|| unknown("resource type", kind))?;
        Ok((known, types))
    }

    async fn data_source(&self, kind: &str) -> Result<(&KnownSchema, Type), Failed> {
        let known = self.known().await?;
        let ty = known
            .data_source(kind)
            .ok_or_else(|| unknown("data source", kind))?;
        Ok((known, ty))
    }

    pub(crate) async fn try_validate_provider(&self, config: &Value) -> Result<Vec<Diagnostic>, Failed> {
        const CALL: &str = "ValidateProviderConfig";
        let known = self.known().await?;
        let config = wire::encode(config, &known.provider).map_err(|error| self.unwritable(CALL, &error))?;
        let request = tfplugin::validate_provider_config::Request { config };
        let response = self.answer(CALL, self.client.validate_provider(request).await)?;
        Ok(response.diagnostics)
    }

    pub(crate) async fn try_configure(&self, config: &Value) -> Result<Vec<Diagnostic>, Failed> {
        const CALL: &str = "ConfigureProvider";
        let known = self.known().await?;
        let request = tfplugin::configure_provider::Request {
            terraform_version: self.terraform_version.clone(),
            config: wire::encode(config, &known.provider).map_err(|error| self.unwritable(CALL, &error))?,
            client_capabilities: capabilities(false),
        };
        let response = self.answer(CALL, self.client.configure(request).await)?;
        Ok(response.diagnostics)
    }

    pub(crate) async fn try_validate_resource(
        &self,
        kind: &str,
        config: &Value,
    ) -> Result<Vec<Diagnostic>, Failed> {
        const CALL: &str = "ValidateResourceConfig";
        let (_, types) = self.resource(kind).await?;
        let request = tfplugin::validate_resource_config::Request {
            type_name: kind.to_owned(),
            config: wire::encode(config, &types.object).map_err(|error| self.unwritable(CALL, &error))?,
            client_capabilities: capabilities(false),
        };
        let response = self.answer(CALL, self.client.validate_resource(request).await)?;
        Ok(response.diagnostics)
    }

    pub(crate) async fn try_validate_data(
        &self,
        kind: &str,
        config: &Value,
    ) -> Result<Vec<Diagnostic>, Failed> {
        const CALL: &str = "ValidateDataResourceConfig";
        let (_, ty) = self.data_source(kind).await?;
        let request = tfplugin::validate_data_resource_config::Request {
            type_name: kind.to_owned(),
            config: wire::encode(config, &ty).map_err(|error| self.unwritable(CALL, &error))?,
        };
        let response = self.answer(CALL, self.client.validate_data(request).await)?;
        Ok(response.diagnostics)
    }

    pub(crate) async fn try_validate_ephemeral(
        &self,
        kind: &str,
        config: &Value,
    ) -> Result<Vec<Diagnostic>, Failed> {
        const CALL: &str = "ValidateEphemeralResourceConfig";
        let known = self.known().await?;
        let schema = known.schema.ephemeral_resources.get(kind);
        let schema = schema.ok_or_else(|| unknown("ephemeral resource type", kind))?;
        let request = tfplugin::validate_ephemeral_resource_config::Request {
            type_name: kind.to_owned(),
            config: wire::encode(config, &schema.block.ty())
                .map_err(|error| self.unwritable(CALL, &error))?,
        };
        let response = self.answer(CALL, self.client.validate_ephemeral(request).await)?;
        Ok(response.diagnostics)
    }

    pub(crate) async fn try_open_ephemeral(
        &self,
        kind: &str,
        config: &Value,
    ) -> Result<Answer<Opened>, Failed> {
        const CALL: &str = "OpenEphemeralResource";
        let known = self.known().await?;
        let schema = known.schema.ephemeral_resources.get(kind);
        let ty = schema
            .ok_or_else(|| unknown("ephemeral resource type", kind))?
            .block
            .ty();
        let request = tfplugin::open_ephemeral_resource::Request {
            type_name: kind.to_owned(),
            config: wire::encode(config, &ty).map_err(|error| self.unwritable(CALL, &error))?,
            client_capabilities: capabilities(false),
        };
        let response = self.answer(CALL, self.client.open_ephemeral(request).await)?;
        let mut diags = wire::diags(response.diagnostics);
        let value = Opened {
            result: self.keep(&mut diags, CALL, wire::decode(response.result, &ty)),
            private: response.private.unwrap_or_default(),
            renew_at: response.renew_at.map(wire::unix_ms),
            deferred: wire::deferred(response.deferred),
        };
        if let Some(result) = &value.result {
            (self.secrets)(config, result);
        }
        Ok(Answer { value, diags })
    }

    pub(crate) async fn try_renew_ephemeral(
        &self,
        kind: &str,
        private: &[u8],
    ) -> Result<Answer<Renewed>, Failed> {
        const CALL: &str = "RenewEphemeralResource";
        let request = tfplugin::renew_ephemeral_resource::Request {
            type_name: kind.to_owned(),
            private: Some(private.to_vec()),
        };
        let response = self.answer(CALL, self.client.renew_ephemeral(request).await)?;
        let value = Renewed {
            // What is not sent anew stays.
            private: response.private.unwrap_or_else(|| private.to_vec()),
            renew_at: response.renew_at.map(wire::unix_ms),
        };
        Ok(Answer {
            value,
            diags: wire::diags(response.diagnostics),
        })
    }

    pub(crate) async fn try_close_ephemeral(
        &self,
        kind: &str,
        private: &[u8],
    ) -> Result<Vec<Diagnostic>, Failed> {
        const CALL: &str = "CloseEphemeralResource";
        let request = tfplugin::close_ephemeral_resource::Request {
            type_name: kind.to_owned(),
            private: Some(private.to_vec()),
        };
        let response = self.answer(CALL, self.client.close_ephemeral(request).await)?;
        Ok(response.diagnostics)
    }

    pub(crate) async fn try_validate_action(
        &self,
        kind: &str,
        config: &Value,
    ) -> Result<Vec<Diagnostic>, Failed> {
        const CALL: &str = "ValidateActionConfig";
        let request = tfplugin::validate_action_config::Request {
            type_name: kind.to_owned(),
            config: self.action_config(CALL, kind, config).await?,
        };
        let response = self.answer(CALL, self.client.validate_action(request).await)?;
        Ok(response.diagnostics)
    }

    pub(crate) async fn try_plan_action(
        &self,
        kind: &str,
        config: &Value,
    ) -> Result<Answer<Option<Deferred>>, Failed> {
        const CALL: &str = "PlanAction";
        let request = tfplugin::plan_action::Request {
            action_type: kind.to_owned(),
            config: self.action_config(CALL, kind, config).await?,
            // Terraform never lets an action be put off.
            client_capabilities: capabilities(false),
        };
        let response = self.answer(CALL, self.client.plan_action(request).await)?;
        Ok(Answer {
            value: wire::deferred(response.deferred),
            diags: wire::diags(response.diagnostics),
        })
    }

    pub(crate) async fn try_invoke_action(
        &self,
        kind: &str,
        config: &Value,
        told: Told<'_>,
    ) -> Result<Vec<Diagnostic>, Failed> {
        const CALL: &str = "InvokeAction";
        let request = tfplugin::invoke_action::Request {
            action_type: kind.to_owned(),
            config: self.action_config(CALL, kind, config).await?,
            client_capabilities: capabilities(false),
        };
        let redacted = |text: &str| told(&(self.redact)(text));
        let end = self.answer(CALL, self.client.invoke_action(request, &redacted).await)?;
        end.ok_or_else(|| self.nonsense(format!("left off {CALL} without telling how the action ended")))
    }

    async fn action_config(
        &self,
        call: &str,
        kind: &str,
        config: &Value,
    ) -> Result<Option<tfplugin::DynamicValue>, Failed> {
        let known = self.known().await?;
        let schema = known.schema.actions.get(kind);
        let schema = schema.ok_or_else(|| unknown("action", kind))?;
        wire::encode(config, &schema.ty()).map_err(|error| self.unwritable(call, &error))
    }

    pub(crate) async fn try_upgrade_state(
        &self,
        asked: &UpgradeRequest<'_>,
    ) -> Result<Answer<Option<Value>>, Failed> {
        const CALL: &str = "UpgradeResourceState";
        let (_, types) = self.resource(asked.kind).await?;
        let request = tfplugin::upgrade_resource_state::Request {
            type_name: asked.kind.to_owned(),
            version: asked.version,
            raw_state: Some(raw(asked.json)),
        };
        let response = self.answer(CALL, self.client.upgrade_state(request).await)?;
        let mut diags = wire::diags(response.diagnostics);
        let value = self.keep(
            &mut diags,
            CALL,
            wire::decode(response.upgraded_state, &types.object),
        );
        Ok(Answer { value, diags })
    }

    pub(crate) async fn try_upgrade_identity(
        &self,
        asked: &UpgradeRequest<'_>,
    ) -> Result<Answer<Option<Value>>, Failed> {
        const CALL: &str = "UpgradeResourceIdentity";
        let (_, types) = self.resource(asked.kind).await?;
        let request = tfplugin::upgrade_resource_identity::Request {
            type_name: asked.kind.to_owned(),
            version: asked.version,
            raw_identity: Some(raw(asked.json)),
        };
        let response = self.answer(CALL, self.client.upgrade_identity(request).await)?;
        let mut diags = wire::diags(response.diagnostics);
        let identity = wire::decode_identity(response.upgraded_identity, types.identity.as_ref());
        let value = self.keep(&mut diags, CALL, identity).flatten();
        Ok(Answer { value, diags })
    }

    pub(crate) async fn try_move(&self, asked: &MoveRequest<'_>) -> Result<Answer<MovedObject>, Failed> {
        const CALL: &str = "MoveResourceState";
        let (_, types) = self.resource(asked.kind).await?;
        let request = tfplugin::move_resource_state::Request {
            source_provider_address: asked.source_provider.to_owned(),
            source_type_name: asked.source_kind.to_owned(),
            source_schema_version: asked.version,
            source_state: Some(raw(asked.json)),
            target_type_name: asked.kind.to_owned(),
            source_private: asked.private.to_vec(),
            source_identity: asked.identity.map(|(_, json)| raw(json)),
            source_identity_schema_version: asked.identity.map_or(0, |(version, _)| version),
        };
        let response = self.answer(CALL, self.client.move_state(request).await)?;
        let mut diags = wire::diags(response.diagnostics);
        let identity = wire::decode_identity(response.target_identity, types.identity.as_ref());
        let value = MovedObject {
            state: self.keep(
                &mut diags,
                CALL,
                wire::decode(response.target_state, &types.object),
            ),
            private: response.target_private,
            identity: self.keep(&mut diags, CALL, identity).flatten(),
        };
        Ok(Answer { value, diags })
    }

    pub(crate) async fn try_import(
        &self,
        asked: &ImportRequest<'_>,
    ) -> Result<Answer<(Vec<ImportedObject>, Option<Deferred>)>, Failed> {
        const CALL: &str = "ImportResourceState";
        let (known, types) = self.resource(asked.kind).await?;
        let (id, identity) = match asked.of {
            Imported::Id(id) => (id.to_owned(), None),
            Imported::Identity(identity) => (String::new(), Some(identity)),
        };
        let request = tfplugin::import_resource_state::Request {
            type_name: asked.kind.to_owned(),
            id,
            client_capabilities: capabilities(asked.deferral_allowed),
            identity: wire::encode_identity(identity, types.identity.as_ref())
                .map_err(|error| self.unwritable(CALL, &error))?,
        };
        let response = self.answer(CALL, self.client.import(request).await)?;
        let mut diags = wire::diags(response.diagnostics);
        let mut found = Vec::new();
        for object in response.imported_resources {
            // Objects of other types may come with it; each is read by its own schema.
            let Some(types) = known.resource(&object.type_name) else {
                return Err(self.nonsense(format!(
                    "answered {CALL} with an object of type {:?}, which its schema does not have",
                    object.type_name
                )));
            };
            let identity = wire::decode_identity(object.identity, types.identity.as_ref());
            found.push(ImportedObject {
                kind: object.type_name,
                state: self.keep(&mut diags, CALL, wire::decode(object.state, &types.object)),
                private: object.private,
                identity: self.keep(&mut diags, CALL, identity).flatten(),
            });
        }
        let value = (found, wire::deferred(response.deferred));
        Ok(Answer { value, diags })
    }

    pub(crate) async fn try_generate_config(
        &self,
        kind: &str,
        state: &Value,
    ) -> Result<Answer<Option<Value>>, Failed> {
        const CALL: &str = "GenerateResourceConfig";
        let (_, types) = self.resource(kind).await?;
        let request = tfplugin::generate_resource_config::Request {
            type_name: kind.to_owned(),
            state: wire::encode(state, &types.object).map_err(|error| self.unwritable(CALL, &error))?,
        };
        let response = self.answer(CALL, self.client.generate_config(request).await)?;
        let mut diags = wire::diags(response.diagnostics);
        let value = self.keep(&mut diags, CALL, wire::decode(response.config, &types.object));
        Ok(Answer { value, diags })
    }

    pub(crate) async fn try_read(&self, asked: &ReadRequest<'_>) -> Result<Answer<Read>, Failed> {
        const CALL: &str = "ReadResource";
        let (known, types) = self.resource(asked.kind).await?;
        let unwritable = |error: WireError| self.unwritable(CALL, &error);
        let request = tfplugin::read_resource::Request {
            type_name: asked.kind.to_owned(),
            current_state: wire::encode(asked.current, &types.object).map_err(unwritable)?,
            private: asked.private.to_vec(),
            provider_meta: known.meta(asked.meta).map_err(unwritable)?,
            client_capabilities: capabilities(asked.deferral_allowed),
            current_identity: wire::encode_identity(asked.identity, types.identity.as_ref())
                .map_err(unwritable)?,
        };
        let response = self.answer(CALL, self.client.read(request).await)?;
        let mut diags = wire::diags(response.diagnostics);
        let identity = wire::decode_identity(response.new_identity, types.identity.as_ref());
        let read = self.keep(&mut diags, CALL, wire::decode(response.new_state, &types.object));
        let value = Read {
            state: self.learned(known.resource_block(asked.kind), read),
            private: response.private,
            identity: self.keep(&mut diags, CALL, identity).flatten(),
            deferred: wire::deferred(response.deferred),
        };
        Ok(Answer { value, diags })
    }

    pub(crate) async fn try_plan(&self, asked: &PlanRequest<'_>) -> Result<Answer<Planned>, Failed> {
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
            provider_meta: known.meta(asked.meta).map_err(unwritable)?,
            client_capabilities: capabilities(asked.deferral_allowed),
            prior_identity: wire::encode_identity(asked.identity, types.identity.as_ref())
                .map_err(unwritable)?,
        };
        let response = self.answer(CALL, self.client.plan(request).await)?;
        let mut diags = wire::diags(response.diagnostics);
        let identity = wire::decode_identity(response.planned_identity, types.identity.as_ref());
        let planned = self.keep(
            &mut diags,
            CALL,
            wire::decode(response.planned_state, &types.object),
        );
        let value = Planned {
            state: self.learned(known.resource_block(asked.kind), planned),
            requires_replace: response.requires_replace.into_iter().map(wire::path).collect(),
            private: response.planned_private,
            identity: self.keep(&mut diags, CALL, identity).flatten(),
            legacy_type_system: response.legacy_type_system,
            deferred: wire::deferred(response.deferred),
        };
        Ok(Answer { value, diags })
    }

    pub(crate) async fn try_apply(&self, asked: &ApplyRequest<'_>) -> Result<Answer<Applied>, Failed> {
        const CALL: &str = "ApplyResourceChange";
        let (known, types) = self.resource(asked.kind).await?;
        let unwritable = |error: WireError| self.unwritable(CALL, &error);
        let request = tfplugin::apply_resource_change::Request {
            type_name: asked.kind.to_owned(),
            prior_state: wire::encode(asked.prior, &types.object).map_err(unwritable)?,
            planned_state: wire::encode(asked.planned, &types.object).map_err(unwritable)?,
            config: wire::encode(asked.config, &types.object).map_err(unwritable)?,
            planned_private: asked.private.to_vec(),
            provider_meta: known.meta(asked.meta).map_err(unwritable)?,
            planned_identity: wire::encode_identity(asked.identity, types.identity.as_ref())
                .map_err(unwritable)?,
        };
        let response = self.answer(CALL, self.client.apply(request).await)?;
        let mut diags = wire::diags(response.diagnostics);
        let identity = wire::decode_identity(response.new_identity, types.identity.as_ref());
        let made = self.keep(&mut diags, CALL, wire::decode(response.new_state, &types.object));
        let value = Applied {
            state: self.learned(known.resource_block(asked.kind), made),
            private: response.private,
            identity: self.keep(&mut diags, CALL, identity).flatten(),
            legacy_type_system: response.legacy_type_system,
        };
        Ok(Answer { value, diags })
    }

    pub(crate) async fn try_read_data(&self, asked: &ReadDataRequest<'_>) -> Result<DataAnswer, Failed> {
        const CALL: &str = "ReadDataSource";
        let (known, ty) = self.data_source(asked.kind).await?;
        let request = tfplugin::read_data_source::Request {
            type_name: asked.kind.to_owned(),
            config: wire::encode(asked.config, &ty).map_err(|error| self.unwritable(CALL, &error))?,
            provider_meta: known
                .meta(asked.meta)
                .map_err(|error| self.unwritable(CALL, &error))?,
            client_capabilities: capabilities(asked.deferral_allowed),
        };
        let response = self.answer(CALL, self.client.read_data(request).await)?;
        let mut diags = wire::diags(response.diagnostics);
        let state = self.keep(&mut diags, CALL, wire::decode(response.state, &ty));
        let schema = known.schema.data_sources.get(asked.kind);
        let state = self.learned(schema.map(|schema| &schema.block), state);
        Ok(Answer {
            value: (state, wire::deferred(response.deferred)),
            diags,
        })
    }

    pub(crate) async fn try_call_function(
        &self,
        name: &str,
        args: &[Value],
    ) -> Result<Result<Value, FunctionFault>, Failed> {
        const CALL: &str = "CallFunction";
        let known = self.known().await?;
        let signature = known.schema.functions.get(name);
        let signature = signature.ok_or_else(|| unknown("function", name))?;
        let arguments = args.iter().enumerate().filter_map(|(at, value)| {
            let param = signature.param(at)?;
            wire::encode(value, &param.ty).transpose()
        });
        let request = tfplugin::call_function::Request {
            name: name.to_owned(),
            arguments: arguments
                .collect::<Result<_, _>>()
                .map_err(|error| self.unwritable(CALL, &error))?,
        };
        let response = self.answer(CALL, self.client.call_function(request).await)?;
        if let Some(error) = response.error {
            return Ok(Err(FunctionFault {
                argument: error.function_argument,
                message: wire::cut(error.text, wire::LONGEST_DETAIL),
            }));
        }
        let result = wire::decode(response.result, &signature.result);
        result.map(Ok).map_err(|error| self.unreadable(CALL, &error))
    }

    /// An object as it came, once what is sensitive of it is told to who redacts.
    fn learned(&self, block: Option<&Block>, object: Option<Value>) -> Option<Value> {
        if let (Some(block), Some(object)) = (block, &object) {
            for part in sensitive_parts(block, object) {
                (self.secrets)(&Value::null(Type::Dynamic), &part);
            }
        }
        object
    }

    /// The value, or a remark that it could not be read.
    fn keep<T>(&self, diags: &mut Vec<ProviderDiag>, call: &str, read: Result<T, WireError>) -> Option<T> {
        read.map_err(|error| diags.extend(self.unreadable(call, &error)))
            .ok()
    }

    fn unreadable(&self, call: &str, error: &WireError) -> Failed {
        self.nonsense(format!(
            "answered {call} with a value that does not fit its schema ({})",
            placed(error)
        ))
    }

    fn unwritable(&self, call: &str, error: &WireError) -> Failed {
        let place = placed(error);
        plugin_error(format!(
            "A value for {call} of {} does not fit its schema ({place}).",
            self.name
        ))
    }
}

/// As Terraform says it.
fn unknown(what: &str, kind: &str) -> Failed {
    vec![error(format!("unknown {what} {kind:?}"), "")]
}

fn placed(error: &WireError) -> String {
    if error.path.is_root() {
        error.message.clone()
    } else {
        format!("{}: {}", error.path, error.message)
    }
}
