//! What the names in an expression at fault stand for, in words that are fit to be shown beside the fault.
//!
//! What is sensitive or ephemeral is never shown; that it is so, and that a value is not known yet, is said only where that is
//! the fault: else it would mislead. Source of the rules: Terraform `internal/command/views/json/diagnostic.go`,
//! `internal/tfdiags/format.go`.

use std::collections::BTreeMap;

use ashlar_diag::{Diag, Diags, Named};
use ashlar_syntax::{Expr, ExprKind, Step, Traversal};
use ashlar_value::{Data, Mark, Marks, Type, Value};

use crate::{
    Scope, access,
    evaluate::{Eval, Frame, Functions, Root, resolve},
    finder, quote,
};

/// What about a value is the fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blame {
    /// What it is.
    Content,
    /// That it is not known yet.
    Unknown,
    /// That it is sensitive.
    Sensitive,
    /// That it is ephemeral.
    Ephemeral,
}

/// What the names in an expression stand for.
pub fn named(expr: &Expr, scope: &dyn Scope, blame: Blame) -> Vec<Named> {
    let traversals = finder::traversals(expr);
    let Some(found) = resolve(&traversals, scope, &mut Diags::new()) else {
        return Vec::new();
    };
    let eval = Eval::new(Root::Module { scope, found }, Functions::All);
    eval.named(&traversals, &Frame::EMPTY, blame)
}

impl Eval<'_> {
    /// Says it beside the faults that an expression was found to have since there were so many. What was said by a part of it
    /// stands.
    pub(crate) fn name_values(&self, expr: &Expr, frame: &Frame<'_>, since: usize, diags: &mut Diags) {
        for diag in diags.since(since) {
            if diag.values.is_none() && diag.is_error() {
                diag.values = Some(self.named(&in_question(expr, diag), frame, Blame::Content).into());
            }
        }
    }

    /// What names stand for, sorted by them.
    pub(crate) fn named(&self, traversals: &[&Traversal], frame: &Frame<'_>, blame: Blame) -> Vec<Named> {
        let mut all = BTreeMap::new();
        for traversal in traversals {
            // What `for` and `dynamic` bind has left the marks of what it is taken from behind, so nothing is said of it.
            if frame.name(&traversal.root.name).is_some() {
                continue;
            }
            // The longest part that has a value; a first name alone tells nothing that is not in the text.
            let parts = (1..=traversal.steps.len()).rev();
            let mut parts = parts.filter_map(|count| Some((count, self.part(traversal, count, frame)?)));
            if let Some((count, value)) = parts.next()
                && let Some(is) = statement(&value, blame)
            {
                all.insert(written(traversal, count), is);
            }
        }
        all.into_iter().map(|(name, is)| Named { name, is }).collect()
    }

    /// The value of a traversal's first steps, if they have one.
    fn part(&self, traversal: &Traversal, count: usize, frame: &Frame<'_>) -> Option<Value> {
        let (mut value, consumed) = self.start(traversal, frame)?;
        for step in traversal.steps.get(consumed..count)? {
            value = access::step(&value, step).ok()?;
        }
        Some(value)
    }
}

/// The traversals whose values a fault may hang on: those of the part that is blamed, where parts have nothing to do with each
/// other.
fn in_question<'a>(expr: &'a Expr, diag: &Diag) -> Vec<&'a Traversal> {
    let mut all = finder::traversals(expr);
    let apart = matches!(
        expr.kind,
        ExprKind::Call(_)
            | ExprKind::Conditional { .. }
            | ExprKind::Binary { .. }
            | ExprKind::Tuple { .. }
            | ExprKind::Object { .. }
            | ExprKind::For(_)
            | ExprKind::Template(_)
    );
    if let Some(blamed) = diag.subject.filter(|blamed| apart && *blamed != expr.span) {
        all.retain(|traversal| {
            let span = traversal.span();
            blamed.file == span.file && blamed.start <= span.start && span.end <= blamed.end
        });
    }
    all
}

/// The traversal with its first steps, as it is written.
fn written(traversal: &Traversal, count: usize) -> String {
    let mut text = traversal.root.name.to_string();
    for step in traversal.steps.iter().take(count) {
        match step {
            Step::Attr { name, .. } => text.push_str(&format!(".{name}")),
            Step::Index { key, .. } => text.push_str(&format!("[{}]", compact(&access::literal(key)))),
        }
    }
    text
}

/// What is said of a value; nothing where that would mislead, or show what must not be shown.
fn statement(value: &Value, blame: Blame) -> Option<String> {
    let marks = value.marks();
    let (sensitive, ephemeral) = (marks.contains(Mark::Sensitive), marks.contains(Mark::Ephemeral));
    // Of a mark that means something else nobody knows what may be shown.
    if marks.without(Mark::Sensitive).without(Mark::Ephemeral) != Marks::NONE {
        return None;
    }
    match (sensitive, ephemeral) {
        (true, true) => return None,
        (true, false) => return (blame == Blame::Sensitive).then(|| "has a sensitive value".to_owned()),
        (false, true) => return (blame == Blame::Ephemeral).then(|| "has an ephemeral value".to_owned()),
        (false, false) => {}
    }
    let unknown = blame == Blame::Unknown;
    match value.data() {
        Data::Unknown(Type::Dynamic, _) => unknown.then(|| "will be known only after apply".to_owned()),
        Data::Unknown(ty, _) if unknown => {
            Some(format!("is a {}, known only after apply", ty.friendly_name()))
        }
        Data::Unknown(ty, _) => Some(format!("is a {}", ty.friendly_name())),
        _ => Some(format!("is {}", compact(value))),
    }
}

