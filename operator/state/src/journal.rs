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
use ashlar_port::{Intent, Invoked, Moved, Outcome, Record, Subject};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};

use crate::{
    State,
    resource::{outcome_object, read_outcome_object},
};

const DAMAGED: &str = "Damaged journal";
type Key = (ResourceInstance, Option<DeposedKey>);

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
            let written =
                found.map(|(resource, object)| outcome_object(address, *deposed, &resource.provider, object));
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

    fn read_line(&mut self, line: &[u8], first: bool) -> Result<(), &'static str> {
        let envelope: Envelope<'_> = serde_json::from_slice(line).map_err(|_| "is no line of a journal")?;
        if checksum(envelope.number, envelope.line.get()) != envelope.sum {
            return Err("does not have its checksum");
        }
        let line: Line<'_> =
            serde_json::from_str(envelope.line.get()).map_err(|_| "has content that is not known")?;
        let counts = !matches!(line, Line::Basis { .. });
        if first {
            self.before = envelope.number.saturating_sub(u64::from(counts));
        }
        if envelope.number != self.last() + u64::from(counts) {
            return Err("is out of sequence");
        }
        match line {
            Line::Basis { state, covered } => self.bases.push((state, covered)),
            Line::Intent {
                address,
                deposed,
                action,
            } => {
                let (address, deposed) = read_key(&address, deposed.as_deref())?;
                let subject = Subject::Object(address, deposed);
                self.records.push(Record::Intent(Intent { subject, action }));
            }
            Line::Outcome {
                address,
                deposed,
                object,
            } => {
                let (address, deposed) = read_key(&address, deposed.as_deref())?;
                let object = object.map(|object| object.get().as_bytes().to_vec());
                let subject = Subject::Object(address, deposed);
                self.records.push(Record::Outcome(Outcome { subject, object }));
            }
            Line::Invoking { action, by } => {
                let subject = read_invoked(&action, by.as_deref())?;
                let action = INVOKE.to_owned();
                self.records.push(Record::Intent(Intent { subject, action }));
            }
            Line::Invoked { action, by } => {
                let subject = read_invoked(&action, by.as_deref())?;
                let object = None;
                self.records.push(Record::Outcome(Outcome { subject, object }));
            }
            Line::Moved {
                address,
                from,
                to,
                object,
            } => {
                let (address, from) = read_key(&address, from.as_deref())?;
                let to = read_deposed(to.as_deref())?;
                let object = object.get().as_bytes().to_vec();
                self.records.push(Record::Moved(Moved {
                    address,
                    from,
                    to,
                    object,
                }));
            }
        }
        Ok(())
    }

    fn undo_line(&mut self, line: &[u8]) {
        let basis = serde_json::from_slice::<Envelope<'_>>(line)
            .ok()
            .and_then(|envelope| serde_json::from_str::<Line<'_>>(envelope.line.get()).ok())
            .is_some_and(|line| matches!(line, Line::Basis { .. }));
        if basis {
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
            bytes.extend(record_line(number, record)?);
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
        basis_line(self.last(), state, covered)
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
            bytes.extend(basis_line(self.before, state, *covered)?);
        }
        for (at, record) in self.records.iter().enumerate() {
            bytes.extend(record_line(self.before + 1 + at as u64, record)?);
        }
        for (state, covered) in bases {
            bytes.extend(basis_line(self.last(), state, *covered)?);
        }
        Ok(bytes)
    }
}

#[derive(Serialize, Deserialize)]
struct Envelope<'a> {
    #[serde(rename = "n")]
    number: u64,
    sum: String,
    #[serde(borrow)]
    line: &'a RawValue,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Line<'a> {
    Intent {
        address: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        deposed: Option<String>,
        action: String,
    },
    Outcome {
        address: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        deposed: Option<String>,
        #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
        object: Option<&'a RawValue>,
    },
    Moved {
        address: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        from: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        to: Option<String>,
        #[serde(borrow)]
        object: &'a RawValue,
    },
    /// The state with this digest contains the records up to this number.
    Basis { state: String, covered: u64 },
    /// An action is about to be invoked.
    Invoking {
        action: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
    },
    /// It ended.
    Invoked {
        action: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
    },
}

/// What intents of actions are about to do.
const INVOKE: &str = "invoke";

fn basis_line(number: u64, state: &str, covered: u64) -> Result<Vec<u8>, Diags> {
    let state = state.to_owned();
    write_line(number, &Line::Basis { state, covered })
}

