//! A destroy run: after an ordinary plan has refreshed the state, everything left in it is to be removed.
//!
//! Source: Terraform `internal/terraform/context_plan.go` (`destroyPlan`).

use std::{
    collections::{BTreeMap, BTreeSet, HashSet},
    sync::Arc,
};

use ashlar_addr::{
    AbsResource, ConfigResource, DeposedKey, Mode as ResourceMode, ModuleInstance, ProviderConfig,
    ResourceInstance,
};
use ashlar_config::Tree;
use ashlar_diag::Diags;
use ashlar_graph::{Graph, Turn};
use ashlar_state::{Object, State};
use ashlar_value::{Type, Value};
use futures::{StreamExt, stream::FuturesUnordered};

use crate::{
    engine::Engine,
    ephemeral::is_ephemeral,
    instance::{
        removal::{Removal, kept},
        stored::{read_stored, to_object},
    },
    model::{Action, Change, Check, CheckStatus},
    needs::condition_nodes,
    node::Node,
    outputs,
    parts::{add_vacant, checked_address},
    prevent::Fate,
    selection::Selection,
    walk::Found,
};

/// The providers that objects in state are managed with, and what their configuration needs, and what tells whether an object
/// may go. What a resource refers to does
/// not matter, unless it is ephemeral: its value is what state holds.
pub(crate) fn needs_of_providers(
    graph: &Graph<Node>,
    tree: &Tree,
    state: &State,
    is_removed: impl Fn(&AbsResource) -> bool,
) -> Graph<Node> {
    let mut needed = Vec::new();
    let removed = state
        .resources
        .iter()
        .filter(|(resource, _)| is_removed(resource));
    for (resource, stored) in removed {
        let config = tree.resource(&resource.config());
        let provider = config.map(|config| &config.provider_config);
        needed.push(Node::Provider(provider.unwrap_or(&stored.provider).clone()));
        // Whether it may go at all.
        if let Some(expr) = config.and_then(|config| config.lifecycle.prevent_destroy_when.as_ref()) {
            let module = resource.module.config();
            let read = condition_nodes(&module, expr)
                .into_iter()
                .chain([Node::Call(module)]);
            needed.extend(read.filter(|node| graph.contains(node)));
        }
    }
    needs_of_values(graph, needed)
}

/// What some nodes need where the values of resources are what state holds: of a resource, only which instances its module
/// has. Of ephemeral ones nothing is stored.
pub(crate) fn needs_of_values(graph: &Graph<Node>, mut open: Vec<Node>) -> Graph<Node> {
    let mut needed = Graph::new();
    let mut seen = BTreeSet::new();
    while let Some(node) = open.pop() {
        if !seen.insert(node.clone()) {
            continue;
        }
        needed.add(node.clone());
        for dependency in graph.dependencies(&node) {
            let is_stored = matches!(&node, Node::Resource(resource) if !is_ephemeral(resource));
            if is_stored && !matches!(dependency, Node::Call(_)) {
                continue;
            }
            needed.depend(node.clone(), dependency.clone());
            open.push(dependency.clone());
        }
    }
    needed
}

/// One object of the state.
pub(crate) type Which = (ResourceInstance, Option<DeposedKey>);

/// The objects that are removed: those that are selected, with all that depends on them. What is excluded keeps all that it
/// depends on. `more` tells of what objects depend on beside what state says.
pub(crate) fn selected(
    state: &State,
    selection: &Selection,
    more: impl Fn(&ConfigResource) -> Arc<[ConfigResource]>,
) -> HashSet<Which> {
    let whiches = || state.objects().map(|(address, deposed, _)| (address, deposed));
    if selection.is_whole() {
        return whiches().collect();
    }
    let graph = goings(state, whiches(), more);
    let named = graph.nodes().filter(|node| match node {
        Going::Object(which) => selection.takes_alone(&which.0) != selection.targets.is_empty(),
        Going::Users(..) => false,
    });
    let reached = if selection.targets.is_empty() {
        graph.needing(named)
    } else {
        graph.needed_by(named)
    };
    let is_removed = |node: &&Going| reached.contains(*node) != selection.targets.is_empty();
    let removed = graph.nodes().filter(is_removed);
    removed
        .filter_map(|node| match node {
            Going::Object(which) => Some((**which).clone()),
            Going::Users(..) => None,
        })
        .collect()
}

