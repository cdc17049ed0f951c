//! Reading what the cases give: tagged values, bytes, repeated text.

use anyhow::{Context, anyhow, bail};
use ashlar_value::{Bound, Number, Refinement, Type, Value, json, ops};
use serde_json::Value as Json;

/// Bytes as hex text, or as a list of hex text and how often it is repeated.
pub(super) fn bytes(json: &Json) -> anyhow::Result<Vec<u8>> {
    match json {
        Json::String(hex) => unhex(hex),
        _ => repeated(json, unhex),
    }
}

fn unhex(hex: &str) -> anyhow::Result<Vec<u8>> {
    let pairs = hex.as_bytes().chunks(2).map(|pair| {
        let pair = std::str::from_utf8(pair).ok().filter(|pair| pair.len() == 2);
        pair.and_then(|pair| u8::from_str_radix(pair, 16).ok())
            .ok_or_else(|| anyhow!("{hex:?} is no hex text"))
    });
    pairs.collect()
}

/// A list of texts and how often each is repeated.
pub(super) fn repeated(json: &Json, read: fn(&str) -> anyhow::Result<Vec<u8>>) -> anyhow::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    for part in items(json)? {
        let (text, count) = pair(part)?;
        let text = read(text.as_str().context("a repeated text")?)?;
        bytes.extend(text.repeat(usize::try_from(count.as_u64().context("a count")?)?));
    }
    Ok(bytes)
}

pub(super) fn items(json: &Json) -> anyhow::Result<&[Json]> {
    json.as_array()
        .map(Vec::as_slice)
        .ok_or_else(|| anyhow!("{json} is no list"))
}

pub(super) fn pair(json: &Json) -> anyhow::Result<(&Json, &Json)> {
    match items(json)? {
        [first, second] => Ok((first, second)),
        _ => bail!("{json} is no pair"),
    }
}

/// The number of a tagged value, at its precision.
pub(super) fn number(text: &str, precision: Option<u64>) -> anyhow::Result<Number> {
    let number = Number::parse(text).ok_or_else(|| anyhow!("{text:?} is no number"))?;
    Ok(number.with_precision(u32::try_from(precision.unwrap_or(512))?))
}

/// A tagged value of type `ty`.
pub(super) fn value(json: &Json, ty: &Type) -> anyhow::Result<Value> {
    let object = json
        .as_object()
        .ok_or_else(|| anyhow!("{json} is no tagged value"))?;
    let (tag, content) = object
        .iter()
        .find(|(tag, _)| *tag != "prec")
        .ok_or_else(|| anyhow!("{json} has no tag"))?;
    let text = || content.as_str().ok_or_else(|| anyhow!("{content} is no text"));
    let element = || ty.element().ok_or_else(|| anyhow!("{ty} has no elements"));
    Ok(match tag.as_str() {
        "null" => Value::null(ty.clone()),
        "unknown" => ops::refine(Value::unknown(ty.clone()), &refinement(content)?)
            .map_err(|error| anyhow!("{content}: {error}"))?,
        "bool" => Value::bool(content.as_bool().context("a bool")?),
        "str" => Value::string(text()?),
        "str_rep" => {
            let (text, count) = pair(content)?;
            Value::string(
                text.as_str()
                    .context("a text")?
                    .repeat(usize::try_from(count.as_u64().context("a count")?)?),
            )
        }
        "num" => Value::number(number(text()?, object.get("prec").and_then(Json::as_u64))?),
        "list" | "set" => {
            let values = items(content)?
                .iter()
                .map(|item| value(item, element()?))
                .collect::<anyhow::Result<_>>()?;
            collection(ty, values)?
        }
        "list_rep" => {
            let (item, count) = pair(content)?;
            let item = value(item, element()?)?;
            collection(
                ty,
                vec![item; usize::try_from(count.as_u64().context("a count")?)?],
            )?
        }
        "map" => {
            let entries = content.as_object().context("a map")?.iter();
            let entries = entries.map(|(key, item)| Ok((key.clone(), value(item, element()?)?)));
            let entries = entries.collect::<anyhow::Result<Vec<_>>>()?;
            if entries.is_empty() {
                Value::empty(ty)
            } else {
                // The constructor normalises the keys; the element type is that of the elements.
                let map = Value::map(Type::Dynamic, entries);
                let entries = map.as_entries().context("a map")?.clone();
                ops::map_of(entries).ok_or_else(|| anyhow!("elements of different types"))?
            }
        }
        "tuple" => match ty {
            Type::Tuple(types) => {
                let values = items(content)?
                    .iter()
                    .zip(types.iter())
                    .map(|(item, ty)| value(item, ty));
                Value::tuple(values.collect::<anyhow::Result<_>>()?)
            }
            _ => bail!("a tuple where {ty} is expected"),
        },
        "object" => {
            let Type::Object(object) = ty else {
                bail!("an object where {ty} is expected")
            };
            let mut attrs = Vec::new();
            for (name, item) in content.as_object().context("an object")? {
                let normal = Value::string(name);
                let normal = normal.as_str().context("a name")?;
                let attr = object
                    .get(normal)
                    .ok_or_else(|| anyhow!("there is no attribute {name:?} in {ty}"))?;
                attrs.push((name.clone(), value(item, &attr.ty)?));
            }
            Value::object(attrs)
        }
        "typed" => {
            let (ty, inner) = pair(content)?;
            value(
                inner,
                &json::type_from_json(ty).map_err(|error| anyhow!("{ty}: {error}"))?,
            )?
        }
        _ => bail!("{tag:?} is no tag"),
    })
}

fn collection(ty: &Type, values: Vec<Value>) -> anyhow::Result<Value> {
    if values.is_empty() {
        return Ok(Value::empty(ty));
    }
    let built = if matches!(ty, Type::Set(_)) {
        ops::set_of(values)
    } else {
        ops::list_of(values)
    };
    built.ok_or_else(|| anyhow!("elements of different types"))
}

/// The refinements of a tagged unknown.
pub(super) fn refinement(json: &Json) -> anyhow::Result<Refinement> {
    let bound = |field: &str| -> anyhow::Result<Option<Bound>> {
        let Some(bound) = json.get(field) else {
            return Ok(None);
        };
        let (value, inclusive) = pair(bound)?;
        let (text, precision) = match value {
            Json::String(text) => (text.clone(), None),
            Json::Number(number) => (number.to_string(), None),
            _ => (
                value
                    .get("num")
                    .and_then(Json::as_str)
                    .context("a bound")?
                    .to_owned(),
                value.get("prec").and_then(Json::as_u64),
            ),
        };
        Ok(Some(Bound {
            value: number(&text, precision)?,
            inclusive: inclusive.as_bool().context("a bool")?,
        }))
    };
    let length = |field: &str| json.get(field).and_then(Json::as_u64);
    Ok(Refinement {
        not_null: json.get("null").and_then(Json::as_bool) == Some(false),
        prefix: json.get("prefix").and_then(Json::as_str).map(Into::into),
        min: bound("min")?,
        max: bound("max")?,
        length_min: length("min_len"),
        length_max: length("max_len"),
    })
}
