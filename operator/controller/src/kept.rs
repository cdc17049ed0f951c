//! A plan as it is stored, with the files it was made from, and what it is called.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, hash_map::Entry},
    sync::Arc,
};

use ashlar_diag::{Diag, Diags};
use ashlar_plan::{Plan, digest};
use serde::{Deserialize, Serialize};
use serde_bytes::ByteBuf;

use crate::{inputs::canonical, package::Package};

/// What is sealed away under a plan's digest.
#[derive(Serialize, Deserialize)]
pub(crate) struct Kept {
    /// The plan in its stored form.
    #[serde(with = "serde_bytes")]
    pub(crate) plan: Vec<u8>,
    /// All files beside which it was made, for functions and providers that read them: by path.
    files: BTreeMap<String, ByteBuf>,
    /// The root module's folder among them.
    #[serde(default = "top")]
    root: String,
    /// The folders that the files are of, if not the whole source.
    #[serde(default)]
    held: BTreeSet<String>,
    /// Files that have the content of another one: packages that are called several times lie in several places.
    #[serde(default)]
    same: BTreeMap<String, String>,
}

fn top() -> String {
    ".".to_owned()
}

impl Kept {
    pub(crate) fn new(plan: Vec<u8>, package: Package) -> Self {
        let (mut files, mut same) = (BTreeMap::new(), BTreeMap::new());
        let mut firsts = HashMap::<Arc<[u8]>, String>::new();
        for (path, bytes) in package.files {
            match firsts.entry(bytes) {
                Entry::Occupied(first) => {
                    same.insert(path, first.get().clone());
                }
                Entry::Vacant(place) => {
                    files.insert(path.clone(), ByteBuf::from(place.key().to_vec()));
                    place.insert(path);
                }
            }
        }
        Self {
            plan,
            files,
            root: package.root,
            held: package.held,
            same,
        }
    }

    /// The plan, and the files.
    pub(crate) fn open(self) -> (Vec<u8>, Package) {
        let files = self.files.into_iter();
        let mut files: BTreeMap<String, Arc<[u8]>> = files
            .map(|(path, bytes)| (path, bytes.into_vec().into()))
            .collect();
        let same = self.same.into_iter();
        let same: Vec<_> = same
            .filter_map(|(path, first)| Some((path, files.get(&first)?.clone())))
            .collect();
        files.extend(same);
        let package = Package {
            root: self.root,
            files,
            held: self.held,
            // The plan says where they are.
            modules: None,
        };
        (self.plan, package)
    }

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
    /// All that functions and providers could read: what a provider read stands nowhere in the plan.
    pub(crate) package: &'a Package,
    /// The plan whose apply began last, by the state.
    pub(crate) begun: Option<&'a str>,
    /// Digests that must not come again, by the status: their approvals are spent.
    pub(crate) spent: &'a [String],
    pub(crate) key: &'a [u8],
}

/// The digest of a plan. Where the state went back to an older copy, the same plan as then gets another digest: the old
/// approval may still stand in the object.
pub(crate) fn name(plan: &Plan, naming: &Naming<'_>) -> String {
    let files = digest::keyed_bytes(naming.key, &canonical(naming.package.parts()));
    let identity = format!("{} {files}", naming.workspace_uid);
    let seeded = |last_begun: Option<&str>| {
        let seed = digest::Seed {
            workspace_uid: &identity,
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
        let package = Package {
            root: "a/b".to_owned(),
            files: ["a/b/x.zip", "a/b/y.zip"]
                .map(|path| (path.to_owned(), vec![7; 5000].into()))
                .into(),
            held: ["a/b".to_owned()].into(),
            modules: None,
        };
        let kept = Kept::new(vec![1, 2, 255], package.clone());
        let encoded = kept.encode().unwrap();
        assert!(encoded.len() < 6000, "one content is kept once");
        let read = Kept::decode(&encoded).unwrap();
        assert_eq!(read.open(), (vec![1, 2, 255], package));
        assert!(Kept::decode(b"nonsense").is_err());
    }

    #[test]
    fn plans_that_were_kept_as_texts_are_read_still() {
        let files = BTreeMap::from([("t/x.tpl", "x")]);
        let old = rmp_serde::to_vec(&(ByteBuf::from([1, 2, 255]), files)).unwrap();
        let package = Package::of_texts([("t/x.tpl".to_owned(), "x".to_owned())].into());
        assert_eq!(Kept::decode(&old).unwrap().open(), (vec![1, 2, 255], package));
    }
}
