//! Rules about how an object may change: what is proposed to a provider, what it may plan, what it may make of a plan.
//!
//! Pure functions over values and schemas, called around each provider call. They never call a provider and never put a
//! value into a message unless neither schema nor marks say that it is sensitive.
//! Source: Terraform `internal/plans/objchange`, `configschema`, `node_resource_abstract_instance.go`.

mod compatible;
mod ignore;
mod normalize;
mod part;
mod proposed;
mod replace;
mod schema_paths;
mod valid;

use std::fmt;

use ashlar_value::Path;

pub use compatible::assert_object_compatible;
pub use ignore::{Ignore, ignore_in_config, ignore_in_planned};
pub use normalize::normalize_null_blocks;
pub use proposed::{empty_value, planned_data_resource, proposed_new};
pub use replace::required_replaces;
pub use schema_paths::{
    mark_sensitive, non_null_write_only, null_write_only, sensitive_paths, write_only_paths,
};
pub use valid::assert_plan_valid;

/// A rule that a provider broke, and where in the object.
#[derive(Clone, Debug, PartialEq)]
pub struct Problem {
    /// Where.
    pub path: Path,
    /// What, in words for the provider's developers; a phrase without a full stop.
    pub message: String,
}

impl Problem {
    fn new(path: &Path, message: impl Into<String>) -> Self {
        Self {
            path: path.clone(),
            message: message.into(),
        }
    }
}

/// As it follows the address of a resource instance: `.tags["a"]: was null, but now "x"`.
impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.message)
    }
}

#[cfg(test)]
mod tests;
