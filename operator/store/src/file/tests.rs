use ashlar_port::{Intent, Outcome, Subject};
use ashlar_state::{Object, Status, outcome_object};

use super::*;

const APPLY: &str = "OperationTypeApply";

fn state(serial: u64) -> Vec<u8> {
    let state = ashlar_state::State {
        lineage: "l".to_owned(),
        serial,
        ..Default::default()
    };
    ashlar_state::write(&state, "1.15.5").unwrap()
}

fn intent(address: &str) -> Record {
    Record::Intent(Intent {
        subject: Subject::Object(address.parse().unwrap(), None),
        action: "create".to_owned(),
    })
}

fn outcome(address: &str) -> Record {
    let address: ashlar_addr::ResourceInstance = address.parse().unwrap();
    let object = Object {
        schema_version: 0,
        attributes: Arc::from(*b"{}"),
        sensitive: Vec::new(),
        private: Arc::default(),
        status: Status::Ready,
        dependencies: Arc::default(),
        create_before_destroy: false,
        skip_destroy: false,
        identity: None,
    };
    let provider = "provider[\"h.example/n/t\"]".parse().unwrap();
    let object = outcome_object(&address, None, &provider, &object).unwrap();
    Record::Outcome(Outcome {
        subject: Subject::Object(address, None),
        object: Some(object),
    })
}

/// Serial, objects and uncertain intents, as text.
fn tell(found: &Recovered) -> String {
    let objects: Vec<String> = found
        .state
        .objects()
        .map(|(address, ..)| address.to_string())
        .collect();
    let uncertain: Vec<String> = found
        .uncertain
        .iter()
        .map(|intent| format!("{}?", intent.subject))
        .collect();
    format!(
        "{} {}",
        found.state.serial,
        [objects, uncertain].concat().join(" ")
    )
}

/// What a run finds, and whoever looks after it.
async fn check(folder: &Path, want: &str) {
    let (store, found) = FileStore::open(folder, APPLY).await.unwrap();
    assert_eq!(tell(&found), want);
    drop(store);
    assert_eq!(tell(&FileStore::peek(folder).await.unwrap()), want);
}

#[tokio::test]
async fn a_run_that_breaks_off_loses_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let (store, found) = FileStore::open(folder.path(), APPLY).await.unwrap();
    assert_eq!(tell(&found), "0 ");
    store.save(state(1), 0).await.unwrap();
    store.journal(vec![intent("t.a"), intent("t.b")]).await.unwrap();
    store.journal(vec![outcome("t.a")]).await.unwrap();
    drop(store);
    assert_eq!(tell(&FileStore::peek(folder.path()).await.unwrap()), "1 t.a t.b?");
    // A second run finds it too, and saves it before anything else: Terraform sees it from then on.
    let (store, found) = FileStore::open(folder.path(), APPLY).await.unwrap();
    assert_eq!((tell(&found).as_str(), found.changed), ("2 t.a t.b?", false));
    let stored = fs::read(folder.path().join(STATE)).unwrap();
    assert_eq!(ashlar_state::read(&stored).unwrap(), found.state);
    assert_eq!(
        fs::read(folder.path().join("terraform.tfstate.backup")).unwrap(),
        state(1)
    );
    // What is still open stays.
    store.journal(vec![intent("t.c")]).await.unwrap();
    store.save(state(3), 1).await.unwrap();
    drop(store);
    check(folder.path(), "3 t.b? t.c?").await;
    let (store, _) = FileStore::open(folder.path(), APPLY).await.unwrap();
    store.journal(vec![outcome("t.b"), outcome("t.c")]).await.unwrap();
    store.save(state(4), 2).await.unwrap();
    drop(store);
    check(folder.path(), "4 ").await;
    assert!(!folder.path().join(".ashlar/journal.jsonl").exists());
}

#[tokio::test]
async fn a_state_that_someone_else_wrote_is_not_overwritten_by_an_old_journal() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(STATE);
    let (store, _) = FileStore::open(folder.path(), APPLY).await.unwrap();
    store.save(state(1), 0).await.unwrap();
    store
        .journal(vec![intent("t.a"), outcome("t.a"), intent("t.b")])
        .await
        .unwrap();
    drop(store);
    // Terraform was at it, and wrote a state of its own.
    fs::write(&path, state(7)).unwrap();
    for _ in 0..2 {
        let (store, found) = FileStore::open(folder.path(), APPLY).await.unwrap();
        assert_eq!(tell(&found), "7 t.a? t.b?");
        drop(store);
    }
    assert_eq!(fs::read(&path).unwrap(), state(7));
    let found = FileStore::peek(folder.path()).await.unwrap();
    assert!(!found.changed);
    // A person finds out, and the journal goes on from the state that is there.
    let (store, _) = FileStore::open(folder.path(), APPLY).await.unwrap();
    store.journal(vec![outcome("t.a")]).await.unwrap();
    drop(store);
    check(folder.path(), "8 t.a t.b?").await;
}

