//! A workspace whose plugins run beside the test, and how they are had there.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use ashlar_addr::Provider as Address;
use ashlar_port::{Provider, Providers};
use ashlar_provider::{Bounds, LaunchOptions, Listener, PluginOptions, Plugins, SchemaCache, Timeouts};

use crate::{
    launcher, mirror,
    setup::{
        change::configure,
        folders::{self, Folders},
    },
    until,
};

/// Folders of one test, and settings that it may change before it asks for plugins.
pub(crate) struct Workspace {
    pub(crate) folders: Folders,
    pub(crate) schemas: Arc<SchemaCache>,
    pub(crate) variables: Vec<(OsString, OsString)>,
    pub(crate) timeouts: Timeouts,
    pub(crate) bounds: Bounds,
    pub(crate) handshake: Duration,
    pub(crate) secrets: Listener,
}

impl Workspace {
    pub(crate) fn new() -> Self {
        let folders = Folders::new();
        let world = folders.world().into_os_string();
        Self {
            folders,
            schemas: Arc::default(),
            variables: vec![("KILN_DIR".into(), world)],
            timeouts: Timeouts::default(),
            bounds: Bounds::default(),
            handshake: Duration::from_secs(60),
            secrets: Arc::new(|_, _| {}),
        }
    }

    pub(crate) fn world(&self) -> PathBuf {
        self.folders.world()
    }

    pub(crate) fn running(&self) -> usize {
        self.folders.running()
    }

    /// The newest version of each from the mirror.
    pub(crate) fn plugins(&self, sources: &[&str]) -> Plugins {
        let binaries = sources.iter().map(|source| {
            let provider: Address = source.parse().unwrap();
            let binary = self.folders.binary(mirror(), &provider);
            (provider, binary)
        });
        self.with(binaries.collect())
    }

    pub(crate) fn with(&self, binaries: BTreeMap<Address, PathBuf>) -> Plugins {
        let launch = LaunchOptions {
            handshake: self.handshake,
            bounds: self.bounds,
            ..self.folders.launch(launcher(), self.variables.clone())
        };
        let options = PluginOptions {
            timeouts: self.timeouts,
            secrets: self.secrets.clone(),
            ..folders::options(launch)
        };
        let binaries = binaries
            .into_iter()
            .map(|(provider, path)| (provider, path.into()));
        folders::plugins(binaries.collect(), options, self.schemas.clone())
    }

    /// That a shell script in place of a plugin does not become a provider, and what is said of that.
    pub(crate) async fn refuses(&self, script: &str, wanted: &str) {
        let path = self.world().join("terraform-provider-fake");
        write_program(&path, script);
        let plugins = self.with(BTreeMap::from([(fake(), path)]));
        let error = match plugins.start(&fake()).await {
            Err(diags) => diags.to_string(),
            Ok(_) => panic!("a script became a provider"),
        };
        assert!(
            error.contains("forge.test/studio/fake") && error.contains(wanted),
            "{error}"
        );
        until(|| self.running() == 0).await;
    }
}

/// The provider that a script stands in for.
pub(crate) fn fake() -> Address {
    "forge.test/studio/fake".parse().unwrap()
}

/// Writes a shell script that can be run.
pub(crate) fn write_program(path: &Path, script: &str) {
    fs::write(path, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// A provider with its default configuration.
pub(crate) async fn configured(plugins: &Plugins, source: &str) -> Arc<dyn Provider> {
    let provider = plugins
        .start(&source.parse().unwrap())
        .await
        .unwrap_or_else(|diags| panic!("{diags}"));
    configure(&*provider).await;
    provider
}
