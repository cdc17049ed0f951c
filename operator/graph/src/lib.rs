//! A directed acyclic graph over any id: cycles named, an order, and a ready set to walk it by.
//!
//! An edge `a → b` means: `a` needs `b`, so `b` comes first. Nodes are data of the caller; nothing here knows what they
//! are. All operations are linear in nodes and edges. It never reduces edges transitively: a walk does not need it.

use std::{
    collections::{HashMap, HashSet},
    hash::Hash,
};

use petgraph::{
    Direction,
    graph::{DiGraph, NodeIndex},
};

/// The graph while it is built.
#[derive(Clone, Debug)]
pub struct Graph<N> {
    inner: DiGraph<N, ()>,
    index: HashMap<N, NodeIndex>,
}

impl<N> Default for Graph<N> {
    fn default() -> Self {
        Self {
            inner: DiGraph::new(),
            index: HashMap::new(),
        }
    }
}

impl<N: Clone + Eq + Hash + Ord> Graph<N> {
    /// Without nodes.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a node; adding it again changes nothing.
    pub fn add(&mut self, node: N) {
        self.node(node);
    }

    fn node(&mut self, node: N) -> NodeIndex {
        if let Some(found) = self.index.get(&node) {
            return *found;
        }
        let at = self.inner.add_node(node.clone());
        self.index.insert(node, at);
        at
    }

    /// `node` needs `dependency`; both are added if they are missing. A node never needs itself.
    pub fn depend(&mut self, node: N, dependency: N) {
        let from = self.node(node);
        let to = self.node(dependency);
        if from != to {
            self.inner.add_edge(from, to, ());
        }
    }

    /// Is the node there?
    pub fn contains(&self, node: &N) -> bool {
        self.index.contains_key(node)
    }

    /// All nodes in the order they were added.
    pub fn nodes(&self) -> impl Iterator<Item = &N> {
        self.inner.node_weights()
    }

    /// How many nodes.
    pub fn len(&self) -> usize {
        self.inner.node_count()
    }

    /// No nodes?
    pub fn is_empty(&self) -> bool {
        self.inner.node_count() == 0
    }

    /// What a node needs directly, repeats possible.
    pub fn dependencies(&self, node: &N) -> impl Iterator<Item = &N> {
        self.neighbours(node, Direction::Outgoing)
    }

    /// What needs a node directly, repeats possible.
    pub fn dependents(&self, node: &N) -> impl Iterator<Item = &N> {
        self.neighbours(node, Direction::Incoming)
    }

    fn neighbours(&self, node: &N, direction: Direction) -> impl Iterator<Item = &N> {
        self.index
            .get(node)
            .into_iter()
            .flat_map(move |at| self.inner.neighbors_directed(*at, direction))
            .filter_map(|at| self.inner.node_weight(at))
    }

    /// All nodes that need one of these, directly or through others, and these themselves.
    pub fn needing<'a>(&'a self, nodes: impl IntoIterator<Item = &'a N>) -> HashSet<&'a N> {
        self.reached(nodes, Direction::Incoming)
    }

    /// All nodes that one of these needs, directly or through others, and these themselves.
    pub fn needed_by<'a>(&'a self, nodes: impl IntoIterator<Item = &'a N>) -> HashSet<&'a N> {
        self.reached(nodes, Direction::Outgoing)
    }

    fn reached<'a>(&'a self, nodes: impl IntoIterator<Item = &'a N>, direction: Direction) -> HashSet<&'a N> {
        let known = nodes.into_iter().filter_map(|node| self.index.get(node));
        let mut open: Vec<NodeIndex> = known.copied().collect();
        let mut found: HashSet<NodeIndex> = open.iter().copied().collect();
        while let Some(at) = open.pop() {
            for further in self.inner.neighbors_directed(at, direction) {
                if found.insert(further) {
                    open.push(further);
                }
            }
        }
        found
            .into_iter()
            .filter_map(|at| self.inner.node_weight(at))
            .collect()
    }

    /// The part of the graph that holds only nodes of which `keep` is true.
    #[must_use]
    pub fn part(&self, keep: impl Fn(&N) -> bool) -> Self {
        let mut part = Self::new();
        for node in self.nodes().filter(|node| keep(node)) {
            part.add(node.clone());
            for dependency in self.dependencies(node).filter(|node| keep(node)) {
                part.depend(node.clone(), dependency.clone());
            }
        }
        part
    }

    /// Adds all nodes of another graph, and what they need there.
    pub fn merge(&mut self, other: &Self) {
        for node in other.nodes() {
            self.add(node.clone());
            for dependency in other.dependencies(node) {
                self.depend(node.clone(), dependency.clone());
            }
        }
    }

    /// Groups of nodes that need each other in a circle, each sorted; empty if the graph is acyclic.
    pub fn cycles(&self) -> Vec<Vec<N>> {
        let mut found: Vec<Vec<N>> = petgraph::algo::tarjan_scc(&self.inner)
            .into_iter()
            .filter(|group| group.len() > 1)
            .map(|group| {
                let mut names: Vec<N> = group
                    .into_iter()
                    .filter_map(|at| self.inner.node_weight(at).cloned())
                    .collect();
                names.sort();
                names
            })
            .collect();
        found.sort();
        found
    }

    /// Dependencies first; `None` if there is a cycle.
    pub fn order(&self) -> Option<Vec<N>> {
        let mut sorted = petgraph::algo::toposort(&self.inner, None).ok()?;
        sorted.reverse();
        Some(
            sorted
                .into_iter()
                .filter_map(|at| self.inner.node_weight(at).cloned())
                .collect(),
        )
    }

