//! One object of a state as people read it: as its block in the configuration would stand, all computed attributes included.

use ashlar_addr::ResourceInstance;
use ashlar_diag::{Diag, Diags, Style};
use ashlar_state::{State, decode_object};

use super::{draw::draw_whole, heading::head, ink::Ink, place::Place};
use crate::{Schemas, objchange::mark_sensitive, show::find_schema};

/// The current object of an instance; ends with a line feed. Fails where there is none, or none that fits its schema.
pub fn stored_object(
    state: &State,
    address: &ResourceInstance,
    schemas: &Schemas,
    style: Style,
) -> Result<String, Diags> {
    let fault = |detail: String| Diags::from(Diag::error("Failed to read state", detail).about(address));
    let (Some(object), Some(resource)) = (state.current(address), state.resources.get(&address.resource))
    else {
        return Err(fault(format!("The state holds no {address}.")));
    };
    let schema = find_schema(&resource.provider.provider, &address.resource.resource, schemas);
    let Some(schema) = schema.filter(|schema| schema.version == object.schema_version) else {
        return Err(fault(format!(
            "There is no schema of version {} for {address}, so its attributes cannot be read. A plan and its apply bring them up to \
             the provider's version.",
            object.schema_version
        )));
    };
    let value = mark_sensitive(&schema.block, decode_object(object, schema)?);
    let diff = Place::object(&schema.block, Vec::new()).block(&schema.block, Some(&value), Some(&value));
    let tainted = if object.status == ashlar_state::Status::Tainted {
        " (tainted)"
    } else {
        ""
    };
    let body = draw_whole(&diff, 0, Ink(style));
    Ok(format!("# {address}:{tainted}\n{} {body}\n", head(address)))
}
