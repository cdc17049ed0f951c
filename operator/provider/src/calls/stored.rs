//! Calls about objects as they were stored or are found: upgrades, moves, imports, and the configuration that one would have.

use std::collections::HashMap;

use ashlar_port::{
    Answer, Deferred, ImportRequest, Imported, ImportedObject, MoveRequest, MovedObject, UpgradeRequest,
};
use ashlar_value::Value;

use super::capabilities;
use crate::{
    fault::Failed,
    plugin::Plugin,
    proto::tfplugin::{self, RawState},
    wire,
};

fn raw(json: &[u8]) -> RawState {
    RawState {
        json: json.to_vec(),
        flatmap: HashMap::new(),
    }
}

impl Plugin {
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
}
