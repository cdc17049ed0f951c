//! The JSON forms of values and types, as go-cty's `cty/json`.
//!
//! Numbers keep every digit, strings become NFC, of a key given twice the last one counts. What is read may be hostile:
//! the memory that a value takes is bounded, its depth by [`DEPTH_LIMIT`], anything after the value is refused (cty ignores it).

mod decode;
mod encode;
mod reader;
mod types;

use std::fmt;

use crate::{Path, PathStep};

#[cfg(test)]
pub(crate) use decode::decode_within;
pub use decode::{decode, decode_implied};
pub use encode::encode;
pub(crate) use encode::to_type;
pub use types::{type_from_json, type_from_text, type_to_json, type_to_text};

/// How deep values and types from outside may be nested.
pub(crate) const DEPTH_LIMIT: usize = 512;

/// Why a value could not be written or read.
#[derive(Clone, Debug, PartialEq)]
pub struct WireError {
    /// Where inside the value.
    pub path: Path,
    /// In words; never shows a value.
    pub message: String,
}

impl WireError {
    /// An error at the place that these steps lead to.
    pub(crate) fn at(path: &[PathStep], message: impl Into<String>) -> Self {
        Self {
            path: path.iter().cloned().collect(),
            message: message.into(),
        }
    }
}

impl fmt::Display for WireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for WireError {}

#[cfg(test)]
mod tests;
