//! The state file, version 4: bytes to model and back.
//!
//! What is written is what Terraform 1.15 writes, byte for byte: order, indentation, escapes. What is read may be damaged
//! or hostile; it then gives diagnostics, all that can be found at once.
//! Source: Terraform `internal/states/statefile`.

use std::{borrow::Cow, collections::BTreeMap, sync::Arc};

use ashlar_addr::{AbsResource, Mode};
use ashlar_diag::{Diag, Diags};
use ashlar_value::json;

use crate::{
    OutputState, State, layout, resource,
    wire::{CheckResult, File, Output, Raw, Sniff},
};

const UNSUPPORTED: &str = "Unsupported state file format";
pub(crate) const INVALID: &str = "Invalid state file format";
/// The one version that is read and written.
const VERSION: u64 = 4;

/// Reads a state file. A file of no bytes is damaged too: whoever holds one must know what it means there.
pub fn read(bytes: &[u8]) -> Result<State, Diags> {
    check_version(bytes)?;
    let file: File<'_> = serde_json::from_slice(bytes).map_err(|error| damaged(&error))?;
    let mut diags = Diags::new();
    // Empty is well: a state that was never saved has none yet.
    if file.lineage.is_none() {
        diags.push(Diag::error(
            INVALID,
            "The state file has no \"lineage\", so it cannot be told which history it belongs to. Restore it from a \
             backup, or give it the lineage of the state it was taken from.",
        ));
    }
    let mut state = State {
        lineage: file.lineage.unwrap_or_default().into_owned(),
        serial: file.serial,
        ..State::default()
    };
    for found in file.resources.into_iter().flatten() {
        resource::read_into(&mut state, &found, &mut diags);
    }
    for (name, output) in file.outputs.into_iter().flatten() {
        if let Some(output) = diags.take(read_output(&name, &output)) {
            state.outputs.insert(Arc::from(&*name), output);
        }
    }
    state.check_results = match file.check_results {
        Some(results) if !results.is_empty() => serde_json::to_value(results).ok(),
        _ => None,
    };
    if diags.has_errors() { Err(diags) } else { Ok(state) }
}

fn check_version(bytes: &[u8]) -> Result<(), Diags> {
    let unsupported = |detail: String| Err(Diag::error(UNSUPPORTED, detail).into());
    let sniff: Sniff<'_> = match serde_json::from_slice(bytes) {
        Ok(sniff) => sniff,
        Err(error) => {
            return unsupported(format!(
                "The state file is not a JSON object (line {}, column {}). Restore it from a backup.",
                error.line(),
                error.column()
            ));
        }
    };
    let Some(version) = sniff.version else {
        return unsupported(
            "The state file has no \"version\", which tells the format of the rest.".to_owned(),
        );
    };
    let writer = sniff
        .terraform_version
        .and_then(|raw| serde_json::from_str::<String>(raw.text()).ok())
        .filter(|text| text.len() < 40 && text.starts_with(|c: char| c.is_ascii_digit()))
        .map(|version| format!(" It was written by Terraform {version}."))
        .unwrap_or_default();
    match version.text().parse::<u64>() {
        Ok(VERSION) => Ok(()),
        Ok(0) => {
            unsupported("The state file claims format version 0, which never existed in JSON.".to_owned())
        }
        Ok(version @ 1..VERSION) => unsupported(format!(
            "The state file has format version {version}, which Terraform 0.11 and older wrote; only version 4 is \
             read.{writer} Bring it up to date first: run `terraform apply -refresh-only` with Terraform 1.x on it."
        )),
        Ok(version) => unsupported(format!(
            "The state file has format version {version}; only version 4 is known.{writer} Use a newer release, or \
             restore a backup from before the upgrade."
        )),
        Err(_) => unsupported("The \"version\" of the state file is not a whole number.".to_owned()),
    }
}

/// Serde's message may quote what it found, so only the place is told.
fn damaged(error: &serde_json::Error) -> Diag {
    let what = match error.classify() {
        serde_json::error::Category::Eof => "ends too early",
        serde_json::error::Category::Syntax => "is no JSON",
        _ => "does not have the structure of a state file",
    };
    Diag::error(
        INVALID,
        format!(
            "The state file {what} (line {}, column {}). Restore it from a backup.",
            error.line(),
            error.column()
        ),
    )
}

