//! Syntax trees to the typed module, checked early.
//!
//! Stands between `syntax`/`eval` and the engine. It evaluates only constants and, to find faults before anything is
//! planned, expressions over unknown values; what the engine cannot run yet is told by [`limits`], at its line.
//! It never reads files and never asks a provider.

mod action_block;
mod address;
mod call_block;
mod check;
mod check_block;
mod early;
mod early_caps;
#[cfg(test)]
mod fixture;
mod forms;
mod inputs;
mod inputs_again;
mod lifecycle;
mod limits;
mod load;
mod model;
mod opentofu;
mod output_block;
mod overrides;
mod passing;
mod provider_block;
mod provider_name;
mod provisioner_block;
mod provisioner_form;
mod refactor_block;
mod reference;
mod resource_block;
pub mod source;
mod static_expr;
mod terraform_block;
mod tree;

pub use address::{Calls, import_address};
pub use ashlar_eval::Shape;
pub use check::{About, Ask, Question, ask_nobody, check_schemas, ephemeral_faults};
pub use forms::{FORMS, Form};
pub use inputs::{Absent, Input, InputValue, Origin, Resolved, parse_values_file, resolve_variables};
pub use inputs_again::{to_be_given_again, variables_at_apply};
pub use limits::limits;
pub use load::{Files, is_config, read_root};
pub use model::{
    ActionConfig, ActionTrigger, Check, DependsOn, Endpoint, IgnoreChanges, Import, Lifecycle, Local,
    LocalBackend, Module, ModuleCall, Moved, Output, PassedProvider, ProviderBlock, ProviderMeta,
    ProviderRef, Provisioner, Removed, RequiredProvider, ResourceConfig, TriggerEvent,
};
pub use provisioner_form::{connection_schema, provisioner_forms, provisioner_schema};
pub use reference::{check_reference, self_references, self_repetitions};
pub use tree::{FoundModule, Library, Member, ModuleRequest, Tree, load};

/// Why a name is none; ends the sentence that names it.
const BAD_NAME: &str =
    "A name begins with a letter or underscore and goes on with letters, digits, underscores, dashes.";
