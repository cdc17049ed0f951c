//! Ephemeral resources: opened for one walk, renewed as long as it needs them, closed once all that needs them is done.
//!
//! Nothing of them is planned or stored: planning opens them, and applying opens them again. Who opens one is told when it has
//! to be renewed; that goes on beside the walk, for no step of it may have to wait for a slow one. What a fault or a stop
//! leaves open is closed all the same, and nothing is closed twice. Source: Terraform `internal/resources/ephemeral`,
//! `transform_ephemeral_resource_close.go`, which leaves open what a failed walk has opened.

use std::{
    convert::Infallible,
    hash::Hash,
    sync::{Arc, Mutex},
};

use ashlar_addr::{ConfigResource, Mode, ResourceInstance};
use ashlar_diag::{Diags, Severity};
use ashlar_graph::Graph;
use ashlar_port::{Activity, Opened, Outside, Provider, ProviderDiag};
use ashlar_syntax::Body;
use ashlar_value::Value;
use futures::{
    StreamExt,
    channel::mpsc::{UnboundedReceiver, UnboundedSender, unbounded},
    future::{Either, join_all, select},
    select_biased,
    stream::FuturesUnordered,
};

use crate::{
    engine::{Engine, lock},
    expand::expand_resource,
    instance::Instance,
    model::Check,
    provider_diags::place_all,
    values::{Expansion, ModuleValues, combine},
};

/// The least time from one renewal to the next, in milliseconds: a provider that always asks for one at once gets no more.
const PAUSE: u64 = 100;

/// What is open in a walk.
pub(crate) struct Ephemerals<'a> {
    /// In the order they were opened.
    open: Mutex<Vec<Arc<Open<'a>>>>,
    /// Those that have to be renewed, for who does that.
    renewing: UnboundedSender<(Arc<Open<'a>>, u64)>,
    renewed: async_lock::Mutex<UnboundedReceiver<(Arc<Open<'a>>, u64)>>,
}

/// One that was opened.
struct Open<'a> {
    address: ResourceInstance,
    provider: Arc<dyn Provider>,
    body: &'a Body,
    /// What the provider wants back when it is closed: what it gave when this was opened, whatever renewals gave since (Terraform
    /// `node_resource_ephemeral.go`).
    opened: Vec<u8>,
    /// What it wants back when it is renewed; nothing once it is closed. Held while it is renewed or closed.
    private: async_lock::Mutex<Option<Vec<u8>>>,
}

impl Default for Ephemerals<'_> {
    fn default() -> Self {
        let (renewing, renewed) = unbounded();
        Self {
            open: Mutex::default(),
            renewing,
            renewed: async_lock::Mutex::new(renewed),
        }
    }
}

impl<'a> Ephemerals<'a> {
    /// Notes one that was opened, so that it is closed whatever becomes of it.
    pub(crate) fn note(
        &self,
        address: &ResourceInstance,
        provider: Arc<dyn Provider>,
        body: &'a Body,
        opened: &Opened,
    ) {
        let open = Arc::new(Open {
            address: address.clone(),
            provider,
            body,
            opened: opened.private.clone(),
            private: async_lock::Mutex::new(Some(opened.private.clone())),
        });
        if let Some(at) = opened.renew_at {
            // It is only full or closed when nothing goes on any more.
            let _ = self.renewing.unbounded_send((open.clone(), at));
        }
        lock(&self.open).push(open);
    }

    /// Takes those of one resource out, or all of them, what was opened last first.
    fn take(&self, resource: Option<&ConfigResource>) -> Vec<Arc<Open<'a>>> {
        let mut open = lock(&self.open);
        let Some(resource) = resource else {
            let mut all = std::mem::take(&mut *open);
            all.reverse();
            return all;
        };
        let (of, others) = std::mem::take(&mut *open)
            .into_iter()
            .partition(|one| one.address.resource.config() == *resource);
        *open = others;
        of
    }
}

impl<'a> Engine<'a> {
    /// Does some work, and meanwhile renews what has to be renewed.
    pub async fn with_renewals<T>(&self, work: impl Future<Output = T>) -> T {
        let work = std::pin::pin!(work);
        let renewals = std::pin::pin!(self.renew());
        match select(work, renewals).await {
            Either::Left((done, _)) => done,
            Either::Right((never, _)) => match never {},
        }
    }

    async fn renew(&self) -> Infallible {
        let mut renewed = self.ephemerals.renewed.lock().await;
        let mut going = FuturesUnordered::new();
        loop {
            select_biased! {
                (open, at) = renewed.select_next_some() => going.push(self.keep_renewed(open, at)),
                () = going.select_next_some() => {}
            }
        }
    }

    /// Renews one as often as the provider says, until it is closed. One that cannot be renewed is left as it is: as with
    /// Terraform that is told to who watches, and is no fault of the run, which may be done with it already.
    async fn keep_renewed(&self, open: Arc<Open<'a>>, mut at: u64) {
        loop {
            wait_until(self.outside, at).await;
            // No permit: it must not have to wait for the very calls that it is renewed for.
            let mut private = open.private.lock().await;
            let Some(held) = &*private else { return };
            let watch = self.watch(&open.address, None, Activity::Renew, None);
            let answer = open.provider.renew_ephemeral(open.kind(), held).await;
            if answer.has_errors() {
                return;
            }
            watch.completed(None);
            *private = Some(answer.value.private);
            drop(private);
            let Some(next) = answer.value.renew_at else {
                return;
            };
            at = next.max(self.outside.unix_ms().saturating_add(PAUSE));
        }
    }

