//! The evaluator: one pass over a tree, faults gathered, the value as known as it can be.
//!
//! Each form has a file of its own; here are the entry points, the local names and the dispatch. Recursion is bounded by
//! [`MAX_DEPTH`], so no expression can overflow the stack.

use std::{
    cell::{Cell, RefCell},
    collections::{BTreeMap, HashMap},
    rc::Rc,
    sync::Arc,
};

use ashlar_diag::{Diag, Diags, Span};
use ashlar_funcs::Caps;
use ashlar_syntax::{Expr, ExprKind, Step, Traversal};
use ashlar_value::{Dialect, Type, Value, convert};

use crate::{Blame, Reference, Scope, access, budget::Constants, finder, named};

/// How deep expressions may be nested; chains of one binary operator do not count.
pub(crate) const MAX_DEPTH: u32 = 400;

/// How many nodes one evaluation may visit, loops counted by their turns. Far beyond what configurations need; without
/// it a line of nested loops could take all time and memory.
const MAX_STEPS: u32 = if cfg!(test) { 200_000 } else { 50_000_000 };

/// What an element of a new collection takes, in bytes.
const ELEMENT: usize = 64;

const MEMORY: &str = "Module uses too much memory";

/// Evaluates an expression: first all its references, then itself. With errors the value is unknown where it is at
/// fault, and should not be used for more than checking types.
pub fn evaluate(expr: &Expr, scope: &dyn Scope) -> (Value, Diags) {
    evaluate_with(expr, scope, &[])
}

/// As [`evaluate`], then converts the value to `ty` (Terraform `EvalExpr`); a value that does not fit is an error that
/// blames the expression, and the result is unknown.
pub fn evaluate_as(expr: &Expr, ty: &Type, scope: &dyn Scope) -> (Value, Diags) {
    let (value, mut diags) = evaluate(expr, scope);
    match convert(&value, ty) {
        Ok(value) => (value, diags),
        Err(error) => {
            let detail = format!("The value of the expression does not fit: {}.", error.message);
            let values = named(expr, scope, Blame::Content);
            diags.push(
                Diag::error("Incorrect value type", detail)
                    .at(expr.span)
                    .naming(values),
            );
            (Value::unknown(ty.without_optional()), diags)
        }
    }
}

/// As [`evaluate`], with names that hide those of the scope (iterators of `dynamic` blocks).
pub fn evaluate_with(expr: &Expr, scope: &dyn Scope, locals: &[(Arc<str>, Value)]) -> (Value, Diags) {
    let mut diags = Diags::new();
    let hidden: Vec<&str> = locals.iter().map(|(name, _)| &**name).collect();
    let Some(found) = resolve(&finder::traversals_without(expr, &hidden), scope, &mut diags) else {
        return (Value::dynamic(), diags);
    };
    let eval = Eval::new(Root::Module { scope, found }, Functions::All);
    let frame = Frame {
        parent: None,
        binding: Binding::List(locals),
    };
    let value = eval.expr(expr, &frame, &mut diags);
    eval.close(expr.span, &mut diags);
    (value, diags)
}

/// Looks an expression's references up without evaluating it.
pub fn check_references(expr: &Expr, scope: &dyn Scope) -> Diags {
    let mut diags = Diags::new();
    let _ = resolve(&finder::traversals(expr), scope, &mut diags);
    diags
}

/// Evaluates an expression that may name nothing and call nothing (defaults of variables, values given as text).
pub fn evaluate_constant(expr: &Expr) -> (Value, Diags) {
    let mut diags = Diags::new();
    let eval = Eval::new(Root::Constant, Functions::None);
    let value = eval.expr(expr, &Frame::EMPTY, &mut diags);
    eval.close(expr.span, &mut diags);
    (value, diags)
}

/// Evaluates a template with its own names and no others, as a part of the evaluation that calls for it: its steps and
/// its depth count on.
pub(crate) fn evaluate_plain(
    expr: &Expr,
    names: &BTreeMap<Arc<str>, Value>,
    caller: &Eval<'_>,
    functions: Functions,
) -> (Value, Diags) {
    let mut diags = Diags::new();
    let root = Root::Plain {
        names,
        scope: caller.scope(),
    };
    let eval = Eval {
        steps: caller.steps.clone(),
        refused: caller.refused.clone(),
        depth: caller.depth.clone(),
        ..Eval::new(root, functions)
    };
    let value = eval.expr(expr, &Frame::EMPTY, &mut diags);
    (value, diags)
}

