//! Which of the paths that a provider calls "requires replacement" truly changed.
//!
//! Decides between update and replace. Values come without marks.
//! Source: Terraform `node_resource_abstract_instance.go` getRequiredReplaces.

use ashlar_value::{Path, Value, ops};

use super::Problem;

/// The paths that changed, or may have: a write-only attribute has nothing to compare. None on create.
///
/// # Errors
/// The paths that exist in neither object.
pub fn required_replaces(
    prior: &Value,
    planned: &Value,
    write_only: &[Path],
    required: &[Path],
) -> Result<Vec<Path>, Vec<Problem>> {
    let mut changed = Vec::new();
    let mut problems = Vec::new();
    if prior.is_null() {
        return Ok(changed);
    }
    for path in required {
        let (old, new) = match (path.apply(prior), path.apply(planned)) {
            (Err(_), Err(_)) => {
                problems.push(Problem::new(
                    path,
                    "\"requires replacement\" for a path that does not exist",
                ));
                continue;
            }
            (Ok(old), Err(_)) => (old.clone(), Value::null(old.ty())),
            (Err(_), Ok(new)) => (Value::null(new.ty()), new),
            (Ok(old), Ok(new)) => (old, new),
        };
        let equal = ops::equal(&new, &old).as_bool() == Some(true);
        if (!equal || write_only.contains(path)) && !changed.contains(path) {
            changed.push(path.clone());
        }
    }
    if problems.is_empty() {
        Ok(changed)
    } else {
        Err(problems)
    }
}
