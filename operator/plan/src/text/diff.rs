//! What the comparison of two values finds: a tree that only needs to be drawn.
//!
//! Stands between [`super::compare`] and [`super::draw`]. It holds no sensitive content: where a value is sensitive the
//! tree says so and ends.

use std::sync::Arc;

use super::ink::Sign;

/// The difference between two states of one part.
pub(super) struct Diff {
    pub(super) sign: Sign,
    /// Does this part force the object to be replaced?
    pub(super) forces: bool,
    pub(super) turn: Option<Turn>,
    pub(super) body: Body,
}

/// A change of sensitivity, to be pointed out.
pub(super) struct Turn {
    /// Is it sensitive afterwards? Else it was before.
    pub(super) hides: bool,
    /// Is the value itself the same?
    pub(super) unchanged: bool,
}

/// What to draw.
pub(super) enum Body {
    /// Both sides in the language's syntax, on one line.
    Scalar {
        before: Option<String>,
        after: Option<String>,
    },
    /// Text of several lines on at least one side.
    Lines {
        before: Option<Arc<str>>,
        after: Option<Arc<str>>,
    },
    /// Text that holds JSON on each side that is there.
    Json(Box<Diff>),
    /// Not known before apply; what it was.
    Unknown(Option<Box<Diff>>),
    /// A sensitive value.
    Hidden,
    /// A nested block that is sensitive as a whole.
    HiddenBlock,
    /// Not kept, so never shown.
    WriteOnly { sensitive: bool },
    /// A value of another kind afterwards.
    Retyped(Box<Diff>, Box<Diff>),
    /// Attributes or elements by name.
    Mapping {
        entries: Vec<(Arc<str>, Diff)>,
        keys: Keys,
    },
    /// Elements in order.
    Sequence { items: Vec<Diff>, items_are: Items },
    /// The content of a block.
    Block {
        attributes: Vec<(Arc<str>, Diff)>,
        blocks: Vec<Nested>,
    },
    /// Nested deeper than is shown.
    TooDeep,
}

/// What the names of a mapping are.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Keys {
    /// Attributes of an object.
    Attributes,
    /// Nested attributes: each of them is shown going to null.
    NestedAttributes,
    /// Elements of a map.
    Elements,
    /// Nested attributes by key: not aligned, and a replacement is forced by each of them.
    NestedElements,
}

/// What the elements of a sequence are.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Items {
    /// Of a list: neighbours of what changed are shown.
    Ordered,
    /// Of a set.
    Unordered,
    /// Nested attributes in a list.
    Nested,
    /// Nested attributes in a set: a replacement is forced by each of them.
    NestedUnordered,
}

/// A block inside a block.
pub(super) struct Nested {
    pub(super) kind: Arc<str>,
    /// The key of blocks that have one.
    pub(super) label: Option<Arc<str>>,
    /// Do all blocks of this type force a replacement?
    pub(super) all_force: bool,
    pub(super) diff: Diff,
}

impl Diff {
    pub(super) fn new(sign: Sign, body: Body) -> Self {
        Self {
            sign,
            forces: false,
            turn: None,
            body,
        }
    }
}
