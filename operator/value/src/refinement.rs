//! What is known of an unknown value.

use std::sync::Arc;

use crate::Number;

/// A number bound.
#[derive(Clone, Debug, PartialEq)]
pub struct Bound {
    /// The limit.
    pub value: Number,
    /// May the value equal the limit?
    pub inclusive: bool,
}

/// Facts about an unknown value; the fields that do not fit its type stay empty. Never on a dynamic unknown.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Refinement {
    /// Certainly not null.
    pub not_null: bool,
    /// A string begins with this text (NFC; at most 256 bytes on the wire).
    pub prefix: Option<Arc<str>>,
    /// A number is at least this.
    pub min: Option<Bound>,
    /// A number is at most this.
    pub max: Option<Bound>,
    /// A collection has at least so many elements.
    pub length_min: Option<u64>,
    /// A collection has at most so many elements.
    pub length_max: Option<u64>,
}

impl Refinement {
    /// Only: not null.
    pub fn not_null() -> Self {
        Self {
            not_null: true,
            ..Self::default()
        }
    }

    /// Nothing known?
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}
