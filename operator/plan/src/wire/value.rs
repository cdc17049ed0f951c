//! The stored form of values, with their types and marks, and of paths into them.

use ashlar_diag::Diags;
use ashlar_value::{Marks, Path, PathStep, Value, json, msgpack};
use serde::{Deserialize, Serialize};

use super::damaged;

#[derive(Serialize, Deserialize)]
pub(super) struct ValueWire {
    #[serde(with = "serde_bytes")]
    pub(super) ty: Vec<u8>,
    #[serde(with = "serde_bytes")]
    pub(super) data: Vec<u8>,
    pub(super) marks: Vec<(PathWire, bool, bool)>,
}

pub(super) type PathWire = Vec<StepWire>;

#[derive(Serialize, Deserialize)]
pub(super) enum StepWire {
    Attr(String),
    Key(String),
    At(i64),
    Member(Box<ValueWire>),
}

pub(super) fn value_out(value: &Value) -> Result<ValueWire, Diags> {
    let ty = value.ty();
    let (plain, marks) = value.clone().unmark_deep_with_paths();
    let ty_json = json::type_to_json(&ty).to_string().into_bytes();
    let data = msgpack::encode(&plain, &ty).map_err(|fault| damaged(&fault.message))?;
    let marks = marks
        .into_iter()
        .map(|(path, marks)| {
            use ashlar_value::Mark::{Ephemeral, Sensitive};
            Ok((
                path_out(&path)?,
                marks.contains(Sensitive),
                marks.contains(Ephemeral),
            ))
        })
        .collect::<Result<_, Diags>>()?;
    Ok(ValueWire {
        ty: ty_json,
        data,
        marks,
    })
}

pub(super) fn value_in(wire: &ValueWire) -> Result<Value, Diags> {
    let ty = serde_json::from_slice(&wire.ty).map_err(|fault| damaged(&fault.to_string()))?;
    let ty = json::type_from_json(&ty).map_err(|fault| damaged(&fault.message))?;
    let value = msgpack::decode(&wire.data, &ty).map_err(|fault| damaged(&fault.message))?;
    let mut marks = Vec::with_capacity(wire.marks.len());
    for (path, sensitive, ephemeral) in &wire.marks {
        let sensitive = if *sensitive { Marks::SENSITIVE } else { Marks::NONE };
        let ephemeral = if *ephemeral { Marks::EPHEMERAL } else { Marks::NONE };
        marks.push((path_in(path)?, sensitive.union(ephemeral)));
    }
    Ok(value.mark_paths(&marks))
}

pub(super) fn path_out(path: &Path) -> Result<PathWire, Diags> {
    let step = |step: &PathStep| {
        Ok(match step {
            PathStep::Attr(name) => StepWire::Attr(name.to_string()),
            PathStep::Index(key) => {
                match (key.as_str(), key.as_number().and_then(|number| number.to_i64())) {
                    (Some(text), _) => StepWire::Key(text.to_string()),
                    (None, Some(at)) => StepWire::At(at),
                    (None, None) => StepWire::Member(Box::new(value_out(key)?)),
                }
            }
        })
    };
    path.0.iter().map(step).collect()
}

pub(super) fn path_in(wire: &PathWire) -> Result<Path, Diags> {
    let step = |step: &StepWire| {
        Ok(match step {
            StepWire::Attr(name) => PathStep::Attr(name.as_str().into()),
            StepWire::Key(key) => PathStep::Index(Value::string(key)),
            StepWire::At(at) => PathStep::from(*at),
            StepWire::Member(value) => PathStep::Index(value_in(value)?),
        })
    };
    wire.iter().map(step).collect()
}

/// The bytes that stand for a value in keyed hashes: type, content and marks.
pub(crate) fn fingerprint_bytes(value: &Value) -> Vec<u8> {
    value_out(value)
        .ok()
        .and_then(|wire| rmp_serde::to_vec(&wire).ok())
        .unwrap_or_default()
}
