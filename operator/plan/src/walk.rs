//! The planning walk: visits the graph's nodes as they become ready, provider calls side by side.
//!
//! One driver owns the order; each visit is a future that evaluates, asks providers, and writes its result once.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Mutex},
};

use ashlar_addr::{AbsResource, ConfigResource, InstanceKey, ModuleInstance, ResourceInstance};
use ashlar_config::ResourceConfig;
use ashlar_diag::{Diag, Diags};
use ashlar_graph::{Graph, Turn};
use ashlar_state::{Object, State};
use ashlar_value::Value;
use futures::{StreamExt, future::join_all, stream::FuturesUnordered};

use crate::{
    engine::{Engine, lock},
    expand::expand,
    instance::{Instance, Live, removal::Removal, stored::to_object},
    model::{Action, Change, Check, Mode, Options, OutputChange, Reason},
    node::Node,
    order::Order,
    outputs,
    stored_value::stored_value,
    triggers,
    values::{Expansion, combine},
};

/// The walk and what it has found so far.
pub(crate) struct PlanWalk<'a> {
    pub(crate) engine: &'a Engine<'a>,
    pub(crate) graph: &'a Graph<Node>,
    pub(crate) order: &'a Order,
    pub(crate) options: &'a Options,
    /// Are resources only looked up in state, neither read nor planned?
    pub(crate) state_alone: bool,
    /// The state as read, moved.
    pub(crate) state: &'a State,
    pub(crate) moved: &'a BTreeMap<ResourceInstance, ResourceInstance>,
    pub(crate) found: Mutex<Found>,
}

/// Results of a walk.
#[derive(Default)]
pub(crate) struct Found {
    /// The state after refresh.
    pub(crate) refreshed: State,
    pub(crate) changes: Vec<Change>,
    /// What `changes` holds of each resource.
    pub(crate) by_resource: HashMap<ConfigResource, OfResource>,
    pub(crate) drift: Vec<Change>,
    /// Where objects were before they moved.
    pub(crate) moved: BTreeMap<ResourceInstance, ResourceInstance>,
    pub(crate) outputs: BTreeMap<Arc<str>, OutputChange>,
    pub(crate) checks: BTreeMap<String, Check>,
    pub(crate) diags: Diags,
}

/// What is planned for one resource, so that those who ask need not look through all changes.
#[derive(Default)]
pub(crate) struct OfResource {
    /// Is there anything to be done?
    pub(crate) is_pending: bool,
    /// Is an object changed in place, or replaced?
    pub(crate) is_altered: bool,
    /// Where the changes of its current objects stand.
    pub(crate) current: BTreeMap<InstanceKey, usize>,
}

