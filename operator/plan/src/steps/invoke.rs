//! The order between changes and the actions they trigger.
//!
//! Source: Terraform `transform_action_trigger_config.go`. All that comes before a resource comes before any of its instances
//! changes, entry after entry; all that comes after it comes after every one of them. Who depends on the resource waits for
//! what comes before it, and not for what comes after.

use std::collections::{BTreeMap, HashMap};

use ashlar_addr::ConfigResource;
use ashlar_graph::Graph;

use super::{Facts, Joins, Op, act::Act, op_of};
use crate::{
    model::{Action, Change},
    needs::condition_nodes,
};

/// The invocations of one resource at one side of its changes, by block and entry.
type Entries = BTreeMap<(usize, usize), Vec<Op>>;

/// Adds the invocations to a table that holds the operations and the configuration's steps already.
pub(super) fn link(draft: &mut Graph<Op>, joins: &mut Joins, facts: &Facts<'_>, acts: &[Act<'_>]) {
    let mut before: BTreeMap<ConfigResource, Entries> = BTreeMap::new();
    let mut after: BTreeMap<ConfigResource, Entries> = BTreeMap::new();
    for (index, invocation) in facts.invocations.iter().enumerate() {
        let op = Op::Invoke(index);
        draft.depend(op.clone(), Op::Action(invocation.action.config()));
        draft.depend(op.clone(), Op::Configure(invocation.provider.whole()));
        let Some(trigger) = &invocation.trigger else {
            continue;
        };
        let resource = trigger.resource.resource.config();
        link_condition(draft, facts, &resource, trigger.block, &op);
        if !resource.module.is_root() {
            draft.depend(Op::Close(resource.module.clone()), op.clone());
        }
        let side = if invocation.is_before() {
            &mut before
        } else {
            &mut after
        };
        let entries = side.entry(resource).or_default();
        entries.entry((trigger.block, trigger.at)).or_default().push(op);
    }
    if before.is_empty() && after.is_empty() {
        return;
    }
    let done = operations(facts.changes, acts);
    let of = |resource: &ConfigResource| {
        let mut ops = done.get(resource).cloned().unwrap_or_default();
        ops.push(Op::Settle(resource.clone()));
        ops
    };
    for (resource, entries) in before {
        let last = chain(draft, joins, Vec::new(), entries);
        joins.connect(draft, &of(&resource), &last);
    }
    for (resource, entries) in after {
        chain(draft, joins, of(&resource), entries);
    }
}

/// The condition is decided once more when the action is about to be invoked.
fn link_condition(
    draft: &mut Graph<Op>,
    facts: &Facts<'_>,
    resource: &ConfigResource,
    block: usize,
    op: &Op,
) {
    let config = facts.sight.tree.resource(resource);
    let trigger = config.and_then(|config| config.lifecycle.action_triggers.get(block));
    let Some(condition) = trigger.and_then(|trigger| trigger.condition.as_ref()) else {
        return;
    };
    for node in condition_nodes(&resource.module, condition) {
        if let Some(target) = op_of(&node).filter(|target| draft.contains(target)) {
            draft.depend(op.clone(), target);
        }
    }
}

/// Entry after entry, behind what comes first; gives those of the last.
fn chain(draft: &mut Graph<Op>, joins: &mut Joins, mut last: Vec<Op>, entries: Entries) -> Vec<Op> {
    for ops in entries.into_values() {
        joins.connect(draft, &ops, &last);
        last = ops;
    }
    last
}

/// All that is done with objects, by resource.
fn operations(changes: &[Change], acts: &[Act<'_>]) -> HashMap<ConfigResource, Vec<Op>> {
    let mut all: HashMap<ConfigResource, Vec<Op>> = HashMap::new();
    let acting = acts.iter().map(|act| (act.change, act.op.clone()));
    let forgotten = changes
        .iter()
        .enumerate()
        .filter(|(_, change)| change.action == Action::Forget)
        .map(|(at, change)| (change, Op::Forget(at)));
    for (change, op) in acting.chain(forgotten) {
        all.entry(change.address.resource.config()).or_default().push(op);
    }
    all
}
