//! One instance's change: configuration and prior object in, the provider's plan judged, an action out.
//!
//! Used while planning and again while applying, when values have become known. Source: Terraform `plan` in
//! `node_resource_abstract_instance.go`, `internal/plans/objchange`.

use std::sync::Arc;

use ashlar_config::IgnoreChanges;
use ashlar_diag::{Diag, Diags};
use ashlar_eval::decode_block;
use ashlar_port::{Answer, PlanRequest, Planned, Provider};
use ashlar_state::Status;
use ashlar_value::{Data, Mark, Marks, Path, Value, ops};

use super::{
    Instance, Live,
    refresh::{deferred_fault, unknown_identity},
};
use crate::{
    engine::unmarked,
    model::{Action, Change, Reason},
    objchange::{
        Ignore, Problem, assert_plan_valid, ignore_in_config, ignore_in_planned, mark_sensitive,
        non_null_write_only, proposed_new, required_replaces, write_only_paths,
    },
    provider_diags::place_all,
};

/// A planned instance.
pub struct PlannedInstance {
    /// The change.
    pub change: Change,
    /// The configuration the provider was given, unmarked.
    pub config: Value,
    /// Warnings.
    pub diags: Diags,
}

/// What the caller has settled already.
#[derive(Clone, Copy, Default)]
pub struct Settled {
    /// Replace it even without need, and why.
    pub force_replace: Option<Reason>,
    /// At apply: the action that was planned, to which a creation after its destroying half belongs.
    pub planned: Option<Action>,
}

impl Instance<'_, '_> {
    /// Plans this instance from its prior object, of one that is gone from what its provider remembers. Its preconditions have been checked.
    pub async fn plan_change(
        &self,
        provider: &dyn Provider,
        prior: Option<&Live>,
        settled: Settled,
    ) -> Result<PlannedInstance, Diags> {
        let scope = self.module.instance_scope(self.repetition.clone(), None);
        let (original, mut diags) = decode_block(&self.config.body, &self.schema.block, &scope);
        if diags.has_errors() {
            return Err(diags);
        }
        self.refuse_ephemeral(&original, &mut diags)?;
        let plain = unmarked(&original);
        let remarks = {
            let _permit = self.engine.permit().await;
            provider.validate_resource(self.kind(), &plain).await
        };
        self.add(&mut diags, remarks)
            .inspect_err(|_| self.engine.refuse(&self.config.body, &self.schema.block))?;

        let tainted = prior.filter(|prior| prior.status == Status::Tainted && !prior.value.is_null());
        let null = Value::null(self.schema.block.ty());
        let usable = prior.filter(|prior| prior.status != Status::Tainted);
        let prior_value = usable.map_or(&null, |prior| &prior.value);
        let prior_plain = unmarked(prior_value);
        let ignored = ignored_paths(&self.config.lifecycle.ignore_changes);
        let ignore = ignored.as_deref().map_or(Ignore::All, Ignore::Paths);
        let config = ignore_in_config(&self.schema.block, prior_value, &original, ignore).into_owned();
        let (config_plain, config_marks) = config.unmark_deep_with_paths();
        let proposed = proposed_new(&self.schema.block, &prior_plain, &config_plain);
        let answer = self
            .ask(
                provider,
                &prior_plain,
                &proposed,
                &config_plain,
                usable.map_or(&[][..], |prior| &prior.private),
                usable.and_then(|prior| prior.identity.as_ref()),
            )
            .await?;
        let mut planned = self.judge(answer, &mut diags)?;
        let mut state = self.state_of(&planned)?;
        let problems = assert_plan_valid(&self.schema.block, &prior_plain, &config_plain, &state);
        if !problems.is_empty() && !planned.legacy_type_system {
            return Err(self.invalid_plan(&problems));
        }
        if planned.legacy_type_system {
            state = ignore_in_planned(&prior_plain, &state, ignore).into_owned();
        }
        let write_only = write_only_paths(&self.schema.block, &state);
        let replace_paths = required_replaces(&prior_plain, &state, &write_only, &planned.requires_replace)
            .map_err(|problems| self.invalid_plan(&problems))?;
        let marked = |state: Value, marks: &[(Path, Marks)]| {
            let kept: Vec<(Path, Marks)> = marks
                .iter()
                .map(|(path, marks)| (path.clone(), marks.without(Mark::Ephemeral)))
                .collect();
            mark_sensitive(&self.schema.block, state.mark_paths(&kept))
        };
        let (mut action, mut reason) = self.choose(&prior_plain, &state, !replace_paths.is_empty(), settled);
        // Only an object that is made can have an identity that nobody knows yet.
        let known = |identity: &Value| identity.is_wholly_known();
        if !action.is_replace() && action != Action::Create && !planned.identity.iter().all(known) {
            return Err(unknown_identity(&self.address).into());
        }
        if action.is_replace() {
            // The new object starts from nothing: plan it so, with what the first answer handed on.
            let (config_plain, config_marks) = original.clone().unmark_deep_with_paths();
            let proposed = proposed_new(&self.schema.block, &null, &config_plain);
            let identity = planned.identity.as_ref();
            let answer = self
                .ask(
                    provider,
                    &null,
                    &proposed,
                    &config_plain,
                    &planned.private,
                    identity,
                )
                .await?;
            let mut remarks = Diags::new();
            planned = self.judge(answer, &mut remarks)?;
            state = self.state_of(&planned)?;
            state = marked(state, &config_marks);
        } else {
            state = marked(state, &config_marks);
        }
        let mut before = prior_value.clone();
        if let Some(tainted) = tainted
            && action == Action::Create
        {
            action = self.replacement();
            before = tainted.value.clone();
            reason = Some(Reason::ReplaceBecauseTainted);
        }
        if action == Action::NoOp && marks_differ(&before, &state) {
            action = Action::Update;
        }
        if action == Action::Create
            && let Some(planned) = settled.planned.filter(|planned| planned.is_replace())
        {
            action = planned;
        }
        let change = Change {
            address: self.address.clone(),
            deposed: None,
            previous_address: None,
            importing: None,
            provider: self.provider.clone(),
            action,
            reason,
            before,
            after: state,
            replace_paths,
            private: planned.private.into(),
            before_identity: prior.and_then(|prior| prior.identity.clone()),
            after_identity: planned.identity,
            depose_as: None,
            dependencies: self.dependencies.clone(),
            create_before_destroy: self.create_before_destroy,
        };
        Ok(PlannedInstance {
            change,
            config: unmarked(&original),
            diags,
        })
    }

