//! JSON to values.

use std::{collections::BTreeMap, sync::Arc};

use crate::{
    Data, Number, ObjectType, PathStep, Type, Value, ops,
    room::{Full, Room},
    value::nfc,
};

use super::{
    DEPTH_LIMIT, WireError,
    reader::{Fault, Reader, Start},
    types,
};

/// Reads JSON as a value of type `ty`. A dynamic place holds `{"value":…,"type":…}`; primitives are converted to each
/// other where that is certain; object attributes may be left out and are null then.
pub fn decode(json: &[u8], ty: &Type) -> Result<Value, WireError> {
    decode_within(json, ty, Room::of_text())
}

pub(crate) fn decode_within(json: &[u8], ty: &Type, room: Room) -> Result<Value, WireError> {
    let ty = ty.without_optional();
    whole(json, room, |decoder| decoder.value(&ty))
}

/// Reads JSON without a type: objects, tuples, primitives (what `jsondecode` gives). Nulls are of dynamic type.
pub fn decode_implied(json: &[u8]) -> Result<Value, WireError> {
    whole(json, Room::of_text(), Decoder::implied)
}

fn whole<'t>(
    json: &'t [u8],
    room: Room,
    read: impl FnOnce(&mut Decoder<'t>) -> Result<Value, WireError>,
) -> Result<Value, WireError> {
    let reader = Reader::new(json).map_err(|fault| WireError::at(&[], fault))?;
    let mut decoder = Decoder {
        reader,
        path: Vec::new(),
        depth: 0,
        room,
    };
    let value = read(&mut decoder)?;
    decoder
        .reader
        .finish()
        .map_err(|fault| WireError::at(&[], fault))?;
    Ok(value)
}

struct Decoder<'t> {
    reader: Reader<'t>,
    path: Vec<PathStep>,
    depth: usize,
    room: Room,
}

impl<'t> Decoder<'t> {
    fn fail(&self, message: impl Into<String>) -> WireError {
        WireError::at(&self.path, message)
    }

    /// Takes room for what is about to be kept.
    fn reserve(&mut self, take: impl FnOnce(&mut Room) -> Result<(), Full>) -> Result<(), WireError> {
        take(&mut self.room).map_err(|full| self.fail(full.message()))
    }

