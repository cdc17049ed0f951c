//! Plans one managed instance: read, refresh, plan, judge, record.

use ashlar_diag::Diags;
use ashlar_state::Object;
use ashlar_value::Value;

use super::{
    Instance, Live,
    change::{Settled, no_op},
    conditions::{check_postconditions, check_preconditions},
    refresh::refresh,
    stored::read_stored,
};
use crate::{
    model::{Action, Change, Check, CheckStatus, Importing, Mode, Options, Reason},
    prevent::Fate,
};

/// What planning one managed instance gave.
pub struct Outcome {
    /// The stored object brought up to date, before refresh.
    pub previous: Option<Live>,
    /// The object after refresh, with what the configuration says of order and dependencies.
    pub refreshed: Option<Live>,
    /// The change; `None` when changes are not wanted (refresh only) or a precondition does not hold.
    pub change: Option<Change>,
    /// What references to this instance see.
    pub value: Value,
    /// The result of its conditions, if it has any.
    pub check: Option<Check>,
    /// Is there an error among the diagnostics? The change is told all the same.
    pub failed: bool,
    /// Warnings.
    pub diags: Diags,
}

impl Outcome {
    /// Something is wrong, so that there is no change. What changed outside is told all the same.
    fn unplanned(
        previous: Option<Live>,
        refreshed: Option<Live>,
        check: Option<Check>,
        diags: Diags,
    ) -> Self {
        Self {
            previous,
            refreshed,
            change: None,
            value: Value::dynamic(),
            check,
            failed: true,
            diags,
        }
    }
}

