//! A lock that is held: renewed, known to be held or not, and given back.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use ::kube::{
    Api,
    api::{DeleteParams, Preconditions},
};
use ashlar_port::StopFlag;
use k8s_openapi::api::coordination::v1::Lease;

use super::claim::freed;
use crate::kube::{
    call::{Fault, as_ashlar, call},
    names::Slot,
    time::{DURATION, RENEW, RENEW_AGAIN, now},
};

/// The pause between two series of attempts.
const AGAIN: Duration = Duration::from_secs(2);

/// What the lock, the task that renews it, and those who write under it look at.
pub(in crate::kube) struct Shared {
    api: Api<Lease>,
    pub(super) slot: Slot,
    pub(super) id: String,
    fence: u64,
    /// The run's flag: set when the lock is lost or may be.
    stop: StopFlag,
    /// Someone else has it: for good.
    lost: AtomicBool,
    /// Until when it is surely ours.
    until: Mutex<Instant>,
    /// As last written.
    lease: tokio::sync::Mutex<Lease>,
}

/// Renews until the lock is lost; set off by whoever takes it.
pub(super) async fn keep(shared: Arc<Shared>) {
    let mut pause = RENEW;
    loop {
        tokio::time::sleep(pause).await;
        pause = match shared.renew().await {
            Ok(()) => RENEW,
            Err(Fault::LockLost { .. }) => {
                shared.lost.store(true, Ordering::SeqCst);
                shared.stop.set();
                tracing::error!(
                    lock = shared.what(),
                    "the lock was taken by someone else; the run stops"
                );
                return;
            }
            Err(error) => {
                tracing::warn!(%error, "the lock could not be renewed");
                // Sets the flag once time is up. Trying goes on: a lock that nobody took meanwhile is still ours, and
                // what calls that ran until then brought about can be saved.
                let _ = shared.check();
                RENEW_AGAIN
            }
        };
    }
}

impl Shared {
    /// Of a lock as it was just written.
    pub(super) fn new(api: Api<Lease>, slot: Slot, id: String, lease: Lease, stop: StopFlag) -> Self {
        let transitions = lease.spec.as_ref().and_then(|spec| spec.lease_transitions);
        Self {
            api,
            slot,
            id,
            fence: u64::try_from(transitions.unwrap_or(0)).unwrap_or(0),
            stop,
            lost: AtomicBool::new(false),
            until: Mutex::new(Instant::now() + RENEW),
            lease: tokio::sync::Mutex::new(lease),
        }
    }

    /// It is surely ours until then.
    pub(super) fn hold_until(&self, until: Instant) {
        *self.until.lock().unwrap_or_else(PoisonError::into_inner) = until;
    }

    fn what(&self) -> String {
        self.slot.tell("Lease", &self.slot.lease())
    }

    /// The fencing number.
    pub(in crate::kube) fn fence(&self) -> u64 {
        self.fence
    }

    /// Is the lock surely held? If not, the run is told to stop.
    pub(in crate::kube) fn check(&self) -> Result<(), Fault> {
        let until = *self.until.lock().unwrap_or_else(PoisonError::into_inner);
        let fault = if self.lost.load(Ordering::SeqCst) {
            Fault::LockLost { what: self.what() }
        } else if Instant::now() >= until {
            Fault::LockUnsure { what: self.what() }
        } else {
            return Ok(());
        };
        self.stop.set();
        Err(fault)
    }

