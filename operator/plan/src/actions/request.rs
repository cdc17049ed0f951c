//! Actions that a person asked for: they alone are invoked, with what the state tells of the objects they refer to.
//!
//! Source: Terraform `node_action_invoke.go`, `transform_action_invoke_plan.go`.

use ashlar_addr::{ActionInstance, InstanceKey};
use ashlar_config::{ActionConfig, Tree};
use ashlar_diag::{Diag, Diags};
use ashlar_graph::Graph;
use ashlar_value::Value;

use super::without_ephemeral;
use crate::{
    engine::{lock, unmarked},
    model::Invocation,
    node::{Node, Nodes},
    provider_diags::place_all,
    walk::PlanWalk,
};

/// The faults of what is asked for and not declared.
pub(crate) fn undeclared(tree: &Tree, asked: &[ActionInstance]) -> Diags {
    let missing = asked
        .iter()
        .filter(|action| tree.action(&action.config()).is_none());
    let fault = |action: &ActionInstance| {
        let detail = "Only an action that an action block declares can be invoked.";
        let summary = format!("action {action} does not exist in the configuration");
        Diag::error(summary, detail)
    };
    missing.map(fault).collect()
}

/// What requests need, and the outputs of the root module that look at nothing else.
pub(crate) fn needs_of_requests(graph: &Graph<Node>) -> Graph<Node> {
    let is_request = |node: &&Node| matches!(node, Node::Request(_));
    let mut kept = behind(graph, graph.nodes().filter(is_request));
    let is_resource = |node: &&Node| matches!(node, Node::Resource(_));
    for output in graph
        .nodes()
        .filter(|node| matches!(node, Node::Output(module, _) if module.is_root()))
    {
        let needed = behind(graph, [output]);
        let mut resources = needed.iter().filter(is_resource).peekable();
        if resources.peek().is_some() && resources.all(|resource| kept.contains(resource)) {
            kept.extend(needed);
        }
    }
    let mut needs = Graph::new();
    for node in &kept {
        needs.add(node.clone());
        for dependency in graph.dependencies(node) {
            needs.depend(node.clone(), dependency.clone());
        }
    }
    needs
}

/// Some nodes and all that they need.
fn behind<'g>(graph: &'g Graph<Node>, nodes: impl IntoIterator<Item = &'g Node>) -> Nodes {
    let mut open: Vec<&Node> = nodes.into_iter().collect();
    let mut found = Nodes::new();
    while let Some(node) = open.pop() {
        if found.insert(node.clone()) {
            open.extend(graph.dependencies(node));
        }
    }
    found
}

/// Plans the invocation of an action, or of all its instances.
pub(crate) async fn request(walk: &PlanWalk<'_, '_>, asked: &ActionInstance) -> Result<Diags, Diags> {
    let Some(config) = walk.engine.tree.action(&asked.config()) else {
        return Ok(Diags::new());
    };
    let module = walk.engine.values.instance(&asked.module);
    let instances = module
        .as_ref()
        .and_then(|module| module.action(&asked.kind, &asked.name));
    let mut wanted: Vec<(&InstanceKey, &Value)> = instances.into_iter().flatten().collect();
    if asked.key != InstanceKey::None {
        wanted.retain(|(key, _)| **key == asked.key);
        if wanted.is_empty() {
            let detail = format!("There is no {asked}: the action has no such instance.");
            return Err(Diag::error("Invalid action", detail).at(config.header).into());
        }
    }
    let mut diags = Diags::new();
    for (key, value) in wanted {
        let action = ActionInstance {
            key: key.clone(),
            ..asked.clone()
        };
        diags.extend(one(walk, action, config, value).await);
    }
    if diags.has_errors() { Err(diags) } else { Ok(diags) }
}

async fn one(walk: &PlanWalk<'_, '_>, action: ActionInstance, config: &ActionConfig, value: &Value) -> Diags {
    let fail =
        |summary: &'static str, detail: String| Diags::from(Diag::error(summary, detail).at(config.header));
    let provider = match walk.engine.provider(&config.provider_config) {
        Ok(provider) => provider,
        Err(diags) => return diags,
    };
    let plain = unmarked(value);
    if !plain.is_wholly_known() {
        let detail = format!(
            "{action} is configured with what is not known: it refers to objects that are not made yet. Apply the whole \
             configuration first."
        );
        return fail("Partially applied configuration", detail);
    }
    let answer = {
        let _permit = walk.engine.permit().await;
        provider.plan_action(&action.kind, &plain).await
    };
    let mut diags = place_all(answer.diags, &config.body, &action.config());
    if answer.value.is_some() {
        let detail = format!(
            "The provider puts {action} off. What it acts on may not be made yet: apply the whole configuration first."
        );
        diags.extend(fail("Provider deferred an action", detail));
        return diags;
    }
    // With errors, too, it is shown what was tried; such a plan cannot be applied.
    lock(&walk.found).invocations.push(Invocation {
        action,
        trigger: None,
        provider: config.provider_config.clone(),
        config: without_ephemeral(value),
    });
    diags
}
