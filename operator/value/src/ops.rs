//! Operators on values: what `cty.Value`'s methods do, unknown values and marks included.

use crate::{Marks, Value};

/// The distinct elements in cty's set order, unmarked, and the marks they had.
pub(crate) fn set_elements(items: Vec<Value>) -> (Vec<Value>, Marks) {
    (items, Marks::NONE)
}
