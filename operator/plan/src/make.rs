//! The whole way from inputs to a plan.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
    sync::Arc,
};

use ashlar_addr::{AbsResource, ConfigResource, Module, Provider as ProviderAddr};
use ashlar_config::Tree;
use ashlar_diag::{Diag, Diags, Span};
use ashlar_eval::CheckRule;
use ashlar_funcs::Caps;
use ashlar_graph::Graph;
use ashlar_port::{Outside, Progress, Providers};
use ashlar_state::State;
use ashlar_value::Value;
use futures::future::join_all;

use crate::{
    actions,
    engine::Schemas,
    ephemeral::is_ephemeral,
    function_results::FunctionResults,
    generate::{generated_file, remark},
    model::{Action, Change, CheckStatus, Mode, Options, PackagePin, Plan, ProviderPin},
    moves,
    node::{Node, Sight, build, build_whole, cycle_faults, missing_provider, provider_faults},
    order::Order,
    parts::add_vacant,
    removal_run,
    removed::Removed,
    steps::{self, Step},
    walk::Found,
    way::{Refresh, Way},
};

/// All that a plan is made from.
pub struct Inputs<'a> {
    /// The configuration, without what [`ashlar_config::limits`] tells of.
    pub tree: &'a Tree,
    /// Its files, name and text, as they were loaded.
    pub files: Vec<(Arc<str>, Arc<str>)>,
    /// The packages of its modules that were fetched.
    pub packages: BTreeMap<Module, PackagePin>,
    /// The input variables, typed and marked.
    pub variables: BTreeMap<Arc<str>, Value>,
    /// Where those of them stand that files give.
    pub places: BTreeMap<Arc<str>, Span>,
    /// What is wrong with values that do not fit their variables: what needs those is not planned.
    pub refused: BTreeMap<Arc<str>, Diags>,
    /// Which ephemeral ones of them have to be given again to apply.
    pub given_again: BTreeSet<Arc<str>>,
    /// The state as read.
    pub state: State,
    /// The person's choices.
    pub options: Options,
    /// The schemas of all its providers, from [`fetch_schemas`].
    pub schemas: &'a Schemas,
    /// Where providers come from.
    pub providers: &'a dyn Providers,
    /// Versions and digests of the providers in use.
    pub pins: Vec<ProviderPin>,
    /// Files, time and randomness for functions.
    pub caps: &'a dyn Caps,
    /// Clock and chance.
    pub outside: &'a dyn Outside,
    /// Who watches.
    pub progress: &'a dyn Progress,
    /// When the plan is made: the value of `plantimestamp()`, RFC 3339.
    pub timestamp: String,
    /// The file for what is made up of imported objects that nothing declares, if that is wanted.
    pub generate: Option<Arc<str>>,
    /// What the check of the configuration told, its providers asked.
    pub checked: Diags,
}

/// A plan and what was remarked on the way. With errors the plan is marked as errored, and may be missing.
pub struct Planned {
    /// The plan, as far as it came.
    pub plan: Option<Plan>,
    /// Errors and warnings, in the order of source.
    pub diags: Diags,
}

/// The schemas of all providers that configuration and state name.
pub async fn fetch_schemas(tree: &Tree, state: &State, providers: &dyn Providers) -> Result<Schemas, Diags> {
    // Functions of any of them may be called.
    let mut needed: BTreeSet<ProviderAddr> = tree.requirements().into_keys().collect();
    needed.extend(
        state
            .resources
            .values()
            .map(|resource| resource.provider.provider.clone()),
    );
    fetch_schemas_of(needed, providers).await
}

/// The schemas of these providers.
pub async fn fetch_schemas_of(
    needed: BTreeSet<ProviderAddr>,
    providers: &dyn Providers,
) -> Result<Schemas, Diags> {
    let fetched = join_all(needed.iter().map(|provider| providers.schema(provider))).await;
    let mut diags = Diags::new();
    let schemas = needed
        .iter()
        .zip(fetched)
        .filter_map(|(provider, result)| diags.take(result).map(|schema| (provider.clone(), schema)))
        .collect();
    if diags.has_errors() {
        Err(diags)
    } else {
        Ok(schemas)
    }
}

