//! The journal: what it gives back after a run that broke off, and whose it is.

use std::time::Duration;

use ashlar_port::RunStore;
use ashlar_state::Journal;
use ashlar_store::{
    StateOwner,
    kube::{KubeStore, peek},
};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{
    Api,
    api::{DeleteParams, ListParams},
};

use crate::world::*;

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_breaks_off_loses_nothing() {
    let world = world().await;
    let (lock, store, _) = world.open().await;
    store.save(state(1, 0), 0).await.unwrap();
    store.journal(vec![intent("t.a"), intent("t.b")]).await.unwrap();
    store.journal(vec![outcome("t.a", 10)]).await.unwrap();
    drop(store);
    lock.release().await.unwrap();
    assert_eq!(
        tell(&peek(&world.client, &world.slot).await.unwrap()),
        "1 t.a t.b?"
    );
    let (lock, store, found) = world.open().await;
    assert_eq!(tell(&found), "2 t.a t.b?");
    assert!(!found.changed && found.warnings.len() == 2);
    // Saved before anything else: Terraform sees it from then on.
    assert_eq!(world.stored().await, found.state);
    store.journal(vec![intent("t.c")]).await.unwrap();
    store.save(state(3, 0), 1).await.unwrap();
    drop(store);
    lock.release().await.unwrap();
    let (lock, store, found) = world.open().await;
    assert_eq!(tell(&found), "3 t.b? t.c?");
    store
        .journal(vec![outcome("t.b", 1), outcome("t.c", 1)])
        .await
        .unwrap();
    store.save(state(4, 0), 2).await.unwrap();
    store.close().await.unwrap();
    lock.release().await.unwrap();
    let journal = world.secrets().get(JOURNAL).await.unwrap().data.unwrap();
    let (journal, _) = Journal::read(&journal["journal"].0).unwrap();
    assert!(journal.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_only_looks_leaves_nothing_behind() {
    let world = world().await;
    let (lock, store, _) = world.open().await;
    store.close().await.unwrap();
    lock.release().await.unwrap();
    let left = world.secrets().list(&ListParams::default()).await.unwrap().items;
    assert!(left.is_empty(), "{left:?}");
    // Nor does one that has nothing to remove.
    let (lock, store, _) = world.open().await;
    store.delete().await.unwrap();
    lock.delete().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_journal_goes_with_the_state_and_not_with_the_workspace() {
    let world = world().await;
    let owner = world.owner().await;
    let lock = world.lock().await;
    let workspace = StateOwner {
        name: owner.name.clone(),
        uid: owner.uid,
    };
    let (store, _) = KubeStore::open(&world.client, &lock, Some(workspace))
        .await
        .unwrap();
    store.begin("sha256:ab").await.unwrap();
    store
        .journal(vec![intent("t.a"), outcome("t.a", 1), intent("t.b")])
        .await
        .unwrap();
    // Killed in the midst of its work; then the workspace goes, in whatever way.
    drop((store, lock));
    let configs: Api<ConfigMap> = Api::namespaced(world.client.clone(), &world.namespace);
    configs
        .delete(&owner.name, &DeleteParams::foreground())
        .await
        .unwrap();
    let of_journal = async || {
        let journal = world.secrets().get(JOURNAL).await.unwrap();
        let owners = journal.metadata.owner_references.unwrap();
        assert_eq!(owners.len(), 1);
        owners[0].uid.clone()
    };
    let of_state = async || world.secrets().get(STATE).await.unwrap().metadata.uid.unwrap();
    assert_eq!(of_journal().await, of_state().await);
    world
        .meddle(|lease| lease.spec.as_mut().unwrap().holder_identity = None)
        .await;
    // The state is left to others: what is known is saved, what is not is noted, for people and for whoever is next.
    let (lock, store, found) = world.open().await;
    assert_eq!(tell(&found), "1 t.a t.b?");
    store.leave(&found.uncertain).await.unwrap();
    lock.release().await.unwrap();
    let note = async || {
        let mut notes = world
            .secrets()
            .get(STATE)
            .await
            .unwrap()
            .metadata
            .annotations
            .unwrap();
        notes.remove("ashlar.dev/uncertain-changes")
    };
    assert_eq!(note().await.as_deref(), Some("t.b (create)"));
    assert_eq!(world.stored().await.objects().count(), 1);
    let (lock, store, found) = world.open().await;
    assert_eq!(tell(&found), "1 t.a t.b?");
    store.journal(vec![outcome("t.b", 1)]).await.unwrap();
    store.save(state(2, 0), 1).await.unwrap();
    store.close().await.unwrap();
    assert_eq!(note().await, None);
    // Made anew, the state takes the journal over.
    let (store, _) = KubeStore::open(&world.client, &lock, None).await.unwrap();
    store.journal(vec![intent("t.c")]).await.unwrap();
    world
        .secrets()
        .delete(STATE, &DeleteParams::default())
        .await
        .unwrap();
    store.save(state(3, 0), 0).await.unwrap();
    assert_eq!(of_journal().await, of_state().await);
    drop(store);
    world
        .secrets()
        .delete(STATE, &DeleteParams::default())
        .await
        .unwrap();
    let gone = async {
        while world.secrets().get_opt(JOURNAL).await.unwrap().is_some() {
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), gone).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_journal_that_was_emptied_counts_on() {
    let world = world().await;
    let (lock, store, _) = world.open().await;
    store
        .journal(vec![intent("t.a"), outcome("t.a", 1)])
        .await
        .unwrap();
    store.save(state(1, 0), 2).await.unwrap();
    store.close().await.unwrap();
    lock.release().await.unwrap();
    // The second run breaks off before it saves for the first time.
    let (lock, store, found) = world.open().await;
    assert_eq!(tell(&found), "1 ");
    store
        .journal(vec![intent("t.b"), outcome("t.b", 1)])
        .await
        .unwrap();
    drop(store);
    lock.release().await.unwrap();
    assert_eq!(tell(&world.peek().await), "1 t.b");
    // So does one that was removed.
    let (lock, store, _) = world.open().await;
    store.close().await.unwrap();
    world
        .secrets()
        .delete(JOURNAL, &DeleteParams::default())
        .await
        .unwrap();
    lock.release().await.unwrap();
    let (lock, store, found) = world.open().await;
    assert_eq!(tell(&found), "2 t.b");
    store
        .journal(vec![intent("t.c"), outcome("t.c", 1)])
        .await
        .unwrap();
    drop((store, lock));
    assert_eq!(tell(&world.peek().await), "2 t.b t.c");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_old_journal_is_not_put_over_what_someone_else_wrote() {
    let world = world().await;
    let (lock, store, _) = world.open().await;
    store.begin("sha256:ab").await.unwrap();
    store
        .journal(vec![intent("t.a"), outcome("t.a", 1)])
        .await
        .unwrap();
    store.save(state(1, 0), 2).await.unwrap();
    store
        .journal(vec![intent("t.b"), outcome("t.b", 1), intent("t.c")])
        .await
        .unwrap();
    drop(store);
    lock.release().await.unwrap();
    world.terraform_writes(&state(7, 5)).await;
    let found = world.peek().await;
    assert_eq!(tell(&found), "7 t.big t.b? t.c?");
    assert!(!found.changed);
    for _ in 0..2 {
        let (lock, store, found) = world.open().await;
        assert_eq!(tell(&found), "7 t.big t.b? t.c?");
        let told = found.warnings.to_string();
        assert!(
            told.contains("someone else") && told.contains("t.b (create)"),
            "{told}"
        );
        drop(store);
        lock.release().await.unwrap();
    }
    // Once looked after, the journal goes on from the state that is there.
    let (lock, store, _) = world.open().await;
    store
        .journal(vec![outcome("t.b", 1), outcome("t.c", 1)])
        .await
        .unwrap();
    drop(store);
    lock.release().await.unwrap();
    let (_lock, _store, found) = world.open().await;
    assert_eq!(tell(&found), "8 t.b t.big t.c");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_journal_rolls_into_chunks() {
    let world = world().await;
    let (lock, store, _) = world.open().await;
    for at in 0..6 {
        store
            .journal(vec![
                intent(&format!("t.a[{at}]")),
                outcome(&format!("t.a[{at}]"), 300_000),
            ])
            .await
            .unwrap();
    }
    store.journal(vec![outcome("t.huge", 2_000_000)]).await.unwrap();
    assert!(world.chunks().await >= 3);
    drop(store);
    lock.release().await.unwrap();
    let (lock, store, found) = world.open().await;
    assert_eq!(found.state.objects().count(), 7);
    store.save(state(1, 0), 0).await.unwrap();
    store.journal(vec![intent("t.z")]).await.unwrap();
    assert_eq!(world.chunks().await, 0);
    drop(store);
    lock.release().await.unwrap();
    assert_eq!(tell(&peek(&world.client, &world.slot).await.unwrap()), "1 t.z?");
}
