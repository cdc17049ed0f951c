//! What follows from the graph for each resource: what it depends on, and whether its replacement must come first.

use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
};

use ashlar_addr::{ConfigResource, InstanceKey};
use ashlar_graph::Graph;

use crate::{
    needs::NamedKeys,
    node::{Node, Sight},
};

/// Facts about resources that the whole graph decides.
pub struct Order {
    dependencies: HashMap<ConfigResource, Arc<[ConfigResource]>>,
    created_first: HashMap<ConfigResource, Instances>,
}

/// Which instances of a resource something holds for.
enum Instances {
    All,
    These(BTreeSet<InstanceKey>),
}

impl Order {
    /// Reads them off the graph of everything and, where a run is limited, the acyclic part of it that is walked: what is
    /// recorded is the same whatever is left out, but what is left out forces no order. `visited` tells with which instances
    /// something is done while applying, if only to decide their conditions.
    pub fn of(
        whole: Option<&Graph<Node>>,
        walked: &Graph<Node>,
        sight: &Sight<'_>,
        visited: &dyn Fn(&ConfigResource, &InstanceKey) -> bool,
    ) -> Self {
        let order = walked.order().unwrap_or_default();
        let created_first = created_first(walked, &order, sight, visited);
        let dependencies = match whole {
            None => dependencies(walked, &order),
            Some(whole) => dependencies(whole, &whole.order().unwrap_or_default()),
        };
        Self {
            dependencies,
            created_first,
        }
    }

    /// All resources that this one depends on, transitively, sorted by their printed form: what state records.
    pub fn dependencies(&self, resource: &ConfigResource) -> Arc<[ConfigResource]> {
        self.dependencies.get(resource).cloned().unwrap_or_default()
    }

    /// Does its replacement come before its destruction? Its own wish, or that of anything that depends on it: a resource
    /// that waits for its dependents' old objects to go could otherwise never be destroyed in order (Terraform
    /// `transform_destroy_cbd.go`).
    pub fn is_created_first(&self, resource: &ConfigResource) -> bool {
        self.created_first.contains_key(resource)
    }

    /// As [`Self::is_created_first`], of one instance while it is made: only those count that are depended on, where
    /// references name them by key.
    pub fn is_instance_created_first(&self, resource: &ConfigResource, key: &InstanceKey) -> bool {
        match self.created_first.get(resource) {
            Some(Instances::All) => true,
            Some(Instances::These(keys)) => keys.contains(key),
            None => false,
        }
    }
}

/// Works on small ids that are ordered as the printed addresses are, so that merging is cheap and the result sorted.
fn dependencies(graph: &Graph<Node>, order: &[Node]) -> HashMap<ConfigResource, Arc<[ConfigResource]>> {
    let mut resources: Vec<(String, &ConfigResource)> = order
        .iter()
        .filter_map(|node| match node {
            Node::Resource(resource) => Some((resource.to_string(), resource)),
            _ => None,
        })
        .collect();
    resources.sort();
    let ids: HashMap<&ConfigResource, u32> = resources
        .iter()
        .zip(0..)
        .map(|((_, resource), id)| (*resource, id))
        .collect();
    let mut reached: HashMap<&Node, Arc<[u32]>> = HashMap::new();
    let mut found = HashMap::new();
    for node in order {
        let mut all: Vec<u32> = Vec::new();
        for dependency in graph.dependencies(node) {
            if let Some(further) = reached.get(dependency) {
                all.extend_from_slice(further);
            }
            if let Node::Resource(resource) = dependency {
                all.extend(ids.get(resource));
            }
        }
        all.sort_unstable();
        all.dedup();
        if let Node::Resource(resource) = node {
            let names = all
                .iter()
                .filter_map(|id| resources.get(*id as usize))
                .map(|(_, name)| (*name).clone());
            found.insert(resource.clone(), names.collect());
        }
        reached.insert(node, all.into());
    }
    found
}

fn created_first(
    graph: &Graph<Node>,
    order: &[Node],
    sight: &Sight<'_>,
    visited: &dyn Fn(&ConfigResource, &InstanceKey) -> bool,
) -> HashMap<ConfigResource, Instances> {
    let mut forced: BTreeSet<&Node> = BTreeSet::new();
    let named = NamedKeys::new(sight, graph);
    let mut found = HashMap::new();
    for node in order.iter().rev() {
        let config = match node {
            Node::Resource(resource) => sight.tree.resource(resource),
            _ => None,
        };
        let own = config.is_some_and(|config| config.lifecycle.create_before_destroy == Some(true));
        let mut by = graph
            .dependents(node)
            .filter(|dependent| forced.contains(dependent))
            .peekable();
        if !own && by.peek().is_none() {
            continue;
        }
        let (Node::Resource(resource), Some(config)) = (node, config) else {
            forced.insert(node);
            continue;
        };
        let mut keys = BTreeSet::new();
        let repeats = config.count.is_some() || config.for_each.is_some();
        // What names no key depends on all, and so does what names an instance with which nothing is done.
        let whole = own
            || !repeats
            || by.any(|dependent| match named.of(dependent, resource) {
                Some(these) if these.iter().all(|key| visited(resource, key)) => {
                    keys.extend(these.iter().cloned());
                    false
                }
                _ => true,
            });
        let instances = if whole {
            Instances::All
        } else {
            Instances::These(keys)
        };
        found.insert(resource.clone(), instances);
        forced.insert(node);
    }
    found
}
