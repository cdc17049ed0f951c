//! The planning walk: visits the graph's nodes as they become ready, provider calls side by side.
//!
//! One driver owns the order; each visit is a future that evaluates, asks providers, and writes its result once.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    sync::{Arc, Mutex},
};

use ashlar_addr::{AbsResource, ConfigResource, InstanceKey, ResourceInstance};
use ashlar_config::{ResourceConfig, self_references};
use ashlar_diag::{Diag, Diags, Span};
use ashlar_graph::{Graph, Turn};
use ashlar_state::State;
use ashlar_value::Value;
use futures::{StreamExt, future::join_all, stream::FuturesUnordered};

use crate::{
    actions, asserts,
    engine::{Engine, lock},
    ephemeral::is_ephemeral,
    expand::expand_resource,
    imports,
    instance::{Instance, Live, managed::Outcome, stored::to_object},
    model::{Check, CheckStatus, Mode, Options, Reason},
    moves::Moves,
    node::Node,
    order::Order,
    outputs, parts,
    removed::Removed,
    stored_value::{stored_value, value_beside},
    triggers,
    values::{Expansion, ModuleValues, combine},
};

mod found;
mod removals;

pub(crate) use found::Found;
pub(crate) use removals::Wanted;

/// The walk and what it has found so far.
pub(crate) struct PlanWalk<'w, 'a> {
    pub(crate) engine: &'w Engine<'a>,
    pub(crate) graph: &'w Graph<Node>,
    pub(crate) order: &'w Order,
    pub(crate) options: &'w Options,
    /// Where values of variables stand that files give.
    pub(crate) places: &'w BTreeMap<Arc<str>, Span>,
    /// What is wrong with values of the root module's variables.
    pub(crate) refused: &'w BTreeMap<Arc<str>, Diags>,
    /// Are resources only looked up in state, neither read nor planned?
    pub(crate) state_alone: bool,
    /// Those that are so looked up in any case, because only a provider needs them.
    pub(crate) looked_up: HashSet<ConfigResource>,
    /// The state as read, moved.
    pub(crate) state: &'w State,
    /// Where that has something of a resource.
    pub(crate) in_state: HashMap<ConfigResource, Vec<AbsResource>>,
    pub(crate) moves: &'w Moves,
    pub(crate) removed: Removed,
    /// Is the configuration of what is imported and not declared to be made up?
    pub(crate) generates: bool,
    pub(crate) found: Mutex<Found>,
}

