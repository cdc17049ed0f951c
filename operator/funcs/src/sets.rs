//! Functions on sets, and the product of sets or lists.

use ashlar_value::{Data, Refinement, Type, Value, convert, ops, unify};

use crate::{
    Args, Builtin, Code, FuncError, Rule, Ty,
    protocol::{CELL, PURE, Param, any, param},
};

/// A product of unknown size gets bounds only if no factor is longer than this, as in cty.
const LONGEST_BOUNDED_FACTOR: u64 = 1024;

/// A product of unknown size gets bounds only if it can be no longer than this, as in cty.
const LONGEST_BOUNDED_PRODUCT: u64 = 2048;

pub(crate) const TABLE: &[Builtin] = &[
    Builtin {
        name: "setintersection",
        doc: "The set of those elements that all sets have.",
        params: &[set("first_set")],
        variadic: Some(set("other_sets")),
        result: Rule::By(set_type),
        examples: &[r#"setintersection(["a", "b"], ["b", "c"]) == toset(["b"])"#],
        code: Code::Run(|args| {
            combine(args, Unknowns::Stop, |item, rest| {
                rest.iter().all(|set| has(set, item))
            })
        }),
        ..PURE
    },
    Builtin {
        name: "setproduct",
        doc: "All combinations of one element of each list or set, as tuples.",
        variadic: Some(any("sets").unknown().marked()),
        result: Rule::By(product_type),
        examples: &[
            r#"setproduct(["a", "b"], [1, 2])[1] == ["a", 2]"#,
            r#"length(setproduct(["a"], [])) == 0"#,
        ],
        code: Code::Run(product),
        ..PURE
    },
    Builtin {
        name: "setsubtract",
        doc: "The set of those elements of one set that another one has not.",
        params: &[set("a"), set("b")],
        result: Rule::By(set_type),
        examples: &[r#"setsubtract(["a", "b", "c"], ["a"]) == toset(["b", "c"])"#],
        code: Code::Run(|args| {
            combine(args, Unknowns::Stop, |item, rest| {
                !rest.iter().any(|set| has(set, item))
            })
        }),
        ..PURE
    },
    Builtin {
        name: "setunion",
        doc: "The set of all elements of all sets.",
        params: &[set("first_set")],
        variadic: Some(set("other_sets")),
        result: Rule::By(set_type),
        examples: &[r#"setunion(["a", "b"], ["b", "c"]) == toset(["a", "b", "c"])"#],
        code: Code::Run(union),
        ..PURE
    },
];

const fn set(name: &'static str) -> Param {
    param(name, Ty::Set(&Ty::Any)).dynamic()
}

/// The set type that all arguments can be converted to; empty sets of no certain type have no say.
fn set_type(args: &Args<'_>) -> Result<Type, FuncError> {
    let mut types = Vec::new();
    for value in args.rest(0) {
        let Type::Set(element) = value.ty() else {
            return Ok(Type::Dynamic);
        };
        if *element != Type::Dynamic || !value.as_items().is_some_and(<[Value]>::is_empty) {
            types.push(Type::clone(&element));
        }
    }
    if types.is_empty() {
        return Ok(Type::set(Type::Dynamic));
    }
    match unify(&types) {
        Some(element) => Ok(Type::set(element)),
        None => Err(FuncError::call(
            "the sets must have elements of types that can be made one",
        )),
    }
}

/// What an unknown element of a set does to the result.
#[derive(PartialEq)]
enum Unknowns {
    /// It is an element like others.
    Keep,
    /// It makes the result unknown.
    Stop,
}

/// The sets converted to one type; `None` if the result is unknown.
fn converted(args: &Args<'_>, unknowns: &Unknowns) -> Result<(Type, Option<Vec<Value>>), FuncError> {
    let ty = set_type(args)?;
    let mut sets = Vec::with_capacity(args.len());
    for (index, value) in args.rest(0).iter().enumerate() {
        let set = convert(value, &ty).map_err(|error| FuncError::from(error).at(index))?;
        if *unknowns == Unknowns::Stop && !set.is_wholly_known() || set.as_items().is_none() {
            return Ok((ty, None));
        }
        if sets.first().is_some_and(|first: &Value| first.ty() != set.ty()) {
            return Err(FuncError::call(
                "the sets have elements of types that cannot yet be made one",
            ));
        }
        sets.push(set);
    }
    Ok((ty, Some(sets)))
}

/// Those elements of the first set that `keep` wants, given the other sets.
fn combine(
    args: &Args<'_>,
    unknowns: Unknowns,
    keep: fn(&Value, &[Value]) -> bool,
) -> Result<Value, FuncError> {
    let (ty, sets) = converted(args, &unknowns)?;
    let Some((first, rest)) = sets.as_deref().and_then(<[Value]>::split_first) else {
        return Ok(Value::unknown(ty));
    };
    let items = first.as_items().unwrap_or_default().iter();
    Ok(built(
        &ty,
        items.filter(|item| keep(item, rest)).cloned().collect(),
    ))
}

fn union(args: &Args<'_>) -> Result<Value, FuncError> {
    let (ty, sets) = converted(args, &Unknowns::Keep)?;
    let Some(sets) = sets else {
        return Ok(Value::unknown(ty));
    };
    Ok(built(
        &ty,
        sets.iter()
            .filter_map(Value::as_items)
            .flatten()
            .cloned()
            .collect(),
    ))
}

fn built(ty: &Type, items: Vec<Value>) -> Value {
    Value::set(ty.element().cloned().unwrap_or(Type::Dynamic), items)
}

fn has(set: &Value, item: &Value) -> bool {
    ops::has_element(set, item).is_ok_and(|found| found.as_bool() == Some(true))
}

/// A list of tuples if all arguments are lists or tuples, else a set of tuples.
fn product_type(args: &Args<'_>) -> Result<Type, FuncError> {
    if args.len() < 2 {
        return Err(FuncError::call("at least two arguments are required"));
    }
    let mut types = Vec::with_capacity(args.len());
    let mut ordered = true;
    for (index, value) in args.rest(0).iter().enumerate() {
        types.push(match value.ty() {
            Type::Set(element) => {
                ordered = false;
                Type::clone(&element)
            }
            Type::List(element) => Type::clone(&element),
            Type::Tuple(items) if items.is_empty() => Type::Dynamic,
            Type::Tuple(items) => unify(&items).ok_or_else(|| {
                FuncError::argument(index, "all elements must be of types that can be made one")
            })?,
            _ => return Err(FuncError::argument(index, "a set or list is required")),
        });
    }
    let tuple = Type::tuple(types);
    Ok(if ordered {
        Type::list(tuple)
    } else {
        Type::set(tuple)
    })
}

fn product(args: &Args<'_>) -> Result<Value, FuncError> {
    let ty = product_type(args)?;
    let marks = args.shallow_marks(0);
    let element = ty.element().cloned().unwrap_or(Type::Dynamic);
    let Type::Tuple(types) = &element else {
        return Ok(Value::unknown(ty));
    };
    let mut factors = Vec::with_capacity(args.len());
    let mut total: usize = 1;
    for (value, item_type) in args.rest(0).iter().zip(types.iter()) {
        if !value.is_known() || !ops::length(value).is_known() {
            return Ok(unknown_product(args, ty.clone()).with_marks(marks));
        }
        let items: Vec<Value> = value
            .as_items()
            .unwrap_or_default()
            .iter()
            .map(|item| convert(item, item_type))
            .collect::<Result<_, _>>()?;
        total = total.saturating_mul(items.len());
        factors.push(items);
    }
    // No computer holds a list of so many bytes.
    let bytes = total
        .checked_mul(CELL * (factors.len() + 1))
        .filter(|bytes| isize::try_from(*bytes).is_ok())
        .ok_or_else(|| FuncError::call("the product would have too many elements"))?;
    args.reserve(bytes)?;
    let mut rows: Vec<Vec<Value>> = if total == 0 { Vec::new() } else { vec![Vec::new()] };
    if total > 0 {
        for factor in &factors {
            rows = rows
                .iter()
                .flat_map(|row| {
                    factor
                        .iter()
                        .map(|item| row.iter().cloned().chain([item.clone()]).collect())
                })
                .collect();
        }
    }
    let tuples: Vec<Value> = rows.into_iter().map(Value::tuple).collect();
    Ok(match &ty {
        Type::List(_) => Value::list(element.clone(), tuples),
        _ => Value::set(element.clone(), tuples),
    }
    .with_marks(marks))
}

/// Unknown, with the length bounds that the factors allow.
fn unknown_product(args: &Args<'_>, ty: Type) -> Value {
    let mut most: u64 = 1;
    for value in args.rest(0) {
        let longest = match value.data() {
            Data::Tuple(items) => Some(items.len() as u64),
            Data::Unknown(Type::Tuple(types), _) => Some(types.len() as u64),
            _ => ops::range(value).length_max,
        };
        match longest {
            Some(longest) if longest <= LONGEST_BOUNDED_FACTOR => most *= longest,
            _ => return Value::unknown(ty),
        }
        if most > LONGEST_BOUNDED_PRODUCT {
            return Value::unknown(ty);
        }
    }
    let facts = Refinement {
        length_min: Some(most.min(1)),
        length_max: Some(most),
        ..Refinement::not_null()
    };
    ops::unknown_refined(ty, facts)
}
