//! What a run starts from: the saved state, and what the journal of a run that broke off adds to it.

use ashlar_diag::{Diag, Diags};
use ashlar_port::{Intent, Record, Subject};
use ashlar_state::{Journal, State, doubts, replay};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::lock_info::TERRAFORM_VERSION;

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
    /// Does the journal add something that is not saved yet? Never so once a store was opened: that saves it.
    pub changed: bool,
    /// Changes that were begun and of which nobody knows whether they were made. Whoever finds out (by refresh, import
    /// or asking) journals an outcome; until then each run gets them again.
    pub uncertain: Vec<Intent>,
    /// The digest of the last plan whose apply began: its approval is spent.
    pub begun: Option<String>,
    /// The workspace that this apply was of. While that exists, the state is no one else's.
    pub owner: Option<StateOwner>,
    /// What a person should know of how it was found.
    pub warnings: Diags,
}

/// A state as whoever looks from outside gets it.
pub struct Pulled {
    /// What was found.
    pub recovered: Recovered,
    /// The state file that says so; `None` if there is no state.
    pub bytes: Option<Vec<u8>>,
}

impl Pulled {
    /// Of what is stored and what the journal adds to it.
    pub(crate) fn new(mut recovered: Recovered, stored: Option<Vec<u8>>) -> Result<Self, Diags> {
        let bytes = recovered.unsaved()?.or(stored);
        Ok(Self { recovered, bytes })
    }
}

/// A saved state, as it says of itself.
pub(crate) struct Saved {
    /// Its digest.
    pub(crate) state: String,
    /// The number of the last journal record that it contains.
    pub(crate) covered: u64,
}

/// The name of a stored state, by which the journal knows it.
pub(crate) fn digest(bytes: &[u8]) -> String {
    hex::encode(Sha256::digest(bytes))
}

/// Puts both together. `bytes` is the stored state; `noted` stands beside it, and whoever else wrote the state may have
/// left it there.
pub(crate) fn recover(
    bytes: Option<&[u8]>,
    journal: &Journal,
    noted: Option<&Saved>,
) -> Result<Recovered, Diags> {
    let saved = match bytes {
        Some(bytes) if !bytes.is_empty() => ashlar_state::read(bytes)?,
        _ => State::default(),
    };
    let digest = digest(bytes.unwrap_or_default());
    let covered = journal.covered_by(&digest).or_else(|| {
        let noted = noted.filter(|noted| noted.state == digest)?;
        Some(noted.covered)
    });
    match covered {
        Some(covered) => replayed(saved, &journal.since(covered)),
        None => {
            let known = noted.map_or(0, |noted| noted.covered);
            overtaken(saved, &journal.since(known.max(journal.covered())))
        }
    }
}

/// Someone else wrote the state after the run that broke off had. What that run did beyond what it saved cannot be put
/// on top: it may be known, undone or made again.
fn overtaken(saved: State, records: &[Record]) -> Result<Recovered, Diags> {
    let uncertain = doubts(&saved, records)?;
    let mut warnings = Diags::new();
    if !uncertain.is_empty() {
        warnings.push(Diag::warning(
            "State written by someone else",
            format!(
                "An earlier run ended before it could save the state, and someone else has written the state since. \
                 Whether what that run did still holds is not known, so it is not put into the state: {}. A refresh \
                 settles those that have an object in the state; look for the others by hand.",
                list(&uncertain)
            ),
        ));
    }
    Ok(Recovered {
        state: saved,
        uncertain,
        warnings,
        ..Recovered::default()
    })
}

/// Changes as a list for people.
pub(crate) fn list(intents: &[Intent]) -> String {
    let list: Vec<String> = intents
        .iter()
        .map(|Intent { subject, action }| match subject {
            Subject::Object(address, Some(key)) => format!("{address} (deposed {key}, {action})"),
            Subject::Object(address, None) => format!("{address} ({action})"),
            Subject::Action(invoked) => invoked.to_string(),
        })
        .collect();
    list.join(", ")
}

fn replayed(saved: State, records: &[Record]) -> Result<Recovered, Diags> {
    let (state, uncertain) = replay(saved.clone(), records)?;
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
        warnings.push(Diag::warning(
            "Changes with unknown outcome",
            format!(
                "An earlier run ended while these changes were being made, so whether they took place is not known: \
                 {}. A refresh settles those that have an object in the state; look for the others by hand, also for what \
                 an action has done: it is not invoked again by itself.",
                list(&uncertain)
            ),
        ));
    }
    Ok(Recovered {
        state,
        changed,
        uncertain,
        warnings,
        ..Recovered::default()
    })
}

impl Recovered {
    /// What is to be stored at once, if the journal added something: until then only Ashlar knows of it.
    pub(crate) fn unsaved(&mut self) -> Result<Option<Vec<u8>>, Diags> {
        if !std::mem::take(&mut self.changed) {
            return Ok(None);
        }
        if self.state.lineage.is_empty() {
            // The run broke off before it saved for the first time, and took the lineage of its plan with it.
            self.state.lineage = uuid::Uuid::new_v4().to_string();
        }
        self.state.serial += 1;
        ashlar_state::write(&self.state, TERRAFORM_VERSION).map(Some)
    }
}
