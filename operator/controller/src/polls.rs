//! When sources were asked last for anything newer, by this process: a status that told it would never rest.

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use jiff::{SignedDuration, Timestamp};
use sha2::{Digest, Sha256};

/// Times by the workspace's uid.
#[derive(Default)]
pub(crate) struct Polls(Mutex<BTreeMap<String, Timestamp>>);

impl Polls {
    /// When to ask next. Workspaces that this process sees for the first time are spread over the interval, and later on
    /// over a tenth of it.
    pub(crate) fn next(&self, uid: &str, interval: Duration, now: Timestamp) -> Timestamp {
        let jitter = f64::from(Sha256::digest(uid)[0]) / 255.0;
        let whole = interval.mul_f64(1.0 - 0.1 * jitter);
        let mut asked = self.asked();
        let last = asked
            .entry(uid.to_owned())
            .or_insert_with(|| shift(now, -seconds(interval.mul_f64(1.0 - jitter))));
        shift(*last, seconds(whole))
    }

    /// It was asked just now.
    pub(crate) fn done(&self, uid: &str, now: Timestamp) {
        self.asked().insert(uid.to_owned(), now);
    }

    pub(crate) fn forget(&self, uid: &str) {
        self.asked().remove(uid);
    }

    fn asked(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, Timestamp>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn seconds(duration: Duration) -> SignedDuration {
    SignedDuration::try_from(duration).unwrap_or(SignedDuration::MAX)
}

fn shift(time: Timestamp, by: SignedDuration) -> Timestamp {
    time.checked_add(by).unwrap_or(time)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_are_asked_within_their_interval_and_not_all_at_once() {
        let now = Timestamp::from_second(100_000).unwrap();
        let interval = Duration::from_secs(300);
        let polls = Polls::default();
        let waits = |polls: &Polls, uid: &str| polls.next(uid, interval, now).duration_since(now).as_secs();
        let first: Vec<i64> = (0..50).map(|uid| waits(&polls, &uid.to_string())).collect();
        assert!(first.iter().all(|wait| (-30..=300).contains(wait)), "{first:?}");
        let (least, most) = (first.iter().min().unwrap(), first.iter().max().unwrap());
        assert!(most - least > 150, "{first:?}");
        polls.done("1", now);
        assert!((270..=300).contains(&waits(&polls, "1")));
        // A shorter interval counts at once.
        let sooner = polls
            .next("1", Duration::from_secs(30), now)
            .duration_since(now)
            .as_secs();
        assert!((27..=30).contains(&sooner), "{sooner}");
    }
}
