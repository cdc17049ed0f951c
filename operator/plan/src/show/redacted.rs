//! The changes without any value: for statuses, events and logs.
//!
//! An allow-list: what is not named here cannot get out. Keys of maps are values too, so paths stop at attributes.

use std::collections::BTreeSet;

use super::{is_of_interest, schema_of};
use crate::{Action, Change, Mode, Plan, Reason, Schemas, text::changed_attributes};

/// One change, fit for all eyes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RedactedChange {
    /// The instance, with the deposed key if a deposed object is meant.
    pub address: String,
    /// What happens to it.
    pub action: Action,
    /// Why.
    pub reason: Option<Reason>,
    /// Where it was before it moved.
    pub moved_from: Option<String>,
    /// Is an object taken in that was not managed before?
    pub imports: bool,
    /// Of an update or a replacement the attributes that change: names from the schema joined by dots, without indexes
    /// and keys; sorted. Empty for other actions and where the schema is missing.
    pub paths: Vec<String>,
}

/// All changes that people are shown, in the plan's order. Of a refresh-only plan those that were made outside.
pub fn redacted_changes(plan: &Plan, schemas: &Schemas) -> Vec<RedactedChange> {
    let changes = match plan.options.mode {
        Mode::RefreshOnly => &plan.drift,
        Mode::Normal | Mode::Destroy => &plan.changes,
    };
    let changes = changes.iter().filter(|change| is_of_interest(change));
    changes.map(|change| redact(change, schemas)).collect()
}

fn redact(change: &Change, schemas: &Schemas) -> RedactedChange {
    let differs = change.action == Action::Update || change.action.is_replace();
    let schema = schema_of(change, schemas).filter(|_| differs);
    let paths: BTreeSet<String> = schema
        .map(|schema| changed_attributes(change, schema))
        .unwrap_or_default();
    RedactedChange {
        address: match change.deposed {
            Some(key) => format!("{} (deposed {key})", change.address),
            None => change.address.to_string(),
        },
        action: change.action,
        reason: change.reason,
        moved_from: change.previous_address.as_ref().map(ToString::to_string),
        imports: change.importing.is_some(),
        paths: paths.into_iter().collect(),
    }
}
