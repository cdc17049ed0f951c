//! The values of a configuration over a state in which nothing is planned, read or changed: what a console looks at.
//!
//! Source: Terraform `internal/terraform/context_eval.go`, whose walk starts providers for their schemas alone.

use std::{collections::BTreeMap, sync::Arc};

use ashlar_config::Tree;
use ashlar_diag::Diags;
use ashlar_funcs::Caps;
use ashlar_graph::Turn;
use ashlar_state::State;
use ashlar_value::{Marks, Value};

use crate::{
    engine::Schemas,
    ephemeral::is_ephemeral,
    model::Mode,
    node::{Node, Sight, build, cycle_faults},
    parts::{self, in_each, seen_outside},
    selection::Selection,
    stored_value::stored_value,
    values::Values,
};

/// Fills in all locals, resources and what called modules put out; what has a fault has a value of which nothing is known,
/// and is told.
pub fn look<'a>(
    tree: &'a Tree,
    variables: &BTreeMap<Arc<str>, Value>,
    state: &State,
    schemas: &'a Schemas,
    workspace: &'a str,
    caps: &'a dyn Caps,
) -> (Values<'a>, Diags) {
    let values = Values::for_console(tree, variables, schemas, workspace, caps);
    let sight = Sight {
        tree,
        state,
        schemas,
        invoke: &[],
        refused: &BTreeMap::new(),
        selection: &Selection::whole(),
    };
    let graph = build(&sight, None);
    let mut diags = cycle_faults(&graph);
    if diags.has_errors() {
        return (values, diags);
    }
    let mut walk = graph.walk();
    while let Some(turn) = walk.turn() {
        let (Turn::Run(node) | Turn::Skip(node)) = turn;
        let (Ok(told) | Err(told)) = visit(tree, &values, state, schemas, &node);
        diags.extend(told);
        walk.done(&node, true);
    }
    (values, diags)
}

fn visit(
    tree: &Tree,
    values: &Values<'_>,
    state: &State,
    schemas: &Schemas,
    node: &Node,
) -> Result<Diags, Diags> {
    match node {
        Node::Call(module) => parts::call(tree, values, module),
        Node::Variable(module, name) => parts::variable(tree, values, module, name).inspect_err(|_| {
            for instance in &*values.instances(module) {
                instance.set_variable(name, Value::dynamic());
            }
        }),
        Node::Local(module, name) => parts::local(values, module, name).inspect_err(|_| {
            for instance in &*values.instances(module) {
                instance.set_local(name, Value::dynamic());
            }
        }),
        Node::Output(module, name) if !module.is_root() => in_each(&*values.instances(module), |instance| {
            let Some(output) = instance.module().outputs.get(name) else {
                return Diags::new();
            };
            let (value, told) = ashlar_eval::evaluate_as(&output.value, &output.ty, &instance.scope());
            let value = if told.has_errors() {
                Value::dynamic()
            } else {
                value
            };
            instance.set_output(name, seen_outside(output, value));
            told
        }),
        // None is ever open here, and nothing is kept of any.
        Node::Resource(resource) if is_ephemeral(resource) => {
            for (module, address) in values.places(resource) {
                let value = Value::dynamic().with_marks(Marks::EPHEMERAL);
                module.set_resource(&address.resource, value);
            }
            Ok(Diags::new())
        }
        Node::Resource(resource) => {
            let Some(config) = tree.resource(resource) else {
                return Ok(Diags::new());
            };
            let mut diags = Diags::new();
            for (module, address) in values.places(resource) {
                let stored = stored_value(schemas, Mode::Normal, state, &address, config);
                let value = diags.take(stored).unwrap_or_else(Value::dynamic);
                module.set_resource(&resource.resource, value);
            }
            Ok(diags)
        }
        Node::Provider(_)
        | Node::Validation(..)
        | Node::Orphan(_)
        | Node::Output(..)
        | Node::Check(..)
        | Node::Close(_)
        | Node::Action(_)
        | Node::Trigger(..)
        | Node::Request(_)
        | Node::Release(_) => Ok(Diags::new()),
    }
}
