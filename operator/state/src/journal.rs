//! The journal: what happened to objects since the state was last saved.
//!
//! A journal is lines of JSON, each with its number and a checksum. The last line may be torn by a crash and is then
//! dropped; damage before it is an error, for what follows would be guesswork. Saving the state covers records: they
//! may go, except intents that nothing settled, which are carried on. Whoever later finds out what came of one writes an
//! outcome, as the run itself would have. The stores keep the bytes; here they get meaning.

use std::collections::BTreeMap;

use ashlar_addr::{DeposedKey, ResourceInstance};
use ashlar_diag::{Diag, Diags};
use ashlar_port::{Intent, Outcome, Record};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};

use crate::{State, resource::read_outcome_object};

const DAMAGED: &str = "Damaged journal";
type Key = (ResourceInstance, Option<DeposedKey>);

/// The state after these records, and the intents of which nobody knows what came, in order.
pub fn replay(mut state: State, records: &[Record]) -> Result<(State, Vec<Intent>), Diags> {
    for record in records {
        let Record::Outcome(outcome) = record else {
            continue;
        };
        match &outcome.object {
            Some(json) => {
                let (address, deposed, provider, object) = read_outcome_object(json)?;
                if (&address, deposed) != (&outcome.address, outcome.deposed) {
                    return Err(damaged("an outcome holds another object than it says").into());
                }
                state.set(&address, deposed, &provider, Some(object.into()));
            }
            None => {
                if let Some(held) = state.resources.get(&outcome.address.resource) {
                    let provider = held.provider.clone();
                    state.set(&outcome.address, outcome.deposed, &provider, None);
                }
            }
        }
    }
    Ok((state, pending(records)))
}

/// Intents that no later outcome settles.
fn pending(records: &[Record]) -> Vec<Intent> {
    let mut open: BTreeMap<(&ResourceInstance, Option<DeposedKey>), Vec<usize>> = BTreeMap::new();
    for (at, record) in records.iter().enumerate() {
        match record {
            Record::Intent(intent) => open
                .entry((&intent.address, intent.deposed))
                .or_default()
                .push(at),
            Record::Outcome(outcome) => {
                open.remove(&(&outcome.address, outcome.deposed));
            }
        }
    }
    let mut left: Vec<usize> = open.into_values().flatten().collect();
    left.sort_unstable();
    let intents = left.into_iter().filter_map(|at| match &records[at] {
        Record::Intent(intent) => Some(intent.clone()),
        Record::Outcome(_) => None,
    });
    intents.collect()
}

