//! Real plugins through the whole of this crate: mirror, launcher, fence, handshake, TLS, both protocols.
//!
//! Needs the folder in ASHLAR_PLUGIN_MIRROR that `cargo xtask tools` makes, and the feature `real-providers`.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "these are tests, but their helpers stand outside of test functions"
)]

use std::{
    collections::BTreeMap,
    ffi::OsString,
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use ashlar_addr::{DeposedKey, Provider as Address};
use ashlar_install::{Cache, Mirrors};
use ashlar_port::{
    Answer, ApplyRequest, Outside, PlanRequest, Provider, ProviderDiag, Providers, ReadDataRequest,
    ReadRequest, UpgradeRequest,
};
use ashlar_provider::{
    Environment, Fence, LaunchOptions, Launcher, Listener, PluginOptions, Plugins, SchemaCache, Timeouts,
};
use ashlar_value::{
    Type, Value, json,
    schema::{Block, Nesting},
};
use async_trait::async_trait;
use tempfile::TempDir;

/// No provider here takes chance or time from us.
struct NoOutside;

struct NoStates;

#[async_trait]
impl ashlar_port::States for NoStates {
    async fn outputs(
        &self,
        _: &ashlar_port::StatePlace,
        _: &str,
    ) -> Result<Option<BTreeMap<Arc<str>, ashlar_value::Value>>, String> {
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

/// A folder for one test: `world` for the plugins' things, `scratch` for their private folders.
struct Setup {
    root: TempDir,
    schemas: Arc<SchemaCache>,
    fence: Fence,
    variables: Vec<(OsString, OsString)>,
    timeouts: Timeouts,
    handshake: Duration,
    secrets: Listener,
}

impl Setup {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join("world")).unwrap();
        let world = root.path().join("world").into_os_string();
        Self {
            root,
            schemas: Arc::default(),
            fence: Fence::Required,
            variables: vec![("KILN_DIR".into(), world)],
            timeouts: Timeouts::default(),
            handshake: Duration::from_secs(60),
            secrets: Arc::new(|_, _| {}),
        }
    }

    fn world(&self) -> PathBuf {
        self.root.path().join("world")
    }

    fn options(&self) -> PluginOptions {
        PluginOptions {
            launch: LaunchOptions {
                launcher: Launcher {
                    program: env!("CARGO_BIN_EXE_ashlar-launch").into(),
                    arguments: Vec::new(),
                },
                fence: self.fence,
                environment: Environment::Only(self.variables.clone()),
                working_folder: self.world(),
                scratch: self.root.path().join("scratch"),
                readable: Vec::new(),
                writable: vec![self.world()],
                redact: Arc::new(str::to_owned),
                handshake: self.handshake,
            },
            timeouts: self.timeouts,
            terraform_version: "1.15.5".to_owned(),
            secrets: self.secrets.clone(),
        }
    }

    /// The newest version of each from the mirror.
    fn plugins(&self, sources: &[&str]) -> Plugins {
        let mirror = std::env::var("ASHLAR_PLUGIN_MIRROR")
            .expect("ASHLAR_PLUGIN_MIRROR must name the plugin mirror that `cargo xtask tools` makes");
        let mirrors = Mirrors {
            folders: vec![mirror.into()],
            cache: Cache::new(self.root.path().join("cache"), Cache::USUAL_BYTES),
        };
        let binaries = sources.iter().map(|source| {
            let provider: Address = source.parse().unwrap();
            let package = mirrors.select(&provider, &Default::default()).unwrap();
            let binary = mirrors.binary(&provider, &package).unwrap();
            (provider, binary)
        });
        self.with(binaries.collect())
    }

    fn with(&self, binaries: BTreeMap<Address, PathBuf>) -> Plugins {
        let binaries = binaries
            .into_iter()
            .map(|(provider, path)| (provider, path.into()));
        Plugins::new(
            binaries.collect(),
            self.options(),
            self.schemas.clone(),
            Arc::new(NoOutside),
            Arc::new(NoStates),
        )
    }

    /// A shell script in place of a plugin.
    fn script(&self, body: &str) -> Plugins {
        let path = self.world().join("terraform-provider-fake");
        fs::write(&path, format!("#!/bin/sh\n{body}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        self.with(BTreeMap::from([(fake(), path)]))
    }

    /// Private folders: one for each process that runs.
    fn running(&self) -> usize {
        fs::read_dir(self.root.path().join("scratch")).map_or(0, Iterator::count)
    }
}

fn fake() -> Address {
    "forge.test/studio/fake".parse().unwrap()
}

fn text(value: &str) -> Value {
    Value::string(value)
}

/// A configuration of a block: what is given, null or empty for the rest.
fn config(block: &Block, given: &[(&str, Value)]) -> Value {
    let attributes = block
        .attributes
        .iter()
        .map(|(name, attribute)| (name.to_string(), Value::null(attribute.ty())));
    let blocks = block.blocks.iter().map(|(name, nested)| {
        let empty = match nested.nesting {
            Nesting::Single => Value::null(nested.block.ty()),
            Nesting::Group => config(&nested.block, &[]),
            _ => Value::empty(&nested.ty()),
        };
        (name.to_string(), empty)
    });
    let given = given
        .iter()
        .map(|(name, value)| (name.to_string(), value.clone()));
    Value::object(attributes.chain(blocks).chain(given).collect::<Vec<_>>())
}

#[track_caller]
fn clean<T>(answer: Answer<T>) -> T {
    assert!(!answer.has_errors(), "{:?}", answer.diags);
    answer.value
}

#[track_caller]
fn none(diags: Vec<ProviderDiag>) {
    assert!(diags.is_empty(), "{diags:?}");
}

async fn configured(plugins: &Plugins, source: &str) -> Arc<dyn Provider> {
    let provider = plugins
        .start(&source.parse().unwrap())
        .await
        .unwrap_or_else(|diags| panic!("{diags}"));
    let schema = provider.schema().await.unwrap();
    let settings = config(&schema.provider.block, &[]);
    none(provider.validate_provider(&settings).await);
    none(provider.configure(&settings).await);
    provider
}

/// Plans and applies one change.
async fn change(
    provider: &dyn Provider,
    kind: &str,
    prior: &Value,
    config: &Value,
    private: &[u8],
) -> (Value, Vec<u8>) {
    let planned = clean(
        provider
            .plan(PlanRequest {
                kind,
                prior,
                proposed: config,
                config,
                private,
                identity: None,
                deferral_allowed: false,
                meta: None,
            })
            .await,
    );
    let state = planned.state.unwrap();
    let request = ApplyRequest {
        kind,
        prior,
        planned: &state,
        config,
        private: &planned.private,
        identity: planned.identity.as_ref(),
        meta: None,
    };
    let applied = clean(provider.apply(request).await);
    (applied.state.unwrap(), applied.private)
}

/// Creates an object, reads it, upgrades it, plans it again and deletes it.
async fn life(source: &str, kind: &str, given: &[(&str, Value)], computed: &[&str]) {
    let setup = Setup::new();
    let plugins = setup.plugins(&[source]);
    let address: Address = source.parse().unwrap();
    let schema = plugins
        .schema(&address)
        .await
        .unwrap_or_else(|diags| panic!("{diags}"));
    assert_eq!(setup.running(), 1, "the schema is asked of a process");
    let provider = configured(&plugins, source).await;
    assert_eq!(setup.running(), 1, "and that process is the first instance");

    let resource = schema.resources.get(kind).unwrap();
    let ty = resource.block.ty();
    let settings = config(&resource.block, given);
    none(provider.validate_resource(kind, &settings).await);
    let (state, private) = change(&*provider, kind, &Value::null(ty.clone()), &settings, &[]).await;
    assert!(state.is_wholly_known());
    for name in computed {
        assert!(!state.attr(name).unwrap().is_null(), "{kind}.{name}");
    }

    let request = ReadRequest {
        kind,
        current: &state,
        private: &private,
        identity: None,
        deferral_allowed: false,
        meta: None,
    };
    let read = clean(provider.read(request).await);
    // Providers of the old SDK answer with empty values where there was null.
    let made = state;
    let state = read.state.unwrap();
    for (name, value) in made
        .as_entries()
        .unwrap()
        .iter()
        .filter(|(_, value)| !value.is_null())
    {
        assert!(
            state.attr(name) == Some(value.clone()),
            "{kind}.{name}: reading gives what was made"
        );
    }

    let stored = json::encode(&state, &ty).unwrap();
    let request = UpgradeRequest {
        kind,
        version: resource.version,
        json: &stored,
    };
    let upgraded = clean(provider.upgrade_state(request).await);
    assert!(upgraded == Some(state.clone()), "{kind}: nothing to upgrade");

    // The configuration with what the provider computed is the proposal of a plan without change.
    let proposed = Value::object(
        state
            .as_entries()
            .unwrap()
            .iter()
            .map(|(name, value)| (name.to_string(), value.clone())),
    );
    let request = PlanRequest {
        kind,
        prior: &state,
        proposed: &proposed,
        config: &settings,
        private: &private,
        identity: None,
        deferral_allowed: false,
        meta: None,
    };
    let planned = clean(provider.plan(request).await);
    assert!(
        planned.state == Some(state.clone()) && planned.requires_replace.is_empty(),
        "{kind}: no change"
    );

    let (gone, _) = change(&*provider, kind, &state, &Value::null(ty), &private).await;
    assert!(gone.is_null());
    provider.close().await;
    assert_eq!(setup.running(), 0, "nothing is left");
}

#[tokio::test(flavor = "multi_thread")]
async fn random_over_protocol_5() {
    life(
        "hashicorp/random",
        "random_pet",
        &[("length", Value::number(2_i64))],
        &["id"],
    )
    .await;
    let given = [("min", Value::number(1_i64)), ("max", Value::number(9_i64))];
    life("hashicorp/random", "random_integer", &given, &["id", "result"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn tls() {
    life(
        "hashicorp/tls",
        "tls_private_key",
        &[("algorithm", text("ED25519"))],
        &["private_key_pem"],
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn time() {
    life(
        "hashicorp/time",
        "time_static",
        &[("rfc3339", text("2026-01-02T03:04:05Z"))],
        &["unix"],
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn ephemeral_resources_over_both_protocols() {
    let mut setup = Setup::new();
    let heard = Arc::new(Mutex::new(Vec::new()));
    let secrets = heard.clone();
    setup.secrets = Arc::new(move |_, result| secrets.lock().unwrap().extend(result.attr("token")));
    let plugins = setup.plugins(&["hashicorp/random", "forge.test/studio/kiln"]);
    let five = configured(&plugins, "hashicorp/random").await;
    let kind = "random_password";
    let schema = five.schema().await.unwrap();
    let wanted = config(
        &schema.ephemeral_resources.get(kind).unwrap().block,
        &[("length", Value::number(12_i64))],
    );
    none(five.validate_ephemeral(kind, &wanted).await);
    let opened = clean(five.open_ephemeral(kind, &wanted).await);
    let result = opened.result.unwrap().attr("result").unwrap();
    assert_eq!(result.as_str().unwrap().len(), 12);
    assert_eq!(opened.renew_at, None);
    none(five.close_ephemeral(kind, &opened.private).await);

    let six = configured(&plugins, "forge.test/studio/kiln").await;
    let kind = "kiln_key";
    let schema = six.schema().await.unwrap();
    let block = &schema.ephemeral_resources.get(kind).unwrap().block;
    let of = |fail: &str| {
        let given = [
            ("name", text("k")),
            ("renew_ms", Value::number(60_000_i64)),
            ("fail", text(fail)),
        ];
        config(block, &given)
    };
    let opened = clean(six.open_ephemeral(kind, &of("close")).await);
    assert_eq!(*heard.lock().unwrap(), [text("token-k")]);
    // In this century, in milliseconds.
    assert!((1_700_000_000_000..4_100_000_000_000).contains(&opened.renew_at.unwrap()));
    let renewed = clean(six.renew_ephemeral(kind, &opened.private).await);
    assert!(renewed.renew_at >= opened.renew_at);
    assert_eq!(renewed.private, opened.private, "what is not given anew stays");
    let told = six.close_ephemeral(kind, &renewed.private).await;
    assert_eq!(told[0].summary, "Cannot close the key");
    let refused = six.open_ephemeral(kind, &of("open")).await;
    assert_eq!(refused.diags[0].summary, "Cannot open the key");
    for provider in [five, six] {
        provider.close().await;
    }
}

/// Providers of both generations that were not configured.
#[tokio::test(flavor = "multi_thread")]
async fn functions_are_called() {
    let setup = Setup::new();
    let plugins = setup.plugins(&["hashicorp/time", "forge.test/studio/kiln"]);
    let call = async |source: &str, name: &str, args: &[Value]| {
        let provider = plugins.start(&source.parse().unwrap()).await.unwrap();
        let answer = provider.call_function(name, args).await;
        provider.close().await;
        answer
    };
    let parsed = call("hashicorp/time", "rfc3339_parse", &[text("2026-01-02T03:04:05Z")]).await;
    let parsed = parsed.unwrap();
    assert_eq!(parsed.attr("month"), Some(Value::number(1_i64)));
    let kiln = "forge.test/studio/kiln";
    assert_eq!(
        call(kiln, "fuse", &[text("-"), text("a"), text("b")]).await,
        Ok(text("a-b"))
    );
    // Unknown and null where the signature lets them through.
    assert_eq!(
        call(kiln, "describe", &[Value::dynamic()]).await,
        Ok(text("unknown"))
    );
    let refused = call(kiln, "refuse", &[text("x")]).await.unwrap_err();
    assert_eq!(refused.argument, Some(0));
    let failed = call(kiln, "parse_tag", &[text("x")]).await.unwrap_err();
    assert_eq!(failed.argument, None);
    let unknown = call(kiln, "nope", &[]).await.unwrap_err();
    assert!(
        unknown.message.contains("unknown function \"nope\""),
        "{}",
        unknown.message
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn kiln_over_protocol_6() {
    life(
        "forge.test/studio/kiln",
        "kiln_pot",
        &[("name", text("a"))],
        &["id"],
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn kilnv5_over_protocol_5() {
    life(
        "forge.test/studio/kilnv5",
        "kilnv5_pot",
        &[("name", text("a"))],
        &["id"],
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn identity_and_data() {
    let setup = Setup::new();
    let plugins = setup.plugins(&["forge.test/studio/kiln"]);
    let provider = configured(&plugins, "forge.test/studio/kiln").await;
    let schema = provider.schema().await.unwrap();
    let brick = schema.resources.get("kiln_brick").unwrap();
    assert!(brick.identity.is_some());
    let settings = config(&brick.block, &[("name", text("b"))]);
    let prior = Value::null(brick.block.ty());
    let request = PlanRequest {
        kind: "kiln_brick",
        prior: &prior,
        proposed: &settings,
        config: &settings,
        private: &[],
        identity: None,
        deferral_allowed: false,
        meta: None,
    };
    let planned = clean(provider.plan(request).await);
    let request = ApplyRequest {
        kind: "kiln_brick",
        prior: &prior,
        planned: planned.state.as_ref().unwrap(),
        config: &settings,
        private: &planned.private,
        identity: planned.identity.as_ref(),
        meta: None,
    };
    let applied = clean(provider.apply(request).await);
    assert!(
        applied
            .identity
            .is_some_and(|identity| identity.is_wholly_known())
    );

    let pot = config(
        &schema.data_sources.get("kiln_pot").unwrap().block,
        &[("name", text("nobody"))],
    );
    let request = ReadDataRequest {
        kind: "kiln_pot",
        config: &pot,
        deferral_allowed: false,
        meta: None,
    };
    let answer = provider.read_data(request).await;
    assert!(answer.has_errors(), "there is no such pot");
    // Nothing ends what is in use but its own close, or its drop.
    drop(provider);
    until(|| setup.running() == 0).await;
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

#[tokio::test(flavor = "multi_thread")]
async fn refusals_carry_their_path() {
    let setup = Setup::new();
    let plugins = setup.plugins(&["hashicorp/random"]);
    let provider = configured(&plugins, "hashicorp/random").await;
    let schema = provider.schema().await.unwrap();
    let settings = config(
        &schema.resources.get("random_string").unwrap().block,
        &[("length", Value::number(0_i64))],
    );
    let diags = provider.validate_resource("random_string", &settings).await;
    assert_eq!(
        diags[0].path.as_ref().unwrap().to_string(),
        ".length",
        "{diags:?}"
    );
    let diags = provider.validate_resource("random_nonsense", &settings).await;
    assert_eq!(diags[0].summary, "unknown resource type \"random_nonsense\"");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_fence_holds() {
    let setup = Setup::new();
    let secret = setup.root.path().join("token");
    fs::write(&secret, "secret").unwrap();
    let plugins = setup.plugins(&["hashicorp/local"]);
    let provider = configured(&plugins, "hashicorp/local").await;
    let schema = provider.schema().await.unwrap();

    // A folder that was not granted can be neither read ...
    let block = &schema.data_sources.get("local_file").unwrap().block;
    let own = PathBuf::from(format!("/proc/{}/environ", std::process::id()));
    for (path, readable) in [
        (secret.clone(), false),
        (own, false),
        ("/proc/1/environ".into(), false),
        (setup.world().join("mine"), true),
    ] {
        if path.starts_with(setup.root.path()) {
            fs::write(&path, "secret").unwrap();
        }
        let settings = config(block, &[("filename", text(path.to_str().unwrap()))]);
        let request = ReadDataRequest {
            kind: "local_file",
            config: &settings,
            deferral_allowed: false,
            meta: None,
        };
        let answer = provider.read_data(request).await;
        assert_eq!(
            answer.has_errors(),
            !readable,
            "{} {:?}",
            path.display(),
            answer.diags
        );
    }
    // ... nor written.
    let block = &schema.resources.get("local_file").unwrap().block;
    for (path, writable) in [
        (setup.root.path().join("new"), false),
        (setup.world().join("new"), true),
    ] {
        let settings = config(
            block,
            &[
                ("filename", text(path.to_str().unwrap())),
                ("content", text("x")),
                ("file_permission", text("0600")),
                ("directory_permission", text("0700")),
            ],
        );
        let prior = Value::null(block.ty());
        let request = PlanRequest {
            kind: "local_file",
            prior: &prior,
            proposed: &settings,
            config: &settings,
            private: &[],
            identity: None,
            deferral_allowed: false,
            meta: None,
        };
        let planned = clean(provider.plan(request).await);
        let request = ApplyRequest {
            kind: "local_file",
            prior: &prior,
            planned: planned.state.as_ref().unwrap(),
            config: &settings,
            private: &planned.private,
            identity: None,
            meta: None,
        };
        let answer = provider.apply(request).await;
        assert_eq!(
            (answer.has_errors(), path.exists()),
            (!writable, writable),
            "{:?}",
            answer.diags
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_workspace_chose_tells_nobody_of_a_schema() {
    let mut setup = Setup::new();
    setup.schemas = Arc::new(SchemaCache::kept_in(setup.root.path().join("schemas")));
    let world = setup.world();
    let looks = format!(
        "if [ -n \"$KILN_DIR\" ] || [ \"$PWD\" = {world:?} ]; then echo theirs >&2; else echo nobodys $PLUGIN_PROTOCOL_VERSIONS >&2; fi; \
         exit 3"
    );
    refused(&setup, &looks, "nobodys 5,6").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_crash_is_an_error_that_names_the_provider() {
    let setup = Setup::new();
    let plugins = setup.plugins(&["forge.test/studio/kiln"]);
    let provider = configured(&plugins, "forge.test/studio/kiln").await;
    let schema = provider.schema().await.unwrap();
    fs::write(
        setup.world().join("faults.json"),
        r#"[{"op":"plan_create","crash":true}]"#,
    )
    .unwrap();
    let block = &schema.resources.get("kiln_pot").unwrap().block;
    let settings = config(block, &[("name", text("a"))]);
    let prior = Value::null(block.ty());
    let request = PlanRequest {
        kind: "kiln_pot",
        prior: &prior,
        proposed: &settings,
        config: &settings,
        private: &[],
        identity: None,
        deferral_allowed: false,
        meta: None,
    };
    let answer = provider.plan(request).await;
    assert_eq!(answer.diags[0].summary, "Plugin did not respond");
    assert!(
        answer.diags[0].detail.contains("forge.test/studio/kiln ended"),
        "{:?}",
        answer.diags
    );
    assert!(answer.value.state.is_none());
    // And every later call says so too.
    let diags = provider.validate_resource("kiln_pot", &settings).await;
    assert_eq!(diags[0].summary, "Plugin did not respond");
    until(|| setup.running() == 0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hanging_call_ends_with_the_process() {
    let mut setup = Setup::new();
    setup
        .variables
        .push(("KILN_SLOW".into(), "600000:create kiln_pot a".into()));
    setup.timeouts.apply = Some(Duration::from_millis(500));
    let plugins = setup.plugins(&["forge.test/studio/kiln"]);
    let provider = configured(&plugins, "forge.test/studio/kiln").await;
    let schema = provider.schema().await.unwrap();
    let block = &schema.resources.get("kiln_pot").unwrap().block;
    let settings = config(block, &[("name", text("a"))]);
    let prior = Value::null(block.ty());
    let request = PlanRequest {
        kind: "kiln_pot",
        prior: &prior,
        proposed: &settings,
        config: &settings,
        private: &[],
        identity: None,
        deferral_allowed: false,
        meta: None,
    };
    let planned = clean(provider.plan(request).await);
    let request = ApplyRequest {
        kind: "kiln_pot",
        prior: &prior,
        planned: planned.state.as_ref().unwrap(),
        config: &settings,
        private: &planned.private,
        identity: None,
        meta: None,
    };
    let answer = provider.apply(request).await;
    assert!(
        answer.diags[0]
            .detail
            .contains("did not answer ApplyResourceChange"),
        "{:?}",
        answer.diags
    );
    until(|| setup.running() == 0).await;
}

async fn refused(setup: &Setup, body: &str, wanted: &str) {
    let plugins = setup.script(body);
    let error = match plugins.start(&fake()).await {
        Err(diags) => diags.to_string(),
        Ok(_) => panic!("a script became a provider"),
    };
    assert!(
        error.contains("forge.test/studio/fake") && error.contains(wanted),
        "{error}"
    );
    until(|| setup.running() == 0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_plugin_is_refused() {
    let mut setup = Setup::new();
    refused(&setup, "echo hello", "something else than the handshake line").await;
    refused(
        &setup,
        "echo '1|4|netrpc|x|netrpc|'",
        "a protocol from before gRPC",
    )
    .await;
    refused(&setup, "exit 3", "it ended before it was ready: exit status: 3").await;
    refused(&setup, "echo 'panic: no luck' >&2; exit 2", "no luck").await;
    refused(&setup, "exec >&-; sleep 600", "closed its output").await;
    refused(
        &setup,
        "yes | tr -d '\\n'",
        "something else than the handshake line",
    )
    .await;
    let missing = setup.with(BTreeMap::from([(
        fake(),
        "/nowhere/terraform-provider-fake".into(),
    )]));
    assert!(
        missing
            .start(&fake())
            .await
            .is_err_and(|diags| diags.to_string().contains("/nowhere/"))
    );
    setup.handshake = Duration::from_millis(500);
    refused(&setup, "sleep 600", "it was not ready").await;
    // A socket nobody answers on.
    refused(
        &setup,
        "echo '1|5|unix|/nowhere|grpc|AAAA'; sleep 600",
        "could not be started",
    )
    .await;
}

fn alive(pid: &str) -> bool {
    // A zombie has ended; only its parent has not looked yet.
    fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
}

fn pid_in(path: &Path) -> Option<String> {
    fs::read_to_string(path)
        .ok()
        .map(|pid| pid.trim().to_owned())
        .filter(|pid| !pid.is_empty())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_whole_group_dies() {
    let mut setup = Setup::new();
    setup.handshake = Duration::from_secs(1);
    refused(
        &setup,
        "sleep 600 & echo $! > child; echo $$ > own; wait",
        "it was not ready",
    )
    .await;
    for file in ["child", "own"] {
        let pid = pid_in(&setup.world().join(file)).unwrap();
        until(|| !alive(&pid)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plugin_dies_with_its_operator() {
    let setup = Setup::new();
    let plugin = setup.world().join("plugin");
    fs::write(&plugin, "#!/bin/sh\necho $$ > own\nexec sleep 600\n").unwrap();
    fs::set_permissions(&plugin, fs::Permissions::from_mode(0o755)).unwrap();
    let script = format!(
        "{} --no-fence --parent $$ -- {} & wait",
        env!("CARGO_BIN_EXE_ashlar-launch"),
        plugin.display()
    );
    let mut operator = tokio::process::Command::new("sh")
        .arg("-c")
        .arg(script)
        .current_dir(setup.world())
        .spawn()
        .unwrap();
    until(|| pid_in(&setup.world().join("own")).is_some()).await;
    let pid = pid_in(&setup.world().join("own")).unwrap();
    assert!(alive(&pid));
    operator.kill().await.unwrap();
    until(|| !alive(&pid)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn schemas_are_kept_by_binary() {
    let setup = Setup::new();
    let address: Address = "hashicorp/time".parse().unwrap();
    let first = setup.plugins(&["hashicorp/time"]);
    let schema = first.schema(&address).await.unwrap();
    first.close().await;
    let second = setup.plugins(&["hashicorp/time"]);
    assert!(Arc::ptr_eq(&schema, &second.schema(&address).await.unwrap()));
    assert_eq!(setup.running(), 0, "no process was needed");
    let provider = second.start(&address).await.unwrap();
    assert!(Arc::ptr_eq(&schema, &provider.schema().await.unwrap()));
    assert!(
        schema
            .resources
            .get("time_static")
            .unwrap()
            .block
            .ty()
            .to_string()
            .contains("rfc3339 = string")
    );
    assert_eq!(
        schema.resources.get("time_static").unwrap().block.attributes["id"].ty(),
        Type::String
    );
}
