//! Real plugins that run elsewhere and are reached by unix socket and TCP.
//!
//! Needs the folder in ASHLAR_PLUGIN_MIRROR that `cargo xtask tools` makes, and the feature `real-providers`.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "these are tests, but their helpers stand outside of test functions"
)]

use std::{collections::BTreeMap, fs, net::TcpListener, path::PathBuf, sync::Arc, time::Duration};

use ashlar_addr::{DeposedKey, Provider as Address};
use ashlar_install::{Cache, Mirrors};
use ashlar_port::{ApplyRequest, Outside, PlanRequest, Provider, Providers};
use ashlar_provider::{
    Environment, Fence, LaunchOptions, Launcher, Listen, PluginOptions, Plugins, Sidecar, Timeouts, Turns,
    relay,
};
use ashlar_value::{Value, schema::Block};
use async_trait::async_trait;
use tempfile::TempDir;
use tokio::task::JoinHandle;

struct NoOutside;

struct NoStates;

#[async_trait]
impl ashlar_port::States for NoStates {
    async fn outputs(
        &self,
        _: &ashlar_port::StatePlace,
        _: &str,
    ) -> Result<Option<BTreeMap<Arc<str>, Value>>, String> {
        unreachable!()
    }
}

#[async_trait]
impl Outside for NoOutside {
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

/// A sidecar, and what a run is told of it.
struct Setup {
    root: TempDir,
    source: Address,
    binary: PathBuf,
    listen: Listen,
    turns: Arc<Turns>,
}

impl Setup {
    fn new(source: &str, listen: Option<Listen>) -> Self {
        let root = tempfile::tempdir().unwrap();
        let mirror =
            std::env::var("ASHLAR_PLUGIN_MIRROR").expect("ASHLAR_PLUGIN_MIRROR must name a plugin mirror");
        let mirrors = Mirrors {
            folders: vec![mirror.into()],
            cache: Cache::new(root.path().join("cache"), Cache::USUAL_BYTES),
        };
        let source: Address = source.parse().unwrap();
        let package = mirrors.select(&source, &Default::default()).unwrap();
        let binary = mirrors.binary(&source, &package).unwrap();
        let listen = listen.unwrap_or_else(|| Listen::Unix(root.path().join("s")));
        Self {
            root,
            source,
            binary,
            listen,
            turns: Arc::default(),
        }
    }

    fn serve(&self) -> JoinHandle<()> {
        let (listen, binary) = (self.listen.clone(), self.binary.clone());
        tokio::spawn(async move {
            relay(&listen, &binary, &[]).await.unwrap();
        })
    }