    fn kind(&self) -> &str {
        &self.address.resource.resource.kind
    }

    fn add(&self, diags: &mut Diags, remarks: Vec<ashlar_port::ProviderDiag>) -> Result<(), Diags> {
        diags.extend(place_all(remarks, &self.config.body, &self.address));
        if diags.has_errors() {
            Err(std::mem::take(diags))
        } else {
            Ok(())
        }
    }

    async fn ask(
        &self,
        provider: &dyn Provider,
        prior: &Value,
        proposed: &Value,
        config: &Value,
        private: &[u8],
        identity: Option<&Value>,
    ) -> Result<Answer<Planned>, Diags> {
        let meta = self.engine.meta(&self.address.resource)?;
        let _permit = self.engine.permit().await;
        let answer = provider
            .plan(PlanRequest {
                kind: self.kind(),
                prior,
                proposed,
                config,
                private,
                identity,
                deferral_allowed: false,
                meta: meta.as_ref(),
            })
            .await;
        Ok(answer)
    }

    /// Adds the remarks; refuses what is no plan at all.
    fn judge(&self, answer: Answer<Planned>, diags: &mut Diags) -> Result<Planned, Diags> {
        self.add(diags, answer.diags)?;
        if answer.value.deferred.is_some() {
            return Err(deferred_fault(&self.address));
        }
        Ok(answer.value)
    }

    fn state_of(&self, planned: &Planned) -> Result<Value, Diags> {
        let Some(state) = planned.state.clone() else {
            return Err(self.invalid("no object at all"));
        };
        let leaked = non_null_write_only(&self.schema.block, &state);
        if leaked.is_empty() {
            return Ok(state);
        }
        let fault = |path| self.invalid(&format!("a value for the write-only attribute {path}"));
        Err(leaked.iter().flat_map(fault).collect())
    }

