//! Nodes of the plan's graph, and the passes that build it.
//!
//! Nodes are data; what happens at each is decided in `walk`. The passes are plain functions in one visible list. A node
//! stands for something of the configuration in all instances of its module: which those are is known only during the walk.
//! Source: Terraform `graph_builder_plan.go`, `transform_module_expansion.go`, `transform_reference.go`.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::Arc,
};

use ashlar_addr::{
    AbsResource, ActionInstance, ConfigAction, ConfigResource, Mode, Module as ModuleAddr, ProviderConfig,
};
use ashlar_config::{Member, Tree};
use ashlar_diag::{Diag, Diags};
use ashlar_graph::Graph;
use ashlar_state::State;

use crate::{
    engine::Schemas,
    ephemeral::{self, is_ephemeral},
    imports::made_up,
    needs::{Needs, needs},
    selection::{Selection, select},
};

/// One thing of the configuration or state that planning visits.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Node {
    /// A provider configuration.
    Provider(ProviderConfig),
    /// A called module: which instances it has. All that is in it comes after.
    Call(ModuleAddr),
    /// A variable of a called module, or one of the root module that has no value.
    Variable(ModuleAddr, Arc<str>),
    /// Validations of a variable's value. What uses the variable comes after.
    Validation(ModuleAddr, Arc<str>),
    /// A local value.
    Local(ModuleAddr, Arc<str>),
    /// A resource or data source in the configuration, with all its instances.
    Resource(ConfigResource),
    /// A resource that only state knows, by its full address: the configuration may hold one of the same type and name in
    /// another module.
    Orphan(AbsResource),
    /// An output.
    Output(ModuleAddr, Arc<str>),
    /// A check.
    Check(ModuleAddr, Arc<str>),
    /// A called module whose every part has been visited.
    Close(ModuleAddr),
    /// An action with all its instances: what they are configured with.
    Action(ConfigAction),
    /// An entry of a resource's `action_trigger` block, by the block and the entry.
    Trigger(ConfigResource, usize, usize),
    /// An action that a person asked for.
    Request(ActionInstance),
    /// An ephemeral resource that nothing needs any more. It is closed also where what needs it has failed.
    Release(ConfigResource),
}

impl Node {
    /// The module that it belongs to. What an orphan's module is does not matter.
    pub fn module(&self) -> Option<&ModuleAddr> {
        match self {
            Node::Call(module)
            | Node::Variable(module, _)
            | Node::Validation(module, _)
            | Node::Local(module, _)
            | Node::Output(module, _)
            | Node::Check(module, _)
            | Node::Close(module) => Some(module),
            Node::Resource(resource) | Node::Release(resource) => Some(&resource.module),
            Node::Trigger(resource, ..) => Some(&resource.module),
            Node::Action(action) => Some(&action.module),
            Node::Provider(provider) => Some(&provider.module),
            // Nothing waits for a request.
            Node::Orphan(_) | Node::Request(_) => None,
        }
    }
}

impl fmt::Display for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let dot = |module: &ModuleAddr| if module.is_root() { "" } else { "." };
        match self {
            Node::Provider(provider) => write!(f, "{provider}"),
            Node::Call(module) => write!(f, "{module} (expand)"),
            Node::Variable(module, name) => write!(f, "{module}{}var.{name}", dot(module)),
            Node::Validation(module, name) => write!(f, "{module}{}var.{name} (validation)", dot(module)),
            Node::Local(module, name) => write!(f, "{module}{}local.{name}", dot(module)),
            Node::Resource(resource) => write!(f, "{resource}"),
            Node::Orphan(resource) => write!(f, "{resource} (only in state)"),
            Node::Output(module, name) => write!(f, "{module}{}output.{name}", dot(module)),
            Node::Check(module, name) => write!(f, "{module}{}check.{name}", dot(module)),
            Node::Close(module) => write!(f, "{module} (close)"),
            Node::Action(action) => write!(f, "{action}"),
            Node::Trigger(resource, block, at) => {
                write!(f, "{resource}.lifecycle.action_trigger[{block}].actions[{at}]")
            }
            Node::Request(action) => write!(f, "{action} (invoke)"),
            Node::Release(resource) => write!(f, "{resource} (close)"),
        }
    }
}

