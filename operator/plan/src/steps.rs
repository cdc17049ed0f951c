//! Steps: the table that apply interprets, with the order among them.
//!
//! Built from the changes, the configuration's references and the dependencies stored in state. What a change comes to is told
//! in `act`, the order between destroying and making in `destroy`. A table whose steps wait for each other in a circle is
//! refused here, since it could never be applied.
//! A step printed is one line; those lines are what tests compare.

mod act;
mod destroy;
mod invoke;
mod joins;
#[cfg(test)]
mod tests;

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    fmt,
    sync::Arc,
};

use ashlar_addr::{
    ConfigAction, ConfigResource, InstanceKey, Mode as ResourceMode, Module, ProviderConfig, ResourceInstance,
};
use ashlar_diag::{Diag, Diags};
use ashlar_graph::Graph;

use act::{Act, Part, acts};
use joins::Joins;

use crate::{
    ephemeral::{add_releases, is_ephemeral},
    model::{Action, Change, Invocation, Mode, Reason},
    needs::NamedKeys,
    node::{Node, Sight},
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
    /// Starts and configures a provider, as often as its configuration is repeated.
    Configure(ProviderConfig),
    /// Finds out which instances a called module has.
    Call(Module),
    /// Evaluates a variable of a called module.
    Variable(Module, Arc<str>),
    /// Decides the validations of a variable.
    Validate(Module, Arc<str>),
    /// Evaluates a local value.
    Local(Module, Arc<str>),
    /// Creates or updates an object, or the creating half of a replacement (which deposes the old object first where the
    /// new one comes before its destruction).
    Write(usize),
    /// Reads a data source.
    Read(usize),
    /// Destroys an object, or the destroying half of a replacement.
    Delete(usize),
    /// Removes a data source from state.
    Drop(usize),
    /// Removes an object from state that stays as it is.
    Forget(usize),
    /// Decides the conditions of an instance that does not change.
    Assert(usize),
    /// Makes up a resource's value from its instances.
    Settle(ConfigResource),
    /// Nothing: many steps wait for it, and it for many, which takes fewer edges than each waiting for each.
    Join(u32),
    /// Evaluates an output, that of the root module into state.
    Output(Module, Arc<str>),
    /// Nothing: all of a called module is done.
    Close(Module),
    /// Decides what a check asserts.
    Check(Module, Arc<str>),
    /// Evaluates what an action is configured with.
    Action(ConfigAction),
    /// Invokes an action: an index into the plan's invocations.
    Invoke(usize),
    /// Opens an ephemeral resource.
    Open(ConfigResource),
    /// Closes it again, whatever became of the steps that needed it.
    Release(ConfigResource),
}

/// Prints the step as tests and `ashlar graph` show it.
pub struct Line<'a> {
    /// The step's index.
    pub id: StepId,
    /// The step.
    pub step: &'a Step,
    /// The plan's changes.
    pub changes: &'a [Change],
    /// The plan's invocations.
    pub invocations: &'a [Invocation],
}

