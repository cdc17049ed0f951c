//! Operators on values: what `cty.Value`'s methods do, unknown values, refinements and marks included.
//!
//! Stands between the value model and whoever evaluates: expressions, builtins, plan comparison. Operands must have the
//! right type already (see [`crate::convert()`]); a wrong one is an [`OpError`], never a panic. Nothing here converts.

mod access;
mod arithmetic;
mod build;
mod compare;
mod equal;
mod logic;
mod prefix;
mod refine;
mod set_order;

use std::fmt;

pub use access::{Elements, elements, get_attr, has_element, has_index, index, length};
pub use arithmetic::{absolute, add, divide, modulo, multiply, negate, subtract};
pub(crate) use build::is_of;
pub use build::{list_of, map_of, set_of};
pub use compare::{greater, greater_or_equal, less, less_or_equal};
pub use equal::{conforms, equal, not_equal};
pub use logic::{and, not, or};
pub use prefix::safe_prefix;
pub(crate) use prefix::shorten_prefix;
pub(crate) use refine::{narrow, settle};
pub use refine::{range, refine, refine_not_null, unknown_refined};
pub(crate) use set_order::set_elements;

/// Why an operation has no result. In words for people; never shows a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpError(String);

impl OpError {
    /// An error with this message: one sentence, lower case, no full stop.
    pub fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }

    /// The message.
    pub fn message(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for OpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for OpError {}

#[cfg(test)]
mod tests;
