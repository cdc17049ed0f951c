//! One object between its two lives: JSON in the state, a value in the engine.
//!
//! The state keeps no marks, only the paths that are sensitive; they come off here and go back on here. Unknown parts
//! become null, since a state cannot hold them; whoever calls has complained of them already.
//! Source: Terraform `internal/states/instance_object.go`.

use std::sync::Arc;

use ashlar_addr::ConfigResource;
use ashlar_diag::{Diag, Diags};
use ashlar_value::{
    Mark, Marks, Path, Value, json,
    ops::OpError,
    schema::{IdentitySchema, Schema},
};

use crate::{Identity, Object, Status, layout};

/// What an object has beside its attributes.
#[derive(Clone, Debug)]
pub struct ObjectParts<'a> {
    /// Its identity, if it has one that is wholly known.
    pub identity: Option<&'a Value>,
    /// What the provider wants kept.
    pub private: Arc<[u8]>,
    /// Ready or tainted.
    pub status: Status,
    /// What it depends on, in any order.
    pub dependencies: Vec<ConfigResource>,
    /// Must its replacement come before its destruction?
    pub create_before_destroy: bool,
}

/// The object to keep for a value of the schema's type. Sensitive marks become paths; ephemeral ones are a fault.
pub fn encode_object(value: &Value, schema: &Schema, parts: ObjectParts<'_>) -> Result<Object, Diags> {
    let (value, marks) = value.clone().unmark_deep_with_paths();
    if let Some((path, _)) = marks.iter().find(|(_, marks)| marks.contains(Mark::Ephemeral)) {
        return Err(Diag::error(
            "Failed to encode object for state",
            format!("The value at {path} is ephemeral, and so must not be kept in the state."),
        )
        .into());
    }
    let mut sensitive: Vec<(String, Path)> = marks
        .into_iter()
        .filter(|(_, marks)| marks.contains(Mark::Sensitive))
        .map(|(path, _)| (path.to_string(), path))
        .collect();
    sensitive.sort_by(|(a, _), (b, _)| a.cmp(b));
    let attributes = encode(&without_unknown(value)?, &schema.block.ty())?;
    let identity = match (&schema.identity, parts.identity) {
        (None, _) => None,
        (Some(schema), Some(identity)) if !identity.is_null() && identity.is_wholly_known() => {
            Some(Identity {
                version: schema.version,
                json: encode(identity, &schema.ty())?,
            })
        }
        (Some(schema), _) if schema.version != 0 => Some(Identity {
            version: schema.version,
            json: Arc::default(),
        }),
        (Some(_), _) => None,
    };
    let mut dependencies: Vec<(String, ConfigResource)> = parts
        .dependencies
        .into_iter()
        .map(|address| (address.to_string(), address))
        .collect();
    dependencies.sort_by(|(a, _), (b, _)| a.cmp(b));
    dependencies.dedup_by(|(a, _), (b, _)| a == b);
    Ok(Object {
        schema_version: schema.version,
        attributes,
        sensitive: sensitive.into_iter().map(|(_, path)| path).collect(),
        private: parts.private,
        status: parts.status,
        dependencies: dependencies.into_iter().map(|(_, address)| address).collect(),
        create_before_destroy: parts.create_before_destroy,
        identity,
    })
}

fn encode(value: &Value, ty: &ashlar_value::Type) -> Result<Arc<[u8]>, Diags> {
    let fault = |detail: String| Diags::from(Diag::error("Failed to encode object for state", detail));
    let json =
        json::encode(value, ty).map_err(|error| fault(format!("At {}: {}.", error.path, error.message)))?;
    let json = std::str::from_utf8(&json).ok().and_then(layout::compact);
    json.map(Arc::from)
        .ok_or_else(|| fault("The value nests too deep to be kept in the state.".to_owned()))
}

fn without_unknown(value: Value) -> Result<Value, Diags> {
    if value.is_wholly_known() {
        return Ok(value);
    }
    value
        .transform(&mut |_, part: Value| {
            Ok::<_, OpError>(if part.is_known() {
                part
            } else {
                Value::null(part.ty())
            })
        })
        .map_err(|_| {
            Diag::error(
                "Failed to encode object for state",
                "Unknown parts of it could not be left out.",
            )
            .into()
        })
}

/// The value an object has by the present schema, sensitive where it was. The schema version is the caller's business.
pub fn decode_object(object: &Object, schema: &Schema) -> Result<Value, Diags> {
    let value = decode(&object.attributes, &schema.block.ty())?;
    let marks: Vec<(Path, Marks)> = object
        .sensitive
        .iter()
        .map(|path| (path.clone(), Marks::SENSITIVE))
        .collect();
    Ok(value.mark_paths(&marks))
}

/// The identity an object has by the present identity schema.
pub fn decode_identity(object: &Object, schema: &IdentitySchema) -> Result<Option<Value>, Diags> {
    match &object.identity {
        Some(identity) if !identity.json.is_empty() => decode(&identity.json, &schema.ty()).map(Some),
        _ => Ok(None),
    }
}

fn decode(json: &[u8], ty: &ashlar_value::Type) -> Result<Value, Diags> {
    json::decode(json, ty).map_err(|error| {
        let place = if error.path.is_root() {
            String::new()
        } else {
            format!(" at {}", error.path)
        };
        Diag::error(
            "Failed to decode resource from state",
            format!(
                "What the state holds does not fit the provider's schema{place}: {}.",
                error.message
            ),
        )
        .into()
    })
}
