//! A Secret that only the holder of a lock writes.
//!
//! Two guards: each write names the version it replaces, or that there is none, and the Secret tells the fencing number of
//! its writer. A new holder claims the Secret before it reads it; from then on every write of an earlier holder meets
//! another version, looks, finds the higher number and gives up. A write whose answer was lost is recognised by what the
//! Secret holds, however long ago it was.

use ::kube::{Api, Client, api::Preconditions};
use k8s_openapi::api::core::v1::Secret;
use sha2::{Digest, Sha256};

use super::{
    call::{Fault, RETRY_AFTER, as_ashlar, call, persist},
    names::FENCE,
};

/// A claimed Secret, as it was last seen.
pub(super) struct Guarded {
    api: Api<Secret>,
    name: String,
    what: String,
    fence: u64,
    /// Without a version while there is no such Secret: it is made of this by the first write.
    last: Secret,
    /// Digests of what was written with no answer, and may stand there.
    tried: Vec<[u8; 32]>,
}

/// The fencing number a Secret tells.
pub(super) fn fence_of(secret: &Secret) -> u64 {
    annotation(secret, FENCE)
        .and_then(|text| text.parse().ok())
        .unwrap_or(0)
}

/// One annotation.
pub(super) fn annotation<'a>(secret: &'a Secret, key: &str) -> Option<&'a str> {
    secret.metadata.annotations.as_ref()?.get(key).map(String::as_str)
}

/// Sets an annotation.
pub(super) fn annotate(secret: &mut Secret, key: &str, value: impl ToString) {
    secret
        .metadata
        .annotations
        .get_or_insert_default()
        .insert(key.to_owned(), value.to_string());
}

impl Guarded {
    /// Claims the Secret for the holder with this fencing number. If there is none, the first write makes it from
    /// `template`.
    pub(super) async fn claim(
        client: &Client,
        namespace: &str,
        template: Secret,
        fence: u64,
    ) -> Result<Self, Fault> {
        let name = template.metadata.name.clone().unwrap_or_default();
        let mut claimed = Self {
            api: Api::namespaced(client.clone(), namespace),
            what: format!("Secret {namespace}/{name}"),
            name,
            fence,
            last: template,
            tried: Vec::new(),
        };
        let (api, what) = (claimed.api.clone(), claimed.what.clone());
        for pause in RETRY_AFTER {
            match persist("read", &what, || api.get_opt(&claimed.name)).await? {
                Some(found) if fence_of(&found) > fence => return Err(Fault::Fenced { what }),
                Some(mut found) => {
                    annotate(&mut found, FENCE, fence);
                    match claimed.put(&found).await {
                        Ok(last) => {
                            claimed.last = last;
                            return Ok(claimed);
                        }
                        // Read again: the content may be another now.
                        Err(fault) if fault.may_pass() => tokio::time::sleep(pause).await,
                        Err(fault) => return Err(fault),
                    }
                }
                None => return Ok(claimed),
            }
        }
        Err(Fault::Silent {
            action: "claim",
            what,
        })
    }

    /// The Secret as last seen, or as it would be made.
    pub(super) fn secret(&self) -> &Secret {
        &self.last
    }

    /// Is there such a Secret?
    pub(super) fn exists(&self) -> bool {
        self.last.metadata.resource_version.is_some()
    }

    /// Changes the Secret, or makes it. `still_held` is asked before each attempt. After a failure it may be changed in
    /// another way.
    pub(super) async fn update(
        &mut self,
        still_held: impl Fn() -> Result<(), Fault>,
        change: impl Fn(&mut Secret),
    ) -> Result<(), Fault> {
        let mut pauses = RETRY_AFTER.iter();
        loop {
            still_held()?;
            let mut wanted = self.last.clone();
            change(&mut wanted);
            annotate(&mut wanted, FENCE, self.fence);
            let fault = match self.put(&wanted).await {
                Ok(written) => {
                    self.last = written;
                    self.tried.clear();
                    return Ok(());
                }
                Err(fault) => fault,
            };
            if !fault.may_pass() {
                return Err(fault);
            }
            let digest = content(&wanted);
            if !self.tried.contains(&digest) {
                self.tried.push(digest);
            }
            let Some(pause) = pauses.next() else {
                return Err(fault);
            };
            if fault.is_passing() {
                tokio::time::sleep(*pause).await;
            }
            match call("read", &self.what, self.api.get_opt(&self.name)).await {
                Ok(found) => {
                    if self.look(found, &wanted)? {
                        return Ok(());
                    }
                }
                // The next attempt still names the version it replaces.
                Err(fault) if fault.is_passing() => {}
                Err(fault) => return Err(fault),
            }
        }
    }

    /// Writes over the version last seen, or makes the Secret where none was.
    async fn put(&self, wanted: &Secret) -> Result<Secret, Fault> {
        let params = as_ashlar();
        if wanted.metadata.resource_version.is_some() {
            call("write", &self.what, self.api.replace(&self.name, &params, wanted)).await
        } else {
            call("create", &self.what, self.api.create(&params, wanted)).await
        }
    }

    /// Judges what stands there after a write that failed, and takes it over unless it is another's. Is it what was
    /// wanted?
    fn look(&mut self, found: Option<Secret>, wanted: &Secret) -> Result<bool, Fault> {
        let Some(found) = found else {
            // Someone deleted it. What we hold is worth more than nothing.
            self.last.metadata.resource_version = None;
            self.last.metadata.uid = None;
            return Ok(false);
        };
        if fence_of(&found) > self.fence {
            return Err(Fault::Fenced {
                what: self.what.clone(),
            });
        }
        let digest = content(&found);
        // An attempt got through, though its answer did not.
        let ours = self.tried.contains(&digest);
        // Or only labels or annotations were touched: those of others stay.
        if !ours && digest != content(&self.last) {
            return Err(Fault::Changed {
                what: self.what.clone(),
            });
        }
        let done = digest == content(wanted) && same_notes(&found, wanted);
        self.last = found;
        if done {
            self.tried.clear();
        }
        Ok(done)
    }

    /// Removes the Secret as it was last seen.
    pub(super) async fn delete(&mut self) -> Result<(), Fault> {
        let params = ::kube::api::DeleteParams {
            preconditions: Some(Preconditions {
                uid: self.last.metadata.uid.clone(),
                resource_version: None,
            }),
            ..Default::default()
        };
        if !self.exists() {
            return Ok(());
        }
        match persist("delete", &self.what, || async {
            self.api.delete(&self.name, &params).await.map(drop)
        })
        .await
        {
            Err(fault) if !fault.is_not_found() => Err(fault),
            _ => Ok(()),
        }
    }
}

/// Tells contents apart.
fn content(secret: &Secret) -> [u8; 32] {
    let mut hash = Sha256::new();
    for (key, value) in secret.data.iter().flatten() {
        for part in [key.as_bytes(), &value.0] {
            hash.update((part.len() as u64).to_be_bytes());
            hash.update(part);
        }
    }
    hash.finalize().into()
}

/// Are all annotations of ours the same, and the owners?
fn same_notes(a: &Secret, b: &Secret) -> bool {
    let ours = |secret: &Secret| -> Vec<(String, String)> {
        let all = secret.metadata.annotations.iter().flatten();
        all.filter(|(key, _)| key.starts_with("ashlar.dev/"))
            .map(|(k, v)| (k.clone(), v.clone()))
            .collect()
    };
    ours(a) == ours(b) && a.metadata.owner_references == b.metadata.owner_references
}
