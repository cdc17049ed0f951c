//! Which instances something has, what `each` and `count` mean in one, and the value that all of them make.

use std::{collections::BTreeMap, sync::Arc};

use ashlar_addr::InstanceKey;
use ashlar_value::{Type, Value};

/// Which instances a resource has.
#[derive(Clone, Debug)]
pub enum Expansion {
    /// One without a key.
    Single,
    /// One without a key, or none.
    Switched(bool),
    /// So many, by index.
    Count(i64),
    /// By key, with `each.value`.
    ForEach(BTreeMap<Arc<str>, Value>),
}

impl Expansion {
    /// The keys of all instances.
    pub fn keys(&self) -> Vec<InstanceKey> {
        match self {
            Expansion::Single | Expansion::Switched(true) => vec![InstanceKey::None],
            Expansion::Switched(false) => Vec::new(),
            Expansion::Count(count) => (0..*count).map(InstanceKey::Int).collect(),
            Expansion::ForEach(each) => each.keys().map(|key| InstanceKey::String(key.clone())).collect(),
        }
    }

    /// Does an instance with this key exist?
    pub fn contains(&self, key: &InstanceKey) -> bool {
        match (self, key) {
            (Expansion::Single | Expansion::Switched(true), InstanceKey::None) => true,
            (Expansion::Count(count), InstanceKey::Int(index)) => (0..*count).contains(index),
            (Expansion::ForEach(each), InstanceKey::String(key)) => each.contains_key(key),
            _ => false,
        }
    }

    /// What `each` and `count` mean for the instance with this key.
    pub fn repetition(&self, key: &InstanceKey) -> Repetition {
        match (self, key) {
            (Expansion::Count(_), InstanceKey::Int(index)) => Repetition {
                count_index: Some(Value::number(*index)),
                each: None,
            },
            (Expansion::ForEach(each), InstanceKey::String(key)) => Repetition {
                count_index: None,
                each: each.get(key).map(|value| (Value::string(key), value.clone())),
            },
            _ => Repetition::default(),
        }
    }
}

/// What `each` and `count` mean for one instance.
#[derive(Clone, Debug, Default)]
pub struct Repetition {
    /// `count.index`
    pub count_index: Option<Value>,
    /// `each.key` and `each.value`
    pub each: Option<(Value, Value)>,
}

impl Repetition {
    /// What is known of it by an instance's key alone: that has no `each.value`.
    pub fn of_key(key: &InstanceKey) -> Self {
        match key {
            InstanceKey::None => Self::default(),
            InstanceKey::Int(index) => Self {
                count_index: Some(Value::number(*index)),
                each: None,
            },
            InstanceKey::String(key) => Self {
                count_index: None,
                each: Some((Value::string(key), Value::dynamic())),
            },
        }
    }
}

/// A resource's value from those of its instances: by count a tuple, by for_each an object, else the one instance.
/// Instances missing among a count are wholly unknown; what is switched off is null.
pub fn combine(expansion: &Expansion, mut instances: BTreeMap<InstanceKey, Value>) -> Value {
    match expansion {
        Expansion::Switched(false) => Value::null(Type::Dynamic),
        Expansion::Single | Expansion::Switched(true) => instances
            .remove(&InstanceKey::None)
            .unwrap_or_else(Value::dynamic),
        Expansion::Count(count) => {
            let at = |index| {
                instances
                    .remove(&InstanceKey::Int(index))
                    .unwrap_or_else(Value::dynamic)
            };
            Value::tuple((0..*count).map(at).collect())
        }
        Expansion::ForEach(each) => {
            let mut of = |key: &Arc<str>| {
                instances
                    .remove(&InstanceKey::String(key.clone()))
                    .unwrap_or_else(Value::dynamic)
            };
            let attrs: Vec<(Arc<str>, Value)> = each.keys().map(|key| (key.clone(), of(key))).collect();
            Value::object(attrs)
        }
    }
}
