//! What to say where there is no conversion between two types.

use crate::Type;

/// Why a value of type `from` cannot be used as `to`, naming the first part that does not fit.
pub fn mismatch(from: &Type, to: &Type) -> String {
    match (from, to) {
        (Type::Object(from), Type::Object(to)) => {
            for want in to.attrs() {
                match from.get(&want.name) {
                    None if want.optional => {}
                    None => return format!("attribute {:?} is required", want.name),
                    Some(have) if have.ty != want.ty && !super::is_possible(&have.ty, &want.ty) => {
                        return format!("attribute {:?}: {}", want.name, mismatch(&have.ty, &want.ty));
                    }
                    Some(_) => {}
                }
            }
            generic(&Type::Object(from.clone()), &Type::Object(to.clone()))
        }
        (Type::Tuple(from), Type::Tuple(to)) if from.len() != to.len() => {
            format!(
                "a tuple of {} elements is required, but this one has {}",
                to.len(),
                from.len()
            )
        }
        (Type::Tuple(from), Type::Tuple(to)) => element_mismatch(from.iter().zip(to.iter()))
            .unwrap_or_else(|| "the tuples do not match".to_owned()),
        (Type::Tuple(from), Type::List(to) | Type::Set(to)) => {
            element_mismatch(from.iter().map(|from| (from, &**to)))
                .unwrap_or_else(|| "all elements must have one type".to_owned())
        }
        (Type::Object(from), Type::Map(to)) => from
            .attrs()
            .iter()
            .find(|attr| !super::is_possible(&attr.ty, to))
            .map_or_else(
                || "all elements must have one type".to_owned(),
                |attr| format!("element {:?}: {}", attr.name, mismatch(&attr.ty, to)),
            ),
        (Type::List(from) | Type::Set(from), Type::List(to) | Type::Set(to))
        | (Type::Map(from), Type::Map(to)) => {
            format!("incorrect element type: {}", mismatch(from, to))
        }
        _ => generic(from, to),
    }
}

fn element_mismatch<'a>(pairs: impl Iterator<Item = (&'a Type, &'a Type)>) -> Option<String> {
    pairs
        .enumerate()
        .find(|(_, (from, to))| !super::is_possible(from, to))
        .map(|(at, (from, to))| format!("element {at}: {}", mismatch(from, to)))
}

fn generic(from: &Type, to: &Type) -> String {
    match to {
        Type::Bool | Type::Number if from.is_primitive() => format!("a {} is required", to.friendly_name()),
        _ => format!(
            "{} required, but have {}",
            to.friendly_name(),
            from.friendly_name()
        ),
    }
}
