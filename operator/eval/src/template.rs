//! Quoted and heredoc templates.
//!
//! Rules: hcl `TemplateExpr`, `TemplateJoinExpr`. An unknown part makes the result unknown, refined by the text before
//! it; a null part is a fault.

use ashlar_diag::{Diag, Diags};
use ashlar_syntax::Expr;
use ashlar_value::{Data, Marks, Refinement, Type, Value, convert, ops};

use crate::evaluate::{Eval, Frame};

const INVALID: &str = "Invalid template interpolation value";

/// hcl's limit for a promised prefix, in bytes.
const PREFIX: usize = 128;

impl Eval<'_> {
    pub(crate) fn template(
        &self,
        expr: &Expr,
        parts: &[Expr],
        frame: &Frame<'_>,
        diags: &mut Diags,
    ) -> Value {
        let mut text = String::new();
        let mut faults = Diags::new();
        let mut marks = Marks::NONE;
        let mut known = true;
        for part in parts {
            let part_span = part.span;
            let value = self.expr(part, frame, &mut faults);
            if value.is_null() {
                let detail = "This value is null, and null cannot be part of a string. Give another value in its place, for \
                              example with coalesce.";
                faults.push(Diag::error(INVALID, detail).at(part.span).within(expr.span));
                continue;
            }
            let (value, part_marks) = value.unmark();
            marks = marks.union(part_marks);
            if !value.is_known() {
                known = false;
                continue;
            }
            match convert(&value, &Type::String) {
                Ok(value) => {
                    if let Some(part) = value.as_str().filter(|_| known && !faults.has_errors())
                        && self.charge(part.len(), part_span, &mut faults)
                    {
                        text.push_str(part);
                    }
                }
                Err(error) => {
                    let detail = format!("This value cannot be part of a string: {}.", error.message);
                    faults.push(Diag::error(INVALID, detail).at(part.span).within(expr.span));
                }
            }
        }
        let value = if known {
            Value::string(text)
        } else {
            let prefix = (!faults.has_errors())
                .then(|| ops::safe_prefix(head(&text)))
                .filter(|prefix| !prefix.is_empty());
            let refinement = Refinement {
                not_null: true,
                prefix: prefix.map(Into::into),
                ..Refinement::default()
            };
            ops::unknown_refined(Type::String, refinement)
        };
        diags.extend(faults);
        value.with_marks(marks)
    }

    pub(crate) fn join(&self, expr: &Expr, inner: &Expr, frame: &Frame<'_>, diags: &mut Diags) -> Value {
        let (tuple, mut marks) = self.expr(inner, frame, diags).unmark();
        let Data::Tuple(items) = tuple.data() else {
            return Value::unknown(Type::String);
        };
        let own = marks;
        let mut text = String::new();
        for item in items.iter() {
            if item.is_null() {
                let detail = "One turn of the loop gives null, and null cannot be part of a string.";
                diags.push(Diag::error(INVALID, detail).at(expr.span));
                continue;
            }
            if matches!(item.data(), Data::Unknown(Type::Dynamic, _)) {
                return Value::unknown(Type::String).with_marks(own);
            }
            match convert(item, &Type::String) {
                Ok(value) => match value.as_str() {
                    Some(part) => {
                        if !self.charge(part.len(), expr.span, diags) {
                            return Value::unknown(Type::String).with_marks(own);
                        }
                        text.push_str(part);
                        marks = marks.union(value.marks());
                    }
                    None => return Value::unknown(Type::String).with_marks(own),
                },
                Err(error) => {
                    let detail = format!(
                        "One turn of the loop gives what cannot be part of a string: {}.",
                        error.message
                    );
                    diags.push(Diag::error(INVALID, detail).at(expr.span));
                }
            }
        }
        Value::string(text).with_marks(marks)
    }
}

/// At most [`PREFIX`] bytes from the beginning, whole characters.
fn head(text: &str) -> &str {
    let mut end = text.len().min(PREFIX);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or_default()
}
