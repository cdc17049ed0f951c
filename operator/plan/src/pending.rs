//! What keeps a data source from being read while planning: pending changes of the managed resources it watches.
//!
//! It watches the resources that it names itself, in an expression or in `depends_on`. What those depend on does not count,
//! nor what is only seen through locals; but a local in `depends_on` stands for all resources behind it. With conditions
//! everything upstream counts, since any change there may be what makes a condition hold.
//! Source: Terraform `dependsOn` and `dataDependsOn` in `internal/terraform/transform_reference.go`,
//! `dependenciesHavePendingChanges` in `node_resource_abstract_instance.go`.

use std::collections::BTreeSet;

use ashlar_addr::{ConfigResource, Mode};
use ashlar_config::ResourceConfig;
use ashlar_eval::Subject;
use ashlar_graph::Graph;

use crate::{engine::lock, node::Node, order::Order, walk::PlanWalk};

impl PlanWalk<'_> {
    /// Will anything change that the data source watches?
    pub(crate) fn has_pending_changes(&self, resource: &ConfigResource, config: &ResourceConfig) -> bool {
        let watched = watched(self.graph, self.order, resource, config);
        let found = lock(&self.found);
        let mut changes = watched
            .iter()
            .filter_map(|watched| found.by_resource.get(watched));
        changes.any(|changes| changes.is_pending)
    }
}

/// The managed resources that a data source watches.
fn watched(
    graph: &Graph<Node>,
    order: &Order,
    resource: &ConfigResource,
    config: &ResourceConfig,
) -> BTreeSet<ConfigResource> {
    let mut found = BTreeSet::new();
    if config.has_conditions() {
        found.extend(order.dependencies(resource).iter().cloned());
    } else {
        // `depends_on` makes an edge too, so what it names stands among these.
        let own = Node::Resource(resource.clone());
        found.extend(graph.dependencies(&own).filter_map(resource_of).cloned());
        for depends in &config.depends_on {
            if let Subject::Local(name) = &depends.subject {
                add_behind(graph, &Node::Local(name.clone()), &mut found);
            }
        }
    }
    found.retain(|watched| watched.resource.mode == Mode::Managed);
    found
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
    let mut open = vec![node];
    while let Some(node) = open.pop() {
        for dependency in graph.dependencies(node) {
            if seen.insert(dependency) {
                found.extend(resource_of(dependency).cloned());
                open.push(dependency);
            }
        }
    }
}
