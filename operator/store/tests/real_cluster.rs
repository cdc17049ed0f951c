//! The store against a real API server, named by KUBECONFIG. Each test has a namespace of its own.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test")]

use std::{
    collections::BTreeMap,
    io::{Read, Write},
    sync::Arc,
};

use ashlar_port::{Intent, Outcome, Record, RunStore, StopFlag};
use ashlar_state::{Object, State, Status, outcome_object};
use ashlar_store::{
    LockInfo, Recovered,
    kube::{Asked, KubeStore, Lock, OperatorKey, PlanStore, Presence, Slot, acquire, peek},
};
use flate2::{Compression, read::GzDecoder, write::GzEncoder};
use k8s_openapi::{
    ByteString,
    api::{
        coordination::v1::Lease,
        core::v1::{ConfigMap, Namespace, Secret},
    },
    apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta, OwnerReference},
    jiff::{SignedDuration, Timestamp},
};
use kube::{
    Api, Client,
    api::{ListParams, PostParams},
};

const CHUNKS: &str = "ashlar.dev/chunks-of";

struct World {
    client: Client,
    namespace: String,
    slot: Slot,
    presence: Presence,
}

async fn world() -> World {
    let client = Client::try_default().await.unwrap();
    let namespace = format!("store-{}", hex::encode(rand::random::<[u8; 6]>()));
    let object = Namespace {
        metadata: ObjectMeta {
            name: Some(namespace.clone()),
            ..ObjectMeta::default()
        },
        ..Namespace::default()
    };
    Api::all(client.clone())
        .create(&PostParams::default(), &object)
        .await
        .unwrap();
    let slot = Slot::new(
        &namespace,
        "default",
        "sample",
        BTreeMap::from([("team".into(), "demo".into())]),
    )
    .unwrap();
    let presence = Presence::announce(&client, &namespace, "Test.Host")
        .await
        .unwrap();
    World {
        client,
        namespace,
        slot,
        presence,
    }
}

impl World {
    fn secrets(&self) -> Api<Secret> {
        Api::namespaced(self.client.clone(), &self.namespace)
    }

    fn leases(&self) -> Api<Lease> {
        Api::namespaced(self.client.clone(), &self.namespace)
    }

    async fn ask(&self) -> Asked {
        let info = LockInfo::new("OperationTypeApply", "ashlar@test", "");
        acquire(&self.client, &self.slot, &self.presence, info, StopFlag::new())
            .await
            .unwrap()
    }

    async fn lock(&self) -> Lock {
        match self.ask().await {
            Asked::Held(lock) => lock,
            Asked::Busy(holder) => panic!("{}", holder.diags()),
        }
    }

    async fn open(&self) -> (Lock, KubeStore, Recovered) {
        let lock = self.lock().await;
        let (store, found) = KubeStore::open(&self.client, &lock, None).await.unwrap();
        (lock, store, found)
    }

    /// Changes the Lease as another client would.
    async fn meddle(&self, change: impl FnOnce(&mut Lease)) {
        let mut lease = self.leases().get(&self.slot.lease()).await.unwrap();
        change(&mut lease);
        self.leases()
            .replace(&self.slot.lease(), &PostParams::default(), &lease)
            .await
            .unwrap();
    }

    async fn chunks(&self) -> usize {
        self.secrets()
            .list_metadata(&ListParams::default().labels(CHUNKS))
            .await
            .unwrap()
            .items
            .len()
    }

    async fn owner(&self) -> OwnerReference {
        let object = ConfigMap {
            metadata: ObjectMeta {
                generate_name: Some("owner-".into()),
                ..ObjectMeta::default()
            },
            ..ConfigMap::default()
        };
        let api: Api<ConfigMap> = Api::namespaced(self.client.clone(), &self.namespace);
        let object = api.create(&PostParams::default(), &object).await.unwrap();
        OwnerReference {
            api_version: "v1".into(),
            kind: "ConfigMap".into(),
            name: object.metadata.name.unwrap(),
            uid: object.metadata.uid.unwrap(),
            ..OwnerReference::default()
        }
    }
}

