//! Opens one instance of an ephemeral resource, or only tells what is known of it where its configuration is not known yet.
//!
//! Source: Terraform `ephemeralResourceOpen` in `internal/terraform/node_resource_ephemeral.go`. Its conditions decide in every
//! kind of run: what opens is needed in each.

use ashlar_diag::{Diag, Diags, Severity};
use ashlar_eval::decode_block;
use ashlar_port::Activity;
use ashlar_syntax::Body;
use ashlar_value::{Marks, Value};

use super::{Instance, conditions, refresh::deferred_fault};
use crate::{
    model::{Check, CheckStatus},
    objchange::{Problem, assert_plan_valid, planned_data_resource},
    provider_diags::place_all,
};

impl<'a> Instance<'_, 'a> {
    /// What conditions come to, and the value that references see.
    pub(crate) async fn open(&self, body: &'a Body) -> (Check, Result<(Value, Diags), Diags>) {
        let scope = self.module.instance_scope(self.repetition.clone(), None);
        let (before, mut diags) = conditions::check(
            &self.config.lifecycle.preconditions,
            &scope,
            "Resource precondition failed",
            Severity::Error,
        );
        if diags.has_errors() {
            return (before, Err(diags));
        }
        let unknown = || {
            let decided = self.config.lifecycle.postconditions.is_empty();
            let after = if decided {
                CheckStatus::Pass
            } else {
                CheckStatus::Unknown
            };
            before.clone().and(Check::of(after))
        };
        let opened = self.ask_to_open(body, &mut diags).await;
        let (value, known) = match opened {
            Ok(opened) => opened,
            Err(faults) => return (unknown(), Err(faults)),
        };
        let value = value.with_marks(Marks::EPHEMERAL);
        if !known {
            return (unknown(), Ok((value, diags)));
        }
        let scope = self
            .module
            .instance_scope(self.repetition.clone(), Some(value.clone()));
        let (after, remarks) = conditions::check(
            &self.config.lifecycle.postconditions,
            &scope,
            "Resource postcondition failed",
            Severity::Error,
        );
        diags.extend(remarks);
        let check = before.and(after);
        let failed = diags.has_errors();
        (check, if failed { Err(diags) } else { Ok((value, diags)) })
    }

    /// The value, and whether it was opened: as long as its configuration is not known it is not.
    async fn ask_to_open(&self, body: &'a Body, diags: &mut Diags) -> Result<(Value, bool), Diags> {
        let provider = self.engine.provider(&self.provider)?;
        let scope = self.module.instance_scope(self.repetition.clone(), None);
        let (config, remarks) = decode_block(body, &self.schema.block, &scope);
        diags.extend(remarks);
        if diags.has_errors() {
            return Err(std::mem::take(diags));
        }
        let (plain, marks) = config.unmark_deep_with_paths();
        if !plain.is_wholly_known() {
            let value = planned_data_resource(&self.schema.block, &plain);
            return Ok((value.mark_paths(&marks), false));
        }
        let kind = &*self.address.resource.resource.kind;
        let answer = {
            let _permit = self.engine.permit().await;
            let remarks = provider.validate_ephemeral(kind, &plain).await;
            diags.extend(place_all(remarks, body, &self.address));
            if diags.has_errors() {
                return Err(std::mem::take(diags));
            }
            let watch = self.engine.watch(&self.address, None, Activity::Open, None);
            let answer = provider.open_ephemeral(kind, &plain).await;
            if !answer.has_errors() {
                watch.completed(None);
            }
            answer
        };
        let failed = answer.has_errors();
        diags.extend(place_all(answer.diags, body, &self.address));
        if failed {
            return Err(std::mem::take(diags));
        }
        if answer.value.deferred.is_some() {
            return Err(deferred_fault(&self.address));
        }
        // Whatever is wrong with what it gave, it is open.
        let ephemerals = &self.engine.ephemerals;
        ephemerals.note(&self.address, provider, body, &answer.value);
        let null = Value::null(self.schema.block.ty());
        let result = answer.value.result.unwrap_or_else(|| null.clone());
        let problems = assert_plan_valid(&self.schema.block, &null, &plain, &result);
        diags.extend(problems.iter().map(|problem| self.inconsistent(problem)));
        if diags.has_errors() {
            return Err(std::mem::take(diags));
        }
        Ok((result.mark_paths(&marks), true))
    }

    fn inconsistent(&self, Problem { path, message }: &Problem) -> Diag {
        let detail = format!(
            "The provider {} opened {} and gave an object that does not fit its configuration: {path}: {message}. This is a \
             fault of the provider; tell its developers.",
            self.provider.provider.for_display(),
            self.address
        );
        Diag::error("Provider produced invalid ephemeral resource instance", detail)
            .about(self.address.to_string())
            .at(self.config.header)
    }
}
