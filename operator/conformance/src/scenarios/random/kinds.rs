//! The resource types that configurations are made of: a table of what their arguments take and what can be read of them.

/// What an expression is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Ty {
    Text,
    Number,
    Bool,
    List,
    Map,
    Any,
    /// A condition that mostly holds.
    Condition,
    /// The message of a condition.
    Message,
    /// `origin` of a pot.
    Origin,
    /// `label` of a shelf, and so on.
    Label,
    Slots,
    Hooks,
    Drawers,
    /// Of the second protocol's racks: an attribute as blocks.
    AsBlocks,
    /// An object of variables with optional attributes.
    Plan,
    /// The words that make a cracked thing fail.
    Fails,
    /// A text that we and Terraform each make up: what is made of it would differ, so that only a trigger refers to it.
    MadeUp,
    /// Written once; dropped when what it refers to goes.
    Fixed,
}

/// How an argument may be written and read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Use {
    /// It may be set.
    Optional,
    /// It may be set, and the provider gives it a value if it is not.
    Filled,
    /// It must be set.
    Required,
    /// It may be set, and seldom is.
    Rare,
    /// It can only be read.
    Computed,
}

/// An attribute of a type.
#[derive(Clone, Copy, Debug)]
pub(super) struct Attribute {
    pub(super) name: &'static str,
    pub(super) ty: Ty,
    pub(super) using: Use,
    pub(super) sensitive: bool,
}

/// A type of resource or data source.
#[derive(Debug)]
pub(super) struct Kind {
    pub(super) name: &'static str,
    /// The local name of its provider.
    pub(super) provider: &'static str,
    pub(super) data: bool,
    /// Its objects have names and can be changed, made and imported behind the provider's back.
    pub(super) in_world: bool,
    pub(super) attributes: &'static [Attribute],
    /// The nested blocks that it takes.
    pub(super) racks: bool,
    /// How often it is chosen.
    pub(super) weight: usize,
}

const fn is(name: &'static str, ty: Ty, using: Use) -> Attribute {
    Attribute {
        name,
        ty,
        using,
        sensitive: false,
    }
}

const fn secret(name: &'static str, using: Use) -> Attribute {
    Attribute {
        name,
        ty: Ty::Text,
        using,
        sensitive: true,
    }
}

use Ty::{Any, AsBlocks, Bool, Drawers, Fails, Hooks, Label, List, MadeUp, Map, Number, Origin, Slots, Text};
use Use::{Computed, Filled, Optional, Rare, Required};

const ID: Attribute = is("id", Text, Computed);

/// All types there are.
pub(super) const KINDS: &[Kind] = &[
    Kind {
        name: "kiln_pot",
        provider: "kiln",
        data: false,
        in_world: true,
        attributes: &[
            ID,
            is("region", Text, Computed),
            is("revision", Number, Computed),
            is("glaze", Text, Optional),
            is("clay", Text, Optional),
            is("firing_temp", Number, Optional),
            is("size", Number, Filled),
            is("color", Text, Filled),
            is("finish", Text, Filled),
            is("fired", Bool, Optional),
            is("mass", Number, Optional),
            is("tags", Map, Optional),
            is("parts", List, Optional),
            is("marks", List, Optional),
            is("origin", Origin, Optional),
            secret("secret", Optional),
            secret("token", Computed),
            is("old_name", Text, Rare),
        ],
        racks: false,
        weight: 30,
    },
    Kind {
        name: "kiln_shelf",
        provider: "kiln",
        data: false,
        in_world: true,
        attributes: &[
            ID,
            is("revision", Number, Computed),
            is("label", Label, Optional),
            is("slots", Slots, Optional),
            is("hooks", Hooks, Optional),
            is("drawers", Drawers, Optional),
            is("anything", Any, Optional),
            is("stamp.maker", Text, Computed),
            is("stamp.batch", Number, Computed),
        ],
        racks: false,
        weight: 12,
    },
    Kind {
        name: "kiln_rack",
        provider: "kiln",
        data: false,
        in_world: true,
        attributes: &[ID, is("note", Text, Optional)],
        racks: true,
        weight: 10,
    },
    Kind {
        name: "kiln_glaze",
        provider: "kiln",
        data: false,
        in_world: true,
        attributes: &[
            ID,
            is("recipe", Text, Required),
            is("checksum", Text, Computed),
            is("batch", Text, Computed),
            is("series", Text, Optional),
            is("writes", Text, Computed),
            is("protect", Bool, Rare),
            is("warn", Text, Rare),
        ],
        racks: false,
        weight: 8,
    },
    Kind {
        name: "kiln_brick",
        provider: "kiln",
        data: false,
        in_world: true,
        attributes: &[ID, is("site", Text, Filled), is("note", Text, Optional)],
        racks: false,
        weight: 6,
    },
    Kind {
        name: "kiln_jar",
        provider: "kiln",
        data: false,
        in_world: true,
        attributes: &[ID, is("volume", Number, Optional)],
        racks: false,
        weight: 5,
    },
    Kind {
        name: "kiln_urn",
        provider: "kiln",
        data: false,
        in_world: true,
        attributes: &[ID, is("volume", Number, Optional), is("lid", Text, Optional)],
        racks: false,
        weight: 3,
    },
    Kind {
        name: "kiln_cracked",
        provider: "kiln",
        data: false,
        in_world: true,
        attributes: &[
            ID,
            is("note", Text, Optional),
            is("out", Text, Computed),
            is("fail", Fails, Rare),
        ],
        racks: false,
        weight: 5,
    },
    Kind {
        name: "kilnv5_pot",
        provider: "kilnv5",
        data: false,
        in_world: true,
        attributes: &[
            ID,
            is("region", Text, Computed),
            is("revision", Number, Computed),
            is("glaze", Text, Optional),
            is("clay", Text, Optional),
            is("size", Number, Filled),
            is("color", Text, Filled),
            is("fired", Bool, Optional),
            is("weight", Number, Optional),
            is("slug", Text, Optional),
            is("image", Text, Optional),
            is("tags", Map, Optional),
            is("parts", List, Optional),
            is("marks", List, Optional),
            secret("secret", Optional),
            is("fingerprint", Text, Computed),
        ],
        racks: false,
        weight: 14,
    },
    Kind {
        name: "kilnv5_rack",
        provider: "kilnv5",
        data: false,
        in_world: true,
        attributes: &[ID, is("note", Text, Optional), is("slot", AsBlocks, Optional)],
        racks: true,
        weight: 6,
    },
    Kind {
        name: "kilnv5_brick",
        provider: "kilnv5",
        data: false,
        in_world: true,
        attributes: &[ID, is("site", Text, Optional), is("note", Text, Optional)],
        racks: false,
        weight: 3,
    },
    Kind {
        name: "terraform_data",
        provider: "terraform",
        data: false,
        in_world: false,
        attributes: &[
            is("id", MadeUp, Computed),
            is("input", Any, Optional),
            is("triggers_replace", Any, Optional),
            is("output", Any, Computed),
        ],
        racks: false,
        weight: 9,
    },
    Kind {
        name: "kiln_echo",
        provider: "kiln",
        data: true,
        in_world: false,
        attributes: &[
            is("input", Text, Required),
            is("output", Text, Computed),
            is("region", Text, Computed),
            is("payload", Any, Optional),
        ],
        racks: false,
        weight: 12,
    },
];

/// The type of this name.
pub(super) fn kind(name: &str, data: bool) -> Option<&'static Kind> {
    KINDS.iter().find(|kind| kind.name == name && kind.data == data)
}
