//! Interprets a plan step by step: provider calls out, new state and journal in.
//!
//! It makes no choices: what happens and in which order stands in the plan. Each instance is planned once more with
//! now-known values, and a difference from what was approved is an error. Before a provider changes something the intent
//! is durable, after it the outcome; a run that is killed at any point loses nothing.

mod answer;
mod checks;
mod delete;
#[cfg(test)]
mod fake;
mod invoke;
mod keeper;
mod ledger;
mod provision;
mod run;
mod settle;
mod write;

pub use checks::check_results;
pub use keeper::Kept;
pub use run::{Applied, Counts, Inputs, Patience, apply};
