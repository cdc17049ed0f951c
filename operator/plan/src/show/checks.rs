//! Results of checks by what declares them, as in Terraform's JSON forms.

use std::collections::BTreeMap;

use ashlar_addr::{ModuleInstance, ResourceInstance};
use serde_json::{Map, Value as Json, json};

use super::change::index;
use crate::{Check, CheckStatus};

/// One object that was checked: its declaration and itself as JSON addresses.
struct Checked {
    declared: Map<String, Json>,
    object: Map<String, Json>,
}

/// A declaration's address, the worst status and the form of each of its objects.
type Declaration = (Map<String, Json>, CheckStatus, Vec<Json>);

/// The `checks` of a plan.
pub(super) fn of_plan(checks: &BTreeMap<String, Check>) -> Json {
    let mut by_declaration: BTreeMap<String, Declaration> = BTreeMap::new();
    for (address, check) in checks {
        let Checked { declared, object } = addresses(address);
        let display = declared
            .get("to_display")
            .and_then(Json::as_str)
            .unwrap_or_default()
            .to_owned();
        let Check {
            status,
            problems,
            vacant,
        } = check;
        let mut instance = json!({ "address": object, "status": status.as_str() });
        if !problems.is_empty() {
            let mut problems: Vec<&String> = problems.iter().collect();
            problems.sort_unstable();
            instance["problems"] = problems
                .into_iter()
                .map(|message| json!({ "message": message }))
                .collect();
        }
        let (_, worst, instances) = by_declaration
            .entry(display)
            .or_insert_with(|| (declared, *status, Vec::new()));
        *worst = worst.worse(*status);
        if !vacant {
            instances.push(instance);
        }
    }
    let each = by_declaration.into_values().map(|(declared, status, instances)| {
        let mut told = json!({ "address": declared, "status": status.as_str() });
        if !instances.is_empty() {
            told["instances"] = instances.into();
        }
        told
    });
    each.collect()
}

/// The `checks` of a state, from how they stand in its file.
pub(super) fn of_state(results: &Json) -> Json {
    let status = |text: &Json| match text.as_str() {
        Some("pass") => CheckStatus::Pass,
        Some("fail") => CheckStatus::Fail,
        Some("error") => CheckStatus::Error,
        _ => CheckStatus::Unknown,
    };
    let text = |text: &Json| text.as_str().unwrap_or_default().to_owned();
    let mut checks = BTreeMap::new();
    for result in results.as_array().into_iter().flatten() {
        let objects = result["objects"].as_array().map_or(&[][..], Vec::as_slice);
        if objects.is_empty() {
            let check = Check {
                vacant: true,
                ..Check::of(status(&result["status"]))
            };
            checks.insert(text(&result["config_addr"]), check);
        }
        for object in objects {
            let problems = object["failure_messages"].as_array().into_iter().flatten();
            let check = Check {
                problems: problems.map(text).collect(),
                ..Check::of(status(&object["status"]))
            };
            checks.insert(text(&object["object_addr"]), check);
        }
    }
    of_plan(&checks)
}

/// The addresses as JSON, from an instance's address in text.
fn addresses(text: &str) -> Checked {
    let mut declared = Map::new();
    let mut object = Map::new();
    object.insert("to_display".to_owned(), text.into());
    let mut module_of = |module: &ModuleInstance| {
        if !module.is_root() {
            declared.insert("module".to_owned(), module.config().to_string().into());
            object.insert("module".to_owned(), module.to_string().into());
        }
    };
    if let Some((module, word, name)) = declaration(text) {
        module_of(&module);
        let kind = if word == "output" { "output_value" } else { word };
        let config = module.config();
        let prefix = if config.is_root() {
            String::new()
        } else {
            format!("{config}.")
        };
        declared.insert("to_display".to_owned(), format!("{prefix}{word}.{name}").into());
        declared.insert("kind".to_owned(), kind.into());
        declared.insert("name".to_owned(), name.into());
    } else if let Ok(instance) = text.parse::<ResourceInstance>() {
        module_of(&instance.resource.module);
        let config = instance.resource.config();
        declared.insert("to_display".to_owned(), config.to_string().into());
        declared.insert("kind".to_owned(), "resource".into());
        declared.insert("mode".to_owned(), config.resource.mode.as_str().into());
        declared.insert("type".to_owned(), (*config.resource.kind).into());
        declared.insert("name".to_owned(), (*config.resource.name).into());
        if let Some(key) = index(&instance.key) {
            object.insert("instance_key".to_owned(), key);
        }
    } else {
        declared.insert("to_display".to_owned(), text.into());
    }
    Checked { declared, object }
}

/// What is no resource, by its address: `[MODULE.]output.NAME`, `[MODULE.]check.NAME`, `[MODULE.]var.NAME` as the module, the
/// word and the name.
pub fn declaration(text: &str) -> Option<(ModuleInstance, &str, &str)> {
    let (rest, name) = text.rsplit_once('.')?;
    let (module, word) = match rest.rsplit_once('.') {
        Some((module, word)) => (module.parse().ok()?, word),
        None => (ModuleInstance::root(), rest),
    };
    (matches!(word, "output" | "check" | "var") && ashlar_syntax::is_identifier(name))
        .then_some((module, word, name))
}
