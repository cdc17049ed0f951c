//! `relevant_attributes`: attributes of resources that changes of a plan follow from, directly or through values between.
//!
//! Whoever reads a plan tells by them which drift has brought a change about. Found by references alone: nothing is
//! evaluated. Source: Terraform `internal/lang/globalref`, whose answers are given even where it looks at more than it
//! need, or at less.

mod trim;

use std::collections::{BTreeMap, BTreeSet};

use ashlar_addr::{Module as ModuleAddr, ModuleInstance, Resource, ResourceInstance};
use ashlar_config::{ModuleCall, ResourceConfig, Tree};
use ashlar_eval::{Reference, Subject, block_references, made_blocks, references, written};
use ashlar_syntax::{Body, Expr, Step};
use ashlar_value::schema::{Block, Nesting};
use serde_json::{Value as Json, json};

use super::{configuration::arguments_of_call, find_schema};
use crate::{Action, Plan, Schemas};

/// The attributes, by address and path. Terraform has them in no order.
pub(super) fn of_plan(plan: &Plan, tree: &Tree, schemas: &Schemas) -> Json {
    let mut search = Search {
        tree,
        schemas,
        pending: Vec::new(),
        seen: BTreeSet::new(),
        found: BTreeMap::new(),
    };
    for change in plan.changes.iter().filter(|change| change.action != Action::NoOp) {
        let ResourceInstance { resource, .. } = &change.address;
        search.resource(&resource.module, &resource.resource, &[]);
    }
    let outputs = plan.outputs.iter();
    for (name, _) in outputs.filter(|(_, output)| output.action != Action::NoOp) {
        search.output(&ModuleInstance::root(), name);
    }
    for (module, names) in &plan.module_outputs {
        for name in names {
            search.output(module, name);
        }
    }
    search.run();
    let told = search.found.into_values();
    told.map(|(address, path)| json!({ "resource": address, "attribute": path }))
        .collect()
}

/// A reference where it stands.
#[derive(Clone)]
struct Place<'a> {
    module: ModuleInstance,
    /// The resource in whose body it stands, where that counts: for `each` and `count`.
    holder: Option<Resource>,
    reference: Reference<'a>,
}

struct Search<'a> {
    tree: &'a Tree,
    schemas: &'a Schemas,
    pending: Vec<Place<'a>>,
    seen: BTreeSet<String>,
    /// By what tells them apart: an instance without key is not the resource.
    found: BTreeMap<String, (String, Json)>,
}

impl<'a> Search<'a> {
    fn run(&mut self) {
        while let Some(place) = self.pending.pop() {
            self.follow(&place);
        }
    }

    /// Takes in references that stand in a module, and maybe in a resource.
    fn add(&mut self, module: &ModuleInstance, holder: Option<&Resource>, found: Vec<Reference<'a>>) {
        for reference in found {
            self.note(module, &reference);
            let repeats = matches!(reference.subject, Subject::Each(_) | Subject::Count(_));
            let holder = holder.filter(|_| repeats);
            let key = format!("{module}|{holder:?}|{}", text(&reference));
            if self.seen.insert(key) {
                self.pending.push(Place {
                    module: module.clone(),
                    holder: holder.cloned(),
                    reference,
                });
            }
        }
    }

    /// Is it an attribute of a resource? Only so much of the reference counts as the schema has.
    fn note(&mut self, module: &ModuleInstance, reference: &Reference<'_>) {
        let Subject::Resource(resource) = &reference.subject else {
            return;
        };
        let Some((_, schema)) = self.declared(module, resource) else {
            return;
        };
        let prefix = if module.is_root() {
            String::new()
        } else {
            format!("{module}.")
        };
        let address = format!("{prefix}{resource}{}", reference.key);
        let path = Json::Array(trim::block(schema, reference.remaining));
        self.found.insert(format!("{address} {path}"), (address, path));
    }

    fn declared(
        &self,
        module: &ModuleInstance,
        resource: &Resource,
    ) -> Option<(&'a ResourceConfig, &'a Block)> {
        let member = self.tree.members.get(&module.config())?;
        let config = member.module.resources.get(resource)?;
        let schema = find_schema(&config.provider_config.provider, resource, self.schemas)?;
        Some((config, &schema.block))
    }

