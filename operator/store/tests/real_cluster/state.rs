//! The state in Secrets: as Terraform has it, in chunks, and changed by others.

use std::{collections::BTreeMap, io::Write};

use ashlar_port::RunStore;
use ashlar_store::{
    LockInfo,
    kube::{peek, pull},
};
use flate2::{Compression, read::GzDecoder, write::GzEncoder};
use k8s_openapi::{ByteString, api::core::v1::Secret, apimachinery::pkg::apis::meta::v1::ObjectMeta};
use kube::api::{ListParams, PostParams};

use crate::world::*;

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
    // In whole and as it was, for whoever takes it elsewhere.
    let kept = state(2, 1_400_000);
    store.save(kept.clone(), 0).await.unwrap();
    let pulled = pull(&world.client, &world.slot).await.unwrap();
    assert!(pulled.bytes.unwrap() == kept && pulled.recovered.warnings.is_empty());
    store
        .journal(vec![intent("t.a"), outcome("t.a", 1)])
        .await
        .unwrap();
    let pulled = pull(&world.client, &world.slot).await.unwrap();
    let found = ashlar_state::read(&pulled.bytes.unwrap()).unwrap();
    assert_eq!((found.serial, found.objects().count()), (3, 2));
    store.save(state(2, 1_500_000), 2).await.unwrap();
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