/// A value in one line. Of what has parts only how many there are: parts may be sensitive where the whole is not.
fn compact(value: &Value) -> String {
    let count = |what: String, count: usize| match count {
        0 => format!("empty {what}"),
        1 => format!("{what} with 1 element"),
        _ => format!("{what} with {count} elements"),
    };
    match value.data() {
        Data::Null(_) => "null".to_owned(),
        Data::Unknown(..) => "(not yet known)".to_owned(),
        Data::Bool(value) => value.to_string(),
        Data::Number(number) => number.to_string(),
        Data::String(text) => quote(text),
        Data::Object(attributes) => match attributes.len() {
            0 => "object with no attributes".to_owned(),
            1 => {
                let name = attributes.keys().next().map_or("", |name| &**name);
                format!("object with 1 attribute {}", quote(name))
            }
            number => format!("object with {number} attributes"),
        },
        Data::Map(_, entries) => count(value.ty().friendly_name(), entries.len()),
        Data::List(..) | Data::Set(..) | Data::Tuple(_) => count(
            value.ty().friendly_name(),
            value.as_items().map_or(0, <[Value]>::len),
        ),
    }
}

#[cfg(test)]
mod tests {
    use ashlar_diag::Sources;
    use ashlar_syntax::parse_expression;

    use super::*;
    use crate::{MapScope, evaluate};

    fn scope() -> MapScope {
        let object = Value::object([
            ("n", Value::number(3)),
            ("s", Value::string("a\"b")),
            ("l", Value::list(Type::String, vec![Value::string("x")])),
            ("hush", Value::string("secret").with_marks(Marks::SENSITIVE)),
            ("gone", Value::string("secret").with_marks(Marks::EPHEMERAL)),
            ("later", Value::unknown(Type::String)),
            ("any", Value::dynamic()),
            (
                "o",
                Value::object([("hush", Value::string("secret").with_marks(Marks::SENSITIVE))]),
            ),
        ]);
        MapScope::new([("var", object)])
    }

    fn told(named: &[Named]) -> String {
        let lines = named.iter().map(|Named { name, is }| format!("{name} {is}"));
        lines.collect::<Vec<_>>().join("\n")
    }

    fn read(text: &str) -> Expr {
        let mut sources = Sources::new();
        let file = sources.add("x", text);
        let (expr, diags) = parse_expression(&sources, file);
        assert!(diags.is_empty(), "{diags}");
        expr
    }

    #[test]
    fn names_are_told_with_what_may_be_shown() {
        let expr =
            read("[var.n, var.s, var.l, var.hush, var.gone, var.later, var.any, var.o, var.l[0], var.n]");
        let check = |blame: Blame, more: &[&str]| {
            let known = [
                "var.l is list of string with 1 element",
                "var.l[0] is \"x\"",
                "var.n is 3",
            ];
            let object = ["var.o is object with 1 attribute \"hush\"", "var.s is \"a\\\"b\""];
            let mut want: Vec<&str> = known.iter().chain(&object).chain(more).copied().collect();
            want.sort_unstable();
            let text = told(&named(&expr, &scope(), blame));
            let mut lines: Vec<&str> = text.lines().collect();
            lines.sort_unstable();
            assert_eq!(lines, want);
        };
        let a_string = "var.later is a string";
        check(Blame::Content, &[a_string]);
        check(Blame::Sensitive, &[a_string, "var.hush has a sensitive value"]);
        check(Blame::Ephemeral, &[a_string, "var.gone has an ephemeral value"]);
        check(
            Blame::Unknown,
            &[
                "var.later is a string, known only after apply",
                "var.any will be known only after apply",
            ],
        );
    }

    #[test]
    fn a_fault_is_told_with_the_values_it_hangs_on() {
        let check = |text: &str, want: &str| {
            let (_, diags) = evaluate(&read(text), &scope());
            let all: Vec<String> = diags
                .iter()
                .map(|diag| told(diag.values.as_deref().unwrap_or_default()))
                .collect();
            assert_eq!(all, [want], "{text}: {diags}");
        };
        check("var.n + var.s", "var.s is \"a\\\"b\"");
        check(
            "var.l[var.n]",
            "var.l is list of string with 1 element\nvar.n is 3",
        );
        check("upper(\"x\", var.n)", "var.n is 3");
        check("tonumber(var.s) + var.n", "var.s is \"a\\\"b\"");
        check("var.o.none.x", "var.o is object with 1 attribute \"hush\"");
        check("[for x in [{a = 1}] : x.a + var.s]", "var.s is \"a\\\"b\"");
        check("[for x in [{a = \"y\"}] : x.a + var.n]", "");
        check("tonumber(\"x\") + var.n", "");
    }
}
