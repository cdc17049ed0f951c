//! A resource whose instances are final: its value for those who refer to it; data sources read and dropped.

use std::collections::BTreeMap;

use ashlar_addr::{AbsResource, ConfigResource, InstanceKey, ResourceInstance};
use ashlar_config::ResourceConfig;
use ashlar_diag::{Diag, Diags};
use ashlar_plan::{
    Action, Expansion, Mode, ModuleValues, asserts, combine,
    instance::{
        conditions::{check_postconditions, check_preconditions},
        stored::to_object,
    },
    lock, stored_value, value_beside,
};
use ashlar_value::Value;

use crate::run::Run;

impl Run<'_> {
    /// Makes up a resource's value in each instance of its module.
    pub(crate) fn settle(&self, resource: &ConfigResource) -> Result<Diags, Diags> {
        let Some(config) = self.engine.tree.resource(resource) else {
            return Ok(Diags::new());
        };
        let mut diags = Diags::new();
        for (module, address) in self.engine.values.places(resource) {
            diags.take(self.settle_in(&module, &address, config));
        }
        if diags.has_errors() { Err(diags) } else { Ok(diags) }
    }

    /// Makes up a resource's value from its instances.
    fn settle_in(
        &self,
        module: &ModuleValues<'_>,
        resource: &AbsResource,
        config: &ResourceConfig,
    ) -> Result<(), Diags> {
        if self.plan.options.mode != Mode::Normal {
            // Only providers refer to it, which are configured as the objects were before any of them went, or checks, where
            // nothing changes.
            let value = stored_value(
                self.engine.schemas,
                self.engine.mode,
                &self.plan.prior_state,
                resource,
                config,
            )?;
            module.set_resource(&resource.resource, value);
            return Ok(());
        }
        let mut values = self.instances.of(resource);
        let expansion = self.expansion(resource, module, config)?;
        if resource.resource.mode == ashlar_addr::Mode::Data {
            // Read while planning: the state has it.
            self.add_stored(resource, &mut values)?;
        }
        let value = if let Expansion::Switched(false) = *expansion {
            let schema = self
                .engine
                .resource_schema(&config.provider_config.provider, &resource.resource)?;
            Value::null(schema.block.ty())
        } else if self.plan.options.selection.is_whole() {
            combine(&expansion, values)
        } else {
            let is_gone = |key: &InstanceKey| self.goes(&resource.instance(key.clone()));
            let (schemas, state) = (self.engine.schemas, &self.plan.prior_state);
            value_beside(schemas, state, resource, config, values, is_gone)?
        };
        module.set_resource(&resource.resource, value);
        self.instances.remove(resource);
        Ok(())
    }

    /// Is the current object of an instance destroyed or forgotten?
    fn goes(&self, address: &ResourceInstance) -> bool {
        let planned = self.changes.get(&address.resource).into_iter().flatten();
        let mut changes = planned.filter_map(|at| self.plan.changes.get(*at));
        changes.any(|change| {
            change.address == *address
                && change.deposed.is_none()
                && matches!(change.action, Action::Delete | Action::Forget)
        })
    }

    /// Decides the conditions of an instance that does not change: those that planning could not decide yet, and all others
    /// again, since what they look at may have changed.
    pub(crate) fn assert(&self, at: usize) -> Result<Diags, Diags> {
        let change = self.change(at)?;
        let (instance, _) = self.instance(&change.address)?;
        let (mut check, mut diags) = check_preconditions(&instance);
        // As everywhere, what comes after a precondition that does not hold is not looked at.
        if !diags.has_errors() {
            let (after, remarks) = check_postconditions(&instance, &change.after);
            check = check.and(after);
            diags.extend(remarks);
        }
        lock(&self.checks).insert(change.address.to_string(), check);
        if diags.has_errors() { Err(diags) } else { Ok(diags) }
    }

    /// Adds what the state holds of a resource and is not there yet.
    fn add_stored(
        &self,
        resource: &AbsResource,
        values: &mut BTreeMap<InstanceKey, Value>,
    ) -> Result<(), Diags> {
        let Some(stored) = self.plan.prior_state.resources.get(resource) else {
            return Ok(());
        };
        let schema = self
            .engine
            .resource_schema(&stored.provider.provider, &resource.resource)?;
        for (key, instance) in &stored.instances {
            if let (Some(object), false) = (&instance.current, values.contains_key(key)) {
                let value = ashlar_state::decode_object(object, schema)?;
                values.insert(
                    key.clone(),
                    ashlar_plan::objchange::mark_sensitive(&schema.block, value),
                );
            }
        }
        Ok(())
    }

    /// Reads a data source whose reading was put off.
    pub(crate) async fn read(&self, at: usize) -> Result<Diags, Diags> {
        let change = self.change(at)?;
        let (instance, _) = self.instance(&change.address)?;
        let outcome = instance.read_data(false).await?;
        if let Some(check) = outcome.check {
            lock(&self.checks).insert(change.address.to_string(), check);
        }
        if let (Some(check), Some(name)) = (outcome.failed, &instance.config.check) {
            // The state keeps what was read before.
            lock(&self.checks).insert(asserts::address(&instance.module, name), check);
            return Ok(outcome.diags);
        }
        let Some(live) = outcome.read else {
            if outcome.diags.has_errors() {
                return Err(outcome.diags);
            }
            let detail = format!(
                "{} was to be read now, but its configuration is still not known.",
                change.address
            );
            return Err(Diag::error("Configuration contains unknown value", detail).into());
        };
        let object = to_object(&live, instance.schema)?;
        self.keeper
            .change(|state| state.set(&change.address, None, &change.provider, Some(object)));
        if outcome.diags.has_errors() {
            return Err(outcome.diags);
        }
        self.instances.set(&change.address, outcome.value);
        Ok(outcome.diags)
    }

    /// Removes from the state what stays as it is, or is a data source.
    pub(crate) fn leave_out(&self, at: usize) -> Result<Diags, Diags> {
        let change = self.change(at)?;
        self.keeper
            .change(|state| state.set(&change.address, change.deposed, &change.provider, None));
        Ok(Diags::new())
    }
}
