//! The plan and the state as data for programs.
//!
//! Two kinds of form, never to be mixed up. [`plan_json`] and [`state_json`] are what `terraform show -json` gives:
//! **they hold every secret in clear** beside trees that tell what is sensitive, so they are only for the person who asks
//! for them, never for a status, an event or a log. [`redacted_changes`] and [`summary`] hold addresses, actions and
//! attribute names alone, and may go anywhere the plan's existence may be known.
//! Source of the formats: Terraform `internal/command/jsonplan`, `jsonstate`, `jsonchecks`.

mod change;
mod checks;
mod configuration;
mod counts;
mod invocations;
mod modules;
mod plan;
mod redacted;
mod relevant;
mod state;
mod tree;

use ashlar_addr::{Mode as ResourceMode, Provider, Resource};
use ashlar_value::schema::Schema;

use crate::{Action, Change, Reason, Schemas};

pub use checks::declaration;
pub use counts::{Counts, summary};
pub(crate) use invocations::action_schema_of;
pub use plan::{plan_json, whole_plan_json};
pub use redacted::{RedactedChange, redacted_changes};
pub use state::state_json;

/// The version that Ashlar presents itself as.
const TERRAFORM_VERSION: &str = "1.15.5";

/// Is it something that people are shown? Not what stays, unless it moved, and not that a data source is forgotten,
/// or read for a check.
pub fn is_of_interest(change: &Change) -> bool {
    match change.action {
        Action::NoOp => change.is_effective(),
        Action::Delete => !is_forgotten_data(change),
        Action::Read => change.reason != Some(Reason::ReadBecauseCheckNested),
        _ => true,
    }
}

/// Data sources leave the state by a deletion, which is nobody's business.
fn is_forgotten_data(change: &Change) -> bool {
    change.action == Action::Delete && change.address.resource.resource.mode != ResourceMode::Managed
}

/// The schema of the object that changes.
pub(crate) fn schema_of<'s>(change: &Change, schemas: &'s Schemas) -> Option<&'s Schema> {
    find_schema(
        &change.provider.provider,
        &change.address.resource.resource,
        schemas,
    )
}

pub(crate) fn find_schema<'s>(
    provider: &Provider,
    resource: &Resource,
    schemas: &'s Schemas,
) -> Option<&'s Schema> {
    let schemas = schemas.get(provider)?;
    match resource.mode {
        ResourceMode::Managed => schemas.resources.get(&resource.kind),
        ResourceMode::Data => schemas.data_sources.get(&resource.kind),
        ResourceMode::Ephemeral => schemas.ephemeral_resources.get(&resource.kind),
    }
}

#[cfg(test)]
mod tests;
