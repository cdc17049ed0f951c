//! Calls about ephemeral resources and about actions.

use ashlar_port::{Answer, Deferred, Opened, Renewed, Told};
use ashlar_value::Value;

use super::{capabilities, unknown};
use crate::{
    fault::{Failed, in_the_way},
    plugin::Plugin,
    proto::tfplugin::{self, Diagnostic},
    wire,
};

impl Plugin {
    pub(crate) async fn try_validate_ephemeral(
        &self,
        kind: &str,
        config: &Value,
    ) -> Result<Vec<Diagnostic>, Failed> {
        const CALL: &str = "ValidateEphemeralResourceConfig";
        let known = self.known().await.map_err(in_the_way)?;
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
        let known = self.known().await.map_err(in_the_way)?;
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
        let known = self.known().await.map_err(in_the_way)?;
        let schema = known.schema.actions.get(kind);
        let schema = schema.ok_or_else(|| unknown("action", kind))?;
        wire::encode(config, &schema.ty()).map_err(|error| self.unwritable(call, &error))
    }
}
