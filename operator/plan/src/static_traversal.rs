//! Paths that are known before anything is evaluated, but for `count.index` and `each.key` in brackets.
//!
//! Source: Terraform `parseReplaceTriggeredByKeyExpr` in `internal/terraform/evaluate_triggers.go`,
//! `evaluate_action_expression.go`.

use ashlar_diag::{Diag, Diags};
use ashlar_syntax::{Expr, ExprKind, Literal, Step, Traversal};
use ashlar_value::Data;

use crate::values::Repetition;

/// The expression as a path without variable parts: `count.index` and `each.key` in brackets give way to their
/// values. `unexpected` tells of what is no such path.
pub(crate) fn static_traversal(
    expr: &Expr,
    repetition: &Repetition,
    unexpected: fn(&Expr) -> Diags,
) -> Result<Traversal, Diags> {
    match &expr.kind {
        ExprKind::Traversal(traversal) => Ok(traversal.clone()),
        ExprKind::Relative { source, steps } => {
            let mut traversal = static_traversal(source, repetition, unexpected)?;
            traversal.steps.extend(steps.iter().cloned());
            Ok(traversal)
        }
        ExprKind::Index { collection, key, .. } => {
            let mut traversal = static_traversal(collection, repetition, unexpected)?;
            traversal.steps.push(Step::Index {
                key: static_key(key, repetition)?,
                span: key.span,
            });
            Ok(traversal)
        }
        _ => Err(unexpected(expr)),
    }
}

fn static_key(key: &Expr, repetition: &Repetition) -> Result<Literal, Diags> {
    let names = match &key.kind {
        ExprKind::Traversal(traversal) => match &*traversal.steps {
            [Step::Attr { name, .. }] => Some((&*traversal.root.name, &**name)),
            _ => None,
        },
        _ => None,
    };
    let value = match names {
        Some(("count", "index")) => repetition.count_index.as_ref().ok_or((
            "Reference to \"count\" in non-counted context",
            "count.index exists only in a block that has count set.",
        )),
        Some(("each", "key")) => repetition.each.as_ref().map(|(key, _)| key).ok_or((
            "Reference to \"each\" in context without for_each",
            "each.key exists only in a block that has for_each set.",
        )),
        _ => Err((
            "Invalid index expression",
            "Only constants, count.index and each.key can be used in brackets here.",
        )),
    };
    let value = value.map_err(|(summary, detail)| Diags::from(Diag::error(summary, detail).at(key.span)))?;
    Ok(match value.data() {
        Data::Number(number) => Literal::Number(number.to_string().into()),
        Data::String(text) => Literal::String(text.clone()),
        _ => Literal::Null,
    })
}
