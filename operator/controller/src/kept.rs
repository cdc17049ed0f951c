//! A plan as it is stored, with the files it was made from, and what it is called.

use std::collections::BTreeMap;

use ashlar_diag::{Diag, Diags};
use ashlar_plan::{Plan, digest};
use serde::{Deserialize, Serialize};

/// What is sealed away under a plan's digest.
#[derive(Serialize, Deserialize)]
pub(crate) struct Kept {
    /// The plan in its stored form.
    #[serde(with = "serde_bytes")]
    pub(crate) plan: Vec<u8>,
    /// All files beside which it was made, for the functions that read them: by path.
    pub(crate) files: BTreeMap<String, String>,
}

impl Kept {
    pub(crate) fn encode(&self) -> Result<Vec<u8>, Diags> {
        rmp_serde::to_vec(self)
            .map_err(|error| Diag::error("Failed to store the plan", format!("{error}.")).into())
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, Diags> {
        rmp_serde::from_slice(bytes).map_err(|_| {
            let detail = "The stored plan cannot be read; it may be another version's. It is planned anew.";
            Diag::error("Failed to read the plan", detail).into()
        })
    }
}

/// What a plan's digest covers beside the plan.
pub(crate) struct Naming<'a> {
    pub(crate) workspace_uid: &'a str,
    /// The plan whose apply began last, by the state.
    pub(crate) begun: Option<&'a str>,
    /// Digests that must not come again, by the status: their approvals are spent.
    pub(crate) spent: &'a [String],
    pub(crate) key: &'a [u8],
}

/// The digest of a plan. Where the state went back to an older copy, the same plan as then gets another digest: the old
/// approval may still stand in the object.
pub(crate) fn name(plan: &Plan, naming: &Naming<'_>) -> String {
    let seeded = |last_begun: Option<&str>| {
        let seed = digest::Seed {
            workspace_uid: naming.workspace_uid,
            last_begun,
            key: naming.key,
        };
        digest::digest(plan, seed)
    };
    let mut name = seeded(naming.begun);
    // Each round gives another digest, and there are only so many to avoid.
    for round in 0..=naming.spent.len() {
        if !naming.spent.contains(&name) {
            break;
        }
        name = seeded(Some(&format!("{} {round}", naming.begun.unwrap_or_default())));
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_read_back() {
        let kept = Kept {
            plan: vec![1, 2, 255],
            files: [("t/x.tpl".to_owned(), "x".to_owned())].into(),
        };
        let read = Kept::decode(&kept.encode().unwrap()).unwrap();
        assert_eq!((read.plan, read.files), (kept.plan, kept.files));
        assert!(Kept::decode(b"nonsense").is_err());
    }
}
