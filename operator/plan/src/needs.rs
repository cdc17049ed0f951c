//! What each node's configuration refers to, as nodes: the edges of the graph that follow from references.
//!
//! Faulty references are left out: evaluation reports those.

use std::{
    cell::OnceCell,
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
};

use ashlar_addr::{ConfigAction, ConfigResource, InstanceKey, Mode, Module as ModuleAddr};
use ashlar_config::{DependsOn, ResourceConfig};
use ashlar_eval::{CheckRule, Reference, Subject, block_references, references};
use ashlar_graph::Graph;
use ashlar_syntax::Expr;
use ashlar_value::schema::Block;

use crate::node::{Node, Nodes, Sight};

/// A node and what it refers to.
pub(crate) struct Needs {
    pub(crate) node: Node,
    pub(crate) needed: Nodes,
    /// Of the resources among them, the instances that are named. Without a key it is the resource as a whole.
    pub(crate) keys: Keys,
}

/// Instances by the resource they are of.
type Keys = BTreeMap<ConfigResource, BTreeSet<InstanceKey>>;

/// Which instances the nodes of a graph name by key; looked for when it is first asked for, of all nodes at once.
pub(crate) struct NamedKeys<'a> {
    sight: &'a Sight<'a>,
    graph: &'a Graph<Node>,
    found: OnceCell<HashMap<Node, Keys>>,
}

impl<'a> NamedKeys<'a> {
    pub(crate) fn new(sight: &'a Sight<'a>, graph: &'a Graph<Node>) -> Self {
        Self {
            sight,
            graph,
            found: OnceCell::new(),
        }
    }

    /// The keys by which a node names instances of a resource; nothing where it names the resource as a whole, or depends on
    /// it in another way than by a reference.
    pub(crate) fn of(&self, node: &Node, resource: &ConfigResource) -> Option<&BTreeSet<InstanceKey>> {
        let found = self.found.get_or_init(|| {
            let nodes: Vec<Node> = self.graph.nodes().cloned().collect();
            let all = needs(self.sight, &nodes).map(|needs| (needs.node, needs.keys));
            all.collect()
        });
        let keys = found.get(node)?.get(resource)?;
        (!keys.contains(&InstanceKey::None)).then_some(keys)
    }
}

/// What each of the nodes refers to.
pub(crate) fn needs<'a>(sight: &'a Sight<'a>, nodes: &'a [Node]) -> impl Iterator<Item = Needs> + 'a {
    // The arguments of a call are looked up for each variable of the module.
    let mut arguments: BTreeMap<&ModuleAddr, BTreeMap<Arc<str>, &Expr>> = BTreeMap::new();
    for path in sight.tree.members.keys().filter(|path| !path.is_root()) {
        arguments.insert(path, sight.tree.arguments(path));
    }
    nodes.iter().map(move |node| {
        let mut found = Finder::default();
        found.of_node(sight, node, &arguments);
        Needs {
            node: node.clone(),
            needed: found.nodes,
            keys: found.keys,
        }
    })
}

/// The nodes that a subject means in a module: with a variable its validations, with a whole module its end.
pub(crate) fn subject_nodes(module: &ModuleAddr, subject: &Subject) -> Vec<Node> {
    match subject {
        Subject::Var(name) => vec![
            Node::Variable(module.clone(), name.clone()),
            Node::Validation(module.clone(), name.clone()),
        ],
        Subject::Local(name) => vec![Node::Local(module.clone(), name.clone())],
        Subject::Resource(resource) => vec![Node::Resource(resource.within_config(module.clone()))],
        Subject::Module { call, output } => {
            let called = module.child(call.clone());
            vec![match output {
                Some(output) => Node::Output(called, output.clone()),
                None => Node::Close(called),
            }]
        }
        Subject::Action { kind, name } => vec![Node::Action(ConfigAction {
            module: module.clone(),
            kind: kind.clone(),
            name: name.clone(),
        })],
        _ => Vec::new(),
    }
}

/// The nodes that the condition of a trigger refers to.
pub(crate) fn condition_nodes(module: &ModuleAddr, condition: &Expr) -> Nodes {
    let mut found = Finder::default();
    found.exprs(module, [condition]);
    found.nodes
}

#[derive(Default)]
struct Finder {
    nodes: Nodes,
    keys: Keys,
}

