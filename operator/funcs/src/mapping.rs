//! Functions on maps and objects: keys, values, lookup, building and merging.

use std::{collections::BTreeMap, sync::Arc};

use ashlar_value::{Data, Dialect, Marks, Type, Value, convert};

use crate::{
    Args, Builtin, Code, FuncError, Rule, Ty,
    protocol::{PURE, any, is_dynamic, param, text},
};

const TEXT_LISTS: Ty = Ty::Map(&Ty::List(&Ty::String));

pub(crate) const TABLE: &[Builtin] = &[
    Builtin {
        name: "keys",
        doc: "The keys of a map or the attribute names of an object, sorted by their bytes.",
        params: &[any("inputMap").unknown().marked()],
        result: Rule::By(keys_type),
        examples: &["keys({ a = 1, c = 2, d = 3 }) == [\"a\", \"c\", \"d\"]"],
        code: Code::Run(keys),
        ..PURE
    },
    Builtin {
        name: "lookup",
        doc: "The element of a map or attribute of an object with a key, or a default if there is none.",
        params: &[any("inputMap").unknown().marked(), text("key").unknown().marked()],
        variadic: Some(any("default").unknown().dynamic().null().marked()),
        result: Rule::By(lookup_type),
        not_null: false,
        examples: &[
            r#"lookup({ a = "ay" }, "a", "what?") == "ay""#,
            r#"lookup({ a = "ay" }, "c", "what?") == "what?""#,
        ],
        code: Code::Run(lookup),
        ..PURE
    },
    Builtin {
        name: "merge",
        doc: "One map or object of all elements of the arguments; of equal keys the last one counts, null is passed over.",
        variadic: Some(any("maps").dynamic().null().marked()),
        result: Rule::By(merge_type),
        examples: &[
            r#"merge({ a = "b" }, { a = [2], c = "z" }) == { a = [2], c = "z" }"#,
            "merge() == {}",
        ],
        code: Code::Run(merge),
        ..PURE
    },
    Builtin {
        name: "transpose",
        only: Some(Dialect::Terraform),
        doc: "Swaps keys and values of a map of lists of strings.",
        params: &[param("values", TEXT_LISTS)],
        result: Rule::Is(TEXT_LISTS),
        examples: &[r#"transpose({ a = ["1", "2"], b = ["2"] })["2"] == tolist(["a", "b"])"#],
        code: Code::Run(transpose),
        ..PURE
    },
    Builtin {
        name: "transpose",
        doc: "Swaps keys and values of a map of lists of strings. A null in it is told as a fault of the argument.",
        only: Some(Dialect::OpenTofu),
        params: &[param("values", TEXT_LISTS)],
        result: Rule::Is(TEXT_LISTS),
        examples: &[r#"transpose({ a = ["1", "2"], b = ["2"] })["2"] == tolist(["a", "b"])"#],
        code: Code::Run(|args| transpose(args).map_err(|error| error.at(0))),
        ..PURE
    },
    Builtin {
        name: "values",
        doc: "The elements of a map or the attributes of an object, in the order of their keys.",
        params: &[any("mapping").marked()],
        result: Rule::By(values_type),
        examples: &["values({ a = 3, c = 2, d = 1 }) == [3, 2, 1]"],
        code: Code::Run(values),
        ..PURE
    },
    Builtin {
        name: "zipmap",
        doc: "A map or object of a list of keys and a list of values at the same indices.",
        params: &[
            param("keys", Ty::List(&Ty::String)).marked(),
            any("values").marked(),
        ],
        result: Rule::By(zipmap_type),
        examples: &[r#"zipmap(["a", "b"], [1, 2]) == { a = 1, b = 2 }"#],
        code: Code::Run(zipmap),
        ..PURE
    },
];

fn keys_type(args: &Args<'_>) -> Result<Type, FuncError> {
    match args.get(0).ty() {
        Type::Map(_) => Ok(Type::list(Type::String)),
        Type::Object(object) => Ok(Type::tuple(object.attrs().iter().map(|_| Type::String))),
        _ => Err(FuncError::argument(0, "a map or object is required")),
    }
}

fn keys(args: &Args<'_>) -> Result<Value, FuncError> {
    let given = args.get(0);
    let result = match given.data() {
        Data::Map(_, entries) => Value::list(Type::String, entries.keys().map(Value::string).collect()),
        Data::Object(attrs) => Value::tuple(attrs.keys().map(Value::string).collect()),
        Data::Unknown(Type::Object(object), _) => Value::tuple(
            object
                .attrs()
                .iter()
                .map(|attr| Value::string(&attr.name))
                .collect(),
        ),
        _ => Value::unknown(keys_type(args)?),
    };
    Ok(result.with_marks(given.marks()))
}

fn lookup_type(args: &Args<'_>) -> Result<Type, FuncError> {
    if args.len() > 3 {
        return Err(FuncError::call("two or three arguments are required"));
    }
    let (given, key) = (args.get(0), args.get(1));
    let default = args.rest(2).first();
    match given.ty() {
        Type::Object(object) => {
            let Some(key) = key.as_str() else {
                return Ok(Type::Dynamic);
            };
            match (object.get(key), default) {
                (Some(attr), _) => Ok(attr.ty.clone()),
                (None, Some(default)) => Ok(default.ty()),
                (None, None) => {
                    let message = format!("the object has no attribute {}", args.quote(1, key));
                    Err(FuncError::argument(0, message))
                }
            }
        }
        Type::Map(element) => {
            if default.is_some_and(|default| convert(default, &element).is_err()) {
                return Err(FuncError::argument(
                    2,
                    "the default must be of the type of the map's elements",
                ));
            }
            Ok(Type::clone(&element))
        }
        _ => Err(FuncError::argument(0, "a map or object is required")),
    }
}

fn lookup(args: &Args<'_>) -> Result<Value, FuncError> {
    let (given, key) = (args.get(0), args.get(1));
    let marks = given.marks().union(key.marks());
    // The type of a large object is not worth building to find one attribute; a map's default must suit in any case.
    let found = match (given.data(), key.as_str()) {
        (Data::Object(attrs), Some(key)) => attrs.get(key),
        (Data::Map(_, entries), Some(key)) if args.len() == 2 => entries.get(key),
        _ => None,
    };
    if let Some(found) = found.filter(|_| args.len() <= 3) {
        return Ok(found.clone().with_marks(marks));
    }
    let ty = lookup_type(args)?;
    let (Some(entries), Some(key)) = (given.as_entries(), key.as_str()) else {
        return Ok(Value::unknown(ty).with_marks(marks));
    };
    match (entries.get(key), args.rest(2).first()) {
        (Some(found), _) => Ok(found.clone().with_marks(marks)),
        (None, Some(default)) => Ok(convert(default, &ty)?.with_marks(marks)),
        (None, None) => Err(FuncError::call(format!("there is no key {}", args.quote(1, key)))),
    }
}

/// The common type if all arguments have one, else an object of all keys; dynamic while a key is unknown.
fn merge_type(args: &Args<'_>) -> Result<Type, FuncError> {
    let mut attrs: BTreeMap<Arc<str>, Type> = BTreeMap::new();
    let mut keys_known = true;
    let mut common: Option<Type> = None;
    let mut all_same = true;
    for value in args.rest(0) {
        if is_dynamic(value) {
            return Ok(Type::Dynamic);
        }
        let ty = value.ty();
        match (&ty, value.data()) {
            (Type::Object(_) | Type::Map(_), Data::Null(_)) => {}
            (Type::Object(object), _) => {
                attrs.extend(
                    object
                        .attrs()
                        .iter()
                        .map(|attr| (attr.name.clone(), attr.ty.clone())),
                );
            }
            (Type::Map(element), Data::Map(_, entries)) => {
                attrs.extend(entries.keys().map(|key| (key.clone(), Type::clone(element))));
            }
            (Type::Map(_), _) => keys_known = false,
            _ => return Err(not_mergeable(&ty)),
        }
        match &common {
            None => common = Some(ty),
            Some(common) => all_same &= *common == ty,
        }
    }
    Ok(match common {
        None => Type::object::<Arc<str>>([]),
        Some(common) if all_same => common,
        Some(_) if !keys_known => Type::Dynamic,
        Some(_) => Type::object(attrs),
    })
}

fn merge(args: &Args<'_>) -> Result<Value, FuncError> {
    let mut merged: BTreeMap<Arc<str>, Value> = BTreeMap::new();
    let mut marks = Marks::NONE;
    let mut element: Option<&Type> = None;
    let (mut one_map_type, mut bare_null) = (true, false);
    for value in args.rest(0) {
        bare_null |= is_dynamic(value);
        match value.data() {
            Data::Map(ty, _) => one_map_type &= *element.get_or_insert(ty) == ty,
            Data::Null(Type::Map(ty)) => one_map_type &= *element.get_or_insert(ty) == &**ty,
            Data::Object(_) | Data::Null(Type::Object(_) | Type::Dynamic) => one_map_type = false,
            // As in Terraform, after a bare null nothing is checked: each string of a set is its own key.
            Data::Set(_, members) if bare_null && members.iter().all(|member| member.as_str().is_some()) => {
                one_map_type = false;
                marks = marks.union(value.marks());
                let keyed = members
                    .iter()
                    .filter_map(|member| Some((member.as_str()?.clone(), member.clone())));
                merged.extend(keyed);
            }
            // What is empty gives nothing.
            Data::Null(_) | Data::Tuple(_) | Data::List(..) | Data::Set(..)
                if bare_null && value.as_items().is_none_or(<[Value]>::is_empty) =>
            {
                one_map_type = false;
            }
            _ => return Err(not_mergeable(&value.ty())),
        }
        if let Some(entries) = value.as_entries() {
            marks = marks.union(value.marks());
            merged.extend(entries.iter().map(|(key, value)| (key.clone(), value.clone())));
        }
    }
    Ok(match element.filter(|_| one_map_type) {
        Some(element) => Value::map_of(element.clone(), merged),
        None => Value::object_of(merged),
    }
    .with_marks(marks))
}

fn not_mergeable(ty: &Type) -> FuncError {
    FuncError::call(format!(
        "the arguments must be maps or objects, not {}",
        ty.friendly_name()
    ))
}

fn transpose(args: &Args<'_>) -> Result<Value, FuncError> {
    let given = args.get(0);
    if !given.is_wholly_known() {
        return Ok(Value::unknown(TEXT_LISTS.to_type()));
    }
    let mut swapped: BTreeMap<Arc<str>, Vec<Value>> = BTreeMap::new();
    // Keys come in order, so that each new list is sorted.
    for (key, list) in given.as_entries().into_iter().flatten() {
        let Some(items) = list.as_items() else {
            return Err(FuncError::call("a list in the map is null"));
        };
        for item in items {
            let text = item
                .as_str()
                .ok_or_else(|| FuncError::call("a string in a list of the map is null"))?;
            let key = Value::from(Data::String(key.clone()));
            swapped.entry(text.clone()).or_default().push(key);
        }
    }
    let lists = swapped
        .into_iter()
        .map(|(key, items)| (key, Value::list(Type::String, items)))
        .collect();
    Ok(Value::map_of(Type::list(Type::String), lists))
}

fn values_type(args: &Args<'_>) -> Result<Type, FuncError> {
    match args.get(0).ty() {
        Type::Map(element) => Ok(Type::list(Type::clone(&element))),
        Type::Object(object) => Ok(Type::tuple(object.attrs().iter().map(|attr| attr.ty.clone()))),
        _ => Err(FuncError::call("a map or object is required")),
    }
}

fn values(args: &Args<'_>) -> Result<Value, FuncError> {
    let given = args.get(0);
    let result = match given.data() {
        Data::Map(element, entries) => Value::list(element.clone(), entries.values().cloned().collect()),
        Data::Object(attrs) => Value::tuple(attrs.values().cloned().collect()),
        _ => Value::unknown(values_type(args)?),
    };
    Ok(result.with_marks(given.marks()))
}

fn zipmap_type(args: &Args<'_>) -> Result<Type, FuncError> {
    let (keys, values) = (args.get(0), args.get(1));
    match values.ty() {
        Type::List(element) => Ok(Type::map(Type::clone(&element))),
        Type::Tuple(types) => {
            let Some(items) = keys.as_items().filter(|_| keys.is_wholly_known()) else {
                return Ok(Type::Dynamic);
            };
            same_length(items.len(), types.len())?;
            let mut attrs = Vec::with_capacity(items.len());
            for (index, (key, ty)) in items.iter().zip(types.iter()).enumerate() {
                attrs.push((key_text(index, key)?.clone(), ty.clone()));
            }
            Ok(Type::object(attrs))
        }
        _ => Err(FuncError::call("the values must be a list or tuple")),
    }
}

fn zipmap(args: &Args<'_>) -> Result<Value, FuncError> {
    let (keys, values) = (args.get(0), args.get(1));
    let mut marks = args.shallow_marks(0);
    let value_items = match values.data() {
        Data::List(_, items) | Data::Tuple(items) => items,
        _ => return Err(FuncError::call("the values must be a list or tuple")),
    };
    let Some(key_items) = keys.as_items().filter(|_| keys.is_wholly_known()) else {
        return Ok(Value::unknown(zipmap_type(args)?).with_marks(marks));
    };
    same_length(key_items.len(), value_items.len())?;
    let mut zipped = BTreeMap::new();
    for (index, (key, value)) in key_items.iter().zip(value_items.iter()).enumerate() {
        marks = marks.union(key.marks());
        zipped.insert(key_text(index, key)?.clone(), value.clone());
    }
    Ok(match values.data() {
        Data::List(element, _) => Value::map_of(element.clone(), zipped),
        _ => Value::object_of(zipped),
    }
    .with_marks(marks))
}

fn same_length(keys: usize, values: usize) -> Result<(), FuncError> {
    if keys == values {
        return Ok(());
    }
    Err(FuncError::call(format!(
        "there must be as many values as keys, not {values} for {keys}"
    )))
}

fn key_text(index: usize, key: &Value) -> Result<&Arc<str>, FuncError> {
    key.as_str()
        .ok_or_else(|| FuncError::call(format!("the key at index {index} is null")))
}
