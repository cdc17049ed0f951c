//! Every block of the language with the form that it is read by, for the manual of the language.
//!
//! A decoder takes nothing that its [`Shape`] does not name, so what stands here is all that is read.

use ashlar_eval::{CONDITION, Shape, VARIABLE};

use crate::{
    action_block, call_block, check_block, lifecycle, load, opentofu, output_block, provider_block,
    provisioner_block, refactor_block, resource_block, terraform_block,
};

/// What a block holds, and the file that reads it.
pub struct Form {
    /// The block, with those around it: `resource.lifecycle`. The empty name is a file's.
    pub block: &'static str,
    /// The file, seen from the folder of crates.
    pub file: &'static str,
    /// The form in Terraform's dialect.
    pub shape: Shape,
    /// The form in OpenTofu's.
    pub opentofu: Shape,
}

/// Of what the other dialect does not have.
const NONE: Shape = Shape {
    required: &[],
    optional: &[],
    blocks: &[],
};

const fn form(block: &'static str, file: &'static str, shape: Shape) -> Form {
    forms(block, file, shape, shape)
}

const fn forms(block: &'static str, file: &'static str, shape: Shape, opentofu: Shape) -> Form {
    Form {
        block,
        file,
        shape,
        opentofu,
    }
}

/// All whose form is fixed by the language.
pub const FORMS: &[Form] = &[
    forms("", "config/src/load.rs", load::FILE, load::OPENTOFU),
    forms(
        "terraform",
        "config/src/terraform_block.rs",
        terraform_block::SHAPE,
        terraform_block::OPENTOFU,
    ),
    forms(
        "terraform.encryption",
        "config/src/opentofu.rs",
        NONE,
        opentofu::ENCRYPTION,
    ),
    form(
        "terraform.backend \"local\"",
        "config/src/terraform_block.rs",
        terraform_block::LOCAL_BACKEND,
    ),
    form("provider", "config/src/provider_block.rs", provider_block::SHAPE),
    form("variable", "eval/src/variable.rs", VARIABLE),
    form("variable.validation", "eval/src/check_rule.rs", CONDITION),
    forms(
        "output",
        "config/src/output_block.rs",
        output_block::OUTPUT,
        output_block::OPENTOFU,
    ),
    form("output.precondition", "eval/src/check_rule.rs", CONDITION),
    forms(
        "module",
        "config/src/call_block.rs",
        call_block::SHAPE,
        call_block::OPENTOFU,
    ),
    forms(
        "module.lifecycle",
        "config/src/call_block.rs",
        NONE,
        call_block::LIFECYCLE,
    ),
    form(
        "resource",
        "config/src/resource_block.rs",
        resource_block::RESOURCE,
    ),
    form("data", "config/src/resource_block.rs", resource_block::DATA),
    form("ephemeral", "config/src/resource_block.rs", resource_block::DATA),
    forms(
        "resource.lifecycle",
        "config/src/lifecycle.rs",
        lifecycle::SHAPE,
        lifecycle::OPENTOFU,
    ),
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
    forms(
        "resource.lifecycle.action_trigger",
        "config/src/action_block.rs",
        action_block::TRIGGER,
        NONE,
    ),
    form(
        "resource.provisioner",
        "config/src/provisioner_block.rs",
        provisioner_block::SHAPE,
    ),
    forms("action", "config/src/action_block.rs", action_block::SHAPE, NONE),
    form("check", "config/src/check_block.rs", check_block::SHAPE),
    form("check.assert", "eval/src/check_rule.rs", CONDITION),
    form("moved", "config/src/refactor_block.rs", refactor_block::MOVED),
    forms(
        "removed",
        "config/src/refactor_block.rs",
        refactor_block::REMOVED,
        refactor_block::REMOVED_OPENTOFU,
    ),
    form(
        "removed.lifecycle",
        "config/src/refactor_block.rs",
        refactor_block::REMOVED_LIFECYCLE,
    ),
    form("import", "config/src/refactor_block.rs", refactor_block::IMPORT),
    forms("language", "config/src/opentofu.rs", NONE, opentofu::LANGUAGE),
    forms(
        "language.compatible_with",
        "config/src/opentofu.rs",
        NONE,
        opentofu::COMPATIBLE_WITH,
    ),
];
