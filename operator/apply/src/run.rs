//! The driver: starts steps as they become ready, saves the state beside them, stops when asked.

#[cfg(test)]
mod tests;

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    sync::{Arc, Mutex},
};

use ashlar_addr::{AbsResource, ConfigResource, InstanceKey, Module, ProviderConfig, ResourceInstance};
use ashlar_config::{ResourceConfig, Tree};
use ashlar_diag::{Diag, Diags, Severity};
use ashlar_funcs::Caps;
use ashlar_graph::{Graph, Turn};
use ashlar_plan::{
    Action, Change, Check, CheckStatus, Engine, Expansion, FinalValues, Mode, ModuleValues, Op, Order, Plan,
    Schemas, StepId, Values, actions, asserts, expand_resource,
    instance::Instance,
    known_part, lock,
    node::{Sight, build, build_whole},
    outputs, parts,
    show::declaration,
};
use ashlar_port::{Activity, Outside, Progress, Providers, Provisioners, RunStore, StopFlag};
use ashlar_state::{OutputState, State};
use ashlar_value::Value;
use futures::{FutureExt, StreamExt, future::BoxFuture, select_biased, stream::FuturesUnordered};

use crate::{checks::check_results, keeper::Keeper};

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
    let (state, faults) = run.keeper.finish().await;
    diags.extend(faults);
    diags.extend(plan.options.selection.remark_applied());
    Applied {
        state,
        diags,
        interrupted,
        counts,
    }
}

