//! MessagePack to values.

use std::{collections::BTreeMap, sync::Arc};

use rmp::Marker;

use crate::{
    Data, Number, ObjectType, PathStep, Type, Value,
    json::{self, DEPTH_LIMIT, WireError},
    ops,
    room::{Full, Room},
    value::nfc,
};

use super::{REFINED, refinement};

/// How many unknown elements all unknowns of exactly known length may become together. Each costs its sender a few
/// bytes.
const LARGEST_COLLAPSE: u64 = 1 << 18;

/// Reads MessagePack as a value of type `ty`; bytes may be hostile. As in cty, bytes after the value are ignored.
pub fn decode(bytes: &[u8], ty: &Type) -> Result<Value, WireError> {
    decode_within(bytes, ty, Room::of_message())
}

pub(crate) fn decode_within(bytes: &[u8], ty: &Type, room: Room) -> Result<Value, WireError> {
    let mut decoder = Decoder::new(bytes);
    decoder.room = room;
    decoder.value(&ty.without_optional())
}

pub(super) struct Decoder<'b> {
    rest: &'b [u8],
    path: Vec<PathStep>,
    depth: usize,
    spare: u64,
    room: Room,
}

impl<'b> Decoder<'b> {
    pub(super) fn new(bytes: &'b [u8]) -> Self {
        Self {
            rest: bytes,
            path: Vec::new(),
            depth: 0,
            spare: LARGEST_COLLAPSE,
            room: Room::of_message(),
        }
    }

    pub(super) fn fail(&self, message: impl Into<String>) -> WireError {
        WireError::at(&self.path, message)
    }

    /// Takes room for what is about to be made.
    fn reserve(&mut self, take: impl FnOnce(&mut Room) -> Result<(), Full>) -> Result<(), WireError> {
        take(&mut self.room).map_err(|full| self.fail(full.message()))
    }

    fn required(&self, what: &str) -> WireError {
        self.fail(format!("{what} is required"))
    }

    pub(super) fn peek(&self) -> Result<Marker, WireError> {
        self.rest
            .first()
            .map(|byte| Marker::from_u8(*byte))
            .ok_or_else(|| self.fail("the bytes end too early"))
    }

    pub(super) fn marker(&mut self) -> Result<Marker, WireError> {
        let marker = self.peek()?;
        self.take(1)?;
        Ok(marker)
    }

