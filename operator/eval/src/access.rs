//! Indexing and attribute access, as hcl's `ops.go`; the value model's own `index` knows no diagnostics.

use ashlar_diag::{Diag, Span};
use ashlar_syntax::{Literal, Step};
use ashlar_value::{Data, Type, Value, convert};

const INVALID_INDEX: &str = "Invalid index";
const UNSUPPORTED: &str = "Unsupported attribute";

/// A constant's value.
pub(crate) fn literal(literal: &Literal) -> Value {
    match literal {
        Literal::Null => Value::null(Type::Dynamic),
        Literal::Bool(value) => Value::bool(*value),
        Literal::Number(text) => match ashlar_value::Number::parse(text) {
            Some(number) => Value::number(number),
            None => Value::unknown(Type::Number),
        },
        Literal::String(text) => Data::String(text.clone()).into(),
    }
}

/// Takes one static step.
pub(crate) fn step(value: &Value, step: &Step) -> Result<Value, Diag> {
    match step {
        Step::Attr { name, span } => get_attr(value, name, *span),
        Step::Index { key, span } => index(value, &literal(key), *span),
    }
}

fn invalid(detail: impl Into<String>, span: Span) -> Diag {
    Diag::error(INVALID_INDEX, detail).at(span)
}

fn absent(why: &str, span: Span) -> Diag {
    invalid(
        format!("The key does not name an element of this collection: {why}."),
        span,
    )
}

/// `collection[key]`. Marks of the collection stay; those of the key too, except for objects.
pub fn index(collection: &Value, key: &Value, span: Span) -> Result<Value, Diag> {
    if collection.is_null() {
        return Err(Diag::error(
            "Attempt to index null value",
            "This value is null, so it has no elements.",
        )
        .at(span));
    }
    if key.is_null() {
        return Err(invalid("A null value cannot be a key.", span));
    }
    let marks = collection.marks();
    let is_dynamic = |value: &Value| matches!(value.data(), Data::Unknown(Type::Dynamic, _));
    if is_dynamic(collection) || is_dynamic(key) {
        return Ok(Value::dynamic().with_marks(marks));
    }
    match collection.data() {
        Data::List(..) | Data::Tuple(_) | Data::Unknown(Type::List(_) | Type::Tuple(_), _) => {
            sequence_element(collection, key, span)
        }
        Data::Map(..) | Data::Unknown(Type::Map(_), _) => {
            let key = convert(key, &Type::String).map_err(|error| absent(&error.message, span))?;
            let element = collection.ty().element().cloned().unwrap_or(Type::Dynamic);
            let (Data::Map(_, entries), Some(name)) = (collection.data(), key.as_str()) else {
                return Ok(Value::unknown(element).with_marks(marks));
            };
            match entries.get(&**name) {
                Some(value) => Ok(value.clone().with_marks(marks.union(key.marks()))),
                None => Err(invalid("The key does not name an element of this map.", span)),
            }
        }
        Data::Object(_) | Data::Unknown(Type::Object(_), _) => {
            let by_number = key.as_number().is_some();
            let key = convert(key, &Type::String).map_err(|error| absent(&error.message, span))?;
            let Some(name) = key.as_str() else {
                return Ok(Value::dynamic().with_marks(marks));
            };
            object_attr(collection, name).ok_or_else(|| {
                let hint = if by_number {
                    " Attributes of an object are found by name, not by position."
                } else {
                    ""
                };
                invalid(
                    format!("The key does not name an attribute of this object.{hint}"),
                    span,
                )
            })
        }
        Data::Set(..) | Data::Unknown(Type::Set(_), _) => Err(invalid(
            "Elements of a set have no key or position: only the set as a whole can be used. Convert it with tolist, or \
             go through it with a for expression.",
            span,
        )),
        _ => Err(invalid("This value has no elements.", span)),
    }
}

fn sequence_element(collection: &Value, key: &Value, span: Span) -> Result<Value, Diag> {
    let key = convert(key, &Type::Number).map_err(|error| absent(&error.message, span))?;
    let marks = collection.marks();
    let Some(number) = key.as_number() else {
        let element = collection.ty().element().cloned().unwrap_or(Type::Dynamic);
        return Ok(Value::unknown(element).with_marks(marks));
    };
    let position = number.to_i64();
    let at = position.and_then(|at| usize::try_from(at).ok());
    let found = match collection.data() {
        Data::List(_, items) | Data::Tuple(items) => at.and_then(|at| items.get(at)).cloned(),
        Data::Unknown(Type::Tuple(items), _) => at.and_then(|at| items.get(at)).cloned().map(Value::unknown),
        Data::Unknown(Type::List(element), _) => {
            return Ok(Value::unknown((**element).clone()).with_marks(marks));
        }
        _ => None,
    };
    if let Some(value) = found {
        return Ok(value.with_marks(marks.union(key.marks())));
    }
    let empty = match collection.data() {
        Data::List(_, items) | Data::Tuple(items) => items.is_empty(),
        _ => false,
    };
    Err(absent(
        match position {
            None if !number.is_integer() => "a position is a whole number, but the key has a fraction",
            Some(..0) => "a position is never negative",
            _ if empty => "the collection is empty",
            _ => "the position lies beyond the end of the collection",
        },
        span,
    ))
}

/// The attribute of a known or unknown object; `None` if its type has none of that name.
fn object_attr(object: &Value, name: &str) -> Option<Value> {
    let value = match object.data() {
        Data::Object(attrs) => attrs.get(name).cloned()?,
        Data::Unknown(Type::Object(ty), _) => Value::unknown(ty.get(name)?.ty.clone()),
        _ => return None,
    };
    Some(value.with_marks(object.marks()))
}

/// `value.name`. Marks of the value stay.
pub fn get_attr(value: &Value, name: &str, span: Span) -> Result<Value, Diag> {
    if value.is_null() {
        let summary = "Attempt to get attribute from null value";
        return Err(Diag::error(summary, "This value is null, so it has no attributes.").at(span));
    }
    let unsupported = |detail: String| Err(Diag::error(UNSUPPORTED, detail).at(span));
    let marks = value.marks();
    match value.data() {
        Data::Object(_) | Data::Unknown(Type::Object(_), _) => match object_attr(value, name) {
            Some(value) => Ok(value),
            None => unsupported(format!("This object has no attribute {name:?}.")),
        },
        Data::Map(_, entries) => match entries.get(name) {
            Some(value) => Ok(value.clone().with_marks(marks)),
            None => {
                let detail = format!("This map has no element with the key {name:?}.");
                Err(Diag::error("Missing map element", detail).at(span))
            }
        },
        Data::Unknown(Type::Map(element), _) => Ok(Value::unknown((**element).clone()).with_marks(marks)),
        Data::Unknown(Type::Dynamic, _) => Ok(Value::dynamic().with_marks(marks)),
        _ => match value.ty() {
            Type::List(element) if matches!(&*element, Type::Object(_)) => unsupported(format!(
                "A list of objects has no attributes itself. Take {name:?} of one element, as in list[0].{name}, or of all, \
                 as in list[*].{name}."
            )),
            Type::Set(element) if matches!(&*element, Type::Object(_)) => unsupported(format!(
                "A set of objects has no attributes itself. Take {name:?} of all elements with a for expression."
            )),
            ty if ty.is_primitive() => unsupported(format!("A {} has no attributes.", ty.friendly_name())),
            _ => unsupported("This value has no attributes.".to_owned()),
        },
    }
}
