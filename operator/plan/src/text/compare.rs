//! Two values of one type to their difference.
//!
//! Follows the schema where there is one, else the values. A sensitive value ends the descent, so that nothing of it
//! reaches the tree. Null and absent are the same for attributes of objects, not for elements of lists and maps.
//! Source of the behaviour: Terraform `internal/command/jsonformat/differ`.

use std::{collections::BTreeSet, sync::Arc};

use ashlar_value::{
    Data, Marks, PathStep, Value,
    schema::{Attribute, AttributeType, Block, Nesting},
};

use super::{
    align::align,
    diff::{Body, Diff, Items, Keys, Nested, Turn},
    ink::Sign,
    scalar,
};

/// How deep values are shown.
const DEPTH_LIMIT: usize = 48;

/// One state of a part; `None` where there is nothing.
pub(super) type Side<'v> = Option<&'v Value>;

type Attributes = std::collections::BTreeMap<Arc<str>, Attribute>;

/// Where the comparison stands.
#[derive(Clone)]
pub(super) struct Place<'a> {
    /// What is left, from here, of the paths that force a replacement.
    forcing: Vec<&'a [PathStep]>,
    depth: usize,
    /// Are null attributes of objects shown, as in JSON?
    nulls_shown: bool,
    /// Is an empty string the same as null? So it is for providers on the old SDK, which cannot tell them apart.
    empty_is_null: bool,
}

impl<'a> Place<'a> {
    /// A whole object.
    pub(super) fn object(schema: &Block, forcing: Vec<&'a [PathStep]>) -> Self {
        Self {
            forcing,
            depth: 0,
            nulls_shown: false,
            empty_is_null: is_of_old_sdk(schema),
        }
    }

    /// A value without schema: an output, or what a JSON text holds.
    pub(super) fn free() -> Self {
        Self {
            forcing: Vec::new(),
            depth: 0,
            nulls_shown: true,
            empty_is_null: false,
        }
    }

    fn inside(&self, leads: impl Fn(&PathStep) -> bool) -> Self {
        let forcing = self.forcing.iter().filter_map(|path| {
            let (step, rest) = path.split_first()?;
            leads(step).then_some(rest)
        });
        Self {
            forcing: forcing.collect(),
            depth: self.depth + 1,
            ..*self
        }
    }

    fn attr(&self, name: &str) -> Self {
        self.inside(|step| matches!(step, PathStep::Attr(at) if **at == *name))
    }

    fn key(&self, name: &str) -> Self {
        self.inside(
            |step| matches!(step, PathStep::Index(key) if key.as_str().is_some_and(|key| **key == *name)),
        )
    }

    fn at(&self, position: usize) -> Self {
        let is_here = |key: &Value| {
            let number = key.as_number().and_then(|number| number.to_i64());
            number.and_then(|number| usize::try_from(number).ok()) == Some(position)
        };
        self.inside(|step| matches!(step, PathStep::Index(key) if is_here(key)))
    }

    fn member(&self, member: &Value) -> Self {
        self.inside(|step| matches!(step, PathStep::Index(key) if key == member))
    }

    fn made(&self, sign: Sign, body: Body) -> Diff {
        Diff {
            forces: self.forcing.iter().any(|path| path.is_empty()),
            ..Diff::new(sign, body)
        }
    }

