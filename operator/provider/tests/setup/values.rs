//! Values to ask with, and answers to look at.

use ashlar_port::{Answer, ProviderDiag};
use ashlar_value::{
    Value,
    schema::{Block, Nesting},
};

/// A configuration of a block: what is given, null or empty for the rest.
pub(crate) fn config(block: &Block, given: &[(&str, Value)]) -> Value {
    let attributes = block
        .attributes
        .iter()
        .map(|(name, attribute)| (name.to_string(), Value::null(attribute.ty())));
    let blocks = block.blocks.iter().map(|(name, nested)| {
        let empty = match nested.nesting {
            Nesting::Single => Value::null(nested.block.ty()),
            Nesting::Group => config(&nested.block, &[]),
            _ => Value::empty(&nested.ty()),
        };
        (name.to_string(), empty)
    });
    let given = given
        .iter()
        .map(|(name, value)| ((*name).to_owned(), value.clone()));
    Value::object(attributes.chain(blocks).chain(given).collect::<Vec<_>>())
}

pub(crate) fn text(value: &str) -> Value {
    Value::string(value)
}

#[track_caller]
pub(crate) fn clean<T>(answer: Answer<T>) -> T {
    none(answer.diags);
    answer.value
}

#[track_caller]
pub(crate) fn none(diags: Vec<ProviderDiag>) {
    assert!(diags.is_empty(), "{diags:?}");
}
