//! The journal: what happened to objects since the state was last saved.
//!
//! A journal is lines of JSON, each with its number and a checksum. The last line may be torn by a crash and is then
//! dropped; damage before it is an error, for what follows would be guesswork. It goes on from one state, which its first
//! line names by digest: over any other state nothing is replayed. Saving the state covers records: they may go, except
//! intents that nothing settled, which are carried on. Whoever later finds out what came of one writes an outcome, as the
//! run itself would have. The stores keep the bytes; here they get meaning.

use std::collections::{BTreeMap, BTreeSet};

use ashlar_addr::{DeposedKey, ResourceInstance};
use ashlar_diag::{Diag, Diags};
use ashlar_port::{Intent, Outcome, Record, Subject};

use self::line::Entry;
use crate::{
    State,
    resource::{outcome_object, read_outcome_object},
};

mod line;

const DAMAGED: &str = "Damaged journal";

/// The state after these records, and the intents of which nobody knows what came, in order.
pub fn replay(mut state: State, records: &[Record]) -> Result<(State, Vec<Intent>), Diags> {
    for record in records {
        match record {
            Record::Intent(_) => {}
            Record::Outcome(Outcome { subject, object }) => {
                let Subject::Object(address, deposed) = subject else {
                    continue;
                };
                if let Some(json) = object {
                    put(&mut state, address, *deposed, json)?;
                } else if let Some(held) = state.resources.get(&address.resource) {
                    let provider = held.provider.clone();
                    state.set(address, *deposed, &provider, None);
                }
            }
            Record::Moved(moved) => {
                // As it was at that time: what a refresh found may not be in the saved state.
                put(&mut state, &moved.address, moved.from, &moved.object)?;
                state.relocate(&moved.address, moved.from, moved.to);
            }
        }
    }
    Ok((state, pending(records)))
}

/// Sets the object that a record holds.
fn put(
    state: &mut State,
    address: &ResourceInstance,
    deposed: Option<DeposedKey>,
    json: &[u8],
) -> Result<(), Diags> {
    let (found, key, provider, object) = read_outcome_object(json)?;
    if (&found, key) != (address, deposed) {
        return Err(damaged("a line holds another object than it says").into());
    }
    state.set(address, deposed, &provider, Some(object.into()));
    Ok(())
}

/// The outcome that settles a change as this state has it: the object is as it stands there, or is gone. Of an action no
/// state tells, so it is only settled.
pub fn settled_as(state: &State, subject: &Subject) -> Result<Outcome, Diags> {
    let object = match subject {
        Subject::Action(_) => None,
        Subject::Object(address, deposed) => {
            let resource = state.resources.get(&address.resource);
            let found = resource.zip(state.object(address, *deposed));
            let written = found.map(|(resource, object)| {
                outcome_object(address, *deposed, &resource.provider_of(&address.key), object)
            });
            written.transpose()?
        }
    };
    Ok(Outcome {
        subject: subject.clone(),
        object,
    })
}

/// The changes among these records that a state does not show, where nobody knows how it came about: each of them may
/// have been made, undone or made again since.
pub fn doubts(state: &State, records: &[Record]) -> Result<Vec<Intent>, Diags> {
    let (replayed, open) = replay(state.clone(), records)?;
    let mut met = BTreeSet::new();
    let mut doubts: Vec<Intent> = Vec::new();
    for record in records.iter().rev() {
        let Record::Intent(intent) = record else { continue };
        let shows = match &intent.subject {
            Subject::Object(address, deposed) => {
                state.object(address, *deposed) == replayed.object(address, *deposed)
            }
            // No state tells of one.
            Subject::Action(_) => true,
        };
        if met.insert(&intent.subject) && (!shows || open.contains(intent)) {
            doubts.push(intent.clone());
        }
    }
    doubts.reverse();
    Ok(doubts)
}

/// Intents that no later outcome settles.
fn pending(records: &[Record]) -> Vec<Intent> {
    let mut open: BTreeMap<&Subject, Vec<usize>> = BTreeMap::new();
    for (at, record) in records.iter().enumerate() {
        match record {
            Record::Intent(intent) => open.entry(&intent.subject).or_default().push(at),
            Record::Outcome(outcome) => {
                open.remove(&outcome.subject);
            }
            Record::Moved(_) => {}
        }
    }
    let mut left: Vec<usize> = open.into_values().flatten().collect();
    left.sort_unstable();
    let intents = left.into_iter().filter_map(|at| match &records[at] {
        Record::Intent(intent) => Some(intent.clone()),
        Record::Outcome(_) | Record::Moved(_) => None,
    });
    intents.collect()
}

/// The records since the last saved state, numbered. Intents that were carried over stand first.
#[derive(Default)]
pub struct Journal {
    /// How many records came before these.
    before: u64,
    records: Vec<Record>,
    /// The state it goes on from, then those that were about to be saved: their digest, and the number of the last
    /// record they contain.
    bases: Vec<(String, u64)>,
}

