//! Running a planned conversion on a value.

use std::{collections::BTreeMap, sync::Arc};

use crate::{Data, Path, PathStep, Type, Value, ops};

use super::{
    ConvertError, convert, mismatch,
    plan::{Attr, Plan, Safety, Work, plan},
    unify::unify,
    unknown::{convert_unknown, replace_dynamic},
};

/// Converts; `path` is where the value stands, and is left as it was found unless there is an error.
pub(super) fn run(how: &Plan, value: &Value, path: &mut Vec<PathStep>) -> Result<Value, ConvertError> {
    let marks = value.marks();
    if how.to == Type::Dynamic {
        return Ok(value.clone());
    }
    let result = match value.data() {
        Data::Unknown(from, _) => {
            convert_unknown(value, from, replace_dynamic(from, &how.to.without_optional()))
        }
        Data::Null(from) => Value::null(replace_dynamic(from, &how.to.without_optional())),
        _ => run_known(how, value, path)?,
    };
    Ok(result.with_marks(marks))
}

fn fail(path: &[PathStep], message: impl Into<String>) -> ConvertError {
    ConvertError {
        path: path.iter().cloned().collect(),
        message: message.into(),
    }
}

fn run_known(how: &Plan, value: &Value, path: &mut Vec<PathStep>) -> Result<Value, ConvertError> {
    match (&how.work, value.data()) {
        (Work::Pass, _) => Ok(value.clone()),
        (Work::Late, _) => convert(value, &how.to).map_err(|error| ConvertError {
            path: path.iter().cloned().chain(error.path.0).collect::<Path>(),
            message: error.message,
        }),
        (Work::Print, Data::Number(number)) => Ok(Value::string(number.to_string())),
        (Work::Print, Data::Bool(truth)) => Ok(Value::string(if *truth { "true" } else { "false" })),
        (Work::ParseNumber, Data::String(text)) => crate::Number::parse(text)
            .map(Value::number)
            .ok_or_else(|| fail(path, "a number is required")),
        (Work::ParseBool, Data::String(text)) => parse_bool(text, path),
        (Work::Object(plans), Data::Object(attrs)) => object(&how.to, plans, attrs, path),
        (Work::Tuple(plans), Data::Tuple(items)) => {
            elements(items, |at| plans.get(at)?.as_ref(), path).map(Value::tuple)
        }
        (Work::List(element), Data::List(_, items) | Data::Set(_, items)) => {
            if !ops::length(value).is_known() {
                // A set with unknown members may yet lose some, and a list has a length.
                return Ok(Value::unknown(Type::List(Arc::new(element_of(value)))));
            }
            let items = without_marked_nulls(elements(items, |_| element.as_deref(), path)?);
            collection(&how.to, items, value, ops::list_of).ok_or_else(|| mixed(path, "list"))
        }
        (Work::Set(element), Data::List(_, items) | Data::Set(_, items)) => {
            let items = without_marked_nulls(elements(items, |_| element.as_deref(), path)?);
            collection(&how.to, items, value, ops::set_of).ok_or_else(|| mixed(path, "set"))
        }
        (Work::Map(element), Data::Map(_, entries)) => map(&how.to, element, entries, value, path),
        (Work::TupleSet(plans), Data::Tuple(items)) => {
            let items = without_marked_nulls(elements(items, |at| plans.get(at)?.as_ref(), path)?);
            collection(&how.to, items, value, ops::set_of).ok_or_else(|| mixed(path, "set"))
        }
        (Work::TupleList(plans), Data::Tuple(items)) => {
            let items = elements(items, |at| plans.get(at)?.as_ref(), path)?;
            let items = unify_items(items, Safety::Unsafe, path)?;
            collection(&how.to, items, value, ops::list_of).ok_or_else(|| mixed(path, "list"))
        }
        (Work::ObjectMap(element, plans), Data::Object(attrs)) => {
            if attrs.is_empty() {
                return Ok(Value::empty(&how.to.without_optional()));
            }
            let entries = entries(attrs, |name| plans.get(name)?.as_ref(), path)?;
            let entries = unify_entries(entries, element, Safety::Unsafe, path)?;
            ops::map_of(entries).ok_or_else(|| mixed(path, "map"))
        }
        (Work::MapObject(object, plans), Data::Map(_, entries)) => {
            map_to_object(object, plans, entries, path)
        }
        // The plan was made for the value's type, so this is not reached.
        _ => Err(fail(path, mismatch(&value.ty(), &how.to))),
    }
}

