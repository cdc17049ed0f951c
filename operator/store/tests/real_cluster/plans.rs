//! Plans: sealed, found by digest, and gone with their workspace.

use ashlar_store::kube::{OperatorKey, PlanStore};
use kube::api::ListParams;

use crate::world::*;

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
    plans.retain(&[]).await.unwrap();
    assert_eq!(world.chunks().await, 0);
}
