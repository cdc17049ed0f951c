//! The steps of a reference into a resource, as far as its schema goes, as JSON.
//!
//! Source: Terraform `internal/lang/globalref/validate.go`.

use std::{borrow::Cow, collections::BTreeMap, sync::Arc};

use ashlar_syntax::{Literal, Step};
use ashlar_value::{
    Number, Type,
    schema::{Attribute, AttributeType, Block, Nesting},
};
use serde_json::Value as Json;

/// The steps into a block.
pub(super) fn block(schema: &Block, steps: &[Step]) -> Vec<Json> {
    let mut out = Vec::new();
    in_block(schema, steps, &mut out);
    out
}

/// A step as the name of an attribute.
pub(super) fn name(step: &Step) -> Option<Cow<'_, str>> {
    match step {
        Step::Attr { name, .. } => Some(Cow::Borrowed(name)),
        Step::Index { key, .. } => match key {
            Literal::String(text) => Some(Cow::Borrowed(text)),
            Literal::Number(text) => Some(Cow::Owned(Number::parse(text)?.to_string())),
            Literal::Bool(value) => Some(Cow::Borrowed(if *value { "true" } else { "false" })),
            Literal::Null => None,
        },
    }
}

/// A step as the position of an element.
fn position(step: &Step) -> Option<Number> {
    match step {
        Step::Attr { name, .. }
        | Step::Index {
            key: Literal::Number(name) | Literal::String(name),
            ..
        } => Number::parse(name),
        Step::Index { .. } => None,
    }
}

fn in_block(schema: &Block, steps: &[Step], out: &mut Vec<Json>) {
    let Some((name, rest)) = first(steps) else {
        return;
    };
    if let Some(found) = schema.attributes.get(&*name) {
        out.push(name.into());
        in_attribute(found, rest, out);
    } else if let Some(found) = schema.blocks.get(&*name) {
        out.push(name.into());
        in_several(found.nesting, rest, out, |rest, out| {
            in_block(&found.block, rest, out);
        });
    }
}

fn first(steps: &[Step]) -> Option<(Cow<'_, str>, &[Step])> {
    let (step, rest) = steps.split_first()?;
    Some((name(step)?, rest))
}

fn in_attribute(attribute: &Attribute, steps: &[Step], out: &mut Vec<Json>) {
    match &attribute.ty {
        AttributeType::Plain(ty) => in_type(ty, steps, out),
        AttributeType::Nested { nesting, attributes } => in_several(*nesting, steps, out, |rest, out| {
            in_attributes(attributes, rest, out);
        }),
    }
}

fn in_attributes(attributes: &BTreeMap<Arc<str>, Attribute>, steps: &[Step], out: &mut Vec<Json>) {
    let Some((name, rest)) = first(steps) else {
        return;
    };
    if let Some(found) = attributes.get(&*name) {
        out.push(name.into());
        in_attribute(found, rest, out);
    }
}

/// The step that picks one of several, if there are several, then those into it.
fn in_several(
    nesting: Nesting,
    steps: &[Step],
    out: &mut Vec<Json>,
    inside: impl Fn(&[Step], &mut Vec<Json>),
) {
    if matches!(nesting, Nesting::Single | Nesting::Group) {
        inside(steps, out);
        return;
    }
    let Some((step, rest)) = steps.split_first() else {
        return;
    };
    let key = match nesting {
        Nesting::List => position(step).and_then(|at| number(&at)),
        Nesting::Map => name(step).map(Json::from),
        // Elements of a set have no place.
        Nesting::Set | Nesting::Single | Nesting::Group => None,
    };
    if let Some(key) = key {
        out.push(key);
        inside(rest, out);
    }
}

fn in_type(ty: &Type, steps: &[Step], out: &mut Vec<Json>) {
    let Some((step, rest)) = steps.split_first() else {
        return;
    };
    let (key, inner) = match ty {
        Type::List(element) => (position(step).and_then(|at| number(&at)), Some(&**element)),
        Type::Map(element) => (name(step).map(Json::from), Some(&**element)),
        Type::Object(object) => {
            let name = name(step);
            let found = name.as_deref().and_then(|name| object.get(name));
            (name.map(Json::from), found.map(|found| &found.ty))
        }
        Type::Tuple(items) => {
            let at = position(step);
            let found = at
                .as_ref()
                .and_then(|at| at.to_string().parse::<usize>().ok())
                .and_then(|at| items.get(at));
            (at.and_then(|at| number(&at)), found)
        }
        _ => (None, None),
    };
    if let (Some(key), Some(inner)) = (key, inner) {
        out.push(key);
        in_type(inner, rest, out);
    }
}

fn number(number: &Number) -> Option<Json> {
    number.to_string().parse().ok().map(Json::Number)
}

#[cfg(test)]
mod tests {
    use ashlar_diag::Sources;
    use ashlar_syntax::parse_traversal;

    use super::*;
    use crate::text::sample;

    /// The steps after the first name.
    fn check(text: &str, expected: &str) {
        let mut sources = Sources::new();
        let file = sources.add("t", text);
        let (found, diags) = parse_traversal(&sources, file);
        assert!(!diags.has_errors(), "{diags}");
        let steps = found.map(|found| found.steps).unwrap_or_default();
        assert_eq!(Json::Array(block(&sample::block(), &steps)).to_string(), expected);
    }

    #[test]
    fn steps_go_as_far_as_the_schema() {
        check("r", "[]");
        check("r.name", r#"["name"]"#);
        check(r#"r["name"]"#, r#"["name"]"#);
        check("r.name.more[0]", r#"["name"]"#);
        check("r.none.more", "[]");
        check("r.parts[1]", r#"["parts",1]"#);
        check(r#"r.parts["1"].x"#, r#"["parts",1]"#);
        check("r.parts.key", r#"["parts"]"#);
        check("r.labels.key", r#"["labels","key"]"#);
        check("r.labels[7]", r#"["labels","7"]"#);
        check("r.origin.depth", r#"["origin","depth"]"#);
        check("r.origin.none", r#"["origin"]"#);
        check("r.rule[0].port", r#"["rule",0,"port"]"#);
        check("r.rule.port", r#"["rule"]"#);
    }
}
