//! What a run starts from: the saved state, and what the journal of a run that broke off adds to it.

use ashlar_diag::{Diag, Diags};
use ashlar_port::Intent;
use ashlar_state::{Journal, State, replay};
use serde::{Deserialize, Serialize};

/// A workspace, as the state that it applied to names it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StateOwner {
    /// The object's name.
    pub name: String,
    /// Its uid: one of the same name that was made anew is another.
    pub uid: String,
}

/// The state as far as anyone can know it.
#[derive(Clone, Debug, Default)]
pub struct Recovered {
    /// The saved state and all outcomes since. Its serial is that of the saved state.
    pub state: State,
    /// Changes that were begun and of which nobody knows whether they were made. Whoever finds out (by refresh, import
    /// or asking) journals an outcome; until then each run gets them again.
    pub uncertain: Vec<Intent>,
    /// Does the journal add something, so that the state should be saved even if nothing else changes?
    pub changed: bool,
    /// The digest of the last plan whose apply began: its approval is spent.
    pub begun: Option<String>,
    /// The workspace that this apply was of. While that exists, the state is no one else's.
    pub owner: Option<StateOwner>,
    /// What a person should know of how it was found.
    pub warnings: Diags,
}

/// Puts both together. `bytes` is the saved state, `covered` the number of the last journal record that it contains.
pub(crate) fn recover(bytes: Option<&[u8]>, journal: &Journal, covered: u64) -> Result<Recovered, Diags> {
    let saved = match bytes {
        Some(bytes) if !bytes.is_empty() => ashlar_state::read(bytes)?,
        _ => State::default(),
    };
    let records = journal.since(covered);
    if records.is_empty() {
        return Ok(Recovered {
            state: saved,
            ..Recovered::default()
        });
    }
    let (state, uncertain) = replay(saved.clone(), &records)?;
    let mut warnings = Diags::new();
    let changed = !ashlar_state::same_content(&saved, &state);
    if changed {
        warnings.push(Diag::warning(
            "State recovered from the journal",
            "An earlier run ended before it could save the state. What it had done was found in its journal and is \
             part of the state now.",
        ));
    }
    if !uncertain.is_empty() {
        let list: Vec<String> = uncertain
            .iter()
            .map(|intent| format!("{} ({})", intent.address, intent.action))
            .collect();
        warnings.push(Diag::warning(
            "Changes with unknown outcome",
            format!(
                "An earlier run ended while these changes were being made, so whether they took place is not known: \
                 {}. A refresh settles those that have an object in the state; look for the others by hand.",
                list.join(", ")
            ),
        ));
    }
    Ok(Recovered {
        state,
        uncertain,
        changed,
        begun: None,
        owner: None,
        warnings,
    })
}
