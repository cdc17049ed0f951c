//! The values of a configuration over a state in which nothing is planned, read or changed: what a console looks at.
//!
//! Source: Terraform `internal/terraform/context_eval.go`, whose walk starts providers for their schemas alone.

use std::{collections::BTreeMap, sync::Arc};

use ashlar_config::Module;
use ashlar_diag::Diags;
use ashlar_funcs::Caps;
use ashlar_graph::Turn;
use ashlar_state::State;
use ashlar_value::Value;

use crate::{
    engine::Schemas,
    model::Mode,
    node::{Node, Sight, build, cycle_faults},
    stored_value::stored_value,
    values::Values,
};

/// Fills in all locals and resources; what has a fault has a value of which nothing is known, and is told.
pub fn look<'a>(
    module: &'a Module,
    variables: &'a BTreeMap<Arc<str>, Value>,
    state: &State,
    schemas: &'a Schemas,
    workspace: &'a str,
    caps: &'a dyn Caps,
) -> (Values<'a>, Diags) {
    let values = Values::new(module, variables, schemas, workspace, false, caps).for_console();
    let sight = Sight {
        module,
        state,
        schemas,
    };
    let graph = build(&sight, None);
    let mut diags = cycle_faults(&graph);
    if diags.has_errors() {
        return (values, diags);
    }
    let mut walk = graph.walk();
    while let Some(turn) = walk.turn() {
        let (Turn::Run(node) | Turn::Skip(node)) = turn;
        match &node {
            Node::Local(name) => {
                if let Some(local) = module.locals.get(name) {
                    let (value, faults) = ashlar_eval::evaluate(&local.expr, &values.scope());
                    let value = if faults.has_errors() {
                        Value::dynamic()
                    } else {
                        value
                    };
                    values.set_local(name, value);
                    diags.extend(faults);
                }
            }
            Node::Resource(resource) => {
                if let Some(config) = module.resources.get(&resource.resource) {
                    let stored = stored_value(schemas, Mode::Normal, state, &resource.resource, config);
                    let value = diags.take(stored).unwrap_or_else(Value::dynamic);
                    values.set_resource(&resource.resource, value);
                }
            }
            Node::Provider(_) | Node::Orphan(_) | Node::Output(_) => {}
        }
        walk.done(&node, true);
    }
    (values, diags)
}
