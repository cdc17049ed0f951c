//! Which workspaces read which Secrets and ConfigMaps, so that a change of one wakes those and no others.
//!
//! Filled by each pass with what it looked for, found or not: a Secret that appears wakes who missed it.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Mutex, PoisonError},
};

use ashlar_api::InputKind;

/// One object in one namespace.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Reference {
    pub(crate) kind: InputKind,
    pub(crate) name: String,
}

/// Name of a workspace within its namespace.
type Name = String;
type Namespace = String;

#[derive(Default)]
struct Tables {
    readers: BTreeMap<(Namespace, Reference), BTreeSet<Name>>,
    reads: BTreeMap<(Namespace, Name), BTreeSet<Reference>>,
}

/// The index; shared by passes and watches.
#[derive(Default)]
pub(crate) struct Index(Mutex<Tables>);

impl Index {
    /// Replaces what is known of one workspace; no references forget it.
    pub(crate) fn set(&self, namespace: &str, workspace: &str, references: BTreeSet<Reference>) {
        let mut tables = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (namespace.to_owned(), workspace.to_owned());
        if tables.reads.get(&key) == Some(&references) {
            return;
        }
        for reference in tables.reads.remove(&key).unwrap_or_default() {
            let at = (namespace.to_owned(), reference);
            if let Some(readers) = tables.readers.get_mut(&at) {
                readers.remove(workspace);
                if readers.is_empty() {
                    tables.readers.remove(&at);
                }
            }
        }
        for reference in &references {
            let at = (namespace.to_owned(), reference.clone());
            tables.readers.entry(at).or_default().insert(workspace.to_owned());
        }
        if !references.is_empty() {
            tables.reads.insert(key, references);
        }
    }

    /// The workspaces of this namespace that read the object.
    pub(crate) fn readers(&self, namespace: &str, reference: Reference) -> Vec<String> {
        let tables = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let found = tables.readers.get(&(namespace.to_owned(), reference));
        found
            .map(|names| names.iter().cloned().collect())
            .unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_readers_of_the_same_namespace_are_woken() {
        let secret = |name: &str| Reference {
            kind: InputKind::Secret,
            name: name.to_owned(),
        };
        let index = Index::default();
        index.set("one", "a", [secret("x"), secret("y")].into());
        index.set("one", "b", [secret("x")].into());
        index.set("two", "c", [secret("x")].into());
        assert_eq!(index.readers("one", secret("x")), ["a", "b"]);
        index.set("one", "a", [secret("y")].into());
        assert_eq!(index.readers("one", secret("x")), ["b"]);
        assert_eq!(index.readers("one", secret("y")), ["a"]);
        let map = Reference {
            kind: InputKind::ConfigMap,
            name: "x".to_owned(),
        };
        assert!(index.readers("one", map).is_empty());
        index.set("one", "b", BTreeSet::new());
        assert!(index.readers("one", secret("x")).is_empty());
    }
}
