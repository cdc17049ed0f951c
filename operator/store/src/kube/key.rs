//! The operator's key, and the keys that follow from it for each workspace.
//!
//! The key Secret is made when it is absent and never changed. What is derived is bound to the workspace's uid: no
//! workspace can read plans of another, nor confirm a guess of a value by comparing hashes.

use std::{collections::BTreeMap, fmt};

use ::kube::{Api, Client};
use ashlar_diag::Diags;
use hkdf::Hkdf;
use hmac::{Hmac, Mac};
use k8s_openapi::{ByteString, api::core::v1::Secret};
use sha2::Sha256;

use super::{
    call::{Fault, as_ashlar, persist},
    names::ours,
};

const SUMMARY: &str = "Failed to get the operator's key";
const KEY: &str = "key";
const LENGTH: usize = 32;
/// Separates our use of the key from any other.
const SALT: &[u8] = b"ashlar.dev/operator-key/v1";

/// The key of one installation.
#[derive(Clone)]
pub struct OperatorKey([u8; LENGTH]);

/// The keys of one workspace.
#[derive(Clone)]
pub struct WorkspaceKeys {
    pub(super) wrap: [u8; LENGTH],
    hash: [u8; LENGTH],
    /// Tells which operator key this follows from, without telling the key.
    pub(super) origin: String,
}

impl OperatorKey {
    /// A key that is at hand.
    pub fn new(key: [u8; LENGTH]) -> Self {
        Self(key)
    }

    /// The key in this Secret, which is made if it is absent.
    pub async fn load_or_create(client: &Client, namespace: &str, name: &str) -> Result<Self, Diags> {
        Self::get(client, namespace, name)
            .await
            .map_err(|fault| fault.diags(SUMMARY))
    }

    async fn get(client: &Client, namespace: &str, name: &str) -> Result<Self, Fault> {
        let api: Api<Secret> = Api::namespaced(client.clone(), namespace);
        let what = format!("Secret {namespace}/{name}");
        for _ in 0..3 {
            if let Some(secret) = persist("read", &what, || api.get_opt(name)).await? {
                let key = secret
                    .data
                    .and_then(|mut data| data.remove(KEY))
                    .unwrap_or_default()
                    .0;
                return key.try_into().map(Self).map_err(|_| {
                    Fault::damaged(what, format!("under {KEY:?} it must hold {LENGTH} bytes; a key that is lost can't be replaced, \
                         but removing the Secret makes a new one, and all plans must then be made anew"))
                });
            }
            let secret = Secret {
                metadata: ours(name, None),
                data: Some(BTreeMap::from([(
                    KEY.to_owned(),
                    ByteString(rand::random::<[u8; LENGTH]>().to_vec()),
                )])),
                immutable: Some(true),
                type_: Some("Opaque".to_owned()),
                ..Secret::default()
            };
            let params = as_ashlar();
            match persist("create", &what, || api.create(&params, &secret)).await {
                // Whoever was faster, what stands there now is the key: read it.
                Ok(_) => {}
                Err(fault) if fault.is_conflict() => {}
                Err(fault) => return Err(fault),
            }
        }
        Err(Fault::damaged(what, "it is removed as soon as it is made"))
    }

    /// The keys of the workspace with this uid.
    pub fn workspace(&self, uid: &str) -> WorkspaceKeys {
        let derive = |purpose: &str, uid: &str| {
            let mut key = [0; LENGTH];
            let info = [purpose.as_bytes(), b"\0", uid.as_bytes()];
            let derived = Hkdf::<Sha256>::new(Some(SALT), &self.0).expand_multi_info(&info, &mut key);
            #[expect(clippy::expect_used, reason = "HKDF gives up to 8160 bytes")]
            derived.expect("32 bytes can be derived");
            key
        };
        // Bound to no workspace: the plans of all of them tell the same operator key.
        let origin = hex::encode(&derive("origin", "")[..8]);
        WorkspaceKeys {
            wrap: derive("plan", uid),
            hash: derive("hash", uid),
            origin,
        }
    }
}

impl WorkspaceKeys {
    /// The key for keyed hashes of values.
    pub fn hash_key(&self) -> &[u8; LENGTH] {
        &self.hash
    }

    /// A keyed hash of bytes, as hex: equal bytes give equal hashes within the workspace only.
    pub fn keyed_hash(&self, bytes: &[u8]) -> String {
        #[expect(clippy::expect_used, reason = "HMAC takes keys of any length")]
        let mut hash = Hmac::<Sha256>::new_from_slice(&self.hash).expect("any length will do");
        hash.update(bytes);
        hex::encode(hash.finalize().into_bytes())
    }
}

impl fmt::Debug for OperatorKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OperatorKey(…)")
    }
}

impl fmt::Debug for WorkspaceKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WorkspaceKeys(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_differ_by_purpose_workspace_and_operator() {
        let operator = OperatorKey::new([7; LENGTH]);
        let (one, other) = (operator.workspace("uid-1"), operator.workspace("uid-2"));
        assert_eq!(one.keyed_hash(b"x"), operator.workspace("uid-1").keyed_hash(b"x"));
        assert_ne!(one.keyed_hash(b"x"), other.keyed_hash(b"x"));
        assert_ne!(one.wrap, one.hash);
        assert_ne!(one.wrap, other.wrap);
        assert_eq!(one.origin, other.origin);
        assert_ne!(
            one.origin,
            OperatorKey::new([8; LENGTH]).workspace("uid-1").origin
        );
        assert_eq!(format!("{operator:?} {one:?}"), "OperatorKey(…) WorkspaceKeys(…)");
    }
}
