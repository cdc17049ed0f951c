//! Values in the form the cases are recorded in: type, value, unknown parts, marks.

use std::collections::BTreeMap;

use anyhow::{Context, bail};
use ashlar_value::{Bound, Data, Mark, Marks, Number, Refinement, Type, Value, json, ops};
use serde_json::{Map, Value as Json, json};

/// Reads a recorded value of `context.json`.
pub(crate) fn read(recorded: &Json) -> anyhow::Result<Value> {
    let ty = recorded.get("type").context("no type")?;
    let ty = json::type_from_json(ty).map_err(|error| anyhow::anyhow!(error.message))?;
    let value = if recorded.get("unknown").is_some() {
        unknown(ty, recorded.get("refinement"))?
    } else {
        let paths = recorded.get("unknown_paths").and_then(Json::as_array);
        let paths = paths.into_iter().flatten().map(|entry| {
            let path = entry.get("path").cloned().unwrap_or_default();
            (path.to_string(), entry)
        });
        known(
            &ty,
            recorded.get("value").unwrap_or(&Json::Null),
            &[],
            &paths.collect(),
        )?
    };
    let mark = |name: &str, marks: Marks| {
        if recorded.get(name) == Some(&Json::Bool(true)) {
            marks
        } else {
            Marks::NONE
        }
    };
    Ok(value
        .with_marks(mark("sensitive", Marks::SENSITIVE))
        .with_marks(mark("ephemeral", Marks::EPHEMERAL)))
}

fn known(
    ty: &Type,
    value: &Json,
    path: &[Json],
    unknowns: &BTreeMap<String, &Json>,
) -> anyhow::Result<Value> {
    if let Some(entry) = unknowns.get(&Json::Array(path.to_vec()).to_string()) {
        return unknown(ty.clone(), entry.get("refinement"));
    }
    let inner = |ty: &Type, value: &Json, step: Json| {
        let path: Vec<Json> = path.iter().cloned().chain([step]).collect();
        known(ty, value, &path, unknowns)
    };
    Ok(match (ty, value) {
        (_, Json::Null) => Value::null(ty.clone()),
        (Type::String, Json::String(text)) => Value::string(text),
        (Type::Bool, Json::Bool(value)) => Value::bool(*value),
        (Type::Number, Json::Number(number)) => {
            Value::number(Number::parse(&number.to_string()).context("no number")?)
        }
        (Type::List(element) | Type::Set(element), Json::Array(items)) => {
            let items = items
                .iter()
                .enumerate()
                .map(|(at, item)| inner(element, item, json!(at)));
            let items = items.collect::<anyhow::Result<Vec<_>>>()?;
            match ty {
                Type::List(_) => Value::list((**element).clone(), items),
                _ => Value::set((**element).clone(), items),
            }
        }
        (Type::Tuple(types), Json::Array(items)) => {
            let items = types
                .iter()
                .zip(items)
                .enumerate()
                .map(|(at, (ty, item))| inner(ty, item, json!(at)));
            Value::tuple(items.collect::<anyhow::Result<Vec<_>>>()?)
        }
        (Type::Map(element), Json::Object(entries)) => {
            let entries = entries
                .iter()
                .map(|(key, item)| Ok((key, inner(element, item, json!(key))?)));
            Value::map((**element).clone(), entries.collect::<anyhow::Result<Vec<_>>>()?)
        }
        (Type::Object(object), Json::Object(entries)) => {
            let attrs = object.attrs().iter().map(|attr| {
                let item = entries.get(&*attr.name).unwrap_or(&Json::Null);
                Ok((&*attr.name, inner(&attr.ty, item, json!(&*attr.name))?))
            });
            Value::object(attrs.collect::<anyhow::Result<Vec<_>>>()?)
        }
        _ => bail!("{value} is not of type {ty}"),
    })
}

fn unknown(ty: Type, recorded: Option<&Json>) -> anyhow::Result<Value> {
    let Some(recorded) = recorded else {
        return Ok(Value::unknown(ty));
    };
    let refinement = Refinement {
        not_null: recorded.get("null") == Some(&Json::Bool(false)),
        prefix: recorded.get("prefix").and_then(Json::as_str).map(Into::into),
        min: recorded.get("min").map(bound).transpose()?,
        max: recorded.get("max").map(bound).transpose()?,
        length_min: recorded.get("length_min").and_then(Json::as_u64),
        length_max: recorded.get("length_max").and_then(Json::as_u64),
    };
    Ok(ops::unknown_refined(ty, refinement))
}

fn bound(recorded: &Json) -> anyhow::Result<Bound> {
    let value = recorded
        .get("value")
        .context("a bound without a value")?
        .to_string();
    Ok(Bound {
        value: Number::parse(&value).context("a bound that is no number")?,
        inclusive: recorded.get("inclusive") == Some(&Json::Bool(true)),
    })
}

