//! Finding the one type that several can be converted to.

use std::{collections::HashSet, sync::Arc};

use crate::Type;

use super::plan::{Safety, plan};

/// The common type; `None` if there is none, or no types are given.
pub(super) fn unify(types: &[Type], safety: Safety) -> Option<Type> {
    let first = types.first()?;
    if types.iter().all(|ty| ty == first) && !matches!(first, Type::Dynamic) {
        return Some(first.clone());
    }
    let count = Kinds::of(types);
    let all = types.len();
    let with_dynamic = |kind: usize| kind > 0 && kind + count.dynamic == all;
    // Of one kind they may have a common type that is none of them, and it is to be preferred: converting one object to
    // another of fewer attributes is possible, but not what anyone wants.
    if with_dynamic(count.map) {
        return collections(types, Type::map, safety, count.dynamic > 0);
    }
    if count.map > 0 && count.map + count.object + count.dynamic == all {
        if let Some(found @ Type::Map(_)) = in_disguise(types, Type::is_object, objects_to_map, safety) {
            return Some(found);
        }
    } else if with_dynamic(count.list) {
        return collections(types, Type::list, safety, count.dynamic > 0);
    } else if count.list > 0 && count.list + count.tuple + count.dynamic == all {
        if let Some(found @ Type::List(_)) = in_disguise(types, Type::is_tuple, tuples_to_list, safety) {
            return Some(found);
        }
    } else if with_dynamic(count.set) {
        return collections(types, Type::set, safety, count.dynamic > 0);
    } else if with_dynamic(count.object) {
        return if count.dynamic > 0 {
            Some(Type::Dynamic)
        } else {
            objects(types, safety)
        };
    } else if with_dynamic(count.tuple) {
        return if count.dynamic > 0 {
            Some(Type::Dynamic)
        } else {
            tuples(types, safety)
        };
    } else if count.object > 0 && count.tuple > 0 {
        return None;
    }
    one_of(types, safety)
}

#[derive(Default)]
struct Kinds {
    map: usize,
    list: usize,
    set: usize,
    object: usize,
    tuple: usize,
    dynamic: usize,
}

impl Kinds {
    fn of(types: &[Type]) -> Self {
        let mut kinds = Self::default();
        for ty in types {
            match ty {
                Type::Map(_) => kinds.map += 1,
                Type::List(_) => kinds.list += 1,
                Type::Set(_) => kinds.set += 1,
                Type::Object(_) => kinds.object += 1,
                Type::Tuple(_) => kinds.tuple += 1,
                Type::Dynamic => kinds.dynamic += 1,
                Type::Bool | Type::Number | Type::String => {}
            }
        }
        kinds
    }
}

impl Type {
    fn is_object(&self) -> bool {
        matches!(self, Type::Object(_))
    }

    fn is_tuple(&self) -> bool {
        matches!(self, Type::Tuple(_))
    }
}

/// The first of the types, most general first, that all others can be converted to.
fn one_of(types: &[Type], safety: Safety) -> Option<Type> {
    let mut seen = HashSet::new();
    let distinct: Vec<&Type> = types.iter().filter(|ty| seen.insert(*ty)).collect();
    let fits = |want: &Type| {
        distinct
            .iter()
            .all(|ty| *ty == want || plan(ty, want, safety).is_some())
    };
    by_preference(&distinct)
        .into_iter()
        .find(|want| fits(want))
        .cloned()
}

/// Objects among maps, and tuples among lists, often are maps and lists by intent: unified as such first, then together.
fn in_disguise(
    types: &[Type],
    disguised: fn(&Type) -> bool,
    reveal: fn(&[Type], Safety) -> Option<Type>,
    safety: Safety,
) -> Option<Type> {
    let hidden: Vec<Type> = types.iter().filter(|ty| disguised(ty)).cloned().collect();
    let revealed = reveal(&hidden, safety)?;
    let types: Vec<Type> = types
        .iter()
        .map(|ty| {
            if disguised(ty) {
                revealed.clone()
            } else {
                ty.clone()
            }
        })
        .collect();
    unify(&types, safety)
}

fn collections(types: &[Type], build: fn(Type) -> Type, safety: Safety, has_dynamic: bool) -> Option<Type> {
    if has_dynamic {
        return Some(Type::Dynamic);
    }
    let elements: Vec<Type> = types.iter().filter_map(Type::element).cloned().collect();
    let found = build(unify(&elements, safety)?);
    all_convert(types, &found, safety).then_some(found)
}

fn all_convert(types: &[Type], to: &Type, safety: Safety) -> bool {
    let mut seen = HashSet::new();
    types
        .iter()
        .filter(|ty| seen.insert(*ty))
        .all(|ty| ty == to || plan(ty, to, safety).is_some())
}

