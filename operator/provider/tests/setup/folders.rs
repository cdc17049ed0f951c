//! Folders of one test, and the settings of plugins that run in them.

use std::{collections::BTreeMap, ffi::OsString, fs, path::PathBuf, sync::Arc, time::Duration};

use ashlar_addr::Provider as Address;
use ashlar_install::{Cache, Mirrors};
use ashlar_provider::{
    Binary, Environment, Fence, LaunchOptions, Launcher, PluginOptions, Plugins, SchemaCache, Timeouts,
};
use tempfile::TempDir;

use super::nowhere::Nowhere;

/// A folder that ends with its test: `world` in it is the plugins' own, `s` holds the private folders of processes.
pub(crate) struct Folders(TempDir);

impl Folders {
    pub(crate) fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join("world")).unwrap();
        Self(root)
    }

    /// A place in it.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// What plugins may write, and where they run.
    pub(crate) fn world(&self) -> PathBuf {
        self.path("world")
    }

    /// The program of a provider's newest version in a mirror.
    pub(crate) fn binary(&self, mirror: PathBuf, provider: &Address) -> PathBuf {
        let mirrors = Mirrors {
            folders: vec![mirror],
            cache: Cache::new(self.path("cache"), Cache::USUAL_BYTES),
        };
        let package = mirrors.select(provider, &Default::default()).unwrap();
        mirrors.binary(provider, &package).unwrap()
    }

    /// Settings of processes that run in the world and see these variables.
    pub(crate) fn launch(&self, launcher: Launcher, variables: Vec<(OsString, OsString)>) -> LaunchOptions {
        LaunchOptions {
            launcher,
            fence: Fence::Required,
            bounds: Default::default(),
            environment: Environment::Only(variables),
            working_folder: self.world(),
            scratch: self.path("s"),
            readable: Vec::new(),
            writable: vec![self.world()],
            redact: Arc::new(str::to_owned),
            handshake: Duration::from_secs(60),
        }
    }

    /// Private folders: one for each process that runs.
    pub(crate) fn running(&self) -> usize {
        fs::read_dir(self.path("s")).map_or(0, Iterator::count)
    }
}

/// Settings of plugins that may take the usual time, and whose secrets nobody listens to.
pub(crate) fn options(launch: LaunchOptions) -> PluginOptions {
    PluginOptions {
        launch,
        timeouts: Timeouts::default(),
        terraform_version: "1.15.5".to_owned(),
        secrets: Arc::new(|_, _| {}),
    }
}

/// The plugins of a run.
pub(crate) fn plugins(
    binaries: BTreeMap<Address, Binary>,
    options: PluginOptions,
    schemas: Arc<SchemaCache>,
) -> Plugins {
    Plugins::new(binaries, options, schemas, Arc::new(Nowhere), Arc::new(Nowhere))
}
