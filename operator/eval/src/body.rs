//! A body sorted by a schema: which items are wanted, which are not, which are missing. Names only; nothing is evaluated.
//!
//! Rules: hcl `hclsyntax` `Body.Content`, Terraform `lang/blocktoattr`.

use std::{borrow::Cow, collections::BTreeMap, sync::Arc};

use ashlar_diag::{Diag, Diags, Span};
use ashlar_syntax::{Attribute, Block, Body, Ident};
use ashlar_value::{
    Type,
    schema::{self, AttributeType, Nesting},
};

use crate::{dynamic, suggest::suggest};

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

/// The empty place at the beginning of a body: where hcl blames a missing item.
pub(crate) fn missing_place(body: &Body) -> Option<Span> {
    body.span.map(|span| Span {
        end: span.start,
        ..span
    })
}

/// Sorts a body; faults go to `diags`.
pub(crate) fn sort<'b>(
    body: &'b Body,
    schema: &schema::Block,
    missing: Option<Span>,
    diags: &mut Diags,
) -> Content<'b> {
    let mut attributes = BTreeMap::new();
    for attribute in &body.attributes {
        let name = &attribute.name;
        if schema.attributes.contains_key(&name.name) {
            attributes.insert(name.name.clone(), attribute);
        } else {
            diags.push(unsupported_argument(name, body, schema));
        }
    }
    for (name, attribute) in &schema.attributes {
        if attribute.required && !attributes.contains_key(name) && !may_be_blocks(schema, name) {
            let detail = format!("The argument {name:?} is required, but not set.");
            let diag = Diag::error("Missing required argument", detail);
            diags.push(missing.map_or(diag.clone(), |span| diag.at(span)));
        }
    }
    let mut blocks = Vec::new();
    for block in &body.blocks {
        if let Some(nesting) = block_nesting(schema, body, &block.kind.name) {
            if labels_fit(block, nesting, diags) {
                blocks.push(Item::Block(block));
            }
        } else if &*block.kind.name == "dynamic" {
            if labels_fit_names(block, &["type"], diags) {
                let (spec, faults) = dynamic::Spec::read(block);
                let kind = spec.as_ref().map(|spec| spec.kind).or(block.labels.first());
                match kind.filter(|kind| block_nesting(schema, body, &kind.name).is_none()) {
                    Some(kind) => diags.push(unsupported_block(kind, schema)),
                    None => {
                        diags.extend(faults);
                        blocks.extend(spec.map(Item::Dynamic));
                    }
                }
            }
        } else {
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
    labels_fit_names(block, if nesting == Nesting::Map { &["key"] } else { &[] }, diags)
}

fn labels_fit_names(block: &Block, names: &[&str], diags: &mut Diags) -> bool {
    let kind = &block.kind.name;
    let context = block.kind.span.to(block.open);
    if let Some(extra) = block.labels.get(names.len()) {
        let wanted = match names {
            [] => "no labels".to_owned(),
            names => format!("only {} label(s): {}", names.len(), names.join(", ")),
        };
        let detail = format!("A {kind} block takes {wanted}.");
        diags.push(
            Diag::error(format!("Extraneous label for {kind}"), detail)
                .at(extra.span)
                .within(context),
        );
        return false;
    }
    if let Some(missing) = names.get(block.labels.len()) {
        let detail = format!(
            "A {kind} block takes {} label(s): {}.",
            names.len(),
            names.join(", ")
        );
        diags.push(
            Diag::error(format!("Missing {missing} for {kind}"), detail)
                .at(block.open)
                .within(context),
        );
        return false;
    }
    true
}

fn unsupported_argument(name: &Ident, body: &Body, schema: &schema::Block) -> Diag {
    let unset = schema
        .attributes
        .keys()
        .filter(|known| body.attribute(known).is_none());
    let hint = match suggest(&name.name, unset.map(|known| &**known)) {
        Some(near) => format!(" Did you mean {near:?}?"),
        None if schema.blocks.contains_key(&name.name) => {
            format!(
                " To write a block of this type, leave the equals sign out: {} {{ … }}.",
                name.name
            )
        }
        None => String::new(),
    };
    let detail = format!("No argument is named {:?} here.{hint}", &*name.name);
    Diag::error("Unsupported argument", detail).at(name.span)
}

fn unsupported_block(kind: &Ident, schema: &schema::Block) -> Diag {
    let hint = match suggest(&kind.name, schema.blocks.keys().map(|known| &**known)) {
        Some(near) => format!(" Did you mean {near:?}?"),
        None if schema.attributes.contains_key(&kind.name) => {
            format!(
                " To set the argument of this name, write an equals sign: {} = ….",
                kind.name
            )
        }
        None => String::new(),
    };
    let detail = format!("No blocks of type {:?} can stand here.{hint}", &*kind.name);
    Diag::error("Unsupported block type", detail).at(kind.span)
}
