//! Values to MessagePack.

use std::{collections::BTreeMap, sync::Arc};

use rmp::encode::{self, ByteBuf};

use crate::{
    Bound, Data, Number, PathStep, Refinement, Type, Value,
    json::{self, DEPTH_LIMIT, WireError},
    ops,
};

use super::{REFINED, key};

/// Bounds that need more bytes are not told: all refinements together may have 1,024, or no reader takes them.
const LONGEST_BOUND: usize = 500;
/// The longest string prefix that is written, in bytes, so that a reader's limit of 1024 for all refinements holds.
const LONGEST_PREFIX: usize = 256;

/// Writes a value as MessagePack of type `ty`, byte-compatible with go-cty, converting it first if it is of another
/// type. Marks are dropped.
pub fn encode(value: &Value, ty: &Type) -> Result<Vec<u8>, WireError> {
    let value = json::to_type(value, ty)?;
    let mut encoder = Encoder {
        bytes: ByteBuf::new(),
        path: Vec::new(),
    };
    encoder.value(&value, ty)?;
    Ok(encoder.bytes.into_vec())
}

struct Encoder {
    bytes: ByteBuf,
    path: Vec<PathStep>,
}

impl Encoder {
    fn value(&mut self, value: &Value, ty: &Type) -> Result<(), WireError> {
        if self.path.len() > DEPTH_LIMIT {
            return Err(WireError::at(&self.path, "the value is nested too deeply"));
        }
        if *ty == Type::Dynamic
            && !matches!(
                value.data(),
                Data::Null(Type::Dynamic) | Data::Unknown(Type::Dynamic, _)
            )
        {
            let own = value.ty();
            self.array_length(2)?;
            let text = json::type_to_text(&own);
            let length = self.length(text.len())?;
            let Ok(()) = encode::write_bin_len(&mut self.bytes, length).map(drop);
            self.bytes.as_mut_vec().extend_from_slice(text.as_bytes());
            return self.value(value, &own);
        }
        match (value.data(), ty) {
            (Data::Unknown(own, facts), _) => return self.unknown(own, facts.as_deref()),
            (Data::Bool(truth), _) => {
                let Ok(()) = encode::write_bool(&mut self.bytes, *truth);
            }
            (Data::Number(number), _) => number_to(number, &mut self.bytes),
            (Data::String(text), _) => {
                let Ok(()) = encode::write_str(&mut self.bytes, text);
            }
            (Data::List(_, items) | Data::Set(_, items), Type::List(element) | Type::Set(element)) => {
                self.items(items, |_| Some(element))?;
            }
            (Data::Tuple(items), Type::Tuple(types)) => self.items(items, |at| types.get(at))?,
            (Data::Map(_, entries), Type::Map(element)) => {
                self.entries(
                    entries,
                    |_| Some(element),
                    |name| PathStep::Index(Data::String(name).into()),
                )?;
            }
            (Data::Object(attrs), Type::Object(object)) => {
                self.entries(
                    attrs,
                    |name| object.get(name).map(|attr| &attr.ty),
                    PathStep::Attr,
                )?;
            }
            _ => {
                let Ok(()) = encode::write_nil(&mut self.bytes);
            }
        }
        Ok(())
    }

    fn length(&self, length: usize) -> Result<u32, WireError> {
        u32::try_from(length).map_err(|_| WireError::at(&self.path, "the value is too long for MessagePack"))
    }

    fn array_length(&mut self, length: usize) -> Result<(), WireError> {
        let length = self.length(length)?;
        let Ok(()) = encode::write_array_len(&mut self.bytes, length).map(drop);
        Ok(())
    }

    fn inside(&mut self, value: &Value, ty: Option<&Type>, step: PathStep) -> Result<(), WireError> {
        self.path.push(step);
        self.value(value, ty.unwrap_or(&Type::Dynamic))?;
        self.path.pop();
        Ok(())
    }

