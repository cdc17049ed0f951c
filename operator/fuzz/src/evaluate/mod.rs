//! The evaluator: an expression is made from the input, and evaluated with inputs that are known, unknown and sensitive.
//!
//! What must hold: no panic and no endless time; what is said of a result while inputs are unknown is true once they are
//! known; a mark changes no value; what depends on a sensitive input is sensitive. Where Terraform itself breaks a promise,
//! what does so is left out and named. Results that are not known are not asked for marks: calls lose them whose
//! arguments' types are open, in Terraform as here, and an unknown value gives nothing away.

mod agree;
mod choices;
mod forms;
mod given;
mod making;

use std::sync::atomic::{AtomicUsize, Ordering};

use ashlar_diag::{Sources, render};
use ashlar_eval::{MapScope, evaluate, show};
use ashlar_funcs::{Caps, CapsError, FileKind, NoCaps};
use ashlar_syntax::{Expr, parse_expression};
use ashlar_value::{Marks, Type, Value, convert};

use choices::Choices;
use given::{Given, NAMES};

/// Makes an expression and evaluates it.
pub(crate) fn check(input: &[u8]) -> bool {
    let mut choices = Choices::new(input);
    let given = Given::make(&mut choices);
    let text = making::expression(&mut choices);
    Case::new(&text).promises(&given)
}

struct Case<'t> {
    text: &'t str,
    sources: Sources,
    expr: Expr,
}

impl<'t> Case<'t> {
    fn new(text: &'t str) -> Self {
        let mut sources = Sources::new();
        let file = sources.add("made", text);
        let (expr, diags) = parse_expression(&sources, file);
        assert!(diags.is_empty(), "{text}\n{diags}");
        Self { text, sources, expr }
    }

    /// The value; `None` if there was an error.
    fn value(&self, names: impl IntoIterator<Item = (&'static str, Value)>) -> Option<Value> {
        let scope = MapScope::with_caps(names, Budget(AtomicUsize::new(1 << 24)));
        let (value, diags) = evaluate(&self.expr, &scope);
        for diag in diags.iter() {
            drop(render(diag, &self.sources, ashlar_diag::Style::Plain, None));
        }
        (!diags.has_errors()).then_some(value)
    }

    fn promises(&self, given: &Given) -> bool {
        let plain = |value: Value| value.unmark_deep().0;
        let known = self.value(given.known()).map(plain);
        let unknown = self.value(given.unknown()).map(plain);
        if let (Some(known), Some(unknown)) = (&known, &unknown)
            // A conditional whose one arm is at fault, or of open type, has the type of the other, in Terraform too.
            && (!self.text.contains(" ? ") || !given.has_open_types() && agree::may_become(&unknown.ty(), &known.ty()))
            // A loop over a set goes through unknown members that may turn out to be one, in Terraform too.
            && !(self.text.contains("for ") && self.text.contains("set"))
            // `try` takes what is known of its first argument, though part of that may turn out to be at fault, in Terraform too.
            && !self.text.contains("try(")
            // `flatten` takes a marked value of open type for one that is no list, in Terraform too.
            && !(self.text.contains("flatten(") && self.text.contains("sensitive("))
            && let Err(why) = agree::foretold(&settled(unknown, &known.ty(), given), known)
        {
            panic!(
                "{}\nwith {given:?}\nis {known:?}\nwhere it was said to be {unknown:?}: {why}",
                self.text
            );
        }
        let Some(known) = known else { return false };
        drop(show(&known));
        // `issensitive` tells marks, `nonsensitive` takes them off; both are for that.
        if self.text.contains("sensitive(") {
            return true;
        }
        let marked = self.value(given.sensitive(given.known()));
        let Some(marked) = marked else { return true };
        let plain = marked.clone().unmark_deep().0;
        // A bare null that is marked takes no part in the type of a conditional, in Terraform too.
        let untyped = self.text.contains(" ? ") && self.text.contains("null");
        assert!(
            plain == known || untyped,
            "{}\nwith {given:?}\nis {known:?}, but with marks {plain:?}",
            self.text
        );
        // `can` and `try` tell no mark where they only tell whether something is at fault; so in Terraform.
        if self.text.contains("can(") || self.text.contains("try(") {
            return true;
        }
        for name in NAMES.into_iter().filter(|name| given.is_sensitive(name)) {
            let Some(other) = self.value(given.changed(name)) else {
                continue;
            };
            if let Err(why) = agree::covered(&known, &other, &marked) {
                panic!(
                    "{}\nwith {given:?}\nis {known:?}, and {other:?} if {name} were another, yet only {marked:?} is marked: {why}",
                    self.text
                );
            }
        }
        true
    }
}

/// Members of open type leave the type of a whole to be guessed from the others, in Terraform too (it plans
/// `tomap({ a = UNKNOWN, b = -1 })` with the number -1); what turns out to be of another type is converted to it.
fn settled(unknown: &Value, ty: &Type, given: &Given) -> Value {
    match convert(unknown, ty) {
        Ok(value) if given.has_open_types() => value,
        _ => unknown.clone(),
    }
}

/// Nothing outside, and an end to memory.
struct Budget(AtomicUsize);

impl Caps for Budget {
    fn read_file(&self, path: &str) -> Result<Vec<u8>, CapsError> {
        NoCaps.read_file(path)
    }

    fn file_kind(&self, path: &str) -> Result<FileKind, CapsError> {
        NoCaps.file_kind(path)
    }

    fn list_dir(&self, path: &str) -> Result<Vec<(String, FileKind)>, CapsError> {
        NoCaps.list_dir(path)
    }

    fn cwd(&self) -> Result<String, CapsError> {
        NoCaps.cwd()
    }

    fn home(&self) -> Result<String, CapsError> {
        NoCaps.home()
    }

    fn timestamp(&self) -> Option<String> {
        Some("2026-01-02T03:04:05Z".to_owned())
    }

    fn plan_timestamp(&self) -> Option<String> {
        Some("2026-01-02T03:04:05Z".to_owned())
    }

    fn random(&self) -> Option<[u8; 16]> {
        None
    }

    fn grant(&self, bytes: usize) -> bool {
        self.0
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| {
                left.checked_sub(bytes)
            })
            .is_ok()
    }
}

/// The mark that inputs get.
const MARK: Marks = Marks::SENSITIVE;
