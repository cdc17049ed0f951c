//! Plans in Secrets: sealed, in chunks, found by digest.
//!
//! The manifest Secret is written last, so a plan is there in whole or not at all. Planning again with the same digest
//! gives other bytes (times, ids) for the same change: the manifest then points at the new ones.

use std::collections::BTreeMap;

use ::kube::{
    Api, Client,
    api::{DeleteParams, ListParams},
};
use ashlar_diag::{Diag, Diags};
use k8s_openapi::{ByteString, api::core::v1::Secret, apimachinery::pkg::apis::meta::v1::OwnerReference};
use serde::{Deserialize, Serialize};

use super::{
    call::{Fault, as_ashlar, call, persist},
    chunks::{Chunks, Manifest},
    key::{OperatorKey, WorkspaceKeys},
    names::{ours, short_hash},
    sealed::{self, Place, Seal},
};

const KEEPING: &str = "Failed to keep the plan";
const READING: &str = "Failed to read plan";
const KEY: &str = "manifest";
/// On manifests: the uid of the workspace.
const PLANS_OF: &str = "ashlar.dev/plans-of";

/// The plans of one workspace.
pub struct PlanStore {
    client: Client,
    api: Api<Secret>,
    keys: WorkspaceKeys,
    namespace: String,
    owner: OwnerReference,
}

#[derive(Serialize, Deserialize)]
struct Kept {
    digest: String,
    seal: Seal,
    manifest: Manifest,
}

impl PlanStore {
    /// The plans of the workspace that `owner` refers to; with it they go.
    pub fn new(client: &Client, key: &OperatorKey, namespace: &str, owner: OwnerReference) -> Self {
        Self {
            client: client.clone(),
            api: Api::namespaced(client.clone(), namespace),
            keys: key.workspace(&owner.uid),
            namespace: namespace.to_owned(),
            owner,
        }
    }

    /// The workspace's keys.
    pub fn keys(&self) -> &WorkspaceKeys {
        &self.keys
    }

    /// Keeps a plan under its digest.
    pub async fn save(&self, digest: &str, plan: &[u8]) -> Result<(), Diags> {
        let place = self.place(digest);
        let sealed = sealed::seal(&self.keys, place, plan);
        let (seal, pieces) =
            sealed.map_err(|error| Diag::error(KEEPING, format!("The plan cannot be sealed: {error}.")))?;
        self.write(digest, seal, &pieces)
            .await
            .map_err(|fault| fault.diags(KEEPING))
    }

    async fn write(&self, digest: &str, seal: Seal, pieces: &[Vec<u8>]) -> Result<(), Fault> {
        let manifest = self.chunks(digest).put(pieces).await?;
        let kept = Kept {
            digest: digest.to_owned(),
            seal,
            manifest,
        };
        let json = serde_json::to_vec(&kept).map_err(|_| Fault::damaged("the manifest", "it is no JSON"))?;
        let name = self.name(digest);
        let what = self.what(&name);
        let data = BTreeMap::from([(KEY.to_owned(), ByteString(json))]);
        let mut metadata = ours(&name, Some(&self.owner));
        metadata
            .labels
            .get_or_insert_default()
            .insert(PLANS_OF.to_owned(), self.owner.uid.clone());
        let fresh = Secret {
            metadata,
            data: Some(data),
            type_: Some("Opaque".to_owned()),
            ..Secret::default()
        };
        let params = as_ashlar();
        match persist("create", &what, || self.api.create(&params, &fresh)).await {
            Err(fault) if fault.is_conflict() => {
                let mut found = persist("read", &what, || self.api.get(&name)).await?;
                found.data = fresh.data;
                call("write", &what, self.api.replace(&name, &params, &found)).await?;
            }
            Err(fault) => return Err(fault),
            Ok(_) => {}
        }
        if let Err(error) = self.chunks(digest).sweep(&[&kept.manifest]).await {
            tracing::warn!(%error, "chunks of an earlier plan could not be removed");
        }
        Ok(())
    }

    /// The plan with this digest, if there is one. One that cannot be opened any more is an error: make it anew.
    pub async fn load(&self, digest: &str) -> Result<Option<Vec<u8>>, Diags> {
        let name = self.name(digest);
        let what = self.what(&name);
        let fault = |fault: Fault| fault.diags(READING);
        let Some(secret) = persist("read", &what, || self.api.get_opt(&name))
            .await
            .map_err(fault)?
        else {
            return Ok(None);
        };
        let json = secret
            .data
            .and_then(|mut data| data.remove(KEY))
            .unwrap_or_default()
            .0;
        let kept: Kept = serde_json::from_slice(&json)
            .map_err(|_| fault(Fault::damaged(&what, "it holds no manifest of a plan")))?;
        if kept.digest != digest {
            return Err(fault(Fault::damaged(
                &what,
                "it is of a plan with another digest",
            )));
        }
        let pieces = self.chunks(digest).get(&kept.manifest).await.map_err(fault)?;
        let plan = sealed::open(&self.keys, self.place(digest), &kept.seal, &pieces);
        plan.map(Some)
            .map_err(|error| fault(Fault::damaged(what, error.to_string())))
    }

    /// Forgets all plans of this workspace but these.
    pub async fn retain(&self, digests: &[&str]) -> Result<(), Diags> {
        self.try_retain(digests)
            .await
            .map_err(|fault| fault.diags(KEEPING))
    }

    async fn try_retain(&self, digests: &[&str]) -> Result<(), Fault> {
        let keep: Vec<String> = digests.iter().map(|digest| self.name(digest)).collect();
        let params = ListParams::default().labels(&format!("{PLANS_OF}={}", self.owner.uid));
        let what = format!("Secrets in {}", self.namespace);
        let found = persist("list", &what, || self.api.list_metadata(&params)).await?;
        for name in found.items.into_iter().filter_map(|object| object.metadata.name) {
            if !keep.contains(&name) {
                self.drop_plan(&name, &self.chunks_of(&name)).await?;
            }
        }
        Ok(())
    }

    /// The manifest first: without it nobody looks for the chunks.
    async fn drop_plan(&self, name: &str, chunks: &Chunks) -> Result<(), Fault> {
        match call(
            "delete",
            self.what(name),
            self.api.delete(name, &DeleteParams::default()),
        )
        .await
        {
            Err(fault) if !fault.is_not_found() => Err(fault),
            _ => chunks.sweep(&[]).await,
        }
    }

    fn place<'a>(&'a self, digest: &'a str) -> Place<'a> {
        Place {
            namespace: &self.namespace,
            uid: &self.owner.uid,
            digest,
        }
    }

    fn name(&self, digest: &str) -> String {
        format!("ashlar-plan-{}", short_hash(&[&self.owner.uid, digest]))
    }

    fn what(&self, name: &str) -> String {
        format!("Secret {}/{name}", self.namespace)
    }

    fn chunks(&self, digest: &str) -> Chunks {
        self.chunks_of(&self.name(digest))
    }

    fn chunks_of(&self, name: &str) -> Chunks {
        Chunks::new(
            &self.client,
            &self.namespace,
            name.to_owned(),
            Some(self.owner.clone()),
        )
    }
}
