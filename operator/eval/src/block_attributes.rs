//! Attributes that are written as blocks, as whoever tells of a configuration sees them; never the way to their real values.
//!
//! Rules: Terraform `lang/blocktoattr`.

use std::sync::Arc;

use ashlar_diag::Diags;
use ashlar_syntax::{Block, Body};
use ashlar_value::{Value, schema};

use crate::{
    Reference,
    block::{Decoder, Source},
    body::{by_schema, may_be_blocks, nested_schema},
    evaluate::{Eval, Functions, Root},
    references,
};

/// An attribute that blocks stand for.
pub struct BlockAttribute<'b> {
    /// Its name.
    pub name: Arc<str>,
    /// A list of objects, one of each block; unknown where it is more than a constant.
    pub value: Value,
    /// What the arguments of the blocks refer to.
    pub references: Vec<Reference<'b>>,
}

/// The attributes of a body that are written as blocks, none that a `dynamic` block makes.
pub fn block_attributes<'b>(body: &'b Body, schema: &schema::Block) -> Vec<BlockAttribute<'b>> {
    let body = by_schema(body, schema);
    let names = schema.attributes.keys();
    let found = names.filter(|name| body.attribute(name).is_none() && may_be_blocks(schema, name));
    found
        .filter_map(|name| {
            let inner = nested_schema(schema, name)?;
            let blocks = body.blocks.iter().filter(|block| block.kind.name == *name);
            let blocks: Vec<&'b Block> = blocks.collect();
            (!blocks.is_empty()).then(|| BlockAttribute {
                name: name.clone(),
                value: constant(&blocks, &inner),
                references: blocks
                    .iter()
                    .flat_map(|block| &by_schema(&block.body, &inner).attributes)
                    .filter(|attribute| inner.attributes.contains_key(&attribute.name.name))
                    .flat_map(|attribute| references(&attribute.expr).0)
                    .collect(),
            })
        })
        .collect()
}

/// What of the blocks can be told without anything that they refer to.
fn constant(blocks: &[&Block], schema: &schema::Block) -> Value {
    let decoder = Decoder {
        eval: Some(Eval::new(Root::Constant, Functions::None)),
    };
    // What is at fault is unknown then.
    let mut faults = Diags::new();
    let items = blocks
        .iter()
        .map(|block| decoder.body(&Source::whole(&block.body), schema, &mut faults));
    Value::list(schema.ty(), items.collect::<Vec<_>>())
}
