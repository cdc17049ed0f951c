//! A body sorted by a schema: which items are wanted, which are not, which are missing. Names only; nothing is evaluated.
//!
//! Rules: hcl `hclsyntax` `Body.Content`, Terraform `lang/blocktoattr`.

use std::{borrow::Cow, collections::BTreeMap, sync::Arc};

use ashlar_diag::{Diag, Diags, Span};
use ashlar_syntax::{Attribute, Block, Body, Expr, Ident, Wanted};
use ashlar_value::{
    Type,
    schema::{self, AttributeType, Nesting},
};

use crate::{dynamic, shape};

/// The items of a body that its schema wants, in source order.
pub(crate) struct Content<'b> {
    /// By name.
    pub(crate) attributes: BTreeMap<Arc<str>, &'b Attribute>,
    /// Nested blocks, written or `dynamic`.
    pub(crate) blocks: Vec<Item<'b>>,
    /// Where a missing item is blamed.
    pub(crate) missing: Option<Span>,
}

/// One nested block.
pub(crate) enum Item<'b> {
    /// As written.
    Block(&'b Block),
    /// To be expanded.
    Dynamic(dynamic::Spec<'b>),
}

impl Item<'_> {
    /// The type of the block or of those it expands to.
    pub(crate) fn kind(&self) -> &Ident {
        match self {
            Item::Block(block) => &block.kind,
            Item::Dynamic(spec) => spec.kind,
        }
    }
}

/// What is written in a body of what its schema has, as it stands there: arguments, and nested blocks that are not `dynamic`.
pub fn written<'b>(body: &'b Body, schema: &schema::Block) -> (Vec<&'b Attribute>, Vec<&'b Block>) {
    let body = by_schema(body, schema);
    let attributes = body.attributes.iter();
    let blocks = body.blocks.iter();
    (
        attributes
            .filter(|attribute| schema.attributes.contains_key(&*attribute.name.name))
            .collect(),
        blocks
            .filter(|block| schema.blocks.contains_key(&*block.kind.name))
            .collect(),
    )
}

/// The blocks of one type in a body, those that `dynamic` blocks make too: what stands in each, and the expressions that tell
/// for what and with which labels they are made.
pub fn made_blocks<'b>(body: &'b Body, schema: &schema::Block, kind: &str) -> (Vec<&'b Body>, Vec<&'b Expr>) {
    let (mut bodies, mut exprs) = (Vec::new(), Vec::new());
    for block in &by_schema(body, schema).blocks {
        if &*block.kind.name == kind {
            bodies.push(&block.body);
        } else if let Some(spec) = dynamic::Spec::read(block, |kind| is_labelled(schema, kind)).0
            && &*spec.kind.name == kind
        {
            bodies.push(spec.content);
            exprs.push(spec.for_each);
            exprs.extend(spec.labels_expr);
        }
    }
    (bodies, exprs)
}

/// The body as the schema reads it. In native syntax it reads itself, wanted or not; in JSON only the schema tells arguments
/// from blocks. An attribute that may be written as blocks is then taken for an attribute.
pub(crate) fn by_schema<'b>(body: &'b Body, schema: &schema::Block) -> &'b Body {
    read(body, schema, Some(Wanted::Blocks(&["type"])))
}

/// As [`by_schema`], where no `dynamic` block can stand.
pub(crate) fn by_form<'b>(body: &'b Body, schema: &schema::Block) -> &'b Body {
    read(body, schema, None)
}

fn read<'b>(body: &'b Body, schema: &schema::Block, dynamic: Option<Wanted<'static>>) -> &'b Body {
    body.read_once(|unread| {
        let reading = unread.read(|name| {
            if schema.attributes.contains_key(name) {
                return Some(Wanted::Argument);
            }
            match schema.blocks.get(name) {
                Some(nested) => Some(Wanted::Blocks(labels_of(nested.nesting))),
                None => dynamic.filter(|_| name == "dynamic"),
            }
        });
        let set = |name: &str| reading.attributes.iter().any(|set| &*set.name.name == name);
        let unwanted = reading.rest.properties().map(|property| {
            let unset = schema.attributes.keys().filter(|name| !set(name));
            let known = unset.chain(schema.blocks.keys()).map(|name| &**name);
            shape::extraneous(property, known)
        });
        let unwanted: Vec<Diag> = unwanted.collect();
        Body {
            attributes: reading.attributes,
            blocks: reading.blocks,
            faults: reading.faults,
            unwanted,
            ..Body::default()
        }
    })
}

/// Sorts a body; faults go to `diags`.
pub(crate) fn sort<'b>(
    body: &'b Body,
    schema: &schema::Block,
    missing: Option<Span>,
    diags: &mut Diags,
) -> Content<'b> {
    sort_where(by_schema(body, schema), schema, missing, true, diags)
}

/// As [`sort`], where a `dynamic` block is as unknown as any other.
pub(crate) fn sort_form<'b>(
    body: &'b Body,
    schema: &schema::Block,
    missing: Option<Span>,
    diags: &mut Diags,
) -> Content<'b> {
    sort_where(by_form(body, schema), schema, missing, false, diags)
}