/// Has this output of the root module preconditions, on which its value hangs?
fn is_judged(tree: &Tree, name: &str) -> bool {
    let output = tree.root().outputs.get(name);
    output.is_some_and(|output| !output.preconditions.is_empty())
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

/// The fault of a step that names what the plan does not hold.
pub(crate) fn damaged() -> Diags {
    let detail = "A step of the stored plan names a change or a step that the plan does not hold. Plan anew.";
    Diag::error("Stored plan cannot be read", detail).into()
}

/// The fault of steps that never became ready.
fn stuck() -> Diag {
    let detail = "Some steps of the plan wait for each other, so they were not done. This is a fault of Ashlar. Plan anew to \
                  see what is left to do.";
    Diag::error("Plan not carried out to its end", detail)
}

/// What is known of conditions before anything is done. A refresh-only run decides checks alone, so what was found of others
/// while planning stands; else each counts only when its object is visited.
fn checks_before(plan: &Plan) -> BTreeMap<String, Check> {
    let mut checks = plan.checks.clone();
    let stands = plan.options.mode == Mode::RefreshOnly;
    for (address, check) in checks.iter_mut().filter(|(_, check)| !check.vacant) {
        let is_block = matches!(declaration(address), Some((_, "check", _)));
        if is_block || !stands {
            *check = Check::of(CheckStatus::Unknown);
        }
    }
    checks
}

impl<'a> Run<'a> {
    fn new(inputs: &Inputs<'a>, schemas: &'a Schemas, instances: &'a FinalValues) -> Self {
        let plan = inputs.plan;
        let values = Values::new(
            inputs.tree,
            inputs.variables,
            schemas,
            &plan.options.workspace,
            Some(instances),
            inputs.caps,
        );
        let engine = Engine::new(
            inputs.tree,
            values,
            schemas,
            inputs.providers,
            inputs.outside,
            inputs.progress,
            &plan.options,
        );
        let selection = &plan.options.selection;
        let sight = Sight {
            tree: inputs.tree,
            state: &plan.prior_state,
            schemas,
            invoke: &plan.options.invoke,
            refused: &BTreeMap::new(),
            selection,
        };
        let graph = build(&sight, None);
        let all = (!selection.is_whole()).then(|| build_whole(&sight));
        let mut state = plan.prior_state.clone();
        for (name, output) in &plan.outputs {
            match output.action {
                Action::Delete => {
                    state.outputs.remove(name);
                }
                // A refresh-only run has steps only for outputs with preconditions. What is not known (it refers to an
                // object that is not there) is kept as null.
                Action::Create | Action::Update
                    if plan.options.mode == Mode::RefreshOnly && !is_judged(inputs.tree, name) =>
                {
                    if output.after.is_null() {
                        state.outputs.remove(name);
                        continue;
                    }
                    let kept = OutputState {
                        value: known_part(output.after.clone()),
                        sensitive: output.sensitive.1,
                    };
                    state.outputs.insert(name.clone(), kept);
                }
                _ => {}
            }
        }
        let is_news = !ashlar_state::same_content(&state, &plan.previous_state);
        let dirty = is_news || plan.has_changes() || state.serial == 0;
        let mut changes: HashMap<AbsResource, Vec<usize>> = HashMap::new();
        let mut visited = HashSet::new();
        for (at, change) in plan.changes.iter().enumerate() {
            let resource = &change.address.resource;
            changes.entry(resource.clone()).or_default().push(at);
            if change.is_visited(inputs.tree) {
                visited.insert((resource.config(), change.address.key.clone()));
            }
            // What does not change keeps its planned value.
            if change.action == Action::NoOp && change.deposed.is_none() {
                instances.set(&change.address, change.after.clone());
            }
        }
        let visited =
            |resource: &ConfigResource, key: &InstanceKey| visited.contains(&(resource.clone(), key.clone()));
        Self {
            engine,
            plan,
            keeper: Keeper::new(
                inputs.store,
                inputs.outside,
                inputs.terraform_version,
                state,
                dirty,
            ),
            provisioners: inputs.provisioners,
            order: Order::of(all.as_ref(), &graph, &sight, &visited),
            counts: Mutex::default(),
            checks: Mutex::new(checks_before(plan)),
            instances,
            changes,
            expansions: Mutex::default(),
            is_news,
        }
    }

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
        let mut stopping = false;
        let mut ask_at = None;
        let mut end_at = None;
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
                () = tell => telling = futures::future::pending().boxed(),
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
                telling = self.stop().boxed();
            }
            if end_at.is_some_and(|end| end <= self.engine.outside.monotonic_ms()) {
                end_at = None;
                telling = self.end().boxed();
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

    async fn step(&self, id: StepId) -> Result<Diags, Diags> {
        let step = self.plan.steps.get(id.0 as usize).ok_or_else(damaged)?;
        let (tree, values) = (self.engine.tree, &self.engine.values);
        match &step.op {
            Op::Configure(provider) => self.engine.configure(provider, false).await,
            Op::Call(module) => parts::call(tree, values, module),
            Op::Variable(module, name) => parts::variable(tree, values, module, name),
            Op::Validate(module, name) => {
                parts::validation(tree, values, module, name, &BTreeMap::new(), |address, check| {
                    lock(&self.checks).insert(address, check);
                })
            }
            Op::Local(module, name) => parts::local(values, module, name),
            Op::Write(at) => self.write(*at).await,
            Op::Read(at) => self.read(*at).await,
            Op::Delete(at) => self.delete(*at).await,
            Op::Drop(at) | Op::Forget(at) => self.leave_out(*at),
            Op::Assert(at) => self.assert(*at),
            Op::Settle(resource) => self.settle(resource),
            Op::Join(_) | Op::Close(_) => Ok(Diags::new()),
            Op::Check(module, name) => Ok(self.check(module, name)),
            Op::Open(resource) => {
                let note = |address: &ResourceInstance, check| {
                    lock(&self.checks).insert(address.to_string(), check);
                };
                self.engine.open(resource, &note).await
            }
            Op::Release(resource) => self.engine.release(resource).await,
            Op::Output(module, name) => self.output(module, name),
            Op::Action(action) => actions::evaluate(&self.engine, action),
            Op::Invoke(at) => self.invoke(*at).await,
        }
    }

    /// A change of the plan.
    pub(crate) fn change(&self, at: usize) -> Result<&'a Change, Diags> {
        self.plan.changes.get(at).ok_or_else(damaged)
    }

    fn check(&self, module: &Module, name: &Arc<str>) -> Diags {
        let mut diags = Diags::new();
        for instance in &*self.engine.values.instances(module) {
            let address = asserts::address(instance, name);
            let data = lock(&self.checks).get(&address).cloned();
            let failed = data.filter(|check| check.status == CheckStatus::Fail);
            let (check, told) = asserts::decide(instance, name, failed.as_ref());
            lock(&self.checks).insert(address, check);
            diags.extend(told);
        }
        diags
    }

    fn output(&self, module: &Module, name: &Arc<str>) -> Result<Diags, Diags> {
        let mut diags = Diags::new();
        // What was known when it was planned stays so.
        let planned = self.plan.outputs.get(name).filter(|_| module.is_root());
        let known = planned
            .map(|change| &change.after)
            .filter(|after| after.is_wholly_known());
        for instance in &*self.engine.values.instances(module) {
            // Also where planning only warned of it: the value is to be kept now.
            let (check, result) = outputs::judge(instance, name, known, Severity::Error);
            if let Some(check) = check {
                lock(&self.checks).insert(parts::checked_address(&instance.address, "output", name), check);
            }
            match result {
                Err(faults) => diags.extend(faults),
                Ok(evaluated) => {
                    diags.extend(evaluated.diags);
                    let refreshes = self.plan.options.mode == Mode::RefreshOnly;
                    if module.is_root() && refreshes && !evaluated.value.is_null() {
                        // What is not known, since it refers to what is not there, is kept as null.
                        let (value, sensitive) = (known_part(evaluated.value), evaluated.sensitive);
                        self.keeper.change(|state| {
                            drop(
                                state
                                    .outputs
                                    .insert(name.clone(), OutputState { value, sensitive }),
                            )
                        });
                    } else if module.is_root() {
                        // Where something is left out of a run, what it would give is not known even now.
                        let value = known_part(evaluated.value);
                        self.keep_output(name, value, evaluated.sensitive);
                    } else {
                        instance.set_output(name, evaluated.value);
                    }
                }
            }
        }
        if diags.has_errors() { Err(diags) } else { Ok(diags) }
    }

    fn keep_output(&self, name: &Arc<str>, value: Value, sensitive: bool) {
        let kept = OutputState { value, sensitive };
        let stored = self.keeper.read(|state| state.outputs.get(name).cloned());
        if kept.value.is_null() {
            if stored.is_some() {
                self.keeper.change(|state| drop(state.outputs.remove(name)));
            }
        } else if stored.as_ref() != Some(&kept) {
            self.keeper
                .change(|state| drop(state.outputs.insert(name.clone(), kept)));
        }
    }

    /// The configured instance at an address, with everything its provider calls need.
    pub(crate) fn instance(
        &self,
        address: &ResourceInstance,
    ) -> Result<(Instance<'_, 'a>, &ResourceConfig), Diags> {
        let declared = address.resource.config();
        let config = self.engine.tree.resource(&declared);
        let module = self.engine.values.instance(&address.resource.module);
        let (Some(config), Some(module)) = (config, module) else {
            let detail =
                format!("{address} is to be changed, but the plan's configuration does not hold it.");
            return Err(Diag::error("Stored plan cannot be read", detail).into());
        };
        let schema = self
            .engine
            .resource_schema(&config.provider_config.provider, &declared.resource)?;
        let expansion = self.expansion(&address.resource, &module, config)?;
        let instance = Instance {
            engine: &self.engine,
            address: address.clone(),
            module,
            config,
            provider: self
                .planned_provider(address, config)
                .unwrap_or(&config.provider_config)
                .clone(),
            schema,
            repetition: expansion.repetition(&address.key),
            dependencies: self.order.dependencies(&declared),
            create_before_destroy: self.order.is_instance_created_first(&declared, &address.key),
        };
        Ok((instance, config))
    }

    /// The provider configuration that an instance was planned with.
    fn planned_provider(
        &self,
        address: &ResourceInstance,
        config: &ResourceConfig,
    ) -> Option<&ProviderConfig> {
        if config.provider_key.is_none() && config.passed_key.is_none() {
            return None;
        }
        let planned = self.changes.get(&address.resource).into_iter().flatten();
        planned
            .filter_map(|at| self.plan.changes.get(*at))
            .find(|change| change.address == *address && change.deposed.is_none())
            .map(|change| &change.provider)
    }

    /// Which instances a resource has; evaluated once, when all it refers to is known.
    pub(crate) fn expansion(
        &self,
        resource: &AbsResource,
        module: &ModuleValues<'_>,
        config: &ResourceConfig,
    ) -> Result<Arc<Expansion>, Diags> {
        if let Some(found) = lock(&self.expansions).get(resource) {
            return Ok(found.clone());
        }
        let scope = module.scope();
        let expansion = Arc::new(expand_resource(config, &scope)?);
        lock(&self.expansions).insert(resource.clone(), expansion.clone());
        Ok(expansion)
    }
}
