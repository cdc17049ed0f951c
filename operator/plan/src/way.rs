//! The walks that a plan needs: one for an ordinary run, and for a destroy run that refreshes one before what is removed.
//!
//! Source: Terraform `internal/terraform/context_plan.go` (`plan`, `destroyPlan`).

use std::collections::{BTreeMap, HashSet};

use ashlar_addr::ConfigResource;
use ashlar_diag::Diags;
use ashlar_graph::Graph;
use ashlar_state::{OutputState, State};

use crate::{
    asserts,
    engine::{Engine, lock},
    ephemeral::is_ephemeral,
    imports,
    make::Inputs,
    model::{Check, CheckStatus, Mode},
    moves::{self, judge::Declared},
    node::Node,
    order::Order,
    outputs, removal_run,
    removed::Removed,
    values::Values,
    walk::{Found, PlanWalk, in_state},
};

/// What a walk is made of, and what follows from it.
pub(crate) struct Way<'w, 'a> {
    pub(crate) inputs: &'w Inputs<'a>,
    pub(crate) order: &'w Order,
    pub(crate) moves: &'w moves::Moves,
    /// All that there is, whatever the run is limited to.
    pub(crate) whole: &'w Graph<Node>,
    /// What was said of the configuration before.
    pub(crate) checked: &'w Diags,
}

/// What a destroy run refreshes before it plans.
pub(crate) struct Refresh<'g> {
    /// What is selected.
    pub(crate) graph: &'g Graph<Node>,
    /// The same with what providers need of the configuration to remove objects.
    pub(crate) with_needs: &'g Graph<Node>,
    /// The resources of that beyond what is selected: they are only looked up.
    pub(crate) looked_up: HashSet<ConfigResource>,
}

