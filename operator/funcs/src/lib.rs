//! The builtin functions as family tables.
//!
//! Stands between `value` and `eval`: the evaluator looks a function up by name, hands its arguments over and gets a value
//! or span-less errors, which it places. One table entry says all there is to know of a function; the calling protocol
//! settles arity, conversion, null, unknown, marks and refinements before an entry's code runs. Nothing here reads
//! files, the clock or randomness but through [`Caps`], and no error text shows what a sensitive argument holds.

mod caps;
mod error;
mod protocol;

mod collection;
mod convert;
mod digest;
mod encoding;
mod files;
mod format;
mod gzip;
mod mapping;
mod marks;
mod net;
mod numeric;
mod regex;
mod rsa;
mod sequence;
mod sets;
mod text;
mod time;
mod yaml;

use std::{collections::HashMap, sync::LazyLock};

pub use caps::{Caps, CapsError, FileKind, NoCaps};
pub use error::{Fault, FuncError};
pub use protocol::{Args, Builtin, Code, Param, Purity, Rule, Ty, call};

/// Every family's table, in the order of the manual.
const FAMILIES: &[&[Builtin]] = &[
    numeric::TABLE,
    text::TABLE,
    format::TABLE,
    regex::TABLE,
    collection::TABLE,
    sequence::TABLE,
    mapping::TABLE,
    sets::TABLE,
    encoding::TABLE,
    yaml::TABLE,
    files::TABLE,
    time::TABLE,
    digest::TABLE,
    net::TABLE,
    convert::TABLE,
    marks::TABLE,
];

/// All functions, family by family.
pub fn all() -> impl Iterator<Item = &'static Builtin> {
    FAMILIES.iter().copied().flatten()
}

/// The function of this name; `core::NAME` names the same function as `NAME`.
pub fn find(name: &str) -> Option<&'static Builtin> {
    static BY_NAME: LazyLock<HashMap<&'static str, &'static Builtin>> =
        LazyLock::new(|| all().map(|builtin| (builtin.name, builtin)).collect());
    BY_NAME.get(name.strip_prefix("core::").unwrap_or(name)).copied()
}