/// The value of each traversal, by the traversal's address in the tree, and the steps it has taken already.
pub(crate) type Found = HashMap<usize, (Value, usize)>;

/// Looks all references up; `None` if that alone went wrong.
pub(crate) fn resolve(traversals: &[&Traversal], scope: &dyn Scope, diags: &mut Diags) -> Option<Found> {
    let mut references = Vec::with_capacity(traversals.len());
    for traversal in traversals {
        match Reference::parse(traversal) {
            Ok(Some(reference)) => references.push(reference),
            Ok(None) => {}
            Err(diag) => diags.push(diag),
        }
    }
    let mut checks = Diags::new();
    for reference in &references {
        checks.extend(scope.check(reference));
    }
    let stop = checks.has_errors();
    diags.extend(checks);
    if stop {
        return None;
    }
    let mut found = Found::with_capacity(references.len());
    let mut failed = diags.has_errors();
    for reference in &references {
        match scope.lookup(reference) {
            Ok(value) => {
                found.insert(address(reference.traversal), (value, reference.consumed));
            }
            Err(faults) => {
                failed = true;
                diags.extend(faults);
            }
        }
    }
    (!failed).then_some(found)
}

fn address(traversal: &Traversal) -> usize {
    std::ptr::from_ref(traversal) as usize
}

/// Where names that are not local come from.
pub(crate) enum Root<'a> {
    /// A module: typed references, resolved beforehand.
    Module { scope: &'a dyn Scope, found: Found },
    /// A template: plain names.
    Plain {
        names: &'a BTreeMap<Arc<str>, Value>,
        /// Of the module that renders it: its functions can be called.
        scope: Option<&'a dyn Scope>,
    },
    /// Nowhere.
    Constant,
}

/// Which functions may be called.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Functions {
    /// All.
    All,
    /// All but templates: inside a template of Terraform's `templatefile`.
    TemplateFile,
    /// All but templates and files: inside a template of Terraform's `templatestring`.
    TemplateString,
    /// None.
    None,
}

/// One evaluation.
pub(crate) struct Eval<'a> {
    pub(crate) root: Root<'a>,
    pub(crate) functions: Functions,
    /// How deep it stands in expressions, templates rendered on the way included.
    depth: Rc<Cell<u32>>,
    /// Nodes visited so far, those of templates rendered on the way included.
    steps: Rc<Cell<u32>>,
    /// Faults that end the evaluation whatever became of them inside.
    refused: Rc<RefCell<Vec<Diag>>>,
}

/// Local names, innermost first.
pub(crate) struct Frame<'f> {
    pub(crate) parent: Option<&'f Frame<'f>>,
    pub(crate) binding: Binding<'f>,
}

/// What one frame binds.
pub(crate) enum Binding<'f> {
    /// Names with values; of equal names the last one counts.
    List(&'f [(Arc<str>, Value)]),
    /// The present element of a splat.
    Item(Value),
}

impl<'f> Frame<'f> {
    pub(crate) const EMPTY: Frame<'static> = Frame {
        parent: None,
        binding: Binding::List(&[]),
    };

    /// A frame inside this one.
    pub(crate) fn child<'c>(&'c self, binding: Binding<'c>) -> Frame<'c>
    where
        'f: 'c,
    {
        Frame {
            parent: Some(self),
            binding,
        }
    }

    pub(crate) fn name(&self, name: &str) -> Option<&Value> {
        let mut frame = Some(self);
        while let Some(here) = frame {
            if let Binding::List(list) = &here.binding
                && let Some((_, value)) = list.iter().rev().find(|(known, _)| &**known == name)
            {
                return Some(value);
            }
            frame = here.parent;
        }
        None
    }

    fn item(&self) -> Option<&Value> {
        let mut frame = Some(self);
        while let Some(here) = frame {
            if let Binding::Item(value) = &here.binding {
                return Some(value);
            }
            frame = here.parent;
        }
        None
    }
}