impl<'w, 'a> Way<'w, 'a> {
    fn engine(&self) -> Engine<'w> {
        let inputs = self.inputs;
        let values = Values::new(
            inputs.tree,
            &inputs.variables,
            inputs.schemas,
            &inputs.options.workspace,
            None,
            inputs.caps,
        );
        Engine::new(
            inputs.tree,
            values,
            inputs.schemas,
            inputs.providers,
            inputs.outside,
            inputs.progress,
            &inputs.options,
        )
    }

    fn walk<'e>(
        &'e self,
        engine: &'e Engine<'w>,
        graph: &'e Graph<Node>,
        looked_up: HashSet<ConfigResource>,
        removed: Removed,
        state: &'e State,
        state_alone: bool,
    ) -> PlanWalk<'e, 'w> {
        PlanWalk {
            engine,
            graph,
            state_alone,
            looked_up,
            order: self.order,
            options: &self.inputs.options,
            places: &self.inputs.places,
            refused: &self.inputs.refused,
            state,
            in_state: in_state(state),
            moves: self.moves,
            removed,
            generates: self.inputs.generate.is_some(),
            found: std::sync::Mutex::new(Found {
                refreshed: state.clone(),
                moved: self.moves.from.clone(),
                ..Found::default()
            }),
        }
    }

    /// Walks the graph, and judges what was said to have moved by what it found. What is wrong with that is told alone.
    async fn judged(&self, walk: &PlanWalk<'_, '_>) -> Result<Found, Diags> {
        walk.run().await;
        let mut found = std::mem::take(&mut *lock(&walk.found));
        let judged = if self.inputs.options.invoke.is_empty() {
            self.moves.judge(&Declared {
                values: &walk.engine.values,
                resources: &found.expanded,
            })
        } else {
            // Of most resources it was not asked which instances they have.
            Diags::new()
        };
        if judged.has_errors() {
            return Err(judged);
        }
        if !found.diags.has_errors() {
            found.diags.extend(self.moves.blocked());
        }
        keep_known_outputs(&mut found);
        if found.diags.has_errors() && self.inputs.options.mode != Mode::Destroy {
            undecided(walk.graph, &walk.engine.values, &mut found.checks);
        }
        Ok(found)
    }

    /// An ordinary run, and one that only takes over what changed outside.
    pub(crate) async fn go(
        &self,
        graph: &Graph<Node>,
        removed: Removed,
        state: &State,
    ) -> Result<Found, Diags> {
        let engine = self.engine();
        let walk = self.walk(&engine, graph, HashSet::new(), removed, state, false);
        let mut found = self.to_the_end(&engine, self.judged(&walk)).await?;
        if self.inputs.options.mode == Mode::Normal {
            found.diags.extend(imports::lost(self.inputs.tree, self.whole));
        }
        let options = &self.inputs.options;
        let all = options.invoke.is_empty() && options.selection.is_whole();
        let gone = state.outputs.iter().filter(|_| all);
        for (name, before) in gone {
            if !self.inputs.tree.root().outputs.contains_key(name) {
                found.outputs.insert(name.clone(), outputs::removal(before));
            }
        }
        Ok(found)
    }

    /// A run that refreshes the state, if that is wanted, and plans the removal of all that is in it.
    pub(crate) async fn destroy(
        &self,
        refresh: Refresh<'_>,
        needed: &Graph<Node>,
        removed: Removed,
        state: &State,
    ) -> Result<Found, Diags> {
        let selection = &self.inputs.options.selection;
        let refreshes = self.inputs.options.refresh && !state.is_empty();
        let opens = |node: &Node| matches!(node, Node::Resource(resource) if is_ephemeral(resource));
        // What the refresh opened is closed after it, so providers that need some of it are configured with it anew; and not
        // before, where the refresh itself has no use for them.
        let (again, first) = match (refreshes, needed.nodes().any(opens)) {
            (true, true) => (true, refresh.graph),
            (true, false) => (false, refresh.with_needs),
            (false, _) => (false, needed),
        };
        let engine = self.engine();
        let walk = self.walk(&engine, first, refresh.looked_up, removed, state, !refreshes);
        let work = async {
            let mut found = self.judged(&walk).await?;
            if found.diags.has_errors() {
                // What was planned on the way to a refreshed state is not what was asked for.
                found.diags.extend(self.checked.iter().cloned());
                return Err(found.diags);
            }
            // The walk only refreshed. What it would warn of is about objects that go.
            found.diags = Diags::new();
            if !again {
                removal_run::plan_removals(&engine, &mut found, selection).await;
            }
            Ok(found)
        };
        let mut found = self.to_the_end(&engine, work).await?;
        // Of outputs of called modules only those are planned that a provider needs.
        found.module_outputs.retain(|module, names| {
            let path = module.config();
            names.retain(|name| needed.contains(&Node::Output(path.clone(), name.clone())));
            !names.is_empty()
        });
        if !again {
            return Ok(found);
        }
        let refreshed = found.refreshed.clone();
        let engine = self.engine();
        let walk = self.walk(
            &engine,
            needed,
            HashSet::new(),
            Removed::of(self.inputs.tree),
            &refreshed,
            true,
        );
        let work = async {
            walk.run().await;
            let told = std::mem::take(&mut lock(&walk.found).diags);
            if told.has_errors() {
                return Err(told);
            }
            removal_run::plan_removals(&engine, &mut found, selection).await;
            Ok(found)
        };
        self.to_the_end(&engine, work).await
    }

    /// Does work with an engine, closes what is still open after it, and ends the providers.
    async fn to_the_end(
        &self,
        engine: &Engine<'_>,
        work: impl Future<Output = Result<Found, Diags>>,
    ) -> Result<Found, Diags> {
        let (found, told) = engine
            .with_renewals(async {
                let found = work.await;
                (found, engine.release_all().await)
            })
            .await;
        engine.close().await;
        match found {
            Ok(mut found) => {
                found.diags.extend(told);
                if engine.has_refused() {
                    found.diags.extend(self.checked.iter().cloned());
                    return Err(found.diags);
                }
                Ok(found)
            }
            Err(mut diags) => {
                diags.extend(told);
                Err(diags)
            }
        }
    }
}

/// A run that breaks off keeps the outputs that were known before it.
fn keep_known_outputs(found: &mut Found) {
    let Found {
        outputs, refreshed, ..
    } = found;
    for (name, change) in outputs {
        if change.after.is_null() {
            refreshed.outputs.remove(name);
        } else if change.after.is_wholly_known() && ashlar_state::can_hold(&change.after) {
            let value = OutputState {
                value: change.after.clone(),
                sensitive: change.sensitive.1,
            };
            refreshed.outputs.insert(name.clone(), value);
        }
    }
}

/// Check blocks that were not reached are there all the same, undecided.
fn undecided(graph: &Graph<Node>, values: &Values<'_>, checks: &mut BTreeMap<String, Check>) {
    for node in graph.nodes() {
        let Node::Check(path, name) = node else {
            continue;
        };
        for instance in values.instances(path).iter() {
            checks
                .entry(asserts::address(instance, name))
                .or_insert_with(|| Check::of(CheckStatus::Unknown));
        }
    }
}
