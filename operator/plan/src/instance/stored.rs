//! A stored object to a live one: brought up to the present schema, decoded, marked.
//!
//! The provider is asked on every read, also at equal schema versions (Terraform `upgrade_resource_state.go`): it may
//! repair what an older release of itself wrote.

use std::{borrow::Cow, sync::Arc};

use ashlar_addr::ResourceInstance;
use ashlar_diag::{Diag, Diags};
use ashlar_port::{Provider, UpgradeRequest};
use ashlar_state::{Object, ObjectParts, encode_object};
use ashlar_syntax::Body;
use ashlar_value::{Marks, Type, Value, schema::Schema};

use super::Live;
use crate::{
    engine::Engine,
    objchange::{mark_sensitive, non_null_write_only},
    provider_diags::place_in,
};

/// The object as of now; its warnings come back beside it.
pub async fn read_stored(
    engine: &Engine<'_>,
    provider: &dyn Provider,
    address: &ResourceInstance,
    schema: &Schema,
    object: &Object,
    body: Option<&Body>,
) -> Result<(Live, Diags), Diags> {
    let kind = &*address.resource.resource.kind;
    if object.schema_version > schema.version {
        return Err(too_new(address, "schema", object.schema_version, schema.version));
    }
    let json: Cow<'_, [u8]> = if object.schema_version == schema.version {
        strip_removed(&object.attributes, &schema.block.ty())
    } else {
        Cow::Borrowed(&object.attributes)
    };
    let request = UpgradeRequest {
        kind,
        version: object.schema_version,
        json: &json,
    };
    let answer = {
        let _permit = engine.permit().await;
        provider.upgrade_state(request).await
    };
    let mut diags = place_in(answer.diags, body, address);
    if diags.has_errors() {
        return Err(diags);
    }
    let invalid = |what: &str| -> Diags {
        let detail = format!(
            "The provider was asked to bring the stored object {address} up to its present schema, and answered with \
             {what}. This is a fault of the provider; tell its developers."
        );
        Diag::error("Invalid resource state upgrade", detail).into()
    };
    let Some(value) = answer.value else {
        return Err(invalid("no object at all"));
    };
    if value.is_null() {
        return Err(invalid("null"));
    }
    if !value.is_wholly_known() {
        return Err(invalid("values that are not known"));
    }
    let leaked = non_null_write_only(&schema.block, &value);
    if !leaked.is_empty() {
        let fault = |path| {
            invalid(&format!(
                "a value for the write-only attribute {path}, which must never be returned"
            ))
        };
        return Err(leaked.iter().flat_map(fault).collect());
    }
    let marks: Vec<_> = object
        .sensitive
        .iter()
        .map(|path| (path.clone(), Marks::SENSITIVE))
        .collect();
    let identity = read_identity(engine, provider, address, schema, object, body, &mut diags).await?;
    let live = Live {
        value: mark_sensitive(&schema.block, value.mark_paths(&marks)),
        private: object.private.clone(),
        status: object.status,
        dependencies: object.dependencies.clone(),
        create_before_destroy: object.create_before_destroy,
        skip_destroy: object.skip_destroy,
        identity,
    };
    Ok((live, diags))
}

fn too_new(address: &ResourceInstance, what: &str, stored: i64, present: i64) -> Diags {
    let detail = format!(
        "{address} was stored with {what} version {stored}, but this provider knows versions up to {present} only. Use the \
         newer release of the provider that wrote it."
    );
    Diag::error("Resource instance managed by newer provider version", detail).into()
}

async fn read_identity(
    engine: &Engine<'_>,
    provider: &dyn Provider,
    address: &ResourceInstance,
    schema: &Schema,
    object: &Object,
    body: Option<&Body>,
    diags: &mut Diags,
) -> Result<Option<Value>, Diags> {
    let (Some(stored), Some(present)) = (&object.identity, &schema.identity) else {
        return Ok(None);
    };
    if stored.json.is_empty() {
        return Ok(None);
    }
    // Unlike with the state, providers take being asked at equal versions for a fault.
    if stored.version == present.version {
        return ashlar_state::decode_identity(object, present);
    }
    if stored.version > present.version {
        return Err(too_new(address, "identity", stored.version, present.version));
    }
    let kind = &*address.resource.resource.kind;
    let request = UpgradeRequest {
        kind,
        version: stored.version,
        json: &stored.json,
    };
    let answer = {
        let _permit = engine.permit().await;
        provider.upgrade_identity(request).await
    };
    let remarks = place_in(answer.diags, body, address);
    if remarks.has_errors() {
        return Err(remarks);
    }
    diags.extend(remarks);
    if answer
        .value
        .as_ref()
        .is_some_and(|value| !value.is_wholly_known())
    {
        let detail = format!(
            "The provider was asked to bring the stored identity of {address} up to its present schema, and answered with \
             values that are not known. This is a fault of the provider; tell its developers."
        );
        return Err(Diag::error("Invalid resource identity upgrade", detail).into());
    }
    Ok(answer.value.filter(|value| !value.is_null()))
}

/// A live object as it is stored.
pub fn to_object(live: &Live, schema: &Schema) -> Result<Arc<Object>, Diags> {
    let parts = ObjectParts {
        identity: live.identity.as_ref(),
        private: live.private.clone(),
        status: live.status,
        dependencies: live.dependencies.to_vec(),
        create_before_destroy: live.create_before_destroy,
        skip_destroy: live.skip_destroy,
    };
    encode_object(&live.value, schema, parts).map(Arc::new)
}

/// The JSON without attributes that the schema no longer has; as it is if there are none.
fn strip_removed<'a>(json: &'a [u8], ty: &Type) -> Cow<'a, [u8]> {
    let Ok(mut value) = serde_json::from_slice::<serde_json::Value>(json) else {
        return Cow::Borrowed(json);
    };
    if !strip(&mut value, ty) {
        return Cow::Borrowed(json);
    }
    serde_json::to_vec(&value).map_or(Cow::Borrowed(json), Cow::Owned)
}

fn strip(json: &mut serde_json::Value, ty: &Type) -> bool {
    match (json, ty) {
        (serde_json::Value::Object(entries), Type::Object(object)) => {
            let before = entries.len();
            entries.retain(|name, _| object.get(name).is_some());
            let mut changed = entries.len() != before;
            for (name, entry) in entries.iter_mut() {
                if let Some(attr) = object.get(name) {
                    changed |= strip(entry, &attr.ty);
                }
            }
            changed
        }
        (serde_json::Value::Object(entries), Type::Map(element)) => entries
            .values_mut()
            .fold(false, |changed, entry| strip(entry, element) | changed),
        (serde_json::Value::Array(items), Type::List(element) | Type::Set(element)) => items
            .iter_mut()
            .fold(false, |changed, item| strip(item, element) | changed),
        (serde_json::Value::Array(items), Type::Tuple(types)) => items
            .iter_mut()
            .zip(types.iter())
            .fold(false, |changed, (item, ty)| strip(item, ty) | changed),
        _ => false,
    }
}
