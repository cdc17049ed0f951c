//! What there is to evaluate in a whole configuration, and which part needs which.
//!
//! Names of parts are those of Terraform's graph, so that a circle is told in its words. Rules: Terraform
//! `terraform/graph_builder_plan.go`, `transform_reference.go`, `transform_module_expansion.go`.

use std::{collections::HashMap, fmt, sync::Arc};

use ashlar_addr::{Module as ModuleAddr, Provider, ProviderConfig, Resource};
use ashlar_eval::{Reference, Subject, arguments_of_call, block_references, references};
use ashlar_syntax::{Body, Expr};
use ashlar_value::schema::{Block, ProviderSchema};
use petgraph::{algo::kosaraju_scc, graph::DiGraph};

use crate::{
    DependsOn, Module,
    reference::schema_of,
    tree::{Member, Tree},
};

/// One thing to evaluate.
#[derive(Clone, Copy)]
pub(super) struct Part<'t> {
    /// The module it is in.
    pub(super) path: &'t ModuleAddr,
    pub(super) member: &'t Member,
    pub(super) kind: Kind<'t>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Kind<'t> {
    /// The module's variable; in a called module the argument that sets it.
    Variable(&'t Arc<str>),
    /// The validations of a variable.
    Validations(&'t Arc<str>),
    Local(&'t Arc<str>),
    Provider(&'t ProviderConfig),
    Resource(&'t Resource),
    Output(&'t Arc<str>),
    /// How often a module is called.
    Call(&'t Arc<str>),
    /// All of a called module.
    Close(&'t Arc<str>),
    Check(&'t Arc<str>),
    Action(&'t (Arc<str>, Arc<str>)),
    /// An import into a resource that is not declared, by its place among all imports. It stands in the resource's module.
    Import(usize, &'t Resource),
}

impl fmt::Display for Part<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Kind::Provider(config) = self.kind {
            return write!(f, "{config}");
        }
        if !self.path.is_root() {
            write!(f, "{}.", self.path)?;
        }
        match self.kind {
            Kind::Variable(name) if self.path.is_root() => write!(f, "var.{name}"),
            Kind::Variable(name) => write!(f, "var.{name} (expand)"),
            Kind::Validations(name) => write!(f, "var.{name} (validation)"),
            Kind::Local(name) => write!(f, "local.{name} (expand)"),
            Kind::Provider(_) => Ok(()),
            Kind::Resource(resource) | Kind::Import(_, resource) => write!(f, "{resource}"),
            Kind::Output(name) => write!(f, "output.{name} (expand)"),
            Kind::Call(name) => write!(f, "module.{name} (expand)"),
            Kind::Close(name) => write!(f, "module.{name} (close)"),
            Kind::Check(name) => write!(f, "check.{name} (expand)"),
            Kind::Action((kind, name)) => write!(f, "action.{kind}.{name} (expand)"),
        }
    }
}

/// All parts, each with the positions of those it needs.
pub(super) struct Parts<'t> {
    pub(super) all: Vec<Part<'t>>,
    pub(super) needs: Vec<Vec<usize>>,
}

pub(super) type Schemas = std::collections::BTreeMap<Provider, Arc<ProviderSchema>>;

impl<'t> Parts<'t> {
    pub(super) fn of(tree: &'t Tree, schemas: &Schemas) -> Self {
        let mut all = Vec::new();
        for (path, member) in &tree.members {
            let part = |kind| Part { path, member, kind };
            let module = &member.module;
            all.extend(module.variables.keys().map(|name| part(Kind::Variable(name))));
            let validated = module
                .variables
                .iter()
                .filter(|(_, variable)| !variable.validations.is_empty());
            all.extend(validated.map(|(name, _)| part(Kind::Validations(name))));
            all.extend(module.locals.keys().map(|name| part(Kind::Local(name))));
            all.extend(
                module
                    .calls
                    .keys()
                    .flat_map(|name| [part(Kind::Call(name)), part(Kind::Close(name))]),
            );
            all.extend(
                module
                    .resources
                    .keys()
                    .map(|resource| part(Kind::Resource(resource))),
            );
            all.extend(module.actions.keys().map(|key| part(Kind::Action(key))));
            all.extend(module.outputs.keys().map(|name| part(Kind::Output(name))));
            all.extend(module.checks.keys().map(|name| part(Kind::Check(name))));
        }
        for (at, import) in tree.root().imports.iter().enumerate() {
            let (path, resource) = &import.resource;
            if let Some((path, member)) = tree.members.get_key_value(path)
                && !member.module.resources.contains_key(resource)
            {
                all.push(Part {
                    path,
                    member,
                    kind: Kind::Import(at, resource),
                });
            }
        }
        for config in used_providers(tree) {
            if let Some((path, member)) = tree.members.get_key_value(&config.module) {
                all.push(Part {
                    path,
                    member,
                    kind: Kind::Provider(config),
                });
            }
        }
        let index: Index<'_> = all
            .iter()
            .enumerate()
            .map(|(at, part)| ((part.path, part.kind), at))
            .collect();
        let finder = Finder {
            tree,
            schemas,
            index: &index,
        };
        let needs = all
            .iter()
            .enumerate()
            .map(|(at, part)| {
                let mut needs = finder.needs(*part);
                needs.sort_unstable();
                needs.dedup();
                needs.retain(|need| *need != at);
                needs
            })
            .collect();
        Self { all, needs }
    }

    /// Groups of parts that need each other, each part once, those that are needed first.
    pub(super) fn groups(&self) -> Vec<Vec<usize>> {
        let mut graph = DiGraph::<usize, ()>::with_capacity(self.all.len(), self.all.len());
        let nodes: Vec<_> = (0..self.all.len()).map(|at| graph.add_node(at)).collect();
        for (at, needs) in self.needs.iter().enumerate() {
            for need in needs {
                if let (Some(from), Some(to)) = (nodes.get(at), nodes.get(*need)) {
                    graph.add_edge(*from, *to, ());
                }
            }
        }
        let groups = kosaraju_scc(&graph).into_iter();
        groups
            .map(|group| group.into_iter().map(|node| node.index()).collect())
            .collect()
    }
}

/// The provider configurations that something uses.
fn used_providers(tree: &Tree) -> Vec<&ProviderConfig> {
    let mut used: Vec<&ProviderConfig> = tree
        .members
        .values()
        .flat_map(|member| {
            let resources = member
                .module
                .resources
                .values()
                .map(|config| &config.provider_config);
            resources.chain(
                member
                    .module
                    .actions
                    .values()
                    .map(|action| &action.provider_config),
            )
        })
        .collect();
    used.sort();
    used.dedup();
    used
}

type Index<'t> = HashMap<(&'t ModuleAddr, Kind<'t>), usize>;

struct Finder<'f, 't> {
    tree: &'t Tree,
    schemas: &'f Schemas,
    index: &'f Index<'t>,
}

impl<'t> Finder<'_, 't> {
    fn at(&self, path: &'t ModuleAddr, kind: Kind<'t>) -> Option<usize> {
        self.index.get(&(path, kind)).copied()
    }

    fn needs(&self, part: Part<'t>) -> Vec<usize> {
        let Part { path, member, kind } = part;
        let module = &member.module;
        let mut found = Found {
            finder: self,
            path,
            module,
            needs: Vec::new(),
        };
        match kind {
            Kind::Variable(name) => {
                if let Some((parent, call)) = self.tree.call(path)
                    && let Some((parent, caller)) = self.tree.members.get_key_value(&parent)
                {
                    let variables = module.variables.values();
                    let (given, _) = arguments_of_call(&call.body, call.open, variables);
                    let mut outer = Found {
                        finder: self,
                        path: parent,
                        module: &caller.module,
                        needs: Vec::new(),
                    };
                    outer.exprs(given.get(name).copied());
                    found.needs.extend(outer.needs);
                }
            }
            Kind::Validations(name) => {
                let variable = module.variables.get(name);
                for rule in variable.into_iter().flat_map(|variable| &variable.validations) {
                    found.exprs([&rule.condition, &rule.error_message]);
                }
            }
            Kind::Local(name) => found.exprs(module.locals.get(name).map(|local| &local.expr)),
            Kind::Provider(config) => {
                if let (Some(block), Some(schemas)) =
                    (module.own_block(config), self.schemas.get(&config.provider))
                {
                    found.body(&block.body, &schemas.provider.block);
                }
            }
            Kind::Resource(resource) => found.resource(resource),
            Kind::Output(name) => {
                if let Some(output) = module.outputs.get(name) {
                    found.exprs(output.expressions());
                    found.waits(&output.depends_on);
                }
            }
            Kind::Call(name) => {
                if let Some(call) = module.calls.get(name) {
                    found.exprs(
                        call.count
                            .iter()
                            .chain(&call.for_each)
                            .chain(call.provider_keys()),
                    );
                    found.waits(call.depends_on.as_deref().unwrap_or_default());
                }
            }
            Kind::Close(name) => {
                found.needs.extend(self.at(path, Kind::Call(name)));
                let inner = path.child(name.clone());
                if let Some((inner, member)) = self.tree.members.get_key_value(&inner) {
                    found.all_of(inner, member);
                }
            }
            Kind::Import(at, _) => {
                if let (Some((path, root)), Some(import)) = (
                    self.tree.members.get_key_value(&ModuleAddr::root()),
                    self.tree.root().imports.get(at),
                ) {
                    let mut outer = Found {
                        finder: self,
                        path,
                        module: &root.module,
                        needs: Vec::new(),
                    };
                    let parts = import.id.iter().chain(&import.identity).chain(&import.for_each);
                    outer.exprs(parts);
                    found.needs.extend(outer.needs);
                }
            }
            Kind::Check(name) => {
                if let Some(check) = module.checks.get(name) {
                    for rule in &check.asserts {
                        found.exprs([&rule.condition, &rule.error_message]);
                    }
                }
            }
            Kind::Action(key) => {
                if let Some(action) = module.actions.get(key) {
                    found.exprs(action.count.iter().chain(&action.for_each));
                    found.needs.extend(self.provider(&action.provider_config));
                    if let Some(schema) = self
                        .schemas
                        .get(&action.provider_config.provider)
                        .and_then(|schemas| schemas.actions.get(&key.0))
                    {
                        found.body(&action.body, schema);
                    }
                }
            }
        }
        let mut needs = found.needs;
        // All that stands in a called module is there as often as the module is called.
        if let Some((name, parent)) = path.0.split_last()
            && !matches!(kind, Kind::Provider(_))
            && let Some((parent, caller)) = self.tree.members.get_key_value(&ModuleAddr(parent.into()))
            && let Some((name, _)) = caller.module.calls.get_key_value(name)
        {
            needs.extend(self.at(parent, Kind::Call(name)));
        }
        needs
    }

    fn provider(&self, config: &'t ProviderConfig) -> Option<usize> {
        let (path, _) = self.tree.members.get_key_value(&config.module)?;
        self.at(path, Kind::Provider(config))
    }
}

/// What one part needs, as it is found.
struct Found<'f, 't> {
    finder: &'f Finder<'f, 't>,
    path: &'t ModuleAddr,
    module: &'t Module,
    needs: Vec<usize>,
}

impl<'t> Found<'_, 't> {
    fn exprs<'e>(&mut self, exprs: impl IntoIterator<Item = &'e Expr>) {
        for expr in exprs {
            for reference in references(expr).0 {
                self.reference(&reference);
            }
        }
    }

    fn body(&mut self, body: &Body, schema: &Block) {
        for reference in block_references(body, schema).0 {
            self.reference(&reference);
        }
    }

    fn waits(&mut self, waits: &[DependsOn]) {
        for wait in waits {
            self.subject(&wait.subject);
        }
    }

    fn reference(&mut self, reference: &Reference<'_>) {
        self.subject(&reference.subject);
    }

    fn subject(&mut self, subject: &Subject) {
        let module = self.module;
        let kind = match subject {
            Subject::Var(name) => {
                let known = module.variables.get_key_value(name);
                // Who uses a variable waits until it is found valid.
                let validations =
                    known.and_then(|(name, _)| self.finder.at(self.path, Kind::Validations(name)));
                self.needs.extend(validations);
                known.map(|(name, _)| Kind::Variable(name))
            }
            Subject::Local(name) => module
                .locals
                .get_key_value(name)
                .map(|(name, _)| Kind::Local(name)),
            Subject::Resource(resource) => module
                .resources
                .get_key_value(resource)
                .map(|(resource, _)| Kind::Resource(resource)),
            Subject::Module { call, output } => {
                let Some((call, _)) = module.calls.get_key_value(call) else {
                    return;
                };
                if let Some(output) = output
                    && let Some((inner, member)) = self
                        .finder
                        .tree
                        .members
                        .get_key_value(&self.path.child(call.clone()))
                    && let Some((output, _)) = member.module.outputs.get_key_value(output)
                {
                    self.needs.extend(self.finder.at(inner, Kind::Output(output)));
                    return;
                }
                Some(Kind::Close(call))
            }
            _ => None,
        };
        self.needs
            .extend(kind.and_then(|kind| self.finder.at(self.path, kind)));
    }

    fn resource(&mut self, resource: &Resource) {
        let Some(config) = self.module.resources.get(resource) else {
            return;
        };
        self.exprs(config.expressions());
        let schemas = self.finder.schemas.get(&config.provider_config.provider);
        if let Some(schema) = schemas.and_then(|schemas| schema_of(schemas, resource)) {
            self.body(&config.body, &schema.block);
        }
        for (body, schema) in config.provisioner_bodies() {
            self.body(body, schema);
        }
        self.waits(&config.depends_on);
        self.needs.extend(self.finder.provider(&config.provider_config));
    }

    fn all_of(&mut self, path: &'t ModuleAddr, member: &'t Member) {
        let module = &member.module;
        let kinds = module
            .variables
            .keys()
            .map(Kind::Variable)
            .chain(module.locals.keys().map(Kind::Local))
            .chain(module.resources.keys().map(Kind::Resource))
            .chain(module.outputs.keys().map(Kind::Output))
            .chain(module.calls.keys().map(Kind::Close));
        for kind in kinds {
            self.needs.extend(self.finder.at(path, kind));
        }
    }
}
