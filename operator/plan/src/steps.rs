//! Steps: the table that apply interprets, with the order among them.
//!
//! Built from the changes, the configuration's references and the dependencies stored in state. The rules of order are
//! Terraform's (`transform_destroy_edge.go`, `transform_destroy_cbd.go`):
//! with A depending on B, destroy(A) comes before destroy(B) and before create/update(B); create/update(A) comes after
//! destroy(B), or, if B is to be created before it is destroyed, before it.
//! A step printed is one line; those lines are what tests compare.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    fmt,
    sync::Arc,
};

use ashlar_addr::{ConfigResource, ProviderConfig};
use ashlar_graph::Graph;

use crate::{
    model::{Action, Change, Mode},
    node::Node,
};

/// Index of a step in its plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StepId(pub u32);

/// One step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// What to do.
    pub op: Op,
    /// Which steps must have succeeded before.
    pub after: Vec<StepId>,
}

/// The opcodes. A `usize` is an index into the plan's changes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Op {
    /// Starts and configures a provider.
    Configure(ProviderConfig),
    /// Evaluates a local value.
    Local(Arc<str>),
    /// Creates or updates an object, or the creating half of a replacement (which deposes the old object first where the
    /// new one comes before its destruction).
    Write(usize),
    /// Reads a data source.
    Read(usize),
    /// Destroys an object, or the destroying half of a replacement.
    Delete(usize),
    /// Removes a data source from state.
    Drop(usize),
    /// Makes up a resource's value from its instances and checks the conditions of those that did not change.
    Settle(ConfigResource),
    /// All destroying of a resource's objects is done; only there to keep the number of edges linear.
    Destroyed(ConfigResource),
    /// Evaluates a root output into state.
    Output(Arc<str>),
}

/// Prints the step as tests and `ashlar graph` show it.
pub struct Line<'a> {
    /// The step's index.
    pub id: StepId,
    /// The step.
    pub step: &'a Step,
    /// The plan's changes.
    pub changes: &'a [Change],
}

impl fmt::Display for Line<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "s{} ", self.id.0)?;
        let object = |at: &usize| {
            self.changes
                .get(*at)
                .map_or_else(String::new, |change| match change.deposed {
                    Some(key) => format!("{} deposed {key}", change.address),
                    None => change.address.to_string(),
                })
        };
        match &self.step.op {
            Op::Configure(provider) => write!(f, "configure {provider}")?,
            Op::Local(name) => write!(f, "evaluate local.{name}")?,
            Op::Write(at) => {
                let verb = match self.changes.get(*at).map(|change| change.action) {
                    Some(Action::Update) => "update",
                    Some(Action::CreateThenDelete) => "depose and create",
                    _ => "create",
                };
                write!(f, "{verb} {}", object(at))?;
            }
            Op::Read(at) => write!(f, "read {}", object(at))?,
            Op::Delete(at) => write!(f, "delete {}", object(at))?,
            Op::Drop(at) => write!(f, "drop {}", object(at))?,
            Op::Settle(resource) => write!(f, "settle {resource}")?,
            Op::Destroyed(resource) => write!(f, "destroyed {resource}")?,
            Op::Output(name) => write!(f, "output {name}")?,
        }
        if let Some(reason) = match &self.step.op {
            Op::Write(at) | Op::Read(at) | Op::Delete(at) => {
                self.changes.get(*at).and_then(|change| change.reason)
            }
            _ => None,
        } {
            write!(f, " because {}", reason.as_str())?;
        }
        if !self.step.after.is_empty() {
            f.write_str(" after")?;
            for id in &self.step.after {
                write!(f, " s{}", id.0)?;
            }
        }
        Ok(())
    }
}

