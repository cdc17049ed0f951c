//! The MessagePack form of values, as Terraform and its providers speak it (go-cty's `cty/msgpack`).
//!
//! Unknown values are extension 0 of one byte, or extension 12 holding a map of refinements. A dynamic place holds an
//! array of the type's JSON and the value. What is written is byte for byte what go-cty writes; what is read may be
//! hostile: the memory that a value takes is bounded, and so is its depth.

mod decode;
mod encode;
mod refinement;

pub use decode::decode;
#[cfg(test)]
pub(crate) use decode::decode_within;
pub use encode::encode;

/// The extension type of an unknown value with refinements.
const REFINED: i8 = 12;

/// Keys of the refinement map.
mod key {
    pub(super) const NULLNESS: i64 = 1;
    pub(super) const PREFIX: i64 = 2;
    pub(super) const MIN: i64 = 3;
    pub(super) const MAX: i64 = 4;
    pub(super) const LENGTH_MIN: i64 = 5;
    pub(super) const LENGTH_MAX: i64 = 6;
}

#[cfg(test)]
mod tests;
