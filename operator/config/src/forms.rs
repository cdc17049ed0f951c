//! Every block of the language with the form that it is read by, for the manual of the language.
//!
//! A decoder takes nothing that its [`Shape`] does not name, so what stands here is all that is read.

use ashlar_eval::{CONDITION, Shape, VARIABLE};
use ashlar_value::schema::Block;

use crate::{
    action_block, call_block, check, check_block, lifecycle, load, output_block, provider_block,
    provisioner_block, refactor_block, resource_block, terraform_block,
};

/// What a block holds, and the file that reads it.
pub struct Form {
    /// The block, with those around it: `resource.lifecycle`. The empty name is a file's.
    pub block: &'static str,
    /// The file, seen from the folder of crates.
    pub file: &'static str,
    /// The form.
    pub shape: Shape,
}

const fn form(block: &'static str, file: &'static str, shape: Shape) -> Form {
    Form { block, file, shape }
}

/// All whose form is fixed by the language.
pub const FORMS: &[Form] = &[
    form("", "config/src/load.rs", load::FILE),
    form(
        "terraform",
        "config/src/terraform_block.rs",
        terraform_block::SHAPE,
    ),
    form(
        "terraform.backend \"local\"",
        "config/src/terraform_block.rs",
        terraform_block::LOCAL_BACKEND,
    ),
    form("provider", "config/src/provider_block.rs", provider_block::SHAPE),
    form("variable", "eval/src/variable.rs", VARIABLE),
    form("variable.validation", "eval/src/check_rule.rs", CONDITION),
    form("output", "config/src/output_block.rs", output_block::OUTPUT),
    form("output.precondition", "eval/src/check_rule.rs", CONDITION),
    form("module", "config/src/call_block.rs", call_block::SHAPE),
    form(
        "resource",
        "config/src/resource_block.rs",
        resource_block::RESOURCE,
    ),
    form("data", "config/src/resource_block.rs", resource_block::DATA),
    form("ephemeral", "config/src/resource_block.rs", resource_block::DATA),
    form("resource.lifecycle", "config/src/lifecycle.rs", lifecycle::SHAPE),
    form(
        "resource.lifecycle.precondition",
        "eval/src/check_rule.rs",
        CONDITION,
    ),
    form(
        "resource.lifecycle.postcondition",
        "eval/src/check_rule.rs",
        CONDITION,
    ),
    form(
        "resource.lifecycle.action_trigger",
        "config/src/action_block.rs",
        action_block::TRIGGER,
    ),
    form(
        "resource.provisioner",
        "config/src/provisioner_block.rs",
        provisioner_block::SHAPE,
    ),
    form("action", "config/src/action_block.rs", action_block::SHAPE),
    form("check", "config/src/check_block.rs", check_block::SHAPE),
    form("check.assert", "eval/src/check_rule.rs", CONDITION),
    form("moved", "config/src/refactor_block.rs", refactor_block::MOVED),
    form("removed", "config/src/refactor_block.rs", refactor_block::REMOVED),
    form(
        "removed.lifecycle",
        "config/src/refactor_block.rs",
        refactor_block::REMOVED_LIFECYCLE,
    ),
    form("import", "config/src/refactor_block.rs", refactor_block::IMPORT),
];

/// What the provisioners that are built in take, and what a `connection` block does.
pub fn provisioner_forms() -> [(&'static str, &'static Block); 4] {
    check::provisioner_forms()
}