/// Makes a plan.
pub async fn plan(mut inputs: Inputs<'_>) -> Planned {
    let mut checked = std::mem::take(&mut inputs.checked);
    for member in inputs.tree.members.values() {
        checked.extend(ashlar_config::self_repetitions(&member.module));
    }
    if checked.has_errors() {
        return Planned {
            plan: None,
            diags: in_source_order(checked),
        };
    }
    let remark = inputs.options.selection.remark();
    let mut planned = plan_checked(inputs, &checked).await;
    planned.diags.extend(remark);
    Planned {
        plan: planned.plan,
        diags: told_once(planned.diags, &checked),
    }
}

async fn plan_checked(inputs: Inputs<'_>, checked: &Diags) -> Planned {
    let schemas = inputs.schemas;
    let selection = &inputs.options.selection;
    let mut state = inputs.state.clone();
    if state.lineage.is_empty() {
        // A first plan begins the history that its apply will write.
        state.lineage = inputs.outside.uuid();
    }
    let moved = moves::apply(inputs.tree, &mut state, schemas, inputs.providers).await;
    let moves = match moved {
        Ok(moves) => moves,
        Err(diags) => return Planned { plan: None, diags },
    };
    let asked = &inputs.options.invoke;
    let mut refused = actions::undeclared(inputs.tree, asked);
    refused.extend(selection.move_faults(&moves.from));
    if refused.has_errors() {
        return Planned {
            plan: None,
            diags: refused,
        };
    }
    let sight = Sight {
        tree: inputs.tree,
        state: &state,
        schemas,
        invoke: asked,
        refused: &inputs.refused,
        selection,
    };
    let mut graph = build(&sight, None);
    if !asked.is_empty() {
        graph = actions::needs_of_requests(&graph);
    }
    let all = (!selection.is_whole()).then(|| build_whole(&sight));
    let whole = all.as_ref().unwrap_or(&graph);
    let removed = Removed::of(inputs.tree);
    let mut faults: Diags = missing_provider(inputs.tree).into_iter().collect();
    faults.extend(cycle_faults(&graph));
    if inputs.options.mode == Mode::Normal {
        faults.extend(removed.faults(inputs.tree));
    }
    faults.extend(provider_faults(whole, &sight));
    if faults.has_errors() {
        return Planned {
            plan: None,
            diags: faults,
        };
    }
    let order = Order::of(all.as_ref(), &graph, &sight, &|_, _| true);
    let way = Way {
        inputs: &inputs,
        order: &order,
        moves: &moves,
        whole,
        checked,
    };
    // A destroy run removes what state holds; beyond the refresh only what providers need of the configuration matters.
    let destroys = inputs.options.mode == Mode::Destroy;
    let needs = |removed: &HashSet<AbsResource>| {
        removal_run::needs_of_providers(whole, inputs.tree, &state, |resource| removed.contains(resource))
    };
    let needed = destroys.then(|| {
        let removed = removal_run::selected(&state, selection, |resource| order.dependencies(resource));
        needs(&removed.into_iter().map(|(address, _)| address.resource).collect())
    });
    // What goes with what is selected may need more than that does; of this, resources are only looked up.
    let beyond = needed.as_ref().filter(|_| !selection.is_whole());
    let looked_up = beyond
        .into_iter()
        .flat_map(Graph::nodes)
        .filter_map(|node| match node {
            Node::Resource(resource) if !graph.contains(node) => Some(resource.clone()),
            _ => None,
        });
    let looked_up = looked_up.collect();
    let refreshed = beyond.map(|needed| {
        let mut both = graph.clone();
        both.merge(needed);
        both
    });
    let found = match &needed {
        Some(needed) => {
            let refresh = Refresh {
                graph: &graph,
                with_needs: refreshed.as_ref().unwrap_or(&graph),
                looked_up,
            };
            way.destroy(refresh, needed, removed, &state).await
        }
        None => way.go(&graph, removed, &state).await,
    };
    match found {
        Ok(mut found) => {
            found.diags.extend(checked.iter().cloned());
            let removed = found.changes.iter().map(|change| change.address.resource.clone());
            let needed = destroys.then(|| needs(&removed.collect()));
            let graph = needed.as_ref().unwrap_or(&graph);
            let steps = settle(&sight, inputs.options.mode, &mut found, graph, &order);
            finish(inputs, found, steps)
        }
        Err(diags) => Planned { plan: None, diags },
    }
}

