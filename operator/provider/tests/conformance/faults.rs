//! Every fault in every call: one error that names the provider and the call, in time, and no process left.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use ashlar_diag::Severity;
use ashlar_port::{CallFault, Provider, ProviderDiag, Providers};
use ashlar_provider::{Served, Turns};
use tokio::sync::oneshot;

use crate::{
    bench::Bench,
    drive::{THING, drive, listing, thing},
    harness::cases,
    model::Script,
    rpcs::CALLS,
};

cases![
    death_in_each_call,
    a_hang_in_each_call,
    a_hang_of_a_sidecar,
    a_sidecar_that_another_run_has,
    a_sidecar_that_is_told_to_stop_serves_to_the_end,
    nonsense_values_in_each_call,
    nonsense_messages_in_each_call,
    half_an_answer_in_each_call,
    no_grpc_in_each_call,
    a_refusal_of_each_call,
    a_call_that_is_not_there,
    an_action_without_an_end,
    a_listed_object_without_an_identity,
    objects_of_unknown_types,
    a_plugin_that_does_not_end_is_killed,
    a_crash_tells_the_last_call,
];

/// Calls whose answers hold a value.
const WITH_VALUES: [&str; 12] = [
    "ListResource",
    "OpenEphemeralResource",
    "UpgradeResourceState",
    "UpgradeResourceIdentity",
    "MoveResourceState",
    "ImportResourceState",
    "GenerateResourceConfig",
    "ReadResource",
    "PlanResourceChange",
    "ApplyResourceChange",
    "ReadDataSource",
    "CallFunction",
];

fn faulty(generation: u8, fault: &str, call: &str) -> Bench {
    Bench::model(Script {
        fault: format!("{fault} {call}"),
        ..Script::healthy(generation)
    })
}

/// What is told when `call` goes wrong.
async fn told(bench: &Bench, call: &str) -> String {
    let provider = match bench.start().await {
        Ok(provider) => provider,
        Err(error) => return error,
    };
    let diags = drive(call, &*provider).await;
    if call == "StopProvider" {
        // It has no answer: who stops a run only wants to be told.
        assert!(diags.is_empty());
        let told: Vec<_> = bench
            .log()
            .into_iter()
            .filter(|line| line.text.contains("to stop"))
            .collect();
        assert_eq!(told.len(), 1, "{told:?}");
        return told[0].text.clone();
    }
    assert!(
        diags
            .iter()
            .all(|diag| diag.severity == Severity::Error && diag.fault == Some(CallFault::NotHeard)),
        "{diags:?}"
    );
    // What has more than one part that cannot be read is told of each.
    assert!(!diags.is_empty(), "{call}: nothing was told");
    diags
        .iter()
        .map(|diag| format!("{}: {}\n", diag.summary, diag.detail))
        .collect()
}

async fn in_each_call(fault: &str, calls: &[&str], limit: Duration, wanted: &[&str]) {
    for generation in [5, 6] {
        for call in calls {
            let bench = faulty(generation, fault, call).in_time(limit);
            let begun = Instant::now();
            let error = told(&bench, call).await;
            assert!(
                begun.elapsed() < limit + Duration::from_secs(20),
                "{fault} {call}: {:?}",
                begun.elapsed()
            );
            for part in wanted.iter().chain([call, &bench.name().as_str()]) {
                assert!(
                    error.contains(part),
                    "{fault} {call} ({generation}): no {part:?} in: {error}"
                );
            }
            assert!(!error.contains("token-1"), "{error}");
        }
    }
}

fn all() -> Vec<&'static str> {
    CALLS.iter().map(|rpc| rpc.six).collect()
}

const LONG: Duration = Duration::from_secs(60);

async fn death_in_each_call() {
    in_each_call(
        "die",
        &all(),
        LONG,
        &[
            "ended while it was asked for",
            "exit status: 2",
            "panic: the model broke over ***",
        ],
    )
    .await;
}

/// Each call ends by itself with the limits that it has outside of tests.
async fn a_hang_in_each_call() {
    let (least, most) = (Duration::from_secs(1), Duration::from_secs(30));
    for generation in [5, 6] {
        for call in all() {
            let bench = faulty(generation, "hang", call).in_usual_time();
            let begun = Instant::now();
            let error = told(&bench, call).await;
            let took = begun.elapsed();
            assert!((least..most).contains(&took), "{call}: {took:?}");
            let limit = bench.limit(call);
            for part in [call, &bench.name(), &format!("within {limit:?} and was ended")] {
                assert!(error.contains(part), "{call}: no {part:?} in: {error}");
            }
        }
    }
}

