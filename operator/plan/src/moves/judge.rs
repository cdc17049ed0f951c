//! Are the moves sound? Decided after planning, when it is known which instances there are.
//!
//! Source: Terraform `internal/refactoring/move_validate.go`.

use std::collections::{BTreeMap, HashMap};

use ashlar_addr::AbsResource;
use ashlar_diag::{Diag, Diags};

use super::{Moves, graph, place::Moveable};
use crate::values::{Expansion, Values};

/// Which instances the plan found.
pub(crate) struct Declared<'d, 'a> {
    pub(crate) values: &'d Values<'a>,
    pub(crate) resources: &'d HashMap<AbsResource, Expansion>,
}

impl Declared<'_, '_> {
    fn has(&self, what: &Moveable) -> bool {
        match what {
            Moveable::Module(module) => self.values.instance(module).is_some(),
            Moveable::Call(module, name) => self
                .values
                .instance(module)
                .is_some_and(|caller| caller.has_expanded(name)),
            Moveable::Resource(resource) => self.resources.contains_key(resource),
            Moveable::Instance(instance) => self
                .resources
                .get(&instance.resource)
                .is_some_and(|expansion| expansion.contains(&instance.key)),
        }
    }
}

impl Moves {
    /// The faults of moves that contradict the configuration or each other. They come before all other faults, which they may
    /// be the cause of.
    pub(crate) fn judge(&self, declared: &Declared<'_, '_>) -> Diags {
        let mut diags = Diags::new();
        let mut leaving: BTreeMap<Moveable, Moveable> = BTreeMap::new();
        let mut arriving: BTreeMap<Moveable, Moveable> = BTreeMap::new();
        for statement in &self.statements {
            for module in &*declared.values.instances(&statement.from.declared) {
                let from = statement.from.within(&module.address);
                let to = statement.to.within(&module.address);
                let mut blame = |summary: &'static str, detail: String| {
                    diags.push(Diag::error(summary, detail).at(statement.span));
                };
                if from == to {
                    let detail = format!("{from} is said to have moved to where it is. Take the block out.");
                    blame("Redundant move statement", detail);
                    continue;
                }
                if declared.has(&from) {
                    let detail = format!(
                        "{from} is said to have moved, but that {} is still declared. Declare it as {to} instead, or take \
                         the block out.",
                        from.noun()
                    );
                    blame("Moved object still exists", detail);
                }
                match leaving.get(&from) {
                    Some(other) if *other != to => {
                        let detail = format!(
                            "{from} is said to have moved to {to} here, and to {other} elsewhere. It can only be at one of \
                             them."
                        );
                        blame("Ambiguous move statements", detail);
                    }
                    Some(_) => {}
                    None => drop(leaving.insert(from.clone(), to.clone())),
                }
                match arriving.get(&to) {
                    Some(other) if *other != from => {
                        let detail = format!(
                            "{from} is said to have moved to {to} here, and {other} elsewhere. Only one of them can be there."
                        );
                        blame("Ambiguous move statements", detail);
                    }
                    Some(_) => {}
                    None => drop(arriving.insert(to, from)),
                }
            }
        }
        if !diags.has_errors() {
            diags.extend(self.circles());
        }
        diags
    }

    fn circles(&self) -> Diags {
        let fault = |group: Vec<usize>| {
            let named = group.iter().filter_map(|at| self.statements.get(*at));
            let outside = ashlar_addr::ModuleInstance::root();
            let lines: Vec<String> = named
                .map(|statement| {
                    let (from, to) = (statement.from.within(&outside), statement.to.within(&outside));
                    format!("\n  - {from} to {to}")
                })
                .collect();
            let detail = format!(
                "These moves lead from one to the next in a circle, so there is no place where anything could end:{}\n\nThe last \
                 address of a chain must not be the beginning of another move.",
                lines.concat()
            );
            Diag::error("Cyclic dependency in move statements", detail)
        };
        graph(&self.statements).cycles().into_iter().map(fault).collect()
    }
}
