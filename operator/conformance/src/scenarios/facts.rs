//! Facts of a step in the records' form: sorted, and only those that are recorded.

use std::collections::BTreeMap;

use ashlar_diag::{Diags, Severity, Sources};
use ashlar_state::State;
use serde_json::{Map, Value as Json, json};

use super::world::Call;

/// Calls whose number is an implementation's own business.
const INTERNAL: &[&str] = &[
    "validate",
    "validate_provider",
    "validate_data",
    "validate_ephemeral",
    "validate_action",
    "function",
    "upgrade",
    "stop",
    "renew",
];

/// Calls whose results must be those recorded.
const COMPARED: &[&str] = &[
    "create",
    "update",
    "delete",
    "invoke",
    "import",
    "move",
    "open",
    "close",
    "read_data",
];

/// Calls whose order matters.
const ORDERED: &[&str] = &[
    "create",
    "update",
    "delete",
    "invoke",
    "open",
    "close",
    "read_data",
    "import",
];

const CHANGE_KEYS: &[&str] = &[
    "actions",
    "before",
    "after",
    "after_unknown",
    "before_sensitive",
    "after_sensitive",
    "replace_paths",
    "importing",
    "generated_config",
    "before_identity",
    "after_identity",
];

const RESOURCE_KEYS: &[&str] = &[
    "address",
    "previous_address",
    "module_address",
    "mode",
    "type",
    "name",
    "index",
    "provider_name",
    "deposed",
    "action_reason",
];

/// Is a recorded call among those that must be equal?
pub(super) fn is_compared(call: &Json) -> bool {
    let label = call["call"].as_str().unwrap_or_default();
    COMPARED.contains(&label.split(' ').next().unwrap_or_default())
}

/// The diagnostics, with details, to be compared by what they must contain.
pub(super) fn diagnostics(diags: &Diags, sources: &Sources) -> Json {
    let one = |diag: &ashlar_diag::Diag| {
        let mut out = json!({
            "severity": match diag.severity {
                Severity::Error => "error",
                Severity::Warning => "warning",
            },
            "summary": diag.summary,
            "detail": diag.detail,
        });
        if let Some(address) = &diag.address {
            out["address"] = address.as_str().into();
        }
        if let Some(place) = diag.subject.and_then(|span| sources.place(span)) {
            // Terraform shows an empty range as one character wide.
            let end = place.end.column + usize::from(place.start == place.end);
            out["range"] = json!({
                "file": &*place.file,
                "start": [place.start.line, place.start.column],
                "end": [place.end.line, end],
            });
        }
        out
    };
    diags.iter().map(one).collect()
}

/// The diagnostics of `validate -json`, in the same form.
pub(super) fn told_diagnostics(answer: &Json) -> Json {
    let one = |diag: &Json| {
        let mut out = pick(diag, &["severity", "summary", "detail", "address"]);
        let range = &diag["range"];
        if !range.is_null() {
            let place = |at: &Json| json!([at["line"], at["column"]]);
            out["range"] = json!({
                "file": range["filename"],
                "start": place(&range["start"]),
                "end": place(&range["end"]),
            });
        }
        out
    };
    answer["diagnostics"]
        .as_array()
        .into_iter()
        .flatten()
        .map(one)
        .collect()
}

/// The calls, counted.
pub(super) fn ops(calls: &[Call]) -> Json {
    let mut counted: BTreeMap<String, (Json, u64)> = BTreeMap::new();
    for call in calls.iter().filter(|call| !INTERNAL.contains(&call.op.as_str())) {
        counted
            .entry(call.entry.to_string())
            .or_insert_with(|| (call.entry.clone(), 0))
            .1 += 1;
    }
    let with_times = |(mut entry, times): (Json, u64)| {
        if times > 1 {
            entry["times"] = times.into();
        }
        entry
    };
    counted.into_values().map(with_times).collect()
}

/// The pairs of calls of which one ended before the other began.
pub(super) fn order(calls: &[Call]) -> Json {
    let mut totals: BTreeMap<&str, usize> = BTreeMap::new();
    let ordered: Vec<&Call> = calls
        .iter()
        .filter(|call| ORDERED.contains(&call.op.as_str()))
        .collect();
    for call in &ordered {
        *totals.entry(&call.label).or_default() += 1;
    }
    let mut so_far: BTreeMap<&str, usize> = BTreeMap::new();
    let mut labelled = Vec::new();
    for call in &ordered {
        let at = so_far.entry(&call.label).or_default();
        *at += 1;
        let label = if totals[call.label.as_str()] > 1 {
            format!("{} ({at})", call.label)
        } else {
            call.label.clone()
        };
        labelled.push((label, call.span));
    }
    let mut pairs = Vec::new();
    for (first, (_, end)) in &labelled {
        for (second, (start, _)) in &labelled {
            if end.is_some_and(|end| end < *start) {
                pairs.push(json!([first, second]));
            }
        }
    }
    pairs.into()
}

