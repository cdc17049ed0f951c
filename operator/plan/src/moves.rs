//! Moves that follow from adding or removing `count`.
//!
//! Source: Terraform `internal/refactoring/move_statement.go` (`ImpliedMoveStatements`): an instance without a key becomes
//! the first of a count, and the other way round, if nothing is there already. Never for for_each.

use std::collections::BTreeMap;

use ashlar_addr::{InstanceKey, ResourceInstance};
use ashlar_config::Tree;
use ashlar_state::State;

/// Moves objects in the state; gives for each new address the one it had before.
pub(crate) fn apply_implied(tree: &Tree, state: &mut State) -> BTreeMap<ResourceInstance, ResourceInstance> {
    let mut moved = BTreeMap::new();
    for (address, resource) in &mut state.resources {
        let Some(config) = tree.resource(&address.config()) else {
            continue;
        };
        let (from, to) = if config.count.is_some() {
            (InstanceKey::None, InstanceKey::Int(0))
        } else if config.for_each.is_none() {
            (InstanceKey::Int(0), InstanceKey::None)
        } else {
            continue;
        };
        if resource.instances.contains_key(&to) {
            continue;
        }
        if let Some(instance) = resource.instances.remove(&from) {
            resource.instances.insert(to.clone(), instance);
            moved.insert(address.instance(to), address.instance(from));
        }
    }
    moved
}