    /// A block and all inside.
    pub(super) fn block(&self, schema: &Block, before: Side<'_>, after: Side<'_>) -> Diff {
        let (before, after) = (present(before), present(after));
        if let Some(mut hidden) = self.hidden(before, after) {
            hidden.body = Body::HiddenBlock;
            return hidden;
        }
        if let Some(unknown) = self.unknown(before, after, |before| self.block(schema, before, None)) {
            return unknown;
        }
        let mut sign = whole(before, after);
        let mut attributes = Vec::new();
        for (name, attribute) in schema
            .attributes
            .iter()
            .filter(|(_, attribute)| !attribute.write_only)
        {
            let (before, after) = (part(before, name), part(after, name));
            if before.is_none() && after.is_none() {
                continue;
            }
            let diff = self.attr(name).attribute(attribute, before, after);
            sign = sign.with(diff.sign);
            attributes.push((name.clone(), diff));
        }
        let mut blocks = Vec::new();
        for (kind, nested) in &schema.blocks {
            let found = self.attr(kind).blocks(
                kind,
                nested.nesting,
                &nested.block,
                part(before, kind),
                part(after, kind),
            );
            sign = found
                .iter()
                .fold(sign, |sign, nested| sign.with(nested.diff.sign));
            blocks.extend(found);
        }
        self.add_write_only(&schema.attributes, sign, &mut attributes);
        self.made(sign, Body::Block { attributes, blocks })
    }

    /// Write-only attributes have no value to compare: they are listed with what they belong to.
    fn add_write_only(&self, schema: &Attributes, sign: Sign, to: &mut Vec<(Arc<str>, Diff)>) {
        let sign = if sign == Sign::Change { Sign::Same } else { sign };
        let count = to.len();
        for (name, attribute) in schema.iter().filter(|(_, attribute)| attribute.write_only) {
            let body = Body::WriteOnly {
                sensitive: attribute.sensitive,
            };
            to.push((name.clone(), self.attr(name).made(sign, body)));
        }
        if to.len() > count {
            to.sort_by(|(a, _), (b, _)| a.cmp(b));
        }
    }

    /// All blocks of one type.
    fn blocks(
        &self,
        kind: &Arc<str>,
        nesting: Nesting,
        schema: &Block,
        before: Side<'_>,
        after: Side<'_>,
    ) -> Vec<Nested> {
        let nested = |label: Option<Arc<str>>, diff: Diff| Nested {
            kind: kind.clone(),
            label,
            all_force: !nesting.is_one() && self.forcing.iter().any(|path| path.is_empty()),
            diff,
        };
        if nesting.is_one() {
            let diff = self.block(schema, before, after);
            let nothing = before.is_none() && after.is_none();
            return if nothing {
                Vec::new()
            } else {
                vec![nested(None, diff)]
            };
        }
        if let Some(hidden) = self.hidden(before, after) {
            // Not even how many there are is to be seen.
            return vec![nested(
                None,
                Diff {
                    body: Body::HiddenBlock,
                    ..hidden
                },
            )];
        }
        let mut found = Vec::new();
        if after.is_some_and(|after| !after.is_known()) {
            let sign = if before.is_some() { Sign::Change } else { Sign::Add };
            found.push(nested(None, self.made(sign, Body::Unknown(None))));
        }
        let known_after = after.filter(|after| after.is_known());
        match nesting {
            Nesting::Map => found.extend(names(before, known_after).into_iter().map(|key| {
                let diff = self
                    .key(&key)
                    .block(schema, part(before, &key), part(known_after, &key));
                nested(Some(key), diff)
            })),
            Nesting::Set => found.extend(merge(before, known_after).into_iter().map(|(before, after)| {
                let member = before.or(after);
                let place = member.map_or_else(|| self.clone(), |member| self.member(member));
                nested(None, place.block(schema, before, after))
            })),
            Nesting::List | Nesting::Single | Nesting::Group => {
                let (before, after) = (items(before), items(known_after));
                found.extend(
                    (0..before.len().max(after.len()))
                        .map(|at| nested(None, self.at(at).block(schema, before.get(at), after.get(at)))),
                );
            }
        }
        found
    }

    fn attribute(&self, schema: &Attribute, before: Side<'_>, after: Side<'_>) -> Diff {
        match &schema.ty {
            AttributeType::Plain(ty) => {
                let empty = |value: &&Value| value.as_str().is_some_and(|text| text.is_empty());
                let given = |side: Side<'_>| self.empty_is_null && side.as_ref().is_some_and(empty);
                let before = if given(before) { None } else { before };
                let after = if given(after) { None } else { after };
                let place = Place {
                    nulls_shown: ty.has_dynamic(),
                    ..self.clone()
                };
                place.plain(before, after)
            }
            AttributeType::Nested { nesting, attributes } => self.nested(*nesting, attributes, before, after),
        }
    }

