//! The operator: for each `Workspace` observe, decide, act, publish; a file each.
//!
//! `observe` reads, [`decide`] is a pure function of what was read, `act` does the one thing decided or starts the run that
//! does it, and the status is written if it differs. Runs go on beside passes and are looked at by them; what a run brings
//! comes into the status through [`absorb`]. The engine is reached through `ashlar-runner` alone, sources through
//! `ashlar-sources`, state and plans through `ashlar-store`. No value of a variable, output or environment leaves through a condition, an event or a log.

mod absorb;
mod act;
mod apply_run;
mod args;
mod beside;
mod conditions;
mod context;
mod decide;
mod early_files;
mod ended;
mod fetch_run;
mod fetchable;
mod flux;
mod folders;
mod index;
mod inputs;
mod installing;
mod job;
mod kept;
mod message;
mod metrics;
mod observe;
mod operator;
mod outputs;
mod package;
mod pass;
mod plan_run;
mod polls;
mod registry;
mod release;
mod seal;
mod source;
mod valued;
mod values;

pub use args::{LogFormat, OperatorArgs};
pub use operator::run;