impl fmt::Display for Line<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "s{} {}",
            self.id.0,
            describe(&self.step.op, self.changes, self.invocations)
        )?;
        if let Some(reason) = match &self.step.op {
            Op::Write(at) | Op::Read(at) | Op::Delete(at) | Op::Forget(at) => {
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

/// What a step does, as people read it.
fn describe(op: &Op, changes: &[Change], invocations: &[Invocation]) -> String {
    let object = |verb: &str, at: &usize| {
        let change = changes.get(*at);
        let address = change.map_or_else(String::new, |change| change.address.to_string());
        match change.and_then(|change| change.deposed) {
            Some(key) => format!("{verb} {address} deposed {key}"),
            None => format!("{verb} {address}"),
        }
    };
    match op {
        Op::Configure(provider) => format!("configure {provider}"),
        Op::Call(module) => format!("expand {module}"),
        Op::Variable(module, name) => format!("evaluate {}var.{name}", prefix(module)),
        Op::Validate(module, name) => format!("validate {}var.{name}", prefix(module)),
        Op::Local(module, name) => format!("evaluate {}local.{name}", prefix(module)),
        Op::Write(at) => {
            let verb = match changes.get(*at).map(|change| change.action) {
                Some(Action::Update) => "update",
                Some(Action::CreateThenDelete) => "depose and create",
                _ => "create",
            };
            object(verb, at)
        }
        Op::Read(at) => object("read", at),
        Op::Delete(at) => object("delete", at),
        Op::Drop(at) => object("drop", at),
        Op::Forget(at) => object("forget", at),
        Op::Assert(at) => object("assert", at),
        Op::Settle(resource) => format!("settle {resource}"),
        Op::Join(join) => format!("join {join}"),
        Op::Output(module, name) => format!("output {}{name}", prefix(module)),
        Op::Close(module) => format!("close {module}"),
        Op::Check(module, name) => format!("check {}{name}", prefix(module)),
        Op::Action(action) => format!("evaluate {action}"),
        Op::Invoke(at) => match invocations.get(*at) {
            None => "invoke".to_owned(),
            Some(Invocation { action, trigger, .. }) => match trigger {
                None => format!("invoke {action}"),
                Some(trigger) => format!("invoke {action} {} {}", trigger.event.word(), trigger.resource),
            },
        },
        Op::Open(resource) => format!("open {resource}"),
        Op::Release(resource) => format!("close {resource}"),
    }
}

/// What stands in front of names in a module.
fn prefix(module: &Module) -> String {
    if module.is_root() {
        String::new()
    } else {
        format!("{module}.")
    }
}

/// What the steps are about.
pub(crate) struct Facts<'a> {
    /// The configuration, and what the graph was made from.
    pub(crate) sight: &'a Sight<'a>,
    /// The changes, sorted.
    pub(crate) changes: &'a [Change],
    /// The invocations of actions, sorted.
    pub(crate) invocations: &'a [Invocation],
    /// What the run is for.
    pub(crate) mode: Mode,
}

/// Makes the table. `graph` is the plan's graph of configuration; `stored` gives the dependencies recorded in state of each
/// changed object, by its index among the changes.
pub(crate) fn build(
    graph: &Graph<Node>,
    facts: &Facts<'_>,
    stored: &[Arc<[ConfigResource]>],
) -> Result<Vec<Step>, Diags> {
    let mut draft = Graph::new();
    let mut joins = Joins::default();
    let acts = acts(facts);
    add_operations(&mut draft, graph, facts.changes, &acts, facts.mode);
    invoke::link(&mut draft, &mut joins, facts, &acts);
    link_configuration(&mut draft, graph, facts, &acts);
    destroy::link(&mut draft, &mut joins, &acts, stored, facts.mode);
    link_checks(&mut draft, &acts);
    let release = |op: &Op| match op {
        Op::Open(resource) => Some(Op::Release(resource.clone())),
        _ => None,
    };
    add_releases(&mut draft, release, |op| matches!(op, Op::Close(_)));
    let order = draft.order().ok_or_else(|| cycle_faults(&draft, facts))?;
    Ok(number(&draft, &order))
}

fn cycle_faults(draft: &Graph<Op>, facts: &Facts<'_>) -> Diags {
    let fault = |group: Vec<Op>| {
        let real = group.iter().filter(|op| !matches!(op, Op::Join(_)));
        let names: Vec<String> = real
            .map(|op| describe(op, facts.changes, facts.invocations))
            .collect();
        let detail = "Each of these steps would have to wait for another of them, so none could be the first. Bring the \
                      configuration to what is wanted in two smaller changes, for example the removals first and the rest \
                      after they are applied.";
        Diag::error(format!("Cycle: {}", names.join(", ")), detail)
    };
    draft.cycles().into_iter().map(fault).collect()
}

fn add_operations(
    draft: &mut Graph<Op>,
    graph: &Graph<Node>,
    changes: &[Change],
    acts: &[Act<'_>],
    mode: Mode,
) {
    for act in acts {
        if matches!(act.op, Op::Drop(_)) {
            draft.add(act.op.clone());
        } else {
            draft.depend(act.op.clone(), Op::Configure(act.change.provider.whole()));
        }
        if act.part == Part::Make {
            draft.depend(Op::Settle(act.change.address.resource.config()), act.op.clone());
        }
    }
    for (at, change) in changes.iter().enumerate() {
        if change.action == Action::Forget {
            draft.add(Op::Forget(at));
        }
    }
    for node in graph.nodes() {
        match node {
            // They are there if something needs them.
            Node::Provider(_) => {}
            // While destroying, the root module's outputs only go, which needs no evaluation; and nothing has to be valid.
            Node::Output(module, _) if mode == Mode::Destroy && module.is_root() => {}
            Node::Validation(..) | Node::Check(..) | Node::Action(_) if mode == Mode::Destroy => {}
            // Those that are opened are closed after what that comes to among the steps.
            Node::Release(_) => {}
            node => {
                let Some(op) = op_of(node) else { continue };
                if matches!(op, Op::Open(_)) {
                    let needed = graph.dependencies(node);
                    let providers = needed.filter(|needed| matches!(needed, Node::Provider(_)));
                    for configure in providers.filter_map(op_of) {
                        draft.depend(op.clone(), configure);
                    }
                }
                draft.add(op);
            }
        }
    }
}

/// What a check reads, it reads when all that is made is made.
fn link_checks(draft: &mut Graph<Op>, acts: &[Act<'_>]) {
    let reads = |act: &&Act<'_>| act.change.reason == Some(Reason::ReadBecauseCheckNested);
    let nested: Vec<&Op> = acts.iter().filter(reads).map(|act| &act.op).collect();
    if nested.is_empty() {
        return;
    }
    let made = |act: &&Act<'_>| {
        act.part == Part::Make && act.change.address.resource.resource.mode == ResourceMode::Managed
    };
    // Others are numbered from nought; this one is the last.
    let join = Op::Join(u32::MAX);
    for act in acts.iter().filter(made) {
        draft.depend(join.clone(), act.op.clone());
    }
    for read in nested {
        draft.depend(read.clone(), join.clone());
    }
}

/// The step at whose end a node of the configuration is done.
fn op_of(node: &Node) -> Option<Op> {
    Some(match node.clone() {
        Node::Provider(provider) => Op::Configure(provider),
        Node::Call(module) => Op::Call(module),
        Node::Variable(module, name) => Op::Variable(module, name),
        Node::Validation(module, name) => Op::Validate(module, name),
        Node::Local(module, name) => Op::Local(module, name),
        Node::Resource(resource) if is_ephemeral(&resource) => Op::Open(resource),
        Node::Resource(resource) => Op::Settle(resource),
        Node::Output(module, name) => Op::Output(module, name),
        Node::Close(module) => Op::Close(module),
        Node::Check(module, name) => Op::Check(module, name),
        Node::Action(action) => Op::Action(action),
        // What they come to is told by the invocations.
        Node::Orphan(_) | Node::Trigger(..) | Node::Request(_) | Node::Release(_) => return None,
    })
}

/// What is done with the instances of each resource, by their keys, in all instances of its module.
type Visited<'a> = HashMap<ConfigResource, BTreeMap<&'a InstanceKey, Vec<&'a Op>>>;

/// The steps of instances for which what names them by key need wait alone: the others may fail then. Data sources of called
/// modules are waited for as a whole, as one instance of the module may have read what another reads now.
fn visited<'a>(facts: &Facts<'_>, acts: &'a [Act<'_>]) -> Visited<'a> {
    let mut visited = Visited::new();
    if facts.mode != Mode::Normal {
        return visited;
    }
    for act in acts.iter().filter(|act| act.part == Part::Make) {
        let ResourceInstance { resource, key } = &act.change.address;
        let is_data = resource.resource.mode == ResourceMode::Data;
        if *key != InstanceKey::None && (!is_data || resource.module.is_root()) {
            let keys = visited.entry(resource.config()).or_default();
            keys.entry(key).or_default().push(&act.op);
        }
    }
    visited
}