/// A null leaves its marks behind where it comes into a set or an object, or into a list that was a collection before. Source: cty
/// `convert/conversion_object.go` and `conversion_collection.go`, where such a null is made anew.
fn without_marked_null(item: Value) -> Value {
    match item.data() {
        Data::Null(ty) => Value::null(ty.clone()),
        _ => item,
    }
}

fn without_marked_nulls(items: Vec<Value>) -> Vec<Value> {
    items.into_iter().map(without_marked_null).collect()
}

fn mixed(path: &[PathStep], what: &str) -> ConvertError {
    fail(
        path,
        format!("element types must all match for conversion to {what}"),
    )
}

fn element_of(value: &Value) -> Type {
    match value.data() {
        Data::List(element, _) | Data::Set(element, _) | Data::Map(element, _) => element.clone(),
        _ => Type::Dynamic,
    }
}

/// A collection of converted elements, or an empty one of the type wanted; where that is dynamic, of the type given.
fn collection(
    to: &Type,
    items: Vec<Value>,
    source: &Value,
    build: fn(Vec<Value>) -> Option<Value>,
) -> Option<Value> {
    if !items.is_empty() {
        return build(items);
    }
    let element = match to.element() {
        Some(Type::Dynamic) | None => element_of(source),
        Some(element) => element.without_optional(),
    };
    Some(match to {
        Type::Set(_) => Value::set(element, items),
        _ => Value::list(element, items),
    })
}

fn parse_bool(text: &str, path: &[PathStep]) -> Result<Value, ConvertError> {
    match text {
        "true" | "1" => Ok(Value::bool(true)),
        "false" | "0" => Ok(Value::bool(false)),
        _ => {
            let lower = text.to_lowercase();
            let hint = if lower == "true" || lower == "false" {
                format!("; in text it must be written in lower case, {lower:?}")
            } else {
                String::new()
            };
            Err(fail(path, format!("a bool is required{hint}")))
        }
    }
}

/// Each item converted, with its position as path step.
fn elements<'p>(
    items: &[Value],
    plan_of: impl Fn(usize) -> Option<&'p Plan>,
    path: &mut Vec<PathStep>,
) -> Result<Vec<Value>, ConvertError> {
    let mut converted = Vec::with_capacity(items.len());
    for (at, item) in items.iter().enumerate() {
        converted.push(match plan_of(at) {
            None => item.clone(),
            Some(plan) => {
                path.push(PathStep::Index(Value::number(at)));
                let item = run(plan, item, path)?;
                path.pop();
                item
            }
        });
    }
    Ok(converted)
}

/// Each entry converted, with its key as path step.
fn entries<'p>(
    entries: &BTreeMap<Arc<str>, Value>,
    plan_of: impl Fn(&str) -> Option<&'p Plan>,
    path: &mut Vec<PathStep>,
) -> Result<BTreeMap<Arc<str>, Value>, ConvertError> {
    let mut converted = BTreeMap::new();
    for (name, item) in entries {
        let item = match plan_of(name) {
            None => item.clone(),
            Some(plan) => {
                path.push(PathStep::Index(Data::String(name.clone()).into()));
                let item = run(plan, item, path)?;
                path.pop();
                item
            }
        };
        converted.insert(name.clone(), item);
    }
    Ok(converted)
}

fn object(
    to: &Type,
    plans: &BTreeMap<Arc<str>, Option<Plan>>,
    attrs: &BTreeMap<Arc<str>, Value>,
    path: &mut Vec<PathStep>,
) -> Result<Value, ConvertError> {
    let Type::Object(to) = to else {
        return Err(fail(path, "an object is required"));
    };
    let mut converted = BTreeMap::new();
    for want in to.attrs() {
        let value = match (attrs.get(&want.name), plans.get(&want.name)) {
            (Some(value), Some(Some(plan))) => {
                path.push(PathStep::Attr(want.name.clone()));
                let value = run(plan, value, path)?;
                path.pop();
                value
            }
            (Some(value), _) => value.clone(),
            (None, _) => Value::null(want.ty.without_optional()),
        };
        converted.insert(want.name.clone(), without_marked_null(value));
    }
    Ok(Value::object_of(converted))
}