/// Brings what was found into order, judges it as a whole, and makes the steps that come of it.
fn settle(sight: &Sight<'_>, mode: Mode, found: &mut Found, graph: &Graph<Node>, order: &Order) -> Vec<Step> {
    let Found {
        refreshed,
        changes,
        drift,
        checks,
        invocations,
        reached,
        diags,
        ..
    } = found;
    // What was not looked at may have objects all the same.
    let has_errors = diags.has_errors();
    let status = |node: &Node| {
        if has_errors && !reached.contains(node) || !graph.contains(node) {
            CheckStatus::Unknown
        } else {
            CheckStatus::Pass
        }
    };
    add_vacant(sight.tree, status, checks);
    changes.sort_by(|a, b| (&a.address, a.deposed).cmp(&(&b.address, b.deposed)));
    // Where changes are planned, a move is told among them.
    drift.retain(|change| change.action != Action::NoOp || mode == Mode::RefreshOnly);
    drift.sort_by(|a, b| a.address.cmp(&b.address));
    invocations.sort_by(|a, b| (&a.trigger, &a.action).cmp(&(&b.trigger, &b.action)));
    diags.extend(duplicate_faults(changes));
    diags.extend(forgotten(changes));
    if diags.has_errors() {
        return Vec::new();
    }
    let stored: Vec<Arc<[ConfigResource]>> = changes
        .iter()
        .map(|change| stored_dependencies(change, refreshed, order))
        .collect();
    // A refresh-only run makes nothing; but checks and preconditions of outputs are decided again, what was asked for is
    // invoked, and what is opened is opened again.
    let acts = |node: &&Node| match node {
        Node::Check(..) | Node::Request(_) => true,
        Node::Output(module, name) => {
            let member = sight.tree.members.get(module);
            let output = member.and_then(|member| member.module.outputs.get(name));
            output.is_some_and(|output| !output.preconditions.is_empty())
        }
        Node::Resource(resource) => is_ephemeral(resource),
        _ => false,
    };
    let without_objects = (mode == Mode::RefreshOnly)
        .then(|| removal_run::needs_of_values(graph, graph.nodes().filter(acts).cloned().collect()));
    let graph = without_objects.as_ref().unwrap_or(graph);
    let facts = steps::Facts {
        sight,
        changes,
        invocations,
        mode,
    };
    let built = steps::build(graph, &facts, &stored);
    diags.take(built).unwrap_or_default()
}

fn finish(inputs: Inputs<'_>, found: Found, steps: Vec<Step>) -> Planned {
    let mut diags = found.diags;
    let errored = diags.has_errors();
    let declared = &inputs.tree.root().variables;
    let is_ephemeral_variable = |name: &str| declared.get(name).is_some_and(|variable| variable.ephemeral);
    let mut variables = inputs.variables;
    variables.retain(|name, _| !is_ephemeral_variable(name));
    let mut plan = Plan {
        options: inputs.options,
        config: inputs.files,
        modules: inputs
            .tree
            .members
            .iter()
            .filter(|(path, _)| !path.is_root())
            .map(|(path, member)| (path.clone(), member.folder.clone()))
            .collect(),
        packages: inputs.packages,
        variables,
        given_again: inputs.given_again,
        given: BTreeMap::new(),
        previous_state: inputs.state,
        prior_state: found.refreshed,
        changes: found.changes,
        drift: found.drift,
        outputs: found.outputs,
        checks: found.checks,
        steps,
        providers: inputs.pins,
        functions: FunctionResults::default(),
        timestamp: inputs.timestamp,
        errored,
        invocations: found.invocations,
        generated: found.generated,
        module_outputs: found.module_outputs,
    };
    if let (Some(name), Some(text)) = (inputs.generate, generated_file(&plan)) {
        // Where it stands once it is among the module's files, so that the plan that is made then is the same.
        let before = |(file, _): &&(Arc<str>, Arc<str>)| !file.contains('/') && *file < name;
        let at = plan.config.iter().take_while(before).count();
        plan.config.insert(at, (name, text.into()));
        diags.push(remark());
    }
    Planned {
        plan: Some(plan),
        diags,
    }
}

