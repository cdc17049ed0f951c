//! An API server that is away, does not answer, or is used by others at the wrong moment.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU8, AtomicUsize, Ordering},
    },
    time::Duration,
};

use ashlar_port::{RunStore, StopFlag};
use ashlar_store::{
    LockInfo,
    kube::{Asked, KubeStore, Lock, acquire, peek},
};
use http::{Method, Request};
use k8s_openapi::{ByteString, api::core::v1::Secret, apimachinery::pkg::apis::meta::v1::ObjectMeta};
use kube::{
    Client,
    api::{DeleteParams, PostParams},
    client::Body,
};
use tokio::sync::Notify;

use crate::world::*;

const UP: u8 = 0;
/// Nothing gets through.
const AWAY: u8 = 1;
/// Requests that change something get through, their answers do not.
const DEAF: u8 = 2;
/// Whenever something is about to be made, someone else is faster.
const LATE: u8 = 3;

/// A connection that fails when it is told to.
#[derive(Clone)]
struct Line {
    mode: Arc<AtomicU8>,
    /// After so many failures it works again.
    failures: Arc<AtomicUsize>,
}

impl Line {
    fn set(&self, mode: u8, failures: usize) {
        self.failures.store(failures, Ordering::SeqCst);
        self.mode.store(mode, Ordering::SeqCst);
    }

    /// Does this request fail?
    fn fails(&self, mode: u8) -> bool {
        if self.mode.load(Ordering::SeqCst) != mode {
            return false;
        }
        let left = self.failures.load(Ordering::SeqCst);
        if left == 0 {
            self.mode.store(UP, Ordering::SeqCst);
            return false;
        }
        self.failures.store(left - 1, Ordering::SeqCst);
        true
    }
}

fn client_over(client: &Client, line: &Line) -> Client {
    let (client, line) = (client.clone(), line.clone());
    let service = tower::service_fn(move |request: Request<Body>| {
        let (client, line) = (client.clone(), line.clone());
        async move {
            let broken = || std::io::Error::other("the line is broken");
            if line.fails(AWAY) {
                return Err(broken());
            }
            let changes = request.method() != Method::GET;
            if request.method() == Method::POST && line.fails(LATE) {
                let folder = request.uri().path().to_owned();
                let path = format!("{folder}?fieldManager=other");
                let other = serde_json::to_vec(&other_state()).unwrap_or_default();
                let post = Request::post(path)
                    .header("Content-Type", "application/json")
                    .body(Body::from(other))
                    .map_err(std::io::Error::other)?;
                client.send(post).await.map_err(std::io::Error::other)?;
            }
            let answer = client.send(request).await.map_err(std::io::Error::other)?;
            if changes && line.fails(DEAF) {
                Err(broken())
            } else {
                Ok(answer)
            }
        }
    });
    Client::new(service, "default")
}

/// What someone else puts in the state's place.
fn other_state() -> Secret {
    Secret {
        metadata: ObjectMeta {
            name: Some(STATE.into()),
            ..ObjectMeta::default()
        },
        data: Some([("tfstate".to_owned(), ByteString(b"other".to_vec()))].into()),
        ..Secret::default()
    }
}

/// A run over a line.
async fn run(world: &World) -> (Line, Lock, KubeStore, StopFlag) {
    let line = Line {
        mode: Arc::default(),
        failures: Arc::default(),
    };
    let client = client_over(&world.client, &line);
    let stop = StopFlag::new();
    let info = LockInfo::new("OperationTypeApply", "ashlar@test", "");
    let asked = acquire(&client, &world.slot, &world.presence, info, stop.clone()).await;
    let Asked::Held(lock) = asked.unwrap() else {
        panic!("the lock is free");
    };
    let (store, _) = KubeStore::open(&client, &lock, None).await.unwrap();
    (line, lock, store, stop)
}

