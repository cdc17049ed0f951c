//! A Secret that only the holder of a lock writes.
//!
//! Two guards: each write names the version it replaces, and the Secret tells the fencing number of its writer. A new
//! holder claims the Secret before it reads it; from then on every write of an earlier holder meets another version,
//! looks, finds the higher number and gives up. A write whose answer was lost is recognised by what the Secret holds.

use ::kube::{Api, Client};
use k8s_openapi::api::core::v1::Secret;

use super::{
    call::{Fault, RETRY_AFTER, as_ashlar, call, persist},
    names::FENCE,
};

/// A claimed Secret, as it was last seen.
pub(super) struct Guarded {
    api: Api<Secret>,
    what: String,
    fence: u64,
    last: Secret,
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
    /// Claims the Secret for the holder with this fencing number; creates it from `template` if need be.
    pub(super) async fn claim(
        client: &Client,
        namespace: &str,
        template: Secret,
        fence: u64,
    ) -> Result<Self, Fault> {
        let name = template.metadata.name.clone().unwrap_or_default();
        let what = format!("Secret {namespace}/{name}");
        let api: Api<Secret> = Api::namespaced(client.clone(), namespace);
        let params = as_ashlar();
        for pause in RETRY_AFTER {
            let claimed = match persist("read", &what, || api.get_opt(&name)).await? {
                Some(found) if fence_of(&found) > fence => return Err(Fault::Fenced { what }),
                Some(mut found) => {
                    annotate(&mut found, FENCE, fence);
                    call("write", &what, api.replace(&name, &params, &found)).await
                }
                None => {
                    let mut fresh = template.clone();
                    annotate(&mut fresh, FENCE, fence);
                    call("create", &what, api.create(&params, &fresh)).await
                }
            };
            match claimed {
                Ok(last) => {
                    return Ok(Self {
                        api,
                        what,
                        fence,
                        last,
                    });
                }
                // Read again: the content may be another now.
                Err(fault) if fault.is_conflict() || fault.is_passing() || fault.is_not_found() => {
                    tokio::time::sleep(pause).await;
                }
                Err(fault) => return Err(fault),
            }
        }
        Err(Fault::Silent {
            action: "claim",
            what,
        })
    }

    /// The Secret as last seen.
    pub(super) fn secret(&self) -> &Secret {
        &self.last
    }

    /// Changes the Secret. `still_held` is asked before each attempt.
    pub(super) async fn update(
        &mut self,
        still_held: impl Fn() -> Result<(), Fault>,
        change: impl Fn(&mut Secret),
    ) -> Result<(), Fault> {
        let name = self.last.metadata.name.clone().unwrap_or_default();
        let params = as_ashlar();
        let mut wanted = self.last.clone();
        change(&mut wanted);
        annotate(&mut wanted, FENCE, self.fence);
        let mut pauses = RETRY_AFTER.iter();
        loop {
            still_held()?;
            let fault = match call("write", &self.what, self.api.replace(&name, &params, &wanted)).await {
                Ok(written) => {
                    self.last = written;
                    return Ok(());
                }
                Err(fault) => fault,
            };
            if !(fault.is_conflict() || fault.is_passing() || fault.is_not_found()) {
                return Err(fault);
            }
            let Some(pause) = pauses.next() else {
                return Err(fault);
            };
            if fault.is_passing() {
                tokio::time::sleep(*pause).await;
                continue;
            }
            match persist("read", &self.what, || self.api.get_opt(&name)).await? {
                Some(found) if fence_of(&found) > self.fence => {
                    return Err(Fault::Fenced {
                        what: self.what.clone(),
                    });
                }
                // An earlier attempt got through, though its answer did not.
                Some(found) if found.data == wanted.data && same_notes(&found, &wanted) => {
                    self.last = found;
                    return Ok(());
                }
                // Only labels or annotations were touched: keep those of others, and go on.
                Some(found) if found.data == self.last.data => {
                    self.last = found;
                    wanted = self.last.clone();
                    change(&mut wanted);
                    annotate(&mut wanted, FENCE, self.fence);
                }
                Some(_) => {
                    return Err(Fault::Changed {
                        what: self.what.clone(),
                    });
                }
                // Someone deleted it. What we hold is worth more than nothing.
                None => {
                    wanted.metadata.resource_version = None;
                    wanted.metadata.uid = None;
                    match call("create", &self.what, self.api.create(&params, &wanted)).await {
                        Ok(written) => {
                            self.last = written;
                            return Ok(());
                        }
                        Err(fault) if fault.is_conflict() || fault.is_passing() => {
                            tokio::time::sleep(*pause).await
                        }
                        Err(fault) => return Err(fault),
                    }
                }
            }
        }
    }
}

/// Are all annotations of ours the same?
fn same_notes(a: &Secret, b: &Secret) -> bool {
    let ours = |secret: &Secret| -> Vec<(String, String)> {
        let all = secret.metadata.annotations.iter().flatten();
        all.filter(|(key, _)| key.starts_with("ashlar.dev/"))
            .map(|(k, v)| (k.clone(), v.clone()))
            .collect()
    };
    ours(a) == ours(b)
}
