//! Nodes of the plan's graph, and the passes that build it.
//!
//! Nodes are data; what happens at each is decided in `walk`. The passes are plain functions in one visible list.

use std::{collections::BTreeSet, fmt, sync::Arc};

use ashlar_addr::{AbsResource, ConfigResource, Mode, Module as ModuleAddr, ProviderConfig};
use ashlar_config::Module;
use ashlar_diag::{Diag, Diags};
use ashlar_eval::{Reference, Subject};
use ashlar_graph::Graph;
use ashlar_state::State;
use ashlar_value::schema::Block;

use crate::engine::Schemas;

/// One thing of the configuration or state that planning visits.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Node {
    /// A provider configuration.
    Provider(ProviderConfig),
    /// A local value.
    Local(Arc<str>),
    /// A resource or data source in the configuration, with all its instances.
    Resource(ConfigResource),
    /// A resource that only state knows, by its full address: the configuration may hold one of the same type and name in
    /// another module.
    Orphan(AbsResource),
    /// A root output.
    Output(Arc<str>),
}

impl fmt::Display for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Node::Provider(provider) => write!(f, "{provider}"),
            Node::Local(name) => write!(f, "local.{name}"),
            Node::Resource(resource) => write!(f, "{resource}"),
            Node::Orphan(resource) => write!(f, "{resource} (only in state)"),
            Node::Output(name) => write!(f, "output.{name}"),
        }
    }
}

/// What the passes look at.
pub struct Sight<'a> {
    /// The configuration.
    pub module: &'a Module,
    /// The prior state.
    pub state: &'a State,
    /// Schemas: they tell which part of a block is an argument and which an iterator's name.
    pub schemas: &'a Schemas,
}

