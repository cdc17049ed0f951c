//! Strings and objects of configuration in JSON.
//!
//! Rules: hcl `json/structure.go`. Where nothing but constants can stand, a string is its own text; elsewhere it is a
//! template, and so are the keys of objects, of which no two may be equal.

use std::{collections::BTreeMap, sync::Arc};

use ashlar_diag::{Diag, Diags};
use ashlar_syntax::{JsonObject, JsonString};
use ashlar_value::{Marks, Type, Value, convert};

use crate::evaluate::{Eval, Frame, Root};

impl Eval<'_> {
    pub(crate) fn json_string(&self, string: &JsonString, frame: &Frame<'_>, diags: &mut Diags) -> Value {
        let template = match self.root {
            Root::Constant => Ok(None),
            Root::Module { .. } | Root::Plain { .. } => string.template(),
        };
        match template {
            Ok(None) => Value::string(string.text()),
            Ok(Some(expr)) => self.expr(expr, frame, diags),
            Err(faults) => {
                diags.extend(faults.iter().cloned());
                Value::dynamic()
            }
        }
    }

    pub(crate) fn json_object(&self, object: &JsonObject, frame: &Frame<'_>, diags: &mut Diags) -> Value {
        let mut entries: BTreeMap<Arc<str>, Value> = BTreeMap::new();
        let mut marks = Marks::NONE;
        let mut known = true;
        for item in &object.items {
            let at = item.key.span;
            let (key, key_marks) = self.expr(&item.key, frame, diags).unmark();
            marks = marks.union(key_marks);
            let value = self.expr(&item.value, frame, diags);
            let why = match convert(&key, &Type::String) {
                Ok(key) if key.is_null() => "a key cannot be null".to_owned(),
                Ok(key) => {
                    match key.as_str() {
                        None => known = false,
                        Some(name) if entries.contains_key(name) => {
                            let detail = format!("The object has the key {:?} twice.", &**name);
                            diags.push(Diag::error("Duplicate object attribute", detail).at(at));
                        }
                        Some(name) => {
                            entries.insert(name.clone(), value);
                        }
                    }
                    continue;
                }
                Err(error) => error.message,
            };
            let detail = format!("This value cannot be a key: {why}.");
            diags.push(Diag::error("Invalid object key expression", detail).at(at));
        }
        if known {
            Value::object_of(entries).with_marks(marks)
        } else {
            Value::dynamic()
        }
    }
}
