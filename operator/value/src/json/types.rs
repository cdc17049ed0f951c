//! The JSON form of types: `"string"`, `["list",T]`, `["object",{name:T},[optional names]]`, `["tuple",[T]]`.

use std::collections::BTreeSet;

use crate::{ObjectAttr, ObjectType, Type, value::nfc};

use super::{
    DEPTH_LIMIT, WireError,
    encode::quote,
    reader::{Fault, Reader, Start},
};

/// Writes a type in cty's JSON form.
pub fn type_to_json(ty: &Type) -> serde_json::Value {
    use serde_json::{Value, json};
    match ty {
        Type::Dynamic => json!("dynamic"),
        Type::Bool => json!("bool"),
        Type::Number => json!("number"),
        Type::String => json!("string"),
        Type::List(element) => json!(["list", type_to_json(element)]),
        Type::Set(element) => json!(["set", type_to_json(element)]),
        Type::Map(element) => json!(["map", type_to_json(element)]),
        Type::Tuple(items) => json!(["tuple", items.iter().map(type_to_json).collect::<Vec<_>>()]),
        Type::Object(object) => {
            let attrs = object
                .attrs()
                .iter()
                .map(|attr| (attr.name.to_string(), type_to_json(&attr.ty)));
            let mut parts = vec![json!("object"), Value::Object(attrs.collect())];
            let optional = optional_names(object);
            if !optional.is_empty() {
                parts.push(json!(optional));
            }
            Value::Array(parts)
        }
    }
}

fn optional_names(object: &ObjectType) -> Vec<&str> {
    object
        .attrs()
        .iter()
        .filter(|attr| attr.optional)
        .map(|attr| &*attr.name)
        .collect()
}

/// Writes a type in cty's JSON form, byte for byte as go-cty does: attributes by name, no white space.
pub fn type_to_text(ty: &Type) -> String {
    let mut text = String::new();
    write_type(ty, &mut text);
    text
}

pub(super) fn write_type(ty: &Type, to: &mut String) {
    match ty {
        Type::Dynamic => to.push_str("\"dynamic\""),
        Type::Bool => to.push_str("\"bool\""),
        Type::Number => to.push_str("\"number\""),
        Type::String => to.push_str("\"string\""),
        Type::List(element) => write_collection("list", element, to),
        Type::Set(element) => write_collection("set", element, to),
        Type::Map(element) => write_collection("map", element, to),
        Type::Tuple(items) => {
            to.push_str("[\"tuple\",[");
            for (at, item) in items.iter().enumerate() {
                to.push_str(if at > 0 { "," } else { "" });
                write_type(item, to);
            }
            to.push_str("]]");
        }
        Type::Object(object) => {
            to.push_str("[\"object\",{");
            for (at, attr) in object.attrs().iter().enumerate() {
                to.push_str(if at > 0 { "," } else { "" });
                quote(&attr.name, to);
                to.push(':');
                write_type(&attr.ty, to);
            }
            to.push('}');
            let optional = optional_names(object);
            if !optional.is_empty() {
                to.push_str(",[");
                for (at, name) in optional.into_iter().enumerate() {
                    to.push_str(if at > 0 { "," } else { "" });
                    quote(name, to);
                }
                to.push(']');
            }
            to.push(']');
        }
    }
}

fn write_collection(kind: &str, element: &Type, to: &mut String) {
    to.push_str("[\"");
    to.push_str(kind);
    to.push_str("\",");
    write_type(element, to);
    to.push(']');
}

/// Reads a type from cty's JSON form.
pub fn type_from_json(json: &serde_json::Value) -> Result<Type, WireError> {
    type_from_text(json.to_string().as_bytes())
}

/// Reads a type from the text of cty's JSON form; the text may be hostile.
pub fn type_from_text(text: &[u8]) -> Result<Type, WireError> {
    let read = || -> Result<Type, Fault> {
        let mut reader = Reader::new(text)?;
        let ty = read_type(&mut reader, 0)?;
        reader.finish()?;
        Ok(ty)
    };
    read().map_err(|fault| WireError::at(&[], fault))
}

const INVALID: Fault = "the description of a type is invalid";

fn read_type(reader: &mut Reader, depth: usize) -> Result<Type, Fault> {
    if depth >= DEPTH_LIMIT {
        return Err("the description of a type is nested too deeply");
    }
    match reader.start()? {
        Start::String => match &*reader.string()? {
            "bool" => Ok(Type::Bool),
            "number" => Ok(Type::Number),
            "string" => Ok(Type::String),
            "dynamic" => Ok(Type::Dynamic),
            _ => Err("there is no primitive type of this name"),
        },
        Start::Array => {
            reader.open();
            reader.start()?;
            let kind = reader.string()?;
            expect(reader, b',')?;
            let ty = match &*kind {
                "list" => Type::list(read_type(reader, depth + 1)?),
                "set" => Type::set(read_type(reader, depth + 1)?),
                "map" => Type::map(read_type(reader, depth + 1)?),
                "tuple" => Type::tuple(read_types(reader, depth + 1)?),
                "object" => read_object(reader, depth + 1)?,
                _ => return Err("there is no kind of type of this name"),
            };
            expect(reader, b']')?;
            Ok(ty)
        }
        _ => Err(INVALID),
    }
}

fn expect(reader: &mut Reader, byte: u8) -> Result<(), Fault> {
    if reader.take(byte) { Ok(()) } else { Err(INVALID) }
}

fn read_types(reader: &mut Reader, depth: usize) -> Result<Vec<Type>, Fault> {
    if reader.start()? != Start::Array {
        return Err(INVALID);
    }
    reader.open();
    let mut types = Vec::new();
    while reader.more(types.len(), b']')? {
        types.push(read_type(reader, depth)?);
    }
    Ok(types)
}

fn read_object(reader: &mut Reader, depth: usize) -> Result<Type, Fault> {
    if reader.start()? != Start::Object {
        return Err(INVALID);
    }
    reader.open();
    let mut attrs = Vec::new();
    while reader.more(attrs.len(), b'}')? {
        let name = nfc(&reader.key()?);
        attrs.push(ObjectAttr {
            name,
            ty: read_type(reader, depth)?,
            optional: false,
        });
    }
    if reader.take(b',') {
        let optional = read_names(reader)?;
        for attr in &mut attrs {
            attr.optional = optional.contains(&attr.name);
        }
        let names: BTreeSet<_> = attrs.iter().map(|attr| &attr.name).collect();
        if optional.iter().any(|name| !names.contains(name)) {
            return Err("an optional attribute is not among the attributes of the object type");
        }
    }
    Ok(Type::Object(ObjectType::new(attrs).into()))
}

fn read_names(reader: &mut Reader) -> Result<BTreeSet<std::sync::Arc<str>>, Fault> {
    if reader.start()? != Start::Array {
        return Err(INVALID);
    }
    reader.open();
    let mut names = BTreeSet::new();
    let mut count = 0;
    while reader.more(count, b']')? {
        count += 1;
        names.insert(nfc(&reader.string()?));
    }
    Ok(names)
}
