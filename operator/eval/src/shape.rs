//! The form of a block: which arguments and nested blocks it may hold, with how many labels. Names only.
//!
//! For blocks whose form is fixed by the language; [`crate::validate_block`] does the same by a provider's schema.
//! Summaries and blamed places are those of `Body.Content` and `JustAttributes` in hcl's `hclsyntax` and `json`.

use std::{collections::BTreeSet, sync::Arc};

use ashlar_diag::{Diag, Diags, Span};
use ashlar_syntax::{Attribute, Block, Body, Ident, Wanted};

use crate::suggest::{hint, suggest};

/// What a block of the language may hold.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Arguments that must be set.
    pub required: &'static [&'static str],
    /// Arguments that may be set.
    pub optional: &'static [&'static str],
    /// Types of nested blocks with what their labels are.
    pub blocks: &'static [(&'static str, &'static [&'static str])],
}

/// The items of a body that fit a [`Shape`], and the others.
pub struct Split {
    /// Arguments of the shape.
    pub attributes: Vec<Attribute>,
    /// Blocks of the shape with the right number of labels.
    pub blocks: Vec<Block>,
    /// All other items.
    pub rest: Body,
}

impl Split {
    /// The names of the arguments that are set.
    pub fn names(&self) -> BTreeSet<Arc<str>> {
        let names = self
            .attributes
            .iter()
            .map(|attribute| attribute.name.name.clone());
        names.collect()
    }

    /// Takes out the argument with this name.
    pub fn take(&mut self, name: &str) -> Option<Attribute> {
        let at = self
            .attributes
            .iter()
            .position(|attribute| &*attribute.name.name == name)?;
        Some(self.attributes.swap_remove(at))
    }
}

impl Shape {
    fn arguments(&self) -> impl Iterator<Item = &'static str> {
        self.required.iter().chain(self.optional).copied()
    }

    fn wanted(&self, name: &str) -> Option<Wanted<'static>> {
        if self.arguments().any(|argument| argument == name) {
            return Some(Wanted::Argument);
        }
        let block = self.blocks.iter().find(|(kind, _)| *kind == name);
        block.map(|(_, labels)| Wanted::Blocks(labels))
    }

    /// Takes the items of the shape out of a body; what else there is is no fault. `open`: the block's brace.
    pub fn split(&self, body: Body, open: Option<Span>, diags: &mut Diags) -> Split {
        self.split_where(body, open, true, diags)
    }

    /// As [`Shape::split`]; `complete`: must the required arguments be set? (In an override file they need not.)
    pub fn split_where(&self, body: Body, open: Option<Span>, complete: bool, diags: &mut Diags) -> Split {
        let missing = body.missing_item().or(open);
        let mut rest = body;
        let attributes = std::mem::take(&mut rest.attributes);
        let mut blocks = std::mem::take(&mut rest.blocks);
        let wanted = |attribute: &Attribute| self.arguments().any(|name| name == &*attribute.name.name);
        let (mut attributes, others): (Vec<_>, Vec<_>) = attributes.into_iter().partition(wanted);
        rest.attributes = others;
        if let Some(unread) = rest.unread.take() {
            let reading = unread.read(|name| self.wanted(name));
            diags.extend(reading.faults);
            (attributes, blocks) = (reading.attributes, reading.blocks);
            rest.unread = Some(Box::new(reading.rest));
        }
        for name in self.required.iter().filter(|_| complete) {
            if !attributes.iter().any(|attribute| &*attribute.name.name == *name) {
                diags.push(missing_argument(name, missing));
            }
        }
        let mut split = Split {
            attributes,
            blocks: Vec::new(),
            rest,
        };
        for block in blocks {
            match self.blocks.iter().find(|(kind, _)| *kind == &*block.kind.name) {
                Some((_, labels)) if labels_fit(&block, labels, diags) => split.blocks.push(block),
                Some(_) => {}
                None => split.rest.blocks.push(block),
            }
        }
        split
    }

    /// As [`Shape::split`], but whatever else there is is a fault.
    pub fn content(&self, body: Body, open: Option<Span>, diags: &mut Diags) -> Split {
        self.content_where(body, open, true, diags)
    }

    /// As [`Shape::content`]; `complete`: must the required arguments be set?
    pub fn content_where(&self, body: Body, open: Option<Span>, complete: bool, diags: &mut Diags) -> Split {
        let split = self.split_where(body, open, complete, diags);
        for property in split.rest.unread.iter().flat_map(|unread| unread.properties()) {
            let kinds = self.blocks.iter().map(|(kind, _)| *kind);
            let unset = self
                .arguments()
                .filter(|known| !split.attributes.iter().any(|set| &*set.name.name == *known));
            diags.push(extraneous(property, unset.chain(kinds)));
        }
        for attribute in &split.rest.attributes {
            let unset = self
                .arguments()
                .filter(|known| !split.attributes.iter().any(|set| &*set.name.name == *known));
            let is_block = self.blocks.iter().any(|(kind, _)| *kind == &*attribute.name.name);
            diags.push(unsupported_argument(&attribute.name, unset, is_block));
        }
        for block in &split.rest.blocks {
            let is_argument = self.arguments().any(|name| name == &*block.kind.name);
            diags.push(unsupported_block(
                &block.kind,
                self.blocks.iter().map(|(kind, _)| *kind),
                is_argument,
            ));
        }
        split
    }
}

/// The arguments of a body that holds them under any name, but no blocks.
pub fn only_arguments(body: Body) -> (Vec<Attribute>, Diags) {
    if let Some(unread) = body.unread {
        let (attributes, faults) = unread.arguments();
        return (attributes, faults.into_iter().collect());
    }
    let faults = body.blocks.first().map(|block| {
        let summary = format!("Unexpected \"{}\" block", block.kind.name);
        Diag::error(summary, "Only arguments can stand here, no blocks.").at(block.kind.span)
    });
    (body.attributes, faults.into_iter().collect())
}

/// A property in JSON that is neither argument nor block. `known`: what could stand in its place.
pub(crate) fn extraneous<'n>(property: &Attribute, known: impl IntoIterator<Item = &'n str>) -> Diag {
    let name = &property.name;
    let near = hint(&name.name, known);
    let detail = format!("No argument and no block is named {:?} here.{near}", &*name.name);
    Diag::error("Extraneous JSON object property", detail)
        .at(name.span)
        .within(property.span)
}

pub(crate) fn missing_argument(name: &str, place: Option<Span>) -> Diag {
    let diag = Diag::error(
        "Missing required argument",
        format!("The argument {name:?} is required, but not set."),
    );
    match place {
        Some(place) => diag.at(place),
        None => diag,
    }
}

/// Has the block as many labels as there are names for?
pub(crate) fn labels_fit(block: &Block, names: &[&str], diags: &mut Diags) -> bool {
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

/// An argument that cannot stand where it does. `known`: those that could still be set.
pub(crate) fn unsupported_argument<'n>(
    name: &Ident,
    known: impl IntoIterator<Item = &'n str>,
    is_block: bool,
) -> Diag {
    let hint = match suggest(&name.name, known) {
        Some(near) => format!(" Did you mean {near:?}?"),
        None if is_block => {
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

/// A block that cannot stand where it does.
pub(crate) fn unsupported_block<'n>(
    kind: &Ident,
    known: impl IntoIterator<Item = &'n str>,
    is_argument: bool,
) -> Diag {
    let hint = match suggest(&kind.name, known) {
        Some(near) => format!(" Did you mean {near:?}?"),
        None if is_argument => {
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