fn sort_where<'b>(
    body: &'b Body,
    schema: &schema::Block,
    missing: Option<Span>,
    expands: bool,
    diags: &mut Diags,
) -> Content<'b> {
    diags.extend(body.faults.iter().cloned());
    let lax = body.overridden.is_some();
    if !lax {
        diags.extend(body.unwanted.iter().cloned());
    }
    let late = body.overridden.as_deref().unwrap_or_default();
    let mut attributes = BTreeMap::new();
    for attribute in &body.attributes {
        let name = &attribute.name;
        if schema.attributes.contains_key(&name.name) {
            attributes.insert(name.name.clone(), attribute);
        } else if !lax {
            let unset = schema
                .attributes
                .keys()
                .filter(|known| body.attribute(known).is_none());
            let is_block = schema.blocks.contains_key(&name.name);
            diags.push(shape::unsupported_argument(
                name,
                unset.map(|known| &**known),
                is_block,
            ));
        }
    }
    for (name, attribute) in &schema.attributes {
        let is_set = attributes.contains_key(name) && !late.contains(name);
        if attribute.required && !is_set && !may_be_blocks(schema, name) {
            diags.push(shape::missing_argument(name, missing));
        }
    }
    let mut blocks = Vec::new();
    for block in &body.blocks {
        if let Some(nesting) = block_nesting(schema, body, &block.kind.name) {
            if labels_fit(block, nesting, diags) {
                blocks.push(Item::Block(block));
            }
        } else if expands && &*block.kind.name == "dynamic" {
            if shape::labels_fit(block, &["type"], diags) {
                let (spec, faults) = dynamic::Spec::read(block, |kind| is_labelled(schema, kind));
                let kind = spec.as_ref().map(|spec| spec.kind).or(block.labels.first());
                match kind.filter(|kind| block_nesting(schema, body, &kind.name).is_none()) {
                    Some(_) if lax => {}
                    Some(kind) => diags.push(unsupported_block(kind, schema)),
                    None => {
                        diags.extend(faults);
                        blocks.extend(spec.map(Item::Dynamic));
                    }
                }
            }
        } else if !lax {
            diags.push(unsupported_block(&block.kind, schema));
        }
    }
    Content {
        attributes,
        blocks,
        missing,
    }
}

/// How blocks of this type are held; `None` if they are not wanted. An attribute that is a list or set of objects may be
/// written as blocks unless it is set as an attribute.
fn block_nesting(schema: &schema::Block, body: &Body, kind: &str) -> Option<Nesting> {
    match schema.blocks.get(kind) {
        Some(nested) => Some(nested.nesting),
        None => (may_be_blocks(schema, kind) && body.attribute(kind).is_none()).then_some(Nesting::List),
    }
}

/// The schema of nested blocks of this type, those of attributes that may be written as blocks included.
pub(crate) fn nested_schema<'s>(schema: &'s schema::Block, kind: &str) -> Option<Cow<'s, schema::Block>> {
    if let Some(nested) = schema.blocks.get(kind) {
        return Some(Cow::Borrowed(&nested.block));
    }
    may_be_blocks(schema, kind)
        .then(|| element_schema(schema, kind).map(Cow::Owned))
        .flatten()
}

/// May the attribute be written as blocks (a list or set of objects in the schema of an old provider)?
pub(crate) fn may_be_blocks(schema: &schema::Block, name: &str) -> bool {
    let of_objects = |ty: &Type| match ty {
        Type::List(element) | Type::Set(element) => matches!(&**element, Type::Object(_)),
        _ => false,
    };
    let plain = schema
        .attributes
        .get(name)
        .is_some_and(|attribute| match &attribute.ty {
            AttributeType::Plain(ty) => of_objects(ty),
            AttributeType::Nested { .. } => false,
        });
    plain && !is_modern(schema)
}

/// Certainly not of the old SDK, and so without attributes written as blocks (Terraform `AssertNoLegacyBehavior`).
fn is_modern(schema: &schema::Block) -> bool {
    let modern = |ty: &Type| match ty {
        Type::Tuple(_) | Type::Object(_) => true,
        Type::Map(element) if matches!(&**element, Type::Object(_)) => true,
        Type::List(element) | Type::Set(element) | Type::Map(element) => {
            element.element().is_some_and(|inner| !inner.is_primitive())
        }
        _ => false,
    };
    schema.attributes.values().any(|attribute| match &attribute.ty {
        AttributeType::Plain(ty) => modern(ty),
        AttributeType::Nested { .. } => true,
    }) || schema.blocks.values().any(|nested| is_modern(&nested.block))
}

/// The schema of one block that stands for an element of the attribute: every attribute optional.
fn element_schema(schema: &schema::Block, name: &str) -> Option<schema::Block> {
    let AttributeType::Plain(ty) = &schema.attributes.get(name)?.ty else {
        return None;
    };
    let Type::Object(object) = ty.element()? else {
        return None;
    };
    let attributes = object.attrs().iter().map(|attr| {
        let attribute = schema::Attribute {
            ty: AttributeType::Plain(attr.ty.clone()),
            required: false,
            optional: true,
            computed: false,
            sensitive: false,
            write_only: false,
            deprecated: None,
        };
        (attr.name.clone(), attribute)
    });
    Some(schema::Block {
        attributes: attributes.collect(),
        ..schema::Block::default()
    })
}

fn labels_fit(block: &Block, nesting: Nesting, diags: &mut Diags) -> bool {
    shape::labels_fit(block, labels_of(nesting), diags)
}

/// Have blocks of this type labels?
pub(crate) fn is_labelled(schema: &schema::Block, kind: &str) -> bool {
    schema
        .blocks
        .get(kind)
        .is_some_and(|nested| nested.nesting == Nesting::Map)
}

fn labels_of(nesting: Nesting) -> &'static [&'static str] {
    if nesting == Nesting::Map { &["key"] } else { &[] }
}

fn unsupported_block(kind: &Ident, schema: &schema::Block) -> Diag {
    let known = schema.blocks.keys().map(|known| &**known);
    shape::unsupported_block(kind, known, schema.attributes.contains_key(&kind.name))
}
