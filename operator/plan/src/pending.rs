//! What keeps a data source from being read while planning: pending changes of the managed resources it watches.
//!
//! It watches the resources that it names itself, in an expression or in `depends_on`. What those depend on does not count,
//! nor what is only seen through locals; but a local in `depends_on` stands for all resources behind it. With conditions
//! everything upstream counts, since any change there may be what makes a condition hold.
//! Source: Terraform `dependsOn` and `dataDependsOn` in `internal/terraform/transform_reference.go`,
//! `dependenciesHavePendingChanges` in `node_resource_abstract_instance.go`.

use std::collections::BTreeSet;

use ashlar_addr::{ConfigResource, Mode, Module as ModuleAddr, ModuleInstance};
use ashlar_config::{DependsOn, ResourceConfig};
use ashlar_graph::Graph;

use crate::{engine::lock, needs::subject_nodes, node::Node, walk::PlanWalk};

impl PlanWalk<'_, '_> {
    /// Will anything change that the data source watches from this instance of its module? Of what stands in the same module
    /// only the same instance of that counts, since no expression sees another.
    pub(crate) fn has_pending_changes(
        &self,
        resource: &ConfigResource,
        module: &ModuleInstance,
        config: &ResourceConfig,
    ) -> bool {
        let watched = watched(self, resource, config);
        let found = lock(&self.found);
        watched.iter().any(|watched| {
            let places = found.pending.get(watched);
            places.is_some_and(|places| watched.module != resource.module || places.contains(module))
        })
    }
}

/// The managed resources that a data source watches.
fn watched(
    walk: &PlanWalk<'_, '_>,
    resource: &ConfigResource,
    config: &ResourceConfig,
) -> BTreeSet<ConfigResource> {
    let graph = walk.graph;
    let mut found = BTreeSet::new();
    if config.has_conditions() {
        found.extend(walk.order.dependencies(resource).iter().cloned());
    } else {
        // `depends_on` makes an edge too, so what it names stands among these.
        let own = Node::Resource(resource.clone());
        found.extend(graph.dependencies(&own).filter_map(resource_of).cloned());
        add_named(graph, &resource.module, &config.depends_on, &mut found);
    }
    // What a call waits for, all in the called module waits for.
    let tree = walk.engine.tree;
    let mut module = resource.module.clone();
    while let Some((parent, call)) = tree.call(&module) {
        let waits = call.depends_on.as_deref().unwrap_or_default();
        for node in waits
            .iter()
            .flat_map(|waits| subject_nodes(&parent, &waits.subject))
        {
            found.extend(resource_of(&node).cloned());
            add_behind(graph, &node, &mut found);
        }
        module = parent;
    }
    found.retain(|watched| watched.resource.mode == Mode::Managed);
    found
}

/// Adds the resources behind those entries of `depends_on` that are none themselves.
fn add_named(
    graph: &Graph<Node>,
    module: &ModuleAddr,
    entries: &[DependsOn],
    found: &mut BTreeSet<ConfigResource>,
) {
    let nodes = entries
        .iter()
        .flat_map(|entry| subject_nodes(module, &entry.subject));
    for node in nodes.filter(|node| resource_of(node).is_none()) {
        add_behind(graph, &node, found);
    }
}

fn resource_of(node: &Node) -> Option<&ConfigResource> {
    match node {
        Node::Resource(resource) => Some(resource),
        _ => None,
    }
}

/// Adds all resources that a node needs, directly or through others.
fn add_behind(graph: &Graph<Node>, node: &Node, found: &mut BTreeSet<ConfigResource>) {
    let mut seen = BTreeSet::new();
    let mut open = Vec::new();
    if graph.contains(node) {
        open.push(node);
    }
    while let Some(node) = open.pop() {
        for dependency in graph.dependencies(node) {
            if seen.insert(dependency) {
                found.extend(resource_of(dependency).cloned());
                open.push(dependency);
            }
        }
    }
}
