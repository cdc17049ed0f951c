//! `[for …]` and `{for …}`.
//!
//! Rules: hcl `ForExpr`. Marks of collection, conditions and keys gather on the result, those of values stay on the
//! elements. An unknown condition or key makes the result unknown, even its type, but the rest is still looked through
//! for faults.

use std::{collections::BTreeMap, sync::Arc};

use ashlar_diag::{Diag, Diags};
use ashlar_syntax::{Expr, For};
use ashlar_value::{Data, Marks, Type, Value, convert, ops};

use crate::evaluate::{Binding, Eval, Frame};

const BAD_CONDITION: &str = "Invalid 'for' condition";
const BAD_KEY: &str = "Invalid object key";

/// What came of one condition or key.
enum Step<T> {
    Have(T),
    /// Unknown, or a fault that was told.
    Lost,
}

/// One evaluation of a for expression.
struct Run<'r, 'e> {
    eval: &'r Eval<'e>,
    expr: &'r Expr,
    for_: &'r For,
    marks: Marks,
    known: bool,
}

impl Eval<'_> {
    pub(crate) fn for_expr(&self, expr: &Expr, for_: &For, frame: &Frame<'_>, diags: &mut Diags) -> Value {
        let collection = self.expr(&for_.collection, frame, diags);
        let blame = |summary, detail: String| {
            Diag::error(summary, detail)
                .at(for_.collection.span)
                .within(expr.span)
        };
        if collection.is_null() {
            diags.push(blame(
                "Iteration over null value",
                "A for expression needs a collection, not null.".to_owned(),
            ));
            return Value::dynamic();
        }
        if matches!(collection.data(), Data::Unknown(Type::Dynamic, _)) {
            return Value::dynamic();
        }
        let (collection, marks) = collection.unmark();
        let ty = collection.ty();
        if ty.is_primitive() {
            let detail = format!(
                "A for expression needs a collection; this is a {}.",
                ty.friendly_name()
            );
            diags.push(blame("Iteration over non-iterable value", detail));
            return Value::dynamic();
        }
        let mut run = Run {
            eval: self,
            expr,
            for_,
            marks,
            known: true,
        };
        let condition_marks = match &for_.condition {
            Some(condition) => match run.try_condition(condition, frame, diags) {
                Some(marks) => marks,
                None => return Value::dynamic(),
            },
            None => Marks::NONE,
        };
        if !collection.is_known() {
            return Value::dynamic().with_marks(marks.union(condition_marks));
        }
        match &for_.key {
            Some(key) => run.object(&collection, key, frame, diags),
            None => run.tuple(&collection, frame, diags),
        }
    }
}

impl Run<'_, '_> {
    fn names(&self, key: Value, value: Value) -> Vec<(Arc<str>, Value)> {
        let key = self.for_.key_name.as_ref().map(|name| (name.name.clone(), key));
        key.into_iter()
            .chain([(self.for_.value_name.name.clone(), value)])
            .collect()
    }

    fn blame(&self, summary: &'static str, detail: impl Into<String>, at: &Expr) -> Diag {
        Diag::error(summary, detail).at(at.span).within(self.expr.span)
    }

    /// Tries the condition with unknown names, to tell a wrong type once and not for each element.
    fn try_condition(&self, condition: &Expr, frame: &Frame<'_>, diags: &mut Diags) -> Option<Marks> {
        let names = self.names(Value::dynamic(), Value::dynamic());
        let mut faults = Diags::new();
        let result = self
            .eval
            .expr(condition, &frame.child(Binding::List(&names)), &mut faults);
        let failed = faults.has_errors();
        diags.extend(faults);
        if result.is_null() {
            diags.push(self.blame(
                "Condition is null",
                "The 'if' clause must not be null.",
                condition,
            ));
            return None;
        }
        if let Err(error) = convert(&result, &Type::Bool) {
            let detail = format!("The 'if' clause must be true or false: {}.", error.message);
            diags.push(self.blame(BAD_CONDITION, detail, condition));
            return None;
        }
        (!failed).then(|| result.marks())
    }

