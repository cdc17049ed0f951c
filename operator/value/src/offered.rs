//! What a provider offers of one kind, by name, each entry made when it is first asked for.
//!
//! A large provider has a thousand types, and a configuration uses ten of them. Which names there are is always known;
//! what stands behind a name is made at most once, by whoever has it in a smaller form. Nothing here reads anything.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, OnceLock},
};

/// Makes what stands behind a name; `None` if it cannot, which whoever makes it tells.
pub type Maker<T> = Arc<dyn Fn(&str) -> Option<T> + Send + Sync>;

/// Entries by name.
pub struct Offered<T> {
    entries: BTreeMap<Arc<str>, OnceLock<Option<T>>>,
    /// Makes the entries that are not there yet.
    maker: Option<Maker<T>>,
}

impl<T> Offered<T> {
    /// These names, with what `maker` makes of each.
    pub fn made_by(names: impl IntoIterator<Item = Arc<str>>, maker: Maker<T>) -> Self {
        Self {
            entries: names.into_iter().map(|name| (name, OnceLock::new())).collect(),
            maker: Some(maker),
        }
    }

    fn made<'s>(&'s self, name: &str, entry: &'s OnceLock<Option<T>>) -> Option<&'s T> {
        entry
            .get_or_init(|| self.maker.as_ref().and_then(|maker| maker(name)))
            .as_ref()
    }

    /// What has this name.
    pub fn get(&self, name: &str) -> Option<&T> {
        self.made(name, self.entries.get(name)?)
    }

    /// The same, beside the name as it is kept here.
    pub fn get_key_value(&self, name: &str) -> Option<(&Arc<str>, &T)> {
        let (name, entry) = self.entries.get_key_value(name)?;
        Some((name, self.made(name, entry)?))
    }

    /// Is there one of this name? Makes nothing.
    pub fn contains_key(&self, name: &str) -> bool {
        self.entries.contains_key(name)
    }

    /// All names, in order. Makes nothing.
    pub fn keys(&self) -> impl Iterator<Item = &Arc<str>> {
        self.entries.keys()
    }

    /// All entries, in the order of their names. Makes each of them.
    pub fn iter(&self) -> impl Iterator<Item = (&Arc<str>, &T)> {
        self.entries
            .iter()
            .filter_map(|(name, entry)| Some((name, self.made(name, entry)?)))
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Are there none?
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Adds one, in place of any of this name.
    pub fn insert(&mut self, name: Arc<str>, value: T) {
        self.entries.insert(name, OnceLock::from(Some(value)));
    }
}

impl<T> Default for Offered<T> {
    fn default() -> Self {
        Self {
            entries: BTreeMap::new(),
            maker: None,
        }
    }
}

impl<T: Clone> Clone for Offered<T> {
    fn clone(&self) -> Self {
        Self {
            entries: self.entries.clone(),
            maker: self.maker.clone(),
        }
    }
}

/// The names alone: to show the rest would make it.
impl<T> fmt::Debug for Offered<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.entries.keys()).finish()
    }
}

impl<T> FromIterator<(Arc<str>, T)> for Offered<T> {
    fn from_iter<I: IntoIterator<Item = (Arc<str>, T)>>(entries: I) -> Self {
        let entries = entries.into_iter();
        Self {
            entries: entries
                .map(|(name, value)| (name, OnceLock::from(Some(value))))
                .collect(),
            maker: None,
        }
    }
}

impl<T, const N: usize> From<[(Arc<str>, T); N]> for Offered<T> {
    fn from(entries: [(Arc<str>, T); N]) -> Self {
        entries.into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    #[test]
    fn entries_are_made_once_and_only_when_asked_for() {
        let made: Arc<Mutex<Vec<String>>> = Arc::default();
        let seen = made.clone();
        let maker: Maker<usize> = Arc::new(move |name: &str| {
            seen.lock().unwrap().push(name.to_owned());
            (name != "broken").then_some(name.len())
        });
        let names = ["one", "three", "broken"].map(Arc::from);
        let mut offered = Offered::made_by(names, maker);
        assert!(offered.contains_key("one") && offered.keys().count() == 3 && offered.len() == 3);
        assert!(made.lock().unwrap().is_empty(), "names cost nothing");
        assert_eq!(offered.get("three"), Some(&5));
        assert_eq!(offered.get("three"), Some(&5));
        assert_eq!(offered.get("other"), None);
        assert_eq!(*made.lock().unwrap(), ["three"]);
        assert_eq!(offered.get("broken"), None, "what cannot be made is not there");
        offered.insert("two".into(), 2);
        let all: Vec<(&str, usize)> = offered.iter().map(|(name, value)| (&**name, *value)).collect();
        assert_eq!(all, [("one", 3), ("three", 5), ("two", 2)]);
        assert_eq!(*made.lock().unwrap(), ["three", "broken", "one"]);
    }
}
