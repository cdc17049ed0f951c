//! Types and values of the Terraform language, with the semantics of go-cty.
//!
//! A [`Value`] is immutable and shared; it may be null, unknown (with refinements) and marked (sensitive, ephemeral).
//! Beside the values live what is done to them without knowing an expression: conversion, unification, operators,
//! schemas, and the JSON and MessagePack forms. Nothing here reads source text, files or the clock, and no `Debug` or
//! `Display` shows what a sensitive value holds.

pub mod convert;
mod dialect;
pub mod json;
mod marks;
pub mod msgpack;
mod number;
mod offered;
pub mod ops;
mod path;
mod refinement;
mod room;
pub mod schema;
mod size;
mod ty;
mod value;
mod walk;

pub use convert::{convert, unify, unify_safe};
pub use dialect::{Dialect, UnknownDialect};
pub use marks::{Mark, Marks};
pub use number::{Digits, Number};
pub use path::{Path, PathStep};
pub use refinement::{Bound, Refinement};
pub use ty::{ObjectAttr, ObjectType, Type};
pub use value::{Data, Entries, Items, Value};
