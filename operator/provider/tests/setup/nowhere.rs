//! The outside of tests in which providers take nothing from it: no time, no chance, no other workspace's state.

use std::{collections::BTreeMap, sync::Arc};

use ashlar_addr::DeposedKey;
use ashlar_port::{Outside, StatePlace, States};
use ashlar_value::Value;
use async_trait::async_trait;

/// Whoever asks it for anything fails the test.
pub(super) struct Nowhere;

#[async_trait]
impl States for Nowhere {
    async fn outputs(&self, _: &StatePlace, _: &str) -> Result<Option<BTreeMap<Arc<str>, Value>>, String> {
        unreachable!()
    }
}

#[async_trait]
impl Outside for Nowhere {
    fn now(&self) -> String {
        unreachable!()
    }
    fn unix_ms(&self) -> u64 {
        unreachable!()
    }
    fn uuid(&self) -> String {
        unreachable!()
    }
    fn deposed_key(&self) -> DeposedKey {
        unreachable!()
    }
    fn monotonic_ms(&self) -> u64 {
        unreachable!()
    }
    async fn pause(&self, _ms: u64) {
        unreachable!()
    }
}
