//! Configuration in HCL, JSON or YAML as one tree, in the order in which it was written.
//!
//! The order counts where methods of installation are listed, and a name may occur many times, as blocks do. What the names mean
//! is not known here.

use std::fmt;

use ashlar_diag::{Diag, Sources};
use ashlar_eval::evaluate_constant;
use ashlar_syntax::{Body, parse_file};
use ashlar_value::Value;
use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, SeqAccess, Visitor},
};

/// A part of a configuration.
#[derive(Clone, PartialEq)]
pub(crate) enum Node {
    Nothing,
    Bool(bool),
    /// Numbers are texts, too.
    Text(String),
    List(Vec<Node>),
    Object(Vec<(String, Node)>),
}

/// Configurations hold tokens.
impl fmt::Debug for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Node(..)")
    }
}

impl Node {
    /// All that a name stands for here: blocks may repeat it, and lists are of blocks.
    pub(crate) fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Node> {
        self.entries()
            .filter(move |(own, _)| *own == name)
            .flat_map(|(_, node)| node.flat())
    }

    /// Names with what they stand for, in order; those of all parts of a list.
    pub(crate) fn entries(&self) -> Box<dyn Iterator<Item = (&str, &Node)> + '_> {
        match self {
            Self::Object(entries) => Box::new(entries.iter().map(|(name, node)| (&**name, node))),
            Self::List(nodes) => Box::new(nodes.iter().flat_map(Node::entries)),
            _ => Box::new(std::iter::empty()),
        }
    }

    /// The parts of a list, or the one thing that this is.
    pub(crate) fn flat(&self) -> Box<dyn Iterator<Item = &Node> + '_> {
        match self {
            Self::List(nodes) => Box::new(nodes.iter().flat_map(Node::flat)),
            node => Box::new(std::iter::once(node)),
        }
    }

    pub(crate) fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Reads HCL. Terraform reads such files by the grammar of HCL 1: there texts hold no expressions, and names of arguments may be
    /// quoted, as they are in `dev_overrides`, which is an object here.
    pub(crate) fn of_hcl(name: &str, text: &str) -> Result<Self, String> {
        let mut sources = Sources::new();
        let file = sources.add(
            name,
            with_overrides(text).replace("${", "$${").replace("%{", "%%{"),
        );
        let (body, diags) = parse_file(&sources, file);
        let place = |diag: &Diag| {
            let place = diag.subject.and_then(|span| sources.place(span));
            let line = place.map_or(String::new(), |place| format!(" line {}", place.start.line));
            // Neither details nor sources: they may quote a token.
            format!("{name}{line}: {}", diag.summary)
        };
        if let Some(diag) = diags.iter().find(|diag| diag.is_error()) {
            return Err(place(diag));
        }
        Self::of_body(&body).map_err(|diag| place(&diag))
    }

    fn of_body(body: &Body) -> Result<Self, Diag> {
        let mut entries = Vec::new();
        for attribute in &body.attributes {
            let (value, diags) = evaluate_constant(&attribute.expr);
            if let Some(diag) = diags.iter().find(|diag| diag.is_error()) {
                return Err(diag.clone());
            }
            let start = attribute.span.start;
            entries.push((start, (attribute.name.name.to_string(), Self::of_value(&value))));
        }
        for block in &body.blocks {
            let mut node = Self::of_body(&block.body)?;
            for label in block.labels.iter().rev() {
                node = Self::Object(vec![(label.name.to_string(), node)]);
            }
            entries.push((block.kind.span.start, (block.kind.name.to_string(), node)));
        }
        entries.sort_by_key(|(start, _)| *start);
        Ok(Self::Object(
            entries.into_iter().map(|(_, entry)| entry).collect(),
        ))
    }

    fn of_value(value: &Value) -> Self {
        if value.is_null() || !value.is_known() {
            return Self::Nothing;
        }
        if let Some(truth) = value.as_bool() {
            return Self::Bool(truth);
        }
        if let Some(text) = value.as_str() {
            return Self::Text(text.to_string());
        }
        if let Some(items) = value.as_items() {
            return Self::List(items.iter().map(Self::of_value).collect());
        }
        if let Some(entries) = value.as_entries() {
            let entries = entries.iter();
            return Self::Object(
                entries
                    .map(|(name, value)| (name.to_string(), Self::of_value(value)))
                    .collect(),
            );
        }
        Self::Text(ashlar_eval::show(value))
    }
}

/// `dev_overrides {` as `dev_overrides = {`.
fn with_overrides(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    let mut rest = text;
    const NAME: &str = "dev_overrides";
    while let Some(at) = rest.find(NAME) {
        let (before, after) = rest.split_at(at + NAME.len());
        out.push_str(before);
        if after.trim_start_matches([' ', '\t']).starts_with('{') {
            out.push_str(" =");
        }
        rest = after;
    }
    out.push_str(rest);
    out
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Reader)
    }
}

struct Reader;

impl<'de> Visitor<'de> for Reader {
    type Value = Node;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a configuration")
    }

    fn visit_unit<E>(self) -> Result<Node, E> {
        Ok(Node::Nothing)
    }

    fn visit_none<E>(self) -> Result<Node, E> {
        Ok(Node::Nothing)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Node, D::Error> {
        Node::deserialize(deserializer)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Node, E> {
        Ok(Node::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Node, E> {
        Ok(Node::Text(value.to_string()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Node, E> {
        Ok(Node::Text(value.to_string()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Node, E> {
        Ok(Node::Text(value.to_string()))
    }

    fn visit_str<E>(self, value: &str) -> Result<Node, E> {
        Ok(Node::Text(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Node, A::Error> {
        let mut all = Vec::new();
        while let Some(item) = items.next_element()? {
            all.push(item);
        }
        Ok(Node::List(all))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Node, A::Error> {
        let mut all = Vec::new();
        while let Some(entry) = entries.next_entry()? {
            all.push(entry);
        }
        Ok(Node::Object(all))
    }
}
