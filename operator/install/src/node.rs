//! Configuration in HCL 1, JSON or YAML as one tree, in the order in which it was written.
//!
//! The order counts where methods of installation are listed, and a name may occur many times, as blocks do. What the names mean
//! is not known here.

use std::fmt;

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
