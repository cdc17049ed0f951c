//! How a run begins: the values, graph and state that its steps find.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    sync::Mutex,
};

use ashlar_addr::{AbsResource, ConfigResource, InstanceKey};
use ashlar_config::Tree;
use ashlar_plan::{
    Action, Check, CheckStatus, Engine, FinalValues, Mode, Order, Plan, Schemas, Values, known_part,
    node::{Sight, build, build_whole},
    show::declaration,
};
use ashlar_state::OutputState;

use super::{Inputs, Run};
use crate::keeper::Keeper;

impl<'a> Run<'a> {
    pub(super) fn new(inputs: &Inputs<'a>, schemas: &'a Schemas, instances: &'a FinalValues) -> Self {
        let plan = inputs.plan;
        let values = Values::new(
            inputs.tree,
            inputs.variables,
            schemas,
            &plan.options.workspace,
            Some(instances),
            inputs.caps,
        );
        let engine = Engine::new(
            inputs.tree,
            values,
            schemas,
            inputs.providers,
            inputs.outside,
            inputs.progress,
            &plan.options,
        );
        let selection = &plan.options.selection;
        let sight = Sight {
            tree: inputs.tree,
            state: &plan.prior_state,
            schemas,
            invoke: &plan.options.invoke,
            refused: &BTreeMap::new(),
            selection,
        };
        let graph = build(&sight, None);
        let all = (!selection.is_whole()).then(|| build_whole(&sight));
        let mut state = plan.prior_state.clone();
        for (name, output) in &plan.outputs {
            match output.action {
                Action::Delete => {
                    state.outputs.remove(name);
                }
                // A refresh-only run has steps only for outputs with preconditions. What is not known (it refers to an
                // object that is not there) is kept as null.
                Action::Create | Action::Update
                    if plan.options.mode == Mode::RefreshOnly && !is_judged(inputs.tree, name) =>
                {
                    if output.after.is_null() {
                        state.outputs.remove(name);
                        continue;
                    }
                    let kept = OutputState {
                        value: known_part(output.after.clone()),
                        sensitive: output.sensitive.1,
                    };
                    state.outputs.insert(name.clone(), kept);
                }
                _ => {}
            }
        }
        let is_news = !ashlar_state::same_content(&state, &plan.previous_state);
        let dirty = is_news || plan.has_changes() || state.serial == 0;
        let mut changes: HashMap<AbsResource, Vec<usize>> = HashMap::new();
        let mut visited = HashSet::new();
        for (at, change) in plan.changes.iter().enumerate() {
            let resource = &change.address.resource;
            changes.entry(resource.clone()).or_default().push(at);
            if change.is_visited(inputs.tree) {
                visited.insert((resource.config(), change.address.key.clone()));
            }
            // What does not change keeps its planned value.
            if change.action == Action::NoOp && change.deposed.is_none() {
                instances.set(&change.address, change.after.clone());
            }
        }
        let visited =
            |resource: &ConfigResource, key: &InstanceKey| visited.contains(&(resource.clone(), key.clone()));
        Self {
            engine,
            plan,
            keeper: Keeper::new(
                inputs.store,
                inputs.outside,
                inputs.terraform_version,
                state,
                dirty,
            ),
            provisioners: inputs.provisioners,
            order: Order::of(all.as_ref(), &graph, &sight, &visited),
            counts: Mutex::default(),
            checks: Mutex::new(checks_before(plan)),
            instances,
            changes,
            expansions: Mutex::default(),
            is_news,
        }
    }
}

/// Has this output of the root module preconditions, on which its value hangs?
fn is_judged(tree: &Tree, name: &str) -> bool {
    let output = tree.root().outputs.get(name);
    output.is_some_and(|output| !output.preconditions.is_empty())
}

/// What is known of conditions before anything is done. A refresh-only run decides checks alone, so what was found of others
/// while planning stands; else each counts only when its object is visited.
fn checks_before(plan: &Plan) -> BTreeMap<String, Check> {
    let mut checks = plan.checks.clone();
    let stands = plan.options.mode == Mode::RefreshOnly;
    for (address, check) in checks.iter_mut().filter(|(_, check)| !check.vacant) {
        let is_block = matches!(declaration(address), Some((_, "check", _)));
        if is_block || !stands {
            *check = Check::of(CheckStatus::Unknown);
        }
    }
    checks
}
