//! Creates or updates one object, or makes the new object of a replacement.
//!
//! Source: Terraform `managedResourceExecute` in `node_resource_apply_instance.go`, `apply` in
//! `node_resource_abstract_instance.go`.

use std::sync::Arc;

use ashlar_addr::{DeposedKey, InstanceKey};
use ashlar_diag::{Diag, Diags};
use ashlar_plan::{
    Action, Change, Check, Watch,
    instance::{
        Instance, Live,
        change::{PlannedInstance, Settled},
        conditions::{check_postconditions, check_postconditions_of_absent, check_preconditions},
        refresh::unknown_identity,
        stored::to_object,
    },
    known_by, lock,
    objchange::{Problem, assert_object_compatible, mark_sensitive},
    provider_diags::place_all,
    unmarked,
};
use ashlar_port::{Activity, Applied, ApplyRequest, Intent, KnownBy, Provider, Subject, was_heard};
use ashlar_state::{Object, Status};
use ashlar_value::{Mark, Value, ops};

use crate::{
    answer::{Rules, Told, judge},
    run::Run,
};

impl Run<'_> {
    /// Runs the step that makes or changes the object of a change.
    pub(crate) async fn write(&self, at: usize) -> Result<Diags, Diags> {
        let change = self.change(at)?;
        let (instance, _) = self.instance(&change.address)?;
        let provider = self.engine.provider(&change.provider)?;
        let old = self.keeper.read(|state| state.current(&change.address).cloned());
        let deposes = change.depose_as.filter(|_| old.is_some());
        if let Some(key) = deposes {
            self.move_object(change, None, Some(key), &*provider).await?;
        }
        let result = self.write_planned(&instance, &*provider, change).await;
        if let (Err(_), Some(key)) = (&result, deposes) {
            let replaced = self.keeper.read(|state| state.current(&change.address).is_some());
            if !replaced {
                // Nothing took the old object's place: it is the current one again, else it would be made twice.
                self.move_object(change, Some(key), None, &*provider).await?;
            }
        }
        result
    }

    /// Moves an object between its current and its deposed place.
    async fn move_object(
        &self,
        change: &Change,
        from: Option<DeposedKey>,
        to: Option<DeposedKey>,
        provider: &dyn Provider,
    ) -> Result<(), Diags> {
        self.keeper
            .relocate(
                &change.address,
                from,
                to,
                &change.provider,
                provider.has_effects(),
            )
            .await
    }

    async fn write_planned(
        &self,
        instance: &Instance<'_, '_>,
        provider: &dyn Provider,
        change: &Change,
    ) -> Result<Diags, Diags> {
        let prior = self.prior(change);
        let settled = Settled {
            force_replace: None,
            planned: Some(change.action),
        };
        let (preconditions, mut diags) = check_preconditions(instance);
        if diags.has_errors() {
            lock(&self.checks).insert(change.address.to_string(), preconditions);
            return Err(diags);
        }
        let planned = instance.plan_change(provider, prior.as_ref(), settled).await?;
        self.compare(instance, change, &planned)?;
        let PlannedInstance {
            change: actual,
            config,
            diags: remarks,
        } = planned;
        diags.extend(remarks);
        if !config.is_wholly_known() {
            let detail = format!(
                "The configuration of {} still holds values that are not known, though all it refers to is done. This is a \
                 fault of Ashlar or of a provider.",
                change.address
            );
            return Err(Diag::error("Configuration contains unknown value", detail).into());
        }
        let creates = change.action != Action::Update;
        let provisioned = creates && instance.config.provisioners.iter().any(|one| !one.on_destroy);
        let before = if creates {
            Value::null(instance.schema.block.ty())
        } else {
            unmarked(&change.before)
        };
        let after = unmarked(&actual.after);
        let same = !creates && ops::equal(&before, &after).as_bool() == Some(true);
        let settled = actual.action == Action::NoOp;
        let mut watch = None;
        let live = if settled || same {
            // At most what is sensitive, or what was recorded, changes: there is nothing to ask of the provider.
            let prior_private = prior
                .as_ref()
                .map_or_else(Arc::default, |prior| prior.private.clone());
            let live = self.live(
                instance,
                actual.after.clone(),
                prior_private,
                Status::Ready,
                actual.after_identity,
            );
            // What comes to nothing after all stays recorded as it is.
            if !settled {
                let object = to_object(&live, instance.schema)?;
                self.keeper
                    .change(|state| state.set(&change.address, None, &change.provider, Some(object)));
            }
            live
        } else {
            let activity = if creates {
                Activity::Create
            } else {
                Activity::Update
            };
            let meta = self.engine.meta(&change.address.resource)?;
            let request = ApplyRequest {
                kind: &change.address.resource.resource.kind,
                prior: &before,
                planned: &after,
                config: &config,
                private: &actual.private,
                identity: actual.after_identity.as_ref(),
                meta: meta.as_ref(),
            };
            let by = (!creates)
                .then(|| known_by(&instance.schema.block, &change.before))
                .flatten();
            let (answer, begun) = self.ask(provider, change, activity, by, request).await?;
            watch = Some(begun);
            let heard = was_heard(&answer.diags);
            diags.extend(place_all(answer.diags, &instance.config.body, &change.address));
            let kept = self.keep(
                instance,
                provider,
                change,
                prior.as_ref(),
                &actual,
                answer.value,
                heard,
                provisioned,
                &mut diags,
            );
            match kept.await {
                Ok(live) => live,
                Err(faults) => {
                    diags.extend(faults);
                    diags.extend(self.judge_failed(instance, change, preconditions)?);
                    return Err(diags);
                }
            }
        };
        if provisioned {
            diags.extend(self.provision_created(instance, &live).await?);
        }
        if !diags.has_errors() && !settled {
            if let Some(watch) = watch.take() {
                watch.completed(known_by(&instance.schema.block, &live.value));
            }
            let mut counts = lock(&self.counts);
            counts.created += usize::from(creates);
            counts.updated += usize::from(!creates);
        }
        drop(watch);
        self.instances.set(&change.address, live.value.clone());
        if instance.config.has_conditions() {
            let (found, remarks) = check_postconditions(instance, &live.value);
            lock(&self.checks).insert(change.address.to_string(), preconditions.and(found));
            diags.extend(remarks);
        }
        if diags.has_errors() { Err(diags) } else { Ok(diags) }
    }

    /// Decides the conditions of an instance whose change failed, about what there is of it now. What could not be made is unknown
    /// where it stands alone or among others, and missing at the end of its row or by its key, as in Terraform (`GetResource` in
    /// `evaluate.go`).
    fn judge_failed(
        &self,
        instance: &Instance<'_, '_>,
        change: &Change,
        preconditions: Check,
    ) -> Result<Diags, Diags> {
        if !instance.config.has_conditions() {
            return Ok(Diags::new());
        }
        let address = &instance.address;
        let (object, last) = self.keeper.read(|state| {
            let kept = state.resources.get(&address.resource);
            let last = kept.and_then(|kept| kept.instances.last_key_value());
            // The object that was to be replaced will be the current one again.
            let restored = change.depose_as.and_then(|key| state.object(address, Some(key)));
            let object = state.current(address).or(restored);
            (object.cloned(), last.map(|(key, _)| key.clone()))
        });
        let is_absent = match &address.key {
            InstanceKey::None => false,
            InstanceKey::Int(_) => last.is_none_or(|last| last < address.key),
            InstanceKey::String(_) => true,
        };
        let (found, told) = match object {
            Some(object) => {
                let value = ashlar_state::decode_object(&object, instance.schema)?;
                check_postconditions(instance, &mark_sensitive(&instance.schema.block, value))
            }
            None if is_absent => check_postconditions_of_absent(instance),
            None => check_postconditions(instance, &Value::dynamic()),
        };
        lock(&self.checks).insert(address.to_string(), preconditions.and(found));
        Ok(told)
    }

    /// The object that is changed in place; what replaces another starts from nothing.
    fn prior(&self, change: &Change) -> Option<Live> {
        if change.action != Action::Update {
            return None;
        }
        let object = self
            .keeper
            .read(|state| state.current(&change.address).cloned())?;
        Some(Live {
            value: change.before.clone(),
            private: object.private.clone(),
            status: object.status,
            dependencies: object.dependencies.clone(),
            create_before_destroy: object.create_before_destroy,
            skip_destroy: object.skip_destroy,
            identity: change.before_identity.clone(),
        })
    }

    /// Is what the provider plans now what was approved?
    fn compare(
        &self,
        instance: &Instance<'_, '_>,
        approved: &Change,
        actual: &PlannedInstance,
    ) -> Result<(), Diags> {
        let fault = |what: String| {
            let detail = format!(
                "When {} was planned once more for applying, with values that are known now, the provider {} planned \
                 something else than what was approved: {what}. This is a fault of the provider; tell its developers.",
                approved.address,
                approved.provider.provider.for_display()
            );
            Diag::error("Provider produced inconsistent final plan", detail)
        };
        let now = actual.change.action;
        let settles = approved.action == Action::Update && now == Action::NoOp;
        if now != approved.action && !settles {
            let words = |action: Action| action.words().join(" then ");
            return Err(fault(format!(
                "the action was {}, now it is {}",
                words(approved.action),
                words(now)
            ))
            .into());
        }
        let problems =
            assert_object_compatible(&instance.schema.block, &approved.after, &actual.change.after);
        let faults: Diags = problems
            .iter()
            .map(|Problem { path, message }| fault(format!("{path}: {message}")))
            .collect();
        if faults.is_empty() { Ok(()) } else { Err(faults) }
    }

    /// Calls the provider with the intent on record. Who watches is told that it began, and by the caller how it ended: what
    /// belongs to it may go on behind the call.
    pub(crate) async fn ask(
        &self,
        provider: &dyn Provider,
        change: &Change,
        activity: Activity,
        by: Option<KnownBy>,
        request: ApplyRequest<'_>,
    ) -> Result<(ashlar_port::Answer<Applied>, Watch<'_>), Diags> {
        let _permit = self.engine.permit().await;
        let deposed = if activity == Activity::Delete {
            change.deposed.or(change.depose_as)
        } else {
            None
        };
        if provider.has_effects() {
            let action = match activity {
                Activity::Create => "create",
                Activity::Update => "update",
                _ => "delete",
            };
            let intent = Intent {
                subject: Subject::Object(change.address.clone(), deposed),
                action: action.to_owned(),
            };
            self.keeper.ledger().intend(intent).await?;
        }
        let watch = self.engine.watch(&change.address, deposed, activity, by);
        Ok((provider.apply(request).await, watch))
    }

    /// Judges what the provider answered and keeps what exists, complete or not. Where it was not `heard` to the end,
    /// nobody knows what it did: then the intent stays open. Where provisioners follow, the object is kept as tainted until
    /// they are through, so that a run that is killed meanwhile leaves none that looks whole.
    #[expect(clippy::too_many_arguments, reason = "all of it belongs to one judgement")]
    async fn keep(
        &self,
        instance: &Instance<'_, '_>,
        provider: &dyn Provider,
        change: &Change,
        prior: Option<&Live>,
        actual: &Change,
        applied: Applied,
        heard: bool,
        provisioned: bool,
        diags: &mut Diags,
    ) -> Result<Live, Diags> {
        let about = |summary: &'static str, what: String| {
            let detail = format!(
                "The provider {} answered the change of {} with {what}. This is a fault of the provider; tell its developers.",
                change.provider.provider.for_display(),
                change.address
            );
            Diag::error(summary, detail)
        };
        let Applied {
            state,
            private,
            identity,
            legacy_type_system,
        } = applied;
        let told = if diags.has_errors() {
            Told::Errors
        } else {
            Told::Nothing
        };
        let rules = if legacy_type_system {
            Rules::Legacy
        } else {
            Rules::Strict
        };
        let (value, faults) = judge(&instance.schema.block, &actual.after, state, told, rules);
        diags.extend(faults.into_iter().map(|(summary, what)| about(summary, what)));
        let is_known = identity.as_ref().is_none_or(Value::is_wholly_known);
        if !is_known {
            diags.push(unknown_identity(&change.address));
        }
        let identity = identity.filter(|_| is_known);
        let failed = diags.has_errors();
        let effects = provider.has_effects() || provisioned;
        let old: Option<Arc<Object>> = self.keeper.read(|state| state.current(&change.address).cloned());
        if value.is_null() {
            // Nothing new exists as far as is known: what was there stays.
            if heard {
                self.keeper
                    .outcome(&change.address, None, &change.provider, old, effects)
                    .await?;
            }
            return Err(std::mem::take(diags));
        }
        let status = match (failed, change.action) {
            (true, Action::Update) => prior.map_or(Status::Ready, |prior| prior.status),
            (true, _) => Status::Tainted,
            (false, _) => Status::Ready,
        };
        let (_, marks) = actual.after.clone().unmark_deep_with_paths();
        let marks: Vec<_> = marks
            .into_iter()
            .map(|(path, marks)| (path, marks.without(Mark::Ephemeral)))
            .collect();
        let value = mark_sensitive(&instance.schema.block, value.mark_paths(&marks));
        let identity = identity.or_else(|| prior.and_then(|prior| prior.identity.clone()));
        let live = self.live(instance, value, private.into(), status, identity);
        let kept = if provisioned { tainted(&live) } else { live.clone() };
        let object = to_object(&kept, instance.schema)?;
        self.keeper
            .outcome(&change.address, None, &change.provider, Some(object), effects)
            .await?;
        if failed {
            Err(std::mem::take(diags))
        } else {
            Ok(live)
        }
    }

    fn live(
        &self,
        instance: &Instance<'_, '_>,
        value: Value,
        private: Arc<[u8]>,
        status: Status,
        identity: Option<Value>,
    ) -> Live {
        Live {
            value,
            private,
            status,
            dependencies: instance.dependencies.clone(),
            create_before_destroy: instance.create_before_destroy,
            skip_destroy: instance.config.lifecycle.keeps_objects(),
            identity,
        }
    }
}

/// The object as one that is not whole.
fn tainted(live: &Live) -> Live {
    Live {
        status: Status::Tainted,
        ..live.clone()
    }
}
