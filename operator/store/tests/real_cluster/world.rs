//! What the tests share: a namespace for each, states and records, and the words for what was found.

use std::{
    collections::BTreeMap,
    io::{Read, Write},
    sync::Arc,
};

use ashlar_port::{Intent, Outcome, Record, StopFlag, Subject};
use ashlar_state::{Object, State, Status, outcome_object};
use ashlar_store::{
    LockInfo, Recovered,
    kube::{Asked, KubeStore, Lock, Presence, Slot, acquire, peek},
};
use flate2::{Compression, read::GzDecoder, write::GzEncoder};
use k8s_openapi::{
    ByteString,
    api::{
        coordination::v1::Lease,
        core::v1::{ConfigMap, Namespace, Secret},
    },
    apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference},
};
use kube::{
    Api, Client,
    api::{ListParams, PostParams},
};

pub(crate) const STATE: &str = "tfstate-default-sample";
pub(crate) const JOURNAL: &str = "ashlar-journal-default-sample";

pub(crate) const CHUNKS: &str = "ashlar.dev/chunks-of";

pub(crate) struct World {
    pub(crate) client: Client,
    pub(crate) namespace: String,
    pub(crate) slot: Slot,
    pub(crate) presence: Presence,
}

pub(crate) async fn world() -> World {
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
    pub(crate) fn secrets(&self) -> Api<Secret> {
        Api::namespaced(self.client.clone(), &self.namespace)
    }

    pub(crate) fn leases(&self) -> Api<Lease> {
        Api::namespaced(self.client.clone(), &self.namespace)
    }

    pub(crate) async fn ask(&self) -> Asked {
        let info = LockInfo::new("OperationTypeApply", "ashlar@test", "");
        acquire(&self.client, &self.slot, &self.presence, info, StopFlag::new())
            .await
            .unwrap()
    }

    pub(crate) async fn lock(&self) -> Lock {
        match self.ask().await {
            Asked::Held(lock) => lock,
            Asked::Busy(holder) => panic!("{holder}"),
        }
    }

    pub(crate) async fn open(&self) -> (Lock, KubeStore, Recovered) {
        let lock = self.lock().await;
        let (store, found) = KubeStore::open(&self.client, &lock, None).await.unwrap();
        (lock, store, found)
    }

    /// What stands there, without a lock.
    pub(crate) async fn peek(&self) -> Recovered {
        peek(&self.client, &self.slot).await.unwrap()
    }

    /// What Terraform finds: the stored bytes, unpacked.
    pub(crate) async fn stored(&self) -> State {
        let secret = self.secrets().get(STATE).await.unwrap();
        ashlar_state::read(&unpack(&secret.data.unwrap()["tfstate"].0)).unwrap()
    }

    /// Writes the state as Terraform does: annotations stay.
    pub(crate) async fn terraform_writes(&self, state: &[u8]) {
        let mut packed = GzEncoder::new(Vec::new(), Compression::default());
        packed.write_all(state).unwrap();
        let mut secret = self.secrets().get(STATE).await.unwrap();
        secret
            .data
            .get_or_insert_default()
            .insert("tfstate".into(), ByteString(packed.finish().unwrap()));
        self.secrets()
            .replace(STATE, &PostParams::default(), &secret)
            .await
            .unwrap();
    }

    /// Changes the Lease as another client would.
    pub(crate) async fn meddle(&self, change: impl FnOnce(&mut Lease)) {
        let mut lease = self.leases().get(&self.slot.lease()).await.unwrap();
        change(&mut lease);
        self.leases()
            .replace(&self.slot.lease(), &PostParams::default(), &lease)
            .await
            .unwrap();
    }

    pub(crate) async fn chunks(&self) -> usize {
        self.secrets()
            .list_metadata(&ListParams::default().labels(CHUNKS))
            .await
            .unwrap()
            .items
            .len()
    }

    pub(crate) async fn owner(&self) -> OwnerReference {
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

pub(crate) fn object(attributes: Vec<u8>) -> Object {
    Object {
        schema_version: 0,
        attributes: attributes.into(),
        sensitive: Vec::new(),
        private: Arc::default(),
        status: Status::Ready,
        dependencies: Arc::default(),
        create_before_destroy: false,
        skip_destroy: false,
        identity: None,
    }
}

/// A state that stays about this large when packed.
pub(crate) fn state(serial: u64, size: usize) -> Vec<u8> {
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

pub(crate) fn intent(address: &str) -> Record {
    Record::Intent(Intent {
        subject: Subject::Object(address.parse().unwrap(), None),
        action: "create".into(),
    })
}

pub(crate) fn outcome(address: &str, size: usize) -> Record {
    let address = address.parse().unwrap();
    let provider = "provider[\"h.example/n/t\"]".parse().unwrap();
    let object = object(format!("{{\"a\":\"{}\"}}", "x".repeat(size)).into_bytes());
    let object = outcome_object(&address, None, &provider, &object).unwrap();
    Record::Outcome(Outcome {
        subject: Subject::Object(address, None),
        object: Some(object),
    })
}

pub(crate) fn tell(found: &Recovered) -> String {
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

pub(crate) fn unpack(packed: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    GzDecoder::new(packed).read_to_end(&mut bytes).unwrap();
    bytes
}
