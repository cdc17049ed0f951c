//! What a run is limited to, and the pass that takes everything else out of the graph.
//!
//! A target keeps what it needs and nothing that needs it; what is excluded takes what needs it along. Of the rest, outputs of
//! the root module stay whose every resource stays. A resource that is named is filtered by instance as it is expanded; one
//! that is only needed stays whole. Source: Terraform `internal/terraform/transform_targets.go`, `prePlanVerifyTargetedMoves`
//! in `context_plan.go`; OpenTofu's of the same names for excluding.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use ashlar_addr::{AbsResource, ConfigResource, ResourceInstance, Target};
use ashlar_diag::{Diag, Diags};
use ashlar_graph::Graph;

use crate::node::{Node, Sight};

/// What a run is limited to. Both lists empty: to nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// Only these, and what they need.
    pub targets: Vec<Target>,
    /// Not these, and not what needs them. Only looked at where there are no targets.
    pub excludes: Vec<Target>,
}

impl Selection {
    /// Of a run without limits.
    pub const fn whole() -> Self {
        Self {
            targets: Vec::new(),
            excludes: Vec::new(),
        }
    }

    /// Does it take everything?
    pub fn is_whole(&self) -> bool {
        self.targets.is_empty() && self.excludes.is_empty()
    }

    /// Is this instance of a resource in the graph taken? One that is only needed by something else is, whatever is named.
    pub(crate) fn takes(&self, instance: &ResourceInstance) -> bool {
        let needed = || {
            let resource = instance.resource.config();
            !self.targets.iter().any(|target| target.concerns(&resource))
        };
        self.takes_alone(instance) || !self.targets.is_empty() && needed()
    }

    /// Is an object of this instance taken that nothing can refer to?
    pub(crate) fn takes_alone(&self, instance: &ResourceInstance) -> bool {
        let contains = |target: &Target| target.contains(instance);
        if self.targets.is_empty() {
            !self.excludes.iter().any(contains)
        } else {
            self.targets.iter().any(contains)
        }
    }

    /// What to remark on a plan that is limited.
    pub(crate) fn remark(&self) -> Option<Diag> {
        let detail = "This plan is limited to some addresses, so it may leave out changes that the configuration asks for. That \
                      is for exceptional situations, such as recovering from mistakes. Plan without a limit as soon as that is \
                      possible.";
        (!self.is_whole()).then(|| Diag::warning("Resource targeting is in effect", detail))
    }

    /// What to remark when such a plan was applied.
    pub fn remark_applied(&self) -> Option<Diag> {
        let detail = "The plan was limited to some addresses, so changes that the configuration asks for may be left, and \
                      outputs may not be up to date. Plan without a limit to see what is left to do.";
        (!self.is_whole()).then(|| Diag::warning("Applied changes may be incomplete", detail))
    }

    /// The fault of moves that what is selected holds only one end of, or none: `moved` is each new address with the old.
    pub(crate) fn move_faults(&self, moved: &BTreeMap<ResourceInstance, ResourceInstance>) -> Diags {
        let ends = moved.iter().flat_map(|(to, from)| [from, to]);
        let left: BTreeSet<&AbsResource> = ends
            .filter(|instance| !self.takes_alone(instance))
            .map(|instance| &instance.resource)
            .collect();
        if left.is_empty() {
            return Diags::new();
        }
        let lines: Vec<String> = left.iter().map(|resource| format!("\n  {resource}")).collect();
        let mend = if self.targets.is_empty() {
            "exclude none of these"
        } else {
            "target these, too"
        };
        let detail = format!(
            "Objects of the state have moved to other addresses, and a plan must hold both ends of each move to be sound. This \
             one is limited so that it does not. Plan without a limit, or {mend}:{}",
            lines.concat()
        );
        Diag::error("Moved resource instances excluded by targeting", detail).into()
    }
}

/// The pass: takes out what is not selected.
pub(crate) fn select(graph: &mut Graph<Node>, sight: &Sight<'_>) {
    if sight.selection.is_whole() {
        return;
    }
    let mut kept = graph.needed_by(chosen(graph, sight));
    // What a resource triggers comes with it, and may bring further resources.
    loop {
        let comes = |node: &&Node| match node {
            Node::Trigger(resource, ..) => {
                !kept.contains(*node) && kept.contains(&Node::Resource(resource.clone()))
            }
            _ => false,
        };
        let triggers: Vec<&Node> = graph.nodes().filter(comes).collect();
        if triggers.is_empty() {
            break;
        }
        kept.extend(graph.needed_by(triggers));
    }
    let outputs = graph
        .nodes()
        .filter(|node| matches!(node, Node::Output(module, _) if module.is_root()));
    let with_outputs: HashSet<&Node> = outputs
        .map(|output| graph.needed_by([output]))
        .filter(|needed| {
            let mut resources = needed.iter().filter(|node| is_targetable(node)).peekable();
            resources.peek().is_some() && resources.all(|node| kept.contains(*node))
        })
        .flatten()
        .collect();
    let part = graph.part(|node| kept.contains(node) || with_outputs.contains(node));
    *graph = part;
}

/// Can a node be named?
fn is_targetable(node: &Node) -> bool {
    matches!(node, Node::Resource(_) | Node::Orphan(_))
}

/// The nodes that stay by themselves.
fn chosen<'g>(graph: &'g Graph<Node>, sight: &Sight<'_>) -> Vec<&'g Node> {
    let Selection { targets, excludes } = sight.selection;
    let nodes = || graph.nodes().filter(|node| is_targetable(node));
    if !targets.is_empty() {
        return nodes()
            .filter(|node| match node {
                Node::Resource(resource) => targets.iter().any(|target| target.concerns(resource)),
                Node::Orphan(resource) => {
                    stored(sight, resource).any(|one| sight.selection.takes_alone(&one))
                }
                _ => false,
            })
            .collect();
    }
    let mut excluded: HashSet<&Node> = HashSet::new();
    for node in nodes() {
        let (some, all) = match node {
            Node::Resource(resource) => of_resource(excludes, resource),
            Node::Orphan(resource) => {
                let mut left = stored(sight, resource).map(|one| !sight.selection.takes_alone(&one));
                let none = left.clone().all(|left| left);
                (left.any(|left| left), none)
            }
            _ => (false, false),
        };
        if all {
            excluded.insert(node);
        }
        if some {
            let users = graph.needing([node]);
            excluded.extend(
                users
                    .into_iter()
                    .filter(|user| *user != node && is_targetable(user)),
            );
        }
    }
    nodes().filter(|node| !excluded.contains(node)).collect()
}

/// Are some instances of a resource named, and all?
fn of_resource(named: &[Target], resource: &ConfigResource) -> (bool, bool) {
    let some = named.iter().any(|target| target.concerns(resource));
    (some, named.iter().any(|target| target.contains_all(resource)))
}

/// The instances that state holds of a resource.
fn stored<'s>(
    sight: &Sight<'s>,
    resource: &AbsResource,
) -> impl Iterator<Item = ResourceInstance> + Clone + use<'s> {
    let found = sight.state.resources.get_key_value(resource);
    found.into_iter().flat_map(|(resource, state)| {
        let keys = state.instances.keys();
        keys.map(move |key| resource.instance(key.clone()))
    })
}

#[cfg(test)]
mod tests;
