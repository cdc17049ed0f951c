//! What must hold for any input whatever: one check for each reader of foreign bytes, and one for the evaluator.
//!
//! `cargo xtask fuzz` hands the checks inputs that a fuzzer makes, a test of this crate all that are kept: `corpus/`, a
//! choice that reaches much, and `found/`, what once was at fault. A check panics where a promise is broken; an input that
//! is refused with an error breaks none. Nothing here is part of the product.
#![expect(clippy::panic, reason = "a broken promise is told by a panic")]

mod address;
mod evaluate;
mod package;
mod spans;
mod stored;
mod syntax;
mod wire;

/// A check, by the name that its fuzzer, its corpus and its found inputs go by.
pub struct Target {
    /// The name.
    pub name: &'static str,
    /// Panics if the input shows a fault. `false` if it was refused, and so tried little.
    pub check: fn(&[u8]) -> bool,
}

const fn target(name: &'static str, check: fn(&[u8]) -> bool) -> Target {
    Target { name, check }
}

/// All of them.
pub const TARGETS: &[Target] = &[
    target("native", syntax::native),
    target("json_syntax", syntax::json),
    target("evaluate", evaluate::check),
    target("msgpack", wire::msgpack),
    target("json_value", wire::json),
    target("state", stored::state),
    target("plan", stored::plan),
    target("journal", stored::journal),
    target("address", address::check),
    target("archive", package::archive),
];

/// Runs the check of this name.
pub fn check(name: &str, input: &[u8]) {
    let Some(target) = TARGETS.iter().find(|target| target.name == name) else {
        panic!("there is no target {name}")
    };
    (target.check)(input);
}