impl<'a> Eval<'a> {
    pub(crate) fn new(root: Root<'a>, functions: Functions) -> Self {
        Self {
            root,
            functions,
            depth: Rc::default(),
            steps: Rc::default(),
            refused: Rc::default(),
        }
    }

    /// Ends an evaluation: one that went on for too long is a fault, whatever became of it inside (`try` must not make a
    /// value of it).
    pub(crate) fn close(&self, span: Span, diags: &mut Diags) {
        if self.steps.get() >= MAX_STEPS {
            let detail = format!(
                "Evaluating this takes more than {MAX_STEPS} steps, or makes too long texts. Loop over less."
            );
            diags.push(Diag::error("Expression takes too long", detail).at(span));
        }
        diags.extend(self.refused.take());
    }

    /// A fault that nothing inside the expression can make good: `try` and `can` would decide by what Ashlar cannot do.
    pub(crate) fn refuse(&self, diag: Diag) {
        self.refused.borrow_mut().push(diag);
    }

    /// The module's scope, of which a template sees the functions.
    pub(crate) fn scope(&self) -> Option<&dyn Scope> {
        match &self.root {
            Root::Module { scope, .. } => Some(*scope),
            Root::Plain { scope, .. } => *scope,
            Root::Constant => None,
        }
    }

    pub(crate) fn caps(&self) -> &dyn Caps {
        self.scope().map_or(&Constants, |scope| scope.caps())
    }

    pub(crate) fn dialect(&self) -> Dialect {
        self.scope()
            .map_or_else(Dialect::default, |scope| scope.dialect())
    }

    /// Lets the evaluation end here: like one that takes too long, what takes too much memory must not be tried over.
    pub(crate) fn exhaust(&self) {
        self.steps.set(MAX_STEPS);
    }

    /// Accounts for a text or collection that was made. `false`, with a diagnostic, if it is one too many.
    pub(crate) fn charge(&self, bytes: usize, span: Span, diags: &mut Diags) -> bool {
        let granted = bytes == 0 || self.caps().grant(bytes);
        if !granted {
            self.exhaust();
            let detail = "All texts and collections that this module makes are too large together. Make fewer or smaller \
                          ones.";
            diags.push(Diag::error(MEMORY, detail).at(span));
        }
        granted
    }

    /// The value, unless copies or texts made of it could take all memory: parts that it shares count each time.
    fn bounded(&self, value: Value, span: Span, diags: &mut Diags) -> Value {
        if value.weight() <= self.caps().largest() {
            return value;
        }
        self.exhaust();
        let detail = "This value is too large: it holds too many or too long parts, those that repeat counted each time.";
        diags.push(Diag::error(MEMORY, detail).at(span));
        Value::dynamic()
    }

