//! When a Lease has run out.
//!
//! Its holder goes by its own monotonic clock and stops at the end of the duration. Whoever would take over goes by the
//! wall clock, and adds a margin: as long as clocks agree to within it, both never believe to hold the lock.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::{api::coordination::v1::LeaseSpec, apimachinery::pkg::apis::meta::v1::MicroTime};

/// How long a Lease lasts without renewal.
pub(super) const DURATION: Duration = Duration::from_secs(60);
/// How often it is renewed.
pub(super) const RENEW: Duration = Duration::from_secs(15);
/// How often it is tried again after a failure.
pub(super) const RENEW_AGAIN: Duration = Duration::from_secs(3);
/// By how much clocks may differ.
const MARGIN: SignedDuration = SignedDuration::from_secs(15);

/// The duration as the API has it.
pub(super) fn duration_seconds() -> Option<i32> {
    i32::try_from(DURATION.as_secs()).ok()
}

pub(super) fn now() -> MicroTime {
    MicroTime(Timestamp::now())
}

/// When others may take over; `None` if the Lease is not one that runs out.
pub(super) fn runs_out(spec: &LeaseSpec) -> Option<Timestamp> {
    let renewed = spec.renew_time.as_ref()?.0;
    let duration = SignedDuration::from_secs(i64::from(spec.lease_duration_seconds?));
    renewed
        .checked_add(duration)
        .and_then(|end| end.checked_add(MARGIN))
        .ok()
}
