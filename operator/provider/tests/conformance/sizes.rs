//! How much a plugin may send, and be sent: what is large passes, what is hostile takes neither memory nor time.

use std::{
    fs,
    sync::atomic::{AtomicUsize, Ordering},
    time::{Duration, Instant},
};

use ashlar_value::Value;

use crate::{
    bench::Bench,
    drive::{drive, listing, reading, thing, wholly},
    harness::cases,
    model::{FLOOD_LINES, LARGE, MANY, Script},
    rpcs::{CALLS, WITHOUT_REMARKS},
    setup::values::{clean, config, text},
};

cases![
    a_state_of_100_mb_passes_both_ways,
    a_message_over_the_limit_is_refused,
    a_value_of_too_many_parts_is_refused,
    a_flood_on_standard_error_holds_up_nothing,
    of_many_remarks_the_first_are_kept,
    a_crowd_of_parts_is_not_read,
    of_many_messages_of_an_action_the_first_are_told,
    a_list_ends_at_its_limit_and_takes_no_more_than_it_may,
];

fn model(generation: u8, fault: &str) -> Bench {
    Bench::model(Script {
        fault: fault.to_owned(),
        ..Script::healthy(generation)
    })
}

/// Bytes of this process in memory.
fn memory() -> usize {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))
        .unwrap();
    line.trim().trim_end_matches(" kB").parse::<usize>().unwrap() << 10
}

async fn a_state_of_100_mb_passes_both_ways() {
    for generation in [5, 6] {
        let bench = model(generation, "large ReadResource");
        let provider = bench.started().await;
        let schema = provider.schema().await.unwrap();
        let small = thing(&schema, &[("name", text("a"))]);
        let read = clean(provider.read(reading(&small)).await).state.unwrap();
        let secret = |value: &Value| value.attr("secret").unwrap().as_str().unwrap().len();
        assert_eq!(secret(&read), LARGE);
        // And back: the model reads the state as it was sent.
        let request = ashlar_port::PlanRequest {
            config: &small,
            ..crate::drive::planning(&read, &read)
        };
        let planned = clean(provider.plan(request).await).state.unwrap();
        assert_eq!(secret(&planned), LARGE);
        provider.close().await;
    }
}

async fn a_message_over_the_limit_is_refused() {
    for generation in [5, 6] {
        for rpc in CALLS {
            let bench = model(generation, &format!("huge {}", rpc.six));
            let told = match bench.start().await {
                Err(error) => error,
                Ok(provider) => match drive(rpc.six, &*provider).await.pop() {
                    Some(diag) => diag.detail,
                    None => bench.log().into_iter().map(|line| line.text).collect(),
                },
            };
            let wanted = format!("answered {} with more than 256 MiB", rpc.six);
            assert!(
                told.contains(&wanted) && told.contains(&bench.name()),
                "{}: {told}",
                rpc.six
            );
        }
    }
    // And what is to be sent: nothing of it is, and the plugin lives on.
    let bench = model(6, "");
    let provider = bench.started().await;
    let schema = provider.schema().await.unwrap();
    let large = thing(&schema, &[("name", text(&"n".repeat(257 << 20)))]);
    let refused = provider.read(reading(&large)).await.diags;
    assert!(
        refused[0]
            .detail
            .contains("is to be told with ReadResource has more than 256 MiB"),
        "{refused:?}"
    );
    assert_eq!(refused[0].fault, Some(ashlar_port::CallFault::NotAsked));
    assert!(drive("ReadResource", &*provider).await.is_empty());
    provider.close().await;
}

/// The most memory that this process had since it was asked last.
fn peak() -> usize {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .unwrap();
    // So that it counts anew.
    fs::write("/proc/self/clear_refs", "5").unwrap();
    line.trim().trim_end_matches(" kB").parse::<usize>().unwrap() << 10
}

/// A byte or two stand for a number, which takes forty and more in memory.
async fn a_value_of_too_many_parts_is_refused() {
    for fault in ["dense", "dense-json"] {
        let bench = model(6, &format!("{fault} ReadResource"));
        let provider = bench.started().await;
        let before = memory();
        peak();
        let told = drive("ReadResource", &*provider).await;
        let grown = peak().saturating_sub(before);
        assert!(
            told.len() == 1 && told[0].fault.is_some() && told[0].detail.contains("too many parts"),
            "{told:?}"
        );
        assert!(grown < 1536 << 20, "{fault}: {} MiB", grown >> 20);
        provider.close().await;
    }
}

