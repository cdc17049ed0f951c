//! What plan and apply do alike: wait for their turn, take the lock, lay out the module's files, tidy up.

use std::{
    future::Future,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use ashlar_api::WorkspaceSpec;
use ashlar_diag::{Diag, Diags};
use ashlar_port::StopFlag;
use ashlar_runner::Settings;
use ashlar_store::{
    LockInfo, Recovered, StateOwner,
    kube::{Asked, Holder, KubeStore, Lock, acquire},
};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::{
    beside::beside,
    context::Context,
    ended::{Answers, Ended, Fault, INTERRUPTED, LOCK_FAILED, Outcome},
    folders::Folder,
    inputs::{GatherError, gather_rest},
    message::{Secrets, errors, warnings},
    observe::{Place, state_status, uncertain},
    outputs::reason,
    package::Package,
    registry::Tracked,
    valued::Valued,
};

/// How soon a run that is to stop notices.
const NOTICE: Duration = Duration::from_millis(200);

/// A run about to begin.
pub(crate) struct Job {
    pub(crate) context: Arc<Context>,
    pub(crate) place: Place,
    pub(crate) spec: WorkspaceSpec,
    pub(crate) tracked: Arc<Tracked>,
    /// The digest of its inputs.
    pub(crate) inputs: String,
    pub(crate) timeout: Duration,
    /// Plans whose approvals are spent.
    pub(crate) spent: Vec<String>,
}

/// The lock is held, and the state read.
pub(crate) struct Held {
    pub(crate) lock: Lock,
    pub(crate) store: KubeStore,
    pub(crate) recovered: Recovered,
    _permit: OwnedSemaphorePermit,
}

impl Job {
    /// Waits for a turn, then takes the lock and reads the state under it. `Err` is how the run ends otherwise.
    pub(crate) async fn begin(&self, permits: &Arc<Semaphore>, operation: &str) -> Result<Held, Ended> {
        let turn = permits.clone().acquire_owned();
        let permit = match until_stopped(&self.tracked.stop, turn).await {
            Some(Ok(permit)) => permit,
            Some(Err(_)) | None => return Err(self.interrupted("It was stopped before it began.")),
        };
        let who = format!("ashlar@{}", self.context.presence.id());
        let info = LockInfo::new(
            operation,
            &who,
            &format!("Workspace {}/{}", self.place.namespace, self.place.name),
        );
        let id = info.id.clone();
        let context = &self.context;
        let asked = acquire(
            &context.client,
            &self.place.slot,
            &context.presence,
            info,
            self.tracked.stop.clone(),
        )
        .await;
        let lock = match asked {
            Ok(Asked::Held(lock)) => lock,
            Ok(Asked::Busy(holder)) => return Err(self.end(None, busy(holder))),
            Err(diags) => return Err(self.lock_failed(&diags)),
        };
        let owner = StateOwner {
            name: self.place.name.clone(),
            uid: self.place.uid.clone(),
        };
        match KubeStore::open(&context.client, &lock, Some(owner)).await {
            Ok((store, recovered)) => {
                if !recovered.warnings.is_empty() {
                    let told = warnings(&recovered.warnings, &Default::default(), &Secrets::default());
                    tracing::warn!(
                        namespace = self.place.namespace,
                        name = self.place.name,
                        ?told,
                        "recovered"
                    );
                }
                self.tracked.begin(&id, recovered.state.objects().count());
                Ok(Held {
                    lock,
                    store,
                    recovered,
                    _permit: permit,
                })
            }
            Err(diags) => {
                give_back(lock).await;
                Err(self.lock_failed(&diags))
            }
        }
    }

    pub(crate) fn end(&self, recovered: Option<&Recovered>, outcome: Outcome) -> Ended {
        Ended {
            run: self.tracked.run,
            inputs: self.inputs.clone(),
            state: recovered
                .filter(|recovered| !recovered.state.lineage.is_empty())
                .map(|recovered| state_status(&self.place.slot, recovered)),
            uncertain: recovered.map(|recovered| uncertain(recovered).into_iter().take(50).collect()),
            outcome,
            answers: Answers::default(),
        }
    }

    pub(crate) fn failed(
        &self,
        recovered: Option<&Recovered>,
        reason: &'static str,
        message: String,
    ) -> Ended {
        self.end(
            recovered,
            Outcome::Failed(Fault {
                reason,
                invalid: false,
                interrupted: false,
                message,
            }),
        )
    }

    pub(crate) fn interrupted(&self, message: &str) -> Ended {
        let fault = Fault {
            reason: INTERRUPTED,
            invalid: false,
            interrupted: true,
            message: message.to_owned(),
        };
        self.end(None, Outcome::Failed(fault))
    }

    fn lock_failed(&self, diags: &Diags) -> Ended {
        self.failed(
            None,
            LOCK_FAILED,
            errors(diags, &Default::default(), &Secrets::default()),
        )
    }

    /// The environment of the providers, and the values that can still be read, when the source or other inputs are gone.
    /// Without what it needs of the environment a provider could take an identity that is not the workspace's, and find nothing
    /// to destroy.
    pub(crate) async fn rest(&self) -> Result<Valued, Diags> {
        let found = gather_rest(&self.context.client, &self.place.namespace, &self.spec).await;
        found.map_err(|error| {
            let why = match error {
                GatherError::Fault(fault) => fault.message().to_owned(),
                GatherError::Api { what, source } => format!("{what} cannot be read: {}", reason(&source)),
            };
            let detail = format!(
                "{why}. The providers' environment needs it. Restore it, or set deletionPolicy to Retain."
            );
            Diag::error("The environment of the providers is incomplete", detail).into()
        })
    }

    /// The folder of this run, with all of its files in it.
    pub(crate) async fn lay_out(&self, package: Package) -> std::io::Result<RunFolder> {
        let (context, uid) = (self.context.clone(), self.place.uid.clone());
        let made = tokio::task::spawn_blocking(move || {
            let folder = context.folders.lay_out(&uid, &package)?;
            let root = folder.root(&package.root);
            Ok(RunFolder { folder, root })
        });
        made.await
            .unwrap_or_else(|error| Err(std::io::Error::other(error)))
    }

    /// The settings of a run in this folder. A sidecar that is not offered is a fault, also where the other inputs are gone: started here,
    /// the provider could take another identity.
    pub(crate) fn settings(&self, folder: &RunFolder) -> Result<Settings, Diags> {
        let place = &self.place;
        let sidecars = beside(&self.context.sidecars, &place.namespace, &self.spec);
        let sidecars =
            sidecars.map_err(|fault| Diag::error("A sidecar is not offered", fault.message().to_owned()))?;
        let folder = folder.folder.clone();
        Ok(self
            .context
            .settings_for(&place.namespace, &place.uid, folder, sidecars))
    }
}

/// The files of a run. Providers that outlive it may hold on to them.
pub(crate) struct RunFolder {
    folder: Arc<Folder>,
    root: PathBuf,
}

impl RunFolder {
    /// All that the run may read.
    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// The root module's folder in it.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }
}

impl Held {
    /// Ends the run in order. What could not be tidied up is left for the next run.
    pub(crate) async fn finish(self) {
        let closed = self.store.close().await;
        Self::end(closed, self.lock).await;
    }

    /// Ends the last run of a workspace that leaves its state to others.
    pub(crate) async fn leave(self) -> Result<(), Diags> {
        let left = self.store.leave(&self.recovered.uncertain).await;
        Self::end(Ok(()), self.lock).await;
        left
    }

    async fn end(closed: Result<(), Diags>, lock: Lock) {
        if let Err(diags) = closed {
            tracing::warn!(
                error = errors(&diags, &Default::default(), &Secrets::default()),
                "the journal was left as it is"
            );
        }
        give_back(lock).await;
    }
}

pub(crate) async fn give_back(lock: Lock) {
    if let Err(diags) = lock.release().await {
        tracing::warn!(
            error = errors(&diags, &Default::default(), &Secrets::default()),
            "a lock was left to run out"
        );
    }
}

pub(crate) fn busy(holder: Holder) -> Outcome {
    Outcome::Busy {
        told: holder.to_string(),
        holder: holder.replica.clone().unwrap_or_else(|| holder.info.to_string()),
        replica: holder.replica.is_some(),
        id: holder.info.id,
        operation: holder.info.operation,
        since: holder.info.created,
    }
}

/// Waits for `work`, but not beyond the stop flag: then it is dropped.
pub(crate) async fn until_stopped<T>(stop: &StopFlag, work: impl Future<Output = T>) -> Option<T> {
    tokio::pin!(work);
    loop {
        tokio::select! {
            done = &mut work => return Some(done),
            () = tokio::time::sleep(NOTICE) => if stop.is_set() { return None },
        }
    }
}

pub(crate) fn plain(diags: &Diags) -> String {
    errors(diags, &Default::default(), &Secrets::default())
}

/// Runs the engine here and now, and lets another thread go on with what this one had to do otherwise: however long a
/// tenant's expressions take, nobody else waits.
pub(crate) fn apart<T>(work: impl Future<Output = T>) -> T {
    tokio::task::block_in_place(|| tokio::runtime::Handle::current().block_on(work))
}
