//! Moves: what `moved` blocks say, and what follows from adding or removing `count`, done to the state before planning.
//!
//! Whether they are sound is known only after planning, from which instances there are (`judge`); then nothing of the plan
//! is shown. Source: Terraform `internal/refactoring`.

mod across;
pub(crate) mod judge;
mod place;

use std::{collections::BTreeMap, sync::Arc};

use ashlar_addr::{AbsResource, InstanceKey, Mode, ProviderConfig, Resource, ResourceInstance};
use ashlar_config::Tree;
use ashlar_diag::{Diag, Diags, Span};
use ashlar_graph::Graph;
use ashlar_port::Providers;
use ashlar_state::{Object, State};

use self::{across::Across, place::Place};
use crate::engine::Schemas;

/// One move.
#[derive(Clone, Debug)]
pub(crate) struct Statement {
    from: Place,
    to: Place,
    /// The provider configuration of the resource at its end, if one is configured there.
    provider: Option<ProviderConfig>,
    /// The block, or what the move follows from.
    span: Span,
}

/// All moves, and what came of them.
#[derive(Debug, Default)]
pub(crate) struct Moves {
    statements: Vec<Statement>,
    /// For each new address the one it had before.
    pub(crate) from: BTreeMap<ResourceInstance, ResourceInstance>,
    /// What could not move, and where to: something was there.
    blocked: Vec<(String, String)>,
}

/// Moves objects in the state.
pub(crate) async fn apply(
    tree: &Tree,
    state: &mut State,
    schemas: &Schemas,
    providers: &dyn Providers,
) -> Result<Moves, Diags> {
    let mut statements = explicit(tree);
    let implied = implied(tree, state, &statements);
    statements.extend(implied);
    let mut moves = Moves {
        statements,
        ..Moves::default()
    };
    if moves.statements.is_empty() {
        return Ok(moves);
    }
    // Where they lead in a circle nothing is moved; that is told when they are judged.
    let Some(order) = graph(&moves.statements).order() else {
        return Ok(moves);
    };
    let mut across = Across::new(schemas, providers);
    let mut diags = Diags::new();
    for at in order {
        let Some(statement) = moves.statements.get(at).cloned() else {
            continue;
        };
        let moved = if statement.from.is_module() {
            moves.modules(&statement, state);
            Ok(())
        } else {
            moves.resources(&statement, state, &mut across).await
        };
        diags.take(moved);
    }
    across.close().await;
    if diags.has_errors() { Err(diags) } else { Ok(moves) }
}

impl Moves {
    fn record(&mut self, from: ResourceInstance, to: ResourceInstance) {
        // A chain of moves is told as one.
        let first = self.from.remove(&from).unwrap_or(from);
        self.from.insert(to, first);
    }

    fn modules(&mut self, statement: &Statement, state: &mut State) {
        let mut present = state.modules();
        for module in present.clone() {
            let Some(target) = statement.from.moves_module(&statement.to, &module) else {
                continue;
            };
            if present.contains(&target) {
                self.blocked.push((module.to_string(), target.to_string()));
                continue;
            }
            // Those of one module stand together.
            let first = AbsResource {
                module: module.clone(),
                resource: Resource::new(Mode::Data, "", ""),
            };
            let inside: Vec<AbsResource> = state
                .resources
                .range(first..)
                .map(|(resource, _)| resource)
                .take_while(|resource| resource.module == module)
                .cloned()
                .collect();
            present.remove(&module);
            present.insert(target.clone());
            for resource in inside {
                let to = resource.resource.within(target.clone());
                self.move_resource(&resource, to, state);
            }
        }
    }

    fn move_resource(&mut self, from: &AbsResource, to: AbsResource, state: &mut State) {
        for key in keys(state, from) {
            self.record(from.instance(key.clone()), to.instance(key));
        }
        state.move_resource(from, to);
    }

    async fn resources(
        &mut self,
        statement: &Statement,
        state: &mut State,
        across: &mut Across<'_>,
    ) -> Result<(), Diags> {
        let mut diags = Diags::new();
        let all: Vec<AbsResource> = state.resources.keys().cloned().collect();
        for resource in all.iter().filter(|resource| statement.from.selects(resource)) {
            if let Some(target) = statement.from.moves_resource(&statement.to, resource) {
                if state.resources.contains_key(&target) {
                    self.blocked.push((resource.to_string(), target.to_string()));
                    continue;
                }
                let mut converted = Vec::new();
                for key in keys(state, resource) {
                    let (from, to) = (resource.instance(key.clone()), target.instance(key));
                    let object = diags.take(across.convert(statement, &from, &to, state).await);
                    converted.extend(object.flatten().map(|object| (to, object)));
                }
                self.move_resource(resource, target, state);
                for (to, object) in converted {
                    take_over(statement, &to, object, state);
                }
                continue;
            }
            for key in keys(state, resource) {
                let from = resource.instance(key);
                let Some(to) = statement.from.moves_instance(&statement.to, &from) else {
                    continue;
                };
                if state.instance(&to).is_some() {
                    self.blocked.push((from.to_string(), to.to_string()));
                    continue;
                }
                let object = diags.take(across.convert(statement, &from, &to, state).await);
                state.move_instance(&from, &to);
                if let Some(object) = object.flatten() {
                    take_over(statement, &to, object, state);
                }
                self.record(from, to);
            }
        }
        if diags.has_errors() { Err(diags) } else { Ok(()) }
    }