/// The plan's facts from its JSON form.
pub(super) fn plan(shown: &Json) -> Vec<(&'static str, Json)> {
    let resources = |items: &Json| {
        let mut out: Vec<Json> = items.as_array().into_iter().flatten().map(resource).collect();
        out.sort_by_key(|item| (text(&item["address"]), text(&item["deposed"])));
        Json::Array(out)
    };
    let outputs: Map<String, Json> = shown["output_changes"]
        .as_object()
        .into_iter()
        .flatten()
        .map(|(name, change)| (name.clone(), pick(change, CHANGE_KEYS)))
        .collect();
    let mut facts = vec![
        ("resource_changes", resources(&shown["resource_changes"])),
        ("resource_drift", resources(&shown["resource_drift"])),
        ("output_changes", Json::Object(outputs)),
        ("checks", checks(&shown["checks"])),
    ];
    let mut invocations = shown["action_invocations"].clone();
    if invocations.as_array().is_some_and(|all| !all.is_empty()) {
        sort_by_text(&mut invocations, |one| {
            format!("{} {}", text(&one["address"]), one["lifecycle_action_trigger"])
        });
        facts.push(("action_invocations", invocations));
    }
    for name in ["applyable", "complete", "errored"] {
        if !shown[name].is_null() {
            facts.push((name, shown[name].clone()));
        }
    }
    facts
}

fn resource(item: &Json) -> Json {
    let mut out = pick(item, RESOURCE_KEYS);
    out["change"] = pick(&item["change"], CHANGE_KEYS);
    out
}

fn checks(items: &Json) -> Json {
    let mut out: Vec<Json> = items.as_array().cloned().unwrap_or_default();
    for item in &mut out {
        // The records have a list here always.
        if item["instances"].is_null() {
            item["instances"] = json!([]);
        }
        sort_by_text(&mut item["instances"], |instance| instance["address"].to_string());
    }
    out.sort_by_key(|check| text(&check["address"]["to_display"]));
    out.into()
}

/// The state's facts from the state file.
pub(super) fn state(state: &Json) -> Json {
    let mut resources: Vec<Json> = state["resources"].as_array().cloned().unwrap_or_default();
    for resource in &mut resources {
        for instance in resource["instances"].as_array_mut().into_iter().flatten() {
            if !instance["private"].is_null() {
                instance["private"] = true.into();
            }
            if !instance["dependencies"].is_null() {
                sort_by_text(&mut instance["dependencies"], text);
            }
            if !instance["sensitive_attributes"].is_null() {
                sort_by_text(&mut instance["sensitive_attributes"], Json::to_string);
            }
        }
        sort_by_text(&mut resource["instances"], |instance| {
            format!("{} {}", text(&instance["index_key"]), text(&instance["deposed"]))
        });
    }
    resources.sort_by_key(|resource| {
        (
            text(&resource["module"]),
            text(&resource["mode"]),
            text(&resource["type"]),
            text(&resource["name"]),
        )
    });
    let mut out = json!({ "resources": resources, "outputs": state["outputs"] });
    if state["check_results"]
        .as_array()
        .is_some_and(|results| !results.is_empty())
    {
        let mut results = state["check_results"].clone();
        for result in results.as_array_mut().into_iter().flatten() {
            if result["objects"].is_null() {
                result["objects"] = json!([]);
            }
            sort_by_text(&mut result["objects"], |object| text(&object["object_addr"]));
        }
        sort_by_text(&mut results, |result| text(&result["config_addr"]));
        out["check_results"] = results;
    }
    out
}

/// Root outputs as Terraform reports them at the end of an apply.
pub(super) fn outputs(state: &State) -> anyhow::Result<Json> {
    let mut out = Map::new();
    for (name, output) in &state.outputs {
        let ty = output.value.ty();
        let value = ashlar_value::json::encode(&output.value, &ty)
            .map_err(|error| anyhow::anyhow!("{}", error.message))?;
        let mut entry =
            json!({ "sensitive": output.sensitive, "type": ashlar_value::json::type_to_json(&ty) });
        if !output.sensitive {
            entry["value"] = serde_json::from_slice(&value)?;
        }
        out.insert(name.to_string(), entry);
    }
    Ok(out.into())
}

fn pick(from: &Json, keys: &[&str]) -> Json {
    let found = keys
        .iter()
        .filter_map(|key| from.get(*key).map(|value| ((*key).to_owned(), value.clone())));
    Json::Object(found.collect())
}

fn text(value: &Json) -> String {
    match value {
        Json::Null => String::new(),
        Json::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn sort_by_text(list: &mut Json, key: impl Fn(&Json) -> String) {
    if let Some(items) = list.as_array_mut() {
        items.sort_by_cached_key(|item| key(item));
    }
}