/// A warning about objects that stay and are no longer managed.
fn forgotten(changes: &[Change]) -> Option<Diag> {
    let lines: Vec<String> = changes
        .iter()
        .filter(|change| matches!(change.action, Action::Forget | Action::ForgetThenCreate))
        .map(|change| format!("\n - {}", change.address))
        .collect();
    (!lines.is_empty()).then(|| {
        let detail = format!(
            "Applying this plan drops what is known of these objects. They are not destroyed, and have to be imported to be \
             managed again:{}",
            lines.concat()
        );
        Diag::warning("Some objects will no longer be managed by Terraform", detail)
    })
}

/// Two changes of one object would be carried out one after the other in any order. Only a fault here can plan them.
fn duplicate_faults(changes: &[Change]) -> Diags {
    let pairs = changes.windows(2).filter_map(|pair| match pair {
        [one, other] if (&one.address, one.deposed) == (&other.address, other.deposed) => Some(one),
        _ => None,
    });
    let fault = |change: &Change| {
        let detail = format!(
            "{} was planned twice, so the plan cannot be carried out. This is a fault of Ashlar.",
            change.address
        );
        Diag::error("Duplicate planned change", detail)
    };
    pairs.map(fault).collect()
}

/// The dependencies recorded with the object that a change starts from, or for a new one those it will have. For a data
/// source none are recorded, so those of its configuration count.
fn stored_dependencies(change: &Change, state: &State, order: &Order) -> Arc<[ConfigResource]> {
    if change.action == Action::Read {
        return order.dependencies(&change.address.resource.config());
    }
    let instance = state.instance(&change.address);
    let object = match change.deposed {
        Some(key) => instance.and_then(|instance| instance.deposed.get(&key)),
        None => instance.and_then(|instance| instance.current.as_ref()),
    };
    match object {
        Some(object) if change.action != Action::Create => object.dependencies.clone(),
        _ => change.dependencies.clone(),
    }
}

/// What may be told several times at one place: Terraform notes beside these what they come from (which check, which
/// function, which value), and does not look whether that is the same.
const TOLD_EACH: [&str; 16] = [
    "Call to unknown function",
    "Check block assertion failed",
    "Check block assertion known after apply",
    "Deprecated value used",
    "Error in function call",
    "Invalid count argument",
    CheckRule::INVALID_VALUE,
    "Invalid expanding argument value",
    "Invalid for_each argument",
    "Invalid function argument",
    "Module output value precondition failed",
    "Not enough function arguments",
    "Resource postcondition failed",
    "Resource precondition failed",
    "Too many function arguments",
    "Unknown provider function",
];

/// In the order of source, and what several instances have in common once; what was checked before is told of each call of
/// its module. Source: Terraform `internal/backend/local/backend_plan.go`, `backend_local.go`, `internal/tfdiags`
/// (`AppendWithoutDuplicates`).
fn told_once(diags: Diags, checked: &Diags) -> Diags {
    let key = |diag: &Diag| {
        let words = (diag.summary.clone(), diag.detail.clone());
        (diag.subject, words, diag.is_error())
    };
    let mut due: HashMap<_, usize> = HashMap::new();
    for diag in checked.iter() {
        *due.entry(key(diag)).or_default() += 1;
    }
    let mut is_due = |diag: &Diag| {
        if TOLD_EACH.contains(&&*diag.summary) || diag.subject.is_none() {
            return true;
        }
        let due = due.entry(key(diag)).or_insert(1);
        let is_due = *due > 0;
        *due = due.saturating_sub(1);
        is_due
    };
    in_source_order(diags)
        .into_iter()
        .filter(|diag| is_due(diag))
        .collect()
}

/// Visits end in any order; people read from top to bottom.
pub fn in_source_order(diags: Diags) -> Diags {
    let mut diags: Vec<_> = diags.into_iter().collect();
    diags.sort_by(|a, b| {
        (a.severity, a.subject.is_none(), a.subject, &a.address).cmp(&(
            b.severity,
            b.subject.is_none(),
            b.subject,
            &b.address,
        ))
    });
    diags.into_iter().collect()
}
