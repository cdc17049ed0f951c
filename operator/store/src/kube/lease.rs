//! The lock on a state: Terraform's Lease, made to run out.
//!
//! To Terraform it looks like a lock of its own kind. Beyond that it has a duration, is renewed, counts how often it was
//! taken (the fencing number), and names the replica that holds it. A lock of a command line runs out never and is never
//! taken over. Where this process no longer *knows* that it holds the lock, it acts as if it did not.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use ::kube::{
    Api, Client,
    api::{DeleteParams, Preconditions},
};
use ashlar_diag::Diags;
use ashlar_port::StopFlag;
use jiff::Timestamp;
use k8s_openapi::{
    api::{
        coordination::v1::{Lease, LeaseSpec},
        core::v1::Secret,
    },
    apimachinery::pkg::apis::meta::v1::ObjectMeta,
};
use serde::{Deserialize, Serialize};

use super::{
    call::{Fault, as_ashlar, call, persist},
    names::{FENCE, LOCK_INFO, LOCKED_BY, Slot},
    presence::Presence,
    time::{DURATION, RENEW, RENEW_AGAIN, duration_seconds, now, runs_out},
};
use crate::LockInfo;

/// The pause between two series of attempts.
const AGAIN: Duration = Duration::from_secs(2);
const SUMMARY: &str = "Error acquiring the state lock";
const LOST: &str = "State lock lost";
const RELEASE: &str = "Error releasing the state lock";

/// Who else holds a lock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    /// What it says of itself; empty where it says nothing.
    pub info: LockInfo,
    /// The replica; `None` for a command line, whose lock only a person may break.
    pub replica: Option<String>,
}

impl fmt::Display for Holder {
    /// In sentences: who it is, and what can be done.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "The state is locked by {}. ", self.info)?;
        match &self.replica {
            Some(_) => f.write_str("It is taken over when that replica is gone."),
            None => write!(
                f,
                "It was not taken by Ashlar and never runs out: wait, or, if nobody works on this state any more, run \
                 `terraform force-unlock {}`.",
                self.info.id
            ),
        }
    }
}

/// The answer to asking for a lock.
pub enum Asked {
    /// Ours now.
    Held(Lock),
    /// Someone else's.
    Busy(Holder),
}

/// Names the replica of a lock, under the ID the lock has then: what a force-unlock leaves behind names no one.
#[derive(Serialize, Deserialize)]
struct LockedBy {
    id: String,
    replica: String,
}

/// A lock that is held, and renewed until it is released or dropped.
pub struct Lock {
    shared: Arc<Shared>,
    task: tokio::task::AbortHandle,
}

pub(super) struct Shared {
    api: Api<Lease>,
    slot: Slot,
    id: String,
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
    try_acquire(client, slot, presence, info, stop)
        .await
        .map_err(|fault| fault.diags(SUMMARY))
}