    /// A warning about what could not move.
    pub(crate) fn blocked(&self) -> Option<Diag> {
        let lines: Vec<String> = self
            .blocked
            .iter()
            .map(|(from, to)| format!("\n  - {from} could not move to {to}"))
            .collect();
        (!lines.is_empty()).then(|| {
            let detail = format!(
                "Some objects were to move, but others are at their new addresses already:{}\n\nThis plan destroys those that \
                 could not move. If that is not meant, mend the state first.",
                lines.concat()
            );
            Diag::warning("Unresolved resource instance address changes", detail)
        })
    }
}

/// Puts what an object has become in its place, under its new provider.
fn take_over(statement: &Statement, to: &ResourceInstance, object: Arc<Object>, state: &mut State) {
    if let Some(provider) = &statement.provider {
        state.set(to, None, provider, Some(object));
    }
}

fn keys(state: &State, resource: &AbsResource) -> Vec<InstanceKey> {
    let found = state.resources.get(resource);
    found
        .map(|found| found.instances.keys().cloned().collect())
        .unwrap_or_default()
}

/// What `moved` blocks say, in all modules.
fn explicit(tree: &Tree) -> Vec<Statement> {
    let mut statements = Vec::new();
    for (path, member) in &tree.members {
        for moved in &member.module.moved {
            let (from, to) = Place::pair(path, &moved.from, &moved.to);
            let target = moved.to.resource.as_ref().and_then(|(resource, _)| {
                let steps = moved.to.module.iter().map(|(name, _)| name.clone());
                let module = ashlar_addr::Module(path.0.iter().cloned().chain(steps).collect());
                tree.resource(&resource.within_config(module))
            });
            statements.push(Statement {
                from,
                to,
                provider: target.map(|config| config.provider_config.clone()),
                span: moved.header,
            });
        }
    }
    statements
}

/// An instance without a key becomes the first of a count, and the other way round, unless a block says something about that
/// resource. Never for for_each.
fn implied(tree: &Tree, state: &State, explicit: &[Statement]) -> Vec<Statement> {
    let mut statements = Vec::new();
    for (address, resource) in &state.resources {
        let Some(config) = tree.resource(&address.config()) else {
            continue;
        };
        let (from, to) = match (&config.count, &config.for_each) {
            (Some(_), _) => (InstanceKey::None, InstanceKey::Int(0)),
            (None, None) => (InstanceKey::Int(0), InstanceKey::None),
            (None, Some(_)) => continue,
        };
        let is_named =
            |statement: &Statement| statement.from.selects(address) || statement.to.selects(address);
        if !resource.instances.contains_key(&from) || explicit.iter().any(is_named) {
            continue;
        }
        statements.push(Statement {
            from: Place::of(&address.instance(from)),
            to: Place::of(&address.instance(to)),
            provider: Some(config.provider_config.clone()),
            span: config.count.as_ref().map_or(config.header, |count| count.span),
        });
    }
    statements
}

/// The order: a chain from its beginning to its end, what is inside of something moved before or after that.
fn graph(statements: &[Statement]) -> Graph<usize> {
    let mut graph = Graph::new();
    for (one, waiting) in statements.iter().enumerate() {
        graph.add(one);
        for (other, awaited) in statements.iter().enumerate() {
            if one != other && comes_after(waiting, awaited) {
                graph.depend(one, other);
            }
        }
    }
    graph
}

/// Source: Terraform `statementDependsOn` in `move_execute.go`.
fn comes_after(one: &Statement, other: &Statement) -> bool {
    if one.from.chains_from(&other.to) {
        return true;
    }
    let touches = one.from.nested_within(&other.to)
        || one.to.nested_within(&other.to)
        || other.from.nested_within(&one.from)
        || other.to.nested_within(&one.from);
    // A module that only changes keys holds what is inside of it before and after.
    touches && (one.to.declared.0.len() >= other.to.declared.0.len() || !one.from.is_rekeying(&one.to))
}
