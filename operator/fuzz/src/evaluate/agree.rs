//! Whether what was said of a result agrees with the result.

use std::cmp::Ordering;

use ashlar_value::{Bound, Data, Mark, Number, Refinement, Type, Value};

/// Is all that `unknown` says true of `known`? The error tells where not.
pub(crate) fn foretold(unknown: &Value, known: &Value) -> Result<(), String> {
    match (unknown.data(), known.data()) {
        (Data::Unknown(ty, facts), _) => {
            if !may_become(ty, &known.ty()) {
                return Err(format!("a {ty} became {}", known.ty()));
            }
            facts.as_deref().map_or(Ok(()), |facts| holds(facts, known))
        }
        (Data::Null(a), Data::Null(b)) if may_become(a, b) => Ok(()),
        (Data::List(_, a), Data::List(_, b)) | (Data::Tuple(a), Data::Tuple(b)) if a.len() == b.len() => {
            a.iter().zip(b.iter()).try_for_each(|(a, b)| foretold(a, b))
        }
        (Data::Set(a_element, a), Data::Set(b_element, b)) => {
            if !may_become(a_element, b_element) {
                return Err(format!("a set of {a_element} became one of {b_element}"));
            }
            // Unknown elements may turn out to be equal to each other, or to known ones.
            let (sure, open): (Vec<_>, Vec<_>) = a.iter().partition(|item| item.is_wholly_known());
            match sure
                .iter()
                .find(|item| !b.iter().any(|now| foretold(item, now).is_ok()))
            {
                Some(item) => Err(format!("{item:?} went out of the set")),
                None if b.len() > sure.len() + open.len() => Err("the set became larger".to_owned()),
                None => Ok(()),
            }
        }
        (Data::Map(_, a), Data::Map(_, b)) | (Data::Object(a), Data::Object(b)) => {
            if !a.keys().eq(b.keys()) {
                return Err(format!("{:?} became {:?}", a.keys(), b.keys()));
            }
            a.values().zip(b.values()).try_for_each(|(a, b)| foretold(a, b))
        }
        _ if unknown == known => Ok(()),
        _ => Err(format!("{unknown:?} became {known:?}")),
    }
}

fn holds(facts: &Refinement, known: &Value) -> Result<(), String> {
    let length = match known.data() {
        Data::Null(_) if facts.not_null => return Err("it became null".to_owned()),
        // Other facts tell what it is unless it is null.
        Data::Null(_) => return Ok(()),
        Data::List(_, items) | Data::Set(_, items) => Some(items.len() as u64),
        Data::Map(_, entries) => Some(entries.len() as u64),
        _ => None,
    };
    let prefix = facts.prefix.as_deref().unwrap_or("");
    let starts = known.as_str().is_none_or(|text| text.starts_with(prefix));
    let in_bounds = known.as_number().is_none_or(|number| bounded(facts, number));
    let long = length.is_none_or(|length| {
        facts.length_min.is_none_or(|least| least <= length)
            && facts.length_max.is_none_or(|most| length <= most)
    });
    if starts && in_bounds && long {
        Ok(())
    } else {
        Err(format!("{facts:?} is not true of {known:?}"))
    }
}

fn bounded(facts: &Refinement, number: &Number) -> bool {
    let within = |bound: Option<&Bound>, side: Ordering| {
        bound.is_none_or(|bound| match number.compare(&bound.value) {
            Ordering::Equal => bound.inclusive,
            order => order == side,
        })
    };
    within(facts.min.as_ref(), Ordering::Greater) && within(facts.max.as_ref(), Ordering::Less)
}

/// Can a value of which the type `before` was told be of type `after`?
pub(crate) fn may_become(before: &Type, after: &Type) -> bool {
    match (before, after) {
        (Type::Dynamic, _) | (_, Type::Dynamic) => true,
        (Type::List(a), Type::List(b)) | (Type::Set(a), Type::Set(b)) | (Type::Map(a), Type::Map(b)) => {
            may_become(a, b)
        }
        (Type::Tuple(a), Type::Tuple(b)) => {
            a.len() == b.len() && a.iter().zip(b.iter()).all(|(a, b)| may_become(a, b))
        }
        (Type::Object(a), Type::Object(b)) => {
            let (a, b) = (a.attrs(), b.attrs());
            a.len() == b.len()
                && a.iter()
                    .zip(b)
                    .all(|(a, b)| a.name == b.name && may_become(&a.ty, &b.ty))
        }
        // Where parts of open type are brought to a common one, that is a guess from the others, in Terraform too; it errs
        // between primitive types alone.
        (a, b) => a == b || a.is_primitive() && b.is_primitive(),
    }
}

/// Is each place at which two results differ marked in `marked`, which is the first of them?
pub(crate) fn covered(one: &Value, other: &Value, marked: &Value) -> Result<(), String> {
    if one == other || marked.marks().contains(Mark::Sensitive) {
        return Ok(());
    }
    match (one.data(), other.data(), marked.data()) {
        (Data::List(_, a), Data::List(_, b), Data::List(_, c))
        | (Data::Tuple(a), Data::Tuple(b), Data::Tuple(c))
            if a.len() == b.len() && a.len() == c.len() =>
        {
            let rest = b.iter().zip(c.iter());
            a.iter().zip(rest).try_for_each(|(a, (b, c))| covered(a, b, c))
        }
        (Data::Map(_, a), Data::Map(_, b), Data::Map(_, c))
        | (Data::Object(a), Data::Object(b), Data::Object(c))
            if a.keys().eq(b.keys()) && a.keys().eq(c.keys()) =>
        {
            let rest = b.values().zip(c.values());
            a.values().zip(rest).try_for_each(|(a, (b, c))| covered(a, b, c))
        }
        _ => Err(format!("{one:?} could be {other:?}")),
    }
}