/// What the passes look at.
pub struct Sight<'a> {
    /// The configuration.
    pub tree: &'a Tree,
    /// The prior state.
    pub state: &'a State,
    /// Schemas: they tell which part of a block is an argument and which an iterator's name.
    pub schemas: &'a Schemas,
    /// The actions that a person asked for; then nothing is triggered.
    pub invoke: &'a [ActionInstance],
    /// The root module's variables whose values do not fit.
    pub refused: &'a BTreeMap<Arc<str>, Diags>,
    /// What the run is limited to.
    pub selection: &'a Selection,
}

/// One pass.
pub type Pass = fn(&mut Graph<Node>, &Sight<'_>);

/// The passes in their order, by name.
pub const PASSES: &[(&str, Pass)] = &[
    ("variables", add_variables),
    ("locals", add_locals),
    ("resources", add_resources),
    ("orphans", add_orphans),
    ("outputs", add_outputs),
    ("checks", add_checks),
    ("actions", add_actions),
    ("triggers", add_triggers),
    ("providers", link_providers),
    ("modules", link_modules),
    ("references", link_references),
    ("selection", select),
    ("releases", add_releases),
];

/// The last pass that takes nothing away.
const WHOLE: &str = "references";

/// All that there is, whatever the run is limited to: for what is recorded of everything.
pub fn build_whole(sight: &Sight<'_>) -> Graph<Node> {
    build(sight, Some(WHOLE))
}

/// Runs the passes up to and including the one called `until` (all of them if `None`).
pub fn build(sight: &Sight<'_>, until: Option<&str>) -> Graph<Node> {
    let mut graph = Graph::new();
    for (name, pass) in PASSES {
        pass(&mut graph, sight);
        if until == Some(*name) {
            break;
        }
    }
    graph
}

/// The fault of a graph whose nodes need each other in a circle.
pub fn cycle_faults(graph: &Graph<Node>) -> Diags {
    let fault = |group: Vec<Node>| {
        let names: Vec<String> = group.iter().map(Node::to_string).collect();
        let detail = "Each of these needs another of them first, so none can be the first. Take one of the references out.";
        Diag::error(format!("Cycle: {}", names.join(", ")), detail)
    };
    graph.cycles().into_iter().map(fault).collect()
}

/// The faults of objects whose resource is gone together with the provider configuration they were made with: nothing else
/// may destroy them.
pub fn provider_faults(graph: &Graph<Node>, sight: &Sight<'_>) -> Diags {
    let mut faults = Diags::new();
    for node in graph.nodes() {
        let Node::Orphan(resource) = node else { continue };
        let Some(state) = sight.state.resources.get(resource) else {
            continue;
        };
        if resource.resource.mode == Mode::Data || is_present(sight.tree, &state.provider) {
            continue;
        }
        for (key, instance) in &state.instances {
            let current = instance.current.iter().map(|_| String::new());
            let deposed = instance
                .deposed
                .keys()
                .map(|key| format!(" (deposed object {key})"));
            faults.extend(current.chain(deposed).map(|which| {
                let detail = format!(
                    "{}{which} is no longer wanted, and destroying it needs the provider configuration it was made with, {}, \
                     which the configuration does not hold any more. Put that provider block back until the object is \
                     destroyed.",
                    resource.instance(key.clone()),
                    state.provider
                );
                Diag::error("Provider configuration not present", detail)
            }));
        }
    }
    faults
}

/// The first provider configuration that a called module hands on though it has none itself: only what is inherited without
/// a word goes through a module that says nothing of it.
///
/// Source: Terraform `transform_provider.go` (`addProxyProviders`).
pub fn missing_provider(tree: &Tree) -> Option<Diag> {
    tree.members.iter().find_map(|(path, member)| {
        let (parent, call) = tree.call(path)?;
        let (_, calling) = tree.call(&parent)?;
        let own = &tree.members.get(&parent)?.module.providers;
        let missing = call.providers.iter().find(|passed| {
            let local = &passed.parent.local;
            !own.contains_key(local) && !calling.providers.iter().any(|handed| handed.child.local == *local)
        })?;
        let local = &missing.child.local.name;
        let provider = member
            .module
            .required_providers
            .get(local)
            .map_or_else(|| ashlar_addr::Provider::implied(local), |required| required.source.clone());
        let provider = ProviderConfig {
            module: parent.clone(),
            provider,
            alias: missing.parent.local.alias.clone(),
            key: ashlar_addr::InstanceKey::None,
        };
        let detail = format!(
            "{path} is handed this provider configuration by {parent}, which has none itself. Add {} to the providers of the \
             block that calls {parent}.",
            missing.parent.local
        );
        Some(Diag::error(format!("missing provider {provider}"), detail))
    })
}

/// Does the configuration hold this provider configuration? The default one of each provider is always there, empty if it has
/// no block.
fn is_present(tree: &Tree, provider: &ProviderConfig) -> bool {
    provider.module.is_root() && provider.alias.is_none() || tree.provider_block(provider).is_some()
}

/// Adds what each module declares, as `names` tells, in the order of modules.
fn add<'a, N>(
    graph: &mut Graph<Node>,
    sight: &Sight<'a>,
    names: impl Fn(&'a Member) -> N,
    node: fn(ModuleAddr, Arc<str>) -> Node,
) where
    N: Iterator<Item = &'a Arc<str>> + 'a,
{
    for (path, member) in &sight.tree.members {
        for name in names(member) {
            graph.add(node(path.clone(), name.clone()));
        }
    }
}

/// The root module's variables have values already, but those whose values were refused.
fn add_variables(graph: &mut Graph<Node>, sight: &Sight<'_>) {
    for (path, member) in &sight.tree.members {
        let variables = &member.module.variables;
        for (name, variable) in variables {
            let node = Node::Variable(path.clone(), name.clone());
            let validation = Node::Validation(path.clone(), name.clone());
            if !path.is_root() || sight.refused.contains_key(name) {
                graph.add(node.clone());
            }
            if !variable.validations.is_empty() {
                graph.add(validation.clone());
            }
        }
    }
}

fn add_locals(graph: &mut Graph<Node>, sight: &Sight<'_>) {
    add(graph, sight, |member| member.module.locals.keys(), Node::Local);
}

fn add_resources(graph: &mut Graph<Node>, sight: &Sight<'_>) {
    for (path, member) in &sight.tree.members {
        for resource in member.module.resources.keys() {
            graph.add(Node::Resource(resource.within_config(path.clone())));
        }
    }
    for (resource, _) in made_up(sight.tree, sight.state) {
        graph.add(Node::Resource(resource));
    }
}

fn add_orphans(graph: &mut Graph<Node>, sight: &Sight<'_>) {
    for resource in sight.state.resources.keys() {
        if !graph.contains(&Node::Resource(resource.config())) {
            graph.add(Node::Orphan(resource.clone()));
        }
    }
}

fn add_outputs(graph: &mut Graph<Node>, sight: &Sight<'_>) {
    add(graph, sight, |member| member.module.outputs.keys(), Node::Output);
}

fn add_checks(graph: &mut Graph<Node>, sight: &Sight<'_>) {
    add(graph, sight, |member| member.module.checks.keys(), Node::Check);
}

fn add_actions(graph: &mut Graph<Node>, sight: &Sight<'_>) {
    for (path, member) in &sight.tree.members {
        for (kind, name) in member.module.actions.keys() {
            graph.add(Node::Action(ConfigAction {
                module: path.clone(),
                kind: kind.clone(),
                name: name.clone(),
            }));
        }
    }
}

/// What may trigger an action comes after the resource, one after the other: whether it does is known then.
fn add_triggers(graph: &mut Graph<Node>, sight: &Sight<'_>) {
    for action in sight.invoke {
        graph.depend(Node::Request(action.clone()), Node::Action(action.config()));
    }
    if !sight.invoke.is_empty() {
        return;
    }
    for (path, member) in &sight.tree.members {
        for (resource, config) in &member.module.resources {
            let resource = resource.within_config(path.clone());
            let mut last = Node::Resource(resource.clone());
            for (block, trigger) in config.lifecycle.action_triggers.iter().enumerate() {
                for at in 0..trigger.actions.len() {
                    let node = Node::Trigger(resource.clone(), block, at);
                    graph.depend(node.clone(), last);
                    last = node;
                }
            }
        }
    }
}

fn link_providers(graph: &mut Graph<Node>, sight: &Sight<'_>) {
    for (path, member) in &sight.tree.members {
        for (resource, config) in &member.module.resources {
            let node = Node::Resource(resource.within_config(path.clone()));
            graph.depend(node, Node::Provider(config.provider_config.clone()));
        }
    }
    let actions: Vec<Node> = graph
        .nodes()
        .filter(|node| matches!(node, Node::Action(_)))
        .cloned()
        .collect();
    for node in actions {
        let Node::Action(action) = &node else { continue };
        if let Some(config) = sight.tree.action(action) {
            graph.depend(node, Node::Provider(config.provider_config.clone()));
        }
    }
    for (resource, provider) in made_up(sight.tree, sight.state) {
        graph.depend(Node::Resource(resource), Node::Provider(provider));
    }
    for (resource, state) in &sight.state.resources {
        let orphan = Node::Orphan(resource.clone());
        // A data source only leaves the state, which needs no provider.
        if graph.contains(&orphan) && resource.resource.mode == Mode::Managed {
            graph.depend(orphan, Node::Provider(state.provider.clone()));
        }
    }
}

/// All that is in a called module comes after its expansion and before its end, the modules it calls included.
fn link_modules(graph: &mut Graph<Node>, sight: &Sight<'_>) {
    let nodes: Vec<Node> = graph.nodes().cloned().collect();
    for path in sight.tree.members.keys().filter(|path| !path.is_root()) {
        let (call, close) = (Node::Call(path.clone()), Node::Close(path.clone()));
        graph.depend(close.clone(), call.clone());
        if let Some(parent) = path.parent().filter(|parent| !parent.is_root()) {
            graph.depend(call, Node::Call(parent.clone()));
            graph.depend(Node::Close(parent), close);
        }
    }
    for node in nodes {
        let Some(module) = node
            .module()
            .filter(|module| sight.tree.call(module).is_some())
            .cloned()
        else {
            continue;
        };
        graph.depend(node.clone(), Node::Call(module.clone()));
        graph.depend(Node::Close(module), node);
    }
}

fn link_references(graph: &mut Graph<Node>, sight: &Sight<'_>) {
    let nodes: Vec<Node> = graph.nodes().cloned().collect();
    for Needs { node, needed, .. } in needs(sight, &nodes) {
        for dependency in needed {
            if graph.contains(&dependency) && dependency != node {
                graph.depend(node.clone(), dependency);
            }
        }
    }
}

fn add_releases(graph: &mut Graph<Node>, _: &Sight<'_>) {
    let release = |node: &Node| match node {
        Node::Resource(resource) if is_ephemeral(resource) => Some(Node::Release(resource.clone())),
        _ => None,
    };
    ephemeral::add_releases(graph, release, |node| matches!(node, Node::Close(_)));
}

/// Nodes without doubles.
pub(crate) type Nodes = BTreeSet<Node>;
