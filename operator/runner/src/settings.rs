//! What is the same for all runs of a process.

use std::{collections::BTreeMap, path::PathBuf, sync::Arc};

use ashlar_addr::Provider;
use ashlar_install::Installer;
use ashlar_plan::Plan;
use ashlar_port::States;
use ashlar_provider::{Anchor, Bounds, Fence, Launcher, SchemaCache, Sidecar, Taken, Turns, WarmPool};
use ashlar_provisioner::Rules;

/// Settings of a process that runs workspaces.
#[derive(Clone)]
pub struct Settings {
    /// Where providers are had from; shared by all runs.
    pub installer: Installer,
    /// Holds private folders of plugins. Short: socket paths may have 107 bytes.
    pub scratch: PathBuf,
    /// What becomes a plugin.
    pub launcher: Launcher,
    /// Folders that plugins may write to beside their private one, such as a mounted volume; all runs share them.
    pub writable: Vec<PathBuf>,
    /// How plugins are kept to their own.
    pub fence: Fence,
    /// What plugins are held to, and as whom they run.
    pub bounds: Bounds,
    /// Do plugins see the environment of this process, as in Terraform, or only what a run gives them?
    pub inherit_environment: bool,
    /// What provisioners may do.
    pub provisioners: Rules,
    /// Reads states of others in a cluster, by the rights that the run has there; `None`: it has none.
    pub states: Option<Arc<dyn States>>,
    /// Where providers come from that an earlier run left, and where they go at the end; `None`: each run has its own.
    pub warm: Option<Warm>,
    /// Providers that run elsewhere.
    pub sidecars: Arc<BTreeMap<Provider, Sidecar>>,
    /// Whose turn it is with each of them.
    pub turns: Arc<Turns>,
    /// Schemas known already.
    pub schemas: Arc<SchemaCache>,
}

impl Settings {
    /// Waits for the sidecars that a plan was made with, however long others have them; nobody else has them until what this gives
    /// is dropped. The run itself then has [`Settings::of_one_run`].
    pub async fn take_sidecars(&self, plan: &Plan) -> Taken {
        let used = plan.providers.iter().filter_map(|pin| {
            let sidecar = self.sidecars.get(&pin.provider)?;
            (sidecar.pin() == pin.digest).then_some(sidecar)
        });
        self.turns.take(used).await
    }

    /// The same for a run that has its sidecars alone already.
    pub fn of_one_run(self) -> Self {
        Self {
            turns: Arc::default(),
            ..self
        }
    }
}

/// Providers that outlive a run.
#[derive(Clone)]
pub struct Warm {
    /// The pool of them.
    pub pool: Arc<WarmPool>,
    /// Whose run this is, who has no other one at the same time.
    pub tenant: Arc<str>,
    /// Held as long as a provider lives that the run started: its files.
    pub anchor: Anchor,
}
