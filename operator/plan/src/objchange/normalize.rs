//! Objects from providers on the old SDK, brought into the form that the rules expect.
//!
//! Done to every answer of ReadResource, since the protocol does not tell there which SDK made it. Nested blocks become
//! known and not null; attributes stay as they are. Source: Terraform `objchange/normalize_obj.go`.

use ashlar_value::{
    Value,
    schema::{Block, NestedBlock, Nesting},
};

use super::{
    part::{elements, items_like, part},
    proposed::empty_blocks,
};

/// The object with null nested blocks made empty, and unknown ones made a block of unknown attributes.
#[must_use]
pub fn normalize_null_blocks(schema: &Block, value: &Value) -> Value {
    let (plain, marks) = value.clone().unmark_deep_with_paths();
    normalize(schema, &plain).mark_paths(&marks)
}

fn normalize(schema: &Block, value: &Value) -> Value {
    if value.is_null() || !value.is_known() {
        return value.clone();
    }
    let attributes = schema
        .attributes
        .iter()
        .map(|(name, attribute)| (name.clone(), part(value, name, || attribute.ty())));
    let blocks = schema.blocks.iter().map(|(name, nested)| {
        let blocks = part(value, name, || nested.ty());
        // The old SDK has neither dynamic types nor maps of blocks: what has them was not made by it.
        let foreign = nested.nesting == Nesting::Map || nested.block.ty().has_dynamic();
        (
            name.clone(),
            if foreign {
                blocks
            } else {
                normalize_blocks(nested, &blocks)
            },
        )
    });
    Value::object_of(attributes.chain(blocks).collect())
}

fn normalize_blocks(nested: &NestedBlock, blocks: &Value) -> Value {
    match nested.nesting {
        Nesting::Single | Nesting::Group if !blocks.is_known() => unknown_block(&nested.block),
        Nesting::Single => normalize(&nested.block, blocks),
        Nesting::Group if blocks.is_null() => empty_blocks(nested),
        Nesting::Group => normalize(&nested.block, blocks),
        Nesting::List | Nesting::Set | Nesting::Map => {
            let empty = empty_blocks(nested);
            let items = if blocks.is_known() {
                elements(blocks)
                    .into_iter()
                    .map(|(_, block)| normalize(&nested.block, &block))
                    .collect()
            } else {
                vec![unknown_block(&nested.block)]
            };
            items_like(&empty, items)
        }
    }
}

/// One block of which nothing is known but that it is there.
fn unknown_block(schema: &Block) -> Value {
    let attributes = schema
        .attributes
        .iter()
        .map(|(name, attribute)| (name.clone(), Value::unknown(attribute.ty())));
    let blocks = schema.blocks.iter().map(|(name, nested)| {
        let value = match nested.nesting {
            Nesting::Single | Nesting::Group => unknown_block(&nested.block),
            Nesting::List | Nesting::Set => {
                items_like(&empty_blocks(nested), vec![unknown_block(&nested.block)])
            }
            Nesting::Map => empty_blocks(nested),
        };
        (name.clone(), value)
    });
    Value::object_of(attributes.chain(blocks).collect())
}