async fn a_flood_on_standard_error_holds_up_nothing() {
    let bench = model(6, "flood ReadResource");
    let provider = bench.started().await;
    let before = memory();
    let begun = Instant::now();
    assert!(drive("ReadResource", &*provider).await.is_empty());
    assert!(begun.elapsed() < Duration::from_secs(60), "{:?}", begun.elapsed());
    provider.close().await;
    let log = bench.log();
    let bytes: usize = log.iter().map(|line| line.text.len()).sum();
    // 16 MiB at once and one a second from then on; the test itself keeps what was logged.
    assert!(bytes < 80 << 20, "{bytes}");
    let grown = memory().saturating_sub(before);
    assert!(grown < 300 << 20, "{grown}");
    let left_out: usize = log
        .iter()
        .filter_map(|line| {
            line.text
                .split_once(" lines of the plugin's log were left out")?
                .0
                .parse::<usize>()
                .ok()
        })
        .sum();
    assert!(left_out > FLOOD_LINES / 4, "{left_out}");
    let logged = log.iter().filter(|line| line.text.starts_with('y')).count();
    assert!(
        (FLOOD_LINES..FLOOD_LINES + 1000).contains(&(logged + left_out)),
        "{logged} {left_out}"
    );
    assert!(log.iter().any(|line| line.text == "panic: seen in spite of all"));
}

async fn of_many_remarks_the_first_are_kept() {
    let bench = model(6, "many ValidateResourceConfig");
    let provider = bench.started().await;
    let diags = drive("ValidateResourceConfig", &*provider).await;
    assert_eq!(diags.len(), 1001);
    assert!(
        diags[1000]
            .detail
            .contains(&format!("{} more remarks", MANY - 1000)),
        "{:?}",
        diags[1000]
    );
    provider.close().await;
}

/// Two bytes each, which would take a hundred in memory.
async fn a_crowd_of_parts_is_not_read() {
    for fault in ["crowd", "steps"] {
        for rpc in CALLS.iter().filter(|rpc| !WITHOUT_REMARKS.contains(&rpc.six)) {
            let bench = model(6, &format!("{fault} {}", rpc.six));
            let provider = bench.started().await;
            let told = drive(rpc.six, &*provider).await;
            assert!(
                told[0].detail.contains("with more parts"),
                "{}: {told:?}",
                rpc.six
            );
            provider.close().await;
        }
    }
    // The schema, asked the first time, and asked again of a process whose schema is known.
    for generation in [5, 6] {
        let crowd = |bench: &Bench| Script {
            fault: "crowd GetProviderSchema".to_owned(),
            calls: bench.world().join("calls"),
            ..Script::healthy(generation)
        };
        let bench = model(generation, "crowd GetProviderSchema");
        let told = bench.start().await.err().unwrap();
        assert!(told.contains("GetProviderSchema with more parts"), "{told}");
        let bench = model(generation, "");
        bench.started().await.close().await;
        let script = crowd(&bench);
        let bench = bench.with(script.variables());
        let told = match bench.start().await {
            Err(told) => told,
            Ok(provider) => drive("ReadResource", &*provider).await[0].detail.clone(),
        };
        assert!(told.contains("GetProviderSchema with more parts"), "{told}");
        assert_eq!(
            bench.calls().last().map(String::as_str),
            Some("GetProviderSchema")
        );
    }
}

async fn of_many_messages_of_an_action_the_first_are_told() {
    let bench = model(6, "many InvokeAction");
    let provider = bench.started().await;
    let schema = provider.schema().await.unwrap();
    let fire = config(
        schema.actions.get("model_fire").unwrap(),
        &[("target", text("a"))],
    );
    let count = AtomicUsize::new(0);
    let told = |_: &str| {
        count.fetch_add(1, Ordering::Relaxed);
    };
    let diags = provider.invoke_action("model_fire", &fire, &told).await;
    assert_eq!(
        (count.into_inner(), diags.len()),
        (10_000, 1001),
        "{:?}",
        diags.first()
    );
    provider.close().await;
}

/// The plugin heeds no limit: here 3,000 objects, there three of 100 MB.
async fn a_list_ends_at_its_limit_and_takes_no_more_than_it_may() {
    for generation in [5, 6] {
        let bench = model(generation, "plenty ListResource");
        let provider = bench.started().await;
        let config = listing(&provider.schema().await.unwrap());
        assert_eq!(clean(provider.list(wholly(&config, 100)).await).len(), 100);
        // It lives on and is asked again.
        assert_eq!(clean(provider.list(wholly(&config, 7)).await).len(), 7);
        provider.close().await;
    }
    let bench = model(6, "large ListResource");
    let provider = bench.started().await;
    let config = listing(&provider.schema().await.unwrap());
    let answer = provider.list(wholly(&config, 100)).await;
    assert_eq!(answer.value.len(), 2);
    assert!(
        answer.diags[0].detail.contains("more than 256 MiB together"),
        "{:?}",
        answer.diags
    );
    provider.close().await;
}
