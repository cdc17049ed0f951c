//! What conversion makes of values that are not known, or null: their types and what stays known of them.

use crate::{Refinement, Type, Value, ops};

use super::{plan::Safety, unify::unify};

/// An unknown of the wanted type, keeping what is known of nullness and length.
pub(super) fn convert_unknown(value: &Value, from: &Type, to: Type) -> Value {
    let source = ops::range(value);
    let mut facts = Refinement {
        not_null: source.not_null,
        ..Refinement::default()
    };
    let exact = match (from, &to) {
        (Type::Object(from), Type::Map(_)) => Some(from.attrs().len() as u64),
        (Type::Tuple(from), Type::List(_)) => Some(from.len() as u64),
        (Type::Tuple(from), Type::Set(_)) => {
            facts.length_max = Some(from.len() as u64);
            Some((from.len() as u64).min(1))
        }
        _ => None,
    };
    if let Some(length) = exact {
        facts.length_min = Some(length);
        facts.length_max = facts.length_max.or(Some(length));
    } else if from.is_collection() && to.is_collection() {
        // Members of a set may turn out to be one, but never none.
        facts.length_min = match to {
            Type::Set(_) => source.length_min.map(|length| length.min(1)),
            _ => source.length_min,
        };
        facts.length_max = source.length_max;
    }
    ops::unknown_refined(to, facts)
}

/// `to` with its dynamic parts replaced by what `from` has at the place.
///
/// As in cty, an object type that meets neither object nor map loses its attributes; this happens behind an optional
/// attribute that a map's elements do not fit.
pub(super) fn replace_dynamic(from: &Type, to: &Type) -> Type {
    let of_elements = |types: Vec<Type>, element: &Type| match unify(&types, Safety::Unsafe) {
        Some(unified) => replace_dynamic(&unified, element),
        None => element.clone(),
    };
    match (from, to) {
        (Type::Dynamic, _) => to.clone(),
        (_, Type::Dynamic) => from.clone(),
        _ if from == to => to.clone(),
        (Type::Map(from), Type::Map(to)) => Type::map(replace_dynamic(from, to)),
        (Type::Object(from), Type::Map(to)) => {
            let types = from.attrs().iter().map(|attr| attr.ty.clone());
            Type::map(of_elements(types.collect(), to))
        }
        (from, Type::Object(to)) => Type::object(to.attrs().iter().filter_map(|attr| {
            let ty = match from {
                Type::Map(element) => replace_dynamic(element, &attr.ty),
                Type::Object(from) => match from.get(&attr.name) {
                    Some(have) => replace_dynamic(&have.ty, &attr.ty),
                    None => attr.ty.clone(),
                },
                _ => return None,
            };
            Some((attr.name.clone(), ty))
        })),
        (Type::Set(from) | Type::List(from), Type::Set(to)) => Type::set(replace_dynamic(from, to)),
        (Type::Set(from) | Type::List(from), Type::List(to)) => Type::list(replace_dynamic(from, to)),
        (Type::Tuple(from), Type::Set(to)) => Type::set(of_elements(from.to_vec(), to)),
        (Type::Tuple(from), Type::List(to)) => Type::list(of_elements(from.to_vec(), to)),
        (Type::Tuple(from), Type::Tuple(to)) if from.len() == to.len() => {
            let pairs = from.iter().zip(to.iter());
            Type::tuple(pairs.map(|(from, to)| replace_dynamic(from, to)))
        }
        _ => to.clone(),
    }
}