/// What a node of the configuration stands for among the steps: `(what waits, what is waited for)`.
///
/// Source for what waits for single instances: Terraform `transform_reference.go` (`referenceMapKey`), by which a reference to
/// an instance means that instance's step if it has any, else all of its resource.
fn link_configuration(draft: &mut Graph<Op>, graph: &Graph<Node>, facts: &Facts<'_>, acts: &[Act<'_>]) {
    // Operations of each resource, to make them wait for what the resource refers to.
    let mut operations: BTreeMap<ConfigResource, Vec<Op>> = BTreeMap::new();
    for op in draft.nodes() {
        if let Op::Settle(resource) = op {
            let own = draft
                .dependencies(op)
                .filter(|op| matches!(op, Op::Write(_) | Op::Read(_) | Op::Assert(_)))
                .cloned()
                .collect();
            operations.insert(resource.clone(), own);
        }
    }
    let known: BTreeSet<Op> = draft.nodes().cloned().collect();
    let visited = visited(facts, acts);
    let named = NamedKeys::new(facts.sight, graph);
    let mut edges = Vec::new();
    for node in graph.nodes() {
        let waiting: Vec<Op> = match node {
            Node::Resource(resource) if !is_ephemeral(resource) => {
                let mut own = operations.get(resource).cloned().unwrap_or_default();
                own.push(Op::Settle(resource.clone()));
                own
            }
            node => op_of(node).into_iter().collect(),
        };
        for dependency in graph.dependencies(node) {
            let instances = match dependency {
                Node::Resource(resource) => visited.get(resource).and_then(|visited| {
                    let keys = named.of(node, resource)?.iter();
                    let steps: Option<Vec<_>> = keys.map(|key| visited.get(key)).collect();
                    Some(steps?.into_iter().flatten().map(|op| (*op).clone()).collect())
                }),
                _ => None,
            };
            let targets: Vec<Op> = instances.unwrap_or_else(|| op_of(dependency).into_iter().collect());
            for (op, target) in waiting
                .iter()
                .flat_map(|op| targets.iter().map(move |to| (op, to)))
            {
                // To settle a resource, or to evaluate an action, takes no provider of its own.
                let idle = matches!((op, target), (Op::Settle(_) | Op::Action(_), Op::Configure(_)));
                if !idle && known.contains(op) && known.contains(target) {
                    edges.push((op.clone(), target.clone()));
                }
            }
        }
    }
    for (op, target) in edges {
        draft.depend(op, target);
    }
}

/// Gives the steps their numbers in an order that has dependencies first.
fn number(draft: &Graph<Op>, order: &[Op]) -> Vec<Step> {
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
