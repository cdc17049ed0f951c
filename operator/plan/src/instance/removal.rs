//! Plans the destruction of an object: one that no configuration wants, a deposed one, or any in a destroy run.

use std::sync::Arc;

use ashlar_addr::{DeposedKey, ProviderConfig, ResourceInstance};
use ashlar_config::ResourceConfig;
use ashlar_diag::{Diag, Diags};
use ashlar_port::{PlanRequest, Provider};
use ashlar_state::Object;
use ashlar_value::{Dialect, Value, schema::Schema};

use super::{
    Live,
    refresh::{deferred_fault, refresh},
    stored::read_stored,
};
use crate::{
    engine::{Engine, unmarked},
    model::{Action, Change, Options, Reason},
    provider_diags::place_in,
};

/// An object to be destroyed.
pub struct Removal<'w, 'a> {
    /// The walk it belongs to.
    pub engine: &'w Engine<'a>,
    /// Its address.
    pub address: ResourceInstance,
    /// Its key, if it is deposed.
    pub deposed: Option<DeposedKey>,
    /// Its provider's configuration.
    pub provider: ProviderConfig,
    /// Its schema.
    pub schema: &'w Schema,
    /// Why it goes.
    pub reason: Option<Reason>,
    /// Is it only forgotten? Then nothing is asked of it but what is stored.
    pub forgets: bool,
}

/// What planning a removal gave.
pub struct Removed {
    /// The stored object brought up to date, before refresh.
    pub previous: Live,
    /// The object after refresh; `None` if it is gone already.
    pub refreshed: Option<Live>,
    /// The change, unless it is gone already or changes are not wanted.
    pub change: Option<Change>,
    /// Warnings.
    pub diags: Diags,
}

/// Why an object is only forgotten where it would be destroyed, if it is: its configuration says so, or said so when it was
/// made. (OpenTofu)
pub(crate) fn kept(engine: &Engine<'_>, config: Option<&ResourceConfig>, object: &Object) -> Option<Reason> {
    if engine.tree.root().dialect != Dialect::OpenTofu {
        return None;
    }
    if config.is_some_and(|config| config.lifecycle.keeps_objects()) {
        return Some(Reason::ForgotBecauseLifecycleDestroyInConfig);
    }
    object
        .skip_destroy
        .then_some(Reason::ForgotBecauseLifecycleDestroyInState)
}

impl Removal<'_, '_> {
    /// Reads, refreshes and plans the destruction. With `plan` false nothing is planned (refresh only).
    pub async fn plan(&self, stored: &Object, options: &Options, plan: bool) -> Result<Removed, Diags> {
        let provider = self.engine.provider(&self.provider)?;
        let (previous, mut diags) =
            read_stored(self.engine, &*provider, &self.address, self.schema, stored, None).await?;
        let mut refreshed = Some(previous.clone());
        // Terraform asks nothing of what it forgets, which it does only where it plans.
        let asks = !(self.forgets && plan) || self.engine.tree.root().dialect == Dialect::OpenTofu;
        if options.refresh && asks {
            let (live, remarks) = refresh(
                self.engine,
                &*provider,
                &self.address,
                self.schema,
                &previous,
                None,
            )
            .await?;
            diags.extend(remarks);
            refreshed = live.present();
        }
        let change = match &refreshed {
            Some(live) if plan && self.forgets => Some(self.forget(live)),
            Some(live) if plan => Some(self.plan_delete(&*provider, live, &mut diags).await?),
            _ => None,
        };
        Ok(Removed {
            previous,
            refreshed,
            change,
            diags,
        })
    }

    /// The change that destroys `object`. The provider is asked only if it wants to be.
    pub async fn plan_delete(
        &self,
        provider: &dyn Provider,
        object: &Live,
        diags: &mut Diags,
    ) -> Result<Change, Diags> {
        let null = Value::null(self.schema.block.ty());
        let mut private = object.private.clone();
        let mut after_identity = None;
        let offers = self.engine.schemas.get(&self.provider.provider);
        if offers.is_some_and(|offers| offers.plan_destroy) {
            let prior = unmarked(&object.value);
            let meta = self.engine.meta(&self.address.resource)?;
            let request = PlanRequest {
                kind: &self.address.resource.resource.kind,
                prior: &prior,
                proposed: &null,
                config: &null,
                private: &object.private,
                identity: object.identity.as_ref(),
                deferral_allowed: false,
                meta: meta.as_ref(),
            };
            let answer = {
                let _permit = self.engine.permit().await;
                provider.plan(request).await
            };
            let config = self.engine.tree.resource(&self.address.resource.config());
            let body = config.map(|config| &config.body);
            diags.extend(place_in(answer.diags, body, &self.address));
            if diags.has_errors() {
                return Err(std::mem::take(diags));
            }
            if answer.value.deferred.is_some() {
                return Err(deferred_fault(&self.address));
            }
            if !answer.value.state.as_ref().is_some_and(Value::is_null) {
                let detail = format!(
                    "The provider was asked to plan the destruction of {} and planned an object instead. This is a fault of \
                     the provider; tell its developers.",
                    self.address
                );
                return Err(Diag::error("Provider produced invalid plan", detail).into());
            }
            private = answer.value.private.into();
            after_identity = answer.value.identity;
        }
        Ok(Change {
            private: Arc::clone(&private),
            after_identity,
            ..self.going(Action::Delete, object)
        })
    }

    /// The change that forgets `object`.
    pub(crate) fn forget(&self, object: &Live) -> Change {
        self.going(Action::Forget, object)
    }

    fn going(&self, action: Action, object: &Live) -> Change {
        Change {
            address: self.address.clone(),
            deposed: self.deposed,
            previous_address: None,
            importing: None,
            provider: self.provider.clone(),
            action,
            reason: self.reason,
            before: object.value.clone(),
            after: Value::null(self.schema.block.ty()),
            replace_paths: Vec::new(),
            private: Arc::clone(&object.private),
            before_identity: object.identity.clone(),
            after_identity: None,
            depose_as: None,
            dependencies: object.dependencies.clone(),
            create_before_destroy: object.create_before_destroy,
        }
    }
}