    /// A walk over all nodes. The graph must be acyclic, else nodes of a cycle never become ready.
    pub fn walk(&self) -> Walk<N> {
        let waiting: Vec<usize> = self
            .inner
            .node_indices()
            .map(|at| self.inner.edges_directed(at, Direction::Outgoing).count())
            .collect();
        let ready = self
            .inner
            .node_indices()
            .filter(|at| waiting[at.index()] == 0)
            .rev()
            .collect();
        let total = waiting.len();
        Walk {
            graph: self.clone(),
            waiting,
            poisoned: vec![false; total],
            ready,
            open: total,
        }
    }
}

/// The state of a walk: which nodes may start now.
#[derive(Clone, Debug)]
pub struct Walk<N> {
    graph: Graph<N>,
    waiting: Vec<usize>,
    poisoned: Vec<bool>,
    /// A stack whose top is the next to hand out.
    ready: Vec<NodeIndex>,
    open: usize,
}

/// What the walk hands out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn<N> {
    /// All dependencies have succeeded.
    Run(N),
    /// A dependency failed or was skipped; tell [`Walk::done`] it failed.
    Skip(N),
}

impl<N: Clone + Eq + Hash + Ord> Walk<N> {
    /// The next node that can start, if any.
    pub fn turn(&mut self) -> Option<Turn<N>> {
        let at = self.ready.pop()?;
        let node = self.graph.inner.node_weight(at)?.clone();
        Some(if self.poisoned[at.index()] {
            Turn::Skip(node)
        } else {
            Turn::Run(node)
        })
    }

    /// Tells that a node handed out has ended. What needs a failed node is skipped.
    pub fn done(&mut self, node: &N, succeeded: bool) {
        let Some(at) = self.graph.index.get(node).copied() else {
            return;
        };
        self.open -= 1;
        let from = self.ready.len();
        for dependent in self.graph.inner.neighbors_directed(at, Direction::Incoming) {
            let slot = dependent.index();
            self.poisoned[slot] |= !succeeded;
            self.waiting[slot] -= 1;
            if self.waiting[slot] == 0 {
                self.ready.push(dependent);
            }
        }
        // petgraph lists neighbours from the newest edge; earlier ones should come off the stack first as they are,
        // so only the order among those made ready now is turned to the order the nodes were added in.
        self.ready[from..].sort_by(|a, b| b.cmp(a));
    }

    /// Have all nodes ended?
    pub fn is_finished(&self) -> bool {
        self.open == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph(edges: &[(&'static str, &'static str)]) -> Graph<&'static str> {
        let mut graph = Graph::new();
        for (node, dependency) in edges {
            graph.depend(*node, *dependency);
        }
        graph
    }

    #[test]
    fn dependencies_come_first() {
        let order = graph(&[("c", "b"), ("b", "a"), ("c", "a"), ("c", "a")])
            .order()
            .unwrap();
        assert_eq!(order, ["a", "b", "c"]);
    }

    #[test]
    fn cycles_are_named() {
        let graph = graph(&[("a", "b"), ("b", "a"), ("c", "a")]);
        assert_eq!(graph.cycles(), [["a", "b"]]);
        assert_eq!(graph.order(), None);
    }

    #[test]
    fn what_needs_a_node_is_found_through_others() {
        let graph = graph(&[("b", "a"), ("c", "b"), ("d", "b"), ("d", "c"), ("e", "x")]);
        let mut found: Vec<_> = graph.needing([&"b", &"x"]).into_iter().copied().collect();
        found.sort();
        assert_eq!(found, ["b", "c", "d", "e", "x"]);
        let mut found: Vec<_> = graph.needed_by([&"c", &"e"]).into_iter().copied().collect();
        found.sort();
        assert_eq!(found, ["a", "b", "c", "e", "x"]);
    }

    #[test]
    fn a_part_keeps_what_its_nodes_need_of_each_other() {
        let whole = graph(&[("b", "a"), ("c", "b"), ("d", "b"), ("d", "c")]);
        let mut part = whole.part(|node| *node != "b");
        assert_eq!(part.nodes().copied().collect::<Vec<_>>(), ["a", "c", "d"]);
        assert_eq!(part.dependencies(&"d").copied().collect::<Vec<_>>(), ["c"]);
        part.merge(&graph(&[("a", "x")]));
        assert_eq!(part.order().unwrap().len(), 4);
        assert_eq!(part.dependencies(&"a").copied().collect::<Vec<_>>(), ["x"]);
    }

    #[test]
    fn a_walk_of_a_cycle_never_finishes() {
        let mut walk = graph(&[("a", "b"), ("b", "a"), ("c", "d")]).walk();
        let mut seen = Vec::new();
        while let Some(Turn::Run(node) | Turn::Skip(node)) = walk.turn() {
            walk.done(&node, true);
            seen.push(node);
        }
        assert_eq!(seen, ["d", "c"]);
        assert!(!walk.is_finished());
    }

    #[test]
    fn a_failure_skips_dependents_only() {
        let mut walk = graph(&[("b", "a"), ("c", "b"), ("d", "x")]).walk();
        let mut seen = Vec::new();
        while let Some(turn) = walk.turn() {
            let (node, ok) = match turn {
                Turn::Run(node) => (node, node != "a"),
                Turn::Skip(node) => (node, false),
            };
            seen.push((node, matches!(turn, Turn::Run(_))));
            walk.done(&node, ok);
        }
        seen.sort();
        assert_eq!(
            seen,
            [("a", true), ("b", false), ("c", false), ("d", true), ("x", true)]
        );
        assert!(walk.is_finished());
    }
}
