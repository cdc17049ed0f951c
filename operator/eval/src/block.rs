//! A block to an object, by its schema.
//!
//! Rules: hcl `hcldec` and `ext/dynblock`, Terraform `configschema/decoder_spec.go`. All references of the block are
//! resolved first. Without an evaluator (static validation) every argument counts as unknown.

use std::{collections::BTreeMap, sync::Arc};

use ashlar_diag::{Diag, Diags, Span};
use ashlar_syntax::{Attribute, Block, Body};
use ashlar_value::{
    Marks, ObjectAttr, ObjectType, Type, Value, convert, ops,
    schema::{self, AttributeType, NestedBlock, Nesting},
};

use crate::{
    Blame, Scope,
    body::{self, Content, Item, nested_schema},
    dynamic::Spec,
    evaluate::{Binding, Eval, Frame, Functions, Root, resolve},
    finder,
};

/// Evaluates a body to an object of the schema's type. With errors the value is unknown where it is at fault.
pub fn decode_block(body: &Body, schema: &schema::Block, scope: &dyn Scope) -> (Value, Diags) {
    let mut diags = Diags::new();
    let Some(found) = resolve(&finder::traversals_in_block(body, schema), scope, &mut diags) else {
        return (Value::unknown(schema.ty()), diags);
    };
    let eval = Eval::new(Root::Module { scope, found }, Functions::All);
    let decoder = Decoder { eval: Some(eval) };
    let value = decoder.body(&Source::whole(body), schema, &mut diags);
    if let (Some(eval), Some(span)) = (&decoder.eval, body.span) {
        eval.close(span, &mut diags);
    }
    (value, diags)
}

/// Evaluates a body, or only looks at its names.
pub(crate) struct Decoder<'e> {
    pub(crate) eval: Option<Eval<'e>>,
}

/// A body with what surrounds it.
pub(crate) struct Source<'b> {
    body: &'b Body,
    missing: Option<Span>,
    /// Iterators of the `dynamic` blocks around it.
    locals: Vec<(Arc<str>, Value)>,
    /// Marks of the `for_each` it came from.
    marks: Marks,
    /// Did it come from a `dynamic` block whose `for_each` is unknown?
    unknown: bool,
}

impl<'b> Source<'b> {
    pub(crate) fn whole(body: &'b Body) -> Self {
        Self {
            body,
            missing: body.missing_item(),
            locals: Vec::new(),
            marks: Marks::NONE,
            unknown: false,
        }
    }
}

/// A nested block to be decoded.
struct Child<'b> {
    source: Source<'b>,
    header: Span,
    label: Option<Arc<str>>,
    /// Is it itself made by an unknown `for_each`, so that nobody knows how many there are?
    uncounted: bool,
}

