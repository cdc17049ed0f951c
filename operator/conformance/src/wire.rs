//! The `wire` cases: values on the wire, converted, unified.
//!
//! Each file asks one kind of question; the README beside the cases tells the forms. Values are compared part by part
//! with the record, sets in order, numbers by value and precision.

mod input;
mod matching;

use std::{panic, path::Path};

use anyhow::{Context, anyhow, bail};
use ashlar_value::{Type, Value, convert, json, msgpack};
use serde_json::Value as Json;

use crate::report::{Miss, Report};

/// One question and its answer: fills in what came out, or what is wrong with the case itself.
type Ask = fn(&Json) -> anyhow::Result<Result<(), Miss>>;

const FILES: [(&str, Ask); 5] = [
    ("encode", encode),
    ("decode", decode),
    ("json_decode", json_decode),
    ("convert", converted),
    ("unify", unified),
];

/// Runs every case under `cases`.
pub(crate) fn run(cases: &Path, report: &mut Report) -> anyhow::Result<()> {
    for (file, ask) in FILES {
        let path = cases.join(file).with_extension("jsonl");
        let text = std::fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))?;
        for line in text.lines().filter(|line| !line.trim().is_empty()) {
            let case: Json =
                serde_json::from_str(line).with_context(|| format!("a line of {}", path.display()))?;
            let id = format!("{file}/{}", text_of(&case, "id")?);
            if !report.wants(&id) {
                continue;
            }
            let outcome = panic::catch_unwind(|| ask(&case))
                .unwrap_or_else(|_| Ok(Err(Miss::new("an answer", "a panic"))))
                .with_context(|| format!("case {id}"))?;
            report.case(file, &id, outcome);
        }
    }
    Ok(())
}

fn text_of<'c>(case: &'c Json, field: &str) -> anyhow::Result<&'c str> {
    case.get(field)
        .and_then(Json::as_str)
        .ok_or_else(|| anyhow!("there is no text {field:?}"))
}

fn type_of(case: &Json, field: &str) -> anyhow::Result<Type> {
    let json = case
        .get(field)
        .ok_or_else(|| anyhow!("there is no type {field:?}"))?;
    json::type_from_json(json).map_err(|error| anyhow!("type {field:?}: {error}"))
}

fn value_of(case: &Json, ty: &Type) -> anyhow::Result<Value> {
    input::value(case.get("value").ok_or_else(|| anyhow!("there is no value"))?, ty)
}

fn encode(case: &Json) -> anyhow::Result<Result<(), Miss>> {
    let ty = type_of(case, "type")?;
    let own = if case.get("value_type").is_some() {
        type_of(case, "value_type")?
    } else {
        ty.clone()
    };
    let value = value_of(case, &own)?;
    let want = match case.get("msgpack_hex") {
        None | Some(Json::Null) => None,
        Some(hex) => Some(input::bytes(hex)?),
    };
    let got = msgpack::encode(&value, &ty).ok();
    if got != want {
        return Ok(Err(Miss::new(
            format!("{:02x?}", want),
            format!("{:02x?} for {value:?}", got),
        )));
    }
    let want = case.get("json").and_then(Json::as_str);
    let got = json::encode(&value, &ty)
        .ok()
        .map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    if got.as_deref() != want {
        return Ok(Err(Miss::new(format!("{want:?}"), format!("{got:?}"))));
    }
    Ok(Ok(()))
}

fn decode(case: &Json) -> anyhow::Result<Result<(), Miss>> {
    let ty = type_of(case, "type")?;
    let bytes = input::bytes(
        case.get("msgpack_hex")
            .ok_or_else(|| anyhow!("there are no bytes"))?,
    )?;
    let got = msgpack::decode(&bytes, &ty).map_err(|error| error.to_string());
    result(case, &ty, got)
}

fn json_decode(case: &Json) -> anyhow::Result<Result<(), Miss>> {
    let ty = type_of(case, "type")?;
    let text = if let Some(text) = case.get("json").and_then(Json::as_str) {
        text.as_bytes().to_vec()
    } else if let Some(hex) = case.get("json_hex") {
        input::bytes(hex)?
    } else if let Some(parts) = case.get("json_rep") {
        input::repeated(parts, |text| Ok(text.as_bytes().to_vec()))?
    } else {
        bail!("there is no JSON");
    };
    let got = json::decode(&text, &ty).map_err(|error| error.to_string());
    result(case, &ty, got)
}

fn converted(case: &Json) -> anyhow::Result<Result<(), Miss>> {
    let (from, to) = (type_of(case, "from_type")?, type_of(case, "to_type")?);
    let value = value_of(case, &from)?;
    // The record asks about the type that the value turned out to have.
    let safe = convert::is_safe(&value.ty(), &to);
    if Some(safe) != case.get("safe").and_then(Json::as_bool) {
        return Ok(Err(Miss::new(
            format!("safe: {:?}", case.get("safe")),
            format!("safe: {safe}"),
        )));
    }
    let got = convert::convert(&value, &to).map_err(|error| error.to_string());
    result(case, &to, got)
}

fn unified(case: &Json) -> anyhow::Result<Result<(), Miss>> {
    let types = case
        .get("types")
        .and_then(Json::as_array)
        .ok_or_else(|| anyhow!("there are no types"))?;
    let types = types
        .iter()
        .map(json::type_from_json)
        .collect::<Result<Vec<_>, _>>();
    let types = types.map_err(|error| anyhow!("types: {error}"))?;
    for (field, got) in [
        ("safe", convert::unify_safe(&types)),
        ("unsafe", convert::unify(&types)),
    ] {
        let want = match case.get(field) {
            None | Some(Json::Null) => None,
            Some(_) => Some(type_of(case, field)?),
        };
        if got != want {
            return Ok(Err(Miss::new(
                format!("{field}: {want:?}"),
                format!("{field}: {got:?}"),
            )));
        }
    }
    Ok(Ok(()))
}

/// Compares with `spec` if there is one, else with `result` or `error`; an error passes under `or_error` too.
fn result(case: &Json, ty: &Type, got: Result<Value, String>) -> anyhow::Result<Result<(), Miss>> {
    let want = ["spec", "result", "error"]
        .into_iter()
        .find_map(|field| case.get(field));
    let want = want.ok_or_else(|| anyhow!("there is no answer"))?;
    let wants_error = want.get("error").is_some();
    let passes = match &got {
        Err(_) => wants_error || case.get("or_error").and_then(Json::as_bool) == Some(true),
        Ok(value) => !wants_error && matching::matches(want, &ty.without_optional(), value)?,
    };
    if passes {
        return Ok(Ok(()));
    }
    let got = match got {
        Ok(value) => format!("{value:?} of type {}", value.ty()),
        Err(error) => format!("error: {error}"),
    };
    Ok(Err(Miss::new(want.to_string(), got)))
}
