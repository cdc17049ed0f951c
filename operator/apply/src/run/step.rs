//! One step of a plan, and what all that are about an instance need.

use std::{collections::BTreeMap, sync::Arc};

use ashlar_addr::{AbsResource, Module, ProviderConfig, ResourceInstance};
use ashlar_config::ResourceConfig;
use ashlar_diag::{Diag, Diags, Severity};
use ashlar_plan::{
    Change, CheckStatus, Expansion, Mode, ModuleValues, Op, StepId, actions, asserts, expand_resource,
    instance::Instance, known_part, lock, outputs, parts,
};
use ashlar_state::OutputState;
use ashlar_value::Value;

use super::Run;

/// The fault of a step that names what the plan does not hold.
pub(crate) fn damaged() -> Diags {
    let detail = "A step of the stored plan names a change or a step that the plan does not hold. Plan anew.";
    Diag::error("Stored plan cannot be read", detail).into()
}

impl<'a> Run<'a> {
    pub(super) async fn step(&self, id: StepId) -> Result<Diags, Diags> {
        let step = self.plan.steps.get(id.0 as usize).ok_or_else(damaged)?;
        let (tree, values) = (self.engine.tree, &self.engine.values);
        match &step.op {
            Op::Configure(provider) => self.engine.configure(provider, false).await,
            Op::Call(module) => parts::call(tree, values, module),
            Op::Variable(module, name) => parts::variable(tree, values, module, name),
            Op::Validate(module, name) => {
                parts::validation(tree, values, module, name, &BTreeMap::new(), |address, check| {
                    lock(&self.checks).insert(address, check);
                })
            }
            Op::Local(module, name) => parts::local(values, module, name),
            Op::Write(at) => self.write(*at).await,
            Op::Read(at) => self.read(*at).await,
            Op::Delete(at) => self.delete(*at).await,
            Op::Drop(at) | Op::Forget(at) => self.leave_out(*at),
            Op::Assert(at) => self.assert(*at),
            Op::Settle(resource) => self.settle(resource),
            Op::Join(_) | Op::Close(_) => Ok(Diags::new()),
            Op::Check(module, name) => Ok(self.check(module, name)),
            Op::Open(resource) => {
                let note = |address: &ResourceInstance, check| {
                    lock(&self.checks).insert(address.to_string(), check);
                };
                self.engine.open(resource, &note).await
            }
            Op::Release(resource) => self.engine.release(resource).await,
            Op::Output(module, name) => self.output(module, name),
            Op::Action(action) => actions::evaluate(&self.engine, action),
            Op::Invoke(at) => self.invoke(*at).await,
        }
    }

