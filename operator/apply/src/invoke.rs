//! Invokes one action.
//!
//! What it did cannot be read, undone or planned again, so the intent stays on record until the provider has told of its end.
//! Source: Terraform `node_action_trigger_instance_apply.go`.

use ashlar_config::ActionTrigger;
use ashlar_diag::{Diag, Diags, Span};
use ashlar_plan::{
    Invocation, ModuleValues, Trigger, actions, lock, objchange::assert_object_compatible, unmarked,
};
use ashlar_port::{Event, Intent, Outcome, Provider, ProviderDiag, Record, Subject, was_heard};
use ashlar_value::Value;

use crate::run::{Run, damaged};

impl Run<'_> {
    /// Runs the step that invokes an action.
    pub(crate) async fn invoke(&self, at: usize) -> Result<Diags, Diags> {
        let invocation = self.plan.invocations.get(at).ok_or_else(damaged)?;
        let action = &invocation.action;
        let module = self.engine.values.instance(&action.module).ok_or_else(damaged)?;
        let trigger = match &invocation.trigger {
            None => None,
            Some(trigger) => Some((trigger, self.trigger_block(trigger)?)),
        };
        if let Some((trigger, block)) = trigger {
            self.decide(trigger, block, &module)?;
        }
        let place = trigger.and_then(|(trigger, block)| block.actions.get(trigger.at));
        let place = place.map(|expr| expr.span);
        let placed = |diag: Diag| match place {
            Some(span) => diag.at(span),
            None => diag,
        };
        let instances = module.action(&action.kind, &action.name);
        let Some(config) = instances.and_then(|instances| instances.get(&action.key)) else {
            let detail = format!("There is no {action} any more: the action has no such instance.");
            return Err(placed(Diag::error("Action instance not found", detail)).into());
        };
        self.compare_config(invocation, config, place)?;
        let provider = self.engine.provider(&invocation.provider)?;
        let remarks = self
            .ask_to_invoke(&*provider, invocation, &unmarked(config))
            .await?;
        let failed = "Error when invoking action";
        let remark = actions::told(&remarks, failed, "Warning when invoking action");
        let diags: Diags = remark.map(placed).into_iter().collect();
        if diags.has_errors() {
            return Err(diags);
        }
        lock(&self.counts).invoked += 1;
        Ok(diags)
    }

    fn trigger_block(&self, trigger: &Trigger) -> Result<&ActionTrigger, Diags> {
        let config = self.engine.tree.resource(&trigger.resource.resource.config());
        let triggers = config.map(|config| &config.lifecycle.action_triggers);
        let block = triggers.and_then(|triggers| triggers.get(trigger.block));
        block.ok_or_else(damaged)
    }

    /// Decides the condition once more, with what is known now.
    fn decide(
        &self,
        trigger: &Trigger,
        block: &ActionTrigger,
        module: &ModuleValues<'_>,
    ) -> Result<(), Diags> {
        let Some(condition) = &block.condition else {
            return Ok(());
        };
        let (instance, _) = self.instance(&trigger.resource)?;
        if actions::holds(condition, &[trigger.event], module, instance.repetition)? {
            return Ok(());
        }
        let detail = "The condition held when this was planned and does not hold now, so the action is not invoked. Plan anew.";
        Err(Diag::error("Condition changed evaluation during apply", detail)
            .at(condition.span)
            .into())
    }

    /// Is the action configured as it was approved, and is all of that known?
    fn compare_config(
        &self,
        invocation: &Invocation,
        config: &Value,
        place: Option<Span>,
    ) -> Result<(), Diags> {
        let action = &invocation.action;
        let declared = self.engine.tree.action(&action.config()).ok_or_else(damaged)?;
        let schema = actions::schema(&self.engine, &action.config(), declared)?;
        let placed = |diag: Diag| match place {
            Some(span) => diag.at(span),
            None => diag,
        };
        let now = actions::without_ephemeral(config);
        let problems = assert_object_compatible(schema, &invocation.config, &now);
        let mut faults: Diags = problems
            .iter()
            .map(|problem| {
                let detail = format!(
                    "{action} is configured otherwise now, with values that are known, than it was approved: {}: {}. This is \
                     a fault of Ashlar or of a provider.",
                    problem.path, problem.message
                );
                placed(Diag::error("Provider produced inconsistent final plan", detail))
            })
            .collect();
        if !config.is_wholly_known() {
            let detail = format!(
                "The configuration of {action} still holds values that are not known, though all it refers to is done. This \
                 is a fault of Ashlar or of a provider."
            );
            faults.push(placed(Diag::error(
                "Action configuration unknown during apply",
                detail,
            )));
        }
        if faults.is_empty() { Ok(()) } else { Err(faults) }
    }

    /// Calls the provider with the intent on record. Where it was not heard to the end nobody knows what it did: then the
    /// intent stays open.
    async fn ask_to_invoke(
        &self,
        provider: &dyn Provider,
        invocation: &Invocation,
        config: &Value,
    ) -> Result<Vec<ProviderDiag>, Diags> {
        let _permit = self.engine.permit().await;
        let invoked = invocation.invoked();
        let subject = Subject::Action(invoked.clone());
        if provider.has_effects() {
            let intent = Intent {
                subject: subject.clone(),
                action: "invoke".to_owned(),
            };
            self.keeper.ledger().intend(intent).await?;
        }
        let progress = self.engine.progress;
        progress.tell(Event::ActionStarted(invoked.clone()));
        let begun = self.engine.outside.monotonic_ms();
        let says = |text: &str| progress.tell(Event::ActionSays(invoked.clone(), text.to_owned()));
        let remarks = provider
            .invoke_action(&invocation.action.kind, config, &says)
            .await;
        progress.tell(Event::ActionEnded {
            invoked: invoked.clone(),
            failed: remarks
                .iter()
                .any(|remark| remark.severity == ashlar_diag::Severity::Error),
            elapsed_ms: self.engine.outside.monotonic_ms().saturating_sub(begun),
        });
        let heard = was_heard(&remarks);
        if provider.has_effects() && heard {
            let object = None;
            self.keeper
                .ledger()
                .note(Record::Outcome(Outcome { subject, object }))
                .await;
        }
        Ok(remarks)
    }
}

#[cfg(test)]
mod tests;