fn object(attributes: Vec<u8>) -> Object {
    Object {
        schema_version: 0,
        attributes: attributes.into(),
        sensitive: Vec::new(),
        private: Arc::default(),
        status: Status::Ready,
        dependencies: Arc::default(),
        create_before_destroy: false,
        identity: None,
    }
}

/// A state that stays about this large when packed.
fn state(serial: u64, size: usize) -> Vec<u8> {
    let mut state = State {
        lineage: "l".into(),
        serial,
        ..State::default()
    };
    if size > 0 {
        let noise = hex::encode((0..size).map(|_| rand::random::<u8>()).collect::<Vec<u8>>());
        let address = "t.big".parse().unwrap();
        let provider = "provider[\"h.example/n/t\"]".parse().unwrap();
        state.set(
            &address,
            None,
            &provider,
            Some(object(format!("{{\"a\":\"{noise}\"}}").into_bytes()).into()),
        );
    }
    ashlar_state::write(&state, "1.15.5").unwrap()
}

fn intent(address: &str) -> Record {
    Record::Intent(Intent {
        address: address.parse().unwrap(),
        deposed: None,
        action: "create".into(),
    })
}

fn outcome(address: &str, size: usize) -> Record {
    let address = address.parse().unwrap();
    let provider = "provider[\"h.example/n/t\"]".parse().unwrap();
    let object = object(format!("{{\"a\":\"{}\"}}", "x".repeat(size)).into_bytes());
    let object = outcome_object(&address, None, &provider, &object).unwrap();
    Record::Outcome(Outcome {
        address,
        deposed: None,
        object: Some(object),
    })
}

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

fn unpack(packed: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    GzDecoder::new(packed).read_to_end(&mut bytes).unwrap();
    bytes
}

