//! Bodies in JSON, and how a schema reads them.
//!
//! A body is an object, or an array of objects whose properties count one after the other. Whether a property is an
//! argument or a block is told by who reads. Rules: hcl `json/structure.go`.

use std::{
    collections::HashSet,
    sync::{Arc, OnceLock},
};

use ashlar_diag::{Diag, Span};

use super::{body, take};
use crate::ast::{Attribute, Block, Body, Expr, ExprKind, Ident, Literal};

const WRONG_TYPE: &str = "Incorrect JSON value type";

/// What a name is to whoever reads a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted<'s> {
    /// An argument.
    Argument,
    /// Blocks, with what their labels are.
    Blocks(&'s [&'s str]),
}

/// A body that no schema has read yet.
#[derive(Clone, Debug, Default)]
pub struct Unread {
    properties: Vec<Attribute>,
    /// Of elements that are no objects.
    faults: Vec<Diag>,
    /// The blamed place if it is no single object.
    no_object: Option<Span>,
    /// Bodies laid one over the other, if it is several; then it has nothing else.
    layers: Vec<Body>,
    /// The body as its schema reads it.
    read: OnceLock<Box<Body>>,
}

/// What was wanted of a body, and what is left.
#[derive(Debug, Default)]
pub struct Reading {
    /// Arguments, in order.
    pub attributes: Vec<Attribute>,
    /// Blocks, in order.
    pub blocks: Vec<Block>,
    /// Properties of other names, comments left out.
    pub rest: Unread,
    /// What went wrong.
    pub faults: Vec<Diag>,
    seen: HashSet<Arc<str>>,
}

impl Unread {
    pub(super) fn new(value: Expr) -> Self {
        let start = value.start();
        let mut unread = Unread {
            no_object: (!matches!(value.kind, ExprKind::JsonObject(_))).then_some(start),
            ..Unread::default()
        };
        let wrong = |detail: &str, at| Diag::error(WRONG_TYPE, detail).at(at);
        unread.properties = flat(value, &mut unread.faults, |single, at| {
            if single {
                let detail = "An object, or an array of objects, is expected here: the arguments and blocks.";
                wrong(detail, at)
            } else {
                wrong("An object is expected here: arguments and blocks.", at)
            }
        });
        unread
    }

    pub(crate) fn layered(layers: Vec<Body>) -> Self {
        Unread {
            layers,
            ..Unread::default()
        }
    }

    /// Does it hold nothing but comments?
    pub fn is_empty(&self) -> bool {
        self.properties().next().is_none() && self.layers.iter().all(Body::is_empty)
    }

    /// All properties but comments.
    pub fn properties(&self) -> impl Iterator<Item = &Attribute> {
        self.properties.iter().filter(|property| !is_comment(property))
    }

    /// Reads the body; `wanted` says what each name is.
    pub fn read<'s>(self, wanted: impl Fn(&str) -> Option<Wanted<'s>>) -> Reading {
        let mut reading = Reading {
            faults: self.faults,
            ..Reading::default()
        };
        let mut rest = Vec::new();
        for property in self.properties {
            match wanted(&property.name.name) {
                None => rest.push(property),
                Some(Wanted::Argument) => reading.argument(property, "Duplicate argument"),
                Some(Wanted::Blocks(labels)) => {
                    let Attribute { name, expr, .. } = property;
                    let before = Unpack {
                        kind: name,
                        labels: Vec::new(),
                    };
                    before.unpack(expr, labels, &mut reading);
                }
            }
        }
        reading.rest = Unread {
            properties: rest,
            no_object: self.no_object,
            ..Unread::default()
        };
        reading
    }

    /// Reads the body as arguments of any name; there can be no blocks.
    pub fn arguments(self) -> (Vec<Attribute>, Vec<Diag>) {
        if let Some(at) = self.no_object {
            let detail = "An object is expected here: the arguments of the block.";
            return (Vec::new(), vec![Diag::error(WRONG_TYPE, detail).at(at)]);
        }
        let mut reading = Reading::default();
        for property in self.properties {
            if !is_comment(&property) {
                reading.argument(property, "Duplicate attribute definition");
            }
        }
        (reading.attributes, reading.faults)
    }

    /// Adds the properties of another body behind these.
    pub fn append(&mut self, other: Unread) {
        self.properties.extend(other.properties);
        self.faults.extend(other.faults);
        self.read = OnceLock::new();
    }
}

impl Body {
    /// The body as its schema reads it: itself in native syntax; in JSON what `read` makes of it, which is done once, so a
    /// body is always to be read by the same schema.
    pub fn read_once(&self, read: impl Fn(Unread) -> Body) -> &Body {
        self.read_with(&read)
    }

