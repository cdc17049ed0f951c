//! Going through a value with the path to each part: walking, transforming, taking marks off and putting them back.

use crate::{Data, Marks, Path, PathStep, Value, ops::OpError};

impl Value {
    /// Visits the value and all inside, outer first, with the path from here. `visit` tells whether to go inside.
    pub fn walk(&self, visit: &mut dyn FnMut(&Path, &Value) -> bool) {
        walk_at(self, &mut Path::root(), visit);
    }

    /// Rebuilds the value from what `change` makes of each part, inner first (cty `Transform`). Marks of a container
    /// stay on it while it is rebuilt. In a list, set or map the changed elements must again have one type, which
    /// becomes the element type.
    pub fn transform<E: From<OpError>>(
        &self,
        change: &mut dyn FnMut(&Path, Value) -> Result<Value, E>,
    ) -> Result<Value, E> {
        transform_at(self, &mut Path::root(), change)
    }

    /// The value without any mark, and where each mark was: outer first. Marks inside a set are on the set.
    pub fn unmark_deep_with_paths(self) -> (Value, Vec<(Path, Marks)>) {
        let mut found = Vec::new();
        if self.marks_deep().is_empty() {
            return (self, found);
        }
        self.walk(&mut |path, value| {
            if !value.marks().is_empty() {
                found.push((path.clone(), value.marks()));
            }
            !value.marks_deep().is_empty()
        });
        (self.unmark_deep().0, found)
    }

    /// The value with these marks added at these paths; paths that lead nowhere are ignored, those into a set mark the
    /// set.
    #[must_use]
    pub fn mark_paths(self, marks: &[(Path, Marks)]) -> Value {
        if marks.is_empty() {
            return self;
        }
        let marks: Vec<(&[PathStep], Marks)> = marks
            .iter()
            .map(|(path, marks)| (path.0.as_slice(), *marks))
            .collect();
        mark_at(&self, &marks)
    }
}

fn walk_at(value: &Value, path: &mut Path, visit: &mut dyn FnMut(&Path, &Value) -> bool) {
    if !visit(path, value) {
        return;
    }
    let mut inside = |step: PathStep, item: &Value| {
        path.0.push(step);
        walk_at(item, path, visit);
        path.0.pop();
    };
    match value.data() {
        Data::List(_, items) | Data::Tuple(items) => {
            for (at, item) in items.iter().enumerate() {
                inside(position(at), item);
            }
        }
        Data::Set(_, items) => {
            for item in items.iter() {
                inside(PathStep::Index(item.clone()), item);
            }
        }
        Data::Map(_, entries) => {
            for (name, item) in entries.iter() {
                inside(PathStep::Index(Data::String(name.clone()).into()), item);
            }
        }
        Data::Object(attrs) => {
            for (name, item) in attrs.iter() {
                inside(PathStep::Attr(name.clone()), item);
            }
        }
        Data::Null(_) | Data::Unknown(..) | Data::Bool(_) | Data::Number(_) | Data::String(_) => {}
    }
}

fn position(at: usize) -> PathStep {
    PathStep::Index(Value::number(at))
}

fn transform_at<E: From<OpError>>(
    value: &Value,
    path: &mut Path,
    change: &mut dyn FnMut(&Path, Value) -> Result<Value, E>,
) -> Result<Value, E> {
    let mut inside = |step: PathStep, item: &Value| {
        path.0.push(step);
        let changed = transform_at(item, path, change);
        path.0.pop();
        changed
    };
    let mixed = || E::from(OpError::new("the changed elements are not all of one type"));
    let rebuilt = match value.data() {
        Data::List(_, items) if !items.is_empty() => {
            let items = items
                .iter()
                .enumerate()
                .map(|(at, item)| inside(position(at), item));
            crate::ops::list_of(items.collect::<Result<_, E>>()?).ok_or_else(mixed)?
        }
        Data::Set(_, items) if !items.is_empty() => {
            let items = items
                .iter()
                .map(|item| inside(PathStep::Index(item.clone()), item));
            crate::ops::set_of(items.collect::<Result<_, E>>()?).ok_or_else(mixed)?
        }
        Data::Map(_, entries) if !entries.is_empty() => {
            let entries = entries.iter().map(|(name, item)| {
                let step = PathStep::Index(Data::String(name.clone()).into());
                Ok((name.clone(), inside(step, item)?))
            });
            crate::ops::map_of(entries.collect::<Result<_, E>>()?).ok_or_else(mixed)?
        }
        Data::Tuple(items) => {
            let items = items
                .iter()
                .enumerate()
                .map(|(at, item)| inside(position(at), item));
            Value::tuple(items.collect::<Result<_, E>>()?)
        }
        Data::Object(attrs) => {
            let attrs = attrs
                .iter()
                .map(|(name, item)| Ok((name.clone(), inside(PathStep::Attr(name.clone()), item)?)));
            Value::object_of(attrs.collect::<Result<_, E>>()?)
        }
        other => Value::from(other.clone()),
    };
    change(path, rebuilt.with_marks(value.marks()))
}