    /// The value of any expression.
    pub(crate) fn expr(&self, expr: &Expr, frame: &Frame<'_>, diags: &mut Diags) -> Value {
        let depth = self.depth.get();
        if depth >= MAX_DEPTH {
            let detail =
                format!("Expressions can be nested {MAX_DEPTH} deep. Split this one with local values.");
            diags.push(Diag::error("Expression nested too deeply", detail).at(expr.span));
            return Value::dynamic();
        }
        let steps = self.steps.get();
        if steps >= MAX_STEPS {
            return Value::dynamic();
        }
        self.steps.set(steps + 1);
        self.depth.set(depth + 1);
        let told = diags.len();
        let value = match &expr.kind {
            ExprKind::Literal(literal) | ExprKind::JsonScalar(literal) => access::literal(literal),
            ExprKind::Traversal(traversal) => self.traversal(traversal, frame, diags),
            ExprKind::Relative { source, steps } => {
                let value = self.expr(source, frame, diags);
                Self::steps(value, steps, diags)
            }
            ExprKind::Index {
                collection,
                key,
                brackets,
            } => {
                let collection = self.expr(collection, frame, diags);
                let key = self.expr(key, frame, diags);
                access::index(&collection, &key, *brackets).unwrap_or_else(|diag| {
                    diags.push(diag);
                    Value::dynamic()
                })
            }
            ExprKind::Splat { source, each, marker } => self.splat(expr, source, each, *marker, frame, diags),
            ExprKind::Item => frame.item().cloned().unwrap_or_else(Value::dynamic),
            ExprKind::Call(call) => self.call(expr, call, frame, diags),
            ExprKind::Conditional { condition, yes, no } => {
                self.conditional(expr, condition, yes, no, frame, diags)
            }
            ExprKind::Binary { .. } => self.binary(expr, frame, diags),
            ExprKind::Unary { op, operand, .. } => self.unary(expr, *op, operand, frame, diags),
            ExprKind::Parens(inner) | ExprKind::Wrap(inner) => self.expr(inner, frame, diags),
            ExprKind::Tuple { items, .. } => {
                Value::tuple(items.iter().map(|item| self.expr(item, frame, diags)).collect())
            }
            ExprKind::Object { items, .. } => self.object(items, frame, diags),
            ExprKind::For(for_) => self.for_expr(expr, for_, frame, diags),
            ExprKind::Template(parts) => self.template(expr, parts, frame, diags),
            ExprKind::Join(inner) => self.join(expr, inner, frame, diags),
            ExprKind::JsonString(string) => self.json_string(string, frame, diags),
            ExprKind::JsonObject(object) => self.json_object(object, frame, diags),
            ExprKind::Broken => Value::dynamic(),
        };
        self.depth.set(depth);
        if diags.len() > told {
            self.name_values(expr, frame, told, diags);
        }
        if matches!(
            expr.kind,
            ExprKind::Tuple { .. } | ExprKind::Object { .. } | ExprKind::For(_) | ExprKind::Splat { .. }
        ) {
            let elements = value.as_items().map(<[Value]>::len);
            let elements = elements.or_else(|| value.as_entries().map(BTreeMap::len));
            self.charge(elements.unwrap_or(0).saturating_mul(ELEMENT), expr.span, diags);
        }
        self.bounded(value, expr.span, diags)
    }

    fn traversal(&self, traversal: &Traversal, frame: &Frame<'_>, diags: &mut Diags) -> Value {
        let root = &traversal.root;
        if let Some(value) = frame.name(&root.name) {
            return Self::steps(value.clone(), &traversal.steps, diags);
        }
        match &self.root {
            Root::Module { found, .. } => match found.get(&address(traversal)) {
                Some((value, consumed)) => Self::steps(
                    value.clone(),
                    traversal.steps.get(*consumed..).unwrap_or_default(),
                    diags,
                ),
                None => {
                    diags.push(unknown_name(&root.name, [].into_iter()).at(root.span));
                    Value::dynamic()
                }
            },
            Root::Plain { names, .. } => match names.get(&root.name) {
                Some(value) => Self::steps(value.clone(), &traversal.steps, diags),
                None => {
                    diags.push(unknown_name(&root.name, names.keys().map(|name| &**name)).at(root.span));
                    Value::dynamic()
                }
            },
            Root::Constant => {
                let detail = "Only constant values can stand here: no references to other objects.";
                diags.push(Diag::error("Variables not allowed", detail).at(root.span));
                Value::dynamic()
            }
        }
    }

    /// The value that a traversal begins with, and how many steps it has taken already.
    pub(crate) fn start(&self, traversal: &Traversal, frame: &Frame<'_>) -> Option<(Value, usize)> {
        if let Some(value) = frame.name(&traversal.root.name) {
            return Some((value.clone(), 0));
        }
        match &self.root {
            Root::Module { found, .. } => found.get(&address(traversal)).cloned(),
            Root::Plain { names, .. } => Some((names.get(&traversal.root.name)?.clone(), 0)),
            Root::Constant => None,
        }
    }

    fn steps(mut value: Value, steps: &[Step], diags: &mut Diags) -> Value {
        for step in steps {
            match access::step(&value, step) {
                Ok(next) => value = next,
                Err(diag) => {
                    diags.push(diag);
                    return Value::dynamic();
                }
            }
        }
        value
    }
}

fn unknown_name<'n>(name: &str, known: impl Iterator<Item = &'n str>) -> Diag {
    let hint = crate::suggest::hint(name, known);
    Diag::error(
        "Unknown variable",
        format!("Nothing here is named {name:?}.{hint}"),
    )
}

#[cfg(test)]
mod tests;