    /// A change of the plan.
    pub(crate) fn change(&self, at: usize) -> Result<&'a Change, Diags> {
        self.plan.changes.get(at).ok_or_else(damaged)
    }

    fn check(&self, module: &Module, name: &Arc<str>) -> Diags {
        let mut diags = Diags::new();
        for instance in &*self.engine.values.instances(module) {
            let address = asserts::address(instance, name);
            let data = lock(&self.checks).get(&address).cloned();
            let failed = data.filter(|check| check.status == CheckStatus::Fail);
            let (check, told) = asserts::decide(instance, name, failed.as_ref());
            lock(&self.checks).insert(address, check);
            diags.extend(told);
        }
        diags
    }

    fn output(&self, module: &Module, name: &Arc<str>) -> Result<Diags, Diags> {
        let mut diags = Diags::new();
        // What was known when it was planned stays so.
        let planned = self.plan.outputs.get(name).filter(|_| module.is_root());
        let known = planned
            .map(|change| &change.after)
            .filter(|after| after.is_wholly_known());
        for instance in &*self.engine.values.instances(module) {
            // Also where planning only warned of it: the value is to be kept now.
            let (check, result) = outputs::judge(instance, name, known, Severity::Error);
            if let Some(check) = check {
                lock(&self.checks).insert(parts::checked_address(&instance.address, "output", name), check);
            }
            match result {
                Err(faults) => diags.extend(faults),
                Ok(evaluated) => {
                    diags.extend(evaluated.diags);
                    let refreshes = self.plan.options.mode == Mode::RefreshOnly;
                    if module.is_root() && refreshes && !evaluated.value.is_null() {
                        // What is not known, since it refers to what is not there, is kept as null.
                        let (value, sensitive) = (known_part(evaluated.value), evaluated.sensitive);
                        self.keeper.change(|state| {
                            drop(
                                state
                                    .outputs
                                    .insert(name.clone(), OutputState { value, sensitive }),
                            )
                        });
                    } else if module.is_root() {
                        // Where something is left out of a run, what it would give is not known even now.
                        let value = known_part(evaluated.value);
                        self.keep_output(name, value, evaluated.sensitive);
                    } else {
                        instance.set_output(name, evaluated.value);
                    }
                }
            }
        }
        if diags.has_errors() { Err(diags) } else { Ok(diags) }
    }

    fn keep_output(&self, name: &Arc<str>, value: Value, sensitive: bool) {
        let kept = OutputState { value, sensitive };
        let stored = self.keeper.read(|state| state.outputs.get(name).cloned());
        if kept.value.is_null() {
            if stored.is_some() {
                self.keeper.change(|state| drop(state.outputs.remove(name)));
            }
        } else if stored.as_ref() != Some(&kept) {
            self.keeper
                .change(|state| drop(state.outputs.insert(name.clone(), kept)));
        }
    }

    /// The configured instance at an address, with everything its provider calls need.
    pub(crate) fn instance(
        &self,
        address: &ResourceInstance,
    ) -> Result<(Instance<'_, 'a>, &ResourceConfig), Diags> {
        let declared = address.resource.config();
        let config = self.engine.tree.resource(&declared);
        let module = self.engine.values.instance(&address.resource.module);
        let (Some(config), Some(module)) = (config, module) else {
            let detail =
                format!("{address} is to be changed, but the plan's configuration does not hold it.");
            return Err(Diag::error("Stored plan cannot be read", detail).into());
        };
        let schema = self
            .engine
            .resource_schema(&config.provider_config.provider, &declared.resource)?;
        let expansion = self.expansion(&address.resource, &module, config)?;
        let instance = Instance {
            engine: &self.engine,
            address: address.clone(),
            module,
            config,
            provider: self
                .planned_provider(address, config)
                .unwrap_or(&config.provider_config)
                .clone(),
            schema,
            repetition: expansion.repetition(&address.key),
            dependencies: self.order.dependencies(&declared),
            create_before_destroy: self.order.is_instance_created_first(&declared, &address.key),
        };
        Ok((instance, config))
    }

    /// The provider configuration that an instance was planned with.
    fn planned_provider(
        &self,
        address: &ResourceInstance,
        config: &ResourceConfig,
    ) -> Option<&ProviderConfig> {
        if config.provider_key.is_none() && config.passed_key.is_none() {
            return None;
        }
        let planned = self.changes.get(&address.resource).into_iter().flatten();
        planned
            .filter_map(|at| self.plan.changes.get(*at))
            .find(|change| change.address == *address && change.deposed.is_none())
            .map(|change| &change.provider)
    }

    /// Which instances a resource has; evaluated once, when all it refers to is known.
    pub(crate) fn expansion(
        &self,
        resource: &AbsResource,
        module: &ModuleValues<'_>,
        config: &ResourceConfig,
    ) -> Result<Arc<Expansion>, Diags> {
        if let Some(found) = lock(&self.expansions).get(resource) {
            return Ok(found.clone());
        }
        let scope = module.scope();
        let expansion = Arc::new(expand_resource(config, &scope)?);
        lock(&self.expansions).insert(resource.clone(), expansion.clone());
        Ok(expansion)
    }
}
