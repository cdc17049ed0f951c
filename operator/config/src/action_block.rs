//! `action` blocks, and the `action_trigger` blocks that run them.
//!
//! Rules: Terraform `configs/action.go`.

use ashlar_addr::{LocalProvider, Module as ModuleAddr, Provider, ProviderConfig};
use ashlar_diag::{Diag, Diags};
use ashlar_eval::{Shape, Subject, references};
use ashlar_syntax::{Block, Body, Expr, is_identifier};
use ashlar_value::Dialect;

use crate::{
    BAD_NAME,
    load::Loader,
    model::{ActionConfig, ActionTrigger, TriggerEvent},
    resource_block::{both_repetitions, provider_reference},
    static_expr,
};

pub(crate) const SHAPE: Shape = Shape {
    required: &[],
    optional: &["count", "for_each", "provider"],
    blocks: &[("config", &[])],
};

pub(crate) const TRIGGER: Shape = Shape {
    required: &["events", "actions"],
    optional: &["condition"],
    blocks: &[],
};

impl Loader {
    pub(crate) fn action_block(&mut self, block: Block) {
        let header = block.header();
        let [kind, name] = &*block.labels else { return };
        let diags = &mut self.diags;
        for (label, summary) in [(kind, "Invalid action type name"), (name, "Invalid action name")] {
            if !is_identifier(&label.name) {
                diags.push(Diag::error(summary, BAD_NAME).at(label.span));
            }
        }
        let mut content = SHAPE.content(block.body, Some(block.open), diags);
        let (count, for_each) = (content.take("count"), content.take("for_each"));
        let given = [count.as_ref(), for_each.as_ref(), None];
        diags.extend(both_repetitions(given, Dialect::Terraform));
        let count = count.map(|attribute| attribute.expr);
        let named = content
            .take("provider")
            .and_then(|attribute| provider_reference(&attribute.expr, Dialect::Terraform, diags));
        let mut configs = content.blocks.into_iter();
        let config = configs.next();
        if let Some(again) = configs.next() {
            let detail = "An action has one config block.";
            diags.push(Diag::error("Duplicate config block", detail).at(again.header()));
            return;
        }
        let is_provider_named = named.is_some();
        let local_provider = named.map_or_else(
            || LocalProvider {
                name: kind.name.split('_').next().unwrap_or(&kind.name).into(),
                alias: None,
            },
            |named| named.local,
        );
        let key = (kind.name.clone(), name.name.clone());
        let action = ActionConfig {
            count,
            for_each: for_each.map(|attribute| attribute.expr),
            provider_config: ProviderConfig {
                module: ModuleAddr::root(),
                provider: Provider::implied(&local_provider.name),
                alias: local_provider.alias.clone(),
                key: ashlar_addr::InstanceKey::None,
            },
            local_provider,
            is_provider_named,
            open: config.as_ref().map(|block| block.open),
            body: config.map_or_else(Body::default, |block| block.body),
            kind: kind.span,
            header,
        };
        if self.overriding {
            return self.override_action(key, action);
        }
        if self.module.actions.contains_key(&key) {
            let detail = format!("action.{}.{} is declared twice in this module.", key.0, key.1);
            let summary = format!("Duplicate action \"{}\" configuration", key.0);
            return self.diags.push(Diag::error(summary, detail).at(header));
        }
        self.module.actions.insert(key, action);
    }
}

impl ActionTrigger {
    pub(crate) fn read(block: Block, diags: &mut Diags) -> Self {
        let header = block.header();
        let mut content = TRIGGER.content(block.body, Some(block.open), diags);
        let events = content
            .take("events")
            .map(|attribute| events(&attribute.expr, diags))
            .unwrap_or_default();
        let actions = content
            .take("actions")
            .map(|attribute| actions(&attribute.expr, diags))
            .unwrap_or_default();
        for (missing, summary, what) in [
            (actions.is_empty(), "No actions specified", "action"),
            (events.is_empty(), "No events specified", "event"),
        ] {
            if missing {
                let detail = format!("A trigger names at least one {what}.");
                diags.push(Diag::error(summary, detail).at(header));
            }
        }
        ActionTrigger {
            events,
            condition: content.take("condition").map(|attribute| attribute.expr),
            actions,
            header,
        }
    }
}

fn events(expr: &Expr, diags: &mut Diags) -> Vec<TriggerEvent> {
    let items = match static_expr::list(expr) {
        Ok(items) => items,
        Err(diag) => {
            diags.push(diag);
            return Vec::new();
        }
    };
    let mut found: Vec<TriggerEvent> = Vec::new();
    for item in items {
        let word = item.keyword().unwrap_or_default();
        let event = TriggerEvent::ALL.into_iter().find(|event| event.word() == word);
        let (summary, detail) = match event {
            None => {
                let all = TriggerEvent::ALL.map(TriggerEvent::word);
                let detail = format!("An event is one of {}.", all.join(", "));
                (format!("Invalid \"event\" value {word}"), detail)
            }
            Some(event) if found.contains(&event) => (
                format!("Duplicate \"{word}\" event"),
                "The event stands in this list already.".to_owned(),
            ),
            Some(event) => {
                found.push(event);
                continue;
            }
        };
        diags.push(Diag::error(summary, detail).at(item.span));
    }
    found
}

/// The entries of `actions`: each refers to one action of the module.
fn actions(expr: &Expr, told: &mut Diags) -> Vec<Expr> {
    let items = match static_expr::list(expr) {
        Ok(items) => items,
        Err(diag) => {
            told.push(diag);
            return Vec::new();
        }
    };
    let mut diags = Diags::new();
    let mut found = Vec::with_capacity(items.len());
    for item in items {
        let Some(item) = static_expr::in_json(item, &mut diags) else {
            continue;
        };
        // Behind an entry at fault the others are not looked at, as in Terraform.
        if diags.has_errors() {
            continue;
        }
        let (named, faults) = references(&item);
        let failed = faults.has_errors();
        diags.extend(faults.map(|diag| diag.at(item.span)));
        found.push(item.clone());
        if failed {
            continue;
        }
        let mut count = 0;
        for reference in &named {
            match &reference.subject {
                Subject::Action { .. } => count += 1,
                Subject::Module { .. } => {
                    let detail = "Only actions of the same module can be triggered.";
                    let summary = "Invalid reference to action outside this module";
                    diags.push(Diag::error(summary, detail).at(item.span));
                }
                Subject::Resource(_) => {
                    let detail = "An entry refers to an action of this module: action.TYPE.NAME.";
                    let summary = "Invalid action argument inside action_triggers";
                    diags.push(Diag::error(summary, detail).at(item.span));
                }
                _ => {}
            }
        }
        let (summary, detail) = match count {
            0 => (
                "No actions specified",
                "An entry refers to an action: action.TYPE.NAME.",
            ),
            1 => continue,
            _ => (
                "Invalid action expression",
                "An entry refers to one action, not to several.",
            ),
        };
        diags.push(Diag::error(summary, detail).at(item.span));
    }
    told.extend(diags);
    found
}