impl Decoder<'_> {
    pub(crate) fn body(&self, source: &Source<'_>, schema: &schema::Block, diags: &mut Diags) -> Value {
        let content = body::sort(source.body, schema, source.missing, diags);
        let mut children = self.children(source, &content, diags);
        let mut attrs = BTreeMap::new();
        for (name, attribute) in &schema.attributes {
            let value = match (content.attributes.get(name), children.remove(name)) {
                (Some(given), _) => self.attribute(given, attribute, source, diags),
                (None, Some(blocks)) => self.blocks_as_attribute(&blocks, name, schema, attribute, diags),
                (None, None) => Value::null(attribute.ty()),
            };
            attrs.insert(name.clone(), value);
        }
        for (name, nested) in &schema.blocks {
            if attrs.contains_key(name) {
                continue;
            }
            let blocks = children.remove(name).unwrap_or_default();
            attrs.insert(name.clone(), self.nested(name, &blocks, nested, &content, diags));
        }
        Value::object_of(attrs).with_marks(source.marks)
    }

    fn attribute(
        &self,
        given: &Attribute,
        attribute: &schema::Attribute,
        source: &Source<'_>,
        diags: &mut Diags,
    ) -> Value {
        let value = match &self.eval {
            Some(eval) if !source.unknown => {
                let frame = Frame {
                    parent: None,
                    binding: Binding::List(&source.locals),
                };
                eval.expr(&given.expr, &frame, diags)
            }
            _ => Value::dynamic(),
        };
        let value = value.with_marks(source.marks);
        convert(&value, &given_type(attribute)).unwrap_or_else(|error| {
            let name = &*given.name.name;
            let place = if error.path.is_root() {
                String::new()
            } else {
                format!(" at {}", error.path)
            };
            let detail = format!(
                "The value does not fit the argument {name:?}{place}: {}.",
                error.message
            );
            let context = given.name.span.to(given.expr.span);
            let mut diag = Diag::error("Incorrect attribute value type", detail)
                .at(given.expr.span)
                .within(context);
            diag.values = self.eval.as_ref().map(|eval| {
                let frame = Frame {
                    parent: None,
                    binding: Binding::List(&source.locals),
                };
                eval.named(&finder::traversals(&given.expr), &frame, Blame::Content)
                    .into()
            });
            diags.push(diag);
            Value::unknown(attribute.ty())
        })
    }

    /// An attribute written as blocks.
    fn blocks_as_attribute(
        &self,
        blocks: &[Child<'_>],
        name: &str,
        schema: &schema::Block,
        attribute: &schema::Attribute,
        diags: &mut Diags,
    ) -> Value {
        let Some(inner) = nested_schema(schema, name) else {
            return Value::null(attribute.ty());
        };
        let mut items = Vec::new();
        let mut counted = true;
        for block in blocks {
            items.push(self.body(&block.source, &inner, diags));
            counted &= !block.uncounted;
        }
        if !counted {
            return Value::unknown(attribute.ty());
        }
        let items = Value::list(inner.ty(), items);
        convert(&items, &attribute.ty()).unwrap_or_else(|_| Value::unknown(attribute.ty()))
    }

    /// Written blocks and what `dynamic` blocks expand to, by type, in source order.
    fn children<'b>(
        &self,
        source: &Source<'_>,
        content: &Content<'b>,
        diags: &mut Diags,
    ) -> BTreeMap<Arc<str>, Vec<Child<'b>>> {
        let mut children: BTreeMap<Arc<str>, Vec<Child<'b>>> = BTreeMap::new();
        for item in &content.blocks {
            let into = children.entry(item.kind().name.clone()).or_default();
            match item {
                Item::Block(block) => into.push(written(block, source)),
                Item::Dynamic(spec) => {
                    self.expand(spec, source, into, diags);
                }
            }
        }
        children
    }

    fn expand<'b>(&self, spec: &Spec<'b>, source: &Source<'_>, into: &mut Vec<Child<'b>>, diags: &mut Diags) {
        if !labels_wanted(spec, diags) {
            return;
        }
        let frame = Frame {
            parent: None,
            binding: Binding::List(&source.locals),
        };
        let mut faults = Diags::new();
        let each = match &self.eval {
            Some(eval) if !source.unknown => eval.expr(spec.for_each, &frame, &mut faults),
            _ => Value::dynamic(),
        };
        let failed = faults.has_errors();
        diags.extend(faults);
        if failed {
            return;
        }
        let (each, marks) = each.unmark();
        let wrong = |why: String| Diag::error("Invalid dynamic for_each value", why).at(spec.for_each.span);
        let ty = each.ty();
        if ty.is_primitive() {
            diags.push(wrong(format!(
                "A {} cannot be gone through; for_each takes a collection.",
                ty.friendly_name()
            )));
            return;
        }
        if each.is_null() {
            diags.push(wrong(
                "for_each must not be null; for no blocks, give an empty collection.".to_owned(),
            ));
            return;
        }
        let unknown = !each.is_known();
        let turns: Vec<(Value, Value)> = if unknown {
            vec![(Value::dynamic(), Value::dynamic())]
        } else {
            ops::elements(&each).collect()
        };
        for (key, value) in turns {
            let mut locals = source.locals.clone();
            locals.push((
                spec.iterator.clone(),
                Value::object([("key", key), ("value", value)]),
            ));
            let label = match spec.labels.unwrap_or_default().first() {
                Some(expr) => match self.label(expr, &locals, diags) {
                    Some(label) => Some(label),
                    None => continue,
                },
                None => None,
            };
            into.push(Child {
                source: Source {
                    body: spec.content,
                    missing: spec.content.missing_item(),
                    locals,
                    marks,
                    unknown: unknown || source.unknown,
                },
                header: spec.block.header(),
                label,
                uncounted: unknown,
            });
        }
    }

    fn label(
        &self,
        expr: &ashlar_syntax::Expr,
        locals: &[(Arc<str>, Value)],
        diags: &mut Diags,
    ) -> Option<Arc<str>> {
        let Some(eval) = &self.eval else {
            return Some("".into());
        };
        let mut faults = Diags::new();
        let value = eval.expr(
            expr,
            &Frame {
                parent: None,
                binding: Binding::List(locals),
            },
            &mut faults,
        );
        let failed = faults.has_errors();
        diags.extend(faults);
        if failed {
            return None;
        }
        let why = match convert(&value, &Type::String) {
            Err(error) => format!("This value cannot be a label: {}.", error.message),
            Ok(value) if value.is_null() => "A label cannot be null.".to_owned(),
            Ok(value) if !value.is_known() => "This value is not known yet, and labels must be.".to_owned(),
            Ok(value) if !value.marks().is_empty() => "A label cannot be sensitive or ephemeral.".to_owned(),
            Ok(value) => match value.as_str() {
                Some(text) => return Some(text.clone()),
                None => "A label is a string.".to_owned(),
            },
        };
        diags.push(Diag::error("Invalid dynamic block label", why).at(expr.span));
        None
    }

    fn nested(
        &self,
        name: &str,
        blocks: &[Child<'_>],
        nested: &NestedBlock,
        content: &Content<'_>,
        diags: &mut Diags,
    ) -> Value {
        match nested.nesting {
            Nesting::Single | Nesting::Group => self.single(name, blocks, nested, content, diags),
            Nesting::Map => self.map(name, blocks, nested, diags),
            Nesting::List | Nesting::Set => self.sequence(name, blocks, nested, content, diags),
        }
    }

    fn single(
        &self,
        name: &str,
        blocks: &[Child<'_>],
        nested: &NestedBlock,
        content: &Content<'_>,
        diags: &mut Diags,
    ) -> Value {
        if let Some(second) = blocks.get(1) {
            let detail = format!("Only one {name} block can stand here.");
            diags.push(Diag::error(format!("Duplicate {name} block"), detail).at(second.header));
        }
        let Some(block) = blocks.first() else {
            if nested.nesting == Nesting::Group {
                return empty(&nested.block);
            }
            if nested.min_items == 1 {
                let diag = Diag::error(
                    format!("Missing {name} block"),
                    format!("A {name} block must stand here."),
                );
                diags.push(content.missing.map_or(diag.clone(), |span| diag.at(span)));
            }
            return Value::null(nested.block.ty());
        };
        self.body(&block.source, &nested.block, diags)
    }

    fn sequence(
        &self,
        name: &str,
        blocks: &[Child<'_>],
        nested: &NestedBlock,
        content: &Content<'_>,
        diags: &mut Diags,
    ) -> Value {
        let mut items = Vec::with_capacity(blocks.len());
        for block in blocks {
            items.push(self.body(&block.source, &nested.block, diags));
            if block.uncounted {
                return Value::unknown(nested.ty());
            }
        }
        count_fits(name, blocks, nested, content, diags);
        let element = nested.block.ty();
        match nested.nesting {
            Nesting::List if element.has_dynamic() => Value::tuple(items),
            Nesting::List => Value::list(element, items),
            _ if element.has_dynamic() && !items.is_empty() => match unified(&items) {
                Some((element, items)) => Value::set(element, items),
                None => {
                    let detail = format!(
                        "The arguments of all {name} blocks must agree in type, since they make a set."
                    );
                    let diag = Diag::error(format!("Unconsistent argument types in {name} blocks"), detail);
                    let place = blocks.first().and_then(|block| block.source.missing);
                    diags.push(place.map_or(diag.clone(), |span| diag.at(span)));
                    Value::dynamic()
                }
            },
            _ => Value::set(element, items),
        }
    }

    fn map(&self, name: &str, blocks: &[Child<'_>], nested: &NestedBlock, diags: &mut Diags) -> Value {
        let mut entries = BTreeMap::new();
        for block in blocks {
            if block.uncounted {
                return Value::unknown(nested.ty());
            }
            let value = self.body(&block.source, &nested.block, diags);
            let key = block.label.clone().unwrap_or_else(|| "".into());
            if entries.contains_key(&key) {
                let detail = format!("A {name} block {key:?} stands here already; the labels must differ.");
                diags.push(Diag::error(format!("Duplicate {name} block"), detail).at(block.header));
                continue;
            }
            entries.insert(key, value);
        }
        let element = nested.block.ty();
        if element.has_dynamic() {
            Value::object_of(entries)
        } else {
            Value::map_of(element, entries)
        }
    }
}

fn written<'b>(block: &'b Block, source: &Source<'_>) -> Child<'b> {
    Child {
        source: Source {
            body: &block.body,
            missing: block.body.missing_item().or(Some(block.open)),
            locals: source.locals.clone(),
            marks: Marks::NONE,
            unknown: source.unknown,
        },
        header: block.header(),
        label: block.labels.first().map(|label| label.name.clone()),
        uncounted: false,
    }
}

/// Has each block that is made as many labels as it is to have: one, or none at all?
fn labels_wanted(spec: &Spec<'_>, diags: &mut Diags) -> bool {
    let (Some(labels), Some(expr)) = (spec.labels, spec.labels_expr) else {
        return true;
    };
    let detail = format!("Blocks of type {:?} have one label.", &*spec.kind.name);
    diags.push(match labels {
        [_] => return true,
        [_, extra, ..] => Diag::error("Extraneous dynamic block label", detail).at(extra.span),
        [] => Diag::error("Insufficient dynamic block labels", detail).at(expr.span),
    });
    false
}

fn count_fits(
    name: &str,
    blocks: &[Child<'_>],
    nested: &NestedBlock,
    content: &Content<'_>,
    diags: &mut Diags,
) {
    let count = blocks.len() as u64;
    let (diag, place) = if count < nested.min_items {
        let detail = format!("At least {} {name} block(s) must stand here.", nested.min_items);
        (
            Diag::error(format!("Insufficient {name} blocks"), detail),
            content.missing,
        )
    } else if nested.max_items > 0 && count > nested.max_items {
        let detail = format!("At most {} {name} block(s) can stand here.", nested.max_items);
        let extra = usize::try_from(nested.max_items)
            .ok()
            .and_then(|at| blocks.get(at));
        (
            Diag::error(format!("Too many {name} blocks"), detail),
            extra.and_then(|block| block.source.missing),
        )
    } else {
        return;
    };
    diags.push(place.map_or(diag.clone(), |span| diag.at(span)));
}

/// What an argument is converted to: attributes of nested attribute types may be left out unless required.
fn given_type(attribute: &schema::Attribute) -> Type {
    let AttributeType::Nested { nesting, attributes } = &attribute.ty else {
        return attribute.ty();
    };
    let attrs = attributes.iter().map(|(name, attribute)| ObjectAttr {
        name: name.clone(),
        ty: given_type(attribute),
        optional: attribute.optional || attribute.computed,
    });
    let object = Type::Object(Arc::new(ObjectType::new(attrs)));
    match nesting {
        Nesting::Single | Nesting::Group => object,
        Nesting::List => Type::list(object),
        Nesting::Set => Type::set(object),
        Nesting::Map => Type::map(object),
    }
}

/// The object that a block without any item gives.
fn empty(schema: &schema::Block) -> Value {
    let attributes = schema
        .attributes
        .iter()
        .map(|(name, attribute)| (name.clone(), Value::null(attribute.ty())));
    let blocks = schema.blocks.iter().map(|(name, nested)| {
        let element = nested.block.ty();
        let value = match nested.nesting {
            Nesting::Single => Value::null(element),
            Nesting::Group => empty(&nested.block),
            Nesting::List if element.has_dynamic() => Value::tuple(Vec::new()),
            Nesting::List => Value::list(element, Vec::new()),
            Nesting::Map if element.has_dynamic() => Value::object_of(BTreeMap::new()),
            Nesting::Map => Value::map_of(element, BTreeMap::new()),
            Nesting::Set => Value::set(element, Vec::new()),
        };
        (name.clone(), value)
    });
    Value::object_of(attributes.chain(blocks).collect())
}

fn unified(items: &[Value]) -> Option<(Type, Vec<Value>)> {
    let types: Vec<Type> = items.iter().map(Value::ty).collect();
    let ty = ashlar_value::unify(&types)?;
    let items: Option<Vec<Value>> = items.iter().map(|item| convert(item, &ty).ok()).collect();
    Some((ty, items?))
}

#[cfg(test)]
mod tests;
