//! Journals as they come back, whole and torn.

use std::sync::Arc;

use ashlar_port::{Invoked, Moved};

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
            action: line::INVOKE.to_owned(),
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
