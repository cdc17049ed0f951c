//! Real plugins that run elsewhere and are reached by unix socket and TCP.

use std::{collections::BTreeMap, fs, net::TcpListener, path::PathBuf, sync::Arc, time::Duration};

use ashlar_addr::Provider as Address;
use ashlar_port::{Provider, Providers};
use ashlar_provider::{LaunchOptions, Launcher, Listen, Plugins, Sidecar, Turns, relay};
use ashlar_value::Value;
use tokio::task::JoinHandle;

use crate::{
    KILN, mirror,
    setup::{
        change::{Object, change, configure, wanted},
        folders::{self, Folders},
        values::{config, none},
    },
};

/// A sidecar, and what a run is told of it.
struct Setup {
    folders: Folders,
    source: Address,
    binary: PathBuf,
    listen: Listen,
    turns: Arc<Turns>,
}

impl Setup {
    fn new(source: &str, listen: Option<Listen>) -> Self {
        let folders = Folders::new();
        let source: Address = source.parse().unwrap();
        let binary = folders.binary(mirror(), &source);
        let listen = listen.unwrap_or_else(|| Listen::Unix(folders.path("socket")));
        Self {
            folders,
            source,
            binary,
            listen,
            turns: Arc::default(),
        }
    }

    fn serve(&self) -> JoinHandle<()> {
        let (listen, binary) = (self.listen.clone(), self.binary.clone());
        tokio::spawn(async move {
            relay(&listen, &binary, &[], std::future::pending())
                .await
                .unwrap();
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
        // There is nothing to launch here.
        let nobody = Launcher {
            program: "/none".into(),
            arguments: Vec::new(),
        };
        let launch = LaunchOptions {
            handshake: patience,
            ..self.folders.launch(nobody, Vec::new())
        };
        folders::plugins(BTreeMap::new(), folders::options(launch), Arc::default())
            .attached(Sidecar::offered(&text).unwrap(), self.turns.clone())
    }
}

const LONG: Duration = Duration::from_secs(30);

async fn configured(setup: &Setup, run: &Plugins) -> Arc<dyn Provider> {
    let provider = run
        .start(&setup.source)
        .await
        .unwrap_or_else(|diags| panic!("{diags}"));
    configure(&*provider).await;
    provider
}

/// Makes a random id, and tells it.
async fn make(provider: &dyn Provider) -> Value {
    let kind = "random_id";
    let settings = wanted(provider, kind, &[("byte_length", Value::number(4_u64))]).await;
    let made = change(provider, kind, &Object::none(&settings), &settings).await;
    made.attr("hex")
}

async fn serves_one_run_after_the_other(listen: Option<Listen>) {
    let setup = Setup::new("hashicorp/random", listen);
    let serving = setup.serve();
    let mut made = Vec::new();
    for _ in 0..2 {
        let run = setup.run(5, LONG);
        let provider = configured(&setup, &run).await;
        made.push(make(&*provider).await);
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
    let told = provider
        .validate_resource("random_id", &config(&block, &[]))
        .await;
    let detail = told.iter().map(|diag| &*diag.detail).collect::<String>();
    assert!(told.iter().any(|diag| diag.fault.is_some()), "{told:?}");
    assert!(detail.contains("the connection to its sidecar"), "{detail}");
    drop((provider, run));
    let provider = configured(&setup, &again).await;
    make(&*provider).await;
    next.abort();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_gives_it_one_configuration() {
    let setup = Setup::new(KILN, None);
    let serving = setup.serve();
    let run = setup.run(6, LONG);
    let schema = run
        .schema(&setup.source)
        .await
        .unwrap_or_else(|diags| panic!("{diags}"));
    let block = &schema.provider.block;
    let (dir, other) = (setup.folders.path("w"), setup.folders.path("v"));
    fs::create_dir_all(&dir).unwrap();
    let of = |dir: &std::path::Path| config(block, &[("dir", Value::string(dir.to_str().unwrap()))]);
    let first = run.start(&setup.source).await.unwrap();
    none(first.configure(&of(&dir)).await);
    let second = run.start(&setup.source).await.unwrap();
    none(second.configure(&of(&dir)).await);
    let third = run.start(&setup.source).await.unwrap();
    let told = third.configure(&of(&other)).await;
    assert_eq!(told[0].summary, "Sidecar has another configuration");
    serving.abort();
}