async fn after(line: &Line, seconds: u64) {
    line.set(AWAY, usize::MAX);
    let line = line.clone();
    tokio::spawn(async move {
        tokio::time::sleep(Duration::from_secs(seconds)).await;
        line.set(UP, 0);
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn a_short_outage_is_waited_out() {
    let world = world().await;
    let (line, _lock, store, stop) = run(&world).await;
    store.begin("sha256:ab").await.unwrap();
    after(&line, 20).await;
    let (journalled, saved) = tokio::join!(
        store.journal(vec![intent("t.a"), outcome("t.a", 1)]),
        store.save(state(1, 0), 0)
    );
    journalled.unwrap();
    saved.unwrap();
    assert!(!stop.is_set());
    drop(store);
    assert_eq!(tell(&world.peek().await), "1 t.a");
}

#[tokio::test(flavor = "multi_thread")]
async fn after_a_long_outage_the_state_is_saved_if_nobody_took_the_lock() {
    let world = world().await;
    let (line, _lock, store, stop) = run(&world).await;
    store.journal(vec![intent("t.a")]).await.unwrap();
    after(&line, 80).await;
    let (journalled, saved) =
        tokio::join!(store.journal(vec![outcome("t.a", 1)]), store.save(state(1, 0), 0));
    // Nothing may be started any more, and what a run had done is told to the state.
    let told = journalled.unwrap_err().to_string();
    assert!(told.contains("the line is broken"), "{told}");
    assert!(stop.is_set());
    saved.unwrap();
    // What was not written is handed in again.
    store.journal(vec![outcome("t.a", 1)]).await.unwrap();
    drop(store);
    assert_eq!(tell(&world.peek().await), "1 t.a");
}

#[tokio::test(flavor = "multi_thread")]
async fn writes_whose_answers_are_lost_are_recognised() {
    let world = world().await;
    let (line, _lock, store, _) = run(&world).await;
    for (at, failures) in [(0, 1), (1, 1), (2, 3), (3, 7)] {
        line.set(DEAF, failures);
        let name = format!("t.a[{at}]");
        store
            .journal(vec![intent(&name), outcome(&name, 1)])
            .await
            .unwrap();
        line.set(DEAF, failures);
        store.save(state(at + 1, 0), 0).await.unwrap();
    }
    line.set(DEAF, 3);
    store.save(state(5, 1_500_000), 0).await.unwrap();
    drop(store);
    assert_eq!(tell(&world.peek().await), "5 t.a[0] t.a[1] t.a[2] t.a[3] t.big");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_state_that_appears_meanwhile_is_not_overwritten() {
    let world = world().await;
    let (line, _lock, store, _) = run(&world).await;
    store.save(state(1, 0), 0).await.unwrap();
    world
        .secrets()
        .delete(STATE, &DeleteParams::default())
        .await
        .unwrap();
    // The store finds out that it is gone, and before it can make it anew someone puts another one there.
    line.set(LATE, 1);
    let told = store.save(state(2, 0), 0).await.unwrap_err().to_string();
    assert!(told.contains("without the lock"), "{told}");
    let found = world.secrets().get(STATE).await.unwrap();
    assert_eq!(found.data, other_state().data);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_journal_that_was_left_alone_does_not_shut_anyone_out() {
    let world = world().await;
    let (lock, store, _) = world.open().await;
    store.journal(vec![intent("t.a")]).await.unwrap();
    drop(store);
    lock.delete().await.unwrap();
    let mut journal = world.secrets().get(JOURNAL).await.unwrap();
    let notes = journal.metadata.annotations.as_mut().unwrap();
    notes.insert("ashlar.dev/fence".into(), "400".into());
    // As a backup brings it back: without the state it belonged to.
    journal.metadata.owner_references = None;
    journal.metadata.resource_version = None;
    world
        .secrets()
        .delete(JOURNAL, &DeleteParams::default())
        .await
        .unwrap();
    world
        .secrets()
        .delete(STATE, &DeleteParams::default())
        .await
        .unwrap();
    world
        .secrets()
        .create(&PostParams::default(), &journal)
        .await
        .unwrap();
    let (_lock, store, found) = world.open().await;
    assert_eq!(tell(&found), "0 t.a?");
    store.journal(vec![intent("t.b")]).await.unwrap();
    store.save(state(1, 0), 0).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_looks_while_a_run_saves_sees_no_less_than_there_is() {
    let world = world().await;
    let (_lock, store, _) = world.open().await;
    store.save(state(1, 0), 0).await.unwrap();
    store
        .journal(vec![intent("t.big"), outcome("t.big", 1)])
        .await
        .unwrap();
    let (looked, went_on) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (client, told, awaited) = (world.client.clone(), looked.clone(), went_on.clone());
    let first = Arc::new(AtomicBool::new(true));
    // Between the first and the second request of whoever looks, the run saves and leaves out what is saved.
    let service = tower::service_fn(move |request: Request<Body>| {
        let (client, told, awaited) = (client.clone(), told.clone(), awaited.clone());
        let first = first.swap(false, Ordering::SeqCst);
        async move {
            let answer = client.send(request).await;
            if first {
                told.notify_one();
                awaited.notified().await;
            }
            answer
        }
    });
    let client = Client::new(service, "default");
    let (found, ()) = tokio::join!(peek(&client, &world.slot), async {
        looked.notified().await;
        store.save(state(2, 10), 2).await.unwrap();
        store.journal(vec![intent("t.z")]).await.unwrap();
        went_on.notify_one();
    });
    assert_eq!(tell(&found.unwrap()), "2 t.big t.z?");
}
