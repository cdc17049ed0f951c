//! The lock: who gets it, who loses it, and what the loser may still do.

use std::sync::Arc;

use ashlar_port::{RunStore, StopFlag};
use ashlar_store::{
    LockInfo,
    kube::{Asked, KubeStore, Presence, acquire},
};
use k8s_openapi::{
    apimachinery::pkg::apis::meta::v1::MicroTime,
    jiff::{SignedDuration, Timestamp},
};

use crate::world::*;

#[tokio::test(flavor = "multi_thread")]
async fn whoever_lost_the_lock_writes_nothing_more() {
    let world = world().await;
    let stop = StopFlag::new();
    let info = LockInfo::new("OperationTypeApply", "ashlar@test", "");
    let Asked::Held(lock) = acquire(&world.client, &world.slot, &world.presence, info, stop.clone())
        .await
        .unwrap()
    else {
        panic!("the lock is free");
    };
    let (old, _) = KubeStore::open(&world.client, &lock, None).await.unwrap();
    old.journal(vec![intent("t.a")]).await.unwrap();
    // Forced open by a person, and taken by another run.
    world
        .meddle(|lease| lease.spec.as_mut().unwrap().holder_identity = None)
        .await;
    let (new_lock, new, found) = world.open().await;
    assert_eq!(tell(&found), "0 t.a?");
    for diags in [
        old.journal(vec![outcome("t.a", 1)]).await.unwrap_err(),
        old.save(state(1, 0), 0).await.unwrap_err(),
        old.save(state(1, 1_500_000), 0).await.unwrap_err(),
    ] {
        assert!(diags.to_string().contains("later holder"), "{diags}");
    }
    new.save(state(1, 0), 0).await.unwrap();
    // The renewal finds out too, and tells the run.
    tokio::time::timeout(std::time::Duration::from_secs(30), async {
        while !stop.is_set() {
            tokio::time::sleep(std::time::Duration::from_millis(200)).await;
        }
    })
    .await
    .unwrap();
    assert!(old.journal(vec![intent("t.b")]).await.is_err());
    // What the loser had uploaded is swept up by the next holder.
    assert_ne!(world.chunks().await, 0);
    // Giving back what is another's does nothing.
    lock.release().await.unwrap();
    new.journal(vec![intent("t.c")]).await.unwrap();
    drop(new);
    new_lock.release().await.unwrap();
    let (_lock, _store, found) = world.open().await;
    assert_eq!(
        (tell(&found), world.chunks().await),
        ("1 t.a? t.c?".to_owned(), 0)
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lock_is_taken_over_only_from_a_replica_that_is_gone() {
    let world = world().await;
    let past = MicroTime(Timestamp::now() - SignedDuration::from_secs(600));
    let other = Presence::announce(&world.client, &world.namespace, "other")
        .await
        .unwrap();
    let info = LockInfo::new("OperationTypeApply", "ashlar@other", "");
    let Asked::Held(held) = acquire(&world.client, &world.slot, &other, info, StopFlag::new())
        .await
        .unwrap()
    else {
        panic!("the lock is free");
    };
    let busy = |asked: Asked| match asked {
        Asked::Busy(holder) => holder,
        Asked::Held(_) => panic!("the lock is taken"),
    };
    assert_eq!(busy(world.ask().await).replica.as_deref(), Some(other.id()));
    // The process is as good as dead: nothing renews the lock, then not the presence either.
    drop(held);
    world
        .meddle(|lease| lease.spec.as_mut().unwrap().renew_time = Some(past.clone()))
        .await;
    busy(world.ask().await);
    other.leave().await.unwrap();
    let lock = world.lock().await;
    lock.release().await.unwrap();
    // A command line's lock is never taken over, however old.
    world
        .meddle(|lease| {
            let spec = lease.spec.as_mut().unwrap();
            spec.holder_identity = Some("cli".into());
            let info = r#"{"ID":"cli","Operation":"OperationTypeApply","Who":"ada@host","Created":"2020-01-01T00:00:00Z"}"#;
            lease.metadata.annotations.get_or_insert_default().insert("app.terraform.io/lock-info".into(), info.into());
        })
        .await;
    let told = busy(world.ask().await).to_string();
    assert!(
        told.contains("ada@host since 2020-01-01T00:00:00Z") && told.contains("force-unlock cli"),
        "{told}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn of_many_that_ask_one_gets_the_lock() {
    let world = Arc::new(world().await);
    let mut asking = tokio::task::JoinSet::new();
    for _ in 0..8 {
        let world = world.clone();
        asking.spawn(async move { world.ask().await });
    }
    let answers = asking.join_all().await;
    assert_eq!(
        answers
            .iter()
            .filter(|answer| matches!(answer, Asked::Held(_)))
            .count(),
        1
    );
}
