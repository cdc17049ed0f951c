//! Paths into a value.

use std::{fmt, sync::Arc};

use crate::{Data, Number, Value, ops};

/// One step into a value.
#[derive(Clone, Debug, PartialEq)]
pub enum PathStep {
    /// An attribute of an object.
    Attr(Arc<str>),
    /// An element: a number for lists and tuples, a string for maps, the element itself for sets.
    Index(Value),
}

/// A path from a value to something inside it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Path(pub Vec<PathStep>);

impl Path {
    /// The value itself.
    pub fn root() -> Self {
        Self::default()
    }

    /// One step further, into an attribute.
    #[must_use]
    pub fn attr(&self, name: impl Into<Arc<str>>) -> Self {
        self.step(PathStep::Attr(name.into()))
    }

    /// One step further, into an element.
    #[must_use]
    pub fn index(&self, key: Value) -> Self {
        self.step(PathStep::Index(key))
    }

    /// One step further.
    #[must_use]
    pub fn step(&self, step: PathStep) -> Self {
        let mut steps = Vec::with_capacity(self.0.len() + 1);
        steps.extend(self.0.iter().cloned());
        steps.push(step);
        Self(steps)
    }

    /// Is this the value itself?
    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// The value this path leads to from `value`, with the marks met on the way. Follows unknown values as
    /// [`ops::index`] does; a set is followed to the member that the step names.
    pub fn apply(&self, value: &Value) -> Result<Value, ops::OpError> {
        self.0
            .iter()
            .try_fold(value.clone(), |value, step| match (step, value.data()) {
                (PathStep::Attr(name), _) => ops::get_attr(&value, name),
                (PathStep::Index(key), Data::Set(_, items)) => items
                    .contains(key)
                    .then(|| key.clone().with_marks(value.marks()))
                    .ok_or_else(|| ops::OpError::new("the set has no such member")),
                (PathStep::Index(key), _) => ops::index(&value, key),
            })
    }

    /// Does `self` begin with all of `prefix`?
    pub fn starts_with(&self, prefix: &Path) -> bool {
        self.0.len() >= prefix.0.len() && self.0.iter().zip(&prefix.0).all(|(a, b)| a == b)
    }
}

impl FromIterator<PathStep> for Path {
    fn from_iter<I: IntoIterator<Item = PathStep>>(iter: I) -> Self {
        Self(iter.into_iter().collect())
    }
}

impl From<i64> for PathStep {
    fn from(index: i64) -> Self {
        PathStep::Index(Value::number(Number::from(index)))
    }
}

/// As Terraform prints paths in diagnostics: `.tags["a"]`, `.list[0]`; a set's element prints as `[...]`.
impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for step in &self.0 {
            match step {
                PathStep::Attr(name) => write!(f, ".{name}")?,
                PathStep::Index(key) => match key.data() {
                    Data::Number(number) if key.marks().is_empty() => write!(f, "[{number}]")?,
                    Data::String(text) if key.marks().is_empty() => write!(f, "[{text:?}]")?,
                    _ => f.write_str("[...]")?,
                },
            }
        }
        Ok(())
    }
}
