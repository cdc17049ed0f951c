//! Comparing a value with the record of one.

use std::cmp::Ordering;

use anyhow::{Context, anyhow, bail};
use ashlar_value::{Bound, Data, Number, Refinement, Type, Value, json};
use serde_json::Value as Json;

use super::input::{items, number, pair, refinement};

/// Is `got` what `want` records, `ty` being expected at its place?
pub(super) fn matches(want: &Json, ty: &Type, got: &Value) -> anyhow::Result<bool> {
    let object = want
        .as_object()
        .ok_or_else(|| anyhow!("{want} is no tagged value"))?;
    let (tag, content) = object
        .iter()
        .find(|(tag, _)| *tag != "prec")
        .ok_or_else(|| anyhow!("{want} has no tag"))?;
    Ok(match (tag.as_str(), got.data()) {
        ("any", _) => true,
        ("null", Data::Null(own)) => own == ty,
        ("unknown", Data::Unknown(own, facts)) => {
            own == ty
                && same_facts(
                    &refinement(content)?,
                    &facts.as_deref().cloned().unwrap_or_default(),
                )
        }
        ("bool", Data::Bool(truth)) => content.as_bool() == Some(*truth),
        ("str", Data::String(text)) => content.as_str() == Some(&**text),
        ("str_rep", Data::String(text)) => {
            let (part, count) = pair(content)?;
            let count = usize::try_from(count.as_u64().context("a count")?)?;
            part.as_str().context("a text")?.repeat(count) == **text
        }
        ("num", Data::Number(got)) => {
            let want = number(
                content.as_str().context("digits")?,
                object.get("prec").and_then(Json::as_u64),
            )?;
            want.compare(got) == Ordering::Equal
                && (want.precision() == got.precision() || got.is_infinite())
                && want.is_negative_zero() == got.is_negative_zero()
        }
        ("list", Data::List(element, got)) | ("set", Data::Set(element, got)) => {
            let want = items(content)?;
            element_type(ty, element, want.is_empty())
                && all(want.iter().map(|want| (want, element_of(ty, element))), got)?
        }
        ("tuple", Data::Tuple(got)) => match ty {
            Type::Tuple(types) => {
                types.len() == got.len() && all(items(content)?.iter().zip(types.iter()), got)?
            }
            _ => false,
        },
        ("map", Data::Map(element, got)) => {
            let want = content.as_object().context("a map")?;
            let mut same = want.len() == got.len() && element_type(ty, element, want.is_empty());
            for (key, want) in want {
                same = same
                    && got
                        .get(key.as_str())
                        .map_or(Ok(false), |got| matches(want, element_of(ty, element), got))?;
            }
            same
        }
        ("object", Data::Object(got)) => {
            let Type::Object(attrs) = ty else { return Ok(false) };
            let want = content.as_object().context("an object")?;
            let mut same = want.len() == got.len() && attrs.attrs().len() == got.len();
            for (name, want) in want {
                same = same
                    && match (attrs.get(name), got.get(name.as_str())) {
                        (Some(attr), Some(got)) => matches(want, &attr.ty, got)?,
                        _ => false,
                    };
            }
            same
        }
        ("typed", _) => {
            let (own, inner) = pair(content)?;
            // Types of values have no optional attributes with us; the oracle forgets to take some off.
            let own = json::type_from_json(own)
                .map_err(|error| anyhow!("{own}: {error}"))?
                .without_optional();
            own == got.ty() && matches(inner, &own, got)?
        }
        (
            "null" | "unknown" | "bool" | "str" | "num" | "list" | "set" | "tuple" | "map" | "object"
            | "str_rep",
            _,
        ) => false,
        _ => bail!("{tag:?} is no tag of a result"),
    })
}

/// Where dynamic elements are expected the record gives the type of each.
fn element_of<'t>(ty: &'t Type, element: &'t Type) -> &'t Type {
    ty.element().unwrap_or(element)
}

/// An element type that holds dynamic parts is told by the elements, if there are any.
fn element_type(ty: &Type, element: &Type, empty: bool) -> bool {
    ty.element()
        .is_some_and(|want| want == element || (want.has_dynamic() && !empty))
}

fn all<'t>(want: impl ExactSizeIterator<Item = (&'t Json, &'t Type)>, got: &[Value]) -> anyhow::Result<bool> {
    if want.len() != got.len() {
        return Ok(false);
    }
    for ((want, ty), got) in want.zip(got) {
        if !matches(want, ty, got)? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn same_facts(want: &Refinement, got: &Refinement) -> bool {
    let same_number = |a: &Number, b: &Number| a.compare(b) == Ordering::Equal;
    let same_bound = |a: &Option<Bound>, b: &Option<Bound>| match (a, b) {
        (Some(a), Some(b)) => same_number(&a.value, &b.value) && a.inclusive == b.inclusive,
        (None, None) => true,
        _ => false,
    };
    let length = |length: Option<u64>| length.unwrap_or(0);
    want.not_null == got.not_null
        && want.prefix.as_deref().unwrap_or_default() == got.prefix.as_deref().unwrap_or_default()
        && same_bound(&want.min, &got.min)
        && same_bound(&want.max, &got.max)
        && length(want.length_min) == length(got.length_min)
        && want.length_max == got.length_max
}
