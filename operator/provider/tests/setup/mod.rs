//! What all tests of this crate that start plugins stand on: folders, settings, values, and the calls of a change.
//!
//! A module of each test program, not one itself. It holds only what every one of them uses, so that the compiler tells of
//! what nobody needs any more; how plugins are launched and what is tried is the program's own.

pub(crate) mod change;
pub(crate) mod folders;
mod nowhere;
pub(crate) mod values;
