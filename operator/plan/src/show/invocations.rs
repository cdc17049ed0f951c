//! `action_invocations` of a plan in JSON form; holds secrets in clear.

use ashlar_config::TriggerEvent;
use ashlar_value::schema::Block;
use serde_json::{Value as Json, json};

use super::tree;
use crate::{Invocation, Plan, Schemas, objchange::mark_sensitive};

/// The actions that are to be invoked. Source: Terraform `jsonplan/action_invocations.go`.
pub(super) fn of_plan(plan: &Plan, schemas: &Schemas) -> Json {
    plan.invocations
        .iter()
        .map(|invocation| one(invocation, schemas))
        .collect()
}

/// The schema of an action's configuration.
pub(crate) fn action_schema_of<'s>(invocation: &Invocation, schemas: &'s Schemas) -> Option<&'s Block> {
    let schemas = schemas.get(&invocation.provider.provider)?;
    schemas.actions.get(&invocation.action.kind)
}

/// Without its schema all of the configuration counts as sensitive.
fn one(invocation: &Invocation, schemas: &Schemas) -> Json {
    let Invocation {
        action,
        trigger,
        provider,
        config,
    } = invocation;
    let sensitive = match action_schema_of(invocation, schemas) {
        Some(schema) => tree::sensitive(&mark_sensitive(schema, config.clone())),
        None => Json::Bool(!config.is_null()),
    };
    let mut out = json!({
        "address": action.to_string(),
        "type": &*action.kind,
        "name": &*action.name,
        "provider_name": provider.provider.to_string(),
        "config_values": tree::known(config),
        "config_unknown": tree::unknown(config),
        "config_sensitive": sensitive,
    });
    match trigger {
        None => out["invoke_action_trigger"] = json!({}),
        Some(trigger) => {
            out["lifecycle_action_trigger"] = json!({
                "triggering_resource_address": trigger.resource.to_string(),
                "action_trigger_event": event(trigger.event),
                "action_trigger_block_index": trigger.block,
                "actions_list_index": trigger.at,
            });
        }
    }
    out
}

fn event(event: TriggerEvent) -> &'static str {
    match event {
        TriggerEvent::BeforeCreate => "BeforeCreate",
        TriggerEvent::AfterCreate => "AfterCreate",
        TriggerEvent::BeforeUpdate => "BeforeUpdate",
        TriggerEvent::AfterUpdate => "AfterUpdate",
    }
}