fn map(
    to: &Type,
    element: &Plan,
    source: &BTreeMap<Arc<str>, Value>,
    value: &Value,
    path: &mut Vec<PathStep>,
) -> Result<Value, ConvertError> {
    if source.is_empty() {
        let element = match to.element() {
            Some(Type::Dynamic) | None => element_of(value),
            Some(element) => element.without_optional(),
        };
        return Ok(Value::map_of(element, BTreeMap::new()));
    }
    let converted = entries(source, |_| Some(element), path)?;
    let converted = unify_entries(converted, &element.to, Safety::Safe, path)?;
    ops::map_of(converted).ok_or_else(|| mixed(path, "map"))
}

fn map_to_object(
    object: &crate::ObjectType,
    plans: &BTreeMap<Arc<str>, Attr>,
    source: &BTreeMap<Arc<str>, Value>,
    path: &mut Vec<PathStep>,
) -> Result<Value, ConvertError> {
    let mut attrs = BTreeMap::new();
    for want in object.attrs() {
        let value = match (source.get(&want.name), plans.get(&want.name)) {
            (Some(value), Some(Attr::Convert(plan))) => {
                path.push(PathStep::Index(Data::String(want.name.clone()).into()));
                let value = run(plan, value, path)?;
                path.pop();
                value
            }
            (Some(value), Some(Attr::Absent)) => {
                let why = mismatch(&value.ty(), &want.ty);
                return Err(fail(
                    path,
                    format!("the map's elements do not fit attribute {:?}: {why}", want.name),
                ));
            }
            (Some(value), _) => value.clone(),
            (None, _) if want.optional => Value::null(want.ty.without_optional()),
            (None, _) => {
                return Err(fail(
                    path,
                    format!(
                        "the map has no element for the required attribute {:?}",
                        want.name
                    ),
                ));
            }
        };
        attrs.insert(want.name.clone(), without_marked_null(value));
    }
    Ok(Value::object_of(attrs))
}

/// Elements whose types came out different, as behind dynamic parts of the wanted type, are brought to one.
fn unify_items(
    items: Vec<Value>,
    safety: Safety,
    path: &mut Vec<PathStep>,
) -> Result<Vec<Value>, ConvertError> {
    let Some(common) = common_type(items.iter(), safety, path)? else {
        return Ok(items);
    };
    let mut unified = Vec::with_capacity(items.len());
    for (at, item) in items.into_iter().enumerate() {
        unified.push(to_common(
            item,
            &common,
            safety,
            PathStep::Index(Value::number(at)),
            path,
        )?);
    }
    Ok(unified)
}

/// Likewise for maps, whose elements cty unifies only where they are to be collections or objects.
fn unify_entries(
    entries: BTreeMap<Arc<str>, Value>,
    element: &Type,
    safety: Safety,
    path: &mut Vec<PathStep>,
) -> Result<BTreeMap<Arc<str>, Value>, ConvertError> {
    if !(element.is_collection() || matches!(element, Type::Object(_))) {
        return Ok(entries);
    }
    let Some(common) = common_type(entries.values(), safety, path)? else {
        return Ok(entries);
    };
    let mut unified = BTreeMap::new();
    for (name, item) in entries {
        let step = PathStep::Index(Data::String(name.clone()).into());
        unified.insert(name, to_common(item, &common, safety, step, path)?);
    }
    Ok(unified)
}

/// The type to bring all to; `None` if all have one type already.
fn common_type<'a>(
    mut items: impl Iterator<Item = &'a Value> + Clone,
    safety: Safety,
    path: &[PathStep],
) -> Result<Option<Type>, ConvertError> {
    let all = items.clone();
    let Some(first) = items.next().map(Value::ty) else {
        return Ok(None);
    };
    if items.all(|item| ops::is_of(item, &first)) {
        return Ok(None);
    }
    let types: Vec<Type> = all.map(Value::ty).collect();
    unify(&types, safety)
        .map(Some)
        .ok_or_else(|| fail(path, "the elements have no common type"))
}

fn to_common(
    item: Value,
    common: &Type,
    safety: Safety,
    step: PathStep,
    path: &mut Vec<PathStep>,
) -> Result<Value, ConvertError> {
    if ops::is_of(&item, common) {
        return Ok(item);
    }
    let from = item.ty();
    let plan = plan(&from, common, safety).ok_or_else(|| fail(path, mismatch(&from, common)))?;
    path.push(step);
    let item = run(&plan, &item, path)?;
    path.pop();
    Ok(item)
}
