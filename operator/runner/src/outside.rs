//! The real clock and real chance.

use std::time::{Duration, Instant};

use ashlar_addr::DeposedKey;
use ashlar_port::Outside;
use async_trait::async_trait;

/// Reads the system's clock and its source of randomness.
pub struct SystemOutside {
    start: Instant,
}

impl Default for SystemOutside {
    fn default() -> Self {
        Self {
            start: Instant::now(),
        }
    }
}

#[async_trait]
impl Outside for SystemOutside {
    fn now(&self) -> String {
        jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
    }

    fn unix_ms(&self) -> u64 {
        u64::try_from(jiff::Timestamp::now().as_millisecond()).unwrap_or_default()
    }

    fn uuid(&self) -> String {
        uuid::Uuid::new_v4().to_string()
    }

    fn deposed_key(&self) -> DeposedKey {
        DeposedKey(rand::random())
    }

    fn monotonic_ms(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    async fn pause(&self, ms: u64) {
        tokio::time::sleep(Duration::from_millis(ms)).await;
    }
}
