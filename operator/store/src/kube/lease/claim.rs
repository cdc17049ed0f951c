//! What a Lease means to someone who would take the lock, and what it holds once it is taken or free. Pure.

use std::{collections::BTreeMap, fmt};

use jiff::Timestamp;
use k8s_openapi::{
    api::coordination::v1::{Lease, LeaseSpec},
    apimachinery::pkg::apis::meta::v1::ObjectMeta,
};
use serde::{Deserialize, Serialize};

use crate::{
    LockInfo,
    kube::{
        names::{LOCK_INFO, LOCKED_BY, Slot},
        time::{duration_seconds, now, runs_out},
    },
};

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
                "It is that of a command, which no replica of the operator renews, so it never runs out: wait, or, if nobody works on this state any more, run \
                 `terraform force-unlock {}`.",
                self.info.id
            ),
        }
    }
}

/// Names the replica of a lock, under the ID the lock has then: what a force-unlock leaves behind names no one.
#[derive(Serialize, Deserialize)]
struct LockedBy {
    id: String,
    replica: String,
}

/// What a Lease means to someone who would take the lock.
#[derive(Debug, PartialEq)]
pub(super) enum Claim {
    Free,
    Mine,
    Held(Holder),
    /// Not renewed in time.
    RunOut(Holder),
}

pub(super) fn judge(lease: Option<&Lease>, mine: &str, time: Timestamp) -> Claim {
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
pub(super) fn taken(
    found: Option<Lease>,
    slot: &Slot,
    replica: Option<&str>,
    info: &LockInfo,
    recorded: u64,
) -> Lease {
    let mut lease = found.unwrap_or_else(|| Lease {
        metadata: ObjectMeta {
            name: Some(slot.lease()),
            labels: Some(slot.labels()),
            ..ObjectMeta::default()
        },
        spec: None,
    });
    let notes = lease.metadata.annotations.get_or_insert_with(BTreeMap::new);
    notes.insert(LOCK_INFO.to_owned(), info.to_json());
    notes.remove(LOCKED_BY);
    if let Some(replica) = replica {
        let by = LockedBy {
            id: info.id.clone(),
            replica: replica.to_owned(),
        };
        let by = serde_json::to_string(&by).unwrap_or_default();
        notes.insert(LOCKED_BY.to_owned(), by);
    }
    let spec = lease.spec.get_or_insert_with(LeaseSpec::default);
    let before = u64::try_from(spec.lease_transitions.unwrap_or(0)).unwrap_or(0);
    let time = now();
    spec.holder_identity = Some(info.id.clone());
    // Without a replica that could be found gone, it runs out never.
    spec.lease_duration_seconds = replica.and_then(|_| duration_seconds());
    spec.acquire_time = Some(time.clone());
    spec.renew_time = Some(time);
    // A Lease that was deleted counts anew, but state and journal remember.
    spec.lease_transitions = Some(i32::try_from(before.max(recorded) + 1).unwrap_or(i32::MAX));
    lease
}

/// The Lease as it is once nobody has it: as Terraform leaves it, but for the count.
pub(super) fn freed(mut lease: Lease) -> Lease {
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
        taken(None, &slot(), Some("replica-1"), &info, 0)
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
        // Ours, taken by hand: as Terraform's, whatever a replica left there.
        let info = LockInfo {
            id: "hand".to_owned(),
            ..LockInfo::default()
        };
        let by_hand = taken(Some(freed(ours())), &slot(), None, &info, 0);
        check(&by_hand, 10_000, "held cli");
        assert!(!by_hand.metadata.annotations.unwrap().contains_key(LOCKED_BY));
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
        let again = taken(Some(freed(first)), &slot(), Some("r"), &LockInfo::default(), 0);
        assert_eq!(transitions(&again), 2);
        assert_eq!(
            transitions(&taken(None, &slot(), Some("r"), &LockInfo::default(), 7)),
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