/// Objects of the same attribute names: attribute by attribute. Else a map.
fn objects(types: &[Type], safety: Safety) -> Option<Type> {
    let objects: Vec<_> = types
        .iter()
        .filter_map(|ty| match ty {
            Type::Object(object) => Some(object),
            _ => None,
        })
        .collect();
    let first = objects.first()?;
    let names = |object: &Arc<crate::ObjectType>| {
        object
            .attrs()
            .iter()
            .map(|attr| attr.name.clone())
            .collect::<Vec<_>>()
    };
    let first_names = names(first);
    if objects.iter().any(|object| names(object) != first_names) {
        return objects_to_map(types, safety);
    }
    let mut attrs = Vec::new();
    for (at, attr) in first.attrs().iter().enumerate() {
        let across: Vec<Type> = objects
            .iter()
            .filter_map(|object| object.attrs().get(at))
            .map(|attr| attr.ty.clone())
            .collect();
        attrs.push((attr.name.clone(), unify(&across, safety)?));
    }
    let found = Type::object(attrs);
    if all_convert(types, &found, safety) {
        Some(found)
    } else {
        objects_to_map(types, safety)
    }
}

fn objects_to_map(types: &[Type], safety: Safety) -> Option<Type> {
    let mut attrs = Vec::new();
    for ty in types {
        if let Type::Object(object) = ty {
            attrs.extend(object.attrs().iter().map(|attr| attr.ty.clone()));
        }
    }
    let found = Type::map(unify(&attrs, safety)?);
    all_convert(types, &found, safety).then_some(found)
}

/// Tuples of the same length: element by element. Else a list.
fn tuples(types: &[Type], safety: Safety) -> Option<Type> {
    let tuples: Vec<&[Type]> = types
        .iter()
        .filter_map(|ty| match ty {
            Type::Tuple(items) => Some(&**items),
            _ => None,
        })
        .collect();
    let length = tuples.first()?.len();
    if tuples.iter().any(|items| items.len() != length) {
        return tuples_to_list(types, safety);
    }
    let mut items = Vec::with_capacity(length);
    for at in 0..length {
        let across: Vec<Type> = tuples.iter().filter_map(|items| items.get(at)).cloned().collect();
        items.push(unify(&across, safety)?);
    }
    let found = Type::tuple(items);
    if all_convert(types, &found, safety) {
        Some(found)
    } else {
        tuples_to_list(types, safety)
    }
}

fn tuples_to_list(types: &[Type], safety: Safety) -> Option<Type> {
    let mut items = Vec::new();
    for ty in types {
        if let Type::Tuple(tuple) = ty {
            items.extend(tuple.iter().cloned());
        }
    }
    let found = Type::list(unify(&items, safety)?);
    all_convert(types, &found, safety).then_some(found)
}

/// The types with the more general before the less general, else in the order given.
fn by_preference<'t>(types: &[&'t Type]) -> Vec<&'t Type> {
    let mut below: Vec<Vec<usize>> = vec![Vec::new(); types.len()];
    let mut above = vec![0usize; types.len()];
    for (i, a) in types.iter().enumerate() {
        for (j, b) in types.iter().enumerate().skip(i + 1) {
            let (upper, lower) = match generality(a, b) {
                Generality::Greater => (i, j),
                Generality::Less => (j, i),
                Generality::Same => continue,
            };
            below[upper].push(lower);
            above[lower] += 1;
        }
    }
    let mut order: Vec<usize> = (0..types.len()).filter(|at| above[*at] == 0).collect();
    let mut next = 0;
    while let Some(&at) = order.get(next) {
        next += 1;
        for lower in &below[at] {
            above[*lower] -= 1;
            if above[*lower] == 0 {
                order.push(*lower);
            }
        }
    }
    order.into_iter().map(|at| types[at]).collect()
}

/// How general a type is against another.
#[derive(Clone, Copy, PartialEq)]
enum Generality {
    Greater,
    Less,
    Same,
}

fn generality(a: &Type, b: &Type) -> Generality {
    use Generality::{Greater, Less, Same};
    match (a, b) {
        (Type::Dynamic, Type::Dynamic) => Same,
        (Type::Dynamic, _) => Less,
        (_, Type::Dynamic) => Greater,
        (Type::String, Type::Bool | Type::Number) => Greater,
        (Type::Bool | Type::Number, Type::String) => Less,
        (Type::List(a), Type::List(b)) | (Type::Set(a), Type::Set(b)) | (Type::Map(a), Type::Map(b)) => {
            generality(a, b)
        }
        (Type::Tuple(_) | Type::List(_), Type::Set(_))
        | (Type::List(_), Type::Tuple(_))
        | (Type::Map(_), Type::Object(_)) => Greater,
        (Type::Set(_), Type::Tuple(_) | Type::List(_))
        | (Type::Tuple(_), Type::List(_))
        | (Type::Object(_), Type::Map(_)) => Less,
        (Type::Object(a), Type::Object(b)) => {
            let (a, b) = (a.attrs(), b.attrs());
            if a.len() != b.len() || a.iter().zip(b).any(|(a, b)| a.name != b.name) {
                return Same;
            }
            together(a.iter().zip(b).map(|(a, b)| generality(&a.ty, &b.ty)))
        }
        (Type::Tuple(a), Type::Tuple(b)) if a.len() == b.len() => {
            together(a.iter().zip(b.iter()).map(|(a, b)| generality(a, b)))
        }
        _ => Same,
    }
}

/// More general as a whole only if no part is less general.
fn together(parts: impl Iterator<Item = Generality>) -> Generality {
    let (mut greater, mut less) = (false, false);
    for part in parts {
        greater |= part == Generality::Greater;
        less |= part == Generality::Less;
    }
    match (greater, less) {
        (true, false) => Generality::Greater,
        (false, true) => Generality::Less,
        _ => Generality::Same,
    }
}