/// What goes before what: an object after those that depend on it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Going {
    Object(Box<Which>),
    /// All objects that depend on a resource, in one instance of its module or outside of it.
    Users(ConfigResource, Option<ModuleInstance>),
}

/// The order in which objects go, by what is recorded with the current ones; `more` tells of what they depend on beside that.
fn goings(
    state: &State,
    whiches: impl Iterator<Item = Which>,
    more: impl Fn(&ConfigResource) -> Arc<[ConfigResource]>,
) -> Graph<Going> {
    let mut graph = Graph::new();
    for (address, deposed) in whiches {
        let (module, own) = (&address.resource.module, address.resource.config());
        let object = Going::Object(Box::new((address.clone(), deposed)));
        graph.add(object.clone());
        let recorded = state
            .current(&address)
            .map(|current| current.dependencies.clone());
        for dependency in recorded
            .iter()
            .flat_map(|all| all.iter())
            .chain(more(&own).iter())
        {
            // Instances of one module do not depend on each other.
            let within = (dependency.module == own.module).then(|| module.clone());
            graph.depend(Going::Users(dependency.clone(), within), object.clone());
        }
        graph.depend(object.clone(), Going::Users(own.clone(), None));
        graph.depend(object, Going::Users(own, Some(module.clone())));
    }
    graph
}

/// Replaces what the ordinary plan found by the removal of the objects that are selected and, if those are all, of all outputs.
pub(crate) async fn plan_removals(engine: &Engine<'_>, found: &mut Found, selection: &Selection) {
    found.changes.clear();
    // What changed outside is taken over by that.
    found.drift.clear();
    found.by_resource.clear();
    found.pending.clear();
    found.checks = unknown_checks(engine.tree, selection);
    let state = found.refreshed.clone();
    let removed = selected(&state, selection, |_| Arc::default());
    plan_all(engine, found, &state, removed).await;
    let outputs = selection.is_whole().then_some(&state.outputs);
    found.outputs = outputs
        .into_iter()
        .flatten()
        .map(|(name, before)| (name.clone(), outputs::removal(before)))
        .collect();
}

/// Plans removals in the order in which they will be made: where one cannot be, what its object depends on has to stay, too.
async fn plan_all(engine: &Engine<'_>, found: &mut Found, state: &State, removed: HashSet<Which>) {
    let (deposed, current): (Vec<_>, Vec<_>) =
        removed.into_iter().partition(|(_, deposed)| deposed.is_some());
    let mut order = goings(state, current.iter().cloned(), |_| Arc::default());
    if order.order().is_none() {
        // What is recorded goes in a circle, which is told where the steps are made. Here all are looked at.
        order = Graph::new();
    }
    for which in deposed.into_iter().chain(current) {
        order.add(Going::Object(Box::new(which)));
    }
    let mut walk = order.walk();
    let mut running = FuturesUnordered::new();
    loop {
        while let Some(turn) = walk.turn() {
            match turn {
                Turn::Run(going @ Going::Users(..)) => walk.done(&going, true),
                Turn::Skip(going) => walk.done(&going, false),
                Turn::Run(Going::Object(which)) => running.push(async move {
                    let result = plan_which(engine, state, &which).await;
                    (which, result)
                }),
            }
        }
        let Some((which, result)) = running.next().await else {
            break;
        };
        let (planned, diags) = match result {
            Ok((planned, diags)) => (planned, diags),
            Err(diags) => (None, diags),
        };
        if let Some(Planned { change, upgraded }) = planned {
            if let Some(object) = upgraded {
                let (address, deposed) = &*which;
                found
                    .refreshed
                    .set(address, *deposed, &change.provider, Some(object));
            }
            found.changes.push(change);
        }
        walk.done(&Going::Object(which), !diags.has_errors());
        found.diags.extend(diags);
    }
}