#[tokio::test(flavor = "multi_thread")]
async fn a_small_state_is_laid_out_as_terraform_has_it() {
    let world = world().await;
    let (lock, store, found) = world.open().await;
    assert_eq!(tell(&found), "0 ");
    store.save(state(1, 0), 0).await.unwrap();
    let secret = world.secrets().get("tfstate-default-sample").await.unwrap();
    let labels = secret.metadata.labels.unwrap();
    let want = [
        ("app.kubernetes.io/managed-by", "terraform"),
        ("team", "demo"),
        ("tfstate", "true"),
        ("tfstateSecretSuffix", "sample"),
        ("tfstateWorkspace", "default"),
    ];
    assert_eq!(
        labels,
        want.into_iter()
            .map(|(k, v)| (k.to_owned(), v.to_owned()))
            .collect()
    );
    assert_eq!(secret.metadata.annotations.unwrap()["encoding"], "gzip");
    assert_eq!(secret.type_.unwrap(), "Opaque");
    let data = secret.data.unwrap();
    assert_eq!(data.keys().collect::<Vec<_>>(), ["tfstate"]);
    assert_eq!(unpack(&data["tfstate"].0), state(1, 0));
    let lease = world.leases().get("lock-tfstate-default-sample").await.unwrap();
    assert_eq!(lease.spec.unwrap().holder_identity.as_deref(), Some(lock.id()));
    let info = &lease.metadata.annotations.unwrap()["app.terraform.io/lock-info"];
    assert_eq!(serde_json::from_str::<LockInfo>(info).unwrap().id, lock.id());
    assert_eq!(lease.metadata.labels.unwrap(), labels);
    store.begin("sha256:ab").await.unwrap();
    store.close().await.unwrap();
    lock.release().await.unwrap();
    let lease = world.leases().get("lock-tfstate-default-sample").await.unwrap();
    let spec = lease.spec.unwrap();
    assert!(
        spec.holder_identity.is_none() && spec.renew_time.is_none(),
        "{spec:?}"
    );
    let found = peek(&world.client, &world.slot).await.unwrap();
    assert_eq!(
        (tell(&found), found.begun.as_deref()),
        ("1 ".to_owned(), Some("sha256:ab"))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_large_state_goes_to_chunks_and_back() {
    let world = world().await;
    let (lock, store, _) = world.open().await;
    store.save(state(1, 2_500_000), 0).await.unwrap();
    let chunks = world.chunks().await;
    assert!(chunks >= 3, "{chunks}");
    let secret = world.secrets().get("tfstate-default-sample").await.unwrap();
    assert!(
        GzDecoder::new(secret.data.unwrap()["tfstate"].0.as_slice())
            .header()
            .is_none()
    );
    store.save(state(2, 1_500_000), 0).await.unwrap();
    assert!(world.chunks().await < chunks);
    assert_eq!(tell(&peek(&world.client, &world.slot).await.unwrap()), "2 t.big");
    drop(store);
    lock.release().await.unwrap();
    let (lock, store, found) = world.open().await;
    assert_eq!(tell(&found), "2 t.big");
    store.save(state(3, 0), 0).await.unwrap();
    assert_eq!(world.chunks().await, 0);
    store.save(state(4, 1_500_000), 0).await.unwrap();
    store.delete().await.unwrap();
    lock.delete().await.unwrap();
    assert_eq!(world.chunks().await, 0);
    assert!(
        world
            .secrets()
            .get_opt("tfstate-default-sample")
            .await
            .unwrap()
            .is_none()
    );
    assert!(
        world
            .leases()
            .get_opt("lock-tfstate-default-sample")
            .await
            .unwrap()
            .is_none()
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn what_terraform_wrote_in_parts_is_read_and_replaced() {
    let world = world().await;
    let mut packed = GzEncoder::new(Vec::new(), Compression::default());
    packed.write_all(&state(7, 3_000)).unwrap();
    let packed = packed.finish().unwrap();
    let size = packed.len() / 11;
    for (at, piece) in packed.chunks(size).enumerate() {
        let name = "tfstate-default-sample".to_owned()
            + &if at > 0 {
                format!("-part-{at}")
            } else {
                String::new()
            };
        let labels = [
            ("app.kubernetes.io/managed-by", "terraform"),
            ("team", "demo"),
            ("tfstate", "true"),
            ("tfstateSecretSuffix", "sample"),
            ("tfstateWorkspace", "default"),
        ];
        let secret = Secret {
            metadata: ObjectMeta {
                name: Some(name),
                labels: Some(
                    labels
                        .into_iter()
                        .map(|(k, v)| (k.to_owned(), v.to_owned()))
                        .collect(),
                ),
                ..ObjectMeta::default()
            },
            data: Some(BTreeMap::from([(
                "tfstate".to_owned(),
                ByteString(piece.to_vec()),
            )])),
            ..Secret::default()
        };
        world
            .secrets()
            .create(&PostParams::default(), &secret)
            .await
            .unwrap();
    }
    let (lock, store, found) = world.open().await;
    assert_eq!(tell(&found), "7 t.big");
    store.save(state(8, 0), 0).await.unwrap();
    let left = world
        .secrets()
        .list(&ListParams::default().labels("tfstate=true"))
        .await
        .unwrap()
        .items
        .len();
    assert_eq!(left, 1);
    drop((lock, store));
}

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
    assert_eq!(tell(&found), "1 t.a t.b?");
    assert!(found.changed && found.warnings.len() == 2);
    store.journal(vec![intent("t.c")]).await.unwrap();
    store.save(state(2, 0), 1).await.unwrap();
    drop(store);
    lock.release().await.unwrap();
    let (lock, store, found) = world.open().await;
    assert_eq!(tell(&found), "2 t.b? t.c?");
    store
        .journal(vec![outcome("t.b", 1), outcome("t.c", 1)])
        .await
        .unwrap();
    store.save(state(3, 0), 2).await.unwrap();
    store.close().await.unwrap();
    lock.release().await.unwrap();
    let journal = world
        .secrets()
        .get("ashlar-journal-default-sample")
        .await
        .unwrap();
    assert!(journal.data.unwrap()["journal"].0.is_empty());
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
    assert!(!lock.is_held());
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
async fn a_change_from_outside_stops_a_save_unless_it_is_only_a_label() {
    let world = world().await;
    let (_lock, store, _) = world.open().await;
    store.save(state(1, 0), 0).await.unwrap();
    let mut secret = world.secrets().get("tfstate-default-sample").await.unwrap();
    secret
        .metadata
        .labels
        .as_mut()
        .unwrap()
        .insert("other".into(), "label".into());
    world
        .secrets()
        .replace("tfstate-default-sample", &PostParams::default(), &secret)
        .await
        .unwrap();
    store.save(state(2, 0), 0).await.unwrap();
    let mut secret = world.secrets().get("tfstate-default-sample").await.unwrap();
    assert_eq!(secret.metadata.labels.as_ref().unwrap()["other"], "label");
    secret
        .data
        .as_mut()
        .unwrap()
        .insert("tfstate".into(), ByteString(b"other".to_vec()));
    world
        .secrets()
        .replace("tfstate-default-sample", &PostParams::default(), &secret)
        .await
        .unwrap();
    let diags = store.save(state(3, 0), 0).await.unwrap_err();
    assert!(diags.to_string().contains("without the lock"), "{diags}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deleted_state_is_written_again() {
    let world = world().await;
    let (_lock, store, _) = world.open().await;
    store.save(state(1, 1_500_000), 0).await.unwrap();
    world
        .secrets()
        .delete("tfstate-default-sample", &Default::default())
        .await
        .unwrap();
    store.save(state(2, 1_500_000), 0).await.unwrap();
    let secret = world.secrets().get("tfstate-default-sample").await.unwrap();
    for chunk in world
        .secrets()
        .list_metadata(&ListParams::default().labels(CHUNKS))
        .await
        .unwrap()
        .items
    {
        assert_eq!(
            chunk.metadata.owner_references.unwrap()[0].uid,
            *secret.metadata.uid.as_ref().unwrap()
        );
    }
    assert_eq!(tell(&peek(&world.client, &world.slot).await.unwrap()), "2 t.big");
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
    assert_eq!(other.live().await.unwrap().len(), 2);
    other.leave().await.unwrap();
    assert_eq!(world.presence.live().await.unwrap(), [world.presence.id()]);
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
    let told = busy(world.ask().await).diags().to_string();
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

#[tokio::test(flavor = "multi_thread")]
async fn plans_are_sealed_and_found_by_digest() {
    let world = world().await;
    let (one, other) = tokio::join!(
        OperatorKey::load_or_create(&world.client, &world.namespace, "ashlar-key"),
        OperatorKey::load_or_create(&world.client, &world.namespace, "ashlar-key"),
    );
    let (one, other) = (one.unwrap(), other.unwrap());
    assert_eq!(
        one.workspace("u").keyed_hash(b"x"),
        other.workspace("u").keyed_hash(b"x")
    );
    let owner = world.owner().await;
    let plans = PlanStore::new(&world.client, &one, &world.namespace, owner.clone());
    let large: Vec<u8> = (0..2_000_000).map(|_| rand::random()).collect();
    plans.save("sha256:aa", &large).await.unwrap();
    plans.save("sha256:bb", b"small secret").await.unwrap();
    assert_eq!(plans.load("sha256:aa").await.unwrap().unwrap(), large);
    assert_eq!(plans.load("sha256:cc").await.unwrap(), None);
    for secret in world.secrets().list(&ListParams::default()).await.unwrap().items {
        let data = secret.data.unwrap_or_default();
        assert!(
            data.values()
                .all(|value| !value.0.windows(6).any(|window| window == b"secret"))
        );
        if secret.metadata.name.as_deref() != Some("ashlar-key") {
            assert_eq!(secret.metadata.owner_references.unwrap()[0].uid, owner.uid);
        }
    }
    plans.save("sha256:aa", b"again").await.unwrap();
    assert_eq!(plans.load("sha256:aa").await.unwrap().unwrap(), b"again");
    assert_eq!(world.chunks().await, 2);
    let stranger = PlanStore::new(&world.client, &OperatorKey::new([0; 32]), &world.namespace, owner);
    let told = stranger.load("sha256:aa").await.unwrap_err().to_string();
    assert!(told.contains("another key"), "{told}");
    plans.retain(&["sha256:bb"]).await.unwrap();
    assert_eq!(plans.load("sha256:aa").await.unwrap(), None);
    assert_eq!(plans.load("sha256:bb").await.unwrap().unwrap(), b"small secret");
    plans.remove("sha256:bb").await.unwrap();
    assert_eq!(world.chunks().await, 0);
}
