//! What a plan tells: a message for each change, one for the counts and one for the outputs.

use ashlar_config::TriggerEvent;
use ashlar_plan::{
    Action, Change, Mode, Plan, Reason,
    show::{Counts, is_of_interest},
};
use serde_json::{Map, Value as Json, json};

use super::{action_address, address, message, outputs_message};
use crate::printer::Message;

/// The messages of a plan: what changed outside, what is planned, how much that is, and which outputs change.
pub(crate) fn of_plan(plan: &Plan) -> Vec<Message> {
    let refreshes = plan.options.mode == Mode::RefreshOnly;
    let drift = plan
        .drift
        .iter()
        .filter(|change| change.action != Action::NoOp || refreshes);
    let mut all: Vec<Message> = drift
        .map(|drift| {
            let change = change(drift, plan);
            let action = change["action"].as_str().unwrap_or_default();
            let text = format!("{}: Drift detected ({action})", drift.address);
            message(text, "resource_drift", json!({ "change": change }))
        })
        .collect();
    let planned = plan
        .changes
        .iter()
        .filter(|change| is_of_interest(change) && change.is_effective());
    all.extend(planned.map(|planned| {
        let change = change(planned, plan);
        let action = change["action"].as_str().unwrap_or_default();
        let text = format!("{}: Plan to {action}", planned.address);
        message(text, "planned_change", json!({ "change": change }))
    }));
    all.extend(plan.invocations.iter().map(|invocation| {
        let mut told = json!({ "action_addr": action_address(&invocation.action) });
        match &invocation.trigger {
            None => told["action_trigger"] = json!({}),
            Some(trigger) => {
                told["lifecycle_trigger"] = json!({
                    "triggering_resource": address(&trigger.resource),
                    "triggering_event": event(trigger.event),
                    "action_trigger_block_index": trigger.block,
                    "actions_list_index": trigger.at,
                });
            }
        }
        let text = format!("planned action invocation: {}", invocation.action);
        message(text, "planned_action_invocation", json!({ "invocation": told }))
    }));
    let counts = Counts::of(plan);
    let told = json!({
        "add": counts.add, "change": counts.change, "import": counts.import, "remove": counts.destroy,
        "action_invocation": counts.invoke, "operation": "plan",
    });
    all.push(message(
        format!("Plan: {counts}"),
        "change_summary",
        json!({ "changes": told }),
    ));
    let outputs: Map<String, Json> = plan
        .outputs
        .iter()
        .map(|(name, output)| {
            let sensitive = output.sensitive.0 || output.sensitive.1;
            let told = json!({ "sensitive": sensitive, "action": action(output.action) });
            (name.to_string(), told)
        })
        .collect();
    if !outputs.is_empty() {
        all.push(outputs_message(outputs));
    }
    all
}

/// One change of a plan.
fn change(of: &Change, plan: &Plan) -> Json {
    let mut word = action(of.action);
    if of.action == Action::NoOp && of.previous_address.is_some() {
        word = "move";
    } else if of.action == Action::NoOp && of.importing.is_some() {
        word = "import";
    }
    let mut told = json!({ "resource": address(&of.address), "action": word });
    if let Some(previous) = &of.previous_address {
        told["previous_resource"] = address(previous);
    }
    if let Some(reason) = of.reason.and_then(reason) {
        told["reason"] = reason.into();
    }
    if let Some(importing) = &of.importing {
        let by = importing.known_by().filter(|by| by.key == "id");
        told["importing"] = by.map_or_else(|| json!({}), |by| json!({ "id": &*by.value }));
    }
    if let Some(text) = plan.generated.get(&of.address) {
        told["generated_config"] = (**text).into();
    }
    told
}

fn action(action: Action) -> &'static str {
    match action {
        Action::NoOp => "noop",
        Action::Create => "create",
        Action::Read => "read",
        Action::Update => "update",
        Action::DeleteThenCreate | Action::CreateThenDelete | Action::ForgetThenCreate => "replace",
        Action::Delete => "delete",
        Action::Forget => "remove",
    }
}

fn reason(reason: Reason) -> Option<&'static str> {
    Some(match reason {
        Reason::ReplaceBecauseTainted => "tainted",
        Reason::ReplaceByRequest => "requested",
        Reason::ReplaceBecauseCannotUpdate => "cannot_update",
        Reason::ReplaceByTriggers => "replace_triggered_by",
        Reason::DeleteBecauseNoResourceConfig => "delete_because_no_resource_config",
        Reason::DeleteBecauseWrongRepetition => "delete_because_wrong_repetition",
        Reason::DeleteBecauseCountIndex => "delete_because_count_index",
        Reason::DeleteBecauseEachKey => "delete_because_each_key",
        Reason::DeleteBecauseNoModule => "delete_because_no_module",
        Reason::DeleteBecauseNoMoveTarget => "delete_because_no_move_target",
        Reason::ReadBecauseConfigUnknown => "read_because_config_unknown",
        Reason::ReadBecauseDependencyPending => "read_because_dependency_pending",
        Reason::ReadBecauseCheckNested => "read_because_check_nested",
        // Terraform has no word for it.
        Reason::DeleteBecauseEnabledFalse => "unknown",
        Reason::ForgotBecauseLifecycleDestroyInConfig | Reason::ForgotBecauseLifecycleDestroyInState => {
            return None;
        }
    })
}

fn event(event: TriggerEvent) -> &'static str {
    match event {
        TriggerEvent::BeforeCreate => "BeforeCreate",
        TriggerEvent::AfterCreate => "AfterCreate",
        TriggerEvent::BeforeUpdate => "BeforeUpdate",
        TriggerEvent::AfterUpdate => "AfterUpdate",
    }
}
