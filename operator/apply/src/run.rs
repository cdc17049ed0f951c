//! The driver: starts steps as they become ready, saves the state beside them, stops when asked.

mod start;
mod step;
#[cfg(test)]
mod tests;

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Mutex},
};

use ashlar_addr::AbsResource;
use ashlar_config::Tree;
use ashlar_diag::{Diag, Diags};
use ashlar_funcs::Caps;
use ashlar_graph::{Graph, Turn};
use ashlar_plan::{Check, Engine, Expansion, FinalValues, Op, Order, Plan, Schemas, StepId, lock};
use ashlar_port::{Activity, Outside, Progress, Providers, Provisioners, RunStore, StopFlag};
use ashlar_state::State;
use ashlar_value::Value;
use futures::{FutureExt, StreamExt, future::BoxFuture, select_biased, stream::FuturesUnordered};

pub(crate) use self::step::damaged;
use crate::{
    checks::check_results,
    keeper::{Keeper, Kept},
};

/// How often the driver looks whether it was asked to stop, in milliseconds.
const LOOK_AROUND: u64 = 500;

/// What becomes of provider calls that go on when a run is stopped; nothing new is started then.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Patience {
    /// After so many milliseconds providers are asked to abandon what they are doing.
    pub ask_after_ms: u64,
    /// After so many milliseconds they are ended, and what their calls brought about is uncertain. `None` waits for them.
    pub end_after_ms: Option<u64>,
}

/// All that applying needs.
pub struct Inputs<'a> {
    /// What to do.
    pub plan: &'a Plan,
    /// The values of the root module's variables: the plan's, and those of ephemeral ones, which are given again.
    pub variables: &'a BTreeMap<Arc<str>, Value>,
    /// The plan's configuration, loaded anew from the text it holds.
    pub tree: &'a Tree,
    /// The schemas of all its providers.
    pub schemas: &'a Schemas,
    /// Where providers come from.
    pub providers: &'a dyn Providers,
    /// What runs provisioners.
    pub provisioners: &'a dyn Provisioners,
    /// Files, time and randomness for functions; `plantimestamp` is the plan's.
    pub caps: &'a dyn Caps,
    /// Clock and chance.
    pub outside: &'a dyn Outside,
    /// Who watches.
    pub progress: &'a dyn Progress,
    /// Where the run is kept; held by whoever holds the lock.
    pub store: &'a dyn RunStore,
    /// Set to start nothing more.
    pub stop: &'a StopFlag,
    /// How long providers have to end their calls once the run is stopped.
    pub patience: Patience,
    /// The Terraform version the state presents as.
    pub terraform_version: &'a str,
}

/// What came of it.
pub struct Applied {
    /// The new state; saved already unless the diagnostics say otherwise.
    pub state: State,
    /// Where that is found again.
    pub kept: Kept,
    /// Errors and warnings.
    pub diags: Diags,
    /// Was it stopped before all steps had run?
    pub interrupted: bool,
    /// Objects imported, created, updated or replaced, and destroyed, and actions invoked.
    pub counts: Counts,
}

/// How much was done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "each is the count of what it names")]
pub struct Counts {
    pub imported: usize,
    pub created: usize,
    pub updated: usize,
    pub destroyed: usize,
    pub invoked: usize,
}

/// What all steps share.
pub(crate) struct Run<'a> {
    pub(crate) engine: Engine<'a>,
    pub(crate) plan: &'a Plan,
    pub(crate) keeper: Keeper<'a>,
    pub(crate) provisioners: &'a dyn Provisioners,
    pub(crate) order: Order,
    pub(crate) counts: Mutex<Counts>,
    pub(crate) checks: Mutex<BTreeMap<String, Check>>,
    /// Values of instances that are not in their resource's value yet.
    pub(crate) instances: &'a FinalValues,
    /// The plan's changes by resource.
    pub(crate) changes: HashMap<AbsResource, Vec<usize>>,
    expansions: Mutex<HashMap<AbsResource, Arc<Expansion>>>,
    /// Does the state that the steps go on from differ from the stored one?
    is_news: bool,
}

/// Applies a plan. The state is saved when this returns, also after errors.
pub async fn apply(inputs: Inputs<'_>) -> Applied {
    let plan = inputs.plan;
    let refuse = |diags: Diags| Applied {
        state: plan.prior_state.clone(),
        kept: Kept::State,
        diags,
        interrupted: false,
        counts: Counts::default(),
    };
    if plan.errored {
        let detail = "Planning met errors, so this plan is not complete and must not be applied. Mend them and plan anew.";
        return refuse(Diag::error("Cannot apply incomplete plan", detail).into());
    }
    let instances = FinalValues::default();
    let run = Run::new(&inputs, inputs.schemas, &instances);
    let mut diags = Diags::new();
    let interrupted = run
        .engine
        .with_renewals(run.drive(inputs.stop, inputs.patience, &mut diags))
        .await;
    run.engine.close().await;
    let checks = check_results(&lock(&run.checks));
    if run.keeper.read(|state| state.check_results != checks) {
        run.keeper.change(|state| state.check_results = checks);
    }
    let counts = *lock(&run.counts);
    let (state, kept, faults) = run.keeper.finish().await;
    diags.extend(faults);
    diags.extend(plan.options.selection.remark_applied());
    Applied {
        state,
        kept,
        diags,
        interrupted,
        counts,
    }
}

