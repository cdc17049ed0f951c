//! The state of one workspace: which objects exist, as last known; its file format, Terraform's version 4; and the
//! journal that bridges the time between two saves.
//!
//! Pure: bytes in, model out, and back. Attributes stay encoded JSON until a schema is at hand, so an object the engine
//! does not touch is written back as it was. It never talks to a provider and never decides what to keep.

pub mod edit;
mod file;
mod journal;
mod layout;
mod model;
mod object;
mod resource;
mod select;
mod wire;

pub use file::{read, same_content, write};
pub use journal::{Journal, doubts, replay, settled_as};
pub use layout::can_hold;
pub use model::{Identity, InstanceState, Object, OutputState, ResourceState, State, Status};
pub use object::{ObjectParts, decode_identity, decode_object, encode_object};
pub use resource::{outcome_object, read_outcome_object};
pub use select::{instances, object_id, select};