/// Makes the table. `graph` is the plan's graph of configuration; `changes` are sorted; `stored` gives the dependencies
/// recorded in state of each changed object, by its index in `changes`.
pub(crate) fn build(
    graph: &Graph<Node>,
    changes: &[Change],
    stored: &[Arc<[ConfigResource]>],
    mode: Mode,
) -> Vec<Step> {
    let mut draft = Graph::new();
    let creators = add_operations(&mut draft, graph, changes, mode);
    link_configuration(&mut draft, graph);
    link_destroys(&mut draft, changes, stored, &creators);
    number(&draft)
}

/// Which changes create or update something, by resource.
type Creators = BTreeMap<ConfigResource, Vec<usize>>;

fn add_operations(draft: &mut Graph<Op>, graph: &Graph<Node>, changes: &[Change], mode: Mode) -> Creators {
    let mut creators = Creators::new();
    for (at, change) in changes.iter().enumerate() {
        let resource = change.address.resource.config();
        let configure = Op::Configure(change.provider.clone());
        let creates = match change.action {
            Action::NoOp => false,
            Action::Read => {
                draft.depend(Op::Read(at), configure.clone());
                draft.depend(Op::Settle(resource.clone()), Op::Read(at));
                false
            }
            Action::Create | Action::Update => true,
            Action::DeleteThenCreate | Action::CreateThenDelete => {
                draft.depend(Op::Delete(at), configure.clone());
                true
            }
            Action::Delete if change.address.resource.resource.mode == ashlar_addr::Mode::Managed => {
                draft.depend(Op::Delete(at), configure.clone());
                false
            }
            Action::Delete => {
                draft.add(Op::Drop(at));
                false
            }
        };
        if creates {
            draft.depend(Op::Write(at), configure);
            draft.depend(Op::Settle(resource.clone()), Op::Write(at));
            creators.entry(resource).or_default().push(at);
        }
    }
    for node in graph.nodes() {
        match node {
            Node::Provider(_) | Node::Orphan(_) => {}
            Node::Local(name) => draft.add(Op::Local(name.clone())),
            Node::Resource(resource) => draft.add(Op::Settle(resource.clone())),
            // While destroying, outputs only go, which needs no evaluation.
            Node::Output(name) if mode != Mode::Destroy => draft.add(Op::Output(name.clone())),
            Node::Output(_) => {}
        }
    }
    creators
}

/// What a node of the configuration stands for among the steps: `(what waits, what is waited for)`.
fn link_configuration(draft: &mut Graph<Op>, graph: &Graph<Node>) {
    // Operations of each resource, to make them wait for what the resource refers to.
    let mut operations: BTreeMap<ConfigResource, Vec<Op>> = BTreeMap::new();
    for op in draft.nodes() {
        if let Op::Settle(resource) = op {
            let own = draft
                .dependencies(op)
                .filter(|op| matches!(op, Op::Write(_) | Op::Read(_)))
                .cloned()
                .collect();
            operations.insert(resource.clone(), own);
        }
    }
    let known: BTreeSet<Op> = draft.nodes().cloned().collect();
    let mut edges = Vec::new();
    for node in graph.nodes() {
        let waiting: Vec<Op> = match node {
            Node::Provider(provider) => vec![Op::Configure(provider.clone())],
            Node::Local(name) => vec![Op::Local(name.clone())],
            Node::Output(name) => vec![Op::Output(name.clone())],
            Node::Orphan(_) => continue,
            Node::Resource(resource) => {
                let mut own = operations.get(resource).cloned().unwrap_or_default();
                own.push(Op::Settle(resource.clone()));
                own
            }
        };
        for dependency in graph.dependencies(node) {
            let target = match dependency {
                Node::Provider(provider) => Op::Configure(provider.clone()),
                Node::Local(name) => Op::Local(name.clone()),
                Node::Output(name) => Op::Output(name.clone()),
                Node::Resource(resource) => Op::Settle(resource.clone()),
                Node::Orphan(_) => continue,
            };
            for op in &waiting {
                // A settle step needs no provider of its own.
                let idle = matches!((op, &target), (Op::Settle(_), Op::Configure(_)));
                if !idle && known.contains(op) && known.contains(&target) {
                    edges.push((op.clone(), target.clone()));
                }
            }
        }
    }
    for (op, target) in edges {
        draft.depend(op, target);
    }
}