impl Instance<'_, '_> {
    /// Plans this instance of a managed resource. What it takes in may be `found` already. What is wrong with its triggers is
    /// told once the object is read.
    pub async fn plan_managed(
        &self,
        stored: Option<&Object>,
        importing: Option<&Importing>,
        found: Option<Live>,
        options: &Options,
        triggered: Result<bool, Diags>,
    ) -> Result<Outcome, Diags> {
        let provider = self.engine.provider(&self.provider)?;
        let provider = &*provider;
        let mut diags = Diags::new();
        let mut previous = None;
        if let Some(object) = stored {
            let (live, remarks) = read_stored(
                self.engine,
                provider,
                &self.address,
                self.schema,
                object,
                Some(&self.config.body),
            )
            .await?;
            diags.extend(remarks);
            previous = Some(live);
        }
        let mut imported_as = None;
        if let Some(of) = importing {
            let live = match found {
                Some(live) => live,
                None => {
                    let (imported, remarks) = self.take_in(provider, of).await?;
                    diags.extend(remarks);
                    match self.read_imported(provider, &imported).await {
                        Ok((live, remarks)) => {
                            diags.extend(remarks);
                            live.ok_or_else(|| self.not_there())?
                        }
                        // What was taken in is lost again, and that is told.
                        Err(faults) => {
                            diags.extend(faults);
                            return Ok(Outcome::unplanned(Some(imported), None, None, diags));
                        }
                    }
                }
            };
            imported_as.clone_from(&live.identity);
            previous = Some(live);
        }
        let mut refreshed = previous.clone();
        let mut gone = None;
        let fresh = importing.is_some();
        if let (Some(live), true, false) = (&previous, options.refresh, fresh) {
            let (live, remarks) = refresh(
                self.engine,
                provider,
                &self.address,
                self.schema,
                live,
                Some(&self.config.body),
            )
            .await?;
            diags.extend(remarks);
            // What the provider remembers of what is gone it is given back.
            gone = live.value.is_null().then(|| live.clone());
            refreshed = live.present();
        }
        if let Some(live) = &mut refreshed {
            // As in Terraform, of what is imported and stays as it is nothing more is recorded than what was read.
            if !fresh {
                live.create_before_destroy = self.create_before_destroy;
            }
            live.skip_destroy = self.config.lifecycle.keeps_objects();
            if options.refresh && !fresh {
                live.dependencies = merged(&live.dependencies, &self.dependencies);
            }
        }
        if options.mode == Mode::RefreshOnly {
            // What is not there is unknown, not null: what refers to it must not fail for that.
            let value = refreshed
                .as_ref()
                .map_or_else(Value::dynamic, |live| live.value.clone());
            let mut check = None;
            if self.config.has_conditions() {
                let (before, remarks) = check_preconditions(self);
                let (after, more) = check_postconditions(self, &value);
                diags.extend(remarks);
                diags.extend(more);
                check = Some(before.and(after));
            }
            return Ok(Outcome {
                previous,
                refreshed,
                change: None,
                value,
                check,
                failed: diags.has_errors(),
                diags,
            });
        }
        let Some(triggered) = diags.take(triggered) else {
            return Ok(Outcome::unplanned(previous, refreshed, None, diags));
        };
        let (preconditions, remarks) = check_preconditions(self);
        diags.extend(remarks);
        if diags.has_errors() {
            return Ok(Outcome::unplanned(
                previous,
                refreshed,
                Some(preconditions),
                diags,
            ));
        }
        let force_replace = if options.replace.contains(&self.address) {
            Some(Reason::ReplaceByRequest)
        } else {
            triggered.then_some(Reason::ReplaceByTriggers)
        };
        let settled = Settled {
            force_replace,
            planned: None,
        };
        let planned = match self
            .plan_change(provider, refreshed.as_ref().or(gone.as_ref()), settled)
            .await
        {
            Ok(planned) => planned,
            Err(faults) => {
                diags.extend(faults);
                // What was found of its conditions is told, too.
                let check = (self.config.has_conditions()).then(|| preconditions.and(self.undecided()));
                return Ok(Outcome::unplanned(previous, refreshed, check, diags));
            }
        };
        diags.extend(planned.diags);
        let mut change = planned.change;
        if triggered {
            // It is the reason told whatever else asks for the replacement, and even if there is nothing to replace.
            change.reason = Some(Reason::ReplaceByTriggers);
        }
        let fate = if change.action.destroys() {
            Fate::Destroyed
        } else {
            Fate::Kept
        };
        let prevented = self.engine.prevented(&self.address, self.config, fate);
        let is_prevented = prevented.has_errors();
        diags.extend(prevented);
        if change.action == Action::CreateThenDelete {
            change.depose_as = Some(self.engine.outside.deposed_key());
        }
        if change.action == Action::NoOp
            && let Some(live) = &mut refreshed
        {
            // Apply will not touch it, so what the configuration says of its dependencies is recorded now.
            if live.dependencies != self.dependencies {
                live.dependencies = self.dependencies.clone();
                live.create_before_destroy = self.create_before_destroy;
            }
            live.value = change.after.clone();
            change = Change {
                previous_address: change.previous_address.clone(),
                after_identity: change.after_identity.clone(),
                ..no_op(self, live)
            };
        }
        // The provider tells the whole identity of what was named by a part of it.
        change.importing = importing.map(|importing| match (importing, &imported_as) {
            (Importing::Identity(_), Some(identity)) => Importing::Identity(identity.clone()),
            (importing, _) => importing.clone(),
        });
        let value = change.after.clone();
        let mut check = None;
        if is_prevented && self.config.has_conditions() {
            // There will be no such object, so nothing is asked of it.
            check = Some(preconditions.and(self.undecided()));
        } else if self.config.has_conditions() {
            let (found, remarks) = check_postconditions(self, &value);
            diags.extend(remarks);
            check = Some(preconditions.and(found));
        }
        Ok(Outcome {
            previous,
            refreshed,
            change: Some(change),
            value,
            check,
            failed: diags.has_errors(),
            diags,
        })
    }

    /// What is known of postconditions that nobody came to ask.
    fn undecided(&self) -> Check {
        let is_open = !self.config.lifecycle.postconditions.is_empty();
        Check::of(if is_open {
            CheckStatus::Unknown
        } else {
            CheckStatus::Pass
        })
    }
}

fn merged(
    a: &std::sync::Arc<[ashlar_addr::ConfigResource]>,
    b: &std::sync::Arc<[ashlar_addr::ConfigResource]>,
) -> std::sync::Arc<[ashlar_addr::ConfigResource]> {
    if a == b || b.is_empty() {
        return a.clone();
    }
    let mut all: Vec<_> = a.iter().chain(b.iter()).cloned().collect();
    all.sort_by_cached_key(ToString::to_string);
    all.dedup();
    all.into()
}