    fn read_with(&self, read: &dyn Fn(Unread) -> Body) -> &Body {
        let Some(unread) = &self.unread else { return self };
        unread.read.get_or_init(|| {
            if let Some((base, over)) = unread.layers.split_first() {
                let mut merged = base.read_with(read).clone();
                for over in over {
                    merged.replace_items(over.read_with(read).clone());
                }
                return Box::new(merged);
            }
            let copy = Unread {
                read: OnceLock::new(),
                ..Unread::clone(unread)
            };
            let mut body = read(copy);
            body.span = self.span;
            body.end = self.end;
            body.missing = self.missing;
            Box::new(body)
        })
    }

    /// As [`Body::read_once`] gave it, if it was asked.
    pub fn as_read(&self) -> &Body {
        let read = self.unread.as_ref().and_then(|unread| unread.read.get());
        read.map_or(self, |body| &**body)
    }
}

impl Reading {
    fn argument(&mut self, property: Attribute, twice: &'static str) {
        if self.seen.insert(property.name.name.clone()) {
            self.attributes.push(property);
        } else {
            let detail = format!("The argument {:?} is set before.", &*property.name.name);
            self.faults
                .push(Diag::error(twice, detail).at(property.name.span));
        }
    }
}

fn is_comment(property: &Attribute) -> bool {
    &*property.name.name == "//"
}

/// The properties of an object or of an array of objects; `wrong` makes the fault of a value that is neither: of the whole
/// (`true`) or of an element.
fn flat(value: Expr, faults: &mut Vec<Diag>, wrong: impl Fn(bool, Span) -> Diag) -> Vec<Attribute> {
    let single = !matches!(value.kind, ExprKind::Tuple { .. });
    let values = match value.kind {
        ExprKind::JsonScalar(Literal::Null) => Vec::new(),
        ExprKind::Tuple { items, .. } => items,
        _ => vec![value],
    };
    let mut properties = Vec::new();
    for value in values {
        let at = value.start();
        let ExprKind::JsonObject(object) = value.kind else {
            faults.push(wrong(single, at));
            continue;
        };
        properties.extend(object.items.into_iter().map(|item| {
            let name = item.name();
            Attribute {
                span: name.span.to(item.value.span),
                name,
                equals: item.colon,
                expr: item.value,
            }
        }));
    }
    properties
}

/// A block's type and the labels found so far.
#[derive(Clone)]
struct Unpack {
    kind: Ident,
    labels: Vec<Ident>,
}

impl Unpack {
    fn unpack(self, value: Expr, left: &[&str], reading: &mut Reading) {
        let Some((label, left)) = left.split_first() else {
            return self.bodies(value, reading);
        };
        let kind = self.kind.name.clone();
        let start = value.start();
        let properties = flat(value, &mut reading.faults, |single, at| {
            let what = if single {
                "An object, or an array of objects,"
            } else {
                "An object"
            };
            let detail = format!("{what} is expected here, whose names are the {label} of {kind} blocks.");
            Diag::error(WRONG_TYPE, detail).at(at)
        });
        if properties.is_empty() {
            let detail =
                format!("At least one property is expected here, named after the {label} of a {kind} block.");
            reading
                .faults
                .push(Diag::error("Missing block label", detail).at(start));
        }
        for property in properties {
            let mut inner = self.clone();
            inner.labels.push(property.name);
            inner.unpack(property.expr, left, reading);
        }
    }

    fn bodies(self, mut value: Expr, reading: &mut Reading) {
        let bracket = value.start();
        match &mut value.kind {
            ExprKind::JsonScalar(Literal::Null) => {}
            ExprKind::JsonObject(_) => reading.blocks.push(self.block(value, bracket)),
            ExprKind::Tuple { items, .. } => {
                for item in items {
                    reading.blocks.push(self.clone().block(take(item), bracket));
                }
            }
            _ => {
                let detail = format!(
                    "An object or an array is expected here: the content of one or several {} blocks.",
                    self.kind.name
                );
                reading.faults.push(Diag::error(WRONG_TYPE, detail).at(bracket));
            }
        }
    }

    fn block(self, value: Expr, bracket: Span) -> Block {
        let open = value.start();
        let close = match &value.kind {
            ExprKind::JsonObject(object) => object.close,
            _ => value.span,
        };
        Block {
            kind: self.kind,
            labels: self.labels,
            body: body(value),
            open,
            close,
            bracket: Some(bracket),
        }
    }
}