fn link_destroys(
    draft: &mut Graph<Op>,
    changes: &[Change],
    stored: &[Arc<[ConfigResource]>],
    creators: &Creators,
) {
    let mut destroyers: BTreeMap<ConfigResource, Vec<usize>> = BTreeMap::new();
    for (at, change) in changes.iter().enumerate() {
        let destroys = matches!(
            change.action,
            Action::Delete | Action::DeleteThenCreate | Action::CreateThenDelete
        );
        if !destroys || change.address.resource.resource.mode != ashlar_addr::Mode::Managed {
            continue;
        }
        let resource = change.address.resource.config();
        draft.depend(Op::Destroyed(resource.clone()), Op::Delete(at));
        destroyers.entry(resource).or_default().push(at);
        // Its own new object comes after the destruction, or before it.
        match change.action {
            Action::DeleteThenCreate => draft.depend(Op::Write(at), Op::Delete(at)),
            Action::CreateThenDelete => draft.depend(Op::Delete(at), Op::Write(at)),
            _ => {}
        }
    }
    let created_first = |resource: &ConfigResource| {
        let of = |at: &usize| {
            changes
                .get(*at)
                .is_some_and(|change| change.create_before_destroy)
        };
        destroyers.get(resource).is_some_and(|own| own.iter().any(of))
    };
    // Resource by resource, so that the number of edges stays linear in instances.
    for (resource, own) in &destroyers {
        for dependency in dependencies_of(own, stored, resource) {
            for other in destroyers.get(&dependency).into_iter().flatten() {
                draft.depend(Op::Delete(*other), Op::Destroyed(resource.clone()));
            }
            if creators.contains_key(&dependency) && created_first(resource) {
                for at in own {
                    draft.depend(Op::Delete(*at), Op::Settle(dependency.clone()));
                }
            } else {
                for other in creators.get(&dependency).into_iter().flatten() {
                    draft.depend(Op::Write(*other), Op::Destroyed(resource.clone()));
                }
            }
        }
    }
    for (resource, own) in creators {
        for dependency in dependencies_of(own, stored, resource) {
            let Some(others) = destroyers.get(&dependency) else {
                continue;
            };
            if created_first(&dependency) {
                for other in others {
                    draft.depend(Op::Delete(*other), Op::Settle(resource.clone()));
                }
            } else {
                for at in own {
                    draft.depend(Op::Write(*at), Op::Destroyed(dependency.clone()));
                }
            }
        }
    }
}

/// All resources that any of these changes' objects depends on, itself left out.
fn dependencies_of(
    changes: &[usize],
    stored: &[Arc<[ConfigResource]>],
    resource: &ConfigResource,
) -> BTreeSet<ConfigResource> {
    let of = |at: &usize| stored.get(*at).into_iter().flat_map(|stored| stored.iter());
    changes
        .iter()
        .flat_map(of)
        .filter(|dependency| *dependency != resource)
        .cloned()
        .collect()
}

/// Gives the steps their numbers, dependencies first where there is no cycle (a cycle is reported before apply).
fn number(draft: &Graph<Op>) -> Vec<Step> {
    let order = draft.order().unwrap_or_else(|| draft.nodes().cloned().collect());
    let ids: HashMap<&Op, StepId> = order
        .iter()
        .enumerate()
        .map(|(at, op)| (op, StepId(u32::try_from(at).unwrap_or(u32::MAX))))
        .collect();
    order
        .iter()
        .map(|op| {
            let after: BTreeSet<StepId> = draft
                .dependencies(op)
                .filter_map(|dependency| ids.get(dependency).copied())
                .collect();
            Step {
                op: op.clone(),
                after: after.into_iter().collect(),
            }
        })
        .collect()
}
