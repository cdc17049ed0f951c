//! Static checks of a block against its schema: names, labels, counts. Nothing is evaluated, so no scope is needed.

use ashlar_diag::Diags;
use ashlar_syntax::Body;
use ashlar_value::schema;

use crate::block::{Decoder, Source};

/// Checks a body's items against the schema; values of arguments are not looked at.
pub fn validate_block(body: &Body, schema: &schema::Block) -> Diags {
    let mut diags = Diags::new();
    let decoder = Decoder { eval: None };
    let _ = decoder.body(&Source::whole(body), schema, &mut diags);
    diags
}
