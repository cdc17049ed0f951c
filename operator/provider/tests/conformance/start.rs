//! Plugins that do not come up: each is one diagnostic that names the provider and its binary, in time.

use std::time::{Duration, Instant};

use crate::{bench::Bench, harness::cases, model::Script};

cases![
    what_ends_at_once,
    what_is_no_handshake,
    what_we_do_not_speak,
    what_we_do_not_trust,
    what_keeps_us_waiting,
    a_binary_that_is_not_there,
];

async fn refused(start: &str, wanted: &[&str]) {
    refused_within(start, wanted, Duration::from_secs(30)).await;
}

async fn refused_within(start: &str, wanted: &[&str], limit: Duration) {
    let mut bench = Bench::model(Script {
        start: start.to_owned(),
        ..Script::healthy(6)
    });
    bench.handshake = limit;
    let begun = Instant::now();
    let Err(error) = bench.start().await else {
        panic!("{start}: it became a provider")
    };
    assert!(begun.elapsed() < limit + Duration::from_secs(10), "{start}");
    let (name, binary) = (bench.name(), bench.binary());
    for part in wanted.iter().chain([
        &name.as_str(),
        &binary.as_str(),
        &"Failed to instantiate provider",
    ]) {
        assert!(error.contains(part), "{start}: no {part:?} in: {error}");
    }
    assert_eq!(
        error.matches("Failed to instantiate provider").count(),
        1,
        "{error}"
    );
    assert!(!error.contains("token-1"), "{error}");
}

async fn what_ends_at_once() {
    refused("exit", &["it ended before it was ready: exit status: 3"]).await;
    // What it said to a person is told: here, that it did not take us for Terraform.
    refused("cookie", &["exit status: 1", "This binary is a plugin."]).await;
    refused("panic", &["exit status: 2", "panic: no luck with ***"]).await;
    refused("die-after-handshake", &[]).await;
}

async fn what_is_no_handshake() {
    for start in ["garbage", "endless"] {
        refused(start, &["something else than the handshake line of a plugin"]).await;
    }
}

async fn what_we_do_not_speak() {
    refused(
        "core",
        &[
            "its handshake has version 2",
            "version 1 is spoken",
            "another release",
        ],
    )
    .await;
    refused(
        "generation",
        &[
            "it speaks protocol 4 of Terraform",
            "protocols 5 and 6 are spoken",
            "another release",
        ],
    )
    .await;
    refused("netrpc", &["a protocol from before gRPC"]).await;
    refused("network", &["a kind of network that is not known here"]).await;
    refused("elsewhere", &["an address that is not of this machine"]).await;
}

async fn what_we_do_not_trust() {
    refused("no-certificate", &["gave no certificate"]).await;
    refused("bad-certificate", &["its certificate cannot be read"]).await;
    for start in ["nonsense-certificate", "other-certificate"] {
        refused(start, &["another certificate than in its handshake"]).await;
    }
    refused("no-tls", &["could not be started"]).await;
}

async fn what_keeps_us_waiting() {
    let limit = Duration::from_millis(700);
    refused_within("silent", &["it was not ready after 700ms"], limit).await;
    refused_within("deaf", &["took no connection within 700ms"], limit).await;
    refused("nobody", &["could not be started"]).await;
}

async fn a_binary_that_is_not_there() {
    let bench = Bench::model(Script::healthy(6));
    let gone = bench.world().join("terraform-provider-gone");
    let bench = bench.of(gone.clone());
    let error = bench.start().await.err().unwrap();
    assert!(
        error.contains(&gone.display().to_string()) && error.contains(&bench.name()),
        "{error}"
    );
    // There, and no program.
    std::fs::write(&gone, "no program").unwrap();
    let error = bench.start().await.err().unwrap();
    assert!(
        error.contains("it ended before it was ready") && error.contains("cannot be run"),
        "{error}"
    );
}
