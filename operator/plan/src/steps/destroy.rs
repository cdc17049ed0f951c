//! The order between destroying and making objects.
//!
//! Source: Terraform `transform_destroy_edge.go`, `transform_destroy_cbd.go`. With A depending on B: destroy(A) comes before
//! destroy(B) and before what makes or changes B; what makes or changes A comes after destroy(B). Where an object is
//! destroyed last, what would come after its destruction comes before it. The dependencies are those recorded in state: the
//! order is about objects that are there already.
//!
//! What waits across providers is left out where it would close a circle, as Terraform has it: seen before anything that is
//! destroyed last is put behind what it would come before. A circle that this closes is no edge to do without, and refused.

use std::{
    collections::{BTreeMap, HashMap},
    slice::from_ref,
    sync::Arc,
};

use ashlar_addr::{ConfigResource, ModuleInstance, ProviderConfig, ResourceInstance};
use ashlar_graph::Graph;

use super::{
    Op,
    act::{Act, Part},
    joins::Joins,
};
use crate::model::Mode;

const DESTROY: &[Part] = &[Part::DestroyFirst, Part::DestroyLast];

/// Adds the order to a table that holds the steps already. `dependencies` are those of each change's object.
pub(super) fn link(
    draft: &mut Graph<Op>,
    joins: &mut Joins,
    acts: &[Act<'_>],
    dependencies: &[Arc<[ConfigResource]>],
    mode: Mode,
) {
    let turns = acts.iter().any(|act| act.part == Part::DestroyLast);
    let differ = acts.windows(2).any(|pair| match pair {
        [one, other] => one.change.provider != other.change.provider,
        _ => false,
    });
    let unturned = (turns && differ && mode != Mode::Destroy).then(|| draft.clone());
    let mut linker = Linker {
        draft,
        joins,
        unturned,
    };
    linker.link_successors(acts);
    let mut own: BTreeMap<ConfigResource, Vec<&Act<'_>>> = BTreeMap::new();
    // Nothing is done with what is only judged.
    for act in acts.iter().filter(|act| !matches!(act.op, Op::Assert(_))) {
        own.entry(act.change.address.resource.config())
            .or_default()
            .push(act);
    }
    let mut dependents: BTreeMap<&ConfigResource, Vec<&Act<'_>>> = BTreeMap::new();
    for (resource, acts) in &own {
        for act in acts {
            for dependency in dependencies.get(act.at).into_iter().flat_map(|all| all.iter()) {
                if dependency != resource && own.contains_key(dependency) {
                    dependents.entry(dependency).or_default().push(act);
                }
            }
        }
    }
    let mut doubtful = Vec::new();
    for (resource, dependents) in &dependents {
        let own = own.get(*resource).map_or(&[][..], Vec::as_slice);
        linker.link(
            &groups(dependents, &[Part::Make]),
            &groups(own, &[Part::DestroyFirst]),
            Way::Straight,
        );
        linker.link(
            &groups(own, &[Part::DestroyLast]),
            &groups(dependents, &[Part::Make]),
            Way::Turned,
        );
        let pairs = [
            (groups(own, DESTROY), groups(dependents, DESTROY), Way::Straight),
            (
                groups(own, &[Part::Make]),
                groups(dependents, &[Part::DestroyFirst]),
                Way::Straight,
            ),
            (
                groups(dependents, &[Part::DestroyLast]),
                groups(own, &[Part::Make]),
                Way::Turned,
            ),
        ];
        for (waiting, awaited, way) in pairs {
            let rest = linker.link_own_provider(waiting, awaited, way, mode);
            doubtful.extend(rest.into_iter().map(|(waiting, awaited)| (waiting, awaited, way)));
        }
    }
    // Last, when all that must be is there to close a circle with.
    for (waiting, awaited, way) in doubtful {
        linker.link_acyclic(&waiting, &awaited, way);
    }
}

/// Which way an edge points.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    /// As it would whenever objects are destroyed.
    Straight,
    /// The other way, since an object is destroyed last.
    Turned,
}

/// Acts of one module instance that use one provider configuration.
type Groups<'a> = BTreeMap<(&'a ModuleInstance, &'a ProviderConfig), Vec<Op>>;

