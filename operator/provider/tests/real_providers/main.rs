//! Real plugins through the whole of this crate: mirror, launcher, fence, handshake, TLS, both protocols.
//!
//! Needs the folder in ASHLAR_PLUGIN_MIRROR that `cargo xtask tools` makes, and the feature `real-providers`.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "these are tests, but their helpers stand outside of test functions"
)]

mod calls;
mod faults;
mod fence;
mod lives;
#[path = "../setup/mod.rs"]
mod setup;
mod sidecars;
mod starts;
mod warm;
mod workspace;

use std::{
    path::PathBuf,
    time::{Duration, Instant},
};

use ashlar_provider::Launcher;

const KILN: &str = "forge.test/studio/kiln";

/// Where the plugins are.
fn mirror() -> PathBuf {
    let mirror = std::env::var("ASHLAR_PLUGIN_MIRROR")
        .expect("ASHLAR_PLUGIN_MIRROR must name the plugin mirror that `cargo xtask tools` makes");
    mirror.into()
}

/// Stands in for `ashlar launch`.
fn launcher() -> Launcher {
    Launcher {
        program: env!("CARGO_BIN_EXE_ashlar-launch").into(),
        arguments: Vec::new(),
    }
}

/// Waits for what another process does.
async fn until(done: impl Fn() -> bool) {
    let start = Instant::now();
    while !done() {
        assert!(
            start.elapsed() < Duration::from_secs(30),
            "it did not come to pass"
        );
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Does a process run? One that nobody waited for is still listed, as a zombie.
fn alive(pid: &str) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
}