/// What is planned for one object.
struct Planned {
    change: Change,
    /// The object by the present schema, where no refresh has brought it there.
    upgraded: Option<Arc<Object>>,
}

async fn plan_which(
    engine: &Engine<'_>,
    state: &State,
    (address, deposed): &Which,
) -> Result<(Option<Planned>, Diags), Diags> {
    let Some(resource) = state.resources.get(&address.resource) else {
        return Ok((None, Diags::new()));
    };
    let instance = resource.instances.get(&address.key);
    let object = match deposed {
        Some(key) => instance.and_then(|instance| instance.deposed.get(key)),
        None => instance.and_then(|instance| instance.current.as_ref()),
    };
    let Some(object) = object else {
        return Ok((None, Diags::new()));
    };
    let stored = resource.provider_of(&address.key);
    let (planned, diags) = plan_one(engine, stored, address.clone(), *deposed, object).await?;
    Ok((Some(planned), diags))
}

/// Conditions are not evaluated, and nothing is counted that they are for, but outputs of the root module that go.
fn unknown_checks(tree: &Tree, selection: &Selection) -> BTreeMap<String, Check> {
    let outputs = tree.root().outputs.iter();
    let checked = outputs.filter(|(_, output)| selection.is_whole() && !output.preconditions.is_empty());
    let address = |name: &str| checked_address(&ModuleInstance::root(), "output", name);
    let mut checks = checked
        .map(|(name, _)| (address(name), Check::of(CheckStatus::Unknown)))
        .collect();
    add_vacant(tree, |_| CheckStatus::Unknown, &mut checks);
    checks
}

async fn plan_one(
    engine: &Engine<'_>,
    stored: ProviderConfig,
    address: ResourceInstance,
    deposed: Option<DeposedKey>,
    object: &Arc<Object>,
) -> Result<(Planned, Diags), Diags> {
    let config = engine.tree.resource(&address.resource.config());
    let whole = config.map_or(&stored, |config| &config.provider_config);
    let schema = engine.resource_schema(&whole.provider, &address.resource.resource);
    if address.resource.resource.mode == ResourceMode::Data {
        // The provider may have no such data source any more, or of another form.
        let before = schema.and_then(|schema| ashlar_state::decode_object(object, schema));
        let before = before.unwrap_or_else(|_| Value::null(Type::Dynamic));
        let change = forget_data(address, whole.clone(), before);
        let upgraded = None;
        return Ok((Planned { change, upgraded }, Diags::new()));
    }
    let schema = schema?;
    let provider_config = engine.provider_by_state(config, &address, deposed, &stored)?;
    // The change is planned and shown all the same.
    let current = config.filter(|_| deposed.is_none());
    let kept = kept(engine, config, object);
    let fate = if kept.is_some() {
        Fate::Kept
    } else {
        Fate::Destroyed
    };
    let faults = current.map(|config| engine.prevented(&address, config, fate));
    let provider = engine.provider(&provider_config)?;
    let (live, mut diags) = read_stored(engine, &*provider, &address, schema, object, None).await?;
    let upgraded = (object.schema_version != schema.version)
        .then(|| to_object(&live, schema))
        .transpose()?;
    let removal = Removal {
        engine,
        address,
        deposed,
        provider: provider_config,
        schema,
        reason: kept,
        forgets: kept.is_some(),
    };
    let change = if removal.forgets {
        removal.forget(&live)
    } else {
        removal.plan_delete(&*provider, &live, &mut diags).await?
    };
    diags.extend(faults.into_iter().flatten());
    Ok((Planned { change, upgraded }, diags))
}

/// A data source only leaves the state.
fn forget_data(address: ResourceInstance, provider: ProviderConfig, before: Value) -> Change {
    let after = Value::null(before.ty());
    Change {
        address,
        deposed: None,
        previous_address: None,
        importing: None,
        provider,
        action: Action::Delete,
        reason: None,
        before,
        after,
        replace_paths: Vec::new(),
        private: Arc::default(),
        before_identity: None,
        after_identity: None,
        depose_as: None,
        dependencies: Arc::default(),
        create_before_destroy: false,
    }
}
