//! Destroys one object: an unwanted one, a deposed one, or the old one of a replacement.
//!
//! Source: Terraform `node_resource_destroy.go`, `node_resource_deposed.go`.

use std::sync::Arc;

use ashlar_addr::DeposedKey;
use ashlar_diag::{Diag, Diags};
use ashlar_plan::{
    Action, Change,
    instance::{Live, removal::Removal, stored::to_object},
    known_by, lock,
    objchange::null_write_only,
    provider_diags::unplaced,
    unmarked,
};
use ashlar_port::{Activity, ApplyRequest};
use ashlar_state::{Object, Status};
use ashlar_value::{Value, schema::Schema};

use crate::run::Run;

impl Run<'_> {
    /// Runs the step that destroys the object of a change.
    pub(crate) async fn delete(&self, at: usize) -> Result<Diags, Diags> {
        let change = self.change(at)?;
        let deposed = match change.action {
            Action::CreateThenDelete => change.depose_as,
            _ => change.deposed,
        };
        let Some(object) = self.stored(change, deposed) else {
            // Gone already: there is nothing left to destroy.
            return Ok(Diags::new());
        };
        let schema = self
            .engine
            .resource_schema(&change.provider.provider, &change.address.resource.resource)?;
        let provider = self.engine.provider(&change.provider)?;
        let live = self.live_of(change, &object, schema)?;
        let mut diags = Diags::new();
        // What is deposed was replaced already, and what is tainted was never whole.
        if deposed.is_none() && object.status != Status::Tainted {
            diags = self.provision_destroyed(change, &live.value).await;
            if diags.has_errors() {
                return Err(diags);
            }
        }
        let mut private = change.private.clone();
        if deposed.is_some() {
            // As in Terraform, the destruction of what is deposed is planned when it is due; that of what goes before another
            // takes its place is a part of what was planned.
            let removal = Removal {
                engine: &self.engine,
                address: change.address.clone(),
                deposed,
                provider: change.provider.clone(),
                schema,
                reason: None,
                forgets: false,
            };
            private = removal.plan_delete(&*provider, &live, &mut diags).await?.private;
        }
        let null = Value::null(schema.block.ty());
        let prior = unmarked(&live.value);
        let meta = self.engine.meta(&change.address.resource)?;
        let request = ApplyRequest {
            kind: &change.address.resource.resource.kind,
            prior: &prior,
            planned: &null,
            config: &null,
            private: &private,
            identity: live.identity.as_ref(),
            meta: meta.as_ref(),
        };
        let by = known_by(&schema.block, &live.value);
        let asked = self.ask(&*provider, change, Activity::Delete, by, request);
        let (answer, watch) = asked.await?;
        diags.extend(unplaced(answer.diags));
        let kept = self.judge_deleted(
            change,
            schema,
            &live,
            &object,
            answer.value.state,
            &answer.value.private,
            &mut diags,
        )?;
        let gone = kept.is_none();
        self.keeper
            .outcome(
                &change.address,
                deposed,
                &change.provider,
                kept,
                provider.has_effects(),
            )
            .await?;
        if gone {
            watch.completed(None);
            lock(&self.counts).destroyed += 1;
        }
        if diags.has_errors() { Err(diags) } else { Ok(diags) }
    }

    fn stored(&self, change: &Change, deposed: Option<DeposedKey>) -> Option<Arc<Object>> {
        self.keeper.read(|state| {
            let instance = state.instance(&change.address)?;
            match deposed {
                Some(key) => instance.deposed.get(&key).cloned(),
                None => instance.current.clone(),
            }
        })
    }

    fn live_of(&self, change: &Change, object: &Arc<Object>, schema: &Schema) -> Result<Live, Diags> {
        let identity = match &schema.identity {
            Some(identity) => ashlar_state::decode_identity(object, identity)?,
            None => None,
        };
        Ok(Live {
            value: if change.before.is_null() {
                ashlar_state::decode_object(object, schema)?
            } else {
                change.before.clone()
            },
            private: object.private.clone(),
            status: object.status,
            dependencies: object.dependencies.clone(),
            create_before_destroy: object.create_before_destroy,
            skip_destroy: object.skip_destroy,
            identity,
        })
    }

    /// What is to be kept: nothing if it is gone; what the provider returned with its errors; or the object as it was.
    #[expect(clippy::too_many_arguments, reason = "all of it belongs to one judgement")]
    fn judge_deleted(
        &self,
        change: &Change,
        schema: &Schema,
        live: &Live,
        object: &Arc<Object>,
        state: Option<Value>,
        private: &[u8],
        diags: &mut Diags,
    ) -> Result<Option<Arc<Object>>, Diags> {
        let about = |what: &str| {
            let detail = format!(
                "The provider {} answered the destruction of {} with {what}. This is a fault of the provider; tell its \
                 developers.",
                change.provider.provider.for_display(),
                change.address
            );
            Diag::error("Provider returned invalid result object after apply", detail)
        };
        match state {
            None => {
                if !diags.has_errors() {
                    diags.push(about("no object at all"));
                }
                Ok(Some(object.clone()))
            }
            Some(value) if value.is_null() && !diags.has_errors() => Ok(None),
            // With an error a null tells nothing: what was there is kept.
            Some(value) if value.is_null() || !value.is_wholly_known() => Ok(Some(object.clone())),
            Some(value) => {
                if !diags.has_errors() {
                    diags.push(about("an object, where there should be none any more"));
                }
                let (_, marks) = live.value.clone().unmark_deep_with_paths();
                let value = null_write_only(&schema.block, value).mark_paths(&marks);
                to_object(
                    &Live {
                        value,
                        private: private.into(),
                        // Told by a configuration, of which a destruction has none.
                        create_before_destroy: false,
                        ..live.clone()
                    },
                    schema,
                )
                .map(Some)
            }
        }
    }
}
