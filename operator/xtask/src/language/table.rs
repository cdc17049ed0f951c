//! What the manual of the language says of each block beside its form: where its parts are checked and run.

mod module;
mod object;

/// A block.
pub(super) struct Chapter {
    /// With the blocks around it, as `ashlar_config::FORMS` names it.
    pub(super) block: &'static str,
    /// Its schema in `tests/oracle/blocks`, if there is one.
    pub(super) schema: &'static str,
    /// What it is.
    pub(super) about: &'static str,
    /// Files that read it. Empty: nothing does.
    pub(super) read: &'static str,
    /// A configuration that has it, and nothing else that may be refused.
    pub(super) example: &'static str,
    /// Its arguments and nested blocks. `*` stands for any.
    pub(super) rows: &'static [Row],
}

/// An argument or nested block.
pub(super) struct Row {
    pub(super) name: &'static str,
    /// Files that check it beyond its form. Empty: whoever reads it does.
    pub(super) checked: &'static str,
    /// Files that act by it. Empty: nothing does, and the note says why.
    pub(super) run: &'static str,
    pub(super) note: &'static str,
}

const fn row(name: &'static str, checked: &'static str, run: &'static str, note: &'static str) -> Row {
    Row {
        name,
        checked,
        run,
        note,
    }
}

/// Kept by the language for later: always an error.
const fn reserved(name: &'static str) -> Row {
    row(name, "", "", "Reserved: refused wherever it is written.")
}

const CONDITION: &str = "plan/src/instance/conditions.rs";
const NODE: &str = "plan/src/node.rs";
const EXPAND: &str = "plan/src/expand.rs";
const ACTION: &str = "config/src/check/action.rs";
const ACTIONS: &str = "plan/src/actions/mod.rs";
const TRIGGER: &str = "plan/src/actions/trigger.rs";
const REPEAT: &str = "config/src/check/repeat.rs";
const SCOPE: &str = "config/src/check/scope.rs";
const RESOURCE: &str = "config/src/check/resource.rs";
const PASSING: &str = "config/src/passing.rs";
const ENGINE: &str = "plan/src/engine.rs";
const TREE: &str = "config/src/tree.rs";
const PROVISIONER: &str = "config/src/check/provisioner.rs";
const PROVISION: &str = "apply/src/provision.rs";

const RULES: &[Row] = &[
    row(
        "condition",
        "eval/src/check_rule.rs",
        CONDITION,
        "Must refer to something.",
    ),
    row("error_message", "eval/src/check_rule.rs", CONDITION, ""),
];

const FOR_PEOPLE: &str = "For people: read, and otherwise not used.";

/// All blocks, in the order of the manual.
pub(super) fn chapters() -> impl Iterator<Item = &'static Chapter> {
    module::CHAPTERS.iter().chain(object::CHAPTERS)
}
