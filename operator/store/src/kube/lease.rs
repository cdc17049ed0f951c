//! The lock on a state: Terraform's Lease, made to run out.
//!
//! To Terraform it looks like a lock of its own kind. Beyond that it has a duration, is renewed, counts how often it was
//! taken (the fencing number), and names the replica that holds it. A lock of a command line runs out never and is never
//! taken over. Where this process no longer *knows* that it holds the lock, it acts as if it did not.

mod claim;
mod keeping;

use std::{sync::Arc, time::Instant};

use ::kube::{Api, Client};
use ashlar_diag::Diags;
use ashlar_port::StopFlag;
use jiff::Timestamp;
use k8s_openapi::api::{coordination::v1::Lease, core::v1::Secret};

pub use claim::Holder;
use claim::{Claim, judge, taken};
pub(super) use keeping::Shared;
use keeping::{End, keep};

use super::{
    call::{Fault, as_ashlar, call, persist},
    names::{FENCE, Slot},
    presence::Presence,
    time::DURATION,
};
use crate::LockInfo;

const SUMMARY: &str = "Error acquiring the state lock";
const LOST: &str = "State lock lost";
const RELEASE: &str = "Error releasing the state lock";

/// The answer to asking for a lock.
pub enum Asked {
    /// Ours now.
    Held(Lock),
    /// Someone else's.
    Busy(Holder),
}

/// A lock that is held, and renewed until it is released or dropped.
pub struct Lock {
    shared: Arc<Shared>,
    task: tokio::task::AbortHandle,
}

/// Has this state ever been locked, and its Lease not been removed since?
pub async fn lock_exists(client: &Client, slot: &Slot) -> Result<bool, Diags> {
    let api: Api<Lease> = Api::namespaced(client.clone(), slot.namespace());
    let name = slot.lease();
    let found = persist("read", &slot.tell("Lease", &name), || api.get_metadata_opt(&name)).await;
    found
        .map(|found| found.is_some())
        .map_err(|fault| fault.diags(SUMMARY))
}

/// Asks once for the lock. `stop` is set if the lock is lost later.
pub async fn acquire(
    client: &Client,
    slot: &Slot,
    presence: &Presence,
    info: LockInfo,
    stop: StopFlag,
) -> Result<Asked, Diags> {
    try_acquire(client, slot, Some(presence), info, stop)
        .await
        .map_err(|fault| fault.diags(SUMMARY))
}

/// Asks once for the lock as a command line does: it is taken over from nobody, whatever ran out, and by nobody; only a
/// person breaks it.
pub async fn acquire_by_hand(
    client: &Client,
    slot: &Slot,
    info: LockInfo,
    stop: StopFlag,
) -> Result<Asked, Diags> {
    try_acquire(client, slot, None, info, stop)
        .await
        .map_err(|fault| fault.diags(SUMMARY))
}

async fn try_acquire(
    client: &Client,
    slot: &Slot,
    presence: Option<&Presence>,
    info: LockInfo,
    stop: StopFlag,
) -> Result<Asked, Fault> {
    let api: Api<Lease> = Api::namespaced(client.clone(), slot.namespace());
    let name = slot.lease();
    let what = slot.tell("Lease", &name);
    let params = as_ashlar();
    let recorded = recorded_fence(client, slot).await?;
    let mut attempts = 0;
    loop {
        let found = persist("read", &what, || api.get_opt(&name)).await?;
        let claim = judge(found.as_ref(), &info.id, Timestamp::now());
        let free = match &claim {
            Claim::Free => true,
            Claim::RunOut(holder) => match (&holder.replica, presence) {
                // Ours was not given back: this process runs one thing at a time on a state, and that is now this.
                (Some(replica), Some(presence)) if replica == presence.id() => true,
                (Some(replica), Some(presence)) => presence.is_gone(replica).await?,
                (None, _) | (_, None) => false,
            },
            Claim::Mine | Claim::Held(_) => false,
        };
        match claim {
            // An attempt got through, though its answer did not.
            Claim::Mine => {
                let lease = found.unwrap_or_default();
                return Ok(Asked::Held(Lock::start(api, slot, info.id, lease, stop)));
            }
            Claim::RunOut(holder) | Claim::Held(holder) if !free => return Ok(Asked::Busy(holder)),
            _ => {}
        }
        let lease = taken(found, slot, presence.map(Presence::id), &info, recorded);
        let began = Instant::now();
        let answer = if lease.metadata.resource_version.is_none() {
            call("create", &what, api.create(&params, &lease)).await
        } else {
            call("take", &what, api.replace(&name, &params, &lease)).await
        };
        match answer {
            Ok(lease) => {
                let lock = Lock::start(api, slot, info.id, lease, stop);
                lock.shared.hold_until(began + DURATION);
                return Ok(Asked::Held(lock));
            }
            Err(fault) if attempts < 3 && (fault.is_conflict() || fault.is_passing()) => attempts += 1,
            Err(fault) => return Err(fault),
        }
    }
}

/// The highest fencing number that state and journal remember.
async fn recorded_fence(client: &Client, slot: &Slot) -> Result<u64, Fault> {
    let secrets: Api<Secret> = Api::namespaced(client.clone(), slot.namespace());
    let mut highest = 0;
    for name in [slot.secret(), slot.journal()] {
        let what = slot.tell("Secret", &name);
        let found = persist("read", &what, || secrets.get_metadata_opt(&name)).await?;
        let fence = found.and_then(|secret| secret.metadata.annotations?.get(FENCE)?.parse::<u64>().ok());
        highest = highest.max(fence.unwrap_or(0));
    }
    Ok(highest)
}

impl Lock {
    fn start(api: Api<Lease>, slot: &Slot, id: String, lease: Lease, stop: StopFlag) -> Self {
        let shared = Arc::new(Shared::new(api, slot.clone(), id, lease, stop));
        let task = tokio::spawn(keep(shared.clone())).abort_handle();
        Self { shared, task }
    }

    pub(super) fn shared(&self) -> Arc<Shared> {
        self.shared.clone()
    }

    /// The state it locks.
    pub fn slot(&self) -> &Slot {
        &self.shared.slot
    }

    /// The lock's ID.
    pub fn id(&self) -> &str {
        &self.shared.id
    }

    /// Gives the lock back. The Lease stays, as Terraform leaves it.
    pub async fn release(self) -> Result<(), Diags> {
        self.task.abort();
        self.shared
            .end(End::Freed)
            .await
            .map_err(|fault| fault.diags(RELEASE))
    }

    /// Gives the lock back by removing the Lease, once there is no state to lock any more.
    pub async fn delete(self) -> Result<(), Diags> {
        self.task.abort();
        self.shared
            .end(End::Removed)
            .await
            .map_err(|fault| fault.diags(RELEASE))
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// The diagnostic for a lock that is lost.
pub(super) fn lost(fault: &Fault) -> Diags {
    fault.diags(LOST)
}