    pub(super) fn take(&mut self, length: usize) -> Result<&'b [u8], WireError> {
        let (taken, rest) = self
            .rest
            .split_at_checked(length)
            .ok_or_else(|| self.fail("the bytes end too early"))?;
        self.rest = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], WireError> {
        self.take(N)?
            .try_into()
            .map_err(|_| self.fail("the bytes end too early"))
    }

    /// An unsigned number of so many bytes.
    pub(super) fn unsigned(&mut self, bytes: usize) -> Result<u64, WireError> {
        Ok(self
            .take(bytes)?
            .iter()
            .fold(0, |number, byte| number << 8 | u64::from(*byte)))
    }

    fn length(&mut self, bytes: usize) -> Result<usize, WireError> {
        self.unsigned(bytes)
            .map(|length| usize::try_from(length).unwrap_or(usize::MAX))
    }

    /// The bytes of a string, or of binary, which Go's library takes for strings too.
    fn text_bytes(&mut self, what: &str) -> Result<&'b [u8], WireError> {
        let length = match self.marker()? {
            Marker::FixStr(length) => usize::from(length),
            Marker::Str8 | Marker::Bin8 => self.length(1)?,
            Marker::Str16 | Marker::Bin16 => self.length(2)?,
            Marker::Str32 | Marker::Bin32 => self.length(4)?,
            _ => return Err(self.required(what)),
        };
        self.take(length)
    }

    pub(super) fn text(&mut self, what: &str) -> Result<&'b str, WireError> {
        let bytes = self.text_bytes(what)?;
        std::str::from_utf8(bytes).map_err(|_| self.fail("text must be UTF-8"))
    }

    fn array_length(&mut self, what: &str) -> Result<usize, WireError> {
        match self.marker()? {
            Marker::FixArray(length) => Ok(usize::from(length)),
            Marker::Array16 => self.length(2),
            Marker::Array32 => self.length(4),
            _ => Err(self.required(what)),
        }
    }

    pub(super) fn map_length(&mut self, what: &str) -> Result<usize, WireError> {
        match self.marker()? {
            Marker::FixMap(length) => Ok(usize::from(length)),
            Marker::Map16 => self.length(2),
            Marker::Map32 => self.length(4),
            _ => Err(self.required(what)),
        }
    }

    pub(super) fn boolean(&mut self) -> Result<bool, WireError> {
        match self.marker()? {
            Marker::True => Ok(true),
            Marker::False => Ok(false),
            _ => Err(self.required("a bool")),
        }
    }

    /// A whole number of any width.
    pub(super) fn integer(&mut self) -> Result<i128, WireError> {
        Ok(match self.marker()? {
            Marker::FixPos(number) => number.into(),
            Marker::FixNeg(number) => number.into(),
            Marker::U8 => self.unsigned(1)?.into(),
            Marker::U16 => self.unsigned(2)?.into(),
            Marker::U32 => self.unsigned(4)?.into(),
            Marker::U64 => self.unsigned(8)?.into(),
            Marker::I8 => i8::from_be_bytes(self.array()?).into(),
            Marker::I16 => i16::from_be_bytes(self.array()?).into(),
            Marker::I32 => i32::from_be_bytes(self.array()?).into(),
            Marker::I64 => i64::from_be_bytes(self.array()?).into(),
            _ => return Err(self.required("a whole number")),
        })
    }

    fn number(&mut self) -> Result<Number, WireError> {
        let number = match self.peek()? {
            Marker::F32 => {
                self.marker()?;
                Number::from_f64(f32::from_be_bytes(self.array()?).into())
            }
            Marker::F64 => {
                self.marker()?;
                Number::from_f64(f64::from_be_bytes(self.array()?))
            }
            Marker::FixPos(_)
            | Marker::FixNeg(_)
            | Marker::U8
            | Marker::U16
            | Marker::U32
            | Marker::U64
            | Marker::I8
            | Marker::I16
            | Marker::I32
            | Marker::I64 => {
                let number = self.integer()?;
                i64::try_from(number)
                    .map(Number::from)
                    .or_else(|_| u64::try_from(number).map(Number::from))
                    .ok()
            }
            _ => Number::parse(self.text("a number")?),
        };
        let number = number.ok_or_else(|| self.required("a number"))?;
        self.reserve(|room| room.number(&number))?;
        Ok(number)
    }

    /// Reads what stands one step further in.
    fn inside(&mut self, step: PathStep, ty: &Type) -> Result<Value, WireError> {
        self.deeper()?;
        self.path.push(step);
        let value = self.value(ty)?;
        self.path.pop();
        self.depth -= 1;
        Ok(value)
    }

    fn deeper(&mut self) -> Result<(), WireError> {
        if self.depth >= DEPTH_LIMIT {
            return Err(self.fail("the value is nested too deeply"));
        }
        self.depth += 1;
        Ok(())
    }

    pub(super) fn value(&mut self, ty: &Type) -> Result<Value, WireError> {
        match self.peek()? {
            Marker::FixExt1
            | Marker::FixExt2
            | Marker::FixExt4
            | Marker::FixExt8
            | Marker::FixExt16
            | Marker::Ext8
            | Marker::Ext16
            | Marker::Ext32 => return self.unknown(ty),
            Marker::Null => {
                self.marker()?;
                return Ok(Value::null(ty.clone()));
            }
            _ => {}
        }
        match ty {
            Type::Dynamic => self.dynamic(),
            Type::Bool => self.boolean().map(Value::bool),
            Type::Number => self.number().map(Value::number),
            Type::String => {
                let text = self.text("a string")?;
                self.reserve(|room| room.text(text))?;
                Ok(Value::string(text))
            }
            Type::List(element) => {
                let items = self.items(element, "a list")?;
                if items.is_empty() {
                    Some(Value::empty(ty))
                } else {
                    ops::list_of(items)
                }
                .ok_or_else(|| self.mixed())
            }
            Type::Set(element) => {
                let items = self.items(element, "a set")?;
                if items.is_empty() {
                    Some(Value::empty(ty))
                } else {
                    ops::set_of(items)
                }
                .ok_or_else(|| self.mixed())
            }
            Type::Map(element) => self.map(element),
            Type::Tuple(types) => self.tuple(types),
            Type::Object(object) => self.object(object),
        }
    }

    fn mixed(&self) -> WireError {
        self.fail("all elements must have the same type")
    }

    fn items(&mut self, element: &Type, what: &str) -> Result<Vec<Value>, WireError> {
        let length = self.array_length(what)?;
        // Each element takes at least one byte: a declared length beyond that claims no memory.
        let most = length.min(self.rest.len());
        self.reserve(|room| room.container().and_then(|()| room.elements(most)))?;
        let mut items = Vec::with_capacity(most);
        for at in 0..length {
            items.push(self.inside(PathStep::Index(Value::number(at)), element)?);
        }
        Ok(items)
    }

    fn map(&mut self, element: &Type) -> Result<Value, WireError> {
        let length = self.map_length("a map")?;
        self.reserve(Room::container)?;
        let mut entries = BTreeMap::new();
        for count in 0..length {
            let key = nfc(self.text("a string as key")?);
            self.reserve(|room| room.entry(count, &key))?;
            let value = self.inside(PathStep::Index(Data::String(key.clone()).into()), element)?;
            entries.insert(key, value);
        }
        if entries.is_empty() {
            return Ok(Value::map_of(element.clone(), entries));
        }
        ops::map_of(entries).ok_or_else(|| self.mixed())
    }

    fn tuple(&mut self, types: &[Type]) -> Result<Value, WireError> {
        let length = self.array_length("a tuple")?;
        if length != types.len() {
            return Err(self.required(&format!("a tuple of length {}", types.len())));
        }
        let most = length.min(self.rest.len());
        self.reserve(|room| room.container().and_then(|()| room.elements(most)))?;
        let mut items = Vec::with_capacity(most);
        for (at, ty) in types.iter().enumerate() {
            items.push(self.inside(PathStep::Index(Value::number(at)), ty)?);
        }
        Ok(Value::tuple(items))
    }

    fn object(&mut self, object: &ObjectType) -> Result<Value, WireError> {
        let length = self.map_length("an object")?;
        if length != object.attrs().len() {
            let want = object.attrs().len();
            return Err(self.fail(format!(
                "an object with {want} attributes is required, but {length} are given"
            )));
        }
        self.reserve(|room| room.container().and_then(|()| room.attributes(length)))?;
        let mut attrs: BTreeMap<Arc<str>, Value> = BTreeMap::new();
        for _ in 0..length {
            let name = self.text("a string as key")?;
            // Names are compared as they are written, before normalisation.
            let Some(attr) = object.get(name) else {
                return Err(self.fail(format!("there is no attribute named {name:?}")));
            };
            let value = self.inside(PathStep::Attr(attr.name.clone()), &attr.ty)?;
            attrs.insert(attr.name.clone(), value);
        }
        if attrs.len() < length {
            return Err(self.fail("an attribute is given twice, another is missing"));
        }
        Ok(Value::object_of(attrs))
    }

    fn dynamic(&mut self) -> Result<Value, WireError> {
        if self.array_length("an array of type and value")? != 2 {
            return Err(self.required("an array of type and value"));
        }
        let text = self.text_bytes("the type's description")?;
        self.reserve(|room| room.described(text))?;
        let ty = json::type_from_text(text).map_err(|error| self.fail(error.message))?;
        self.deeper()?;
        let value = self.value(&ty.without_optional())?;
        self.depth -= 1;
        Ok(value)
    }

    /// Any extension is an unknown value; what an extension other than 12 holds does not matter.
    fn unknown(&mut self, ty: &Type) -> Result<Value, WireError> {
        let (kind, payload) = self.extension()?;
        if kind != REFINED || payload.len() <= 1 {
            return Ok(Value::unknown(ty.clone()));
        }
        self.reserve(|room| room.facts(payload.len()))?;
        let (value, collapsed) = refinement::read(payload, ty).map_err(|error| self.fail(error.message))?;
        self.spare = self
            .spare
            .checked_sub(collapsed)
            .ok_or_else(|| self.fail("unknown lists of known length have too many elements together"))?;
        self.reserve(|room| room.elements(usize::try_from(collapsed).unwrap_or(usize::MAX)))?;
        Ok(value)
    }

    /// The type and content of an extension.
    fn extension(&mut self) -> Result<(i8, &'b [u8]), WireError> {
        let length = match self.marker()? {
            Marker::FixExt1 => 1,
            Marker::FixExt2 => 2,
            Marker::FixExt4 => 4,
            Marker::FixExt8 => 8,
            Marker::FixExt16 => 16,
            Marker::Ext8 => self.length(1)?,
            Marker::Ext16 => self.length(2)?,
            Marker::Ext32 => self.length(4)?,
            _ => return Err(self.required("an extension")),
        };
        let kind = i8::from_be_bytes(self.array()?);
        Ok((kind, self.take(length)?))
    }

    /// Steps over a value of any kind. Needs no stack, however deep.
    pub(super) fn skip(&mut self) -> Result<(), WireError> {
        let mut left: u64 = 1;
        while left > 0 {
            left -= 1;
            let length = match self.peek()? {
                Marker::FixStr(_)
                | Marker::Str8
                | Marker::Str16
                | Marker::Str32
                | Marker::Bin8
                | Marker::Bin16
                | Marker::Bin32 => {
                    self.text_bytes("text")?;
                    continue;
                }
                Marker::FixArray(_) | Marker::Array16 | Marker::Array32 => {
                    left += self.array_length("an array")? as u64;
                    continue;
                }
                Marker::FixMap(_) | Marker::Map16 | Marker::Map32 => {
                    left += 2 * self.map_length("a map")? as u64;
                    continue;
                }
                Marker::FixExt1
                | Marker::FixExt2
                | Marker::FixExt4
                | Marker::FixExt8
                | Marker::FixExt16
                | Marker::Ext8
                | Marker::Ext16
                | Marker::Ext32 => {
                    self.extension()?;
                    continue;
                }
                Marker::FixPos(_) | Marker::FixNeg(_) | Marker::Null | Marker::True | Marker::False => 1,
                Marker::U8 | Marker::I8 => 2,
                Marker::U16 | Marker::I16 => 3,
                Marker::U32 | Marker::I32 | Marker::F32 => 5,
                Marker::U64 | Marker::I64 | Marker::F64 => 9,
                Marker::Reserved => return Err(self.fail("there is an invalid byte")),
            };
            self.take(length)?;
        }
        Ok(())
    }
}