impl<'a> PlanWalk<'_, 'a> {
    /// Visits all nodes.
    pub(crate) async fn run(&self) {
        let mut walk = self.graph.walk();
        let mut running = FuturesUnordered::new();
        loop {
            while let Some(turn) = walk.turn() {
                match turn {
                    // What is open is closed whatever came of those that needed it.
                    Turn::Skip(node) if !matches!(node, Node::Release(_)) => walk.done(&node, false),
                    Turn::Run(node) | Turn::Skip(node) => running.push(async move {
                        let result = self.visit(&node).await;
                        (node, result)
                    }),
                }
            }
            let Some((node, result)) = running.next().await else {
                break;
            };
            let succeeded = result.is_ok();
            let (Ok(diags) | Err(diags)) = result;
            let mut found = lock(&self.found);
            found.diags.extend(diags);
            if succeeded && matches!(node, Node::Resource(_) | Node::Output(..) | Node::Validation(..)) {
                found.reached.insert(node.clone());
            }
            drop(found);
            walk.done(&node, succeeded);
        }
    }

    async fn visit(&self, node: &Node) -> Result<Diags, Diags> {
        let (tree, values) = (self.engine.tree, &self.engine.values);
        match node {
            Node::Provider(config) => self.engine.configure(config, true).await,
            Node::Call(module) => parts::call(tree, values, module),
            Node::Variable(module, name) if module.is_root() => {
                Err(self.refused.get(name).cloned().unwrap_or_default())
            }
            Node::Variable(module, name) => parts::variable(tree, values, module, name),
            Node::Validation(module, name) => {
                parts::validation(tree, values, module, name, self.places, |address, check| {
                    lock(&self.found).checks.insert(address, check);
                })
            }
            Node::Local(module, name) => parts::local(values, module, name),
            Node::Resource(resource) if is_ephemeral(resource) => {
                let note = |address: &ResourceInstance, check| {
                    lock(&self.found).checks.insert(address.to_string(), check);
                };
                self.engine.open(resource, &note).await
            }
            Node::Release(resource) => self.engine.release(resource).await,
            Node::Resource(resource) => self.visit_resource(resource).await,
            Node::Orphan(resource) => self.remove_others(resource, Wanted::Nothing).await,
            Node::Output(module, name) => outputs::visit(self, module, name),
            Node::Close(_) => Ok(Diags::new()),
            Node::Action(action) => actions::evaluate(self.engine, action),
            Node::Trigger(resource, block, at) => actions::trigger(self, resource, *block, *at).await,
            Node::Request(action) => actions::request(self, action).await,
            // Nothing is asserted of what is only looked up.
            Node::Check(..) if self.state_alone => Ok(Diags::new()),
            Node::Check(module, name) => parts::in_each(&*values.instances(module), |instance| {
                let address = asserts::address(instance, name);
                let data = lock(&self.found).checks.get(&address).cloned();
                let (check, told) = asserts::decide(instance, name, data.as_ref());
                lock(&self.found).checks.insert(address, check);
                told
            }),
        }
    }

    /// Visits a resource in all instances of its module, and what state holds of it in others.
    async fn visit_resource(&self, resource: &ConfigResource) -> Result<Diags, Diags> {
        let Some(config) = self.engine.tree.resource(resource) else {
            return self.visit_made_up(resource).await;
        };
        let values = &self.engine.values;
        let stored = self.in_state.get(resource).map_or(&[][..], Vec::as_slice);
        let lost = stored.iter().filter(|address| !values.has_module_of(address));
        let lost = lost.map(|address| self.remove_others(address, Wanted::Module(config)));
        // A run that only destroys or takes over what changed outside takes nothing in.
        let state_alone = self.state_alone || self.looked_up.contains(resource);
        let takes_in = !state_alone && self.options.mode == Mode::Normal;
        let imports = if takes_in {
            imports::targets(self.engine, resource, &config.provider_config, |address| {
                self.state.instance(address).is_some()
            })?
        } else {
            imports::Targets::new()
        };
        let places = values.places(resource);
        let visits = places
            .iter()
            .map(|(module, address)| self.visit_in_module(module, address, config, &imports));
        let (visited, removed) = futures::join!(join_all(visits), async {
            if state_alone {
                Vec::new()
            } else {
                join_all(lost).await
            }
        });
        let told = gather(visited.into_iter().chain(removed))?;
        let found = lock(&self.found);
        let is_missing = |address: &&ResourceInstance| {
            let expansion = found.expanded.get(&address.resource);
            !expansion.is_some_and(|expansion| expansion.contains(&address.key))
        };
        let missing = imports::missing(imports.keys().filter(is_missing));
        if missing.has_errors() {
            Err(missing)
        } else {
            Ok(told)
        }
    }

    /// Visits a resource in one instance of its module.
    async fn visit_in_module(
        &self,
        module: &Arc<ModuleValues<'a>>,
        address: &AbsResource,
        config: &ResourceConfig,
        imports: &imports::Targets,
    ) -> Result<Diags, Diags> {
        let from_state =
            |state: &State| stored_value(self.engine.schemas, self.engine.mode, state, address, config);
        if self.state_alone || self.looked_up.contains(&address.config()) {
            module.set_resource(&address.resource, from_state(self.state)?);
            return Ok(Diags::new());
        }
        let expansion = expand_resource(config, &module.scope())?;
        lock(&self.found)
            .expanded
            .insert(address.clone(), expansion.clone());
        let all = expansion.keys();
        let unmatched = self.unmatched_replace(address, &all);
        let takes = |key: &&InstanceKey| self.options.selection.takes(&address.instance((*key).clone()));
        let keys: Vec<InstanceKey> = all.iter().filter(takes).cloned().collect();
        if config.has_conditions() {
            // Undecided until they are come to.
            let mut found = lock(&self.found);
            for key in &keys {
                let check = Check::of(CheckStatus::Unknown);
                found
                    .checks
                    .insert(address.instance(key.clone()).to_string(), check);
            }
        }
        let visits = keys
            .iter()
            .map(|key| self.visit_instance(module, address, config, &expansion, imports, key));
        let (planned, removed) = futures::join!(
            join_all(visits),
            self.remove_others(address, Wanted::Instances(config, &expansion))
        );
        let mut values = BTreeMap::new();
        let is_partial = !self.options.selection.is_whole();
        let planned = keys.into_iter().zip(planned).map(|(key, result)| {
            result.map(|(value, remarks)| {
                values.insert(key, value);
                remarks
            })
        });
        let mut diags = gather(planned.collect::<Vec<_>>().into_iter().chain([removed]))?;
        diags.extend(unmatched);
        let value = if self.options.mode == Mode::RefreshOnly {
            // Nothing is planned, so what refers to the resource sees what there is.
            from_state(&lock(&self.found).refreshed)?
        } else if is_partial {
            // What is left out stays as it is, also what is not wanted any more.
            let is_gone = |key: &InstanceKey| {
                !expansion.contains(key) && self.options.selection.takes(&address.instance(key.clone()))
            };
            let schemas = self.engine.schemas;
            value_beside(schemas, self.state, address, config, values, is_gone)?
        } else {
            self.combined(address, config, &expansion, values)?
        };
        module.set_resource(&address.resource, value);
        Ok(diags)
    }

    /// A remark on a replacement that is asked for of a whole resource, which is none of its instances.
    fn unmatched_replace(&self, address: &AbsResource, keys: &[InstanceKey]) -> Option<Diag> {
        let whole = address.instance(InstanceKey::None);
        if !self.options.replace.contains(&whole) || keys == [InstanceKey::None] {
            return None;
        }
        let lines: Vec<String> = keys
            .iter()
            .map(|key| format!("\n  {}", address.instance(key.clone())))
            .collect();
        let detail = if lines.is_empty() {
            format!("{address} is to be replaced, but it has no instances.")
        } else {
            format!(
                "{address} is to be replaced, but that names none of its instances, so none is replaced. They are:{}",
                lines.concat()
            )
        };
        Some(Diag::warning(
            "Incompletely-matched force-replace resource instance",
            detail,
        ))
    }

    /// The value of a resource whose instances are all planned.
    fn combined(
        &self,
        address: &AbsResource,
        config: &ResourceConfig,
        expansion: &Expansion,
        values: BTreeMap<InstanceKey, Value>,
    ) -> Result<Value, Diags> {
        if let Expansion::Switched(false) = expansion {
            let schema = self
                .engine
                .resource_schema(&config.provider_config.provider, &address.resource)?;
            return Ok(Value::null(schema.block.ty()));
        }
        Ok(combine(expansion, values))
    }

    /// Why an instance goes.
    fn reason(&self, wanted: Wanted<'_>, instance: &ResourceInstance) -> Reason {
        match wanted.reason(&instance.key) {
            Reason::DeleteBecauseNoResourceConfig if self.moves.from.contains_key(instance) => {
                Reason::DeleteBecauseNoMoveTarget
            }
            reason => reason,
        }
    }

    async fn visit_instance(
        &self,
        module: &Arc<ModuleValues<'a>>,
        resource: &AbsResource,
        config: &ResourceConfig,
        expansion: &Expansion,
        imports: &imports::Targets,
        key: &InstanceKey,
    ) -> Result<(Value, Diags), Diags> {
        let address = resource.instance(key.clone());
        let declared = resource.config();
        let schema = self
            .engine
            .resource_schema(&config.provider_config.provider, &resource.resource)
            .map_err(|diags| diags.map(|diag| diag.or_at(config.header)))?;
        let own = self_references(&resource.resource, config, schema);
        if own.has_errors() {
            return Err(own);
        }
        let repetition = expansion.repetition(key);
        let provider = self.engine.provider_of(config, module, &address, &repetition)?;
        let instance = Instance {
            engine: self.engine,
            address: address.clone(),
            module: module.clone(),
            config,
            provider,
            schema,
            repetition,
            dependencies: self.order.dependencies(&declared),
            create_before_destroy: self.order.is_created_first(&declared),
        };
        if resource.resource.mode == ashlar_addr::Mode::Data {
            return self.visit_data(&declared, &instance).await;
        }
        let triggered = triggers::is_triggered(self, &instance);
        let stored = self.state.current(&address).map(|object| &**object);
        let outcome = instance
            .plan_managed(stored, imports.get(&address), None, self.options, triggered)
            .await?;
        self.keep(&instance, outcome)
    }

    /// Keeps what planning one managed instance gave.
    pub(crate) fn keep(
        &self,
        instance: &Instance<'_, '_>,
        outcome: Outcome,
    ) -> Result<(Value, Diags), Diags> {
        let address = &instance.address;
        self.record_state(instance, outcome.previous.as_ref(), outcome.refreshed.as_ref())?;
        let mut found = lock(&self.found);
        if let Some(check) = outcome.check {
            found.checks.insert(address.to_string(), check);
        }
        if let Some(mut change) = outcome.change {
            change.previous_address = self.moves.from.get(address).cloned();
            found.add(change);
        }
        drop(found);
        if outcome.failed {
            Err(outcome.diags)
        } else {
            Ok((outcome.value, outcome.diags))
        }
    }

    async fn visit_data(
        &self,
        resource: &ConfigResource,
        instance: &Instance<'_, '_>,
    ) -> Result<(Value, Diags), Diags> {
        let pending = self.has_pending_changes(resource, &instance.address.resource.module, instance.config);
        let outcome = instance.read_data(pending).await?;
        let object = outcome
            .read
            .as_ref()
            .map(|live| to_object(live, instance.schema))
            .transpose()?;
        let mut found = lock(&self.found);
        found
            .refreshed
            .set(&instance.address, None, &instance.provider, object);
        if let Some(check) = outcome.check {
            found.checks.insert(instance.address.to_string(), check);
        }
        if let Some(name) = &instance.config.check {
            let of_check = asserts::address(&instance.module, name);
            let node = Node::Check(resource.module.clone(), name.clone());
            // One that is left out is told of all the same where its data source is not.
            let unknown = (!self.graph.contains(&node)).then(|| Check::of(CheckStatus::Unknown));
            if let Some(check) = outcome.failed.or(unknown) {
                found.checks.insert(of_check, check);
            }
        }
        if let Some(change) = outcome.change {
            found.add(change);
        }
        drop(found);
        if outcome.diags.has_errors() {
            Err(outcome.diags)
        } else {
            Ok((outcome.value, outcome.diags))
        }
    }

    fn record_state(
        &self,
        instance: &Instance<'_, '_>,
        previous: Option<&Live>,
        refreshed: Option<&Live>,
    ) -> Result<(), Diags> {
        let Some(previous) = previous else { return Ok(()) };
        let after = refreshed
            .map(|live| to_object(live, instance.schema))
            .transpose()?;
        let mut found = lock(&self.found);
        found
            .refreshed
            .set(&instance.address, None, &instance.provider, after);
        found.note_drift(&instance.address, &instance.provider, previous, refreshed);
        Ok(())
    }
}

/// Where a state has something of each resource.
pub(crate) fn in_state(state: &State) -> HashMap<ConfigResource, Vec<AbsResource>> {
    let mut found: HashMap<ConfigResource, Vec<AbsResource>> = HashMap::new();
    for address in state.resources.keys() {
        found.entry(address.config()).or_default().push(address.clone());
    }
    found
}

/// What all of several visits have to tell; if one failed, all together have.
pub(crate) fn gather(results: impl IntoIterator<Item = Result<Diags, Diags>>) -> Result<Diags, Diags> {
    let mut failed = false;
    let mut diags = Diags::new();
    for result in results {
        failed |= result.is_err();
        let (Ok(told) | Err(told)) = result;
        diags.extend(told);
    }
    if failed { Err(diags) } else { Ok(diags) }
}
