//! Configuration, state and provider answers to an immutable plan.
//!
//! `plan` builds the graph of the configuration and the state, walks it (expanding count and for_each on the way, asking
//! providers side by side), and turns the changes found into the table of steps that `apply` interprets. Everything that
//! could be chosen is chosen here. It changes nothing outside and stores nothing.

pub mod actions;
pub mod asserts;
pub mod digest;
mod engine;
mod ephemeral;
mod expand;
mod found_out;
mod function_results;
mod generate;
mod imports;
pub mod instance;
mod look;
mod make;
mod model;
mod moves;
mod needs;
pub mod node;
pub mod objchange;
mod order;
pub mod outputs;
pub mod parts;
mod pending;
mod prevent;
pub mod provider_diags;
mod provider_key;
mod removal_run;
mod removed;
mod selection;
pub mod show;
mod static_traversal;
mod steps;
mod stored_value;
pub mod text;
mod triggers;
mod values;
mod walk;
mod watch;
mod way;
pub mod wire;

pub use engine::{Engine, Schemas, lock, unmarked};
pub use expand::{expand, expand_resource};
pub use function_results::FunctionResults;
pub use generate::generated_file;
pub use look::look;
pub use make::{Inputs, Planned, fetch_schemas, fetch_schemas_of, in_source_order, plan};
pub use model::{
    Action, Change, Check, CheckStatus, Importing, Invocation, Mode, Options, OutputChange, PackagePin, Plan,
    ProviderPin, Reason, Summary, Trigger,
};
pub use order::Order;
pub use selection::Selection;
pub use steps::{Line, Op, Step, StepId};
pub use stored_value::{known_part, stored_value, value_beside};
pub use values::{
    Expansion, FinalValues, InstanceScope, Instances, ModuleValues, Repetition, Values, combine,
};
pub use watch::{Watch, identity_text, known_by};
