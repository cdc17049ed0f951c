//! Which changes of a resource trigger an entry of its `action_trigger` blocks.
//!
//! Source: Terraform `node_action_trigger_plan.go`, `node_action_trigger_instance_plan.go`.

use std::sync::Arc;

use ashlar_addr::{ActionInstance, ConfigResource, ResourceInstance};
use ashlar_config::{ActionTrigger, TriggerEvent};
use ashlar_diag::{Diag, Diags};
use ashlar_eval::{Reference, Subject};
use ashlar_syntax::Expr;
use futures::future::join_all;

use super::{holds, told, without_ephemeral};
use crate::{
    engine::{lock, unmarked},
    instance::refresh::deferred_fault,
    model::{Action, Invocation, Mode, Trigger},
    static_traversal::static_traversal,
    values::{ModuleValues, Repetition},
    walk::{PlanWalk, gather},
};

/// Plans what an entry triggers, for all instances of the resource.
pub(crate) async fn trigger(
    walk: &PlanWalk<'_, '_>,
    resource: &ConfigResource,
    block: usize,
    at: usize,
) -> Result<Diags, Diags> {
    // Only where something is to be made or changed anything is triggered.
    if walk.options.mode != Mode::Normal {
        return Ok(Diags::new());
    }
    let config = walk.engine.tree.resource(resource);
    let triggers = config.map(|config| &config.lifecycle.action_triggers);
    let Some(trigger) = triggers.and_then(|triggers| triggers.get(block)) else {
        return Ok(Diags::new());
    };
    let Some(expr) = trigger.actions.get(at) else {
        return Ok(Diags::new());
    };
    let mut entries = Vec::new();
    let mut diags = Diags::new();
    for (module, address) in walk.engine.values.places(resource) {
        let expansion = lock(&walk.found).expanded.get(&address).cloned();
        let Some(expansion) = expansion else { continue };
        for key in expansion.keys() {
            let entry = named(expr, &module, &Repetition::of_key(&key)).map(|action| Entry {
                module: module.clone(),
                resource: address.instance(key.clone()),
                repetition: expansion.repetition(&key),
                action,
                trigger,
                expr,
                block,
                at,
            });
            entries.extend(diags.take(entry));
        }
    }
    if diags.has_errors() {
        return Err(diags);
    }
    gather(join_all(entries.iter().map(|entry| entry.plan(walk))).await)
}

/// The action that an entry names.
fn named(expr: &Expr, module: &ModuleValues<'_>, repetition: &Repetition) -> Result<ActionInstance, Diags> {
    let traversal = static_traversal(expr, repetition, unexpected)?;
    let reference = Reference::parse(&traversal)?;
    match reference {
        Some(Reference {
            subject: Subject::Action { kind, name },
            key,
            ..
        }) => Ok(ActionInstance {
            module: module.address.clone(),
            kind,
            name,
            key,
        }),
        _ => Err(unexpected(expr)),
    }
}

fn unexpected(expr: &Expr) -> Diags {
    let detail = "Name an action, or one of its instances by a constant, count.index or each.key.";
    Diag::error("Invalid action expression", detail)
        .at(expr.span)
        .into()
}

/// An entry for one instance of the resource.
struct Entry<'t, 'a> {
    module: Arc<ModuleValues<'a>>,
    resource: ResourceInstance,
    repetition: Repetition,
    action: ActionInstance,
    trigger: &'t ActionTrigger,
    expr: &'t Expr,
    block: usize,
    at: usize,
}

impl Entry<'_, '_> {
    async fn plan(&self, walk: &PlanWalk<'_, '_>) -> Result<Diags, Diags> {
        let Some(change) = self.change(walk) else {
            return Ok(Diags::new());
        };
        let instances = self.module.action(&self.action.kind, &self.action.name);
        let Some(config) = instances.and_then(|instances| instances.get(&self.action.key)) else {
            let detail = format!("There is no {}: the action has no such instance.", self.action);
            return Err(Diag::error("Reference to non-existent action instance", detail)
                .at(self.expr.span)
                .into());
        };
        let events: Vec<TriggerEvent> = self
            .trigger
            .events
            .iter()
            .copied()
            .filter(|event| is_triggered(*event, change))
            .collect();
        if events.is_empty() {
            return Ok(Diags::new());
        }
        if let Some(condition) = &self.trigger.condition
            && !holds(
                condition,
                &self.trigger.events,
                &self.module,
                self.repetition.clone(),
            )?
        {
            return Ok(Diags::new());
        }
        let Some(declared) = walk.engine.tree.action(&self.action.config()) else {
            return Ok(Diags::new());
        };
        let provider = walk.engine.provider(&declared.provider_config)?;
        let answer = {
            let _permit = walk.engine.permit().await;
            provider.plan_action(&self.action.kind, &unmarked(config)).await
        };
        let remark = told(
            &answer.diags,
            "Failed to plan action",
            "Warnings when planning action",
        );
        let mut diags: Diags = remark.map(|diag| diag.at(self.expr.span)).into_iter().collect();
        if answer.value.is_some() {
            diags.extend(deferred_fault(&self.action));
        }
        if diags.has_errors() {
            return Err(diags);
        }
        let planned = events.into_iter().map(|event| Invocation {
            action: self.action.clone(),
            trigger: Some(Trigger {
                resource: self.resource.clone(),
                block: self.block,
                at: self.at,
                event,
            }),
            provider: declared.provider_config.clone(),
            config: without_ephemeral(config),
        });
        lock(&walk.found).invocations.extend(planned);
        Ok(diags)
    }

    /// What happens to the current object of the instance.
    fn change(&self, walk: &PlanWalk<'_, '_>) -> Option<Action> {
        let found = lock(&walk.found);
        let planned = found.by_resource.get(&self.resource.resource)?;
        let at = *planned.current.get(&self.resource.key)?;
        found.changes.get(at).map(|change| change.action)
    }
}

/// Does such a change trigger at that event? A replacement is a creation.
fn is_triggered(event: TriggerEvent, change: Action) -> bool {
    match event {
        TriggerEvent::BeforeCreate | TriggerEvent::AfterCreate => {
            change == Action::Create || change.is_replace()
        }
        TriggerEvent::BeforeUpdate | TriggerEvent::AfterUpdate => change == Action::Update,
    }
}
