//! Where a comparison stands, and what ends it early: sensitive and unknown values.
//!
//! A sensitive value ends the descent here, so that nothing of it reaches the tree.

use std::sync::Arc;

use ashlar_value::{
    PathStep, Type, Value,
    schema::{Attribute, AttributeType, Block, Nesting},
};

use super::{
    diff::{Body, Diff, Items, Keys, Turn},
    ink::Sign,
    side::{Side, same_content, whole},
};

/// Where the comparison stands.
#[derive(Clone)]
pub(super) struct Place<'a> {
    /// What is left, from here, of the paths that force a replacement.
    pub(super) forcing: Vec<&'a [PathStep]>,
    pub(super) depth: usize,
    /// Are null attributes of objects shown, as in JSON?
    pub(super) nulls_shown: bool,
    /// Is an empty string the same as null? So it is for providers on the old SDK, which cannot tell them apart.
    pub(super) empty_is_null: bool,
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

    /// A value without schema: an output, or what a JSON text holds at that depth of another value.
    pub(super) fn free(depth: usize) -> Self {
        Self {
            forcing: Vec::new(),
            depth,
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

    pub(super) fn attr(&self, name: &str) -> Self {
        self.inside(|step| matches!(step, PathStep::Attr(at) if **at == *name))
    }

    pub(super) fn key(&self, name: &str) -> Self {
        self.inside(
            |step| matches!(step, PathStep::Index(key) if key.as_str().is_some_and(|key| **key == *name)),
        )
    }

    pub(super) fn at(&self, position: usize) -> Self {
        let is_here = |key: &Value| {
            let number = key.as_number().and_then(|number| number.to_i64());
            number.and_then(|number| usize::try_from(number).ok()) == Some(position)
        };
        self.inside(|step| matches!(step, PathStep::Index(key) if is_here(key)))
    }

    pub(super) fn member(&self, member: &Value) -> Self {
        self.inside(|step| matches!(step, PathStep::Index(key) if key == member))
    }

    pub(super) fn made(&self, sign: Sign, body: Body) -> Diff {
        Diff {
            forces: self.forcing.iter().any(|path| path.is_empty()),
            ..Diff::new(sign, body)
        }
    }
    pub(super) fn mapping(&self, sign: Sign, entries: Vec<(Arc<str>, Diff)>, keys: Keys) -> Diff {
        let sign = entries.iter().fold(sign, |sign, (_, diff)| sign.with(diff.sign));
        self.made(sign, Body::Mapping { entries, keys })
    }

    pub(super) fn sequence(&self, sign: Sign, items: Vec<Diff>, items_are: Items) -> Diff {
        let sign = items.iter().fold(sign, |sign, diff| sign.with(diff.sign));
        self.made(sign, Body::Sequence { items, items_are })
    }

    /// The difference of something that is sensitive on either side.
    pub(super) fn hidden(&self, before: Side<'_>, after: Side<'_>) -> Option<Diff> {
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

    pub(super) fn unknown(
        &self,
        before: Side<'_>,
        after: Side<'_>,
        shown: impl Fn(Side<'_>) -> Diff,
    ) -> Option<Diff> {
        if after?.is_known() {
            return None;
        }
        Some(match before {
            None => self.made(Sign::Add, Body::Unknown(None)),
            Some(_) => self.made(Sign::Change, Body::Unknown(Some(Box::new(shown(before))))),
        })
    }
}

/// Does the schema have nothing that the old SDK could not express? Source: Terraform `containsNonLegacyFeatures`.
fn is_of_old_sdk(schema: &Block) -> bool {
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
