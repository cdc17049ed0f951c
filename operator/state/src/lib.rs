//! The state of one workspace: which objects exist, as last known; and its file format, Terraform's version 4.
//!
//! Pure: bytes in, model out, and back. Attributes stay encoded JSON until a schema is at hand, so an object the engine
//! does not touch is written back byte for byte. It never talks to a provider and never decides what to keep.

mod model;

pub use model::{Identity, InstanceState, Object, OutputState, ResourceState, State, Status};