impl Finder {
    fn of_node<'a>(
        &mut self,
        sight: &Sight<'a>,
        node: &Node,
        arguments: &BTreeMap<&ModuleAddr, BTreeMap<Arc<str>, &'a Expr>>,
    ) {
        let member = |path: &ModuleAddr| sight.tree.members.get(path).map(|member| &member.module);
        match node {
            Node::Call(path) => {
                if let Some((parent, call)) = sight.tree.call(path) {
                    let enabled = call.enabled.iter().map(|enabled| &enabled.expr);
                    let repetition = call.count.iter().chain(&call.for_each).chain(enabled);
                    self.exprs(&parent, repetition.chain(call.provider_keys()));
                    self.depends_on(&parent, call.depends_on.as_deref().unwrap_or_default());
                }
            }
            Node::Variable(path, name) => {
                let given = arguments.get(path).and_then(|given| given.get(name));
                if let (Some(expr), Some(parent)) = (given, path.parent()) {
                    self.exprs(&parent, [*expr]);
                }
            }
            Node::Validation(path, name) => {
                if let Some(variable) = member(path).and_then(|module| module.variables.get(name)) {
                    self.rules(path, &variable.validations);
                }
            }
            Node::Local(path, name) => {
                if let Some(local) = member(path).and_then(|module| module.locals.get(name)) {
                    self.exprs(path, [&local.expr]);
                }
            }
            Node::Output(path, name) => {
                if let Some(output) = member(path).and_then(|module| module.outputs.get(name)) {
                    self.exprs(path, output.expressions());
                    self.depends_on(path, &output.depends_on);
                }
            }
            Node::Resource(resource) => {
                if let Some(config) = sight.tree.resource(resource) {
                    let path = &resource.module;
                    self.exprs(path, config.expressions());
                    if let Some(schema) = resource_block(sight, config, resource) {
                        let (found, _) = block_references(&config.body, schema);
                        self.references(path, &found);
                    }
                    for (body, schema) in config.provisioner_bodies() {
                        let (found, _) = block_references(body, schema);
                        self.references(path, &found);
                    }
                    self.depends_on(path, &config.depends_on);
                }
                self.imports(sight, resource);
            }
            Node::Provider(provider) => {
                let block = sight.tree.provider_block(provider);
                if let (Some(block), Some(schemas)) = (block, sight.schemas.get(&provider.provider)) {
                    let (found, _) = block_references(&block.body, &schemas.provider.block);
                    self.references(&provider.module, &found);
                }
            }
            Node::Check(path, name) => {
                if let Some(check) = member(path).and_then(|module| module.checks.get(name)) {
                    self.rules(path, &check.asserts);
                    if let Some(data) = &check.data {
                        self.subject(path, &Subject::Resource(data.clone()), &InstanceKey::None);
                    }
                }
            }
            Node::Action(action) => {
                if let Some(config) = sight.tree.action(action) {
                    let path = &action.module;
                    self.exprs(path, config.count.iter().chain(&config.for_each));
                    let schemas = sight.schemas.get(&config.provider_config.provider);
                    if let Some(schema) = schemas.and_then(|schemas| schemas.actions.get(&action.kind)) {
                        let (found, _) = block_references(&config.body, schema);
                        self.references(path, &found);
                    }
                }
            }
            Node::Trigger(resource, block, at) => {
                let config = sight.tree.resource(resource);
                let triggers = config.map(|config| &config.lifecycle.action_triggers);
                if let Some(trigger) = triggers.and_then(|triggers| triggers.get(*block)) {
                    let named = trigger.actions.get(*at);
                    self.exprs(&resource.module, named.into_iter().chain(&trigger.condition));
                }
            }
            Node::Orphan(_) | Node::Close(_) | Node::Request(_) | Node::Release(_) => {}
        }
    }

    fn references(&mut self, module: &ModuleAddr, found: &[Reference<'_>]) {
        for reference in found {
            self.subject(module, &reference.subject, &reference.key);
        }
    }

    fn subject(&mut self, module: &ModuleAddr, subject: &Subject, key: &InstanceKey) {
        if let Subject::Resource(resource) = subject {
            let keys = self.keys.entry(resource.within_config(module.clone()));
            keys.or_default().insert(key.clone());
        }
        self.nodes.extend(subject_nodes(module, subject));
    }

    fn exprs<'e>(&mut self, module: &ModuleAddr, exprs: impl IntoIterator<Item = &'e Expr>) {
        for expr in exprs {
            let (found, _) = references(expr);
            self.references(module, &found);
        }
    }

    fn rules(&mut self, module: &ModuleAddr, rules: &[CheckRule]) {
        for rule in rules {
            self.exprs(module, [&rule.condition, &rule.error_message]);
        }
    }

    /// What imports into the resource are made of; they stand in the root module.
    fn imports(&mut self, sight: &Sight<'_>, resource: &ConfigResource) {
        let imports = sight.tree.root().imports.iter();
        let own =
            imports.filter(|import| import.resource == (resource.module.clone(), resource.resource.clone()));
        for import in own {
            let exprs = import.id.iter().chain(&import.identity).chain(&import.for_each);
            self.exprs(&ModuleAddr::root(), exprs);
        }
    }

    fn depends_on(&mut self, module: &ModuleAddr, entries: &[DependsOn]) {
        for entry in entries {
            self.subject(module, &entry.subject, &InstanceKey::None);
        }
    }
}

fn resource_block<'a>(
    sight: &Sight<'a>,
    config: &ResourceConfig,
    resource: &ConfigResource,
) -> Option<&'a Block> {
    let schemas = sight.schemas.get(&config.provider_config.provider)?;
    let of = match resource.resource.mode {
        Mode::Managed => &schemas.resources,
        Mode::Data => &schemas.data_sources,
        Mode::Ephemeral => &schemas.ephemeral_resources,
    };
    of.get(&resource.resource.kind).map(|schema| &schema.block)
}