    /// Closes what is open of a resource.
    pub async fn release(&self, resource: &ConfigResource) -> Result<Diags, Diags> {
        let diags = self.close_each(self.ephemerals.take(Some(resource))).await;
        if diags.has_errors() { Err(diags) } else { Ok(diags) }
    }

    /// Closes all that is still open.
    pub async fn release_all(&self) -> Diags {
        self.close_each(self.ephemerals.take(None)).await
    }

    /// One after the other: one may have been opened by what another gave.
    async fn close_each(&self, all: Vec<Arc<Open<'a>>>) -> Diags {
        let mut diags = Diags::new();
        for open in all {
            let _permit = self.permit().await;
            if open.private.lock().await.take().is_none() {
                continue;
            }
            let watch = self.watch(&open.address, None, Activity::Close, None);
            let told = open.provider.close_ephemeral(open.kind(), &open.opened).await;
            let is_error = |diag: &ProviderDiag| diag.severity == Severity::Error;
            if !told.iter().any(is_error) {
                watch.completed(None);
            }
            diags.extend(place_all(told, open.body, &open.address));
        }
        diags
    }

    /// Opens an ephemeral resource in all instances of its module. `note` is told what conditions come to.
    pub async fn open(
        &self,
        resource: &ConfigResource,
        note: &(impl Fn(&ResourceInstance, Check) + Sync),
    ) -> Result<Diags, Diags> {
        let modules = self.values.instances(&resource.module);
        let opened = join_all(modules.iter().map(|module| self.open_in(module, resource, note))).await;
        let mut diags = Diags::new();
        let mut failed = false;
        for result in opened {
            failed |= result.is_err();
            let (Ok(told) | Err(told)) = result;
            diags.extend(told);
        }
        if failed { Err(diags) } else { Ok(diags) }
    }

    async fn open_in(
        &self,
        module: &Arc<ModuleValues<'a>>,
        resource: &ConfigResource,
        note: &(impl Fn(&ResourceInstance, Check) + Sync),
    ) -> Result<Diags, Diags> {
        let Some(config) = self.tree.resource(resource) else {
            return Ok(Diags::new());
        };
        let schema = self
            .resource_schema(&config.provider_config.provider, &resource.resource)
            .map_err(|diags| diags.map(|diag| diag.or_at(config.header)))?;
        let address = resource.resource.within(module.address.clone());
        let expansion = expand_resource(config, &module.scope())?;
        let keys = expansion.keys();
        let opened = join_all(keys.iter().map(|key| async {
            let (address, repetition) = (address.instance(key.clone()), expansion.repetition(key));
            let provider = self.provider_of(config, module, &address, &repetition)?;
            let instance = Instance {
                engine: self,
                address,
                module: module.clone(),
                config,
                provider,
                schema,
                repetition,
                dependencies: Arc::default(),
                create_before_destroy: false,
            };
            let (check, result) = instance.open(&config.body).await;
            if config.has_conditions() {
                note(&instance.address, check);
            }
            result
        }))
        .await;
        let mut diags = Diags::new();
        let mut values = std::collections::BTreeMap::new();
        for (key, result) in keys.into_iter().zip(opened) {
            match result {
                Ok((value, told)) => {
                    values.insert(key, value);
                    diags.extend(told);
                }
                Err(told) => diags.extend(told),
            }
        }
        if diags.has_errors() {
            return Err(diags);
        }
        let value = match expansion {
            Expansion::Switched(false) => Value::null(schema.block.ty()),
            expansion => combine(&expansion, values),
        };
        module.set_resource(&resource.resource, value);
        Ok(diags)
    }
}

impl Open<'_> {
    fn kind(&self) -> &str {
        &self.address.resource.resource.kind
    }
}

/// Is it a resource that is opened?
pub(crate) fn is_ephemeral(resource: &ConfigResource) -> bool {
    resource.resource.mode == Mode::Ephemeral
}

/// Returns at a time of the clock, also where a pause does not last as long as it should.
async fn wait_until(outside: &dyn Outside, at: u64) {
    loop {
        let left = at.saturating_sub(outside.unix_ms());
        if left == 0 {
            return;
        }
        outside.pause(left).await;
    }
}

/// Adds what closes each node that is opened, as `release` names it: after all that needs the node, and after what closes
/// those that were opened with what it gave. What is `idle` only stands for others that are done.
pub(crate) fn add_releases<N: Clone + Eq + Hash + Ord>(
    graph: &mut Graph<N>,
    release: impl Fn(&N) -> Option<N>,
    idle: impl Fn(&N) -> bool,
) {
    let opened: Vec<(N, N)> = graph
        .nodes()
        .filter_map(|node| Some((node.clone(), release(node)?)))
        .collect();
    let mut edges = Vec::new();
    for (node, closing) in &opened {
        let needing = graph.needing([node]);
        // When those are done that nothing else needs in turn, all are.
        let last = needing
            .iter()
            .filter(|needing| !idle(needing) && graph.dependents(needing).all(&idle));
        let mut before: Vec<&N> = last.copied().collect();
        before.extend(
            opened
                .iter()
                .filter(|(other, _)| other != node && needing.contains(other))
                .map(|(_, closing)| closing),
        );
        before.push(node);
        before.sort();
        edges.extend(before.into_iter().map(|before| (closing.clone(), before.clone())));
    }
    for (closing, before) in edges {
        graph.depend(closing, before);
    }
}
