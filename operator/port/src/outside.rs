//! Clock and chance.

use ashlar_addr::DeposedKey;
use async_trait::async_trait;

/// What the engine must ask for to be able to know it: tests give fixed answers.
#[async_trait]
pub trait Outside: Send + Sync {
    /// The time now, RFC 3339 in UTC with seconds (`2026-01-02T03:04:05Z`).
    fn now(&self) -> String;

    /// The time now, in milliseconds since 1970 in UTC.
    fn unix_ms(&self) -> u64;

    /// A random UUID, lower case with dashes.
    fn uuid(&self) -> String;

    /// A random key for an object about to be deposed.
    fn deposed_key(&self) -> DeposedKey;

    /// Milliseconds that only ever grow; for measuring, not for showing.
    fn monotonic_ms(&self) -> u64;

    /// Returns after so many milliseconds.
    async fn pause(&self, ms: u64);
}