/// Writes a value as it would be recorded, but for the form of numbers in values that are partly unknown.
pub(crate) fn write(value: &Value) -> Json {
    let mut out = Map::new();
    out.insert("type".into(), json::type_to_json(&value.ty()));
    if let Data::Unknown(_, refinement) = value.data() {
        out.insert("unknown".into(), Json::Bool(true));
        if let Some(refinement) = refinement.as_deref().and_then(refined) {
            out.insert("refinement".into(), refinement);
        }
    } else if let Some(number) = value.as_number().filter(|number| number.is_infinite()) {
        out.insert(
            "infinite".into(),
            json!(if number.sign() < 0 { "-Inf" } else { "+Inf" }),
        );
    } else {
        let mut unknowns = Vec::new();
        out.insert("value".into(), plain(value, &mut Vec::new(), &mut unknowns));
        if !unknowns.is_empty() {
            out.insert("unknown_paths".into(), Json::Array(unknowns));
        }
    }
    let sensitive = sensitive(value);
    if sensitive != Json::Bool(false) {
        out.insert("sensitive".into(), sensitive);
    }
    Json::Object(out)
}

fn refined(refinement: &Refinement) -> Option<Json> {
    let mut out = Map::new();
    if refinement.not_null {
        out.insert("null".into(), Json::Bool(false));
    }
    if let Some(prefix) = &refinement.prefix {
        out.insert("prefix".into(), json!(&**prefix));
    }
    for (name, bound) in [("min", &refinement.min), ("max", &refinement.max)] {
        if let Some(bound) = bound {
            out.insert(
                name.into(),
                json!({"value": number(&bound.value), "inclusive": bound.inclusive}),
            );
        }
    }
    for (name, length) in [
        ("length_min", refinement.length_min),
        ("length_max", refinement.length_max),
    ] {
        if let Some(length) = length {
            out.insert(name.into(), json!(length));
        }
    }
    (!out.is_empty()).then_some(Json::Object(out))
}

fn number(number: &Number) -> Json {
    // The workspace's serde_json keeps a number's text.
    serde_json::from_str(&number.to_string()).unwrap_or_else(|_| Json::String(number.to_string()))
}

fn plain(value: &Value, path: &mut Vec<Json>, unknowns: &mut Vec<Json>) -> Json {
    let mut inner = |item: &Value, step: Json| {
        path.push(step);
        let out = plain(item, path, unknowns);
        path.pop();
        out
    };
    match value.data() {
        Data::Null(_) => Json::Null,
        Data::Unknown(ty, refinement) => {
            let mut entry = Map::new();
            entry.insert("path".into(), Json::Array(path.clone()));
            entry.insert("type".into(), json::type_to_json(ty));
            if let Some(refinement) = refinement.as_deref().and_then(refined) {
                entry.insert("refinement".into(), refinement);
            }
            unknowns.push(Json::Object(entry));
            Json::Null
        }
        Data::Bool(value) => Json::Bool(*value),
        Data::Number(value) => number(value),
        Data::String(text) => json!(&**text),
        Data::List(_, items) | Data::Set(_, items) | Data::Tuple(items) => Json::Array(
            items
                .iter()
                .enumerate()
                .map(|(at, item)| inner(item, json!(at)))
                .collect(),
        ),
        Data::Map(_, entries) | Data::Object(entries) => Json::Object(
            entries
                .iter()
                .map(|(name, item)| (name.to_string(), inner(item, json!(&**name))))
                .collect(),
        ),
    }
}

/// The structure of sensitive marks, parts without any left out.
fn sensitive(value: &Value) -> Json {
    if value.marks().contains(Mark::Sensitive) {
        return Json::Bool(true);
    }
    match value.data() {
        Data::List(_, items) | Data::Set(_, items) | Data::Tuple(items) => {
            prune(&Json::Array(items.iter().map(sensitive).collect()))
        }
        Data::Map(_, entries) | Data::Object(entries) => prune(&Json::Object(
            entries
                .iter()
                .map(|(name, item)| (name.to_string(), sensitive(item)))
                .collect(),
        )),
        _ => Json::Bool(false),
    }
}

/// Takes parts without a mark out of such a structure.
pub(crate) fn prune(structure: &Json) -> Json {
    match structure {
        Json::Array(items) => {
            let items: Vec<Json> = items.iter().map(prune).collect();
            if items.iter().all(|item| *item == Json::Bool(false)) {
                Json::Bool(false)
            } else {
                Json::Array(items)
            }
        }
        Json::Object(entries) => {
            let kept: Map<String, Json> = entries
                .iter()
                .map(|(name, item)| (name.clone(), prune(item)))
                .filter(|(_, item)| *item != Json::Bool(false))
                .collect();
            if kept.is_empty() {
                Json::Bool(false)
            } else {
                Json::Object(kept)
            }
        }
        other => other.clone(),
    }
}