    fn nested(&self, nesting: Nesting, schema: &Attributes, before: Side<'_>, after: Side<'_>) -> Diff {
        if let Some(hidden) = self.hidden(before, after) {
            return hidden;
        }
        let unknown = |before: Side<'_>| {
            // What is in it becomes unknown too, rather than goes.
            let parts = schema
                .iter()
                .map(|(name, attribute)| (name, Value::unknown(attribute.ty())));
            let after = Value::object(parts.map(|(name, value)| (&**name, value)));
            self.nested(nesting, schema, before, nesting.is_one().then_some(&after))
        };
        if let Some(unknown) = self.unknown(before, after, unknown) {
            return unknown;
        }
        let one = |place: Place<'_>, before: Side<'_>, after: Side<'_>| {
            place.nested(Nesting::Single, schema, present(before), present(after))
        };
        let sign = whole(before, after);
        match nesting {
            Nesting::Single | Nesting::Group => {
                let mut entries = Vec::new();
                for (name, attribute) in schema.iter().filter(|(_, attribute)| !attribute.write_only) {
                    let (before, after) = (part(before, name), part(after, name));
                    if before.is_some() || after.is_some() {
                        entries.push((name.clone(), self.attr(name).attribute(attribute, before, after)));
                    }
                }
                let sign = entries.iter().fold(sign, |sign, (_, diff)| sign.with(diff.sign));
                self.add_write_only(schema, sign, &mut entries);
                self.made(
                    sign,
                    Body::Mapping {
                        entries,
                        keys: Keys::NestedAttributes,
                    },
                )
            }
            Nesting::Map => {
                let keys = names(before, after).into_iter();
                let entries = keys.map(|key| {
                    let diff = one(self.key(&key), part(before, &key), part(after, &key));
                    (key, diff)
                });
                self.mapping(sign, entries.collect(), Keys::NestedElements)
            }
            Nesting::Set => {
                let members = merge(before, after).into_iter().map(|(before, after)| {
                    let place = before
                        .or(after)
                        .map_or_else(|| self.clone(), |member| self.member(member));
                    one(place, before, after)
                });
                self.sequence(sign, members.collect(), Items::NestedUnordered)
            }
            Nesting::List => {
                let (before, after) = (items(before), items(after));
                let each = (0..before.len().max(after.len()))
                    .map(|at| one(self.at(at), before.get(at), after.get(at)));
                self.sequence(sign, each.collect(), Items::Nested)
            }
        }
    }

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
                let (sign, body) = scalar::compare(before, after);
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

    fn mapping(&self, sign: Sign, entries: Vec<(Arc<str>, Diff)>, keys: Keys) -> Diff {
        let sign = entries.iter().fold(sign, |sign, (_, diff)| sign.with(diff.sign));
        self.made(sign, Body::Mapping { entries, keys })
    }

    fn sequence(&self, sign: Sign, items: Vec<Diff>, items_are: Items) -> Diff {
        let sign = items.iter().fold(sign, |sign, diff| sign.with(diff.sign));
        self.made(sign, Body::Sequence { items, items_are })
    }

    /// The difference of something that is sensitive on either side.
    fn hidden(&self, before: Side<'_>, after: Side<'_>) -> Option<Diff> {
        let marked = |side: Side<'_>| side.is_some_and(|value| !value.marks().is_empty());
        let (was, is) = (marked(before), marked(after));
        if !was && !is {
            return None;
        }
        let (Some(old), Some(new)) = (before, after) else {
            return Some(self.made(whole(before, after), Body::Hidden));
        };
        let unchanged = same_content(old, new);
        let turns = was != is;
        let sign = if unchanged && !turns {
            Sign::Same
        } else {
            Sign::Change
        };
        let mut diff = self.made(sign, Body::Hidden);
        diff.turn = turns.then_some(Turn { hides: is, unchanged });
        Some(diff)
    }

    fn unknown(&self, before: Side<'_>, after: Side<'_>, shown: impl Fn(Side<'_>) -> Diff) -> Option<Diff> {
        if after?.is_known() {
            return None;
        }
        Some(match before {
            None => self.made(Sign::Add, Body::Unknown(None)),
            Some(_) => self.made(Sign::Change, Body::Unknown(Some(Box::new(shown(before))))),
        })
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

/// The sign before anything inside was looked at.
fn whole(before: Side<'_>, after: Side<'_>) -> Sign {
    match (before, after) {
        (None, Some(_)) => Sign::Add,
        (Some(_), None) => Sign::Remove,
        _ => Sign::Same,
    }
}

fn whole_or_change(before: Side<'_>, after: Side<'_>) -> Sign {
    Sign::Change.with(whole(before, after))
}

fn present(side: Side<'_>) -> Side<'_> {
    side.filter(|value| !value.is_null())
}

fn entry<'v>(side: Side<'v>, name: &str) -> Side<'v> {
    side?.as_entries()?.get(name)
}

fn part<'v>(side: Side<'v>, name: &str) -> Side<'v> {
    present(entry(side, name))
}

