//! The calls to a plugin: values to messages, messages to answers.
//!
//! An `Err` is a call that has no answer; its remarks say why and name the provider.

mod change;
mod ephemeral;
mod list;
mod stored;

use ashlar_port::{Answer, Deferred, FunctionFault, ProviderDiag, ReadDataRequest};
use ashlar_value::{Type, Value, json::WireError, schema::Block};

pub(crate) use self::change::nothing_planned;
use crate::{
    fault::{Failed, in_the_way, unasked},
    known::{KnownSchema, ResourceTypes},
    plugin::Plugin,
    proto::tfplugin::{self, ClientCapabilities, Diagnostic},
    secrets::sensitive_parts,
    wire,
};

pub(crate) type DataAnswer = Answer<(Option<Value>, Option<Deferred>)>;

fn capabilities(deferral_allowed: bool) -> Option<ClientCapabilities> {
    Some(ClientCapabilities {
        deferral_allowed,
        write_only_attributes_allowed: true,
    })
}

impl Plugin {
    async fn resource(&self, kind: &str) -> Result<(&KnownSchema, ResourceTypes), Failed> {
        let known = self.known().await.map_err(in_the_way)?;
        let types = known
            .resource(kind)
            .ok_or_else(|| unknown("resource type", kind))?;
        Ok((known, types))
    }

    async fn data_source(&self, kind: &str) -> Result<(&KnownSchema, Type), Failed> {
        let known = self.known().await.map_err(in_the_way)?;
        let ty = known
            .data_source(kind)
            .ok_or_else(|| unknown("data source", kind))?;
        Ok((known, ty))
    }

    pub(crate) async fn try_validate_provider(&self, config: &Value) -> Result<Vec<Diagnostic>, Failed> {
        const CALL: &str = "ValidateProviderConfig";
        let known = self.known().await.map_err(in_the_way)?;
        let config = wire::encode(config, &known.provider).map_err(|error| self.unwritable(CALL, &error))?;
        let request = tfplugin::validate_provider_config::Request { config };
        let response = self.answer(CALL, self.client.validate_provider(request).await)?;
        Ok(response.diagnostics)
    }

    pub(crate) async fn try_configure(&self, config: &Value) -> Result<Vec<Diagnostic>, Failed> {
        const CALL: &str = "ConfigureProvider";
        let known = self.known().await.map_err(in_the_way)?;
        let request = tfplugin::configure_provider::Request {
            terraform_version: self.terraform_version.clone(),
            config: wire::encode(config, &known.provider).map_err(|error| self.unwritable(CALL, &error))?,
            client_capabilities: capabilities(false),
        };
        let response = self.answer(CALL, self.client.configure(request).await)?;
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
        let known = self.known().await.map_err(in_the_way)?;
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
        let detail = format!(
            "A value for {call} of {} does not fit its schema ({place}).",
            self.name
        );
        vec![unasked("Plugin error", detail)]
    }
}

/// As Terraform says it.
fn unknown(what: &str, kind: &str) -> Failed {
    vec![unasked(format!("unknown {what} {kind:?}"), "")]
}

fn placed(error: &WireError) -> String {
    if error.path.is_root() {
        error.message.clone()
    } else {
        format!("{}: {}", error.path, error.message)
    }
}