fn record_line(number: u64, record: &Record) -> Result<Vec<u8>, Diags> {
    let line = match record {
        Record::Intent(Intent { subject, action }) => match subject {
            Subject::Object(address, deposed) => Line::Intent {
                address: address.to_string(),
                deposed: deposed.map(|key| key.to_string()),
                action: action.clone(),
            },
            Subject::Action(Invoked { action, by }) => Line::Invoking {
                action: action.to_string(),
                by: by.as_ref().map(ToString::to_string),
            },
        },
        Record::Outcome(Outcome { subject, object }) => match subject {
            Subject::Object(address, deposed) => Line::Outcome {
                address: address.to_string(),
                deposed: deposed.map(|key| key.to_string()),
                object: object
                    .as_deref()
                    .map(serde_json::from_slice)
                    .transpose()
                    .map_err(|_| unwritable())?,
            },
            Subject::Action(Invoked { action, by }) => Line::Invoked {
                action: action.to_string(),
                by: by.as_ref().map(ToString::to_string),
            },
        },
        Record::Moved(moved) => Line::Moved {
            address: moved.address.to_string(),
            from: moved.from.map(|key| key.to_string()),
            to: moved.to.map(|key| key.to_string()),
            object: serde_json::from_slice(&moved.object).map_err(|_| unwritable())?,
        },
    };
    write_line(number, &line)
}

fn write_line(number: u64, line: &Line<'_>) -> Result<Vec<u8>, Diags> {
    let line = serde_json::value::to_raw_value(line).map_err(|_| unwritable())?;
    // An object may come indented; a line must not.
    if line.get().contains('\n') {
        return Err(unwritable());
    }
    let envelope = Envelope {
        number,
        sum: checksum(number, line.get()),
        line: &line,
    };
    let mut bytes = serde_json::to_vec(&envelope).map_err(|_| unwritable())?;
    bytes.push(b'\n');
    Ok(bytes)
}

fn read_invoked(action: &str, by: Option<&str>) -> Result<Subject, &'static str> {
    let action = action.parse().map_err(|_| "names no action")?;
    let by = by.map(str::parse).transpose();
    let by = by.map_err(|_| "names no resource instance")?;
    Ok(Subject::Action(Invoked { action, by }))
}

fn read_key(address: &str, deposed: Option<&str>) -> Result<Key, &'static str> {
    let address = address.parse().map_err(|_| "names no resource instance")?;
    Ok((address, read_deposed(deposed)?))
}

fn read_deposed(key: Option<&str>) -> Result<Option<DeposedKey>, &'static str> {
    key.map(str::parse)
        .transpose()
        .map_err(|_| "names no deposed object")
}

