//! The builtin functions as family tables.
//!
//! Stands between `value` and `eval`: the evaluator looks a function up by name, hands its arguments over and gets a value
//! or span-less errors, which it places. One table entry says all there is to know of a function; the calling protocol
//! settles arity, conversion, null, unknown, marks and refinements before an entry's code runs. Nothing here reads
//! files, the clock or randomness but through [`Caps`], and no error text shows what a sensitive argument holds.

mod caps;
mod error;
mod protocol;

pub use caps::{Caps, CapsError, FileKind, NoCaps};
pub use error::{Fault, FuncError};
pub use protocol::{Args, Builtin, Code, Param, Purity, Rule, Ty, call};

/// Every family's table, in the order of the manual.
const FAMILIES: &[&[Builtin]] = &[];

/// All functions, family by family.
pub fn all() -> impl Iterator<Item = &'static Builtin> {
    FAMILIES.iter().copied().flatten()
}

/// The function of this name; `core::NAME` names the same function as `NAME`.
pub fn find(name: &str) -> Option<&'static Builtin> {
    let name = name.strip_prefix("core::").unwrap_or(name);
    all().find(|builtin| builtin.name == name)
}