    fn run(&self, protocol: u8, patience: Duration) -> Plugins {
        let place = match &self.listen {
            Listen::Unix(path) => format!(r#""network":"unix","address":"{}""#, path.display()),
            Listen::Tcp(address) => format!(r#""network":"tcp","address":"{address}""#),
        };
        let text = format!(
            r#"{{"{}": {{{place},"protocol":{protocol},"version":"1.0.0"}}}}"#,
            self.source
        );
        let options = PluginOptions {
            launch: LaunchOptions {
                launcher: Launcher {
                    program: "/none".into(),
                    arguments: Vec::new(),
                },
                fence: Fence::Required,
                environment: Environment::Only(Vec::new()),
                working_folder: self.root.path().into(),
                scratch: self.root.path().join("scratch"),
                readable: Vec::new(),
                writable: Vec::new(),
                redact: Arc::new(str::to_owned),
                handshake: patience,
            },
            timeouts: Timeouts::default(),
            terraform_version: "1.15.5".to_owned(),
            secrets: Arc::new(|_, _| {}),
        };
        Plugins::new(
            BTreeMap::new(),
            options,
            Arc::default(),
            Arc::new(NoOutside),
            Arc::new(NoStates),
        )
        .attached(Sidecar::offered(&text).unwrap(), self.turns.clone())
    }
}

const LONG: Duration = Duration::from_secs(30);

fn given(block: &Block, given: &[(&str, Value)]) -> Value {
    let attributes = block
        .attributes
        .iter()
        .map(|(name, attribute)| (name.to_string(), Value::null(attribute.ty())));
    let blocks = block
        .blocks
        .iter()
        .map(|(name, nested)| (name.to_string(), Value::empty(&nested.ty())));
    let given = given
        .iter()
        .map(|(name, value)| ((*name).to_owned(), value.clone()));
    Value::object(attributes.chain(blocks).chain(given).collect::<Vec<_>>())
}

async fn configured(setup: &Setup, run: &Plugins) -> Arc<dyn Provider> {
    let schema = run
        .schema(&setup.source)
        .await
        .unwrap_or_else(|diags| panic!("{diags}"));
    let provider = run
        .start(&setup.source)
        .await
        .unwrap_or_else(|diags| panic!("{diags}"));
    let told = provider.configure(&given(&schema.provider.block, &[])).await;
    assert!(told.is_empty(), "{told:?}");
    provider
}

/// Makes a random id, and tells it.
async fn make(setup: &Setup, run: &Plugins, provider: &dyn Provider) -> Value {
    let schema = run.schema(&setup.source).await.unwrap();
    let block = &schema.resources.get("random_id").unwrap().block;
    let config = given(block, &[("byte_length", Value::number(4_u64))]);
    let (prior, unknown) = (
        Value::null(block.ty()),
        ["id", "b64_std", "b64_url", "dec", "hex"],
    );
    let unknown: Vec<_> = unknown
        .iter()
        .map(|name| (*name, Value::unknown(ashlar_value::Type::String)))
        .chain([("byte_length", Value::number(4_u64))])
        .collect();
    let proposed = given(block, &unknown);
    let plan = provider.plan(PlanRequest {
        kind: "random_id",
        prior: &prior,
        proposed: &proposed,
        config: &config,
        private: &[],
        identity: None,
        deferral_allowed: false,
        meta: None,
    });
    let planned = plan.await;
    assert!(!planned.has_errors(), "{:?}", planned.diags);
    let planned = planned.value;
    let applied = provider
        .apply(ApplyRequest {
            kind: "random_id",
            prior: &prior,
            planned: &planned.state.unwrap(),
            config: &config,
            private: &planned.private,
            identity: None,
            meta: None,
        })
        .await;
    assert!(!applied.has_errors(), "{:?}", applied.diags);
    applied.value.state.unwrap().attr("hex").unwrap()
}

async fn serves_one_run_after_the_other(listen: Option<Listen>) {
    let setup = Setup::new("hashicorp/random", listen);
    let serving = setup.serve();
    let mut made = Vec::new();
    for _ in 0..2 {
        let run = setup.run(5, LONG);
        let provider = configured(&setup, &run).await;
        made.push(make(&setup, &run, &*provider).await);
        provider.close().await;
        run.close().await;
        assert!(!serving.is_finished(), "nobody ends it");
    }
    assert!(made[0] != made[1]);
    serving.abort();
}

#[tokio::test(flavor = "multi_thread")]
async fn by_unix_socket() {
    serves_one_run_after_the_other(None).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn by_tcp() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    serves_one_run_after_the_other(Some(Listen::Tcp(free))).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_is_about_to_start_is_waited_for() {
    let setup = Setup::new("hashicorp/random", None);
    let run = setup.run(5, Duration::from_secs(1));
    let none = run
        .schema(&setup.source)
        .await
        .map(|_| ())
        .unwrap_err()
        .to_string();
    assert!(none.contains("takes no connections"), "{none}");
    // It has its turn until its end.
    drop(run);
    let run = setup.run(5, LONG);
    let mut serving = None;
    let soon = async {
        tokio::time::sleep(Duration::from_millis(500)).await;
        serving = Some(setup.serve());
    };
    let (schema, ()) = tokio::join!(run.schema(&setup.source), soon);
    assert!(schema.is_ok());
    serving.unwrap().abort();
}

#[tokio::test(flavor = "multi_thread")]
async fn another_protocol_than_was_said_is_told() {
    let setup = Setup::new("hashicorp/random", None);
    let serving = setup.serve();
    let run = setup.run(6, LONG);
    let refused = run
        .schema(&setup.source)
        .await
        .map(|_| ())
        .unwrap_err()
        .to_string();
    assert!(refused.contains("does not speak protocol 6"), "{refused}");
    serving.abort();
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_goes_away_is_an_error_and_not_asked_again() {
    let setup = Setup::new("hashicorp/random", None);
    let serving = setup.serve();
    let run = setup.run(5, LONG);
    let provider = configured(&setup, &run).await;
    serving.abort();
    // The next one at the same address has no configuration.
    let _ = serving.await;
    let next = setup.serve();
    let again = setup.run(5, LONG);
    let schema = again.schema(&setup.source);
    let block = {
        // It waits for its turn, which is the other run's.
        let waiting = tokio::time::timeout(Duration::from_millis(300), schema).await;
        assert!(waiting.is_err());
        run.schema(&setup.source)
            .await
            .unwrap()
            .resources
            .get("random_id")
            .unwrap()
            .block
            .clone()
    };
    let told = provider.validate_resource("random_id", &given(&block, &[])).await;
    let detail = told.iter().map(|diag| &*diag.detail).collect::<String>();
    assert!(told.iter().any(|diag| diag.is_call_fault), "{told:?}");
    assert!(detail.contains("the connection to its sidecar"), "{detail}");
    drop((provider, run));
    let provider = configured(&setup, &again).await;
    make(&setup, &again, &*provider).await;
    next.abort();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_gives_it_one_configuration() {
    let setup = Setup::new("forge.test/studio/kiln", None);
    let serving = setup.serve();
    let run = setup.run(6, LONG);
    let schema = run
        .schema(&setup.source)
        .await
        .unwrap_or_else(|diags| panic!("{diags}"));
    let block = &schema.provider.block;
    let (dir, other) = (setup.root.path().join("w"), setup.root.path().join("v"));
    fs::create_dir_all(&dir).unwrap();
    let config = |dir: &std::path::Path| given(block, &[("dir", Value::string(dir.to_str().unwrap()))]);
    let first = run.start(&setup.source).await.unwrap();
    let told = first.configure(&config(&dir)).await;
    assert!(told.is_empty(), "{told:?}");
    let second = run.start(&setup.source).await.unwrap();
    let told = second.configure(&config(&dir)).await;
    assert!(told.is_empty(), "{told:?}");
    let third = run.start(&setup.source).await.unwrap();
    let told = third.configure(&config(&other)).await;
    assert_eq!(told[0].summary, "Sidecar has another configuration");
    serving.abort();
}
