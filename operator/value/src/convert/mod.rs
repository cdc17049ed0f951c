//! Conversion and unification, as go-cty's `cty/convert`.
//!
//! A conversion is planned from the two types alone ([`plan`]) and then run on the value ([`run`]): whether types can be
//! converted at all does not depend on values, and a collection plans once for all its elements.
//!
//! *Safe* conversions never fail on a known value; *unsafe* ones may (text to number, map to object).

mod message;
mod plan;
mod run;
mod unify;
mod unknown;

use std::fmt;

use crate::{Path, Type, Value};

pub use message::mismatch;
use plan::Safety;

/// Why a value could not be converted; has no place yet.
#[derive(Clone, Debug, PartialEq)]
pub struct ConvertError {
    /// Where inside the value.
    pub path: Path,
    /// In words; never shows a value.
    pub message: String,
}

impl fmt::Display for ConvertError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ConvertError {}

/// Converts with unsafe conversions allowed; marks are kept. `to` may have optional attributes, left out ones become
/// null, and dynamic parts, which stay as they are. The result's type has neither.
pub fn convert(value: &Value, to: &Type) -> Result<Value, ConvertError> {
    let has_type = if to.has_optional() {
        crate::ops::is_of(value, &to.without_optional())
    } else {
        crate::ops::is_of(value, to)
    };
    if has_type {
        return Ok(value.clone());
    }
    let from = value.ty();
    match plan::plan(&from, to, Safety::Unsafe) {
        Some(plan) => run::run(&plan, value, &mut Vec::new()),
        None => Err(ConvertError {
            path: Path::root(),
            message: mismatch(&from, to),
        }),
    }
}

/// Can every value of this type be converted safely? Equal types can.
pub fn is_safe(from: &Type, to: &Type) -> bool {
    from == to || plan::plan(from, to, Safety::Safe).is_some()
}

/// Is there a conversion, safe or not, though it may fail for some values? Equal types have one.
pub fn is_possible(from: &Type, to: &Type) -> bool {
    from == to || plan::plan(from, to, Safety::Unsafe).is_some()
}

/// The one type all can be converted to, unsafe conversions allowed; `None` if there is none, or no types.
///
/// Dynamic among structural types gives dynamic; cty then makes each value a dynamic unknown, which [`convert()`] to
/// dynamic does not do.
pub fn unify(types: &[Type]) -> Option<Type> {
    unify::unify(types, Safety::Unsafe)
}

/// The one type all can safely be converted to.
pub fn unify_safe(types: &[Type]) -> Option<Type> {
    unify::unify(types, Safety::Safe)
}

#[cfg(test)]
mod tests;
