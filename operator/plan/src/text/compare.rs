//! Values that tell their own type to their difference.
//!
//! Null and absent are the same for attributes of objects, not for elements of lists and maps.
//! Source of the behaviour: Terraform `internal/command/jsonformat/differ`.

use ashlar_value::{Data, Value};

use super::{
    align::align,
    diff::{Body, Diff, Items, Keys},
    ink::Sign,
    place::Place,
    scalar,
    side::{Side, entry, items, merge, names, present, whole, whole_or_change},
};

/// How deep values are shown.
const DEPTH_LIMIT: usize = 48;

impl Place<'_> {
    /// A value that tells its own type.
    pub(super) fn plain(&self, before: Side<'_>, after: Side<'_>) -> Diff {
        if let Some(hidden) = self.hidden(before, after) {
            return hidden;
        }
        if self.depth > DEPTH_LIMIT {
            let sign = if before == after {
                Sign::Same
            } else {
                whole_or_change(before, after)
            };
            return self.made(sign, Body::TooDeep);
        }
        if let Some(unknown) = self.unknown(before, after, |before| self.plain(before, None)) {
            return unknown;
        }
        let family = match (before.map(Family::of), after.map(Family::of)) {
            (Some(old), Some(new)) if old != new => {
                let (old, new) = (self.plain(before, None), self.plain(None, after));
                return self.made(Sign::Change, Body::Retyped(Box::new(old), Box::new(new)));
            }
            (Some(family), _) | (None, Some(family)) => family,
            (None, None) => Family::Scalar,
        };
        let sign = whole(before, after);
        match family {
            Family::Scalar => {
                let (sign, body) = scalar::compare(before, after, self.depth);
                self.made(sign, body)
            }
            Family::Sequence => {
                let (old, new) = (items(before), items(after));
                let alike =
                    |a: &Value, b: &Value| matches!((a.data(), b.data()), (Data::Object(_), Data::Object(_)));
                let pairs = align(old, new, alike).into_iter().map(|(old_at, new_at)| {
                    let place = new_at.or(old_at).map_or_else(|| self.clone(), |at| self.at(at));
                    place.plain(
                        old_at.and_then(|at| old.get(at)),
                        new_at.and_then(|at| new.get(at)),
                    )
                });
                self.sequence(sign, pairs.collect(), Items::Ordered)
            }
            Family::Set => {
                let members = merge(before, after).into_iter().map(|(before, after)| {
                    let place = before
                        .or(after)
                        .map_or_else(|| self.clone(), |member| self.member(member));
                    place.plain(before, after)
                });
                self.sequence(sign, members.collect(), Items::Unordered)
            }
            Family::Mapping => self.named(sign, before, after),
        }
    }

    /// Maps and objects.
    fn named(&self, sign: Sign, before: Side<'_>, after: Side<'_>) -> Diff {
        let is_map = before
            .or(after)
            .is_some_and(|value| matches!(value.data(), Data::Map(..)));
        let keys = if is_map && !self.nulls_shown {
            Keys::Elements
        } else {
            Keys::Attributes
        };
        let skips_nulls = !is_map && !self.nulls_shown;
        let mut entries = Vec::new();
        for name in names(before, after) {
            let (mut old, mut new) = (entry(before, &name), entry(after, &name));
            if skips_nulls {
                (old, new) = (present(old), present(new));
            }
            if old.is_some() || new.is_some() {
                let place = if is_map { self.key(&name) } else { self.attr(&name) };
                entries.push((name, place.plain(old, new)));
            }
        }
        self.mapping(sign, entries, keys)
    }
}

/// What can be compared part by part.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Family {
    Scalar,
    Sequence,
    Set,
    Mapping,
}

impl Family {
    fn of(value: &Value) -> Self {
        match value.data() {
            Data::Null(_) | Data::Unknown(..) | Data::Bool(_) | Data::Number(_) | Data::String(_) => {
                Family::Scalar
            }
            Data::List(..) | Data::Tuple(_) => Family::Sequence,
            Data::Set(..) => Family::Set,
            Data::Map(..) | Data::Object(_) => Family::Mapping,
        }
    }
}
