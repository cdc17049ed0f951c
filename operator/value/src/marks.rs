//! Marks: what must be remembered about a value beside the value itself.

/// One kind of mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Mark {
    /// Not to be shown.
    Sensitive,
    /// Not to be stored in plan or state.
    Ephemeral,
    /// From something deprecated: whoever uses it is told, which takes the mark off. Only set while a configuration is checked.
    Deprecated,
}

impl Mark {
    const fn bit(self) -> u8 {
        match self {
            Mark::Sensitive => 1,
            Mark::Ephemeral => 2,
            Mark::Deprecated => 4,
        }
    }
}

/// A set of marks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Marks(u8);

impl Marks {
    /// No mark.
    pub const NONE: Marks = Marks(0);
    /// Sensitive alone.
    pub const SENSITIVE: Marks = Marks(Mark::Sensitive.bit());
    /// Ephemeral alone.
    pub const EPHEMERAL: Marks = Marks(Mark::Ephemeral.bit());

    /// Deprecated alone.
    pub const DEPRECATED: Marks = Marks(Mark::Deprecated.bit());

    /// Is there none?
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Is this one among them?
    pub fn contains(self, mark: Mark) -> bool {
        self.0 & mark.bit() != 0
    }

    /// Those of either.
    #[must_use]
    pub fn union(self, other: Marks) -> Marks {
        Marks(self.0 | other.0)
    }

    /// Without this one.
    #[must_use]
    pub fn without(self, mark: Mark) -> Marks {
        Marks(self.0 & !mark.bit())
    }
}

impl From<Mark> for Marks {
    fn from(mark: Mark) -> Self {
        Marks(mark.bit())
    }
}