impl PlanWalk<'_> {
    /// Visits all nodes.
    pub(crate) async fn run(&self) {
        let mut walk = self.graph.walk();
        let mut running = FuturesUnordered::new();
        loop {
            while let Some(turn) = walk.turn() {
                match turn {
                    Turn::Skip(node) => walk.done(&node, false),
                    Turn::Run(node) => running.push(async move {
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
            lock(&self.found).diags.extend(diags);
            walk.done(&node, succeeded);
        }
    }

    async fn visit(&self, node: &Node) -> Result<Diags, Diags> {
        match node {
            Node::Provider(config) => self.engine.configure(config, true).await,
            Node::Local(name) => self.visit_local(name),
            Node::Resource(resource) => self.visit_resource(resource).await,
            Node::Orphan(resource) => self.remove_others(resource, None).await,
            Node::Output(name) => outputs::visit(self, name),
        }
    }

    fn visit_local(&self, name: &Arc<str>) -> Result<Diags, Diags> {
        let Some(local) = self.engine.module.locals.get(name) else {
            return Ok(Diags::new());
        };
        let (value, diags) = ashlar_eval::evaluate(&local.expr, &self.engine.values.scope());
        if diags.has_errors() {
            return Err(diags);
        }
        self.engine.values.set_local(name, value);
        Ok(diags)
    }

    async fn visit_resource(&self, resource: &ConfigResource) -> Result<Diags, Diags> {
        let Some(config) = self.engine.module.resources.get(&resource.resource) else {
            return Ok(Diags::new());
        };
        if self.state_alone {
            let value = stored_value(
                self.engine.schemas,
                self.engine.mode,
                self.state,
                &resource.resource,
                config,
            )?;
            self.engine.values.set_resource(&resource.resource, value);
            return Ok(Diags::new());
        }
        let expansion = expand(
            config.count.as_ref(),
            config.for_each.as_ref(),
            &self.engine.values.scope(),
        )?;
        let keys = expansion.keys();
        let visits = keys
            .iter()
            .map(|key| self.visit_instance(resource, config, &expansion, key));
        let address = resource.resource.within(ModuleInstance::root());
        let (planned, removed) = futures::join!(
            join_all(visits),
            self.remove_others(&address, Some((config, &expansion)))
        );
        let mut diags = Diags::new();
        let mut failed = false;
        let mut values = BTreeMap::new();
        for (key, result) in keys.into_iter().zip(planned) {
            match result {
                Ok((value, remarks)) => {
                    values.insert(key, value);
                    diags.extend(remarks);
                }
                Err(faults) => {
                    failed = true;
                    diags.extend(faults);
                }
            }
        }
        let (Ok(remarks) | Err(remarks)) = &removed;
        diags.extend(remarks.clone());
        if failed || removed.is_err() {
            return Err(diags);
        }
        let value = if self.options.mode == Mode::RefreshOnly {
            // Nothing is planned, so what refers to the resource sees what there is.
            stored_value(
                self.engine.schemas,
                self.engine.mode,
                &lock(&self.found).refreshed,
                &resource.resource,
                config,
            )?
        } else {
            combine(&expansion, values)
        };
        self.engine.values.set_resource(&resource.resource, value);
        Ok(diags)
    }

    async fn visit_instance(
        &self,
        resource: &ConfigResource,
        config: &ResourceConfig,
        expansion: &Expansion,
        key: &InstanceKey,
    ) -> Result<(Value, Diags), Diags> {
        let address = resource
            .resource
            .within(ModuleInstance::root())
            .instance(key.clone());
        let schema = self
            .engine
            .resource_schema(&config.provider_config.provider, &resource.resource)
            .map_err(|diags| diags.map(|diag| diag.or_at(config.header)))?;
        let instance = Instance {
            engine: self.engine,
            address: address.clone(),
            config,
            provider: config.provider_config.clone(),
            schema,
            repetition: expansion.repetition(key),
            dependencies: self.order.dependencies(resource),
            create_before_destroy: self.order.is_created_first(resource),
        };
        if resource.resource.mode == ashlar_addr::Mode::Data {
            return self.visit_data(resource, &instance).await;
        }
        let triggered = triggers::is_triggered(self, &instance)?;
        let stored = self.state.current(&address).map(|object| &**object);
        let outcome = instance.plan_managed(stored, self.options, triggered).await?;
        self.record_state(&instance, outcome.previous.as_ref(), outcome.refreshed.as_ref())?;
        let mut found = lock(&self.found);
        if let Some(check) = outcome.check {
            found.checks.insert(address.to_string(), check);
        }
        if let Some(mut change) = outcome.change {
            change.previous_address = self.moved.get(&address).cloned();
            found.add(resource, change);
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
        instance: &Instance<'_>,
    ) -> Result<(Value, Diags), Diags> {
        let pending = self.has_pending_changes(resource, instance.config);
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
        if let Some(change) = outcome.change {
            found.add(resource, change);
        }
        drop(found);
        if outcome.diags.has_errors() {
            Err(outcome.diags)
        } else {
            Ok((outcome.value, outcome.diags))
        }
    }

    /// Plans the removal of all objects of a resource that its configuration does not want, deposed ones included. Those of
    /// a resource that is configured are managed with the provider that is configured, not with the one in state.
    async fn remove_others(
        &self,
        address: &AbsResource,
        wanted: Option<(&ResourceConfig, &Expansion)>,
    ) -> Result<Diags, Diags> {
        let Some(state) = self.state.resources.get(address) else {
            return Ok(Diags::new());
        };
        let provider = wanted.map_or(&state.provider, |(config, _)| &config.provider_config);
        let mut removals = Vec::new();
        for (key, instance) in &state.instances {
            let orphan = wanted.is_none_or(|(_, expansion)| !expansion.contains(key));
            if let (Some(object), true) = (&instance.current, orphan) {
                removals.push((key, None, object, Some(reason_for(key, wanted))));
            }
            removals.extend(
                instance
                    .deposed
                    .iter()
                    .map(|(deposed, object)| (key, Some(*deposed), object, None)),
            );
        }
        if address.resource.mode == ashlar_addr::Mode::Data {
            let mut found = lock(&self.found);
            for (key, deposed, ..) in removals {
                found
                    .refreshed
                    .set(&address.instance(key.clone()), deposed, provider, None);
            }
            return Ok(Diags::new());
        }
        if removals.is_empty() {
            return Ok(Diags::new());
        }
        let schema = self
            .engine
            .resource_schema(&provider.provider, &address.resource)?;
        let works = removals.into_iter().map(|(key, deposed, object, reason)| {
            let removal = Removal {
                engine: self.engine,
                address: address.instance(key.clone()),
                deposed,
                provider: provider.clone(),
                schema,
                reason,
            };
            self.remove(removal, object, wanted)
        });
        let results: Vec<Result<Diags, Diags>> = join_all(works).await;
        let failed = results.iter().any(Result::is_err);
        let diags: Diags = results
            .into_iter()
            .flat_map(|(Ok(diags) | Err(diags))| diags)
            .collect();
        if failed { Err(diags) } else { Ok(diags) }
    }

    async fn remove(
        &self,
        removal: Removal<'_>,
        object: &Object,
        wanted: Option<(&ResourceConfig, &Expansion)>,
    ) -> Result<Diags, Diags> {
        let done = removal
            .plan(object, self.options, self.options.mode != Mode::RefreshOnly)
            .await?;
        let refreshed = done
            .refreshed
            .as_ref()
            .map(|live| to_object(live, removal.schema))
            .transpose()?;
        let Removal {
            address,
            deposed,
            provider,
            ..
        } = removal;
        let mut found = lock(&self.found);
        found.refreshed.set(&address, deposed, &provider, refreshed);
        if deposed.is_none() {
            found.note_drift(&address, &provider, &done.previous, done.refreshed.as_ref());
        }
        if let Some(mut change) = done.change {
            change.previous_address = self.moved.get(&address).cloned();
            found.add(&address.resource.config(), change);
            if let (Some((config, _)), None) = (wanted, deposed)
                && config.lifecycle.prevents_destroy()
            {
                return Err(prevented(&address, config));
            }
        }
        Ok(done.diags)
    }

    fn record_state(
        &self,
        instance: &Instance<'_>,
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

impl Found {
    pub(crate) fn add(&mut self, resource: &ConfigResource, change: Change) {
        let own = self.by_resource.entry(resource.clone()).or_default();
        own.is_pending |= change.action != Action::NoOp;
        own.is_altered |= change.action == Action::Update || change.action.is_replace();
        if change.deposed.is_none() {
            own.current.insert(change.address.key.clone(), self.changes.len());
        }
        self.changes.push(change);
    }

    /// Records what changed outside since the last run, or moved.
    fn note_drift(
        &mut self,
        address: &ResourceInstance,
        provider: &ashlar_addr::ProviderConfig,
        previous: &Live,
        refreshed: Option<&Live>,
    ) {
        let action = match refreshed {
            None => Action::Delete,
            Some(live) if live.value == previous.value => {
                if !self.moved.contains_key(address) {
                    return;
                }
                Action::NoOp
            }
            Some(_) => Action::Update,
        };
        self.drift.push(Change {
            address: address.clone(),
            deposed: None,
            previous_address: self.moved.get(address).cloned(),
            provider: provider.clone(),
            action,
            reason: None,
            before: previous.value.clone(),
            after: refreshed.map_or_else(|| Value::null(previous.value.ty()), |live| live.value.clone()),
            replace_paths: Vec::new(),
            private: Arc::default(),
            // Drift is about what objects are, never about which they are.
            before_identity: None,
            after_identity: None,
            depose_as: None,
            dependencies: Arc::default(),
            create_before_destroy: previous.create_before_destroy,
        });
    }
}

fn reason_for(key: &InstanceKey, wanted: Option<(&ResourceConfig, &Expansion)>) -> Reason {
    match (wanted.map(|(_, expansion)| expansion), key) {
        (None, _) => Reason::DeleteBecauseNoResourceConfig,
        (Some(Expansion::Count(_)), InstanceKey::Int(_)) => Reason::DeleteBecauseCountIndex,
        (Some(Expansion::ForEach(_)), InstanceKey::String(_)) => Reason::DeleteBecauseEachKey,
        _ => Reason::DeleteBecauseWrongRepetition,
    }
}

/// The fault of destroying what must not be destroyed.
pub(crate) fn prevented(address: &ResourceInstance, config: &ResourceConfig) -> Diags {
    let detail = format!(
        "{address} has lifecycle.prevent_destroy set, but this plan would destroy it. Change the plan by undoing what forces \
         the destruction, or take prevent_destroy out."
    );
    Diag::error("Instance cannot be destroyed", detail)
        .at(config.header)
        .into()
}
