//! Moves across types and providers: the provider of the new type makes the stored object one of its own.
//!
//! Source: Terraform `internal/refactoring/cross_provider_move.go`.

use std::{collections::BTreeMap, sync::Arc};

use ashlar_addr::{Provider as ProviderAddr, ResourceInstance};
use ashlar_diag::{Diag, Diags};
use ashlar_port::{MoveRequest, Provider, Providers};
use ashlar_state::{Object, ObjectParts, State, encode_object};

use super::Statement;
use crate::{
    engine::{Schemas, resource_schema},
    instance::refresh::unknown_identity,
    objchange::non_null_write_only,
    provider_diags::unplaced,
};

/// The providers that were asked.
pub(super) struct Across<'p> {
    schemas: &'p Schemas,
    providers: &'p dyn Providers,
    started: BTreeMap<ProviderAddr, Arc<dyn Provider>>,
}

impl<'p> Across<'p> {
    pub(super) fn new(schemas: &'p Schemas, providers: &'p dyn Providers) -> Self {
        Self {
            schemas,
            providers,
            started: BTreeMap::new(),
        }
    }

    pub(super) async fn close(self) {
        for provider in self.started.into_values() {
            provider.close().await;
        }
    }

    async fn provider(&mut self, address: &ProviderAddr) -> Result<Arc<dyn Provider>, Diags> {
        if let Some(started) = self.started.get(address) {
            return Ok(started.clone());
        }
        let provider = self.providers.start(address).await?;
        self.started.insert(address.clone(), provider.clone());
        Ok(provider)
    }

    /// What the current object of an instance that is about to move becomes, where its new type or provider is another. The
    /// state stays as it is: what the other instances are managed with is read from it too.
    pub(super) async fn convert(
        &mut self,
        statement: &Statement,
        from: &ResourceInstance,
        to: &ResourceInstance,
        state: &State,
    ) -> Result<Option<Arc<Object>>, Diags> {
        let (Some(target), Some(resource)) = (&statement.provider, state.resources.get(&from.resource))
        else {
            return Ok(None);
        };
        let (kind, source_kind) = (&to.resource.resource.kind, &from.resource.resource.kind);
        let source = resource.provider.provider.clone();
        if source == target.provider && kind == source_kind {
            return Ok(None);
        }
        let Some(object) = state.current(from).cloned() else {
            return Ok(None);
        };
        let offers = self.schemas.get(&target.provider);
        if !offers.is_some_and(|offers| offers.move_resource_state) {
            let detail = format!(
                "The provider {} cannot take over objects of other types or providers, so {from} cannot become {to}.",
                target.provider.for_display()
            );
            let fault = Diag::error("Unsupported `moved` across resource types", detail);
            return Err(fault.at(statement.span).into());
        }
        let schema = resource_schema(self.schemas, &target.provider, &to.resource.resource)?;
        let provider = self.provider(&target.provider).await?;
        let request = MoveRequest {
            source_provider: &source.to_string(),
            source_kind,
            version: object.schema_version,
            json: &object.attributes,
            private: &object.private,
            identity: object
                .identity
                .as_ref()
                .map(|identity| (identity.version, &*identity.json)),
            kind,
        };
        let answer = provider.move_state(request).await;
        let diags = unplaced(answer.diags);
        if diags.has_errors() {
            return Err(diags);
        }
        let invalid = |what: &str| -> Diags {
            let detail = format!(
                "The provider {} was asked to make {from} its own {to}, and answered with {what}. This is a fault of the \
                 provider; tell its developers.",
                target.provider.for_display()
            );
            Diag::error("Provider returned invalid value", detail)
                .at(statement.span)
                .into()
        };
        let Some(value) = answer.value.state else {
            return Err(invalid("no object at all"));
        };
        let leaked = non_null_write_only(&schema.block, &value);
        if !leaked.is_empty() {
            let fault = |path| invalid(&format!("a value for the write-only attribute {path}"));
            return Err(leaked.iter().flat_map(fault).collect());
        }
        if !value.is_wholly_known() {
            return Err(invalid("values that are not known"));
        }
        let identity = answer.value.identity.filter(|identity| !identity.is_null());
        if identity
            .as_ref()
            .is_some_and(|identity| !identity.is_wholly_known())
        {
            return Err(unknown_identity(to).into());
        }
        let parts = ObjectParts {
            identity: identity.as_ref(),
            private: answer.value.private.into(),
            status: object.status,
            dependencies: object.dependencies.to_vec(),
            create_before_destroy: object.create_before_destroy,
            skip_destroy: object.skip_destroy,
        };
        encode_object(&value, schema, parts).map(|object| Some(Arc::new(object)))
    }
}
