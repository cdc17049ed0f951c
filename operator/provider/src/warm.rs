//! Providers that outlive a run, so that the next one of the same tenant, with the same of everything, starts no process.
//!
//! One is kept only where nothing went wrong with it, and is used by one run at a time. What it may read was fenced in when it
//! started, so files and variables are part of what must be the same; a tenant is a workspace, and nobody else's run is ever
//! given its processes. All of them end with the pool.

use std::{
    any::Any,
    collections::BTreeMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use ashlar_port::ProviderDiag;
use ashlar_value::Value;
use sha2::{Digest, Sha256};

use crate::{
    log::Redactor,
    memory::{is_pressed, resident},
    plugin::{Listener, Plugin, PluginOptions},
    process::Environment,
    warm_counts::WarmCounts,
    warm_rules::{Ended, Seen, WarmLimits, surplus},
};

/// How often idle providers are looked at.
const TEND: Duration = Duration::from_secs(5);
/// Stands for what a provider says that serves nobody.
const UNHEARD: &str = "(said while no run used it)";

/// Holds what a provider needs as long as it lives, such as the folder that it was started in.
pub type Anchor = Arc<dyn Any + Send + Sync>;

/// What must be the same for a provider to serve a run. A configuration may hold secrets, so its digest stands for it.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Key {
    pub(crate) tenant: Arc<str>,
    /// Of the files, variables and rules that it was started with.
    pub(crate) place: [u8; 32],
    /// Of the program, and whose it is.
    pub(crate) program: [u8; 32],
    /// Of the configuration; nothing if it has none.
    pub(crate) config: Option<[u8; 32]>,
}

/// The digest of several texts, none of which runs into the next.
pub(crate) fn digest_of<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> [u8; 32] {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update(u64::try_from(part.len()).unwrap_or(u64::MAX).to_be_bytes());
        hash.update(part);
    }
    hash.finalize().into()
}

/// The digest of all that a provider is started with.
pub(crate) fn place_of(options: &PluginOptions) -> [u8; 32] {
    let launch = &options.launch;
    let mut parts: Vec<Vec<u8>> = vec![
        options.terraform_version.clone().into(),
        format!("{:?}", launch.fence).into(),
        launch.launcher.program.as_os_str().as_encoded_bytes().to_vec(),
        launch.working_folder.as_os_str().as_encoded_bytes().to_vec(),
    ];
    for (name, paths) in [("read", &launch.readable), ("write", &launch.writable)] {
        parts.push(format!("{name} {}", paths.len()).into());
        parts.extend(
            paths
                .iter()
                .map(|path| path.as_os_str().as_encoded_bytes().to_vec()),
        );
    }
    let (kind, variables) = match &launch.environment {
        Environment::Inherited(variables) => ("inherited", variables),
        Environment::Only(variables) => ("only", variables),
    };
    parts.push(kind.into());
    let mut variables: Vec<_> = variables.iter().collect();
    variables.sort();
    for (name, value) in variables {
        parts.push(name.as_encoded_bytes().to_vec());
        parts.push(value.as_encoded_bytes().to_vec());
    }
    digest_of(parts.iter().map(Vec::as_slice))
}

/// Who hears a provider: the run that uses it now.
#[derive(Clone)]
pub(crate) struct Voice(Arc<Mutex<(Redactor, Listener)>>);

impl Voice {
    pub(crate) fn new(redact: Redactor, secrets: Listener) -> Self {
        Self(Arc::new(Mutex::new((redact, secrets))))
    }

    fn now(&self) -> (Redactor, Listener) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn switch(&self, redact: Redactor, secrets: Listener) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = (redact, secrets);
    }

    /// Nobody: what the last run knew to be secret is forgotten, so nothing is told.
    fn mute(&self) {
        self.switch(Arc::new(|_| UNHEARD.to_owned()), Arc::new(|_, _| {}));
    }

    /// The options of a process that is heard by whoever uses it.
    pub(crate) fn of(&self, options: &PluginOptions) -> PluginOptions {
        let mut options = options.clone();
        let voice = self.clone();
        options.launch.redact = Arc::new(move |text: &str| (voice.now().0)(text));
        let voice = self.clone();
        options.secrets = Arc::new(move |config: &Value, result: &Value| (voice.now().1)(config, result));
        options
    }
}

/// A provider between two runs.
pub(crate) struct Idle {
    pub(crate) plugin: Arc<Plugin>,
    pub(crate) voice: Voice,
    pub(crate) key: Key,
    /// What it said of its configuration.
    pub(crate) remarks: Vec<ProviderDiag>,
    pub(crate) started: Instant,
    pub(crate) anchor: Anchor,
    /// The provider configuration that it stood for last.
    pub(crate) role: Option<Arc<str>>,
}

struct Kept {
    id: u64,
    since: Instant,
    idle: Idle,
}

/// Providers that serve nobody at the moment.
pub struct WarmPool {
    limits: WarmLimits,
    kept: Mutex<Vec<Kept>>,
    next: AtomicU64,
    closed: AtomicBool,
    pub(crate) counts: WarmCounts,
}

impl WarmPool {
    /// With nothing in it. [`WarmPool::tend`] has to run beside it.
    pub fn new(limits: WarmLimits) -> Arc<Self> {
        Arc::new(Self {
            limits,
            kept: Mutex::default(),
            next: AtomicU64::new(0),
            closed: AtomicBool::new(false),
            counts: WarmCounts::default(),
        })
    }

