//! Blocks and nested attributes to their difference, by their schema.
//!
//! Null and absent are the same here. Source of the behaviour: Terraform `jsonformat/differ/block.go`, `attribute.go`.

use std::{collections::BTreeMap, sync::Arc};

use ashlar_value::{
    Value,
    schema::{Attribute, AttributeType, Block, Nesting},
};

use super::{
    diff::{Body, Diff, Items, Keys, Nested},
    ink::Sign,
    place::Place,
    side::{Side, filled, items, merge, names, part, present, whole},
};

type Attributes = BTreeMap<Arc<str>, Attribute>;

impl Place<'_> {
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
        if let Some(hidden) = self.hidden(filled(before), filled(after)) {
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
}
