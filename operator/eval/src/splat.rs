//! `source.*` and `source[*]`.
//!
//! Rules: hcl `SplatExpr`. Anything but a list, set or tuple counts as a tuple of one, null as a tuple of none.

use ashlar_diag::{Diag, Diags, Span};
use ashlar_syntax::Expr;
use ashlar_value::{Data, Refinement, Type, Value, ops};

use crate::evaluate::{Binding, Eval, Frame};

impl Eval<'_> {
    pub(crate) fn splat(
        &self,
        expr: &Expr,
        source: &Expr,
        each: &Expr,
        marker: Span,
        frame: &Frame<'_>,
        diags: &mut Diags,
    ) -> Value {
        let mut source_diags = Diags::new();
        let value = self.expr(source, frame, &mut source_diags);
        let failed = source_diags.has_errors();
        diags.extend(source_diags);
        if failed {
            return Value::dynamic();
        }
        let sequence = matches!(value.ty(), Type::Tuple(_) | Type::List(_) | Type::Set(_));
        let (value, marks) = value.unmark();
        if value.is_null() {
            if !sequence {
                return Value::tuple(Vec::new()).with_marks(marks);
            }
            let detail = "A splat expression ([*] or .*) goes through a sequence; this one is null.";
            diags.push(
                Diag::error("Splat of null value", detail)
                    .at(source.span)
                    .within(source.span.to(marker)),
            );
            return Value::dynamic();
        }
        if matches!(value.data(), Data::Unknown(Type::Dynamic, _)) {
            return Value::dynamic().with_marks(marks);
        }
        // An unknown single value may become null, and then the result would have no element.
        let may_vanish = !sequence && !value.is_known() && !value.is_not_null();
        // hcl wraps the value before it unmarks, so the only element keeps the marks too.
        let value = if sequence {
            value
        } else {
            Value::tuple(vec![value.with_marks(marks)])
        };
        if !value.is_known() {
            let ty = self.splat_type(&value, each, frame, diags);
            let mut refinement = Refinement {
                not_null: ty != Type::Dynamic,
                ..Refinement::default()
            };
            if matches!(ty, Type::List(_)) && value.ty().is_collection() {
                let range = ops::range(&value);
                refinement.length_min = range.length_min;
                refinement.length_max = range.length_max;
            }
            return ops::unknown_refined(ty, refinement).with_marks(marks);
        }
        let mut results = Vec::new();
        let mut failed = false;
        for item in value.as_items().unwrap_or_default() {
            let mut item_diags = Diags::new();
            results.push(self.expr(each, &frame.child(Binding::Item(item.clone())), &mut item_diags));
            failed |= item_diags.has_errors();
            diags.extend(item_diags);
        }
        if may_vanish {
            return Value::dynamic().with_marks(marks);
        }
        if failed {
            let ty = self.splat_type(&value, each, frame, &mut Diags::new());
            return Value::unknown(ty).with_marks(marks);
        }
        if matches!(value.data(), Data::Tuple(_)) {
            return Value::tuple(results).with_marks(marks);
        }
        if results.is_empty() {
            let element = match self.splat_type(&value, each, frame, diags) {
                Type::List(element) => (*element).clone(),
                _ => Type::Dynamic,
            };
            return Value::list(element, Vec::new()).with_marks(marks);
        }
        match ops::list_of(results) {
            Some(list) => list.with_marks(marks),
            None => {
                let detail = "The results differ in type, so they make no list. A for expression in brackets can hold \
                              them.";
                let summary = "Invalid nested splat expressions";
                diags.push(Diag::error(summary, detail).at(each.span).within(expr.span));
                Value::dynamic()
            }
        }
    }

    /// The type of the result, from the types of the elements alone.
    fn splat_type(&self, source: &Value, each: &Expr, frame: &Frame<'_>, diags: &mut Diags) -> Type {
        let mut of = |element: &Type| {
            let item = Value::unknown(element.clone());
            self.expr(each, &frame.child(Binding::Item(item)), diags).ty()
        };
        match source.ty() {
            Type::List(element) | Type::Set(element) => Type::list(of(&element)),
            Type::Tuple(items) => Type::tuple(items.iter().map(of).collect::<Vec<_>>()),
            _ => Type::Dynamic,
        }
    }
}