    fn read<T>(&mut self, read: impl FnOnce(&mut Reader<'t>) -> Result<T, Fault>) -> Result<T, WireError> {
        read(&mut self.reader).map_err(|fault| WireError::at(&self.path, fault))
    }

    /// Reads what stands one step further in.
    fn inside(
        &mut self,
        step: PathStep,
        read: impl FnOnce(&mut Self) -> Result<Value, WireError>,
    ) -> Result<Value, WireError> {
        if self.depth >= DEPTH_LIMIT {
            return Err(self.fail("the value is nested too deeply"));
        }
        self.depth += 1;
        self.path.push(step);
        let value = read(self)?;
        self.path.pop();
        self.depth -= 1;
        Ok(value)
    }

    fn value(&mut self, ty: &Type) -> Result<Value, WireError> {
        let start = self.read(Reader::start)?;
        if start == Start::Null {
            self.read(|reader| reader.word(start))?;
            return Ok(Value::null(ty.clone()));
        }
        match ty {
            Type::Dynamic => self.dynamic(start),
            Type::Bool | Type::Number | Type::String => self.primitive(ty, start),
            Type::List(element) | Type::Set(element) => self.sequence(ty, element, start),
            Type::Map(element) => self.map(element, start),
            Type::Tuple(types) => self.tuple(types, start),
            Type::Object(object) => self.object(object, start),
        }
    }

    fn primitive(&mut self, ty: &Type, start: Start) -> Result<Value, WireError> {
        let value = match (start, ty) {
            (Start::True | Start::False, Type::Bool | Type::String) => {
                self.read(|reader| reader.word(start))?;
                let truth = start == Start::True;
                Some(if *ty == Type::Bool {
                    Value::bool(truth)
                } else {
                    Value::string(if truth { "true" } else { "false" })
                })
            }
            (Start::Number, Type::String) => Some(Value::string(self.read(Reader::number)?)),
            (Start::Number, Type::Number) => Number::parse(self.read(Reader::number)?).map(Value::number),
            (Start::String, Type::String) => Some(Value::string(self.read(Reader::string)?)),
            (Start::String, Type::Number) => Number::parse(&self.read(Reader::string)?).map(Value::number),
            (Start::String, Type::Bool) => match &*self.read(Reader::string)? {
                "true" | "1" => Some(Value::bool(true)),
                "false" | "0" => Some(Value::bool(false)),
                _ => None,
            },
            _ => None,
        };
        let value = value.ok_or_else(|| self.fail(format!("a {} is required", ty.friendly_name())))?;
        self.reserve(|room| match value.data() {
            Data::String(text) => room.text(text),
            Data::Number(number) => room.number(number),
            _ => Ok(()),
        })?;
        Ok(value)
    }

    fn open(&mut self, start: Start, want: Start, what: &str) -> Result<(), WireError> {
        if start != want {
            return Err(self.fail(format!("{what} is required")));
        }
        self.reader.open();
        Ok(())
    }

    /// Opens what becomes a value with others inside.
    fn open_container(&mut self, start: Start, want: Start, what: &str) -> Result<(), WireError> {
        self.open(start, want, what)?;
        self.reserve(Room::container)
    }

    fn sequence(&mut self, ty: &Type, element: &Type, start: Start) -> Result<Value, WireError> {
        let is_set = matches!(ty, Type::Set(_));
        self.open_container(start, Start::Array, if is_set { "a set" } else { "a list" })?;
        let mut items = Vec::new();
        while self.read(|reader| reader.more(items.len(), b']'))? {
            let step = PathStep::Index(if is_set {
                Value::unknown(element.clone())
            } else {
                Value::number(items.len())
            });
            self.reserve(|room| room.elements(1))?;
            items.push(self.inside(step, |decoder| decoder.value(element))?);
        }
        if items.is_empty() {
            return Ok(Value::empty(ty));
        }
        if is_set {
            ops::set_of(items)
        } else {
            ops::list_of(items)
        }
        .ok_or_else(|| self.mixed())
    }

    fn mixed(&self) -> WireError {
        self.fail("all elements must have the same type")
    }

    fn map(&mut self, element: &Type, start: Start) -> Result<Value, WireError> {
        self.open_container(start, Start::Object, "a map")?;
        let mut entries = BTreeMap::new();
        let mut count = 0;
        while self.read(|reader| reader.more(count, b'}'))? {
            let key = nfc(&self.read(Reader::key)?);
            self.reserve(|room| room.entry(count, &key))?;
            count += 1;
            let step = PathStep::Index(Data::String(key.clone()).into());
            let value = self.inside(step, |decoder| decoder.value(element))?;
            entries.insert(key, value);
        }
        if entries.is_empty() {
            return Ok(Value::map_of(element.clone(), entries));
        }
        ops::map_of(entries).ok_or_else(|| self.mixed())
    }

    fn tuple(&mut self, types: &[Type], start: Start) -> Result<Value, WireError> {
        self.open_container(start, Start::Array, "a tuple")?;
        let mut items = Vec::new();
        while self.read(|reader| reader.more(items.len(), b']'))? {
            let Some(ty) = types.get(items.len()) else {
                return Err(self.fail(format!("the tuple has too many elements (need {})", types.len())));
            };
            let step = PathStep::Index(Value::number(items.len()));
            self.reserve(|room| room.elements(1))?;
            items.push(self.inside(step, |decoder| decoder.value(ty))?);
        }
        if items.len() < types.len() {
            return Err(self.fail(format!(
                "the tuple has not enough elements (need {})",
                types.len()
            )));
        }
        Ok(Value::tuple(items))
    }

    fn object(&mut self, object: &ObjectType, start: Start) -> Result<Value, WireError> {
        self.open_container(start, Start::Object, "an object")?;
        self.reserve(|room| room.attributes(object.attrs().len()))?;
        let mut attrs: BTreeMap<Arc<str>, Value> = BTreeMap::new();
        let mut count = 0;
        while self.read(|reader| reader.more(count, b'}'))? {
            count += 1;
            let name = self.read(Reader::key)?;
            // Names are compared as they are written, before normalisation.
            let Some(attr) = object.get(&name) else {
                return Err(self.fail(format!("there is no attribute named {name:?}")));
            };
            let value = self.inside(PathStep::Attr(attr.name.clone()), |decoder| {
                decoder.value(&attr.ty)
            })?;
            attrs.insert(attr.name.clone(), value);
        }
        for attr in object.attrs() {
            attrs
                .entry(attr.name.clone())
                .or_insert_with(|| Value::null(attr.ty.clone()));
        }
        Ok(Value::object_of(attrs))
    }

    fn dynamic(&mut self, start: Start) -> Result<Value, WireError> {
        self.open(start, Start::Object, "an object with \"value\" and \"type\"")?;
        let (mut ty, mut body) = (None, None);
        let mut count = 0;
        while self.read(|reader| reader.more(count, b'}'))? {
            count += 1;
            let key = self.read(Reader::key)?;
            // The type may come second, so the value waits as text.
            let text = self.read(Reader::skip)?;
            match &*key {
                "type" => {
                    self.reserve(|room| room.described(text.as_bytes()))?;
                    let read =
                        types::type_from_text(text.as_bytes()).map_err(|error| self.fail(error.message))?;
                    ty = Some(read.without_optional());
                }
                "value" => body = Some(text),
                _ => return Err(self.fail("a dynamic value has only \"value\" and \"type\"")),
            }
        }
        let ty = ty.ok_or_else(|| self.fail("the dynamic value has no type"))?;
        let body = body.ok_or_else(|| self.fail("the dynamic value has no value"))?;
        if self.depth >= DEPTH_LIMIT {
            return Err(self.fail("the value is nested too deeply"));
        }
        let reader = Reader::new(body.as_bytes()).map_err(|fault| self.fail(fault))?;
        let mut inner = Decoder {
            reader,
            path: self.path.clone(),
            depth: self.depth + 1,
            // What is left is this value's, and then the next one's.
            room: std::mem::replace(&mut self.room, Room::of(0)),
        };
        let value = inner.value(&ty)?;
        self.room = inner.room;
        Ok(value)
    }

    fn implied(&mut self) -> Result<Value, WireError> {
        let start = self.read(Reader::start)?;
        match start {
            Start::Null => self
                .read(|reader| reader.word(start))
                .map(|()| Value::null(Type::Dynamic)),
            Start::True | Start::False => self.primitive(&Type::Bool, start),
            Start::Number => self.primitive(&Type::Number, start),
            Start::String => self.primitive(&Type::String, start),
            Start::Array => {
                self.reserve(Room::container)?;
                self.reader.open();
                let mut items = Vec::new();
                while self.read(|reader| reader.more(items.len(), b']'))? {
                    self.reserve(|room| room.elements(1))?;
                    let step = PathStep::Index(Value::number(items.len()));
                    items.push(self.inside(step, Self::implied)?);
                }
                Ok(Value::tuple(items))
            }
            Start::Object => self.implied_object(),
        }
    }

    fn implied_object(&mut self) -> Result<Value, WireError> {
        self.reserve(Room::container)?;
        self.reader.open();
        let mut attrs: BTreeMap<Arc<str>, Value> = BTreeMap::new();
        let mut count = 0;
        while self.read(|reader| reader.more(count, b'}'))? {
            let written = self.read(Reader::key)?;
            let name = nfc(&written);
            self.reserve(|room| room.entry(count, &name))?;
            count += 1;
            if *name != *written {
                // cty looks the key up as written among names in NFC, and finds nothing.
                return Err(self.fail(format!(
                    "the property name {written:?} is not in Unicode form NFC"
                )));
            }
            let value = self.inside(PathStep::Attr(name.clone()), Self::implied)?;
            if let Some(before) = attrs.get(&name)
                && before.ty() != value.ty()
            {
                return Err(self.fail(format!("the property {name:?} is given twice")));
            }
            attrs.insert(name, value);
        }
        Ok(Value::object_of(attrs))
    }
}