    /// Adds what stands behind a reference.
    fn follow(&mut self, place: &Place<'a>) {
        let Place {
            module,
            holder,
            reference,
        } = place;
        match &reference.subject {
            Subject::Var(name) => self.variable(module, name),
            Subject::Local(name) => {
                let member = self.tree.members.get(&module.config());
                let local = member.and_then(|member| member.module.locals.get(name));
                self.expression(module, local.map(|local| &local.expr));
            }
            Subject::Module { call, output } => {
                let inner = module.child(call.clone(), reference.key.clone());
                match output {
                    Some(output) => self.output(&inner, output),
                    None => self.outputs(&inner),
                }
            }
            Subject::Each(_) | Subject::Count(_) => {
                let member = self.tree.members.get(&module.config());
                let config = member
                    .zip(holder.as_ref())
                    .and_then(|(member, holder)| member.module.resources.get(holder));
                if let Some(config) = config {
                    self.expression(module, config.for_each.as_ref().or(config.count.as_ref()));
                }
            }
            Subject::Resource(resource) => self.resource(module, resource, reference.remaining),
            Subject::List { .. }
            | Subject::Path(_)
            | Subject::Terraform(_)
            | Subject::SelfRef
            | Subject::Caller
            | Subject::Action { .. } => {}
        }
    }

    fn expression(&mut self, module: &ModuleInstance, expr: Option<&'a Expr>) {
        if let Some(expr) = expr {
            self.add(module, None, references(expr).0);
        }
    }

    fn output(&mut self, module: &ModuleInstance, name: &str) {
        let member = self.tree.members.get(&module.config());
        let output = member.and_then(|member| member.module.outputs.get(name));
        self.expression(module, output.map(|output| &output.value));
    }

    fn outputs(&mut self, module: &ModuleInstance) {
        let member = self.tree.members.get(&module.config());
        let outputs = member.into_iter().flat_map(|member| &member.module.outputs);
        for (name, _) in outputs {
            self.output(module, name);
        }
    }

    /// A variable of a called module has what its call gives; one of the root module has nothing behind it.
    fn variable(&mut self, module: &ModuleInstance, name: &str) {
        let Some(((call, _), outer)) = module.0.split_last() else {
            return;
        };
        let outer = ModuleInstance(outer.into());
        let inner = self.tree.members.get(&module.config());
        let given = inner
            .zip(self.call(&outer.config(), call))
            .and_then(|(inner, call)| {
                let (arguments, _) = written(&call.body, &arguments_of_call(&inner.module));
                arguments
                    .into_iter()
                    .find(|argument| &*argument.name.name == name)
            });
        self.expression(&outer, given.map(|argument| &argument.expr));
    }

    fn call(&self, module: &ModuleAddr, name: &str) -> Option<&'a ModuleCall> {
        self.tree.members.get(module)?.module.calls.get(name)
    }

    /// What a resource's arguments refer to; only those that the steps lead to, as far as that can be seen.
    fn resource(&mut self, module: &ModuleInstance, resource: &Resource, steps: &[Step]) {
        let Some((config, schema)) = self.declared(module, resource) else {
            return;
        };
        let mut bodies: Vec<&'a Body> = vec![&config.body];
        let mut exprs: Vec<&'a Expr> = Vec::new();
        let mut schema = Some(schema);
        for step in steps {
            if bodies.is_empty() {
                return;
            }
            let Some(block) = schema else {
                break;
            };
            let Some(name) = trim::name(step) else {
                break;
            };
            if block.attributes.contains_key(&*name) {
                for body in std::mem::take(&mut bodies) {
                    let (arguments, _) = written(body, block);
                    let meant = arguments.iter().filter(|argument| *argument.name.name == *name);
                    exprs.extend(meant.map(|argument| &argument.expr));
                }
                schema = None;
                break;
            }
            match block.blocks.get(&*name) {
                Some(nested) if matches!(nested.nesting, Nesting::Single | Nesting::Group) => {
                    let outer = std::mem::take(&mut bodies);
                    for (inner, told) in outer.into_iter().map(|body| made_blocks(body, block, &name)) {
                        bodies.extend(inner);
                        exprs.extend(told);
                    }
                    schema = Some(&nested.block);
                }
                // Of several blocks none is picked out: all that stands around them counts.
                Some(_) => {}
                None => {
                    bodies.clear();
                    schema = None;
                    break;
                }
            }
        }
        let mut found: Vec<Reference<'a>> = exprs.into_iter().flat_map(|expr| references(expr).0).collect();
        if let Some(schema) = schema {
            found.extend(
                bodies
                    .into_iter()
                    .flat_map(|body| block_references(body, schema).0),
            );
        }
        self.add(module, Some(resource), found);
    }
}

/// The reference, with all its steps.
fn text(reference: &Reference<'_>) -> String {
    let steps = reference.remaining.iter().map(|step| match step {
        Step::Attr { name, .. } => format!(".{name}"),
        Step::Index { key, .. } => format!("[{key:?}]"),
    });
    let steps: String = steps.collect();
    format!("{:?}{}{steps}", reference.subject, reference.key)
}