    fn items<'t>(
        &mut self,
        items: &[Value],
        type_of: impl Fn(usize) -> Option<&'t Type>,
    ) -> Result<(), WireError> {
        self.array_length(items.len())?;
        for (at, item) in items.iter().enumerate() {
            self.inside(item, type_of(at), PathStep::Index(Value::number(at)))?;
        }
        Ok(())
    }

    fn entries<'t>(
        &mut self,
        entries: &BTreeMap<Arc<str>, Value>,
        type_of: impl Fn(&str) -> Option<&'t Type>,
        step: fn(Arc<str>) -> PathStep,
    ) -> Result<(), WireError> {
        let length = self.length(entries.len())?;
        let Ok(()) = encode::write_map_len(&mut self.bytes, length).map(drop);
        for (name, item) in entries {
            let Ok(()) = encode::write_str(&mut self.bytes, name);
            self.inside(item, type_of(name), step(name.clone()))?;
        }
        Ok(())
    }

    fn unknown(&mut self, ty: &Type, facts: Option<&Refinement>) -> Result<(), WireError> {
        let payload = facts
            .filter(|_| *ty != Type::Dynamic)
            .map(refinements)
            .unwrap_or_default();
        if payload.is_empty() {
            self.bytes.as_mut_vec().extend_from_slice(&[0xd4, 0, 0]);
            return Ok(());
        }
        let length = self.length(payload.len())?;
        let Ok(()) = encode::write_ext_meta(&mut self.bytes, length, REFINED).map(drop);
        self.bytes.as_mut_vec().extend_from_slice(&payload);
        Ok(())
    }
}

/// A whole number that fits goes out as integer, an exact fraction as f64, anything else as text.
fn number_to(number: &Number, bytes: &mut ByteBuf) {
    if let Some(whole) = number.to_i64() {
        let Ok(()) = encode::write_sint(bytes, whole).map(drop);
    } else if number.is_infinite() {
        let Ok(()) = encode::write_f64(bytes, number.to_f64());
    } else if let Some(exact) = number.to_f64_exact().filter(|_| !number.is_integer()) {
        let Ok(()) = encode::write_f64(bytes, exact);
    } else {
        let Ok(()) = encode::write_str(bytes, &number.to_string());
    }
}

/// The refinement map; empty if there is nothing to tell.
fn refinements(facts: &Refinement) -> Vec<u8> {
    let mut count = 0;
    let mut entries = ByteBuf::new();
    let mut entry = |key: i64, write: &dyn Fn(&mut ByteBuf)| {
        count += 1;
        let Ok(()) = encode::write_sint(&mut entries, key).map(drop);
        write(&mut entries);
    };
    if facts.not_null {
        entry(key::NULLNESS, &|bytes| {
            let Ok(()) = encode::write_bool(bytes, false);
        });
    }
    if let Some(prefix) = facts.prefix.as_deref().filter(|prefix| !prefix.is_empty()) {
        let prefix = shorten(prefix);
        entry(key::PREFIX, &|bytes| {
            let Ok(()) = encode::write_str(bytes, &prefix);
        });
    }
    for (key, bound) in [(key::MIN, &facts.min), (key::MAX, &facts.max)] {
        if let Some(Bound { value, inclusive }) = bound {
            let mut number = ByteBuf::new();
            number_to(value, &mut number);
            if number.as_slice().len() > LONGEST_BOUND {
                continue;
            }
            entry(key, &|bytes| {
                let Ok(()) = encode::write_array_len(bytes, 2).map(drop);
                bytes.as_mut_vec().extend_from_slice(number.as_slice());
                let Ok(()) = encode::write_bool(bytes, *inclusive);
            });
        }
    }
    for (key, length) in [
        (key::LENGTH_MIN, facts.length_min),
        (key::LENGTH_MAX, facts.length_max),
    ] {
        if let Some(length) = length {
            entry(key, &|bytes| {
                let Ok(()) = encode::write_uint(bytes, length).map(drop);
            });
        }
    }
    if count == 0 {
        return Vec::new();
    }
    let mut payload = ByteBuf::new();
    let Ok(()) = encode::write_map_len(&mut payload, count).map(drop);
    payload.as_mut_vec().extend_from_slice(entries.as_slice());
    payload.into_vec()
}

fn shorten(prefix: &str) -> String {
    if prefix.len() <= LONGEST_PREFIX {
        return prefix.to_owned();
    }
    ops::shorten_prefix(prefix, LONGEST_PREFIX - 1)
}
