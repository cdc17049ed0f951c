//! The JSON forms of values and types.

use crate::{Path, Type, Value};

/// Why a value could not be written or read.
#[derive(Clone, Debug, PartialEq)]
pub struct WireError {
    /// Where inside the value.
    pub path: Path,
    /// In words; never shows a value.
    pub message: String,
}

/// Writes a wholly known value as JSON of type `ty` (dynamic places as `{"value":…,"type":…}`). Marks are dropped.
pub fn encode(value: &Value, ty: &Type) -> Result<Vec<u8>, WireError> {
    let _ = (value, ty);
    Ok(Vec::new())
}

/// Reads JSON as a value of type `ty`.
pub fn decode(json: &[u8], ty: &Type) -> Result<Value, WireError> {
    let _ = json;
    Ok(Value::null(ty.clone()))
}

/// Reads JSON without a type: objects, tuples, primitives (what `jsondecode` gives).
pub fn decode_implied(json: &[u8]) -> Result<Value, WireError> {
    let _ = json;
    Ok(Value::dynamic())
}

/// Writes a type in cty's JSON form.
pub fn type_to_json(ty: &Type) -> serde_json::Value {
    let _ = ty;
    serde_json::Value::Null
}

/// Reads a type from cty's JSON form.
pub fn type_from_json(json: &serde_json::Value) -> Result<Type, WireError> {
    let _ = json;
    Ok(Type::Dynamic)
}