fn read_output(name: &str, output: &Output<'_>) -> Result<OutputState, Diags> {
    let ty = serde_json::from_str(output.ty.text())
        .ok()
        .and_then(|ty| json::type_from_json(&ty).ok())
        .ok_or_else(|| {
            Diag::error(
                "Invalid output value type in state",
                format!("The state file gives output {name:?} a type that is not known."),
            )
        })?;
    let value = json::decode(output.value.text().as_bytes(), &ty).map_err(|error| {
        Diag::error(
            "Invalid output value saved in state",
            format!(
                "The state file holds a value for output {name:?} that does not have its type: {}.",
                error.message
            ),
        )
    })?;
    Ok(OutputState {
        value,
        sensitive: output.sensitive,
    })
}

/// Writes a state file in the name of this version of Terraform. Fails only for a state that cannot be kept: an unknown
/// output value, or attributes that are no JSON.
pub fn write(state: &State, terraform_version: &str) -> Result<Vec<u8>, Diags> {
    let mut outputs = BTreeMap::new();
    for (name, output) in &state.outputs {
        outputs.insert(Cow::Borrowed(&**name), write_output(name, output)?);
    }
    // Terraform sorts by the printed module address, which is not the order of addresses.
    let mut sorted: Vec<(String, &AbsResource)> = state
        .resources
        .keys()
        .filter(|address| address.resource.mode != Mode::Ephemeral)
        .map(|address| (address.module.to_string(), address))
        .collect();
    sorted.sort_by(|(a_module, a), (b_module, b)| {
        (
            a_module,
            a.resource.mode.as_str(),
            &a.resource.kind,
            &a.resource.name,
        )
            .cmp(&(
                b_module,
                b.resource.mode.as_str(),
                &b.resource.kind,
                &b.resource.name,
            ))
    });
    let mut resources = Vec::with_capacity(sorted.len());
    for (module, address) in sorted {
        if let Some(held) = state.resources.get(address) {
            resources.push(resource::to_wire(module, address, held)?);
        }
    }
    let check_results: Option<Vec<CheckResult>> = match &state.check_results {
        None => None,
        Some(results) => {
            serde::Deserialize::deserialize(results).map_err(|_| unwritable("the results of checks"))?
        }
    };
    let file = File {
        version: VERSION,
        terraform_version: terraform_version.into(),
        serial: state.serial,
        lineage: Some(Cow::Borrowed(&state.lineage)),
        outputs: Some(outputs),
        resources: Some(resources),
        check_results: check_results.filter(|results| !results.is_empty()),
    };
    let compact = serde_json::to_vec(&file).map_err(|_| unwritable("the state"))?;
    let mut bytes = layout::indent(&compact).ok_or_else(|| unwritable("a value that nests this deep"))?;
    bytes.push(b'\n');
    Ok(bytes)
}

fn write_output<'a>(name: &str, output: &'a OutputState) -> Result<Output<'a>, Diags> {
    let fault = || unwritable(&format!("the value of output {name:?}"));
    let ty = output.value.ty();
    let value = json::encode(&output.value, &ty).map_err(|why| {
        let detail = format!(
            "The value of output {name:?} cannot be kept in a state: {}. Change what it is made of.",
            why.message
        );
        Diag::error("Failed to serialize state", detail)
    })?;
    let ty = json::type_to_json(&ty).to_string();
    Ok(Output {
        value: Raw::owned(value).map_err(|_| fault())?,
        ty: Raw::owned(ty.into_bytes()).map_err(|_| fault())?,
        sensitive: output.sensitive,
    })
}

pub(crate) fn unwritable(what: &str) -> Diag {
    Diag::error(
        "Failed to serialize state",
        format!(
            "{what} cannot be represented in a state file. This is a fault of Ashlar; the state is unchanged."
        ),
    )
}

/// Would both be written the same but for lineage and serial? Then there is nothing to save.
pub fn same_content(a: &State, b: &State) -> bool {
    if a.resources == b.resources && a.outputs == b.outputs && a.check_results == b.check_results {
        return true;
    }
    let body = |state: &State| {
        let shallow = State {
            lineage: String::new(),
            serial: 0,
            ..state.clone()
        };
        write(&shallow, "").ok()
    };
    matches!((body(a), body(b)), (Some(a), Some(b)) if a == b)
}

#[cfg(test)]
#[path = "file/tests.rs"]
mod tests;