/// Nobody here ends a sidecar: it is left alone from then on, and the next run tries anew.
async fn a_hang_of_a_sidecar() {
    let bench = Bench::model(Script {
        start: "no-tls".to_owned(),
        fault: "hang ReadResource".to_owned(),
        ..Script::healthy(6)
    });
    let bench = bench.in_time(Duration::from_secs(2));
    let socket = bench.world().join("sidecar");
    let (_stop, stop) = oneshot::channel();
    let serving = bench.serve(&socket, stop);
    let turns = Arc::<Turns>::default();
    let run = bench.attached(&socket, turns.clone());
    let provider = run.start(bench.address()).await.unwrap();
    let (slow, beside) = tokio::join!(
        drive("ReadResource", &*provider),
        drive("ReadResource", &*provider)
    );
    for told in [&slow[0], &beside[0]] {
        assert_eq!(told.fault, Some(CallFault::NotHeard));
        assert!(!told.detail.contains("was ended"), "{told:?}");
    }
    let told =
        [&slow[0].detail, &beside[0].detail].map(|told| told.contains("within 2s. It runs as a sidecar"));
    assert!(told.contains(&true), "{slow:?} {beside:?}");
    let later = drive("PlanResourceChange", &*provider).await;
    assert!(
        later[0]
            .detail
            .contains("was not asked for PlanResourceChange: it did not answer ReadResource within 2s"),
        "{later:?}"
    );
    assert_eq!(later[0].fault, Some(CallFault::NotAsked));
    assert!(!bench.calls().contains(&"PlanResourceChange".to_owned()));
    provider.close().await;
    run.close().await;
    let next = bench.attached(&socket, turns);
    let provider = next.start(bench.address()).await.unwrap();
    assert!(drive("PlanResourceChange", &*provider).await.is_empty());
    provider.close().await;
    next.close().await;
    serving.abort();
}

async fn a_sidecar_that_another_run_has() {
    let bench = Bench::model(Script {
        start: "no-tls".to_owned(),
        ..Script::healthy(6)
    });
    let bench = bench.in_time(Duration::from_secs(2));
    let socket = bench.world().join("sidecar");
    let (_stop, stop) = oneshot::channel();
    let serving = bench.serve(&socket, stop);
    let turns = Arc::<Turns>::default();
    let first = bench.attached(&socket, turns.clone());
    let provider = first.start(bench.address()).await.unwrap();
    let second = bench.attached(&socket, turns);
    let refused = second.start(bench.address()).await.err().unwrap().to_string();
    assert!(refused.contains("Provider in use by another run"), "{refused}");
    assert!(refused.contains("for 2s. Try again"), "{refused}");
    provider.close().await;
    first.close().await;
    // The first run is over, and the second one has it.
    let provider = second.start(bench.address()).await.unwrap();
    provider.close().await;
    second.close().await;
    serving.abort();
}

async fn a_sidecar_that_is_told_to_stop_serves_to_the_end() {
    let bench = Bench::model(Script {
        start: "no-tls".to_owned(),
        ..Script::healthy(6)
    });
    let socket = bench.world().join("sidecar");
    let (stop, stopped) = oneshot::channel();
    let serving = bench.serve(&socket, stopped);
    let run = bench.attached(&socket, Arc::default());
    let provider = run.start(bench.address()).await.unwrap();
    stop.send(()).unwrap();
    // It takes nobody else, and still answers who is there.
    let refused = async {
        while tokio::net::UnixStream::connect(&socket).await.is_ok() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(10), refused)
        .await
        .unwrap();
    assert!(drive("ApplyResourceChange", &*provider).await.is_empty());
    assert!(!serving.is_finished());
    provider.close().await;
    run.close().await;
    drop((provider, run));
    let ended = tokio::time::timeout(Duration::from_secs(10), serving).await;
    assert_eq!(ended.unwrap().unwrap().unwrap(), Served::Stopped);
}

async fn nonsense_values_in_each_call() {
    in_each_call(
        "nonsense",
        &WITH_VALUES,
        LONG,
        &[
            "with a value that does not fit its schema",
            "This is a bug of the provider.",
        ],
    )
    .await;
}

async fn nonsense_messages_in_each_call() {
    in_each_call("garble", &all(), LONG, &["with an unexpected error"]).await;
}

/// Of a list, half an object before a good end is passed over: tonic tells nobody of it, and no gRPC server sends that.
async fn half_an_answer_in_each_call() {
    let mut calls = all();
    calls.retain(|call| *call != "ListResource");
    in_each_call("short", &calls, LONG, &["The plugin of"]).await;
}

