//! What a run tells as messages for programs: `plan -json` and `apply -json`.
//!
//! One JSON object a line, with the names that Terraform has for them. No values stand in them but outputs that are not
//! sensitive, and what objects are known by. Source of the form: Terraform `internal/command/views/json`, `hook_json.go`,
//! `operation.go`.

mod events;
mod plan;

use ashlar_addr::{ActionInstance, InstanceKey, ResourceInstance};
use ashlar_runner::Counts;
use ashlar_state::State;
use ashlar_value::json;
use serde_json::{Map, Value as Json, json};

pub(crate) use self::{
    events::{of_event, still},
    plan::of_plan,
};
use crate::printer::{Level, Message};

fn message(text: String, kind: &'static str, fields: Json) -> Message {
    Message {
        level: Level::Info,
        text,
        kind,
        fields: match fields {
            Json::Object(fields) => fields,
            _ => Map::new(),
        },
    }
}

/// What was done, in the words that the person would be told.
pub(crate) fn summary(counts: Counts, destroy: bool, words: &str) -> Message {
    let told = json!({
        "add": counts.created, "change": counts.updated, "import": counts.imported, "remove": counts.destroyed,
        "action_invocation": counts.invoked, "operation": if destroy { "destroy" } else { "apply" },
    });
    message(
        words.trim().to_owned(),
        "change_summary",
        json!({ "changes": told }),
    )
}

/// The outputs of a state; of what is sensitive no value.
pub(crate) fn outputs(state: &State) -> Message {
    let told = state.outputs.iter().map(|(name, output)| {
        let ty = output.value.ty();
        let mut told = json!({ "sensitive": output.sensitive, "type": json::type_to_json(&ty) });
        let value = json::encode(&output.value, &ty).ok();
        let value = value.and_then(|bytes| serde_json::from_slice::<Json>(&bytes).ok());
        if let Some(value) = value.filter(|_| !output.sensitive) {
            told["value"] = value;
        }
        (name.to_string(), told)
    });
    outputs_message(told.collect())
}

fn outputs_message(outputs: Map<String, Json>) -> Message {
    let text = format!("Outputs: {}", outputs.len());
    message(text, "outputs", json!({ "outputs": outputs }))
}

fn key(key: &InstanceKey) -> Json {
    match key {
        InstanceKey::None => Json::Null,
        InstanceKey::Int(at) => (*at).into(),
        InstanceKey::String(key) => (**key).into(),
    }
}

/// The provider that a type's name stands for.
fn implied(kind: &str) -> &str {
    kind.split_once('_').map_or(kind, |(provider, _)| provider)
}

fn address(of: &ResourceInstance) -> Json {
    let resource = &of.resource.resource;
    json!({
        "addr": of.to_string(),
        "module": of.resource.module.to_string(),
        "resource": format!("{resource}{}", of.key),
        "implied_provider": implied(&resource.kind),
        "resource_type": &*resource.kind,
        "resource_name": &*resource.name,
        "resource_key": key(&of.key),
    })
}

fn action_address(of: &ActionInstance) -> Json {
    json!({
        "addr": of.to_string(),
        "module": of.module.to_string(),
        "action": format!("action.{}.{}{}", of.kind, of.name, of.key),
        "implied_provider": implied(&of.kind),
        "action_type": &*of.kind,
        "action_name": &*of.name,
        "action_key": key(&of.key),
    })
}
