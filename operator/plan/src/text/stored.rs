//! Objects of a state as people read them: as their blocks in the configuration would stand, all computed attributes included.

use std::fmt::Write as _;

use ashlar_addr::{DeposedKey, ResourceInstance};
use ashlar_diag::{Diag, Diags, Style};
use ashlar_state::{Object, State, Status, decode_object};
use ashlar_value::Marks;

use super::{draw::draw_whole, heading::head, ink::Ink, place::Place};
use crate::{Schemas, objchange::mark_sensitive, show::find_schema};

/// The current object of an instance; ends with a line feed. Fails where there is none, or none that fits its schema.
pub fn stored_object(
    state: &State,
    address: &ResourceInstance,
    schemas: &Schemas,
    style: Style,
) -> Result<String, Diags> {
    let Some(object) = state.current(address) else {
        let detail = format!("The state holds no {address}.");
        return Err(Diag::error("Failed to read state", detail).about(address).into());
    };
    let body = body(state, address, object, schemas, style)?;
    Ok(format!(
        "{}\n{} {body}\n",
        heading(address, None, object),
        head(address)
    ))
}

/// All objects, those that are deposed too, and the root outputs; sensitive values are hidden. An object that cannot be read by
/// its schema is told as one; the others stand.
pub fn stored_state(state: &State, schemas: &Schemas, style: Style) -> String {
    if state.is_empty() {
        return "The state file is empty. No resources are represented.\n".to_owned();
    }
    let mut out = String::new();
    for (address, deposed, object) in state.objects() {
        if !out.is_empty() {
            out.push('\n');
        }
        let head = head(&address);
        let _ = writeln!(out, "{}", heading(&address, deposed, object));
        let _ = match body(state, &address, object, schemas, style) {
            Ok(body) => writeln!(out, "{head} {body}"),
            Err(diags) => {
                let why: Vec<&str> = diags.iter().map(|diag| &*diag.detail).collect();
                writeln!(out, "{head} {{\n    # ({})\n}}", why.join(" "))
            }
        };
    }
    if !state.outputs.is_empty() {
        out.push_str("\n\nOutputs:\n\n");
    }
    for (name, output) in &state.outputs {
        let marks = if output.sensitive {
            Marks::SENSITIVE
        } else {
            Marks::NONE
        };
        let value = output.value.clone().with_marks(marks);
        let diff = Place::free(0).plain(Some(&value), Some(&value));
        let _ = writeln!(out, "{name} = {}", draw_whole(&diff, 0, Ink(style)));
    }
    out
}

/// The line above an object. Source: Terraform `internal/command/jsonformat/state.go`.
fn heading(address: &ResourceInstance, deposed: Option<DeposedKey>, object: &Object) -> String {
    match deposed {
        Some(key) => format!("# {address}: (deposed object {key})"),
        None if object.status == Status::Tainted => format!("# {address}: (tainted)"),
        None => format!("# {address}:"),
    }
}

fn body(
    state: &State,
    address: &ResourceInstance,
    object: &Object,
    schemas: &Schemas,
    style: Style,
) -> Result<String, Diags> {
    let provider = state
        .resources
        .get(&address.resource)
        .map(|resource| &resource.provider.provider);
    let schema = provider.and_then(|provider| find_schema(provider, &address.resource.resource, schemas));
    let Some(schema) = schema.filter(|schema| schema.version == object.schema_version) else {
        let detail = format!(
            "There is no schema of version {} for {address}, so its attributes cannot be read. A plan and its apply bring them up to \
             the provider's version.",
            object.schema_version
        );
        return Err(Diag::error("Failed to read state", detail).about(address).into());
    };
    let value = mark_sensitive(&schema.block, decode_object(object, schema)?);
    let diff = Place::object(&schema.block, Vec::new()).block(&schema.block, Some(&value), Some(&value));
    Ok(draw_whole(&diff, 0, Ink(style)))
}