#[tokio::test]
async fn the_warning_says_that_someone_else_wrote_the_state() {
    let folder = tempfile::tempdir().unwrap();
    let (store, _) = FileStore::open(folder.path(), APPLY).await.unwrap();
    store.journal(vec![intent("t.a"), outcome("t.a")]).await.unwrap();
    drop(store);
    fs::write(folder.path().join(STATE), state(7)).unwrap();
    let told = FileStore::peek(folder.path()).await.unwrap().warnings.to_string();
    assert!(
        told.contains("someone else") && told.contains("t.a (create)"),
        "{told}"
    );
}

#[tokio::test]
async fn a_crash_between_state_and_journal_does_not_replay_what_is_saved() {
    let folder = tempfile::tempdir().unwrap();
    let journal = folder.path().join(".ashlar/journal.jsonl");
    let (store, _) = FileStore::open(folder.path(), APPLY).await.unwrap();
    store.journal(vec![intent("t.a"), outcome("t.a")]).await.unwrap();
    let before = fs::read(&journal).unwrap();
    let mut model = Journal::read(&before).unwrap().0;
    let mark = model.saving(&digest(&state(1)), 2).unwrap();
    store.save(state(1), 2).await.unwrap();
    drop(store);
    check(folder.path(), "1 ").await;
    fs::write(&journal, [before.clone(), mark].concat()).unwrap();
    check(folder.path(), "1 ").await;
    fs::remove_file(folder.path().join(STATE)).unwrap();
    fs::write(&journal, before).unwrap();
    check(folder.path(), "1 t.a").await;
}

#[tokio::test]
async fn a_torn_line_is_cut_off_before_more_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let journal = folder.path().join(".ashlar/journal.jsonl");
    let (store, _) = FileStore::open(folder.path(), APPLY).await.unwrap();
    store.journal(vec![intent("t.a"), intent("t.b")]).await.unwrap();
    drop(store);
    let bytes = fs::read(&journal).unwrap();
    fs::write(&journal, &bytes[..bytes.len() - 5]).unwrap();
    check(folder.path(), "0 t.a?").await;
    let (store, _) = FileStore::open(folder.path(), APPLY).await.unwrap();
    store.journal(vec![intent("t.c")]).await.unwrap();
    drop(store);
    check(folder.path(), "0 t.a? t.c?").await;
    // So is a torn first record, behind the line that names the state.
    let bytes = fs::read(&journal).unwrap();
    let first = bytes.iter().position(|byte| *byte == b'\n').unwrap();
    for cut in [5, first, first + 1, first + 9] {
        fs::write(&journal, &bytes[..cut]).unwrap();
        let (store, found) = FileStore::open(folder.path(), APPLY).await.unwrap();
        assert_eq!(tell(&found), "0 ");
        store.journal(vec![intent("t.d")]).await.unwrap();
        drop(store);
        check(folder.path(), "0 t.d?").await;
    }
}

#[tokio::test]
async fn only_one_may_hold_a_folder() {
    let folder = tempfile::tempdir().unwrap();
    let (store, _) = FileStore::open(folder.path(), APPLY).await.unwrap();
    store.save(state(1), 0).await.unwrap();
    let told = fs::read_to_string(folder.path().join(".terraform.tfstate.lock.info")).unwrap();
    assert_eq!(LockInfo::from_json(&told).unwrap().operation, APPLY);
    let diags = FileStore::open(folder.path(), "OperationTypePlan")
        .await
        .map(drop)
        .unwrap_err();
    assert!(
        diags
            .iter()
            .any(|diag| diag.summary == lock::SUMMARY && diag.detail.contains(APPLY)),
        "{diags}"
    );
    drop(store);
    assert!(!folder.path().join(".terraform.tfstate.lock.info").exists());
    FileStore::open(folder.path(), APPLY).await.map(drop).unwrap();
}

#[tokio::test]
async fn files_with_secrets_are_the_owners_alone() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let (store, _) = FileStore::open(folder.path(), APPLY).await.unwrap();
    store.save(state(1), 0).await.unwrap();
    store.journal(vec![intent("t.a")]).await.unwrap();
    for file in ["terraform.tfstate", ".ashlar/journal.jsonl"] {
        let mode = fs::metadata(folder.path().join(file))
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o077, 0, "{file}");
    }
}

#[tokio::test]
async fn a_damaged_state_is_an_error_and_stays() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join(STATE), "{").unwrap();
    assert!(FileStore::open(folder.path(), APPLY).await.is_err());
    assert_eq!(fs::read(folder.path().join(STATE)).unwrap(), b"{");
}
