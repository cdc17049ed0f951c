//! Calls about managed objects: they are checked, read, planned and changed.

use ashlar_port::{Answer, Applied, ApplyRequest, PlanRequest, Planned, Read, ReadRequest};
use ashlar_value::{Value, json::WireError};

use super::capabilities;
use crate::{
    fault::Failed,
    plugin::Plugin,
    proto::tfplugin::{self, Diagnostic},
    wire,
};

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

impl Plugin {
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
}