    fn choose(
        &self,
        prior: &Value,
        planned: &Value,
        must_replace: bool,
        settled: Settled,
    ) -> (Action, Option<Reason>) {
        if prior.is_null() {
            return (Action::Create, None);
        }
        let equal = ops::equal(planned, prior);
        let equal = matches!(equal.data(), Data::Bool(true));
        match settled.force_replace {
            Some(reason) => (self.replacement(), Some(reason)),
            None if equal && !must_replace => (Action::NoOp, None),
            None if must_replace => (self.replacement(), Some(Reason::ReplaceBecauseCannotUpdate)),
            None => (Action::Update, None),
        }
    }

    fn replacement(&self) -> Action {
        if self.config.lifecycle.keeps_objects() {
            Action::ForgetThenCreate
        } else if self.create_before_destroy {
            Action::CreateThenDelete
        } else {
            Action::DeleteThenCreate
        }
    }

    fn refuse_ephemeral(&self, config: &Value, diags: &mut Diags) -> Result<(), Diags> {
        if !config.marks_deep().contains(Mark::Ephemeral) {
            return Ok(());
        }
        let write_only = write_only_paths(&self.schema.block, config);
        let (_, marks) = config.clone().unmark_deep_with_paths();
        for (path, marks) in marks {
            if marks.contains(Mark::Ephemeral) && !write_only.iter().any(|allowed| path.starts_with(allowed))
            {
                let detail = format!(
                    "The value of {path} is ephemeral, and this argument is kept in plan and state, where ephemeral values \
                     must not be. Use a lasting value, or a write-only argument if there is one."
                );
                let mut diag = Diag::error("Invalid use of ephemeral value", detail);
                diag.subject = ashlar_eval::locate(&self.config.body, &path);
                diags.push(diag);
            }
        }
        if diags.has_errors() {
            Err(std::mem::take(diags))
        } else {
            Ok(())
        }
    }

    fn invalid_plan(&self, problems: &[Problem]) -> Diags {
        problems
            .iter()
            .flat_map(|problem| self.invalid(&format!("{}: {}", problem.path, problem.message)))
            .collect()
    }

    fn invalid(&self, what: &str) -> Diags {
        let detail = format!(
            "The provider {} planned an invalid value for {}: {what}. This is a fault of the provider; tell its developers.",
            self.provider.provider.for_display(),
            self.address
        );
        Diag::error("Provider produced invalid plan", detail).into()
    }
}

/// The paths whose changes are not followed; `None` for all of them.
fn ignored_paths(ignore: &IgnoreChanges) -> Option<Vec<Path>> {
    match ignore {
        IgnoreChanges::None => Some(Vec::new()),
        IgnoreChanges::All => None,
        IgnoreChanges::Paths(paths) => Some(paths.iter().map(|(path, _)| path.clone()).collect()),
    }
}

/// Do the values differ in what of them is sensitive?
fn marks_differ(before: &Value, after: &Value) -> bool {
    let paths = |value: &Value| {
        let (_, mut marks) = value.clone().unmark_deep_with_paths();
        marks.sort_by_cached_key(|(path, _)| path.to_string());
        marks
    };
    before.marks_deep() != after.marks_deep()
        || (!before.marks_deep().is_empty() && paths(before) != paths(after))
}

/// A change that does nothing, for an object that is left as it is.
pub fn no_op(instance: &Instance<'_, '_>, object: &Live) -> Change {
    Change {
        address: instance.address.clone(),
        deposed: None,
        previous_address: None,
        importing: None,
        provider: instance.provider.clone(),
        action: Action::NoOp,
        reason: None,
        before: object.value.clone(),
        after: object.value.clone(),
        replace_paths: Vec::new(),
        private: Arc::clone(&object.private),
        before_identity: object.identity.clone(),
        after_identity: object.identity.clone(),
        depose_as: None,
        dependencies: instance.dependencies.clone(),
        create_before_destroy: instance.create_before_destroy,
    }
}
