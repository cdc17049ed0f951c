//! The forms that a graph is written in. It decides nothing about what is in the graph.

use std::{collections::HashMap, fmt::Write as _};

use ashlar_graph::Graph;
use ashlar_plan::node::Node;
use serde_json::json;

/// How a graph is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum GraphFormat {
    /// For Graphviz.
    #[default]
    Dot,
    /// For documents that draw Mermaid.
    Mermaid,
    /// For programs: nodes with kind, module and name, and for each the ids of what it needs.
    Json,
}

/// Writes a graph; an arrow leads from what waits to what it waits for.
pub(crate) fn write(graph: &Graph<Node>, format: GraphFormat) -> String {
    match format {
        GraphFormat::Dot => dot(graph),
        GraphFormat::Mermaid => mermaid(graph),
        GraphFormat::Json => json(graph),
    }
}

fn dot(graph: &Graph<Node>) -> String {
    let quote = |node: &Node| {
        format!(
            "\"{}\"",
            node.to_string().replace('\\', "\\\\").replace('"', "\\\"")
        )
    };
    let mut out = String::from("digraph {\n");
    for node in graph.nodes() {
        let _ = writeln!(out, "  {}", quote(node));
        for needed in graph.dependencies(node) {
            let _ = writeln!(out, "  {} -> {}", quote(node), quote(needed));
        }
    }
    out.push_str("}\n");
    out
}

/// The number of each node, in the order of the graph.
fn ids(graph: &Graph<Node>) -> HashMap<&Node, usize> {
    graph.nodes().zip(0..).collect()
}

fn mermaid(graph: &Graph<Node>) -> String {
    let ids = ids(graph);
    let mut out = String::from("flowchart LR\n");
    for node in graph.nodes() {
        let id = ids.get(node).copied().unwrap_or_default();
        // Quotes would end the label, and # begins a code of a character.
        let label = node.to_string().replace('#', "#35;").replace('"', "#quot;");
        let _ = writeln!(out, "  n{id}[\"{label}\"]");
    }
    for node in graph.nodes() {
        let id = ids.get(node).copied().unwrap_or_default();
        for needed in graph.dependencies(node).filter_map(|needed| ids.get(needed)) {
            let _ = writeln!(out, "  n{id} --> n{needed}");
        }
    }
    out
}

fn json(graph: &Graph<Node>) -> String {
    let ids = ids(graph);
    let nodes = graph.nodes().map(|node| {
        let mut needs: Vec<usize> = graph
            .dependencies(node)
            .filter_map(|needed| ids.get(needed).copied())
            .collect();
        needs.sort_unstable();
        needs.dedup();
        json!({
            "id": ids.get(node),
            "kind": kind(node),
            "module": node.module().map(ToString::to_string),
            "name": node.to_string(),
            "needs": needs,
        })
    });
    let document = json!({ "format_version": "1.0", "nodes": nodes.collect::<Vec<_>>() });
    format!("{document:#}\n")
}

fn kind(node: &Node) -> &'static str {
    match node {
        Node::Provider(_) => "provider",
        Node::Call(_) => "module_call",
        Node::Variable(..) => "variable",
        Node::Validation(..) => "validation",
        Node::Local(..) => "local",
        Node::Resource(_) => "resource",
        Node::Orphan(_) => "orphan",
        Node::Output(..) => "output",
        Node::Check(..) => "check",
        Node::Close(_) => "module_end",
        Node::Action(_) => "action",
        Node::Trigger(..) => "action_trigger",
        Node::Request(_) => "invocation",
        Node::Release(_) => "ephemeral_end",
    }
}

#[cfg(test)]
mod tests {
    use ashlar_addr::Module;

    use super::*;

    fn graph() -> Graph<Node> {
        let module = Module::root().child("m");
        let mut graph = Graph::new();
        graph.depend(
            Node::Local(module.clone(), "a".into()),
            Node::Variable(module.clone(), "b".into()),
        );
        graph.depend(Node::Variable(module.clone(), "b".into()), Node::Call(module));
        graph
    }

    #[test]
    fn each_form_tells_nodes_and_what_they_need() {
        let graph = graph();
        let dot = write(&graph, GraphFormat::Dot);
        assert!(dot.starts_with("digraph {\n") && dot.ends_with("}\n"), "{dot}");
        assert!(
            dot.contains("\"module.m.local.a\" -> \"module.m.var.b\""),
            "{dot}"
        );
        let mermaid = write(&graph, GraphFormat::Mermaid);
        assert_eq!(
            mermaid,
            "flowchart LR\n  n0[\"module.m.local.a\"]\n  n1[\"module.m.var.b\"]\n  n2[\"module.m (expand)\"]\n  n0 --> n1\n  \
             n1 --> n2\n"
        );
        let json: serde_json::Value =
            serde_json::from_str(&write(&graph, GraphFormat::Json)).unwrap_or_default();
        assert_eq!(json["format_version"], "1.0");
        assert_eq!(
            json["nodes"][1],
            json!({"id": 1, "kind": "variable", "module": "module.m", "name": "module.m.var.b", "needs": [2]})
        );
    }
}
