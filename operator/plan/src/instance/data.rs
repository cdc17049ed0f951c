//! Reads one data source, or puts the reading off to apply.
//!
//! Source: Terraform `planDataSource`, `applyDataSource` in `node_resource_abstract_instance.go`.

use std::sync::Arc;

use ashlar_diag::{Diag, Diags};
use ashlar_eval::decode_block;
use ashlar_port::{Activity, Provider, ReadDataRequest};
use ashlar_state::Status;
use ashlar_value::{Mark, Marks, Path, Value};

use super::{
    Instance, Live,
    conditions::{check_postconditions, check_preconditions},
    refresh::deferred_fault,
};
use crate::{
    asserts::tolerated,
    model::{Action, Change, Check, Mode, Reason},
    objchange::{mark_sensitive, planned_data_resource},
    provider_diags::place_all,
    stored_value::known_part,
    watch::known_by,
};

/// What a data source gave.
pub struct DataOutcome {
    /// What was read; `None` if that is put off.
    pub read: Option<Live>,
    /// The reading to be done at apply; `None` if there is none, or no apply (refresh only).
    pub change: Option<Change>,
    /// What references to this instance see.
    pub value: Value,
    /// The result of its conditions, if it has any.
    pub check: Option<Check>,
    /// What the check around it comes to, if it could not be read.
    pub failed: Option<Check>,
    /// Warnings, and errors of conditions that forbid to go on.
    pub diags: Diags,
}

impl Instance<'_, '_> {
    /// Reads the data source now, unless its configuration is not known or `pending` says something it depends on will
    /// change.
    pub async fn read_data(&self, pending: bool) -> Result<DataOutcome, Diags> {
        let provider = self.engine.provider(&self.provider)?;
        let (preconditions, mut diags) = check_preconditions(self);
        if diags.has_errors() {
            return Ok(DataOutcome {
                read: None,
                change: None,
                value: Value::dynamic(),
                check: Some(preconditions),
                failed: None,
                diags,
            });
        }
        let scope = self.module.instance_scope(self.repetition.clone(), None);
        let (config, remarks) = decode_block(&self.config.body, &self.schema.block, &scope);
        diags.extend(remarks);
        if diags.has_errors() {
            return Err(diags);
        }
        if config.marks_deep().contains(Mark::Ephemeral) {
            let detail = "An argument of this data source is ephemeral, but what is read is kept in state, where ephemeral \
                          values must not be. Use a lasting value.";
            diags.push(Diag::error("Invalid use of ephemeral value", detail).at(self.config.header));
            return Err(diags);
        }
        let (plain, marks) = config.clone().unmark_deep_with_paths();
        let kind = &*self.address.resource.resource.kind;
        let remarks = {
            let _permit = self.engine.permit().await;
            provider.validate_data(kind, &plain).await
        };
        diags.extend(place_all(remarks, &self.config.body, &self.address));
        if diags.has_errors() {
            self.engine.refuse(&self.config.body, &self.schema.block);
            return Err(diags);
        }
        let known = plain.is_wholly_known();
        if !known || pending {
            let reason = if known {
                Reason::ReadBecauseDependencyPending
            } else {
                Reason::ReadBecauseConfigUnknown
            };
            let mut change = None;
            let mut value = Value::dynamic();
            if self.engine.mode != Mode::RefreshOnly {
                value = planned_data_resource(&self.schema.block, &plain).mark_paths(&marks);
                value = mark_sensitive(&self.schema.block, value);
                change = Some(self.put_off(value.clone(), reason));
            }
            let check = self.finish_check(preconditions, &value, &mut diags);
            return Ok(DataOutcome {
                read: None,
                change,
                value,
                check,
                failed: None,
                diags,
            });
        }
        let asked = self.ask_data(&*provider, &plain, &marks, &mut diags).await;
        let nested = self.config.check.is_some();
        let mut failed = None;
        let value = match asked {
            Ok(value) => value,
            Err(faults) if nested => {
                let (check, told) = tolerated(faults);
                failed = Some(check);
                diags.extend(told);
                planned_data_resource(&self.schema.block, &plain)
            }
            Err(faults) => return Err(faults),
        };
        let value = mark_sensitive(&self.schema.block, value.mark_paths(&marks));
        // It is read once more when all else is done.
        let change = (nested && self.engine.mode != Mode::RefreshOnly)
            .then(|| self.put_off(value.clone(), Reason::ReadBecauseCheckNested));
        let check = self.finish_check(preconditions, &value, &mut diags);
        let read = Live {
            value: if failed.is_some() {
                let known = known_part(value.clone().unmark_deep().0).mark_paths(&marks);
                mark_sensitive(&self.schema.block, known)
            } else {
                value.clone()
            },
            private: Arc::default(),
            status: Status::Ready,
            dependencies: Arc::default(),
            create_before_destroy: false,
            skip_destroy: false,
            identity: None,
        };
        Ok(DataOutcome {
            read: Some(read),
            change,
            value,
            check,
            failed,
            diags,
        })
    }

    /// The result of all conditions, if there are any.
    fn finish_check(&self, preconditions: Check, value: &Value, diags: &mut Diags) -> Option<Check> {
        if !self.config.has_conditions() {
            return None;
        }
        let (found, remarks) = check_postconditions(self, value);
        diags.extend(remarks);
        Some(preconditions.and(found))
    }

    async fn ask_data(
        &self,
        provider: &dyn Provider,
        config: &Value,
        marks: &[(Path, Marks)],
        diags: &mut Diags,
    ) -> Result<Value, Diags> {
        let meta = self.engine.meta(&self.address.resource)?;
        let request = ReadDataRequest {
            kind: &self.address.resource.resource.kind,
            config,
            deferral_allowed: false,
            meta: meta.as_ref(),
        };
        let answer = {
            let _permit = self.engine.permit().await;
            let watch = self.engine.watch(&self.address, None, Activity::Read, None);
            let answer = provider.read_data(request).await;
            if !answer.has_errors() {
                let value = answer.value.0.clone();
                let value = value.map(|value| value.mark_paths(marks));
                watch.completed(value.and_then(|value| known_by(&self.schema.block, &value)));
            }
            answer
        };
        diags.extend(place_all(answer.diags, &self.config.body, &self.address));
        if diags.has_errors() {
            return Err(std::mem::take(diags));
        }
        let (value, deferred) = answer.value;
        if deferred.is_some() {
            return Err(deferred_fault(&self.address));
        }
        let invalid = |what: String| -> Diags {
            let detail = format!(
                "The provider answered the request to read {} with {what}. This is a fault of the provider; tell its developers.",
                self.address
            );
            Diag::error("Provider produced invalid object", detail).into()
        };
        let Some(value) = value else {
            return Err(invalid("no object at all".to_owned()));
        };
        if value.is_null() {
            return Err(invalid("null".to_owned()));
        }
        if !value.is_wholly_known() {
            return Err(invalid("values that are not known".to_owned()));
        }
        Ok(value)
    }

    fn put_off(&self, after: Value, reason: Reason) -> Change {
        Change {
            address: self.address.clone(),
            deposed: None,
            previous_address: None,
            importing: None,
            provider: self.provider.clone(),
            action: Action::Read,
            reason: Some(reason),
            before: Value::null(self.schema.block.ty()),
            after,
            replace_paths: Vec::<Path>::new(),
            private: Arc::default(),
            before_identity: None,
            after_identity: None,
            depose_as: None,
            dependencies: Arc::default(),
            create_before_destroy: false,
        }
    }
}
