//! Which idle providers are ended: pure, from what was seen of them.

use std::{cmp::Reverse, collections::BTreeMap, time::Duration};

/// How many providers are kept between runs, for how long, and how much memory they may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WarmLimits {
    /// How long one may serve nobody.
    pub idle: Duration,
    /// How old one may get.
    pub age: Duration,
    /// Most resident memory of one, in bytes.
    pub resident: u64,
    /// Most resident memory of all idle ones, in bytes.
    pub memory: u64,
    /// Most idle ones of a tenant.
    pub per_tenant: usize,
    /// Most idle ones of all.
    pub all: usize,
}

impl Default for WarmLimits {
    fn default() -> Self {
        Self {
            // Tokens that a provider makes itself when it is configured last as little as twenty minutes.
            idle: Duration::from_secs(10 * 60),
            age: Duration::from_secs(10 * 60),
            resident: 512 << 20,
            memory: 1 << 30,
            per_tenant: 8,
            all: 64,
        }
    }
}

/// Why a provider was ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Ended {
    /// It ended by itself.
    Crashed,
    /// A call failed, or was broken off.
    Failed,
    /// A change that it made went wrong.
    ApplyError,
    /// It was told to stop, or was ended at work.
    Stopped,
    /// Its configuration is not to outlive a run, or it took none.
    Unkept,
    /// It served nobody for too long.
    Idle,
    /// It was too old.
    Age,
    /// It took too much memory, or all of them did, or the machine has little left.
    Memory,
    /// There were too many.
    Count,
    /// Its tenant is gone, or runs with other files, variables or another configuration.
    Tenant,
    /// The operator ends.
    Shutdown,
}

impl Ended {
    /// All there are.
    pub const ALL: [Self; 11] = [
        Self::Crashed,
        Self::Failed,
        Self::ApplyError,
        Self::Stopped,
        Self::Unkept,
        Self::Idle,
        Self::Age,
        Self::Memory,
        Self::Count,
        Self::Tenant,
        Self::Shutdown,
    ];

    /// Its name among metrics.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Crashed => "crashed",
            Self::Failed => "failed",
            Self::ApplyError => "apply_error",
            Self::Stopped => "stopped",
            Self::Unkept => "unkept",
            Self::Idle => "idle",
            Self::Age => "age",
            Self::Memory => "memory",
            Self::Count => "count",
            Self::Tenant => "tenant",
            Self::Shutdown => "shutdown",
        }
    }
}

/// An idle provider as it is seen.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen<'a> {
    pub(crate) id: u64,
    pub(crate) tenant: &'a str,
    pub(crate) has_ended: bool,
    pub(crate) age: Duration,
    pub(crate) idle: Duration,
    pub(crate) resident: u64,
}

/// Which are to be ended and why. `pressed`: the machine has little memory left.
pub(crate) fn surplus(seen: &[Seen<'_>], limits: &WarmLimits, pressed: bool) -> BTreeMap<u64, Ended> {
    let mut ended = BTreeMap::new();
    for one in seen {
        let why = if one.has_ended {
            Ended::Crashed
        } else if one.idle >= limits.idle {
            Ended::Idle
        } else if one.age >= limits.age {
            Ended::Age
        } else if one.resident > limits.resident {
            Ended::Memory
        } else {
            continue;
        };
        ended.insert(one.id, why);
    }
    // What was used last is used next.
    let mut left: Vec<&Seen<'_>> = seen.iter().filter(|one| !ended.contains_key(&one.id)).collect();
    left.sort_by_key(|one| (one.idle, Reverse(one.id)));
    let mut of_tenant: BTreeMap<&str, usize> = BTreeMap::new();
    let (mut count, mut memory) = (0, 0);
    let whole = left.len();
    for (at, one) in left.into_iter().enumerate() {
        let own = of_tenant.entry(one.tenant).or_default();
        let why = if *own >= limits.per_tenant || count >= limits.all {
            Ended::Count
        } else if memory + one.resident > limits.memory || (pressed && at >= whole / 2) {
            Ended::Memory
        } else {
            *own += 1;
            count += 1;
            memory += one.resident;
            continue;
        };
        ended.insert(one.id, why);
    }
    ended
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: WarmLimits = WarmLimits {
        idle: Duration::from_secs(60),
        age: Duration::from_secs(600),
        resident: 100,
        memory: 250,
        per_tenant: 2,
        all: 3,
    };

    /// Id, tenant, seconds idle, memory.
    fn check(seen: &[(u64, &str, u64, u64)], pressed: bool, expected: &[(u64, Ended)]) {
        let seen: Vec<_> = seen
            .iter()
            .map(|(id, tenant, idle, resident)| Seen {
                id: *id,
                tenant,
                has_ended: false,
                age: Duration::from_secs(100),
                idle: Duration::from_secs(*idle),
                resident: *resident,
            })
            .collect();
        let ended: Vec<_> = surplus(&seen, &LIMITS, pressed).into_iter().collect();
        assert_eq!(ended, expected);
    }

    #[test]
    fn each_limit_ends_what_was_not_used_for_longest() {
        check(&[(1, "a", 1, 50), (2, "a", 2, 50), (3, "b", 3, 50)], false, &[]);
        check(&[(1, "a", 60, 1), (2, "a", 59, 1)], false, &[(1, Ended::Idle)]);
        check(&[(1, "a", 1, 101)], false, &[(1, Ended::Memory)]);
        // Of a tenant, then of all.
        check(
            &[(1, "a", 3, 1), (2, "a", 2, 1), (3, "a", 1, 1), (4, "b", 9, 1)],
            false,
            &[(1, Ended::Count)],
        );
        check(
            &[(1, "a", 4, 1), (2, "b", 3, 1), (3, "c", 2, 1), (4, "d", 1, 1)],
            false,
            &[(1, Ended::Count)],
        );
        check(
            &[(1, "a", 3, 90), (2, "b", 2, 90), (3, "c", 1, 90)],
            false,
            &[(1, Ended::Memory)],
        );
    }

    #[test]
    fn under_pressure_the_older_half_goes() {
        check(
            &[(1, "a", 3, 1), (2, "b", 2, 1), (3, "c", 1, 1)],
            true,
            &[(1, Ended::Memory), (2, Ended::Memory)],
        );
        check(&[(1, "a", 3, 1)], true, &[(1, Ended::Memory)]);
    }

    #[test]
    fn what_is_old_or_gone_goes_first() {
        let seen = |id, has_ended, age| Seen {
            id,
            tenant: "a",
            has_ended,
            age: Duration::from_secs(age),
            idle: Duration::from_secs(1),
            resident: 1,
        };
        let ended = surplus(
            &[seen(1, true, 1), seen(2, false, 600), seen(3, false, 1)],
            &LIMITS,
            false,
        );
        assert_eq!(ended, BTreeMap::from([(1, Ended::Crashed), (2, Ended::Age)]));
    }
}