/// The records since the last saved state, numbered. Intents that were carried over stand first.
#[derive(Default)]
pub struct Journal {
    /// How many records came before these.
    before: u64,
    records: Vec<Record>,
    /// States that were about to be saved: their digest, and the number of the last record they contain.
    marks: Vec<(String, u64)>,
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
        let counts = !matches!(line, Line::Saving { .. });
        if first {
            self.before = if counts {
                envelope.number.saturating_sub(1)
            } else {
                envelope.number
            };
        }
        if envelope.number != self.last() + u64::from(counts) {
            return Err("is out of sequence");
        }
        match line {
            Line::Saving { state, covered } => self.marks.push((state, covered)),
            Line::Intent {
                address,
                deposed,
                action,
            } => {
                let (address, deposed) = read_key(&address, deposed.as_deref())?;
                self.records.push(Record::Intent(Intent {
                    address,
                    deposed,
                    action,
                }));
            }
            Line::Outcome {
                address,
                deposed,
                object,
            } => {
                let (address, deposed) = read_key(&address, deposed.as_deref())?;
                let object = object.map(|object| object.get().as_bytes().to_vec());
                self.records.push(Record::Outcome(Outcome {
                    address,
                    deposed,
                    object,
                }));
            }
        }
        Ok(())
    }

    fn undo_line(&mut self, line: &[u8]) {
        let saving = serde_json::from_slice::<Envelope<'_>>(line)
            .ok()
            .and_then(|envelope| serde_json::from_str::<Line<'_>>(envelope.line.get()).ok())
            .is_some_and(|line| matches!(line, Line::Saving { .. }));
        if saving {
            self.marks.pop();
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
        self.marks.push((state.to_owned(), covered));
        write_line(
            self.last(),
            &Line::Saving {
                state: state.to_owned(),
                covered,
            },
        )
    }

    /// The number of the last record that the state with this digest contains; `None` if no such state was saved.
    pub fn covered_by(&self, state: &str) -> Option<u64> {
        self.marks
            .iter()
            .rev()
            .find(|(digest, _)| digest == state)
            .map(|(_, covered)| *covered)
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

    /// Drops what a saved state contains, except unsettled intents. Numbers go on. The bytes of the whole journal are
    /// then [`Journal::bytes`].
    pub fn drop_covered(&mut self, covered: u64) {
        let last = self.last();
        self.records = self.since(covered);
        self.before = last.saturating_sub(self.records.len() as u64);
        self.marks.clear();
    }

    /// All of it as bytes.
    pub fn bytes(&self) -> Result<Vec<u8>, Diags> {
        let mut bytes = Vec::new();
        for (at, record) in self.records.iter().enumerate() {
            bytes.extend(record_line(self.before + 1 + at as u64, record)?);
        }
        for (state, covered) in &self.marks {
            bytes.extend(write_line(
                self.last(),
                &Line::Saving {
                    state: state.clone(),
                    covered: *covered,
                },
            )?);
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
    Saving {
        state: String,
        covered: u64,
    },
}

fn record_line(number: u64, record: &Record) -> Result<Vec<u8>, Diags> {
    let line = match record {
        Record::Intent(intent) => Line::Intent {
            address: intent.address.to_string(),
            deposed: intent.deposed.map(|key| key.to_string()),
            action: intent.action.clone(),
        },
        Record::Outcome(outcome) => Line::Outcome {
            address: outcome.address.to_string(),
            deposed: outcome.deposed.map(|key| key.to_string()),
            object: outcome
                .object
                .as_deref()
                .map(serde_json::from_slice)
                .transpose()
                .map_err(|_| unwritable())?,
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

fn read_key(address: &str, deposed: Option<&str>) -> Result<Key, &'static str> {
    let address = address.parse().map_err(|_| "names no resource instance")?;
    let deposed = deposed
        .map(str::parse)
        .transpose()
        .map_err(|_| "names no deposed object")?;
    Ok((address, deposed))
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
    use crate::{Object, Status, outcome_object};

    fn intent(address: &str) -> Record {
        Record::Intent(Intent {
            address: address.parse().unwrap(),
            deposed: None,
            action: "create".to_owned(),
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
            identity: None,
        }
    }

    fn outcome(address: &str, id: Option<&str>) -> Record {
        let address: ResourceInstance = address.parse().unwrap();
        let provider = "provider[\"h.example/n/t\"]".parse().unwrap();
        let object = id.map(|id| outcome_object(&address, None, &provider, &object(id)).unwrap());
        Record::Outcome(Outcome {
            address,
            deposed: None,
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
            .chain(uncertain.iter().map(|intent| format!("{}?", intent.address)))
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
        let mut bytes = journal.lines(&first).unwrap();
        journal.push(first.to_vec());
        bytes.extend(journal.saving("digest", 3).unwrap());
        bytes.extend(journal.lines(&[intent("t.c")]).unwrap());
        let (mut journal, _) = Journal::read(&bytes).unwrap();
        assert_eq!(journal.covered_by("digest"), Some(3));
        assert_eq!(journal.covered_by("other"), None);
        assert_eq!(tell(&journal.since(3)), ["t.b?", "t.c?"]);
        journal.drop_covered(3);
        assert_eq!(journal.last(), 4);
        let (mut journal, _) = Journal::read(&journal.bytes().unwrap()).unwrap();
        assert_eq!(
            (tell(&journal.since(3)), journal.last()),
            (vec!["t.b?".to_owned(), "t.c?".to_owned()], 4)
        );
        journal.push(vec![outcome("t.b", None)]);
        journal.drop_covered(5);
        assert_eq!(tell(&journal.since(5)), ["t.c?"]);
        journal.push(vec![outcome("t.c", Some("2"))]);
        journal.drop_covered(6);
        assert!(journal.is_empty());
    }
}
