//! Which workspaces look at which objects, so that a change of one wakes those and no others.
//!
//! Filled by each pass with what it looked for, found or not: a Secret that appears wakes who missed it.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Mutex, PoisonError},
};

use ashlar_api::InputKind;

/// One Secret or ConfigMap of the workspace's namespace.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Reference {
    pub(crate) kind: InputKind,
    pub(crate) name: String,
}

impl Reference {
    /// The object that it names there.
    pub(crate) fn object(&self, namespace: &str) -> Object {
        Object {
            kind: self.kind.as_str(),
            namespace: namespace.to_owned(),
            name: self.name.clone(),
        }
    }
}

/// One object of the cluster.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Object {
    pub(crate) kind: &'static str,
    pub(crate) namespace: String,
    pub(crate) name: String,
}

/// A workspace: its namespace and name.
type Reader = (String, String);

#[derive(Default)]
struct Tables {
    readers: BTreeMap<Object, BTreeSet<Reader>>,
    reads: BTreeMap<Reader, BTreeSet<Object>>,
}

/// The index; shared by passes and watches.
#[derive(Default)]
pub(crate) struct Index(Mutex<Tables>);

impl Index {
    /// Replaces what is known of one workspace; no objects forget it.
    pub(crate) fn set(&self, namespace: &str, workspace: &str, objects: BTreeSet<Object>) {
        let mut tables = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let reader = (namespace.to_owned(), workspace.to_owned());
        if tables.reads.get(&reader) == Some(&objects) {
            return;
        }
        for object in tables.reads.remove(&reader).unwrap_or_default() {
            if let Some(readers) = tables.readers.get_mut(&object) {
                readers.remove(&reader);
                if readers.is_empty() {
                    tables.readers.remove(&object);
                }
            }
        }
        for object in &objects {
            tables
                .readers
                .entry(object.clone())
                .or_default()
                .insert(reader.clone());
        }
        if !objects.is_empty() {
            tables.reads.insert(reader, objects);
        }
    }

    /// The workspaces that look at the object: namespace and name of each.
    pub(crate) fn readers(&self, object: &Object) -> Vec<Reader> {
        let tables = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let found = tables.readers.get(object);
        found
            .map(|readers| readers.iter().cloned().collect())
            .unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_readers_of_just_this_object_are_woken() {
        let object = |kind: &'static str, namespace: &str, name: &str| Object {
            kind,
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        };
        let secret = |name: &str| object("Secret", "one", name);
        let index = Index::default();
        let check = |object: &Object, want: &[(&str, &str)]| {
            let found = index.readers(object);
            let found: Vec<(&str, &str)> = found.iter().map(|(space, name)| (&**space, &**name)).collect();
            assert_eq!(found, want, "{object:?}");
        };
        index.set("one", "a", [secret("x"), secret("y")].into());
        index.set("one", "b", [secret("x")].into());
        index.set("two", "c", [object("Secret", "two", "x")].into());
        check(&secret("x"), &[("one", "a"), ("one", "b")]);
        index.set("one", "a", [secret("y")].into());
        check(&secret("x"), &[("one", "b")]);
        check(&secret("y"), &[("one", "a")]);
        check(&object("ConfigMap", "one", "x"), &[]);
        index.set("one", "b", BTreeSet::new());
        check(&secret("x"), &[]);
        // An object of another namespace may be looked at, too.
        index.set("one", "b", [object("Bucket", "two", "x")].into());
        check(&object("Bucket", "two", "x"), &[("one", "b")]);
    }
}
