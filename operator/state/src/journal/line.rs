//! Lines of a journal: JSON, each with its number and a checksum.

use ashlar_addr::{DeposedKey, ResourceInstance};
use ashlar_diag::{Diag, Diags};
use ashlar_port::{Intent, Invoked, Moved, Outcome, Record, Subject};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};

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
pub(super) const INVOKE: &str = "invoke";

pub(super) fn basis(number: u64, state: &str, covered: u64) -> Result<Vec<u8>, Diags> {
    let state = state.to_owned();
    write(number, &Line::Basis { state, covered })
}

pub(super) fn record(number: u64, record: &Record) -> Result<Vec<u8>, Diags> {
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
    write(number, &line)
}

fn write(number: u64, line: &Line<'_>) -> Result<Vec<u8>, Diags> {
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

/// What a line says.
pub(super) enum Entry {
    Record(Record),
    /// The state with this digest contains the records up to this number.
    Basis(String, u64),
}

/// Reads a line, with its number.
pub(super) fn read(bytes: &[u8]) -> Result<(u64, Entry), &'static str> {
    let Envelope { number, sum, line } =
        serde_json::from_slice(bytes).map_err(|_| "is no line of a journal")?;
    if checksum(number, line.get()) != sum {
        return Err("does not have its checksum");
    }
    let line: Line<'_> = serde_json::from_str(line.get()).map_err(|_| "has content that is not known")?;
    let entry = match line {
        Line::Basis { state, covered } => Entry::Basis(state, covered),
        Line::Intent {
            address,
            deposed,
            action,
        } => {
            let (address, deposed) = read_key(&address, deposed.as_deref())?;
            let subject = Subject::Object(address, deposed);
            Entry::Record(Record::Intent(Intent { subject, action }))
        }
        Line::Outcome {
            address,
            deposed,
            object,
        } => {
            let (address, deposed) = read_key(&address, deposed.as_deref())?;
            let object = object.map(|object| object.get().as_bytes().to_vec());
            let subject = Subject::Object(address, deposed);
            Entry::Record(Record::Outcome(Outcome { subject, object }))
        }
        Line::Invoking { action, by } => {
            let subject = read_invoked(&action, by.as_deref())?;
            let action = INVOKE.to_owned();
            Entry::Record(Record::Intent(Intent { subject, action }))
        }
        Line::Invoked { action, by } => {
            let subject = read_invoked(&action, by.as_deref())?;
            let object = None;
            Entry::Record(Record::Outcome(Outcome { subject, object }))
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
            Entry::Record(Record::Moved(Moved {
                address,
                from,
                to,
                object,
            }))
        }
    };
    Ok((number, entry))
}

fn read_invoked(action: &str, by: Option<&str>) -> Result<Subject, &'static str> {
    let action = action.parse().map_err(|_| "names no action")?;
    let by = by.map(str::parse).transpose();
    let by = by.map_err(|_| "names no resource instance")?;
    Ok(Subject::Action(Invoked { action, by }))
}

fn read_key(
    address: &str,
    deposed: Option<&str>,
) -> Result<(ResourceInstance, Option<DeposedKey>), &'static str> {
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

fn unwritable() -> Diags {
    Diag::error(
        "Failed to write the journal",
        "An outcome is not one line of JSON; this is a fault of Ashlar.",
    )
    .into()
}
