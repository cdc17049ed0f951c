//! Real plugins that outlive a run: used again where all is the same, never where anything went wrong.

use std::{collections::BTreeMap, fs, sync::Arc, time::Duration};

use ashlar_addr::Provider as Address;
use ashlar_port::{Provider, Providers};
use ashlar_provider::{Binary, Ended, Plugins, SchemaCache, WarmLimits, WarmPool};

use crate::{
    KILN, launcher, mirror,
    setup::{
        folders::{self, Folders},
        values::{config, none, text},
    },
};

struct Setup {
    folders: Folders,
    binary: Binary,
    schemas: Arc<SchemaCache>,
    pool: Arc<WarmPool>,
}

impl Setup {
    fn new(limits: WarmLimits) -> Self {
        let folders = Folders::new();
        let binary = folders.binary(mirror(), &address()).into();
        Self {
            folders,
            binary,
            schemas: Arc::default(),
            pool: WarmPool::new(limits),
        }
    }

    /// A run of a tenant, with a variable more in its environment.
    fn run(&self, tenant: &str, variable: &str) -> Plugins {
        let variables = vec![
            ("KILN_DIR".into(), self.folders.world().into()),
            ("MORE".into(), variable.into()),
        ];
        let options = folders::options(self.folders.launch(launcher(), variables));
        let binaries = BTreeMap::from([(address(), self.binary.clone())]);
        folders::plugins(binaries, options, self.schemas.clone()).kept_warm(
            self.pool.clone(),
            tenant.into(),
            Arc::new(()),
        )
    }

    fn running(&self) -> usize {
        self.folders.running()
    }

    async fn until_running(&self, count: usize) {
        let reached = async {
            while self.running() != count {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        let reached = tokio::time::timeout(Duration::from_secs(20), reached).await;
        assert!(reached.is_ok(), "{} processes run, not {count}", self.running());
    }
}

fn address() -> Address {
    KILN.parse().unwrap()
}

/// What the engine does: one that has the configuration, or a new one that is given it. Tells whether it was there.
async fn provider(run: &Plugins) -> (Arc<dyn Provider>, bool) {
    let schema = run
        .schema(&address())
        .await
        .unwrap_or_else(|diags| panic!("{diags}"));
    let settings = config(&schema.provider.block, &[]);
    if let Some((provider, remarks)) = run.configured(&address(), &settings).await {
        none(remarks);
        return (provider, true);
    }
    let provider = run
        .start(&address())
        .await
        .unwrap_or_else(|diags| panic!("{diags}"));
    none(provider.validate_provider(&settings).await);
    none(provider.configure(&settings).await);
    (provider, false)
}

#[tokio::test(flavor = "multi_thread")]
async fn the_next_run_of_the_same_tenant_starts_nothing() {
    let setup = Setup::new(WarmLimits::default());
    for at in 0..5 {
        let run = setup.run("a", "x");
        let (plain, own) = (run.plain(&address()).await.unwrap(), provider(&run).await);
        assert_eq!(own.1, at > 0);
        let schema = run.schema(&address()).await.unwrap();
        let block = &schema.resources.get("kiln_pot").unwrap().block;
        let pot = config(block, &[("name", text("a"))]);
        none(plain.validate_resource("kiln_pot", &pot).await);
        plain.close().await;
        own.0.close().await;
        // Once more is as nothing.
        own.0.close().await;
        run.close().await;
        assert_eq!(setup.running(), 2);
    }
    assert_eq!(setup.pool.counts().all_started(), 2);
    assert_eq!(setup.pool.counts().all_reused(), 8);
    assert_eq!(setup.pool.counts().now(), (0, 2));
    setup.pool.close().await;
    assert_eq!(setup.running(), 0, "all end with the pool");
    let run = setup.run("a", "x");
    let (provider, _) = provider(&run).await;
    provider.close().await;
    setup.until_running(0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_run_at_a_time_has_it_and_another_tenant_never_does() {
    let setup = Setup::new(WarmLimits::default());
    let run = setup.run("a", "x");
    let (first, _) = provider(&run).await;
    let (second, was_there) = provider(&run).await;
    assert!(!was_there, "the first one is in use");
    first.close().await;
    second.close().await;
    let other = setup.run("b", "x");
    let (others, was_there) = provider(&other).await;
    assert!(!was_there);
    others.close().await;
    // The same tenant with another variable.
    let again = setup.run("a", "y");
    setup.until_running(1).await;
    let (anew, was_there) = provider(&again).await;
    assert!(!was_there);
    anew.close().await;
    assert_eq!(setup.pool.counts().all_ended(Ended::Tenant), 2);
    setup.pool.end_tenant("a");
    setup.pool.end_tenant("b");
    setup.until_running(0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_went_wrong_is_never_used_again() {
    let setup = Setup::new(WarmLimits::default());
    let run = setup.run("a", "x");
    let (stopped, _) = provider(&run).await;
    stopped.stop().await;
    stopped.close().await;
    let (apart, was_there) = provider(&run).await;
    assert!(!was_there, "it was told to stop");
    apart.keep_apart();
    apart.close().await;
    let (dropped, was_there) = provider(&run).await;
    assert!(!was_there, "its configuration is not to outlive the run");
    drop(dropped);
    setup.until_running(0).await;
    let (broken, _) = provider(&run).await;
    let schema = run.schema(&address()).await.unwrap();
    let pot = config(&schema.resources.get("kiln_pot").unwrap().block, &[]);
    let call = broken.validate_resource("kiln_pot", &pot);
    // Broken off before it has an answer.
    assert!(tokio::time::timeout(Duration::ZERO, call).await.is_err());
    broken.close().await;
    let (last, was_there) = provider(&run).await;
    assert!(!was_there, "a call of it was broken off");
    last.close().await;
    let counts = setup.pool.counts();
    for (why, count) in [(Ended::Stopped, 2), (Ended::Unkept, 1), (Ended::Failed, 1)] {
        assert_eq!(counts.all_ended(why), count, "{why:?}");
    }
    assert_eq!(counts.now(), (0, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_dies_while_it_serves_nobody_is_not_given_out() {
    let setup = Setup::new(WarmLimits::default());
    let run = setup.run("a", "x");
    let (first, _) = provider(&run).await;
    first.close().await;
    let mut killed = 0;
    for task in fs::read_dir("/proc/self/task").unwrap() {
        let children = fs::read_to_string(task.unwrap().path().join("children")).unwrap_or_default();
        for pid in children.split_whitespace() {
            let variables = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            let world = setup.folders.world();
            let is_ours = String::from_utf8_lossy(&variables).contains(world.to_str().unwrap());
            if is_ours {
                let pid = rustix::process::Pid::from_raw(pid.parse().unwrap()).unwrap();
                rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
                killed += 1;
            }
        }
    }
    assert_eq!(killed, 1);
    setup.until_running(0).await;
    let (second, was_there) = provider(&run).await;
    assert!(!was_there);
    second.close().await;
    assert_eq!(setup.pool.counts().all_ended(Ended::Crashed), 1);
}
