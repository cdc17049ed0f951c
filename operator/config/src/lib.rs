//! Syntax trees to the typed module, checked early.
//!
//! Stands between `syntax`/`eval` and the engine. It evaluates only constants and, to find faults before anything is
//! planned, expressions over unknown values; what the engine cannot run yet is refused here at its line, never ignored.
//! It never reads files and never asks a provider.

mod check;
mod inputs;
mod lifecycle;
mod load;
mod model;
mod output_block;
mod provider_block;
mod provider_name;
mod provider_use;
mod reference;
mod resource_block;
mod static_expr;
mod terraform_block;

pub use check::check_schemas;
pub use inputs::{
    Absent, Input, InputValue, Origin, later_validations, parse_values_file, resolve_variables,
};
pub use load::load;
pub use model::{
    DependsOn, IgnoreChanges, Lifecycle, Local, Module, Output, ProviderBlock, RequiredProvider,
    ResourceConfig,
};
pub use reference::{check_reference, self_references};

use ashlar_diag::{Diag, Span};

/// Why a name is none; ends the sentence that names it.
const BAD_NAME: &str =
    "A name begins with a letter or underscore and goes on with letters, digits, underscores, dashes.";

/// The fault of something the language has and the engine does not run.
fn not_yet(what: &str, span: Span) -> Diag {
    let detail = format!(
        "Ashlar does not run {what} yet. Remove it, or keep this configuration with Terraform for now."
    );
    Diag::error("Not supported yet", detail).at(span)
}