    /// What became of providers so far, and how many there are.
    pub fn counts(&self) -> &WarmCounts {
        &self.counts
    }

    fn kept(&self) -> MutexGuard<'_, Vec<Kept>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One that serves nobody and fits: what was used last, as the least of it was paged out.
    pub(crate) fn take(&self, key: &Key) -> Option<Idle> {
        let mut kept = self.kept();
        let fits = |one: &Kept| one.idle.key == *key && !one.idle.plugin.has_ended();
        let at = kept.iter().rposition(fits)?;
        let taken = kept.remove(at);
        self.counts.idle(kept.len());
        drop(kept);
        self.counts.reused();
        Some(taken.idle)
    }

    /// Keeps one that did all that it was asked for.
    pub(crate) fn put(self: &Arc<Self>, idle: Idle) {
        idle.voice.mute();
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let since = Instant::now();
        {
            let mut kept = self.kept();
            kept.push(Kept { id, since, idle });
            self.counts.idle(kept.len());
        }
        // Asked after it was put in: whoever closes takes out what is in by then.
        if self.closed.load(Ordering::SeqCst) {
            self.end_where(Ended::Shutdown, |_| true);
        } else {
            self.trim(false);
        }
    }

    /// A run of a tenant begins: what was started with other files or variables serves it no more.
    pub(crate) fn begin(self: &Arc<Self>, tenant: &str, place: &[u8; 32]) {
        self.end_where(Ended::Tenant, |one| {
            &*one.key.tenant == tenant && one.key.place != *place
        });
    }

    /// A provider configuration of a tenant has these values now: what stood for it with others serves nobody any more. Without
    /// this a configuration that is new in each run (a token) would leave a process behind each time.
    pub(crate) fn supersede(self: &Arc<Self>, now: &Key, role: &str) {
        self.end_where(Ended::Tenant, |one| {
            one.role.as_deref() == Some(role)
                && one.key.tenant == now.tenant
                && one.key.program == now.program
                && one.key.config != now.config
        });
    }

    /// Ends what is kept for a tenant that is gone.
    pub fn end_tenant(self: &Arc<Self>, tenant: &str) {
        self.end_where(Ended::Tenant, |one| &*one.key.tenant == tenant);
    }

    /// Ends what goes beyond the limits, over and over, until it is dropped.
    pub async fn tend(self: Arc<Self>) {
        loop {
            tokio::time::sleep(TEND).await;
            let pressed = tokio::task::spawn_blocking(is_pressed).await.unwrap_or(false);
            self.trim(pressed);
        }
    }

    /// Ends all, and keeps none from now on. Returns when they are gone.
    pub async fn close(&self) {
        self.closed.store(true, Ordering::SeqCst);
        let kept = std::mem::take(&mut *self.kept());
        self.counts.idle(0);
        let ends = kept.into_iter().map(|one| async move {
            self.counts.ended(Ended::Shutdown);
            end(one.idle).await;
        });
        let mut ends: Vec<_> = ends.map(Box::pin).collect();
        // Side by side: each may take its time.
        std::future::poll_fn(|context| {
            ends.retain_mut(|end| end.as_mut().poll(context).is_pending());
            if ends.is_empty() {
                std::task::Poll::Ready(())
            } else {
                std::task::Poll::Pending
            }
        })
        .await;
    }

    fn trim(self: &Arc<Self>, pressed: bool) {
        let now = Instant::now();
        let doomed = {
            let kept = self.kept();
            let seen: Vec<Seen<'_>> = kept
                .iter()
                .map(|one| Seen {
                    id: one.id,
                    tenant: &one.idle.key.tenant,
                    has_ended: one.idle.plugin.has_ended(),
                    age: now.saturating_duration_since(one.idle.started),
                    idle: now.saturating_duration_since(one.since),
                    resident: one.idle.plugin.pid().and_then(resident).unwrap_or(0),
                })
                .collect();
            self.counts.resident(seen.iter().map(|one| one.resident).sum());
            surplus(&seen, &self.limits, pressed)
        };
        if !doomed.is_empty() {
            self.end(&doomed);
        }
    }

    fn end_where(self: &Arc<Self>, why: Ended, which: impl Fn(&Idle) -> bool) {
        let doomed: BTreeMap<u64, Ended> = {
            let kept = self.kept();
            let doomed = kept.iter().filter(|one| which(&one.idle));
            doomed.map(|one| (one.id, why)).collect()
        };
        if !doomed.is_empty() {
            self.end(&doomed);
        }
    }

    fn end(&self, doomed: &BTreeMap<u64, Ended>) {
        let mut kept = self.kept();
        let (gone, left) = std::mem::take(&mut *kept)
            .into_iter()
            .partition(|one: &Kept| doomed.contains_key(&one.id));
        *kept = left;
        self.counts.idle(kept.len());
        drop(kept);
        for one in gone {
            if let Some(why) = doomed.get(&one.id) {
                self.counts.ended(*why);
                tracing::debug!(provider = %one.idle.plugin.name, why = why.as_str(), "an idle provider is ended");
            }
            // Should the runtime be gone, it is dropped, and thereby killed.
            tokio::spawn(end(one.idle));
        }
    }
}

/// Its folder goes when it is gone.
async fn end(idle: Idle) {
    let Idle { plugin, anchor, .. } = idle;
    ashlar_port::Provider::close(&*plugin).await;
    drop(plugin);
    drop(anchor);
}
