//! The runs of this process: one per workspace at most, watched from outside and never awaited by a pass.
//!
//! A run that ended stays here until its result stands in the status, so that none is lost.

use std::{
    collections::BTreeMap,
    future::Future,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use ashlar_api::{ProgressStatus, RunPhase, Workspace};
use ashlar_port::{Activity, Event, Progress, StopFlag};
use jiff::Timestamp;
use kube::runtime::reflector::ObjectRef;
use tokio::sync::Notify;

use crate::{
    decide::{Cause, Run, Stage},
    ended::{Answers, Ended},
};

/// How often progress is shown.
const SHOWN_EVERY: Duration = Duration::from_secs(5);
/// How many objects at work are shown.
const CURRENT_SHOWN: usize = 10;

/// All runs, by the workspace's uid.
#[derive(Default)]
pub(crate) struct Registry {
    runs: Mutex<BTreeMap<String, Entry>>,
    idle: Notify,
}

struct Entry {
    workspace: ObjectRef<Workspace>,
    tracked: Arc<Tracked>,
    ended: Option<Arc<Ended>>,
}

/// So many bytes of what provisioners say are logged of one run.
const MOST_SAID: usize = 1 << 20;

/// What a run is started for.
pub(crate) struct Ticket {
    pub(crate) workspace: ObjectRef<Workspace>,
    pub(crate) uid: String,
    pub(crate) run: Run,
    pub(crate) cause: Cause,
    /// The digest of its inputs.
    pub(crate) inputs: String,
    pub(crate) answers: Answers,
}

/// One run, as it is seen from outside and reported from inside.
pub(crate) struct Tracked {
    pub(crate) run: Run,
    pub(crate) cause: Cause,
    pub(crate) started_at: Timestamp,
    pub(crate) stop: StopFlag,
    view: Mutex<View>,
    /// How many bytes its provisioners have said.
    said: AtomicUsize,
}

struct View {
    phase: RunPhase,
    lock: Option<String>,
    progress: ProgressStatus,
    at_work: Vec<String>,
    shown: Instant,
    poke: Arc<dyn Fn() + Send + Sync>,
}

impl Tracked {
    pub(crate) fn new(run: Run, cause: Cause, poke: Arc<dyn Fn() + Send + Sync>) -> Self {
        let view = View {
            phase: match run.stage {
                Stage::Fetch => RunPhase::Fetching,
                Stage::Plan => RunPhase::Planning,
                Stage::Apply => RunPhase::Applying,
            },
            lock: None,
            progress: ProgressStatus::default(),
            at_work: Vec::new(),
            shown: Instant::now(),
            poke,
        };
        Self {
            run,
            cause,
            started_at: Timestamp::now(),
            stop: StopFlag::new(),
            view: Mutex::new(view),
            said: AtomicUsize::new(0),
        }
    }

    pub(crate) fn phase(&self) -> RunPhase {
        if self.stop.is_set() {
            RunPhase::Stopping
        } else {
            self.view().phase
        }
    }

    /// The ID of the lock, once it is held.
    pub(crate) fn lock(&self) -> Option<String> {
        self.view().lock.clone()
    }

    pub(crate) fn progress(&self) -> ProgressStatus {
        let view = self.view();
        let current = view.at_work.iter().take(CURRENT_SHOWN).cloned().collect();
        ProgressStatus {
            current,
            ..view.progress.clone()
        }
    }

    /// Its turn has come and the lock is held.
    pub(crate) fn begin(&self, lock: &str, total: usize) {
        let mut view = self.view();
        view.lock = Some(lock.to_owned());
        view.progress.total = i64::try_from(total).unwrap_or(i64::MAX);
        (view.poke)();
    }

    /// How much is to be done is known now.
    pub(crate) fn expect(&self, total: usize) {
        self.view().progress.total = i64::try_from(total).unwrap_or(i64::MAX);
    }

    /// Logs what a provisioner says, as much as one run may fill the operator's log with.
    fn log(&self, address: &str, provisioner: &str, line: &str) {
        // An empty line takes room as well.
        let length = line.len() + 1;
        let before = self.said.fetch_add(length, Ordering::Relaxed);
        if before.saturating_add(length) <= MOST_SAID {
            tracing::info!(target: "ashlar::provisioner", address, provisioner, "{line}");
        } else if before <= MOST_SAID {
            tracing::warn!(
                target: "ashlar::provisioner",
                address,
                provisioner,
                "the provisioners of this run have said {MOST_SAID} bytes; more of it is not logged"
            );
        }
    }

    fn view(&self) -> std::sync::MutexGuard<'_, View> {
        self.view.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Progress for Tracked {
    fn tell(&self, event: Event) {
        // Before anything is locked: whoever looks at the run does not wait for the log.
        if let Event::ProvisionerSays {
            address,
            provisioner,
            line,
        } = &event
        {
            return self.log(&address.to_string(), provisioner, line);
        }
        let mut view = self.view();
        let counts = |activity: Activity| {
            let changes = matches!(activity, Activity::Create | Activity::Update | Activity::Delete);
            // What is only open for a while is no part of what there is to do.
            let passes = matches!(
                activity,
                Activity::Open | Activity::Renew | Activity::Close | Activity::Find | Activity::Import
            );
            !passes && changes == (self.run.stage == Stage::Apply)
        };
        let (ended, done) = match event {
            // What it is known by is no part of a status.
            Event::Started { task, .. } => {
                view.at_work.push(task.to_string());
                (None, false)
            }
            Event::ActionStarted(invoked) => {
                view.at_work.push(invoked.to_string());
                (None, false)
            }
            Event::Provisioning { address, provisioner } => {
                view.at_work.push(format!("{address} ({provisioner})"));
                (None, false)
            }
            // A status holds nothing that providers say.
            Event::ActionSays(..) | Event::ProvisionerSays { .. } => (None, false),
            Event::Provisioned {
                address, provisioner, ..
            } => (Some(format!("{address} ({provisioner})")), false),
            Event::Completed { task, .. } | Event::Failed { task, .. } => {
                (Some(task.to_string()), counts(task.activity))
            }
            Event::ActionEnded { invoked, .. } => (Some(invoked.to_string()), true),
        };
        if let Some(at) = view
            .at_work
            .iter()
            .position(|working| Some(working) == ended.as_ref())
        {
            view.at_work.swap_remove(at);
        }
        view.progress.done += i64::from(done);
        if view.shown.elapsed() >= SHOWN_EVERY {
            view.shown = Instant::now();
            (view.poke)();
        }
    }
}

/// What a pass sees of a workspace's run.
pub(crate) enum Sight {
    None,
    Going(Arc<Tracked>),
    Ended(Arc<Ended>),
}

impl Registry {
    /// Starts a run. `poke` has the workspace looked at; it is called now and then, and when the run ends.
    pub(crate) fn start<F>(
        self: &Arc<Self>,
        ticket: Ticket,
        poke: Arc<dyn Fn() + Send + Sync>,
        work: impl FnOnce(Arc<Tracked>) -> F,
    ) where
        F: Future<Output = Ended> + Send + 'static,
    {
        let Ticket {
            workspace,
            uid,
            run,
            cause,
            inputs,
            answers,
        } = ticket;
        let tracked = Arc::new(Tracked::new(run, cause, poke.clone()));
        let entry = Entry {
            workspace,
            tracked: tracked.clone(),
            ended: None,
        };
        self.runs().insert(uid.clone(), entry);
        let registry = self.clone();
        // Watched by a second task, so that a run that panics ends too.
        let task = tokio::spawn(work(tracked));
        tokio::spawn(async move {
            let ended = match task.await {
                Ok(ended) => ended,
                Err(error) => {
                    tracing::error!(%error, "a run ended unexpectedly");
                    Ended::broken(run, inputs)
                }
            };
            let ended = Ended { answers, ..ended };
            if let Some(entry) = registry.runs().get_mut(&uid) {
                entry.ended = Some(Arc::new(ended));
            }
            registry.idle.notify_waiters();
            poke();
        });
    }

    pub(crate) fn look(&self, uid: &str) -> Sight {
        match self.runs().get(uid) {
            None => Sight::None,
            Some(Entry {
                ended: Some(ended), ..
            }) => Sight::Ended(ended.clone()),
            Some(entry) => Sight::Going(entry.tracked.clone()),
        }
    }

    /// Forgets a run whose result stands in the status.
    pub(crate) fn forget(&self, uid: &str, ended: &Arc<Ended>) {
        let mut runs = self.runs();
        if runs
            .get(uid)
            .and_then(|entry| entry.ended.as_ref())
            .is_some_and(|kept| Arc::ptr_eq(kept, ended))
        {
            runs.remove(uid);
        }
    }

    /// Asks all runs to stop, and returns once they have.
    pub(crate) async fn drain(&self) {
        loop {
            let woken = self.idle.notified();
            tokio::pin!(woken);
            woken.as_mut().enable();
            {
                let runs = self.runs();
                let going: Vec<&Entry> = runs.values().filter(|entry| entry.ended.is_none()).collect();
                if going.is_empty() {
                    return;
                }
                going.iter().for_each(|entry| entry.tracked.stop.set());
            }
            woken.await;
        }
    }

    /// The workspaces whose runs are not forgotten yet, by uid.
    pub(crate) fn left(&self) -> Vec<(String, ObjectRef<Workspace>)> {
        self.runs()
            .iter()
            .map(|(uid, entry)| (uid.clone(), entry.workspace.clone()))
            .collect()
    }

    fn runs(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, Entry>> {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
