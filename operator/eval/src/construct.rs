//! Object constructors.
//!
//! Rules: hcl `ObjectConsExpr` and `ObjectConsKeyExpr`. Marks of keys go to the whole object; of equal keys the last one
//! counts; an unknown key makes the whole object unknown, even its type.

use std::{collections::BTreeMap, sync::Arc};

use ashlar_diag::{Diag, Diags};
use ashlar_syntax::{ExprKind, ObjectItem, ObjectKey};
use ashlar_value::{Marks, Type, Value, convert};

use crate::evaluate::{Eval, Frame};

impl Eval<'_> {
    pub(crate) fn object(&self, items: &[ObjectItem], frame: &Frame<'_>, diags: &mut Diags) -> Value {
        let mut entries: BTreeMap<Arc<str>, Value> = BTreeMap::new();
        let mut marks = Marks::NONE;
        let mut known = true;
        for item in items {
            let mut key_diags = Diags::new();
            let key = self.object_key(&item.key, frame, &mut key_diags);
            let failed = key_diags.has_errors();
            diags.extend(key_diags);
            let value = self.expr(&item.value, frame, diags);
            if failed {
                known = false;
                continue;
            }
            if key.is_null() {
                diags.push(Diag::error("Null value as key", "A key cannot be null.").at(item.value.span));
                known = false;
                continue;
            }
            let (key, key_marks) = key.unmark();
            marks = marks.union(key_marks);
            match convert(&key, &Type::String) {
                Ok(key) => match key.as_str() {
                    Some(name) => {
                        entries.insert(name.clone(), value);
                    }
                    None => known = false,
                },
                Err(error) => {
                    let detail = format!("This value cannot be a key: {}.", error.message);
                    diags.push(Diag::error("Incorrect key type", detail).at(item.key.expr.span));
                    known = false;
                }
            }
        }
        if known {
            Value::object_of(entries).with_marks(marks)
        } else {
            Value::dynamic()
        }
    }

    fn object_key(&self, key: &ObjectKey, frame: &Frame<'_>, diags: &mut Diags) -> Value {
        if !key.forced {
            if let ExprKind::Traversal(traversal) = &key.expr.kind
                && !traversal.steps.is_empty()
            {
                let detail = "To use the value of a reference as key, put it in parentheses. For a key with periods in its \
                              name, put it in quotes.";
                diags.push(Diag::error("Ambiguous attribute key", detail).at(key.expr.span));
                return Value::dynamic();
            }
            if let Some(word) = key.keyword() {
                return Value::string(word);
            }
        }
        self.expr(&key.expr, frame, diags)
    }
}
