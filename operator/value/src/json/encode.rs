//! Values to JSON.

use std::{collections::BTreeMap, fmt::Write, sync::Arc};

use crate::{Data, PathStep, Type, Value, ops};

use super::{DEPTH_LIMIT, WireError, types};

/// Writes a wholly known value as JSON of type `ty` (dynamic places as `{"value":…,"type":…}`), converting it first if
/// it is of another type. Marks are dropped. Fails for unknown values and infinities.
pub fn encode(value: &Value, ty: &Type) -> Result<Vec<u8>, WireError> {
    let value = to_type(value, ty)?;
    let mut encoder = Encoder {
        text: String::new(),
        path: Vec::new(),
    };
    encoder.value(&value, ty)?;
    Ok(encoder.text.into_bytes())
}

/// The value, converted if it does not conform to the type.
pub(crate) fn to_type(value: &Value, ty: &Type) -> Result<Value, WireError> {
    if ops::conforms(&value.ty(), ty) {
        return Ok(value.clone());
    }
    crate::convert(value, ty).map_err(|error| WireError {
        path: error.path,
        message: error.message,
    })
}

struct Encoder {
    text: String,
    path: Vec<PathStep>,
}

impl Encoder {
    fn value(&mut self, value: &Value, ty: &Type) -> Result<(), WireError> {
        if !value.is_known() {
            return Err(WireError::at(&self.path, "the value is not known yet"));
        }
        if self.path.len() > DEPTH_LIMIT {
            return Err(WireError::at(&self.path, "the value is nested too deeply"));
        }
        if *ty == Type::Dynamic && !matches!(value.data(), Data::Null(Type::Dynamic)) {
            let own = value.ty();
            self.text.push_str("{\"value\":");
            self.value(value, &own)?;
            self.text.push_str(",\"type\":");
            types::write_type(&own, &mut self.text);
            self.text.push('}');
            return Ok(());
        }
        match (value.data(), ty) {
            (Data::Bool(truth), _) => self.text.push_str(if *truth { "true" } else { "false" }),
            (Data::Number(number), _) if number.is_infinite() => {
                return Err(WireError::at(&self.path, "JSON has no infinite numbers"));
            }
            (Data::Number(number), _) => {
                // Writing to a String cannot fail.
                let _ = write!(self.text, "{number}");
            }
            (Data::String(text), _) => quote(text, &mut self.text),
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
            _ => self.text.push_str("null"),
        }
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
        self.text.push('[');
        for (at, item) in items.iter().enumerate() {
            if at > 0 {
                self.text.push(',');
            }
            self.inside(item, type_of(at), PathStep::Index(Value::number(at)))?;
        }
        self.text.push(']');
        Ok(())
    }

    fn entries<'t>(
        &mut self,
        entries: &BTreeMap<Arc<str>, Value>,
        type_of: impl Fn(&str) -> Option<&'t Type>,
        step: fn(Arc<str>) -> PathStep,
    ) -> Result<(), WireError> {
        self.text.push('{');
        for (at, (name, item)) in entries.iter().enumerate() {
            if at > 0 {
                self.text.push(',');
            }
            quote(name, &mut self.text);
            self.text.push(':');
            self.inside(item, type_of(name), step(name.clone()))?;
        }
        self.text.push('}');
        Ok(())
    }
}

/// Writes text as Go's `encoding/json` quotes it: `<`, `>`, `&` and the two line separators are escaped too.
pub(crate) fn quote(text: &str, to: &mut String) {
    to.push('"');
    for c in text.chars() {
        match c {
            '"' => to.push_str("\\\""),
            '\\' => to.push_str("\\\\"),
            '\x08' => to.push_str("\\b"),
            '\x0c' => to.push_str("\\f"),
            '\n' => to.push_str("\\n"),
            '\r' => to.push_str("\\r"),
            '\t' => to.push_str("\\t"),
            '\0'..='\x1f' | '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                // Writing to a String cannot fail.
                let _ = write!(to, "\\u{:04x}", u32::from(c));
            }
            _ => to.push(c),
        }
    }
    to.push('"');
}