fn items(side: Side<'_>) -> &[Value] {
    side.and_then(Value::as_items).unwrap_or_default()
}

fn names(before: Side<'_>, after: Side<'_>) -> BTreeSet<Arc<str>> {
    let both = [before, after]
        .into_iter()
        .flatten()
        .filter_map(Value::as_entries);
    both.flat_map(|entries| entries.keys().cloned()).collect()
}

/// The members of two sets, equal ones together, in the order of sets.
fn merge<'v>(before: Side<'v>, after: Side<'v>) -> Vec<(Side<'v>, Side<'v>)> {
    let (mut old, mut new) = (items(before).iter().peekable(), items(after).iter().peekable());
    // The union is sorted as both are, so one pass through the three of them finds the equal ones.
    let element = ashlar_value::Type::Dynamic;
    let union = Value::set(
        element,
        items(before).iter().chain(items(after)).cloned().collect(),
    );
    let mut merged = Vec::new();
    for member in items(Some(&union)) {
        let pair = (
            old.next_if(|item| *item == member),
            new.next_if(|item| *item == member),
        );
        if pair != (None, None) {
            merged.push(pair);
        }
    }
    merged.extend(old.map(|item| (Some(item), None)));
    merged.extend(new.map(|item| (None, Some(item))));
    merged
}

fn same_content(a: &Value, b: &Value) -> bool {
    let plain = |value: &Value| value.clone().map_marks(&mut |_| Marks::NONE);
    plain(a) == plain(b)
}

/// Does the schema have nothing that the old SDK could not express? Source: Terraform `containsNonLegacyFeatures`.
fn is_of_old_sdk(schema: &Block) -> bool {
    use ashlar_value::Type;
    let old_type = |ty: &Type| match ty {
        Type::Dynamic | Type::Tuple(_) | Type::Object(_) => false,
        Type::Bool | Type::Number | Type::String => true,
        Type::List(element) | Type::Set(element) | Type::Map(element) => {
            !ty.has_dynamic() && element.element().is_none_or(Type::is_primitive)
        }
    };
    let old_attribute = |attribute: &Attribute| match &attribute.ty {
        AttributeType::Plain(ty) => old_type(ty),
        AttributeType::Nested { .. } => false,
    };
    schema.attributes.values().all(old_attribute)
        && schema
            .blocks
            .values()
            .all(|nested| !matches!(nested.nesting, Nesting::Map | Nesting::Group))
}