fn checksum(number: u64, line: &str) -> String {
    let digest = Sha256::new()
        .chain_update(number.to_be_bytes())
        .chain_update(line)
        .finalize();
    digest[..8].iter().map(|byte| format!("{byte:02x}")).collect()
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

fn unwritable() -> Diags {
    Diag::error(
        "Failed to write the journal",
        "An outcome is not one line of JSON; this is a fault of Ashlar.",
    )
    .into()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::{Object, Status};

    fn intent(address: &str) -> Record {
        Record::Intent(Intent {
            subject: Subject::Object(address.parse().unwrap(), None),
            action: "create".to_owned(),
        })
    }

    fn invoked(by: Option<&str>) -> Subject {
        Subject::Action(Invoked {
            action: "action.t.f[0]".parse().unwrap(),
            by: by.map(|by| by.parse().unwrap()),
        })
    }

    fn object(id: &str) -> Object {
        Object {
            schema_version: 0,
            attributes: format!("{{\"id\":\"{id}\"}}").into_bytes().into(),
            sensitive: Vec::new(),
            private: Arc::from(*b"p"),
            status: Status::Ready,
            dependencies: Arc::default(),
            create_before_destroy: false,
            skip_destroy: false,
            identity: None,
        }
    }

    fn outcome(address: &str, id: Option<&str>) -> Record {
        let address: ResourceInstance = address.parse().unwrap();
        let provider = "provider[\"h.example/n/t\"]".parse().unwrap();
        let object = id.map(|id| outcome_object(&address, None, &provider, &object(id)).unwrap());
        Record::Outcome(Outcome {
            subject: Subject::Object(address, None),
            object,
        })
    }

    /// What a journal says, as text.
    fn tell(records: &[Record]) -> Vec<String> {
        let (state, uncertain) = replay(State::default(), records).unwrap();
        let objects = state
            .objects()
            .map(|(address, _, object)| format!("{address} {}", String::from_utf8_lossy(&object.attributes)));
        objects
            .chain(uncertain.iter().map(|intent| format!("{}?", intent.subject)))
            .collect()
    }

    fn check(records: &[Record], want: &[&str]) {
        assert_eq!(tell(records), want);
        let bytes = Journal::default().lines(records).unwrap();
        let (read, good) = Journal::read(&bytes).unwrap();
        assert_eq!((tell(&read.since(0)), good), (tell(records), bytes.len()));
    }

    #[test]
    fn outcomes_change_the_state_and_settle_intents() {
        check(&[], &[]);
        check(
            &[intent("t.a"), outcome("t.a", Some("1"))],
            &["t.a {\"id\":\"1\"}"],
        );
        check(
            &[intent("t.a"), intent("t.b[\"x\"]"), outcome("t.a", None)],
            &["t.b[\"x\"]?"],
        );
        check(
            &[
                outcome("t.a", Some("1")),
                intent("t.a"),
                outcome("t.a", None),
                intent("t.a"),
            ],
            &["t.a?"],
        );
    }

    #[test]
    fn an_action_that_did_not_end_stays_open_and_one_that_did_does_not() {
        let intend = |by| {
            Record::Intent(Intent {
                subject: invoked(by),
                action: INVOKE.to_owned(),
            })
        };
        let end = |by| {
            Record::Outcome(Outcome {
                subject: invoked(by),
                object: None,
            })
        };
        check(&[intend(None), end(None)], &[]);
        check(
            &[intend(Some("t.a")), end(None)],
            &["action.t.f[0] (triggered by t.a)?"],
        );
        check(
            &[intend(Some("t.a")), end(Some("t.a")), intend(Some("t.a"))],
            &["action.t.f[0] (triggered by t.a)?"],
        );
        let doubted = doubts(&State::default(), &[intend(None), end(None), intend(None)]).unwrap();
        assert_eq!(doubted.len(), 1);
    }

    #[test]
    fn a_torn_end_is_dropped_and_other_damage_is_an_error() {
        let bytes = Journal::default()
            .lines(&[intent("t.a"), intent("t.b"), intent("t.c")])
            .unwrap();
        let ends: Vec<usize> = (0..bytes.len()).filter(|at| bytes[*at] == b'\n').collect();
        for cut in 0..bytes.len() {
            let (journal, good) = Journal::read(&bytes[..cut]).unwrap();
            let whole = ends.iter().filter(|end| **end < cut).count();
            assert_eq!(journal.last(), whole as u64);
            assert_eq!(good, if whole == 0 { 0 } else { ends[whole - 1] + 1 });
        }
        let mut zeros = bytes.clone();
        zeros.extend([0; 50]);
        assert_eq!(Journal::read(&zeros).unwrap().1, bytes.len());
        let mut hurt = bytes.clone();
        let at = ends[0] + 30;
        hurt[at] ^= 1;
        assert!(Journal::read(&hurt).is_err());
        let mut missing = bytes[..=ends[0]].to_vec();
        missing.extend(&bytes[ends[1] + 1..]);
        missing.extend(&bytes[ends[1] + 1..]);
        assert!(Journal::read(&missing).is_err());
    }

    #[test]
    fn a_saved_state_covers_records_but_not_open_intents() {
        let mut journal = Journal::default();
        let first = [intent("t.a"), intent("t.b"), outcome("t.a", Some("1"))];
        journal.rebase("base", &[], 0);
        let mut bytes = journal.bytes().unwrap();
        bytes.extend(journal.lines(&first).unwrap());
        journal.push(first.to_vec());
        bytes.extend(journal.saving("digest", 3).unwrap());
        bytes.extend(journal.lines(&[intent("t.c")]).unwrap());
        let (mut journal, _) = Journal::read(&bytes).unwrap();
        assert_eq!(journal.covered_by("digest"), Some(3));
        assert_eq!(journal.covered_by("base"), Some(0));
        assert_eq!(journal.covered_by("other"), None);
        assert_eq!(tell(&journal.since(3)), ["t.b?", "t.c?"]);
        journal.drop_covered("digest", 3);
        assert_eq!(journal.last(), 4);
        let (mut journal, _) = Journal::read(&journal.bytes().unwrap()).unwrap();
        assert_eq!(
            (tell(&journal.since(3)), journal.last()),
            (vec!["t.b?".to_owned(), "t.c?".to_owned()], 4)
        );
        journal.push(vec![outcome("t.b", None)]);
        journal.drop_covered("next", 5);
        assert_eq!(tell(&journal.since(5)), ["t.c?"]);
        journal.push(vec![outcome("t.c", Some("2"))]);
        journal.drop_covered("last", 6);
        assert!(journal.is_empty());
    }

    #[test]
    fn numbers_go_on_in_a_journal_that_was_emptied() {
        let mut journal = Journal::default();
        journal.rebase("base", &[], 0);
        journal.push(vec![intent("t.a"), outcome("t.a", Some("1"))]);
        journal.drop_covered("saved", 2);
        let mut bytes = journal.bytes().unwrap();
        let (mut journal, _) = Journal::read(&bytes).unwrap();
        assert_eq!((journal.last(), journal.covered_by("saved")), (2, Some(2)));
        let more = [intent("t.b"), outcome("t.b", Some("2"))];
        bytes.extend(journal.lines(&more).unwrap());
        journal = Journal::read(&bytes).unwrap().0;
        // A reader that knows only that the saved state contains two records must not take these for them.
        assert_eq!(tell(&journal.since(2)), ["t.b {\"id\":\"2\"}"]);
        journal.rebase("other", &[], 9);
        assert_eq!(Journal::read(&journal.bytes().unwrap()).unwrap().0.last(), 9);
    }

    #[test]
    fn an_object_is_in_one_place_wherever_a_replacement_breaks_off() {
        let address: ResourceInstance = "t.a".parse().unwrap();
        let provider = "provider[\"h.example/n/t\"]".parse().unwrap();
        let key = DeposedKey(7);
        let moved = |from: Option<DeposedKey>, to: Option<DeposedKey>, id: &str| {
            let object = outcome_object(&address, from, &provider, &object(id)).unwrap();
            Record::Moved(Moved {
                address: address.clone(),
                from,
                to,
                object,
            })
        };
        let mut saved = State::default();
        saved.set(&address, None, &provider, Some(object("before").into()));
        let places = |records: &[Record]| {
            let bytes = Journal::default().lines(records).unwrap();
            let (journal, _) = Journal::read(&bytes).unwrap();
            let (state, _) = replay(saved.clone(), &journal.since(0)).unwrap();
            let told = state.objects().map(|(_, deposed, object)| {
                let place = deposed.map_or("current".to_owned(), |key| key.to_string());
                format!("{place} {}", String::from_utf8_lossy(&object.attributes))
            });
            told.collect::<Vec<_>>().join(" ")
        };
        let records = [
            moved(None, Some(key), "old"),
            intent("t.a"),
            outcome("t.a", Some("new")),
        ];
        let deposed = r#"00000007 {"id":"old"}"#;
        assert_eq!(places(&records[..1]), deposed);
        assert_eq!(places(&records[..2]), deposed);
        assert_eq!(places(&records), format!(r#"current {{"id":"new"}} {deposed}"#));
        let back = moved(Some(key), None, "old");
        let failed = [records[0].clone(), records[1].clone(), outcome("t.a", None), back];
        assert_eq!(places(&failed), r#"current {"id":"old"}"#);
    }

    #[test]
    fn what_another_state_does_not_show_is_in_doubt() {
        let check = |records: &[Record], held: &[(&str, &str)], want: &[&str]| {
            let provider = "provider[\"h.example/n/t\"]".parse().unwrap();
            let mut state = State::default();
            for (address, id) in held {
                state.set(
                    &address.parse().unwrap(),
                    None,
                    &provider,
                    Some(object(id).into()),
                );
            }
            let found = doubts(&state, records).unwrap();
            let found: Vec<String> = found.iter().map(|intent| intent.subject.to_string()).collect();
            assert_eq!(found, want);
        };
        let made = [intent("t.a"), outcome("t.a", Some("1")), intent("t.b")];
        check(&made, &[], &["t.a", "t.b"]);
        check(&made, &[("t.a", "1")], &["t.b"]);
        check(&made, &[("t.a", "2"), ("t.b", "1")], &["t.a", "t.b"]);
        let gone = [intent("t.a"), outcome("t.a", None), intent("t.a")];
        check(&gone[..2], &[], &[]);
        check(&gone[..2], &[("t.a", "1")], &["t.a"]);
        check(&gone, &[], &["t.a"]);
    }
}