    /// A write that is tried again for as long as the lock is surely held.
    pub(in crate::kube) fn while_held(&self) -> Patience<'_> {
        Patience {
            lock: self,
            until: None,
            cause: None,
        }
    }

    /// A write that is tried again for so long, unless someone else has the lock: one that could not be renewed in time
    /// is still ours while nobody took it.
    pub(in crate::kube) fn for_as_long_as(&self, time: Duration) -> Patience<'_> {
        Patience {
            lock: self,
            until: Some(Instant::now() + time),
            cause: None,
        }
    }

    /// Renews the lock; fails with [`Fault::LockLost`] only where someone else has it.
    async fn renew(&self) -> Result<(), Fault> {
        let name = self.slot.lease();
        let params = as_ashlar();
        let mut lease = self.lease.lock().await;
        for _ in 0..3 {
            let began = Instant::now();
            let mut wanted = lease.clone();
            wanted.spec.get_or_insert_default().renew_time = Some(now());
            match call("renew", self.what(), self.api.replace(&name, &params, &wanted)).await {
                Ok(written) => {
                    *lease = written;
                    self.hold_until(began + DURATION);
                    return Ok(());
                }
                Err(fault) if fault.is_conflict() || fault.is_not_found() => *lease = self.mine().await?,
                Err(fault) => return Err(fault),
            }
        }
        Err(Fault::Silent {
            action: "renew",
            what: self.what(),
        })
    }

    /// The Lease as it is now, if it is still ours.
    async fn mine(&self) -> Result<Lease, Fault> {
        let name = self.slot.lease();
        let found = call("read", self.what(), self.api.get_opt(&name)).await?;
        let holder = found
            .as_ref()
            .and_then(|lease| lease.spec.as_ref()?.holder_identity.clone());
        match found {
            Some(lease) if holder.as_deref() == Some(&self.id) => Ok(lease),
            _ => Err(Fault::LockLost { what: self.what() }),
        }
    }

    /// Gives the lock back.
    pub(super) async fn end(&self, how: End) -> Result<(), Fault> {
        let name = self.slot.lease();
        let replacing = as_ashlar();
        let mut lease = self.lease.lock().await;
        let mut attempts = 0;
        loop {
            let answer = match how {
                End::Freed => {
                    let free = freed(lease.clone());
                    let answer = self.api.replace(&name, &replacing, &free);
                    call("release", self.what(), answer).await.map(drop)
                }
                End::Removed => {
                    let only = DeleteParams {
                        preconditions: Some(Preconditions {
                            resource_version: lease.metadata.resource_version.clone(),
                            uid: lease.metadata.uid.clone(),
                        }),
                        ..DeleteParams::default()
                    };
                    let answer = self.api.delete(&name, &only);
                    call("delete", self.what(), answer).await.map(drop)
                }
            };
            let Err(fault) = answer else { return Ok(()) };
            attempts += 1;
            if attempts > 4 || !(fault.is_conflict() || fault.is_passing() || fault.is_not_found()) {
                return Err(fault);
            }
            if fault.is_passing() {
                tokio::time::sleep(RENEW_AGAIN).await;
            }
            match self.mine().await {
                Ok(found) => *lease = found,
                // It is gone, someone has taken or freed it, or an earlier attempt got through.
                Err(Fault::LockLost { .. }) => return Ok(()),
                Err(fault) if fault.is_passing() => {}
                Err(fault) => return Err(fault),
            }
        }
    }
}

/// How a lock ends.
#[derive(Clone, Copy)]
pub(super) enum End {
    /// The Lease stays, as Terraform leaves it.
    Freed,
    /// The Lease goes with the state.
    Removed,
}

/// How long a write is tried.
pub(in crate::kube) struct Patience<'a> {
    lock: &'a Shared,
    until: Option<Instant>,
    /// What went wrong, before the lock was no longer sure.
    cause: Option<Fault>,
}

impl Patience<'_> {
    /// Waits before the next attempt, or gives the fault back if there is to be none.
    pub(in crate::kube) async fn again(&mut self, fault: Fault) -> Result<(), Fault> {
        let unsure = matches!(fault, Fault::LockUnsure { .. });
        if !unsure && !fault.is_passing() {
            return Err(fault);
        }
        let goes_on = match (self.lock.check(), self.until) {
            (Err(Fault::LockLost { what }), _) => return Err(Fault::LockLost { what }),
            (held, None) => held.is_ok(),
            (_, Some(until)) => Instant::now() < until,
        };
        if !goes_on {
            let cause = self.cause.take().filter(|_| unsure);
            return Err(cause.unwrap_or(fault));
        }
        if !unsure {
            tracing::warn!(error = %fault, "trying again");
            self.cause = Some(fault);
        }
        tokio::time::sleep(AGAIN).await;
        Ok(())
    }
}