async fn try_acquire(
    client: &Client,
    slot: &Slot,
    presence: &Presence,
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
            Claim::RunOut(holder) => match &holder.replica {
                // Ours was not given back: this process runs one thing at a time on a state, and that is now this.
                Some(replica) if replica == presence.id() => true,
                Some(replica) => presence.is_gone(replica).await?,
                None => false,
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
        let lease = taken(found, slot, presence.id(), &info, recorded);
        let began = Instant::now();
        let answer = if lease.metadata.resource_version.is_none() {
            call("create", &what, api.create(&params, &lease)).await
        } else {
            call("take", &what, api.replace(&name, &params, &lease)).await
        };
        match answer {
            Ok(lease) => {
                let lock = Lock::start(api, slot, info.id, lease, stop);
                *lock.shared.until.lock().unwrap_or_else(PoisonError::into_inner) = began + DURATION;
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

/// What a Lease means to someone who would take the lock.
#[derive(Debug, PartialEq)]
enum Claim {
    Free,
    Mine,
    Held(Holder),
    /// Not renewed in time.
    RunOut(Holder),
}

fn judge(lease: Option<&Lease>, mine: &str, time: Timestamp) -> Claim {
    let Some(lease) = lease else { return Claim::Free };
    let spec = lease.spec.clone().unwrap_or_default();
    let Some(id) = spec.holder_identity.as_deref().filter(|id| !id.is_empty()) else {
        return Claim::Free;
    };
    if id == mine {
        return Claim::Mine;
    }
    let note = |key: &str| lease.metadata.annotations.as_ref()?.get(key).map(String::as_str);
    let info = note(LOCK_INFO).and_then(LockInfo::from_json).unwrap_or_default();
    let info = LockInfo {
        id: id.to_owned(),
        ..info
    };
    let replica = note(LOCKED_BY)
        .and_then(|text| serde_json::from_str::<LockedBy>(text).ok())
        .filter(|by| by.id == id)
        .map(|by| by.replica);
    let ran_out = replica.is_some() && runs_out(&spec).is_some_and(|end| end <= time);
    let holder = Holder { info, replica };
    if ran_out {
        Claim::RunOut(holder)
    } else {
        Claim::Held(holder)
    }
}

/// The Lease as it is once we have it.
fn taken(found: Option<Lease>, slot: &Slot, replica: &str, info: &LockInfo, recorded: u64) -> Lease {
    let mut lease = found.unwrap_or_else(|| Lease {
        metadata: ObjectMeta {
            name: Some(slot.lease()),
            labels: Some(slot.labels()),
            ..ObjectMeta::default()
        },
        spec: None,
    });
    let by = LockedBy {
        id: info.id.clone(),
        replica: replica.to_owned(),
    };
    let notes = lease.metadata.annotations.get_or_insert_with(BTreeMap::new);
    notes.insert(LOCK_INFO.to_owned(), info.to_json());
    notes.insert(
        LOCKED_BY.to_owned(),
        serde_json::to_string(&by).unwrap_or_default(),
    );
    let spec = lease.spec.get_or_insert_with(LeaseSpec::default);
    let before = u64::try_from(spec.lease_transitions.unwrap_or(0)).unwrap_or(0);
    let time = now();
    spec.holder_identity = Some(info.id.clone());
    spec.lease_duration_seconds = duration_seconds();
    spec.acquire_time = Some(time.clone());
    spec.renew_time = Some(time);
    // A Lease that was deleted counts anew, but state and journal remember.
    spec.lease_transitions = Some(i32::try_from(before.max(recorded) + 1).unwrap_or(i32::MAX));
    lease
}

/// The Lease as it is once nobody has it: as Terraform leaves it, but for the count.
fn freed(mut lease: Lease) -> Lease {
    if let Some(notes) = &mut lease.metadata.annotations {
        notes.remove(LOCK_INFO);
        notes.remove(LOCKED_BY);
    }
    let transitions = lease.spec.take().and_then(|spec| spec.lease_transitions);
    lease.spec = Some(LeaseSpec {
        lease_transitions: transitions,
        ..LeaseSpec::default()
    });
    lease
}

impl Lock {
    fn start(api: Api<Lease>, slot: &Slot, id: String, lease: Lease, stop: StopFlag) -> Self {
        let transitions = lease
            .spec
            .as_ref()
            .and_then(|spec| spec.lease_transitions)
            .unwrap_or(0);
        let shared = Arc::new(Shared {
            api,
            slot: slot.clone(),
            id,
            fence: u64::try_from(transitions).unwrap_or(0),
            stop,
            lost: AtomicBool::new(false),
            until: Mutex::new(Instant::now() + RENEW),
            lease: tokio::sync::Mutex::new(lease),
        });
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

async fn keep(shared: Arc<Shared>) {
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
    fn what(&self) -> String {
        self.slot.tell("Lease", &self.slot.lease())
    }

    /// The fencing number.
    pub(super) fn fence(&self) -> u64 {
        self.fence
    }

    /// Is the lock surely held? If not, the run is told to stop.
    pub(super) fn check(&self) -> Result<(), Fault> {
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
    pub(super) fn while_held(&self) -> Patience<'_> {
        Patience {
            lock: self,
            until: None,
            cause: None,
        }
    }

    /// A write that is tried again for so long, unless someone else has the lock: one that could not be renewed in time
    /// is still ours while nobody took it.
    pub(super) fn for_as_long_as(&self, time: Duration) -> Patience<'_> {
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
                    *self.until.lock().unwrap_or_else(PoisonError::into_inner) = began + DURATION;
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

    async fn end(&self, how: End) -> Result<(), Fault> {
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
enum End {
    /// The Lease stays, as Terraform leaves it.
    Freed,
    /// The Lease goes with the state.
    Removed,
}

/// How long a write is tried.
pub(super) struct Patience<'a> {
    lock: &'a Shared,
    until: Option<Instant>,
    /// What went wrong, before the lock was no longer sure.
    cause: Option<Fault>,
}

impl Patience<'_> {
    /// Waits before the next attempt, or gives the fault back if there is to be none.
    pub(super) async fn again(&mut self, fault: Fault) -> Result<(), Fault> {
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

/// The diagnostic for a lock that is lost.
pub(super) fn lost(fault: &Fault) -> Diags {
    fault.diags(LOST)
}

#[cfg(test)]
mod tests {
    use jiff::SignedDuration;

    use super::*;

    fn slot() -> Slot {
        Slot::new("ns", "default", "sample", BTreeMap::new()).unwrap()
    }

    fn ours() -> Lease {
        let info = LockInfo {
            id: "ours".to_owned(),
            who: "ashlar@pod".to_owned(),
            ..LockInfo::default()
        };
        taken(None, &slot(), "replica-1", &info, 0)
    }

    fn after(lease: &Lease, seconds: i64) -> Timestamp {
        lease.spec.as_ref().unwrap().renew_time.as_ref().unwrap().0 + SignedDuration::from_secs(seconds)
    }

    /// What another process makes of a Lease some seconds after its renewal.
    fn check(lease: &Lease, seconds: i64, want: &str) {
        let found = match judge(Some(lease), "mine", after(&ours(), seconds)) {
            Claim::Free => "free".to_owned(),
            Claim::Mine => "mine".to_owned(),
            Claim::Held(holder) => format!("held {}", holder.replica.as_deref().unwrap_or("cli")),
            Claim::RunOut(holder) => format!("run out {}", holder.replica.as_deref().unwrap_or("cli")),
        };
        assert_eq!(found, want);
    }

    #[test]
    fn our_locks_run_out_and_those_of_a_command_line_do_not() {
        check(&ours(), 0, "held replica-1");
        check(&ours(), 70, "held replica-1");
        check(&ours(), 80, "run out replica-1");
        let mut cli = Lease {
            metadata: ObjectMeta::default(),
            spec: Some(LeaseSpec::default()),
        };
        check(&cli, 0, "free");
        cli.spec.as_mut().unwrap().holder_identity = Some("cli".to_owned());
        check(&cli, 10_000, "held cli");
        // Forced open after a crash of ours, then taken by a command line, which leaves the rest as it was.
        let mut forced = ours();
        forced.spec.as_mut().unwrap().holder_identity = Some("cli".to_owned());
        check(&forced, 10_000, "held cli");
        forced.spec.as_mut().unwrap().holder_identity = None;
        check(&forced, 0, "free");
    }

    #[test]
    fn the_fencing_number_only_rises() {
        let transitions = |lease: &Lease| lease.spec.as_ref().unwrap().lease_transitions.unwrap();
        let first = ours();
        assert_eq!(transitions(&first), 1);
        let again = taken(Some(freed(first)), &slot(), "r", &LockInfo::default(), 0);
        assert_eq!(transitions(&again), 2);
        assert_eq!(
            transitions(&taken(None, &slot(), "r", &LockInfo::default(), 7)),
            8
        );
    }

    #[test]
    fn a_freed_lease_is_as_terraform_leaves_it() {
        let lease = freed(ours());
        assert_eq!(lease.metadata.annotations, Some(BTreeMap::new()));
        let rest = LeaseSpec {
            lease_transitions: Some(1),
            ..LeaseSpec::default()
        };
        assert_eq!(lease.spec, Some(rest));
        check(&lease, 0, "free");
    }
}