/// Adds the marks whose path is used up here, and passes the others on to the element they lead to.
fn mark_at(value: &Value, marks: &[(&[PathStep], Marks)]) -> Value {
    let mut own = Marks::NONE;
    let mut deeper: Vec<(&PathStep, &[PathStep], Marks)> = Vec::new();
    for (path, its_marks) in marks {
        match path.split_first() {
            None => own = own.union(*its_marks),
            Some((step, rest)) => deeper.push((step, rest, *its_marks)),
        }
    }
    if deeper.is_empty() {
        return value.clone().with_marks(own);
    }
    let name_of = |step: &PathStep| match step {
        PathStep::Attr(name) => Some(name.clone()),
        PathStep::Index(key) => key.as_str().cloned(),
    };
    let named = |entries: &std::collections::BTreeMap<_, Value>| {
        let mut entries = entries.clone();
        let mut by_name = std::collections::BTreeMap::<_, Vec<(&[PathStep], Marks)>>::new();
        for (step, rest, its_marks) in &deeper {
            if let Some(name) = name_of(step) {
                by_name.entry(name).or_default().push((rest, *its_marks));
            }
        }
        for (name, marks) in by_name {
            if let Some(item) = entries.get_mut(&name) {
                *item = mark_at(item, &marks);
            }
        }
        entries
    };
    let numbered = |items: &[Value]| {
        let mut items = items.to_vec();
        let mut by_position = std::collections::BTreeMap::<usize, Vec<(&[PathStep], Marks)>>::new();
        for (step, rest, its_marks) in &deeper {
            if let PathStep::Index(key) = step
                && let Some(at) = key
                    .as_number()
                    .and_then(|at| at.to_i64())
                    .and_then(|at| usize::try_from(at).ok())
            {
                by_position.entry(at).or_default().push((rest, *its_marks));
            }
        }
        for (at, marks) in by_position {
            if let Some(item) = items.get_mut(at) {
                *item = mark_at(item, &marks);
            }
        }
        items
    };
    let marked = match value.data() {
        Data::List(element, items) => Value::list(element.clone(), numbered(items)),
        Data::Tuple(items) => Value::tuple(numbered(items)),
        Data::Map(element, entries) => Value::map_of(element.clone(), named(entries)),
        Data::Object(attrs) => Value::object_of(named(attrs)),
        Data::Set(_, items) => {
            own = deeper.iter().fold(own, |own, (step, _, its_marks)| match step {
                PathStep::Index(key) if items.contains(key) => own.union(*its_marks),
                _ => own,
            });
            Value::from(value.data().clone())
        }
        other => Value::from(other.clone()),
    };
    marked.with_marks(value.marks()).with_marks(own)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Value {
        Value::object([
            ("a", Value::string("x").with_marks(Marks::SENSITIVE)),
            (
                "l",
                Value::list(
                    crate::Type::Number,
                    vec![Value::number(1), Value::number(2).with_marks(Marks::EPHEMERAL)],
                ),
            ),
        ])
    }

    #[test]
    fn marks_come_off_and_go_back() {
        let (plain, marks) = sample().unmark_deep_with_paths();
        let shown: Vec<String> = marks.iter().map(|(path, _)| path.to_string()).collect();
        assert_eq!(shown, [".a", ".l[1]"]);
        assert!(plain.marks_deep().is_empty());
        assert_eq!(plain.mark_paths(&marks), sample());
    }

    #[test]
    fn transforming_keeps_marks_and_renews_the_element_type() {
        let changed = sample().transform::<OpError>(&mut |_, value| match value.data() {
            Data::Number(number) => Ok(Value::string(number.to_string()).with_marks(value.marks())),
            _ => Ok(value),
        });
        let list = changed.unwrap().attr("l").unwrap();
        assert_eq!(list.ty(), crate::Type::list(crate::Type::String));
        assert_eq!(list.marks_deep(), Marks::EPHEMERAL);
    }

    #[test]
    fn a_path_into_a_set_marks_the_set() {
        let set = Value::set(crate::Type::Bool, vec![Value::bool(true)]);
        let path = Path::root().index(Value::bool(true));
        assert_eq!(
            set.clone().mark_paths(&[(path, Marks::SENSITIVE)]),
            set.with_marks(Marks::SENSITIVE)
        );
    }
}
