//! Functions that look into collections: length, membership, choice of an element or of the first good value.
//!
//! Functions that make new sequences are in [`crate::sequence`], those on maps in [`crate::mapping`], on sets in
//! [`crate::sets`].

use std::cmp::Ordering;

use ashlar_value::{Bound, Data, Number, Refinement, Type, Value, convert, ops, unify};
use unicode_segmentation::UnicodeSegmentation;

use crate::{
    Args, Builtin, Code, FuncError, Rule, Ty,
    protocol::{PURE, Param, any, number, param},
};

const BOOLS: Ty = Ty::List(&Ty::Bool);
const ANY_LIST: Ty = Ty::List(&Ty::Any);

/// What takes any number of candidates and picks one.
const CANDIDATES: Param = any("vals").unknown().dynamic().null();

pub(crate) const TABLE: &[Builtin] = &[
    Builtin {
        name: "alltrue",
        doc: "Tells whether all elements of a list are true; null counts as false.",
        params: &[param("list", BOOLS)],
        result: Rule::Is(Ty::Bool),
        examples: &[
            r#"alltrue(["true", true])"#,
            "!alltrue([true, false])",
            "alltrue([])",
        ],
        code: Code::Run(all_true),
        ..PURE
    },
    Builtin {
        name: "anytrue",
        doc: "Tells whether any element of a list is true; null is passed over.",
        params: &[param("list", BOOLS)],
        result: Rule::Is(Ty::Bool),
        examples: &[r#"anytrue([false, "true"])"#, "!anytrue([])"],
        code: Code::Run(any_true),
        ..PURE
    },
    Builtin {
        name: "coalesce",
        doc: "The first argument that is neither null nor an empty string, converted to the type all arguments have in common.",
        variadic: Some(CANDIDATES),
        result: Rule::By(coalesce_type),
        examples: &[
            r#"coalesce("a", "b") == "a""#,
            r#"coalesce("", null, "b") == "b""#,
            r#"coalesce(null, 1, "a") == "1""#,
        ],
        code: Code::Run(coalesce),
        ..PURE
    },
    Builtin {
        name: "coalescelist",
        doc: "The first argument that is neither null nor an empty list.",
        variadic: Some(CANDIDATES),
        result: Rule::By(coalesce_list_type),
        examples: &[r#"coalescelist([], ["c", "d"]) == ["c", "d"]"#],
        code: Code::Run(coalesce_list),
        ..PURE
    },
    Builtin {
        name: "contains",
        doc: "Tells whether a list, tuple or set has an element equal to a value.",
        params: &[any("list"), any("value")],
        result: Rule::Is(Ty::Bool),
        examples: &[
            r#"contains(["a", "b"], "a")"#,
            r#"!contains(["a", "b"], "d")"#,
            r#"!contains([1], "1")"#,
        ],
        code: Code::Run(contains),
        ..PURE
    },
    Builtin {
        name: "element",
        doc: "The element of a list at an index, which wraps around at either end.",
        params: &[any("list").marked(), number("index")],
        result: Rule::By(element_type),
        not_null: false,
        examples: &[
            r#"element(["a", "b", "c"], 4) == "b""#,
            r#"element(["a", "b", "c"], -1) == "c""#,
        ],
        code: Code::Run(element),
        ..PURE
    },
    Builtin {
        name: "index",
        doc: "The index of the first element equal to a value.",
        params: &[any("list"), any("value")],
        result: Rule::Is(Ty::Number),
        examples: &[r#"index(["a", "b", "c"], "b") == 1"#],
        code: Code::Run(index),
        ..PURE
    },
    Builtin {
        name: "length",
        doc: "The number of elements of a collection or structure, or of characters of a string.",
        params: &[any("value").dynamic().unknown().marked()],
        result: Rule::Is(Ty::Number),
        examples: &[
            r#"length(["a", "b"]) == 2"#,
            r#"length({ a = "b" }) == 1"#,
            r#"length("👾🕹️") == 2"#,
        ],
        code: Code::Run(length),
        ..PURE
    },
    Builtin {
        name: "matchkeys",
        doc: "Those values whose key, at the same index in another list, is among the keys searched for.",
        params: &[
            param("values", ANY_LIST),
            param("keys", ANY_LIST),
            param("searchset", ANY_LIST),
        ],
        result: Rule::By(|args| key_type(args).map(|_| args.get(0).ty())),
        examples: &[r#"matchkeys(["i-1", "i-2"], ["west", "east"], ["east"]) == tolist(["i-2"])"#],
        code: Code::Run(match_keys),
        ..PURE
    },
    Builtin {
        name: "one",
        doc: "The only element of a list, set or tuple, or null if it is empty.",
        params: &[any("list")],
        result: Rule::By(one_type),
        not_null: false,
        examples: &["one([]) == null", r#"one(["hello"]) == "hello""#],
        code: Code::Run(one),
        ..PURE
    },
];

fn all_true(args: &Args<'_>) -> Result<Value, FuncError> {
    for item in args.get(0).as_items().unwrap_or_default() {
        if !item.is_known() {
            return Ok(Value::unknown(Type::Bool));
        }
        if item.as_bool() != Some(true) {
            return Ok(Value::bool(false));
        }
    }
    Ok(Value::bool(true))
}

fn any_true(args: &Args<'_>) -> Result<Value, FuncError> {
    let items = args.get(0).as_items().unwrap_or_default();
    if items.iter().any(|item| item.as_bool() == Some(true)) {
        return Ok(Value::bool(true));
    }
    Ok(if items.iter().all(Value::is_known) {
        Value::bool(false)
    } else {
        Value::unknown(Type::Bool)
    })
}

fn coalesce_type(args: &Args<'_>) -> Result<Type, FuncError> {
    let types: Vec<Type> = args.rest(0).iter().map(Value::ty).collect();
    if types.is_empty() {
        return Ok(Type::Dynamic);
    }
    unify(&types).ok_or_else(|| FuncError::call("the arguments have no type in common"))
}

fn coalesce(args: &Args<'_>) -> Result<Value, FuncError> {
    let ty = coalesce_type(args)?;
    for value in args.rest(0) {
        // Two types may unify though this value cannot be converted; as in Terraform it then counts as null.
        let Ok(value) = convert(value, &ty) else { continue };
        if !value.is_known() {
            return Ok(Value::unknown(ty));
        }
        let empty = value
            .as_str()
            .is_some_and(|text| text.is_empty() && ty == Type::String);
        if !value.is_null() && !empty {
            return Ok(value);
        }
    }
    Err(FuncError::call("every argument is null or an empty string"))
}

/// Dynamic while any argument is unknown; what stands after an unknown one is not checked.
fn coalesce_list_type(args: &Args<'_>) -> Result<Type, FuncError> {
    check_sequences(args)?;
    let values = args.rest(0);
    let common = values
        .first()
        .filter(|_| values.iter().all(Value::is_known))
        .map(Value::ty);
    Ok(common
        .filter(|ty| values.iter().all(|value| value.ty() == *ty))
        .unwrap_or(Type::Dynamic))
}

fn check_sequences(args: &Args<'_>) -> Result<(), FuncError> {
    if args.len() == 0 {
        return Err(FuncError::call("at least one argument is required"));
    }
    for value in args.rest(0).iter().take_while(|value| value.is_known()) {
        if !matches!(
            value.data(),
            Data::List(..) | Data::Tuple(_) | Data::Null(Type::List(_) | Type::Tuple(_))
        ) {
            return Err(FuncError::call("the arguments must be lists or tuples"));
        }
    }
    Ok(())
}

fn coalesce_list(args: &Args<'_>) -> Result<Value, FuncError> {
    check_sequences(args)?;
    match args
        .rest(0)
        .iter()
        .find(|value| !value.is_known() || has_items(value))
    {
        Some(found) if found.is_known() => Ok(found.clone()),
        Some(_) => Ok(Value::dynamic()),
        None => Err(FuncError::call("every argument is null or empty")),
    }
}

fn has_items(value: &Value) -> bool {
    value.as_items().is_some_and(|items| !items.is_empty())
}

fn contains(args: &Args<'_>) -> Result<Value, FuncError> {
    let (list, wanted) = (args.get(0), args.get(1));
    let Some(items) = list.as_items() else {
        return Err(FuncError::call("a list, tuple or set is required"));
    };
    let mut unsure = false;
    for item in items {
        match ops::equal(wanted, item).as_bool() {
            Some(true) => return Ok(Value::bool(true)),
            Some(false) => {}
            None => unsure = true,
        }
    }
    Ok(if unsure {
        Value::unknown(Type::Bool)
    } else {
        Value::bool(false)
    })
}

fn element_type(args: &Args<'_>) -> Result<Type, FuncError> {
    let types = match args.get(0).ty() {
        Type::List(element) => return Ok(Type::clone(&element)),
        Type::Tuple(types) => types,
        other => {
            return Err(FuncError::call(format!(
                "{} has no elements by index",
                other.friendly_name()
            )));
        }
    };
    if !args.get(1).is_known() {
        return Ok(Type::Dynamic);
    }
    let at = wrapped(args.int(1)?, types.len())?;
    Ok(types[at].clone())
}

fn element(args: &Args<'_>) -> Result<Value, FuncError> {
    let list = args.get(0);
    match list.data() {
        Data::List(_, items) | Data::Tuple(items) => {
            let at = wrapped(args.int(1)?, items.len())?;
            Ok(items[at].clone().with_marks(list.marks()))
        }
        _ => Err(FuncError::call(format!(
            "{} has no elements by index",
            list.ty().friendly_name()
        ))),
    }
}

fn wrapped(index: i64, length: usize) -> Result<usize, FuncError> {
    if length == 0 {
        return Err(FuncError::call("an empty list has no elements"));
    }
    Ok(index.rem_euclid(length as i64) as usize)
}

fn index(args: &Args<'_>) -> Result<Value, FuncError> {
    let (list, wanted) = (args.get(0), args.get(1));
    let (Data::List(_, items) | Data::Tuple(items)) = list.data() else {
        return Err(FuncError::call("a list or tuple is required"));
    };
    if items.is_empty() {
        return Err(FuncError::call("an empty list has no elements"));
    }
    for (at, item) in items.iter().enumerate() {
        match ops::equal(item, wanted).as_bool() {
            Some(true) => return Ok(Value::number(at as u64)),
            Some(false) => {}
            None => return Ok(Value::unknown(Type::Number)),
        }
    }
    Err(FuncError::call("no element is equal to the value"))
}

fn length(args: &Args<'_>) -> Result<Value, FuncError> {
    let value = args.get(0);
    match value.data() {
        Data::Unknown(Type::Dynamic, _) => Ok(Value::unknown(Type::Number).with_marks(value.marks())),
        Data::String(_) | Data::Unknown(Type::String, _) => {
            Ok(string_length(value).with_marks(value.marks()))
        }
        Data::Bool(_) | Data::Number(_) | Data::Unknown(Type::Bool | Type::Number, _) => Err(
            FuncError::call("a string, a collection or a structure is required"),
        ),
        _ => Ok(ops::length(value)),
    }
}

fn string_length(value: &Value) -> Value {
    let count = |text: &str| Number::from(text.graphemes(true).count() as u64);
    match value.as_str() {
        Some(text) => Value::number(count(text)),
        None => {
            let prefix = value
                .refinement()
                .and_then(|refinement| refinement.prefix.as_deref())
                .unwrap_or_default();
            let min = Some(Bound {
                value: count(prefix),
                inclusive: true,
            });
            ops::unknown_refined(
                Type::Number,
                Refinement {
                    min,
                    ..Refinement::not_null()
                },
            )
        }
    }
}

fn key_type(args: &Args<'_>) -> Result<Type, FuncError> {
    unify(&[args.get(1).ty(), args.get(2).ty()])
        .ok_or_else(|| FuncError::call("the keys and the keys searched for must be of the same type"))
}

fn match_keys(args: &Args<'_>) -> Result<Value, FuncError> {
    let ty = key_type(args)?;
    let (keys, search) = (convert(args.get(1), &ty)?, convert(args.get(2), &ty)?);
    let values = args.get(0);
    let (Data::List(element, items), Some(keys_items), Some(search)) =
        (values.data(), keys.as_items(), search.as_items())
    else {
        return Err(FuncError::call("lists are required"));
    };
    if items.len() != keys_items.len() {
        return Err(FuncError::call("there must be as many values as keys"));
    }
    if search.is_empty() {
        return Ok(Value::list(element.clone(), Vec::new()));
    }
    if !values.is_wholly_known() || !keys.is_wholly_known() {
        return Ok(Value::unknown(values.ty()));
    }
    let mut matched = Vec::new();
    for (item, key) in items.iter().zip(keys_items) {
        for wanted in search {
            match ops::equal(key, wanted).as_bool() {
                Some(true) => {
                    matched.push(item.clone());
                    break;
                }
                Some(false) => {}
                // As in Terraform: whatever has matched so far, an unknown comparison gives an empty list.
                None => return Ok(Value::list(element.clone(), Vec::new())),
            }
        }
    }
    Ok(Value::list(element.clone(), matched))
}

fn one_type(args: &Args<'_>) -> Result<Type, FuncError> {
    match args.get(0).ty() {
        Type::List(element) | Type::Set(element) => Ok(Type::clone(&element)),
        Type::Tuple(types) if types.is_empty() => Ok(Type::Dynamic),
        Type::Tuple(types) if types.len() == 1 => Ok(types[0].clone()),
        _ => Err(not_one()),
    }
}

fn not_one() -> FuncError {
    FuncError::argument(0, "a list, set or tuple of no or one element is required")
}

fn one(args: &Args<'_>) -> Result<Value, FuncError> {
    let list = args.get(0);
    let ty = one_type(args)?;
    let Some(length) = ops::length(list).as_number().and_then(Number::to_i64) else {
        return Ok(Value::unknown(ty));
    };
    match (length.cmp(&1), list.as_items().and_then(<[Value]>::first)) {
        (Ordering::Less, _) => Ok(Value::null(ty)),
        (Ordering::Equal, Some(only)) => Ok(only.clone()),
        _ => Err(not_one()),
    }
}
