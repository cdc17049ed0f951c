//! Functions that make new sequences of old ones: joined, cut, flattened, reversed, freed of doubles.

use std::collections::HashSet;

use ashlar_value::{Data, Marks, Number, Type, Value, convert, ops, unify};

use crate::{
    Args, Builtin, Code, FuncError, Rule, Ty,
    protocol::{PURE, any, number, param},
};

const ANY_LIST: Ty = Ty::List(&Ty::Any);
const STRINGS: Ty = Ty::List(&Ty::String);

pub(crate) const TABLE: &[Builtin] = &[
    Builtin {
        name: "chunklist",
        doc: "Cuts a list into lists of a given length; the last one may be shorter.",
        params: &[param("list", ANY_LIST).marked(), number("size").marked()],
        result: Rule::By(|args| Ok(Type::list(args.get(0).ty()))),
        examples: &[
            r#"chunklist(["a", "b", "c"], 2)[1] == tolist(["c"])"#,
            "length(chunklist([1, 2, 3], 0)) == 1",
        ],
        code: Code::Run(chunk_list),
        ..PURE
    },
    Builtin {
        name: "compact",
        doc: "Leaves out null and empty strings.",
        params: &[param("list", STRINGS)],
        result: Rule::Is(STRINGS),
        examples: &[r#"compact(["a", "", null, "b"]) == tolist(["a", "b"])"#],
        code: Code::Run(compact),
        ..PURE
    },
    Builtin {
        name: "concat",
        doc: "Puts lists or tuples one after the other.",
        variadic: Some(any("seqs").marked()),
        result: Rule::By(concat_type),
        examples: &[r#"concat(["a", ""], ["b", 1]) == ["a", "", "b", 1]"#],
        code: Code::Run(concat),
        ..PURE
    },
    Builtin {
        name: "distinct",
        doc: "Leaves out elements equal to an earlier one.",
        params: &[param("list", ANY_LIST)],
        result: Rule::By(|args| Ok(args.get(0).ty())),
        examples: &[r#"distinct(["a", "b", "a"]) == tolist(["a", "b"])"#],
        code: Code::Run(distinct),
        ..PURE
    },
    Builtin {
        name: "flatten",
        doc: "Replaces elements that are themselves lists, sets or tuples by their elements, at any depth.",
        params: &[any("list").marked()],
        result: Rule::By(flatten_type),
        examples: &[r#"flatten([["a", [1]], [], ["c"]]) == ["a", 1, "c"]"#],
        code: Code::Run(flatten),
        ..PURE
    },
    Builtin {
        name: "reverse",
        doc: "Reverses the order of elements.",
        params: &[any("list").marked()],
        result: Rule::By(reverse_type),
        examples: &["reverse([1, 2, 3]) == [3, 2, 1]"],
        code: Code::Run(reverse),
        ..PURE
    },
    Builtin {
        name: "slice",
        doc: "The elements from a start index up to but without an end index.",
        params: &[any("list").marked(), number("start_index"), number("end_index")],
        result: Rule::By(slice_type),
        examples: &[r#"slice(["a", "b", "c", "d"], 1, 3) == ["b", "c"]"#],
        code: Code::Run(slice),
        ..PURE
    },
];

fn chunk_list(args: &Args<'_>) -> Result<Value, FuncError> {
    let list = args.get(0);
    let marks = args.shallow_marks(0);
    let size = usize::try_from(args.int(1)?).map_err(|_| FuncError::call("the size must not be negative"))?;
    let Data::List(element, items) = list.data() else {
        return Err(FuncError::argument(0, "a list is required"));
    };
    let size = if size == 0 { items.len().max(1) } else { size };
    let chunks = items
        .chunks(size)
        .map(|chunk| Value::list(element.clone(), chunk.to_vec()))
        .collect();
    Ok(Value::list(list.ty(), chunks).with_marks(marks))
}

fn compact(args: &Args<'_>) -> Result<Value, FuncError> {
    let list = args.get(0);
    if !list.is_wholly_known() {
        return Ok(Value::unknown(STRINGS.to_type()));
    }
    let items = list.as_items().unwrap_or_default().iter();
    let kept = items
        .filter(|item| item.as_str().is_some_and(|text| !text.is_empty()))
        .cloned()
        .collect();
    Ok(Value::list(Type::String, kept))
}

/// A list if the first argument is one and all are lists of types that unify; else a tuple.
fn concat_type(args: &Args<'_>) -> Result<Type, FuncError> {
    let values = args.rest(0);
    let Some(first) = values.first() else {
        return Err(FuncError::call("at least one argument is required"));
    };
    if let Some(common) = common_list(first, values) {
        return Ok(common);
    }
    let mut types = Vec::new();
    for (index, value) in values.iter().enumerate() {
        match (value.ty(), value.data()) {
            (Type::Tuple(items), _) => types.extend(items.iter().cloned()),
            (Type::List(element), Data::List(_, items)) => {
                types.extend(items.iter().map(|_| Type::clone(&element)));
            }
            (Type::List(_), _) => return Ok(Type::Dynamic),
            (other, _) => return Err(not_joinable(index, &other)),
        }
    }
    Ok(Type::tuple(types))
}

/// The one list type all arguments can be converted to, if all are lists.
fn common_list(first: &Value, values: &[Value]) -> Option<Type> {
    if !is_list(first) || !values.iter().all(is_list) {
        return None;
    }
    let types: Vec<Type> = values.iter().map(Value::ty).collect();
    unify(&types)
}

fn is_list(value: &Value) -> bool {
    matches!(
        value.data(),
        Data::List(..) | Data::Unknown(Type::List(_), _) | Data::Null(Type::List(_))
    )
}

fn concat(args: &Args<'_>) -> Result<Value, FuncError> {
    let values = args.rest(0);
    let marks = args.shallow_marks(0);
    let Some(first) = values.first() else {
        return Err(FuncError::call("at least one argument is required"));
    };
    let mut joined = Vec::new();
    if let Some(Type::List(element)) = common_list(first, values) {
        let ty = Type::List(element.clone());
        for (index, value) in values.iter().enumerate() {
            let value = convert(value, &ty).map_err(|error| FuncError::from(error).at(index))?;
            joined.extend(value.as_items().unwrap_or_default().iter().cloned());
        }
        return Ok(Value::list(Type::clone(&element), joined).with_marks(marks));
    }
    for (index, value) in values.iter().enumerate() {
        match value.data() {
            Data::List(_, items) | Data::Tuple(items) => joined.extend(items.iter().cloned()),
            _ => return Err(not_joinable(index, &value.ty())),
        }
    }
    Ok(Value::tuple(joined).with_marks(marks))
}

fn not_joinable(index: usize, ty: &Type) -> FuncError {
    FuncError::argument(
        index,
        format!(
            "all arguments must be lists or tuples, not {}",
            ty.friendly_name()
        ),
    )
}

fn distinct(args: &Args<'_>) -> Result<Value, FuncError> {
    let list = args.get(0);
    let (Data::List(element, items), true) = (list.data(), list.is_wholly_known()) else {
        return Ok(Value::unknown(list.ty()));
    };
    let mut kept: Vec<Value> = Vec::new();
    let mut texts = HashSet::new();
    for item in items.iter() {
        let new = match item.as_str() {
            Some(text) => texts.insert(text),
            None => !kept
                .iter()
                .any(|earlier| ops::equal(earlier, item).as_bool() == Some(true)),
        };
        if new {
            kept.push(item.clone());
        }
    }
    Ok(Value::list(element.clone(), kept))
}

fn flatten_type(args: &Args<'_>) -> Result<Type, FuncError> {
    if !args.get(0).is_wholly_known() {
        return Ok(Type::Dynamic);
    }
    flatten(args).map(|value| value.ty())
}

fn flatten(args: &Args<'_>) -> Result<Value, FuncError> {
    let list = args.get(0);
    // The type is looked at only where all is known; what else has elements is flattened too.
    let entries = matches!(list.data(), Data::Map(..) | Data::Object(_)) && !list.is_wholly_known();
    if list.as_items().is_none() && !entries {
        return Err(FuncError::call("only lists, sets and tuples can be flattened"));
    }
    let mut flat = Flat {
        items: Vec::new(),
        marks: Marks::NONE,
        known: true,
    };
    flat.add(list);
    let result = if flat.known {
        Value::tuple(flat.items)
    } else {
        Value::dynamic()
    };
    Ok(result.with_marks(flat.marks))
}

struct Flat {
    items: Vec<Value>,
    marks: Marks,
    known: bool,
}

impl Flat {
    fn add(&mut self, list: &Value) {
        self.marks = self.marks.union(list.marks());
        if !ops::length(list).is_known() {
            self.known = false;
            return;
        }
        for (_, item) in ops::elements(list) {
            match item.data() {
                Data::List(..) | Data::Set(..) | Data::Tuple(_) => self.add(&item),
                Data::Unknown(Type::List(_) | Type::Set(_) | Type::Tuple(_), _) => {
                    self.known = false;
                    self.marks = self.marks.union(item.marks());
                }
                Data::Unknown(Type::Dynamic, _) if item.marks().is_empty() => self.known = false,
                _ => self.items.push(item),
            }
        }
    }
}

fn reverse_type(args: &Args<'_>) -> Result<Type, FuncError> {
    match args.get(0).ty() {
        Type::Tuple(types) => Ok(Type::tuple(types.iter().rev().cloned())),
        Type::List(element) | Type::Set(element) => Ok(Type::list(Type::clone(&element))),
        other => Err(FuncError::argument(
            0,
            format!("a list or tuple is required, not {}", other.friendly_name()),
        )),
    }
}

fn reverse(args: &Args<'_>) -> Result<Value, FuncError> {
    let list = args.get(0);
    let reversed = |items: &[Value]| items.iter().rev().cloned().collect();
    let result = match list.data() {
        Data::Tuple(items) => Value::tuple(reversed(items)),
        Data::List(element, items) | Data::Set(element, items) => {
            Value::list(element.clone(), reversed(items))
        }
        _ => Value::unknown(reverse_type(args)?),
    };
    Ok(result.with_marks(list.marks()))
}

fn slice_type(args: &Args<'_>) -> Result<Type, FuncError> {
    let ty = args.get(0).ty();
    if !matches!(ty, Type::List(_) | Type::Tuple(_)) {
        return Err(not_sliceable(&ty));
    }
    let bounds = slice_bounds(args)?;
    Ok(match (ty, bounds) {
        (Type::Tuple(types), Some((start, end))) => Type::tuple(types[start..end].iter().cloned()),
        (Type::Tuple(_), None) => Type::Dynamic,
        (ty, _) => ty,
    })
}

fn not_sliceable(ty: &Type) -> FuncError {
    let message = match ty {
        Type::Set(_) => "a set has no order to cut by; convert it to a list first",
        _ => "a list or tuple is required",
    };
    FuncError::argument(0, message)
}

/// Start and end, `None` while either is unknown; what is known is checked.
fn slice_bounds(args: &Args<'_>) -> Result<Option<(usize, usize)>, FuncError> {
    let length = ops::length(args.get(0));
    let length = length.as_number().and_then(Number::to_i64);
    let bound = |index: usize, what: &str| -> Result<Option<i64>, FuncError> {
        if !args.get(index).is_known() {
            return Ok(None);
        }
        let bound = args.int(index).map_err(|error| error.at(index))?;
        if bound < 0 {
            return Err(FuncError::argument(
                index,
                format!("the {what} index must not be negative"),
            ));
        }
        if length.is_some_and(|length| bound > length) {
            return Err(FuncError::argument(
                index,
                format!("the {what} index lies past the end of the list"),
            ));
        }
        Ok(Some(bound))
    };
    let (start, end) = (bound(1, "start")?, bound(2, "end")?);
    let (Some(start), Some(end)) = (start, end) else {
        return Ok(None);
    };
    if start > end {
        return Err(FuncError::argument(
            1,
            "the start index must not lie after the end index",
        ));
    }
    Ok(Some((start as usize, end as usize)))
}

fn slice(args: &Args<'_>) -> Result<Value, FuncError> {
    let list = args.get(0);
    let part = |items: &[Value]| -> Result<Vec<Value>, FuncError> {
        let (start, end) = slice_bounds(args)?.unwrap_or_default();
        Ok(items[start..end].to_vec())
    };
    let result = match list.data() {
        Data::Tuple(items) => Value::tuple(part(items)?),
        Data::List(element, items) => Value::list(element.clone(), part(items)?),
        _ => return Err(not_sliceable(&list.ty())),
    };
    Ok(result.with_marks(list.marks()))
}
