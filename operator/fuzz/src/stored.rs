//! What is kept between runs: states, plans, journals.

use ashlar_state::{Journal, State};
use sha2::{Digest as _, Sha256};

/// A state file: what is read is written as it can be read again, to the same state.
pub(crate) fn state(input: &[u8]) -> bool {
    let Ok(state) = ashlar_state::read(input) else {
        return false;
    };
    let bytes = written(&state);
    match ashlar_state::read(&bytes) {
        Ok(again) => {
            assert!(ashlar_state::same_content(&state, &again), "{state:?}\n{again:?}");
            assert_eq!(written(&again), bytes, "the second writing differs");
        }
        Err(diags) => panic!("a state that was written cannot be read: {diags}"),
    }
    true
}

fn written(state: &State) -> Vec<u8> {
    match ashlar_state::write(state, "1.15.5") {
        Ok(bytes) => bytes,
        Err(diags) => panic!("a state that was read cannot be written: {diags}"),
    }
}

/// A stored plan: as a state, by the bytes of the second writing, for plans are not compared.
pub(crate) fn plan(input: &[u8]) -> bool {
    let Ok(plan) = ashlar_plan::wire::decode(input) else {
        return false;
    };
    let write = |plan| match ashlar_plan::wire::encode(plan, "1.15.5") {
        Ok(bytes) => bytes,
        Err(diags) => panic!("a plan that was read cannot be written: {diags}"),
    };
    let bytes = write(&plan);
    match ashlar_plan::wire::decode(&bytes) {
        Ok(again) => assert!(write(&again) == bytes, "the second writing differs"),
        Err(diags) => panic!("a plan that was written cannot be read: {diags}"),
    }
    true
}

/// A journal as it stands, and one whose lines hold those of the input, with numbers and checksums that are right: no
/// fuzzer hits upon a checksum.
pub(crate) fn journal(input: &[u8]) -> bool {
    read_journal(input);
    let mut number = 0;
    let mut sealed = Vec::new();
    for line in input.split(|byte| *byte == b'\n') {
        let Ok(line) = std::str::from_utf8(line) else {
            return false;
        };
        if !line.starts_with("{\"basis\"") {
            number += 1;
        }
        let digest = Sha256::new()
            .chain_update(u64::to_be_bytes(number))
            .chain_update(line)
            .finalize();
        let sum = hex::encode(&digest[..8]);
        sealed.extend(format!("{{\"n\":{number},\"sum\":\"{sum}\",\"line\":{line}}}\n").bytes());
    }
    read_journal(&sealed)
}

fn read_journal(bytes: &[u8]) -> bool {
    let Ok((journal, good)) = Journal::read(bytes) else {
        return false;
    };
    assert!(good <= bytes.len());
    // What follows the good part is cut off.
    match Journal::read(&bytes[..good]) {
        Ok((again, all)) => assert!(all == good && again.last() == journal.last()),
        Err(diags) => panic!("the good part of a journal cannot be read: {diags}"),
    }
    let records = journal.since(0);
    drop(ashlar_state::doubts(&State::default(), &records));
    if let Ok((state, _)) = ashlar_state::replay(State::default(), &records) {
        drop(written(&state));
    }
    let Ok(kept) = journal.bytes() else { return true };
    match Journal::read(&kept) {
        Ok((again, all)) => {
            assert_eq!(all, kept.len());
            assert_eq!(again.last(), journal.last());
            assert_eq!(again.bytes().ok(), Some(kept));
        }
        Err(diags) => panic!("a journal that was written cannot be read: {diags}"),
    }
    true
}
