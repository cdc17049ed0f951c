//! The content of extension 12: what is known of an unknown value.

use crate::{Bound, Refinement, Type, Value, json::WireError, ops};

use super::{decode::Decoder, key};

/// The most bytes of refinements that are read, as in cty.
const LONGEST: usize = 1024;

/// The value that the refinements leave, and how many elements it has if it became a known list of unknowns.
pub(super) fn read(payload: &[u8], ty: &Type) -> Result<(Value, u64), WireError> {
    let mut decoder = Decoder::new(payload);
    if payload.len() > LONGEST {
        return Err(decoder.fail("there are too many bytes of refinements"));
    }
    let count = decoder.map_length("a map of refinements")?;
    if *ty == Type::Dynamic {
        // Nothing can be known of a value without a type.
        return Ok((Value::dynamic(), 0));
    }
    let mut known = Refinement::default();
    let mut is_null = false;
    for _ in 0..count {
        let facts = match i64::try_from(decoder.integer()?).unwrap_or(0) {
            key::NULLNESS => {
                let null = decoder.boolean()?;
                is_null |= null;
                Refinement {
                    not_null: !null,
                    ..Refinement::default()
                }
            }
            key::PREFIX if *ty == Type::String => Refinement {
                prefix: Some(decoder.text("a string as prefix")?.into()),
                ..Refinement::default()
            },
            key::MIN if *ty == Type::Number => Refinement {
                min: Some(bound(&mut decoder)?),
                ..Refinement::default()
            },
            key::MAX if *ty == Type::Number => Refinement {
                max: Some(bound(&mut decoder)?),
                ..Refinement::default()
            },
            // No collection is as long as the greatest i64: as least length it is absurd, as greatest it says nothing.
            key::LENGTH_MIN if ty.is_collection() => {
                let least = length(&mut decoder)?;
                if i64::try_from(least).is_err() {
                    return Err(decoder.fail("no collection is that long"));
                }
                Refinement {
                    length_min: Some(least),
                    ..Refinement::default()
                }
            }
            key::LENGTH_MAX if ty.is_collection() => Refinement {
                length_max: Some(length(&mut decoder)?),
                ..Refinement::default()
            },
            key::PREFIX..=key::LENGTH_MAX => {
                return Err(decoder.fail("there is a refinement that does not fit the type"));
            }
            _ => {
                decoder.skip()?;
                continue;
            }
        };
        ops::narrow(ty, &mut known, &facts).map_err(|error| decoder.fail(error.message()))?;
    }
    if is_null {
        if known.not_null {
            return Err(decoder.fail("the value is said to be null and not to be null"));
        }
        return Ok((Value::null(ty.clone()), 0));
    }
    let value = ops::settle(ty, known);
    let collapsed = value.as_items().map_or(0, |items| items.len() as u64);
    Ok((value, collapsed))
}

fn bound(decoder: &mut Decoder) -> Result<Bound, WireError> {
    let pair = decoder.value(&Type::tuple([Type::Number, Type::Bool]))?;
    match pair.as_items() {
        Some([value, inclusive]) => match (value.as_number(), inclusive.as_bool()) {
            (Some(value), Some(inclusive)) => Ok(Bound {
                value: value.clone(),
                inclusive,
            }),
            _ => Err(decoder.fail("a bound is a known number and a known bool")),
        },
        _ => Err(decoder.fail("a bound is an array of number and bool")),
    }
}

fn length(decoder: &mut Decoder) -> Result<u64, WireError> {
    u64::try_from(decoder.integer()?).map_err(|_| decoder.fail("a length is not negative"))
}