async fn no_grpc_in_each_call() {
    in_each_call("not-grpc", &all(), LONG, &["The plugin of"]).await;
}

/// Unknown (2), permission denied (7), internal (13), unavailable (14).
async fn a_refusal_of_each_call() {
    let begun = Instant::now();
    in_each_call(
        "status-2",
        &all(),
        LONG,
        &["with an unexpected error (Unknown", "the model says no"],
    )
    .await;
    // The process lives: there is nothing to wait for.
    assert!(begun.elapsed() < Duration::from_secs(60), "{:?}", begun.elapsed());
    for (code, wanted) in [
        (7, "PermissionDenied"),
        (13, "Internal"),
        (14, "Its log may tell more."),
    ] {
        in_each_call(
            &format!("status-{code}"),
            &["ReadResource", "InvokeAction"],
            LONG,
            &[wanted],
        )
        .await;
    }
}

/// Only the identity schemas may be missing: older providers have none.
async fn a_call_that_is_not_there() {
    let calls: Vec<&str> = all()
        .into_iter()
        .filter(|call| *call != "GetResourceIdentitySchemas")
        .collect();
    in_each_call("status-12", &calls, LONG, &["does not know the call"]).await;
    let bench = faulty(5, "status-12", "GetResourceIdentitySchemas");
    let provider = bench.started().await;
    let schema = provider.schema().await.unwrap();
    assert!(schema.resources.get(THING).unwrap().identity.is_none());
    provider.close().await;
}

async fn an_action_without_an_end() {
    in_each_call(
        "unfinished",
        &["InvokeAction"],
        LONG,
        &["without telling how the action ended"],
    )
    .await;
}

async fn a_listed_object_without_an_identity() {
    in_each_call(
        "nameless",
        &["ListResource"],
        LONG,
        &["with an object of type \"model_thing\" and no identity"],
    )
    .await;
    let bench = Bench::model(Script::healthy(6));
    let provider = bench.started().await;
    let config = listing(&provider.schema().await.unwrap());
    let diags = provider.validate_list("model_nope", &config).await;
    assert_eq!(diags[0].summary, "unknown list resource type \"model_nope\"");
    provider.close().await;
}

async fn objects_of_unknown_types() {
    in_each_call(
        "foreign",
        &["ImportResourceState"],
        LONG,
        &["an object of type \"model_elsewhere\""],
    )
    .await;
    let bench = Bench::model(Script::healthy(6));
    let provider = bench.started().await;
    let schema = provider.schema().await.unwrap();
    let diags = provider
        .validate_resource("model_nope", &thing(&schema, &[]))
        .await;
    assert_eq!(diags[0].summary, "unknown resource type \"model_nope\"");
    assert_eq!(diags[0].fault, Some(CallFault::NotAsked));
    // Nor is a value sent that fits nothing.
    let before = bench.calls();
    let diags = provider
        .validate_resource(THING, &ashlar_value::Value::bool(true))
        .await;
    assert_eq!(diags[0].fault, Some(CallFault::NotAsked), "{diags:?}");
    assert_eq!(bench.calls(), before);
    provider.close().await;
}

async fn a_plugin_that_does_not_end_is_killed() {
    let bench = Bench::model(Script {
        fault: "stubborn".to_owned(),
        ..Script::healthy(6)
    });
    let provider = bench.started().await;
    let begun = Instant::now();
    provider.close().await;
    let took = begun.elapsed();
    assert!(
        (Duration::from_secs(2)..Duration::from_secs(6)).contains(&took),
        "{took:?}"
    );
    // And one that is merely dropped ends too.
    drop(bench.started().await);
}

async fn a_crash_tells_the_last_call() {
    let bench = faulty(6, "die", "PlanResourceChange");
    let provider: Arc<dyn Provider> = bench.started().await;
    assert!(drive("ReadResource", &*provider).await.is_empty());
    let first: Vec<ProviderDiag> = drive("PlanResourceChange", &*provider).await;
    assert!(
        first[0]
            .detail
            .contains("ended while it was asked for PlanResourceChange"),
        "{first:?}"
    );
    assert_eq!(first[0].fault, Some(CallFault::NotHeard));
    let later = drive("ApplyResourceChange", &*provider).await;
    assert_eq!(later[0].fault, Some(CallFault::NotAsked), "{later:?}");
    let later = drive("ReadResource", &*provider).await;
    let detail = &later[0].detail;
    assert!(
        detail.contains("could not be asked for ReadResource")
            && detail.contains("asked for PlanResourceChange: exit status: 2"),
        "{detail}"
    );
}
