//! Providers that outlive a run: one of which any call failed serves nobody again, and values that are new in each run leave
//! nothing behind.

use std::{sync::Arc, time::Duration};

use ashlar_port::{Provider, Providers};
use ashlar_provider::{Ended, Plugins, WarmLimits, WarmPool};
use ashlar_value::Value;

use crate::{
    bench::Bench,
    drive::drive,
    harness::cases,
    model::Script,
    rpcs::{CALLS, WITHOUT_REMARKS},
    setup::values::{config, text},
};

cases![
    one_that_failed_a_call_serves_nobody_again,
    new_values_end_what_had_the_old_ones,
    none_is_kept_as_long_as_a_token_of_its_own_lasts,
];

fn run(bench: &Bench, pool: &Arc<WarmPool>) -> Plugins {
    bench.plugins().kept_warm(pool.clone(), "a".into(), Arc::new(()))
}

async fn settings(bench: &Bench, run: &Plugins, region: &str) -> Value {
    let schema = run.schema(bench.address()).await.unwrap();
    config(&schema.provider.block, &[("region", text(region))])
}

/// What the engine does: one that has the configuration, or a new one that is given it. Tells whether it was there.
async fn provider(bench: &Bench, run: &Plugins, role: &str, region: &str) -> (Arc<dyn Provider>, bool) {
    let settings = settings(bench, run, region).await;
    if let Some((provider, _)) = run.configured(bench.address(), &settings).await {
        provider.stands_for(role);
        return (provider, true);
    }
    let provider = run.start(bench.address()).await.unwrap();
    provider.stands_for(role);
    provider.validate_provider(&settings).await;
    provider.configure(&settings).await;
    (provider, false)
}

async fn one_that_failed_a_call_serves_nobody_again() {
    for rpc in CALLS.iter().filter(|rpc| !WITHOUT_REMARKS.contains(&rpc.six)) {
        // What it says without an error does no harm, but for an ephemeral resource that stays open.
        for (fault, is_kept) in [("remarks", false), ("", rpc.six != "OpenEphemeralResource")] {
            let bench = Bench::model(Script {
                fault: format!("{fault} {}", rpc.six),
                ..Script::healthy(6)
            });
            let pool = WarmPool::new(WarmLimits::default());
            let first = run(&bench, &pool);
            // `drive` configures with this region as well.
            let (one, _) = provider(&bench, &first, "provider.model", "north").await;
            let told = drive(rpc.six, &*one).await;
            assert_eq!(told.is_empty(), fault.is_empty(), "{}: {told:?}", rpc.six);
            one.close().await;
            first.close().await;
            let is_closing = rpc.six == "CloseEphemeralResource";
            let next = run(&bench, &pool);
            let settings = settings(&bench, &next, "north").await;
            let again = next.configured(bench.address(), &settings).await;
            assert_eq!(again.is_some(), is_kept && !is_closing, "{fault} {}", rpc.six);
            if let Some((again, _)) = again {
                again.close().await;
            }
            next.close().await;
            pool.close().await;
        }
    }
}

async fn new_values_end_what_had_the_old_ones() {
    let bench = Bench::model(Script::healthy(6));
    let pool = WarmPool::new(WarmLimits::default());
    for (at, token) in ["1", "2", "3"].iter().enumerate() {
        let one = run(&bench, &pool);
        let (changing, was_there) = provider(&bench, &one, "provider.model", token).await;
        assert!(!was_there);
        let (same, was_there) = provider(&bench, &one, "provider.model.alias", "north").await;
        assert_eq!(was_there, at > 0, "the other configuration is what it was");
        changing.close().await;
        same.close().await;
        one.close().await;
        assert_eq!(pool.counts().now(), (0, 2));
        assert_eq!(pool.counts().all_ended(Ended::Tenant), at as u64);
    }
    // And back to values of once: what has them now is not taken for what had others.
    let last = run(&bench, &pool);
    let (again, was_there) = provider(&bench, &last, "provider.model", "3").await;
    assert!(was_there);
    again.close().await;
    last.close().await;
    pool.close().await;
}

async fn none_is_kept_as_long_as_a_token_of_its_own_lasts() {
    let shortest = Duration::from_secs(20 * 60);
    let limits = WarmLimits::default();
    assert!(
        limits.age <= shortest / 2 && limits.idle <= limits.age,
        "{limits:?}"
    );
}