/// One pass.
pub type Pass = fn(&mut Graph<Node>, &Sight<'_>);

/// The passes in their order, by name.
pub const PASSES: &[(&str, Pass)] = &[
    ("locals", add_locals),
    ("resources", add_resources),
    ("orphans", add_orphans),
    ("outputs", add_outputs),
    ("providers", link_providers),
    ("references", link_references),
];

/// Runs the passes up to and including the one called `until` (all of them if `None`).
pub fn build(sight: &Sight<'_>, until: Option<&str>) -> Graph<Node> {
    let mut graph = Graph::new();
    for (name, pass) in PASSES {
        pass(&mut graph, sight);
        if until == Some(*name) {
            break;
        }
    }
    graph
}

/// The fault of a graph whose nodes need each other in a circle.
pub fn cycle_faults(graph: &Graph<Node>) -> Diags {
    let fault = |group: Vec<Node>| {
        let names: Vec<String> = group.iter().map(Node::to_string).collect();
        let detail = "Each of these needs another of them first, so none can be the first. Take one of the references out.";
        Diag::error(format!("Cycle: {}", names.join(", ")), detail)
    };
    graph.cycles().into_iter().map(fault).collect()
}

/// The faults of objects whose resource is gone together with the provider configuration they were made with: nothing else
/// may destroy them.
pub fn provider_faults(graph: &Graph<Node>, sight: &Sight<'_>) -> Diags {
    let mut faults = Diags::new();
    for node in graph.nodes() {
        let Node::Orphan(resource) = node else { continue };
        let Some(state) = sight.state.resources.get(resource) else {
            continue;
        };
        if resource.resource.mode == Mode::Data || is_present(sight.module, &state.provider) {
            continue;
        }
        for (key, instance) in &state.instances {
            let current = instance.current.iter().map(|_| String::new());
            let deposed = instance
                .deposed
                .keys()
                .map(|key| format!(" (deposed object {key})"));
            faults.extend(current.chain(deposed).map(|which| {
                let detail = format!(
                    "{}{which} is no longer wanted, and destroying it needs the provider configuration it was made with, {}, \
                     which the configuration does not hold any more. Put that provider block back until the object is \
                     destroyed.",
                    resource.instance(key.clone()),
                    state.provider
                );
                Diag::error("Provider configuration not present", detail)
            }));
        }
    }
    faults
}

/// Does the configuration hold this provider configuration? The default one of each provider is always there, empty if it has
/// no block.
fn is_present(module: &Module, provider: &ProviderConfig) -> bool {
    provider.module.is_root() && (provider.alias.is_none() || module.provider_block(provider).is_some())
}

fn add_locals(graph: &mut Graph<Node>, sight: &Sight<'_>) {
    for name in sight.module.locals.keys() {
        graph.add(Node::Local(name.clone()));
    }
}

fn add_resources(graph: &mut Graph<Node>, sight: &Sight<'_>) {
    for resource in sight.module.resources.keys() {
        graph.add(Node::Resource(resource.within_config(ModuleAddr::root())));
    }
}

fn add_orphans(graph: &mut Graph<Node>, sight: &Sight<'_>) {
    for resource in sight.state.resources.keys() {
        if !graph.contains(&Node::Resource(resource.config())) {
            graph.add(Node::Orphan(resource.clone()));
        }
    }
}

fn add_outputs(graph: &mut Graph<Node>, sight: &Sight<'_>) {
    for name in sight.module.outputs.keys() {
        graph.add(Node::Output(name.clone()));
    }
}

fn link_providers(graph: &mut Graph<Node>, sight: &Sight<'_>) {
    for (resource, config) in &sight.module.resources {
        let node = Node::Resource(resource.within_config(ModuleAddr::root()));
        graph.depend(node, Node::Provider(config.provider_config.clone()));
    }
    for (resource, state) in &sight.state.resources {
        let orphan = Node::Orphan(resource.clone());
        // A data source only leaves the state, which needs no provider.
        if graph.contains(&orphan) && resource.resource.mode == Mode::Managed {
            graph.depend(orphan, Node::Provider(state.provider.clone()));
        }
    }
}

fn link_references(graph: &mut Graph<Node>, sight: &Sight<'_>) {
    let nodes: Vec<Node> = graph.nodes().cloned().collect();
    for node in nodes {
        for dependency in referred(sight, &node) {
            if graph.contains(&dependency) {
                graph.depend(node.clone(), dependency);
            }
        }
    }
}

/// The nodes that a node's configuration refers to.
fn referred(sight: &Sight<'_>, node: &Node) -> BTreeSet<Node> {
    let module = sight.module;
    let mut found = BTreeSet::new();
    match node {
        Node::Local(name) => {
            if let Some(local) = module.locals.get(name) {
                collect(&mut found, ashlar_eval::references(&local.expr).0);
            }
        }
        Node::Output(name) => {
            if let Some(output) = module.outputs.get(name) {
                for expr in output.expressions() {
                    collect(&mut found, ashlar_eval::references(expr).0);
                }
                found.extend(
                    output
                        .depends_on
                        .iter()
                        .filter_map(|depends| subject_node(&depends.subject)),
                );
            }
        }
        Node::Resource(resource) => {
            if let Some(config) = module.resources.get(&resource.resource) {
                for expr in config.expressions() {
                    collect(&mut found, ashlar_eval::references(expr).0);
                }
                if let Some(schema) = resource_block(sight, config, resource) {
                    collect(&mut found, ashlar_eval::block_references(&config.body, schema).0);
                }
                found.extend(
                    config
                        .depends_on
                        .iter()
                        .filter_map(|depends| subject_node(&depends.subject)),
                );
            }
        }
        Node::Provider(provider) => {
            if let (Some(block), Some(schemas)) = (
                module.provider_block(provider),
                sight.schemas.get(&provider.provider),
            ) {
                collect(
                    &mut found,
                    ashlar_eval::block_references(&block.body, &schemas.provider.block).0,
                );
            }
        }
        Node::Orphan(_) => {}
    }
    found.remove(node);
    found
}

/// The references of an expression, faulty ones left out: evaluation reports those.
fn collect<'a>(found: &mut BTreeSet<Node>, references: impl IntoIterator<Item = Reference<'a>>) {
    found.extend(
        references
            .into_iter()
            .filter_map(|reference| subject_node(&reference.subject)),
    );
}

fn subject_node(subject: &Subject) -> Option<Node> {
    match subject {
        Subject::Local(name) => Some(Node::Local(name.clone())),
        Subject::Resource(resource) => Some(Node::Resource(resource.within_config(ModuleAddr::root()))),
        _ => None,
    }
}

fn resource_block<'a>(
    sight: &Sight<'a>,
    config: &ashlar_config::ResourceConfig,
    resource: &ConfigResource,
) -> Option<&'a Block> {
    let schemas = sight.schemas.get(&config.provider_config.provider)?;
    let of = match resource.resource.mode {
        ashlar_addr::Mode::Managed => &schemas.resources,
        ashlar_addr::Mode::Data => &schemas.data_sources,
        ashlar_addr::Mode::Ephemeral => &schemas.ephemeral_resources,
    };
    of.get(&resource.resource.kind).map(|schema| &schema.block)
}
