//! What all passes and runs of this process share.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError, atomic::AtomicBool},
};

use ashlar_addr::Provider;
use ashlar_api::{LockStatus, Workspace};
use ashlar_plan::Plan;
use ashlar_provider::{Sidecar, Taken, WarmPool};
use ashlar_runner::{Patience, Settings, Warm};
use ashlar_sources::Fetcher;
use ashlar_store::kube::{OperatorKey, Presence, SecretStates};
use futures::channel::mpsc::UnboundedSender;
use kube::{
    Client, Resource, ResourceExt,
    runtime::{
        events::{Event, EventType, Recorder},
        reflector::ObjectRef,
    },
};
use tokio::sync::Semaphore;

use crate::{
    decide::LockSeen,
    flux::Kinds,
    folders::{Folder, Folders},
    index::Index,
    message::cut,
    polls::Polls,
    registry::{Registry, Sight},
};

/// Shared by all passes and runs.
pub(crate) struct Context {
    pub(crate) client: Client,
    pub(crate) key: OperatorKey,
    pub(crate) presence: Presence,
    pub(crate) settings: Settings,
    /// How long providers have to end what they do when a run is stopped.
    pub(crate) patience: Patience,
    /// The files of runs.
    pub(crate) folders: Folders,
    /// Providers that run elsewhere, as the operator's owner offers them.
    pub(crate) sidecars: BTreeMap<Provider, Sidecar>,
    /// Providers that outlive runs, unless each run is to start its own.
    pub(crate) warm: Option<Arc<WarmPool>>,
    pub(crate) registry: Arc<Registry>,
    pub(crate) index: Arc<Index>,
    /// Fetches sources and the modules that they call.
    pub(crate) fetcher: Fetcher,
    /// Fetches that may go on at once.
    pub(crate) fetch_permits: Arc<Semaphore>,
    pub(crate) polls: Polls,
    /// The kinds of Flux that there are.
    pub(crate) kinds: Kinds,
    /// May a source be an object of another namespace?
    pub(crate) cross_namespace: bool,
    /// Looks at states at once: each may unpack to much.
    pub(crate) looks: Semaphore,
    /// One permit per plan that may be made at once.
    pub(crate) plan_permits: Arc<Semaphore>,
    /// One permit per apply that may run at once: long applies never keep plans waiting.
    pub(crate) apply_permits: Arc<Semaphore>,
    /// Locks that others were found to hold, by the workspace's uid, until it is time to ask again.
    pub(crate) locks: Mutex<BTreeMap<String, (LockSeen, LockStatus)>>,
    pub(crate) recorder: Recorder,
    pub(crate) pokes: Pokes,
    pub(crate) draining: AtomicBool,
}

impl Context {
    /// The settings of a run for a workspace of this namespace: of other states it reads only those there, and its providers are
    /// its own, those of earlier runs that had the same folder as well, or these sidecars.
    pub(crate) fn settings_for(
        &self,
        namespace: &str,
        uid: &str,
        folder: Arc<Folder>,
        sidecars: BTreeMap<Provider, Sidecar>,
    ) -> Settings {
        let states = SecretStates::OfNamespace(self.client.clone(), namespace.to_owned());
        let warm = self.warm.as_ref().map(|pool| Warm {
            pool: pool.clone(),
            tenant: format!("{namespace}/{uid}").into(),
            anchor: folder,
        });
        Settings {
            states: Some(Arc::new(states)),
            warm,
            ..self.with_sidecars(sidecars)
        }
    }

    fn with_sidecars(&self, sidecars: BTreeMap<Provider, Sidecar>) -> Settings {
        Settings {
            sidecars: Arc::new(sidecars),
            ..self.settings.clone()
        }
    }

    /// Waits for those of a workspace's sidecars that a plan was made with.
    pub(crate) async fn take_sidecars(&self, sidecars: BTreeMap<Provider, Sidecar>, plan: &Plan) -> Taken {
        self.with_sidecars(sidecars).take_sidecars(plan).await
    }
}

/// Has a workspace looked at, by the controller of its namespace. A run sends at most one message in five seconds, so the
/// queues stay short.
#[derive(Clone)]
pub(crate) struct Pokes(pub(crate) Arc<BTreeMap<Option<String>, UnboundedSender<ObjectRef<Workspace>>>>);

impl Pokes {
    pub(crate) fn send(&self, workspace: ObjectRef<Workspace>) {
        let queue = self.0.get(&workspace.namespace).or_else(|| self.0.get(&None));
        if let Some(queue) = queue {
            // Nobody listens once the controller has ended.
            let _ = queue.unbounded_send(workspace);
        }
    }
}

impl Context {
    /// The lock that someone else was found to hold.
    pub(crate) fn lock_of(&self, uid: &str) -> Option<(LockSeen, LockStatus)> {
        self.locks
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get(uid)
            .cloned()
    }

    pub(crate) fn note_lock(&self, uid: &str, lock: Option<(LockSeen, LockStatus)>) {
        let mut locks = self.locks.lock().unwrap_or_else(PoisonError::into_inner);
        match lock {
            Some(lock) => locks.insert(uid.to_owned(), lock),
            None => locks.remove(uid),
        };
    }

    /// Forgets a workspace that is gone.
    pub(crate) fn forget(&self, namespace: &str, name: &str, uid: Option<&str>) {
        self.index.set(namespace, name, std::collections::BTreeSet::new());
        let Some(uid) = uid else { return };
        if let Some(warm) = &self.warm {
            warm.end_tenant(&format!("{namespace}/{uid}"));
        }
        self.note_lock(uid, None);
        self.polls.forget(uid);
        match self.registry.look(uid) {
            Sight::None => {}
            // Someone took the finalizer away.
            Sight::Going(tracked) => tracked.stop.set(),
            Sight::Ended(ended) => self.registry.forget(uid, &ended),
        }
    }

    /// Tells what happened, for `kubectl describe`. Never with a value in it.
    pub(crate) async fn tell(&self, workspace: &Workspace, type_: EventType, reason: &str, note: &str) {
        let (namespace, name) = (workspace.namespace().unwrap_or_default(), workspace.name_any());
        match type_ {
            EventType::Normal => tracing::info!(namespace, name, reason, "{note}"),
            EventType::Warning => tracing::warn!(namespace, name, reason, "{note}"),
        }
        let event = Event {
            type_,
            reason: reason.to_owned(),
            note: Some(cut(note)),
            action: reason.to_owned(),
            secondary: None,
        };
        if let Err(error) = self.recorder.publish(&event, &workspace.object_ref(&())).await {
            tracing::debug!(%error, workspace = workspace.name_any(), "an event could not be published");
        }
    }
}
