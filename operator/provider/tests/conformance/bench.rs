//! A place for one case: folders of its own, options of its own, and the certainty that nothing of it lives on.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    fs,
    path::PathBuf,
    sync::{
        Arc, LazyLock, Mutex,
        atomic::{AtomicU32, Ordering},
    },
    time::{Duration, Instant},
};

use ashlar_addr::{DeposedKey, Provider as Address};
use ashlar_install::{Cache, Mirrors};
use ashlar_port::{Outside, Provider, Providers};
use ashlar_provider::{
    Environment, Fence, LaunchOptions, Launcher, PluginOptions, Plugins, SchemaCache, Timeouts,
};
use ashlar_value::Value;
use async_trait::async_trait;
use tempfile::TempDir;

use crate::{
    log::{self, Line},
    model::Script,
};

/// The first argument that makes this program the launcher.
pub(crate) const LAUNCH: &str = "launch";
/// The variable by which the processes of a case are found.
const MARKER: &str = "ASHLAR_CASE";
/// What must not be shown.
pub(crate) const SECRET: &str = "token-1";

/// No provider here takes chance or time from us.
struct NoOutside;

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

/// A place for one case.
pub(crate) struct Bench {
    root: TempDir,
    marker: String,
    address: Address,
    binary: PathBuf,
    variables: Vec<(OsString, OsString)>,
    pub(crate) timeouts: Timeouts,
    pub(crate) handshake: Duration,
    pub(crate) schemas: Arc<SchemaCache>,
    /// What was said to be secret.
    pub(crate) heard: Arc<Mutex<Vec<Value>>>,
}

impl Bench {
    /// With the model plugin.
    pub(crate) fn model(script: Script) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(1);
        let address = format!("forge.test/model/m{}", NEXT.fetch_add(1, Ordering::Relaxed));
        let bench = Self::new(&address, std::env::current_exe().unwrap());
        let calls = bench.world().join("calls");
        bench.with(Script { calls, ..script }.variables())
    }

    /// With a provider of the mirror: that of `ASHLAR_PLUGIN_MIRROR`, or else the one that the project's tools make.
    pub(crate) fn real(source: &str) -> Self {
        static MIRROR: LazyLock<PathBuf> = LazyLock::new(|| match std::env::var_os("ASHLAR_PLUGIN_MIRROR") {
            Some(mirror) => mirror.into(),
            None => {
                let tools = ashlar_xtask::tools::build(&[ashlar_xtask::tools::Group::Providers]);
                let tools = tools.expect("the test providers could not be built");
                tools.path("ASHLAR_PLUGIN_MIRROR").unwrap().to_owned()
            }
        });
        let mut bench = Self::new(source, PathBuf::new());
        let mirrors = Mirrors {
            folders: vec![MIRROR.clone()],
            cache: Cache::new(bench.root.path().join("cache"), Cache::USUAL_BYTES),
        };
        let package = mirrors.select(&bench.address, &Default::default()).unwrap();
        bench.binary = mirrors.binary(&bench.address, &package).unwrap();
        let world = bench.world().into_os_string();
        bench.with(vec![("KILN_DIR".into(), world)])
    }

    fn new(address: &str, binary: PathBuf) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(1);
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join("world")).unwrap();
        let all = Some(Duration::from_secs(60));
        Self {
            root,
            marker: format!("{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed)),
            address: address.parse().unwrap(),
            binary,
            variables: Vec::new(),
            timeouts: Timeouts {
                schema: all,
                check: all,
                read: all,
                apply: all,
            },
            handshake: Duration::from_secs(30),
            schemas: Arc::default(),
            heard: Arc::default(),
        }
    }

    /// With this binary in place of its own.
    pub(crate) fn of(mut self, binary: PathBuf) -> Self {
        self.binary = binary;
        self
    }

    /// With these variables beside the others.
    pub(crate) fn with(mut self, variables: Vec<(OsString, OsString)>) -> Self {
        self.variables.extend(variables);
        self
    }

    /// With so much time for each call.
    pub(crate) fn in_time(mut self, limit: Duration) -> Self {
        let all = Some(limit);
        self.timeouts = Timeouts {
            schema: all,
            check: all,
            read: all,
            apply: all,
        };
        self
    }

    /// The folder of the plugin's own things.
    pub(crate) fn world(&self) -> PathBuf {
        self.root.path().join("world")
    }

    /// The provider's name as it is told.
    pub(crate) fn name(&self) -> String {
        self.address.for_display()
    }

    pub(crate) fn binary(&self) -> String {
        self.binary.display().to_string()
    }

    pub(crate) fn plugins(&self) -> Plugins {
        let mut variables = self.variables.clone();
        variables.push((MARKER.into(), self.marker.clone().into()));
        let heard = self.heard.clone();
        let options = PluginOptions {
            launch: LaunchOptions {
                launcher: Launcher {
                    program: std::env::current_exe().unwrap(),
                    arguments: vec![LAUNCH.into()],
                },
                fence: Fence::BestEffort,
                environment: Environment::Only(variables),
                working_folder: self.world(),
                scratch: self.root.path().join("s"),
                readable: Vec::new(),
                writable: vec![self.world()],
                redact: Arc::new(|text| text.replace(SECRET, "***")),
                handshake: self.handshake,
            },
            timeouts: self.timeouts,
            terraform_version: "1.15.5".to_owned(),
            secrets: Arc::new(move |_, part| heard.lock().unwrap().push(part.clone())),
        };
        Plugins::new(
            BTreeMap::from([(self.address.clone(), self.binary.clone().into())]),
            options,
            self.schemas.clone(),
            Arc::new(NoOutside),
            Arc::new(NoStates),
        )
    }

    /// A process that has told its schema, or what went wrong with that.
    pub(crate) async fn start(&self) -> Result<Arc<dyn Provider>, String> {
        let started = self.plugins().start(&self.address).await;
        started.map_err(|diags| diags.to_string())
    }

    pub(crate) async fn started(&self) -> Arc<dyn Provider> {
        self.start().await.unwrap_or_else(|error| panic!("{error}"))
    }

    /// The calls that the model noted.
    pub(crate) fn calls(&self) -> Vec<String> {
        let noted = fs::read_to_string(self.world().join("calls")).unwrap_or_default();
        noted.lines().map(str::to_owned).collect()
    }

    pub(crate) fn log(&self) -> Vec<Line> {
        log::of(&self.name())
    }

    /// Processes of this case.
    fn left(&self) -> Vec<String> {
        let marker = format!("{MARKER}={}\0", self.marker);
        let found = fs::read_dir("/proc").unwrap().filter_map(|entry| {
            let path = entry.ok()?.path();
            let environment = fs::read(path.join("environ")).ok()?;
            let is_ours = String::from_utf8_lossy(&environment).contains(&marker);
            is_ours.then(|| path.display().to_string())
        });
        found.collect()
    }

    /// How many private folders of processes there are.
    fn folders(&self) -> usize {
        fs::read_dir(self.root.path().join("s")).map_or(0, Iterator::count)
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        if std::thread::panicking() {
            return;
        }
        let look = || {
            let begun = Instant::now();
            while !self.left().is_empty() || self.folders() > 0 {
                assert!(
                    begun.elapsed() < Duration::from_secs(10),
                    "left behind: {:?}, {} folders",
                    self.left(),
                    self.folders()
                );
                std::thread::sleep(Duration::from_millis(10));
            }
        };
        // What ends the processes may wait on this very thread.
        tokio::task::block_in_place(look);
    }
}
