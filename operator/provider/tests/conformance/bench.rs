//! A place for one case: folders of its own, options of its own, and the certainty that nothing of it lives on.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    fmt::Write,
    fs,
    path::{Path, PathBuf},
    sync::{
        Arc, LazyLock, Mutex,
        atomic::{AtomicU32, Ordering},
    },
    time::{Duration, Instant},
};

use ashlar_addr::Provider as Address;
use ashlar_port::{Provider, Providers};
use ashlar_provider::{
    Binary, Fence, LaunchOptions, Launcher, Listen, PluginOptions, Plugins, SchemaCache, Served, Sidecar,
    Timeouts, Turns, relay,
};
use ashlar_value::Value;
use tokio::{sync::oneshot, task::JoinHandle};

use crate::{
    log::{self, Line},
    model::Script,
    setup::folders::{self, Folders},
};

/// The first argument that makes this program the launcher.
pub(crate) const LAUNCH: &str = "launch";
/// The variable by which the processes of a case are found.
const MARKER: &str = "ASHLAR_CASE";
/// What must not be shown.
pub(crate) const SECRET: &str = "token-1";

/// A place for one case.
pub(crate) struct Bench {
    folders: Folders,
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
        bench.binary = bench.folders.binary(MIRROR.clone(), &bench.address);
        let world = bench.world().into_os_string();
        bench.with(vec![("KILN_DIR".into(), world)])
    }

    fn new(address: &str, binary: PathBuf) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(1);
        Self {
            folders: Folders::new(),
            marker: format!("{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed)),
            address: address.parse().unwrap(),
            binary,
            variables: Vec::new(),
            timeouts: Timeouts::default().scaled(|_| Duration::from_secs(60)),
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
        self.timeouts = self.timeouts.scaled(|_| limit);
        self
    }

    /// With the time that calls have outside of tests, twenty thousand times as fast, but enough for a slow machine.
    pub(crate) fn in_usual_time(mut self) -> Self {
        self.timeouts = Timeouts::default().scaled(|usual| Duration::from_secs(1) + usual / 20_000);
        self
    }

    /// How long a call may take.
    pub(crate) fn limit(&self, call: &str) -> Duration {
        let timeouts = &self.timeouts;
        match call {
            "GetProviderSchema" | "GetResourceIdentitySchemas" => timeouts.schema,
            "ConfigureProvider" => timeouts.configure,
            "PlanResourceChange" | "PlanAction" => timeouts.plan,
            "ApplyResourceChange" | "InvokeAction" => timeouts.apply,
            "ReadResource"
            | "ReadDataSource"
            | "ImportResourceState"
            | "ListResource"
            | "OpenEphemeralResource"
            | "RenewEphemeralResource"
            | "CloseEphemeralResource" => timeouts.read,
            _ => timeouts.check,
        }
    }

    /// The folder of the plugin's own things.
    pub(crate) fn world(&self) -> PathBuf {
        self.folders.world()
    }

    pub(crate) fn address(&self) -> &Address {
        &self.address
    }

    /// The provider's name as it is told.
    pub(crate) fn name(&self) -> String {
        self.address.for_display()
    }

    pub(crate) fn binary(&self) -> String {
        self.binary.display().to_string()
    }

    pub(crate) fn plugins(&self) -> Plugins {
        let binaries = BTreeMap::from([(self.address.clone(), self.binary.clone().into())]);
        self.with_binaries(binaries)
    }

    /// With the provider as a sidecar that listens at a socket.
    pub(crate) fn attached(&self, socket: &Path, turns: Arc<Turns>) -> Plugins {
        let text = format!(
            r#"{{"{}": {{"network":"unix","address":"{}","protocol":6,"version":"1.0.0"}}}}"#,
            self.address,
            socket.display()
        );
        self.with_binaries(BTreeMap::new())
            .attached(Sidecar::offered(&text).unwrap(), turns)
    }

    /// Has the model run as a sidecar, to the end of the task, or until it is told to stop and nobody is connected.
    pub(crate) fn serve(
        &self,
        socket: &Path,
        stop: oneshot::Receiver<()>,
    ) -> JoinHandle<std::io::Result<Served>> {
        let mut script = String::new();
        for (name, value) in &self.variables {
            writeln!(script, "export {}='{}'", name.display(), value.display()).unwrap();
        }
        let folder = self.world();
        writeln!(script, "export {MARKER}='{}'", self.marker).unwrap();
        writeln!(script, "export PLUGIN_UNIX_SOCKET_DIR='{}'", folder.display()).unwrap();
        writeln!(script, "exec '{}'", self.binary.display()).unwrap();
        let arguments: Vec<OsString> = vec!["-c".into(), script.into()];
        let listen = Listen::Unix(socket.to_owned());
        tokio::spawn(async move {
            let stop = async { drop(stop.await) };
            relay(&listen, Path::new("/bin/sh"), &arguments, stop).await
        })
    }

    fn with_binaries(&self, binaries: BTreeMap<Address, Binary>) -> Plugins {
        let mut variables = self.variables.clone();
        variables.push((MARKER.into(), self.marker.clone().into()));
        let heard = self.heard.clone();
        let launcher = Launcher {
            program: std::env::current_exe().unwrap(),
            arguments: vec![LAUNCH.into()],
        };
        let launch = LaunchOptions {
            fence: Fence::BestEffort,
            redact: Arc::new(|text| text.replace(SECRET, "***")),
            handshake: self.handshake,
            ..self.folders.launch(launcher, variables)
        };
        let options = PluginOptions {
            timeouts: self.timeouts,
            secrets: Arc::new(move |_, part| heard.lock().unwrap().push(part.clone())),
            ..folders::options(launch)
        };
        folders::plugins(binaries, options, self.schemas.clone())
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
}

impl Drop for Bench {
    fn drop(&mut self) {
        if std::thread::panicking() {
            return;
        }
        let look = || {
            let begun = Instant::now();
            while !self.left().is_empty() || self.folders.running() > 0 {
                assert!(
                    begun.elapsed() < Duration::from_secs(10),
                    "left behind: {:?}, {} folders",
                    self.left(),
                    self.folders.running()
                );
                std::thread::sleep(Duration::from_millis(10));
            }
        };
        // What ends the processes may wait on this very thread.
        tokio::task::block_in_place(look);
    }
}
