//! Objects that the configuration does not want: which they are, and the plan to remove them.

use ashlar_addr::{AbsResource, DeposedKey, InstanceKey, ProviderConfig, ResourceInstance};
use ashlar_config::ResourceConfig;
use ashlar_diag::Diags;
use ashlar_state::Object;
use futures::future::join_all;

use super::{PlanWalk, gather};
use crate::engine::lock;
use crate::instance::removal::{Removal, kept};
use crate::instance::stored::to_object;
use crate::model::{Mode, Reason};
use crate::prevent::Fate;
use crate::values::Expansion;

/// What the configuration wants of a resource that state holds.
#[derive(Clone, Copy)]
pub(crate) enum Wanted<'c> {
    /// It is not there.
    Nothing,
    /// It is there, but its module has no such instance.
    Module(&'c ResourceConfig),
    /// These instances.
    Instances(&'c ResourceConfig, &'c Expansion),
}

impl<'c> Wanted<'c> {
    pub(super) fn config(self) -> Option<&'c ResourceConfig> {
        match self {
            Wanted::Nothing => None,
            Wanted::Module(config) | Wanted::Instances(config, _) => Some(config),
        }
    }

    pub(super) fn contains(self, key: &InstanceKey) -> bool {
        matches!(self, Wanted::Instances(_, expansion) if expansion.contains(key))
    }

    /// Why an instance goes.
    pub(super) fn reason(self, key: &InstanceKey) -> Reason {
        let expansion = match self {
            Wanted::Nothing => return Reason::DeleteBecauseNoResourceConfig,
            Wanted::Module(_) => return Reason::DeleteBecauseNoModule,
            Wanted::Instances(_, expansion) => expansion,
        };
        match (expansion, key) {
            (Expansion::Count(_), InstanceKey::Int(_)) => Reason::DeleteBecauseCountIndex,
            (Expansion::ForEach(_), InstanceKey::String(_)) => Reason::DeleteBecauseEachKey,
            (Expansion::Switched(_), InstanceKey::None) => Reason::DeleteBecauseEnabledFalse,
            _ => Reason::DeleteBecauseWrongRepetition,
        }
    }
}

impl PlanWalk<'_, '_> {
    /// Plans the removal of all objects of a resource that its configuration does not want, deposed ones included. Those of
    /// a resource that is configured are managed with the provider that is configured, not with the one in state.
    pub(super) async fn remove_others(
        &self,
        address: &AbsResource,
        wanted: Wanted<'_>,
    ) -> Result<Diags, Diags> {
        let Some(state) = self.state.resources.get(address) else {
            return Ok(Diags::new());
        };
        let whole = wanted
            .config()
            .map_or(&state.provider, |config| &config.provider_config);
        let mut removals = Vec::new();
        for (key, instance) in &state.instances {
            let one = address.instance(key.clone());
            let is_taken = match wanted {
                Wanted::Nothing => self.options.selection.takes_alone(&one),
                // As with Terraform: where the module's instance is gone, all in it goes.
                Wanted::Module(_) => true,
                Wanted::Instances(..) => self.options.selection.takes(&one),
            };
            let orphan = is_taken && !wanted.contains(key);
            if let (Some(object), true) = (&instance.current, orphan) {
                removals.push((key, None, object, Some(self.reason(wanted, &one))));
            }
            if !self.options.selection.takes_alone(&one) {
                continue;
            }
            removals.extend(
                instance
                    .deposed
                    .iter()
                    .map(|(deposed, object)| (key, Some(*deposed), object, None)),
            );
        }
        if address.resource.mode == ashlar_addr::Mode::Data {
            let mut found = lock(&self.found);
            for (key, deposed, ..) in removals {
                found
                    .refreshed
                    .set(&address.instance(key.clone()), deposed, whole, None);
            }
            return Ok(Diags::new());
        }
        if removals.is_empty() {
            return Ok(Diags::new());
        }
        let schema = self.engine.resource_schema(&whole.provider, &address.resource)?;
        let said = match wanted.config() {
            None => self.removed.destroys(address),
            Some(_) => None,
        };
        let works = removals
            .into_iter()
            .map(|(key, deposed, object, reason)| async move {
                let one = address.instance(key.clone());
                let provider = self.provider_of_removed(&one, deposed, &state.provider_of(key), wanted)?;
                let kept = kept(self.engine, wanted.config(), object);
                let forgets = said.map_or(kept.is_some(), |destroys| !destroys);
                let reason = kept.filter(|_| forgets).or(reason);
                let removal = Removal {
                    engine: self.engine,
                    address: one,
                    deposed,
                    provider,
                    schema,
                    reason,
                    forgets,
                };
                self.remove(removal, object, wanted).await
            });
        gather(join_all(works).await)
    }

    /// The provider configuration of an object that is removed.
    fn provider_of_removed(
        &self,
        address: &ResourceInstance,
        deposed: Option<DeposedKey>,
        stored: &ProviderConfig,
        wanted: Wanted<'_>,
    ) -> Result<ProviderConfig, Diags> {
        let engine = self.engine;
        let Some(config) = wanted.config() else {
            return engine.provider_by_state(None, address, deposed, stored);
        };
        let Wanted::Instances(_, expansion) = wanted else {
            return engine.provider_of_other(config, address, deposed, stored, None);
        };
        let module = engine.values.instance(&address.resource.module);
        let repetition = expansion.repetition(&address.key);
        let beside = module.as_deref().filter(|_| expansion.contains(&address.key));
        let wanted = beside.map(|module| (module, &repetition));
        engine.provider_of_other(config, address, deposed, stored, wanted)
    }

    async fn remove(
        &self,
        removal: Removal<'_, '_>,
        object: &Object,
        wanted: Wanted<'_>,
    ) -> Result<Diags, Diags> {
        let done = removal
            .plan(object, self.options, self.options.mode != Mode::RefreshOnly)
            .await?;
        let refreshed = done
            .refreshed
            .as_ref()
            .map(|live| to_object(live, removal.schema))
            .transpose()?;
        let Removal {
            address,
            deposed,
            provider,
            ..
        } = removal;
        let mut found = lock(&self.found);
        found.refreshed.set(&address, deposed, &provider, refreshed);
        if deposed.is_none() {
            found.note_drift(&address, &provider, &done.previous, done.refreshed.as_ref());
        }
        if let Some(mut change) = done.change {
            let fate = if change.action.destroys() {
                Fate::Destroyed
            } else {
                Fate::Kept
            };
            change.previous_address = self.moves.from.get(&address).cloned();
            found.add(change);
            if let (Some(config), None) = (wanted.config(), deposed) {
                let faults = self.engine.prevented(&address, config, fate);
                if faults.has_errors() {
                    return Err(faults);
                }
            }
        }
        Ok(done.diags)
    }
}