    fn condition(&mut self, condition: &Expr, frame: &Frame<'_>, diags: &mut Diags) -> Step<bool> {
        let raw = self.eval.expr(condition, frame, diags);
        if raw.is_null() {
            if self.known {
                diags.push(self.blame(BAD_CONDITION, "The 'if' clause must not be null.", condition));
            }
            return self.lost();
        }
        self.marks = self.marks.union(raw.marks());
        // Where an object is made, hcl looks at the type of what is not known yet.
        if !raw.is_known() && self.for_.key.is_none() {
            return self.lost();
        }
        match convert(&raw, &Type::Bool) {
            Ok(value) => match value.as_bool() {
                Some(truth) => Step::Have(truth),
                None => self.lost(),
            },
            Err(error) => {
                if self.known {
                    let detail = format!("The 'if' clause must be true or false: {}.", error.message);
                    diags.push(self.blame(BAD_CONDITION, detail, condition));
                }
                self.lost()
            }
        }
    }

    fn lost<T>(&mut self) -> Step<T> {
        self.known = false;
        Step::Lost
    }

    fn key(&mut self, key: &Expr, frame: &Frame<'_>, diags: &mut Diags) -> Step<Arc<str>> {
        let raw = self.eval.expr(key, frame, diags);
        if raw.is_null() {
            if self.known {
                diags.push(self.blame(BAD_KEY, "The key of an element must not be null.", key));
            }
            return self.lost();
        }
        self.marks = self.marks.union(raw.marks());
        if !raw.is_known() {
            return self.lost();
        }
        match convert(&raw, &Type::String) {
            Ok(value) => match value.as_str() {
                Some(name) => Step::Have(name.clone()),
                None => self.lost(),
            },
            Err(error) => {
                if self.known {
                    let detail = format!("The key of an element must be a string: {}.", error.message);
                    diags.push(self.blame(BAD_KEY, detail, key));
                }
                self.lost()
            }
        }
    }

    fn tuple(&mut self, collection: &Value, frame: &Frame<'_>, diags: &mut Diags) -> Value {
        let for_ = self.for_;
        let mut items = Vec::new();
        for (key, value) in ops::elements(collection) {
            let names = self.names(key, value);
            let inner = frame.child(Binding::List(&names));
            if let Some(condition) = &for_.condition {
                match self.condition(condition, &inner, diags) {
                    Step::Have(true) => {}
                    Step::Have(false) | Step::Lost => continue,
                }
            }
            items.push(self.eval.expr(&for_.value, &inner, diags));
        }
        if self.known {
            Value::tuple(items)
        } else {
            Value::dynamic()
        }
        .with_marks(self.marks)
    }

    fn object(&mut self, collection: &Value, key: &Expr, frame: &Frame<'_>, diags: &mut Diags) -> Value {
        let for_ = self.for_;
        let mut entries: BTreeMap<Arc<str>, Vec<Value>> = BTreeMap::new();
        for (element_key, value) in ops::elements(collection) {
            let names = self.names(element_key, value);
            let inner = frame.child(Binding::List(&names));
            if let Some(condition) = &for_.condition {
                match self.condition(condition, &inner, diags) {
                    Step::Have(true) => {}
                    Step::Have(false) | Step::Lost => continue,
                }
            }
            let Step::Have(name) = self.key(key, &inner, diags) else {
                continue;
            };
            let value = self.eval.expr(&for_.value, &inner, diags);
            let values = entries.entry(name).or_default();
            if values.is_empty() || for_.group {
                values.push(value);
            } else {
                // The key may come from a sensitive value, so it is not shown.
                let detail = "Two elements have the same key. If that is meant, write ... after the value, which gathers \
                              all values of a key in a list.";
                diags.push(self.blame("Duplicate object key", detail, key));
            }
        }
        if !self.known {
            return Value::dynamic().with_marks(self.marks);
        }
        let entries = entries.into_iter().filter_map(|(name, mut values)| {
            let value = if for_.group {
                Value::tuple(values)
            } else {
                values.pop()?
            };
            Some((name, value))
        });
        Value::object_of(entries.collect()).with_marks(self.marks)
    }
}
