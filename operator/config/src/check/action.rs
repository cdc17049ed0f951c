//! Actions, and the resources that trigger them.
//!
//! Rules: Terraform `node_action_validate.go`, `transform_config.go`.

use std::sync::Arc;

use ashlar_addr::Module as ModuleAddr;
use ashlar_diag::{Diag, Diags};
use ashlar_eval::{Subject, decode_block, references, suggest};

use super::{About, Check, Outcome, Question, repeated, resource::ephemeral_faults, scope::StaticScope};
use crate::{Module, model::Lifecycle, tree::Member};

impl<'t> Check<'t> {
    pub(super) fn action(
        &self,
        path: &'t ModuleAddr,
        member: &'t Member,
        key: &'t (Arc<str>, Arc<str>),
    ) -> Outcome<'t> {
        let told = |diags| Outcome {
            diags,
            ..Outcome::default()
        };
        let Some(action) = member.module.actions.get(key) else {
            return Outcome::default();
        };
        let outside = StaticScope::new(self, path, member);
        let mut diags = Diags::new();
        if let Some(count) = &action.count {
            diags.extend(outside.count(count));
        } else if let Some(for_each) = &action.for_each {
            diags.extend(outside.for_each(for_each));
        }
        let provider = &action.provider_config.provider;
        let Some(schemas) = self.schemas.get(provider) else {
            let detail = format!(
                "The schema of the provider {} is not known.",
                provider.for_display()
            );
            diags.push(Diag::error("Failed provider schema lookup", detail).at(action.kind));
            return told(diags);
        };
        let Some(schema) = schemas.actions.get(&key.0) else {
            let near = suggest(&key.0, schemas.actions.keys().map(|name| &**name));
            let hint = near.map_or_else(String::new, |near| format!(" Did you mean {near:?}?"));
            let detail = format!(
                "The provider {} has no action {:?}.{hint}",
                provider.for_display(),
                &*key.0
            );
            diags.push(Diag::error("Invalid action type", detail).at(action.kind));
            return told(diags);
        };
        let kind = repeated(action.count.is_some(), action.for_each.is_some());
        let scope = StaticScope::new(self, path, member).repeated(kind);
        let (value, faults) = decode_block(&action.body, schema, &scope);
        let failed = faults.has_errors();
        diags.extend(faults);
        let value = scope.used_in(value, &action.body, schema, &mut diags);
        let address = format!("action.{}.{}", key.0, key.1);
        if !failed {
            diags.extend(ephemeral_faults(&value, schema, &address, &action.body));
        }
        let question = (!diags.has_errors()).then(|| Question {
            provider: &action.provider_config,
            about: About::Action(&key.0, address),
            body: &action.body,
            config: value.unmark_deep().0,
        });
        Outcome {
            diags,
            question,
            value: None,
        }
    }
}

/// Triggers name actions that there are.
pub(super) fn trigger_faults(module: &Module, lifecycle: &Lifecycle) -> Diags {
    let named = lifecycle
        .action_triggers
        .iter()
        .flat_map(|trigger| &trigger.actions);
    let mut diags = Diags::new();
    for expr in named {
        for reference in references(expr).0 {
            if let Subject::Action { kind, name } = &reference.subject
                && !module.actions.contains_key(&(kind.clone(), name.clone()))
            {
                let detail = format!("The module declares no action.{kind}.{name}.");
                let summary = "action_trigger actions references non-existent action";
                diags.push(Diag::error(summary, detail).at(expr.span));
            }
        }
    }
    diags
}
