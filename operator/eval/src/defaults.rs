//! Defaults of optional attributes, and their application.
//!
//! They are put into a value before it is converted, wherever an attribute is missing or null inside known containers
//! that are not null. Rules: hcl `ext/typeexpr/defaults.go`.

use std::{collections::BTreeMap, sync::Arc};

use ashlar_value::{Data, Type, Value, convert, ops, unify};

/// The defaults inside a type.
#[derive(Clone, Debug, PartialEq)]
pub struct Defaults(Box<Kind>);

#[derive(Clone, Debug, PartialEq)]
enum Kind {
    /// Of every element of a list, set or map.
    Elements(Defaults),
    /// Of the elements of a tuple.
    Tuple(BTreeMap<usize, Defaults>),
    /// Of an object's attributes: the values, and the defaults inside them.
    Object(BTreeMap<Arc<str>, Value>, BTreeMap<Arc<str>, Defaults>),
}

impl Defaults {
    pub(crate) fn of_elements(element: Defaults) -> Self {
        Self(Box::new(Kind::Elements(element)))
    }

    pub(crate) fn of_tuple(children: BTreeMap<usize, Defaults>) -> Option<Self> {
        (!children.is_empty()).then(|| Self(Box::new(Kind::Tuple(children))))
    }

    pub(crate) fn of_object(
        values: BTreeMap<Arc<str>, Value>,
        children: BTreeMap<Arc<str>, Defaults>,
    ) -> Option<Self> {
        (!values.is_empty() || !children.is_empty()).then(|| Self(Box::new(Kind::Object(values, children))))
    }

    /// The value with defaults filled in. It may not have its final type yet; convert it afterwards.
    #[must_use]
    pub fn apply(&self, value: &Value) -> Value {
        if value.is_null() || !value.is_known() {
            return value.clone();
        }
        let (value, marks) = value.clone().unmark();
        let result = match value.data() {
            Data::List(..) | Data::Set(..) | Data::Tuple(_) => self.apply_items(&value),
            Data::Map(..) | Data::Object(_) => self.apply_entries(&value),
            _ => value,
        };
        result.with_marks(marks)
    }

    fn item(&self, at: usize) -> Option<&Defaults> {
        match &*self.0 {
            Kind::Elements(element) => Some(element),
            Kind::Tuple(children) => children.get(&at),
            Kind::Object(..) => None,
        }
    }

    fn entry(&self, name: &str) -> Option<&Defaults> {
        match &*self.0 {
            Kind::Elements(element) => Some(element),
            Kind::Object(_, children) => children.get(name),
            Kind::Tuple(_) => None,
        }
    }

    fn apply_items(&self, value: &Value) -> Value {
        let items = value.as_items().unwrap_or_default().iter().enumerate();
        let items: Vec<Value> = items
            .map(|(at, item)| {
                self.item(at)
                    .map_or_else(|| item.clone(), |child| child.apply(item))
            })
            .collect();
        match value.data() {
            Data::List(element, _) if items.is_empty() => Value::list(element.clone(), items),
            Data::Set(element, _) if items.is_empty() => Value::set(element.clone(), items),
            Data::List(..) => match unified(&items) {
                Some((element, items)) => Value::list(element, items),
                None => Value::tuple(items),
            },
            Data::Set(..) => match unified(&items) {
                Some((element, items)) => Value::set(element, items),
                None => Value::tuple(items),
            },
            _ => Value::tuple(items),
        }
    }

    fn apply_entries(&self, value: &Value) -> Value {
        let Some(entries) = value.as_entries() else {
            return value.clone();
        };
        let mut entries: BTreeMap<Arc<str>, Value> = entries
            .iter()
            .map(|(name, item)| {
                let item = self
                    .entry(name)
                    .map_or_else(|| item.clone(), |child| child.apply(item));
                (name.clone(), item)
            })
            .collect();
        if let Kind::Object(values, children) = &*self.0 {
            for (name, default) in values {
                match entries.get_mut(name) {
                    Some(given) if !given.is_null() => {
                        // Null would take the default, so what is given certainly is not null if the default is not.
                        if default.is_not_null() && given.ty() != Type::Dynamic {
                            let (bare, marks) = given.clone().unmark();
                            *given = ops::refine_not_null(bare).with_marks(marks);
                        }
                    }
                    _ => {
                        let filled = children
                            .get(name)
                            .map_or_else(|| default.clone(), |child| child.apply(default));
                        entries.insert(name.clone(), filled);
                    }
                }
            }
        }
        match value.data() {
            Data::Map(element, _) if entries.is_empty() => Value::map_of(element.clone(), entries),
            Data::Map(..) => {
                let (names, items): (Vec<_>, Vec<_>) = entries.into_iter().unzip();
                match unified(&items) {
                    Some((element, items)) => Value::map_of(element, names.into_iter().zip(items).collect()),
                    None => Value::object_of(names.into_iter().zip(items).collect()),
                }
            }
            _ => Value::object_of(entries),
        }
    }
}

/// The elements converted to one type, if there is one.
fn unified(items: &[Value]) -> Option<(Type, Vec<Value>)> {
    let types: Vec<Type> = items.iter().map(Value::ty).collect();
    let ty = unify(&types)?;
    let items: Option<Vec<Value>> = items.iter().map(|item| convert(item, &ty).ok()).collect();
    Some((ty, items?))
}
