//! The names of attributes that change, and nothing of their values.

use std::collections::BTreeSet;

use super::{
    diff::{Body, Diff, Keys},
    ink::Sign,
};

/// Adds the names found in a difference, each after `prefix`.
pub(super) fn collect(diff: &Diff, prefix: &str, found: &mut BTreeSet<String>) {
    if diff.sign == Sign::Same {
        return;
    }
    match &diff.body {
        Body::Block { attributes, blocks } => {
            for (name, diff) in attributes {
                collect(diff, &joined(prefix, name), found);
            }
            for nested in blocks {
                collect(&nested.diff, &joined(prefix, &nested.kind), found);
            }
        }
        Body::Mapping {
            entries,
            keys: Keys::NestedAttributes,
        } => {
            for (name, diff) in entries {
                collect(diff, &joined(prefix, name), found);
            }
        }
        // What stands here belongs to one attribute of the schema: its keys and items are content.
        Body::Mapping { .. }
        | Body::Sequence { .. }
        | Body::Scalar { .. }
        | Body::Lines { .. }
        | Body::Json(_)
        | Body::Unknown(_)
        | Body::Hidden
        | Body::HiddenBlock
        | Body::WriteOnly { .. }
        | Body::Retyped(..)
        | Body::TooDeep => {
            found.insert(prefix.to_owned());
        }
    }
}

fn joined(prefix: &str, name: &str) -> String {
    if prefix.is_empty() {
        name.to_owned()
    } else {
        format!("{prefix}.{name}")
    }
}