/// What a step has to tell. One that fails without a word would let the run end as a success.
fn told(result: Result<Diags, Diags>) -> Diags {
    let failed = result.is_err();
    let (Ok(mut diags) | Err(mut diags)) = result;
    if failed && !diags.has_errors() {
        let detail = "A step failed without saying why, so what depends on it was not done. This is a fault of Ashlar. Plan \
                      anew to see what is left to do.";
        diags.push(Diag::error("Step failed without an error", detail));
    }
    diags
}

/// The fault of steps that never became ready.
fn stuck() -> Diag {
    let detail = "Some steps of the plan wait for each other, so they were not done. This is a fault of Ashlar. Plan anew to \
                  see what is left to do.";
    Diag::error("Plan not carried out to its end", detail)
}

impl Run<'_> {
    /// Runs all steps; tells whether it was stopped before the end.
    async fn drive(&self, stop: &StopFlag, patience: Patience, diags: &mut Diags) -> bool {
        self.tell_imports();
        if self.is_news {
            // The journal goes on from what is stored: over a state in which nothing was moved, say, an object's outcome would
            // make a second one of it. Where this fails, nothing is started.
            self.keeper.save().await;
        }
        let mut walk = self.step_graph().walk();
        let mut running = FuturesUnordered::new();
        let mut saving: BoxFuture<'_, ()> = futures::future::pending().boxed();
        let mut is_saving = false;
        // Told to stop, or ended: beside all else, for what other providers answer meanwhile must be kept.
        let mut telling: BoxFuture<'_, ()> = futures::future::pending().boxed();
        let mut is_telling = false;
        let mut stopping = false;
        let mut ask_at = None;
        let mut end_at = None;
        let mut ended = false;
        let mut interrupted = false;
        loop {
            while let Some(turn) = walk.turn() {
                let halted = stopping || self.keeper.has_failed();
                let (Turn::Run(id) | Turn::Skip(id)) = turn;
                // What is open is closed whatever came of the steps that needed it.
                if self.is_release(id) || (matches!(turn, Turn::Run(_)) && !halted) {
                    running.push(async move { (id, self.step(id).await) });
                    continue;
                }
                interrupted |= matches!(turn, Turn::Run(_));
                walk.done(&id, false);
            }
            if !is_saving && self.keeper.due_in() == Some(0) {
                saving = self.keeper.save().boxed();
                is_saving = true;
            }
            if running.is_empty() && !is_saving {
                if !walk.is_finished() {
                    diags.push(stuck());
                }
                return interrupted;
            }
            let wait = if is_saving {
                LOOK_AROUND
            } else {
                self.keeper.due_in().unwrap_or(LOOK_AROUND).min(LOOK_AROUND)
            };
            let mut timer = self.engine.outside.pause(wait.max(1)).fuse();
            let mut next = running.select_next_some();
            let mut save = (&mut saving).fuse();
            let mut tell = (&mut telling).fuse();
            select_biased! {
                (id, result) = next => {
                    let succeeded = result.is_ok();
                    diags.extend(told(result));
                    walk.done(&id, succeeded);
                }
                () = save => {
                    saving = futures::future::pending().boxed();
                    is_saving = false;
                }
                () = tell => {
                    telling = futures::future::pending().boxed();
                    is_telling = false;
                }
                () = timer => {}
            }
            if stop.is_set() && !stopping {
                stopping = true;
                let now = self.engine.outside.monotonic_ms();
                ask_at = Some(now.saturating_add(patience.ask_after_ms));
                end_at = patience.end_after_ms.map(|after| now.saturating_add(after));
            }
            if ask_at.is_some_and(|ask| ask <= self.engine.outside.monotonic_ms()) {
                ask_at = None;
                (telling, is_telling) = (self.stop().boxed(), true);
            }
            // Whoever asked to stop may lose patience.
            if stop.is_ended() && !ended {
                end_at = Some(0);
            }
            let now = self.engine.outside.monotonic_ms();
            if end_at.is_some_and(|end| end <= now) && !(ended && is_telling) {
                // Once more after a while: what was only just being started is there by then.
                (ask_at, end_at, ended) = (None, Some(now.saturating_add(LOOK_AROUND)), true);
                (telling, is_telling) = (self.end().boxed(), true);
            }
        }
    }

    /// Tells of the objects that are taken in: they were found by the plan, and come into the state with whatever is saved first.
    fn tell_imports(&self) {
        for change in &self.plan.changes {
            let Some(importing) = &change.importing else {
                continue;
            };
            let by = importing.known_by();
            let watch = self
                .engine
                .watch(&change.address, None, Activity::Import, by.clone());
            watch.completed(by);
            lock(&self.counts).imported += 1;
        }
    }

    /// Asks providers to break off, and ends provisioners, which cannot be asked.
    async fn stop(&self) {
        futures::join!(self.engine.stop_providers(), self.provisioners.stop());
    }

    /// Ends all that runs.
    async fn end(&self) {
        futures::join!(self.engine.end_providers(), self.provisioners.stop());
    }

    fn is_release(&self, id: StepId) -> bool {
        let step = self.plan.steps.get(id.0 as usize);
        step.is_some_and(|step| matches!(step.op, Op::Release(_)))
    }

    fn step_graph(&self) -> Graph<StepId> {
        let mut graph = Graph::new();
        for (step, id) in self.plan.steps.iter().zip(0..) {
            graph.add(StepId(id));
            for after in &step.after {
                graph.depend(StepId(id), *after);
            }
        }
        graph
    }
}
