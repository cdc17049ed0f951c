use ashlar_port::{Intent, Outcome};
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
        address: address.parse().unwrap(),
        deposed: None,
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
        identity: None,
    };
    let provider = "provider[\"h.example/n/t\"]".parse().unwrap();
    let object = outcome_object(&address, None, &provider, &object).unwrap();
    Record::Outcome(Outcome {
        address,
        deposed: None,
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
        .map(|intent| format!("{}?", intent.address))
        .collect();
    format!(
        "{} {}",
        found.state.serial,
        [objects, uncertain].concat().join(" ")
    )
}

async fn check(folder: &Path, want: &str) {
    assert_eq!(tell(&FileStore::peek(folder).await.unwrap()), want);
    let (_store, found) = FileStore::open(folder, APPLY).await.unwrap();
    assert_eq!(tell(&found), want);
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
    check(folder.path(), "1 t.a t.b?").await;
    // A second run finds it too, saves, and leaves only what is still open.
    let (store, _) = FileStore::open(folder.path(), APPLY).await.unwrap();
    store.journal(vec![intent("t.c")]).await.unwrap();
    store.save(state(2), 1).await.unwrap();
    drop(store);
    check(folder.path(), "2 t.b? t.c?").await;
    let (store, _) = FileStore::open(folder.path(), APPLY).await.unwrap();
    store.journal(vec![outcome("t.b"), outcome("t.c")]).await.unwrap();
    store.save(state(3), 2).await.unwrap();
    drop(store);
    check(folder.path(), "3 ").await;
    assert!(!folder.path().join(".ashlar/journal.jsonl").exists());
    assert_eq!(
        fs::read(folder.path().join("terraform.tfstate.backup")).unwrap(),
        state(2)
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
    let plans = store.plans();
    plans.save("sha256:ab12", b"plan".to_vec()).await.unwrap();
    assert_eq!(plans.load("sha256:ab12").await.unwrap().unwrap(), b"plan");
    assert!(plans.load("../terraform.tfstate").await.is_err());
    for file in [
        "terraform.tfstate",
        ".ashlar/journal.jsonl",
        ".ashlar/plans/sha256-ab12",
    ] {
        let mode = fs::metadata(folder.path().join(file))
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o077, 0, "{file}");
    }
    plans.remove("sha256:ab12").await.unwrap();
    assert!(plans.load("sha256:ab12").await.unwrap().is_none());
}

#[tokio::test]
async fn a_damaged_state_is_an_error_and_stays() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join(STATE), "{").unwrap();
    assert!(FileStore::open(folder.path(), APPLY).await.is_err());
    assert_eq!(fs::read(folder.path().join(STATE)).unwrap(), b"{");
}
