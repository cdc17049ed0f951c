//! Values in MessagePack and JSON, as plugins and states bring them.
//!
//! An input is a type in JSON, a line feed, and the bytes that are read as a value of it.

use ashlar_value::{Number, Type, Value, json, msgpack};

/// MessagePack.
pub(crate) fn msgpack(input: &[u8]) -> bool {
    both_ways(input, msgpack::decode, msgpack::encode)
}

/// JSON, with a type and without.
pub(crate) fn json(input: &[u8]) -> bool {
    let read = both_ways(input, json::decode, json::encode);
    let Some((_, bytes)) = split(input) else {
        return false;
    };
    if let Ok(value) = json::decode_implied(bytes) {
        assert!(value.is_wholly_known() && value.marks_deep().is_empty());
        again(&value, &value.ty(), json::decode, json::encode);
        return true;
    }
    read
}

type Decode = fn(&[u8], &Type) -> Result<Value, json::WireError>;
type Encode = fn(&Value, &Type) -> Result<Vec<u8>, json::WireError>;

fn split(input: &[u8]) -> Option<(Type, &[u8])> {
    let end = input.iter().position(|byte| *byte == b'\n')?;
    let ty = json::type_from_text(&input[..end]).ok()?;
    let written = json::type_to_text(&ty);
    match json::type_from_text(written.as_bytes()) {
        Ok(again) => assert_eq!(again, ty, "the type is written as {written}"),
        Err(error) => panic!("the type is written as {written}, which cannot be read: {error:?}"),
    }
    Some((ty, &input[end + 1..]))
}

fn both_ways(input: &[u8], decode: Decode, encode: Encode) -> bool {
    let Some((ty, bytes)) = split(input) else {
        return false;
    };
    let Ok(value) = decode(bytes, &ty) else {
        return false;
    };
    assert!(value.marks_deep().is_empty());
    assert!(fits(&value.ty(), &ty), "{} is no {ty}", value.ty());
    again(&value, &ty, decode, encode);
    true
}

/// What was read can be written, and is then read as the same.
fn again(value: &Value, ty: &Type, decode: Decode, encode: Encode) {
    let bytes = match encode(value, ty) {
        Ok(bytes) => bytes,
        // Text may be read as an infinite number, and JSON has none.
        Err(_) if holds(value, |part| part.as_number().is_some_and(Number::is_infinite)) => return,
        Err(error) => panic!("{value:?} was read as {ty} and cannot be written: {error:?}"),
    };
    // Minus zero is written as zero, which may be in the same set.
    let minus_zero = |part: &Value| {
        let bounds = part
            .refinement()
            .into_iter()
            .flat_map(|facts| [&facts.min, &facts.max]);
        let mut numbers = bounds.flatten().map(|bound| &bound.value).chain(part.as_number());
        numbers.any(Number::is_negative_zero)
    };
    if holds(value, minus_zero) {
        return;
    }
    let second = match decode(&bytes, ty) {
        Ok(second) => second,
        Err(error) => panic!("{value:?} of {ty} is written so that it cannot be read: {error:?}"),
    };
    assert_eq!(encode(&second, ty).ok(), Some(bytes), "{value:?} of {ty}");
    // What is too long to be promised is cut or left out, and large whole numbers are written with the digits that their
    // precision needs, which are those of another number.
    let altered = |part: &Value| {
        let long = part.refinement().is_some_and(|facts| {
            let bounds = [&facts.min, &facts.max].into_iter().flatten();
            facts.prefix.as_ref().is_some_and(|prefix| prefix.len() >= LONG)
                || bounds
                    .map(|bound| bound.value.to_string())
                    .any(|text| text.len() >= LONG)
        });
        long || part
            .as_number()
            .is_some_and(|number| number.is_integer() && number.to_i64().is_none())
    };
    assert!(
        second == *value || format!("{second:?}") == format!("{value:?}") || holds(value, altered),
        "{value:?} of {ty} is read again as {second:?}"
    );
}

/// In bytes; shorter ones are written whole.
const LONG: usize = 250;

fn holds(value: &Value, wanted: impl Fn(&Value) -> bool) -> bool {
    let mut found = false;
    value.walk(&mut |_, part| {
        found = found || wanted(part);
        !found
    });
    found
}

/// Is a value of type `of` one of type `ty`, where `ty` may leave parts open?
fn fits(of: &Type, ty: &Type) -> bool {
    match (of, ty) {
        (_, Type::Dynamic) => true,
        (Type::List(a), Type::List(b)) | (Type::Set(a), Type::Set(b)) | (Type::Map(a), Type::Map(b)) => {
            fits(a, b)
        }
        (Type::Tuple(a), Type::Tuple(b)) => {
            a.len() == b.len() && a.iter().zip(b.iter()).all(|(a, b)| fits(a, b))
        }
        (Type::Object(a), Type::Object(b)) => {
            let (a, b) = (a.attrs(), b.attrs());
            a.len() == b.len()
                && a.iter()
                    .zip(b)
                    .all(|(a, b)| a.name == b.name && fits(&a.ty, &b.ty))
        }
        (a, b) => a == b,
    }
}
