//! Asks the provider for an object's present state, and judges the answer.

use std::fmt;

use ashlar_addr::ResourceInstance;
use ashlar_diag::{Diag, Diags};
use ashlar_port::{Activity, Provider, ReadRequest};
use ashlar_syntax::Body;
use ashlar_value::{Value, schema::Schema};

use super::Live;
use crate::{
    engine::Engine,
    objchange::{mark_sensitive, non_null_write_only, normalize_null_blocks},
    provider_diags::place_in,
    watch::known_by,
};

/// The object as it is now. Of one that is gone the value is null, and what else the provider told of it goes into the plan of
/// what takes its place. Warnings come back beside it.
pub async fn refresh(
    engine: &Engine<'_>,
    provider: &dyn Provider,
    address: &ResourceInstance,
    schema: &Schema,
    object: &Live,
    body: Option<&Body>,
) -> Result<(Live, Diags), Diags> {
    let (current, marks) = object.value.clone().unmark_deep_with_paths();
    let meta = engine.meta(&address.resource)?;
    let request = ReadRequest {
        kind: &address.resource.resource.kind,
        current: &current,
        private: &object.private,
        identity: object.identity.as_ref(),
        deferral_allowed: false,
        meta: meta.as_ref(),
    };
    let answer = {
        let _permit = engine.permit().await;
        let by = known_by(&schema.block, &object.value);
        let watch = engine.watch(address, None, Activity::Refresh, by.clone());
        let answer = provider.read(request).await;
        if !answer.has_errors() {
            watch.completed(by);
        }
        answer
    };
    let diags = place_in(answer.diags, body, address);
    if diags.has_errors() {
        return Err(diags);
    }
    let invalid = |what: &str| -> Diags {
        let detail = format!(
            "The provider answered the request to read {address} with {what}. This is a fault of the provider; tell its \
             developers."
        );
        Diag::error("Provider produced invalid object", detail).into()
    };
    if answer.value.deferred.is_some() {
        return Err(deferred_fault(address));
    }
    let Some(state) = answer.value.state else {
        return Err(invalid("no object at all"));
    };
    let identity = answer.value.identity.filter(|identity| !identity.is_null());
    let is_known = identity.as_ref().is_none_or(Value::is_wholly_known);
    let private = answer.value.private.into();
    if state.is_null() {
        let gone = Live {
            value: state,
            private,
            identity: identity.filter(|_| is_known),
            ..object.clone()
        };
        return Ok((gone, diags));
    }
    if !state.is_wholly_known() {
        return Err(invalid("values that are not known"));
    }
    let leaked = non_null_write_only(&schema.block, &state);
    if !leaked.is_empty() {
        let fault = |path| {
            invalid(&format!(
                "a value for the write-only attribute {path}, which must never be returned"
            ))
        };
        return Err(leaked.iter().flat_map(fault).collect());
    }
    if !is_known {
        return Err(unknown_identity(address).into());
    }
    let state = normalize_null_blocks(&schema.block, &state);
    let value = mark_sensitive(&schema.block, state.mark_paths(&marks));
    let fresh = Live {
        value,
        private,
        identity,
        ..object.clone()
    };
    Ok((fresh, diags))
}

/// The fault of an identity that is not known where it must be.
pub fn unknown_identity(address: &ResourceInstance) -> Diag {
    let detail = format!(
        "The provider answered with an identity of {address} that holds values that are not known. This is a fault of the \
         provider; tell its developers."
    );
    Diag::error("Provider produced invalid identity", detail)
}

/// The fault of a provider that puts something off though it may not.
pub fn deferred_fault(address: &dyn fmt::Display) -> Diags {
    let detail = format!(
        "The provider put off {address} although it was not allowed to. This is a fault of the provider."
    );
    Diag::error(
        "Provider deferred changes when Terraform did not allow deferrals",
        detail,
    )
    .into()
}
