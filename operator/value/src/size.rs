//! How much memory a value takes, for whoever has to bound that. Sizes are near the truth, not exact.

use std::sync::Arc;

use crate::{Data, Value};

/// What any value takes, besides texts and what stands inside; in a map or object its place in the tree too.
const NODE: u64 = 64;

impl Value {
    /// How many bytes the value would take if nothing in it were shared, as it must not be in a text or a copy. Constant
    /// time. Equal values weigh the same.
    pub fn weight(&self) -> u64 {
        let inside = match self.data() {
            Data::Null(_) | Data::Unknown(..) | Data::Bool(_) | Data::Number(_) => 0,
            Data::String(text) => text.len() as u64,
            Data::List(_, items) | Data::Set(_, items) | Data::Tuple(items) => items.weight(),
            Data::Map(_, entries) | Data::Object(entries) => entries.weight(),
        };
        inside.saturating_add(NODE)
    }

    /// How many bytes were taken to make the value out of parts that others hold as well: what is shared does not count.
    /// Takes as long as the new part is large.
    pub fn own_size(&self) -> u64 {
        match self.data() {
            Data::String(text) if Arc::strong_count(text) == 1 => text.len() as u64,
            Data::List(_, items) | Data::Set(_, items) | Data::Tuple(items)
                if Arc::strong_count(items) == 1 =>
            {
                items.iter().map(|item| NODE + item.own_size()).sum()
            }
            Data::Map(_, entries) | Data::Object(entries) if Arc::strong_count(entries) == 1 => {
                let key = |key: &Arc<str>| {
                    if Arc::strong_count(key) == 1 {
                        key.len() as u64
                    } else {
                        0
                    }
                };
                entries
                    .iter()
                    .map(|(name, item)| NODE + key(name) + item.own_size())
                    .sum()
            }
            _ => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Type;

    #[test]
    fn shared_parts_weigh_each_time_and_are_owned_by_none() {
        let text = Value::string("x".repeat(1000));
        assert_eq!((text.weight(), text.own_size()), (NODE + 1000, 1000));
        let mut value = Value::tuple(vec![text.clone(); 10]);
        assert_eq!(value.weight(), 11 * NODE + 10_000);
        assert_eq!(value.own_size(), 10 * NODE);
        // Ten in ten, forty times over, takes no room, but no text could hold it.
        for _ in 0..40 {
            value = Value::object([("a", value.clone()), ("b", value)]);
        }
        assert!(value.weight() > 1 << 50);
        let copy = value.clone();
        assert_eq!(copy.own_size(), 0);
    }

    #[test]
    fn equal_values_weigh_the_same() {
        let list = |items: &[&str]| Value::list(Type::String, items.iter().map(Value::string).collect());
        assert_eq!(list(&["a", "b"]), list(&["a", "b"]));
        assert_eq!(Value::empty(&Type::list(Type::String)).weight(), NODE);
    }
}