fn groups<'a>(acts: &[&'a Act<'_>], parts: &[Part]) -> Groups<'a> {
    let mut groups = Groups::new();
    for act in acts.iter().filter(|act| parts.contains(&act.part)) {
        let key = (&act.change.address.resource.module, &act.change.provider);
        groups.entry(key).or_default().push(act.op.clone());
    }
    groups
}

/// Instances of one module do not depend on each other, though what is recorded does not tell them apart.
fn are_apart(one: &ModuleInstance, other: &ModuleInstance) -> bool {
    one != other && one.0.len() == other.0.len() && one.config() == other.config()
}

struct Linker<'a> {
    draft: &'a mut Graph<Op>,
    joins: &'a mut Joins,
    /// The same with no edge turned, if any is and it matters.
    unturned: Option<Graph<Op>>,
}

impl Linker<'_> {
    /// What takes an object's place comes after its destruction, or before it: the new object of a replacement, or the
    /// current object beside a deposed one.
    fn link_successors(&mut self, acts: &[Act<'_>]) {
        let made: HashMap<&ResourceInstance, &Op> = acts
            .iter()
            .filter(|act| act.part == Part::Make)
            .map(|act| (&act.change.address, &act.op))
            .collect();
        for act in acts {
            let Some(made) = made.get(&act.change.address) else {
                continue;
            };
            match act.part {
                Part::Make => {}
                Part::DestroyFirst => self.connect(from_ref(*made), from_ref(&act.op), Way::Straight),
                Part::DestroyLast => self.connect(from_ref(&act.op), from_ref(*made), Way::Turned),
            }
        }
    }

    fn link(&mut self, waiting: &Groups<'_>, awaited: &Groups<'_>, way: Way) {
        for ((here, _), waiting) in waiting {
            for ((there, _), awaited) in awaited {
                if !are_apart(here, there) {
                    self.connect(waiting, awaited, way);
                }
            }
        }
    }

    /// Links what uses the same provider configuration, and gives back the rest: a provider may be configured with what is
    /// made here, so that waiting across providers may close a circle. While all is destroyed nothing is made, so all is
    /// linked.
    fn link_own_provider(
        &mut self,
        waiting: Groups<'_>,
        awaited: Groups<'_>,
        way: Way,
        mode: Mode,
    ) -> Vec<(Vec<Op>, Vec<Op>)> {
        let mut rest = Vec::new();
        for ((here, provider), waiting) in &waiting {
            for ((there, other), awaited) in &awaited {
                if are_apart(here, there) {
                    continue;
                }
                if provider == other || mode == Mode::Destroy {
                    self.connect(waiting, awaited, way);
                } else {
                    rest.push((waiting.clone(), awaited.clone()));
                }
            }
        }
        rest
    }

    /// Links what can be linked without closing a circle of edges that are not turned.
    fn link_acyclic(&mut self, waiting: &[Op], awaited: &[Op], way: Way) {
        let graph = self.unturned.as_ref().unwrap_or(self.draft);
        // Where the edges are to be turned, the circle is looked for the other way.
        let (ends, starts) = match way {
            Way::Straight => (waiting, awaited),
            Way::Turned => (awaited, waiting),
        };
        let needing = graph.needing(ends);
        if !starts.iter().any(|op| needing.contains(op)) {
            return self.connect(waiting, awaited, way);
        }
        for op in ends {
            let graph = self.unturned.as_ref().unwrap_or(self.draft);
            let needing = graph.needing([op]);
            let free = starts.iter().filter(|op| !needing.contains(op));
            let free: Vec<Op> = free.cloned().collect();
            match way {
                Way::Straight => self.connect(from_ref(op), &free, way),
                Way::Turned => self.connect(&free, from_ref(op), way),
            }
        }
    }

    fn connect(&mut self, waiting: &[Op], awaited: &[Op], way: Way) {
        self.joins.connect(self.draft, waiting, awaited);
        if let Some(unturned) = &mut self.unturned {
            match way {
                Way::Straight => self.joins.connect(unturned, waiting, awaited),
                Way::Turned => self.joins.connect(unturned, awaited, waiting),
            }
        }
    }
}