impl Journal {
    /// Reads a journal. Beside it: how many bytes were good, where a torn last line is to be cut off.
    pub fn read(bytes: &[u8]) -> Result<(Self, usize), Diags> {
        let mut journal = Journal::default();
        let mut good = 0;
        while good < bytes.len() {
            let rest = &bytes[good..];
            let end = rest.iter().position(|byte| *byte == b'\n');
            let line = &rest[..end.unwrap_or(rest.len())];
            let last = end.is_none_or(|end| end + 1 == rest.len());
            match journal.read_line(line, good == 0) {
                // A line is written with its end in one go: without one it is torn, even if it can be read.
                Ok(()) if end.is_some() => good += line.len() + 1,
                Ok(()) => {
                    journal.undo_line(line);
                    break;
                }
                Err(_) if last => break,
                Err(what) => {
                    let number = bytes[..good].iter().filter(|byte| **byte == b'\n').count() + 1;
                    return Err(damaged(&format!("line {number} {what}")).into());
                }
            }
        }
        Ok((journal, good))
    }

    fn read_line(&mut self, bytes: &[u8], first: bool) -> Result<(), &'static str> {
        let (number, entry) = line::read(bytes)?;
        let counts = matches!(entry, Entry::Record(_));
        if first {
            self.before = number.saturating_sub(u64::from(counts));
        }
        if number != self.last() + u64::from(counts) {
            return Err("is out of sequence");
        }
        match entry {
            Entry::Basis(state, covered) => self.bases.push((state, covered)),
            Entry::Record(record) => self.records.push(record),
        }
        Ok(())
    }

    fn undo_line(&mut self, bytes: &[u8]) {
        if matches!(line::read(bytes), Ok((_, Entry::Basis(..)))) {
            self.bases.pop();
        } else {
            self.records.pop();
        }
    }

    /// The number of the last record; 0 if there never was one.
    pub fn last(&self) -> u64 {
        self.before + self.records.len() as u64
    }

    /// Is there nothing in it?
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// The bytes to append to what is kept, for records that are about to be added.
    pub fn lines(&self, records: &[Record]) -> Result<Vec<u8>, Diags> {
        let mut bytes = Vec::new();
        for (number, record) in (self.last() + 1..).zip(records) {
            bytes.extend(line::record(number, record)?);
        }
        Ok(bytes)
    }

    /// Adds records, once their lines are kept.
    pub fn push(&mut self, records: Vec<Record>) {
        self.records.extend(records);
    }

    /// Notes that a state with this digest is about to be saved, which contains the records up to number `covered`;
    /// gives the bytes to append.
    pub fn saving(&mut self, state: &str, covered: u64) -> Result<Vec<u8>, Diags> {
        self.bases.push((state.to_owned(), covered));
        line::basis(self.last(), state, covered)
    }

    /// The number of the last record that the state with this digest contains; `None` if no such state was saved.
    pub fn covered_by(&self, state: &str) -> Option<u64> {
        self.bases
            .iter()
            .rev()
            .find(|(digest, _)| digest == state)
            .map(|(_, covered)| *covered)
    }

    /// The number of the last record that the state it goes on from contains.
    pub fn covered(&self) -> u64 {
        self.bases.first().map_or(self.before, |(_, covered)| *covered)
    }

    /// What to replay over a state that contains the records up to number `covered`: later records, and before them
    /// the unsettled intents among those covered.
    pub fn since(&self, covered: u64) -> Vec<Record> {
        let at = usize::try_from(covered.saturating_sub(self.before))
            .unwrap_or(usize::MAX)
            .min(self.records.len());
        let (old, new) = self.records.split_at(at);
        pending(old)
            .into_iter()
            .map(Record::Intent)
            .chain(new.iter().cloned())
            .collect()
    }

    /// Goes on from a saved state: what it contains is dropped, except unsettled intents. Numbers go on. The bytes of the
    /// whole journal are then [`Journal::bytes`].
    pub fn drop_covered(&mut self, state: &str, covered: u64) {
        let last = self.last();
        self.records = self.since(covered);
        self.before = last.saturating_sub(self.records.len() as u64);
        self.bases = vec![(state.to_owned(), covered)];
    }

    /// Goes on from a state that contains all there is to know, but for these intents. Numbers go on, from `number` at
    /// least.
    pub fn rebase(&mut self, state: &str, open: &[Intent], number: u64) {
        let last = self.last().max(number).max(open.len() as u64);
        self.records = open.iter().cloned().map(Record::Intent).collect();
        self.before = last - self.records.len() as u64;
        self.bases = vec![(state.to_owned(), last)];
    }

    /// All of it as bytes: the state it goes on from first, so that the numbers are known even of an empty journal.
    pub fn bytes(&self) -> Result<Vec<u8>, Diags> {
        let mut bytes = Vec::new();
        let mut bases = self.bases.iter();
        if let Some((state, covered)) = bases.next() {
            bytes.extend(line::basis(self.before, state, *covered)?);
        }
        for (at, record) in self.records.iter().enumerate() {
            bytes.extend(line::record(self.before + 1 + at as u64, record)?);
        }
        for (state, covered) in bases {
            bytes.extend(line::basis(self.last(), state, *covered)?);
        }
        Ok(bytes)
    }
}

fn damaged(what: &str) -> Diag {
    Diag::error(
        DAMAGED,
        format!(
            "In the journal of an earlier run {what}. The journal tells which objects were changed after the state was \
             last saved; compare the two by hand before the journal is removed."
        ),
    )
}

#[cfg(test)]
mod tests;
