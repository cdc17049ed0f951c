//! The presence of a replica: a Lease that says it lives, wherever it runs.
//!
//! A lock is taken from its holder only when the holder's presence has run out too. So each process has a presence of
//! its own, never that of an earlier one: a replica that starts again does not vouch for the locks it once held.

use std::{collections::BTreeMap, sync::Arc, time::Instant};

use ::kube::{Api, Client, api::ListParams};
use ashlar_diag::Diags;
use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};

use super::{
    call::{Fault, as_ashlar, call, persist},
    names::ours,
    time::{RENEW, RENEW_AGAIN, duration_seconds, now, runs_out},
};

const SUMMARY: &str = "Failed to announce this replica";
const LABEL: &str = "ashlar.dev/presence";
const PREFIX: &str = "ashlar-replica-";
/// Presences of replicas that are gone are removed once in so many renewals.
const SWEEP_EVERY: u32 = 40;

/// This process, announced. Renewed until it is dropped.
#[derive(Clone)]
pub struct Presence {
    inner: Arc<Inner>,
}

struct Inner {
    register: Register,
    id: String,
    task: tokio::task::AbortHandle,
}

/// The Leases of all replicas.
#[derive(Clone)]
struct Register {
    api: Api<Lease>,
    namespace: String,
}

impl Presence {
    /// Announces a replica in the operator's namespace. `name` is its Pod or host; the ID adds to it.
    pub async fn announce(client: &Client, namespace: &str, name: &str) -> Result<Self, Diags> {
        let register = Register {
            api: Api::namespaced(client.clone(), namespace),
            namespace: namespace.to_owned(),
        };
        let plain: String = name
            .to_lowercase()
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
            .take(100)
            .collect();
        let id = format!(
            "{}-{}",
            plain.trim_matches('-'),
            hex::encode(rand::random::<[u8; 4]>())
        );
        let id = id.trim_start_matches('-').to_owned();
        register.renew(&id).await.map_err(|fault| fault.diags(SUMMARY))?;
        let task = tokio::spawn(keep(register.clone(), id.clone())).abort_handle();
        Ok(Self {
            inner: Arc::new(Inner { register, id, task }),
        })
    }

    /// This replica's ID.
    pub fn id(&self) -> &str {
        &self.inner.id
    }

    /// Takes the presence back, so that nobody waits for it to run out. Locks should have been released before.
    pub async fn leave(self) -> Result<(), Diags> {
        self.inner.task.abort();
        self.inner
            .register
            .remove(&self.inner.id)
            .await
            .map_err(|fault| fault.diags(SUMMARY))
    }

    /// Is this replica gone?
    pub(super) async fn is_gone(&self, id: &str) -> Result<bool, Fault> {
        let register = &self.inner.register;
        let name = format!("{PREFIX}{id}");
        let what = format!("Lease {}/{name}", register.namespace);
        let found = persist("read", &what, || register.api.get_opt(&name)).await?;
        let end = found
            .and_then(|lease| lease.spec)
            .and_then(|spec| runs_out(&spec));
        Ok(end.is_none_or(|end| end <= Timestamp::now()))
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn keep(register: Register, id: String) {
    let mut renewals = 0_u32;
    loop {
        let began = Instant::now();
        let pause = match register.renew(&id).await {
            Ok(()) => RENEW,
            Err(error) => {
                tracing::warn!(%error, "the presence of this replica could not be renewed");
                RENEW_AGAIN
            }
        };
        if renewals.is_multiple_of(SWEEP_EVERY)
            && let Err(error) = register.sweep().await
        {
            tracing::debug!(%error, "presences of replicas that are gone could not be removed");
        }
        renewals = renewals.wrapping_add(1);
        tokio::time::sleep(pause.saturating_sub(began.elapsed())).await;
    }
}

impl Register {
    /// Nobody else writes this Lease, so whatever stands there is replaced.
    async fn renew(&self, id: &str) -> Result<(), Fault> {
        let name = format!("{PREFIX}{id}");
        let what = format!("Lease {}/{name}", self.namespace);
        let params = as_ashlar();
        let mut lease = match call("read", &what, self.api.get_opt(&name)).await? {
            Some(lease) => lease,
            None => {
                let mut metadata = ours(&name, None);
                metadata
                    .labels
                    .get_or_insert_with(BTreeMap::new)
                    .insert(LABEL.to_owned(), "true".to_owned());
                Lease { metadata, spec: None }
            }
        };
        let spec = lease.spec.get_or_insert_with(LeaseSpec::default);
        spec.holder_identity = Some(id.to_owned());
        spec.lease_duration_seconds = duration_seconds();
        spec.renew_time = Some(now());
        if lease.metadata.resource_version.is_none() {
            call("create", &what, self.api.create(&params, &lease)).await?;
        } else {
            call("renew", &what, self.api.replace(&name, &params, &lease)).await?;
        }
        Ok(())
    }

    /// Each replica with the time at which it counts as gone.
    async fn all(&self) -> Result<Vec<(String, Option<Timestamp>)>, Fault> {
        let what = format!("Leases in {}", self.namespace);
        let params = ListParams::default().labels(&format!("{LABEL}=true"));
        let list = persist("list", &what, || self.api.list(&params)).await?;
        let found = list.items.into_iter().filter_map(|lease| {
            let id = lease.metadata.name?.strip_prefix(PREFIX)?.to_owned();
            Some((id, lease.spec.and_then(|spec| runs_out(&spec))))
        });
        Ok(found.collect())
    }

    async fn sweep(&self) -> Result<(), Fault> {
        let time = Timestamp::now();
        for (id, end) in self.all().await? {
            if end.is_none_or(|end| end <= time) {
                self.remove(&id).await?;
            }
        }
        Ok(())
    }

    async fn remove(&self, id: &str) -> Result<(), Fault> {
        let name = format!("{PREFIX}{id}");
        let what = format!("Lease {}/{name}", self.namespace);
        match call("delete", what, self.api.delete(&name, &Default::default())).await {
            Err(fault) if !fault.is_not_found() => Err(fault),
            _ => Ok(()),
        }
    }
}
