//! Documents without what differs between two runs of the same program, so that they can be held against each other.

use std::collections::BTreeMap;

use serde_json::Value as Json;

/// Without what differs between two runs of the same program: when it ran, and lists whose order is of no account.
pub(super) fn comparable(mut documents: Vec<Json>) -> Json {
    for document in &mut documents {
        if let Some(state) = document.get_mut("state") {
            sort_objects_of_state(state);
        }
        let Some(plan) = document.get_mut("plan").and_then(Json::as_object_mut) else {
            continue;
        };
        if let Some(time) = plan.get_mut("timestamp")
            && time
                .as_str()
                .is_some_and(|time| time.len() == 20 && time.ends_with('Z'))
        {
            *time = "<time>".into();
        }
        // Terraform has these as they come: the one is sorted by a comparison that forgets what was moved, the other not at all.
        for name in ["relevant_attributes", "action_invocations"] {
            if let Some(list) = plan.get_mut(name).and_then(Json::as_array_mut) {
                list.sort_by_cached_key(Json::to_string);
            }
        }
        if let Some(state) = plan.get_mut("prior_state") {
            sort_objects_of_state(state);
        }
        if let Some(list) = plan.get_mut("resource_changes") {
            sort_deposed(list, "deposed");
        }
        replaced_are_sensitive(plan);
        if let Some(module) = plan
            .get_mut("planned_values")
            .and_then(|values| values.get_mut("root_module"))
        {
            sort_modules(module);
        }
    }
    documents.into()
}

fn sort_objects_of_state(state: &mut Json) {
    if let Some(module) = state
        .get_mut("values")
        .and_then(|values| values.get_mut("root_module"))
    {
        sort_objects(module);
    }
}

fn sort_objects(module: &mut Json) {
    if let Some(list) = module.get_mut("resources") {
        sort_deposed(list, "deposed_key");
    }
    array(module, "child_modules").for_each(sort_objects);
}

/// Sorts the deposed objects of each instance by what they hold: they come by their keys, which are made up.
fn sort_deposed(list: &mut Json, key: &str) {
    let Some(list) = list.as_array_mut() else {
        return;
    };
    for objects in list.chunk_by_mut(|one, next| one["address"] == next["address"]) {
        objects.sort_by_cached_key(|object| {
            let mut content = object.clone();
            let key = content.as_object_mut().and_then(|members| members.remove(key));
            (key.is_some(), content.to_string())
        });
    }
}

/// Sorts what is called by modules, at every depth: below the root, Terraform has it as planned.
fn sort_modules(module: &mut Json) {
    if let Some(list) = module.get_mut("child_modules").and_then(Json::as_array_mut) {
        list.sort_by_cached_key(|child| child["address"].to_string());
        list.iter_mut().for_each(sort_modules);
    }
}

/// Of an object that is to be replaced, Terraform forgets in `planned_values` what is sensitive by its schema, and tells it in
/// `resource_changes`. Here nothing that is secret is told to be none, so what counts is the change.
fn replaced_are_sensitive(plan: &mut serde_json::Map<String, Json>) {
    let changes = plan.get("resource_changes").and_then(Json::as_array);
    let replaced = changes.into_iter().flatten().filter(|change| {
        let actions = change["change"]["actions"].as_array();
        actions.is_some_and(|actions| actions.len() == 2) && change["deposed"].is_null()
    });
    let sensitive: BTreeMap<String, Json> = replaced
        .map(|change| {
            let address = change["address"].as_str().unwrap_or_default().to_owned();
            (address, change["change"]["after_sensitive"].clone())
        })
        .collect();
    if let Some(module) = plan
        .get_mut("planned_values")
        .and_then(|values| values.get_mut("root_module"))
    {
        set_sensitive(module, &sensitive);
    }
}

fn set_sensitive(module: &mut Json, sensitive: &BTreeMap<String, Json>) {
    for resource in array(module, "resources") {
        if let Some(tree) = resource["address"]
            .as_str()
            .and_then(|address| sensitive.get(address))
        {
            resource["sensitive_values"] = tree.clone();
        }
    }
    for child in array(module, "child_modules") {
        set_sensitive(child, sensitive);
    }
}

fn array<'a>(of: &'a mut Json, name: &str) -> impl Iterator<Item = &'a mut Json> {
    of.get_mut(name)
        .and_then(Json::as_array_mut)
        .into_iter()
        .flatten()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn made_up_keys_bring_no_order() {
        let document = |first: &str, second: &str| {
            let object = |key: &str, id: u8| json!({ "address": "a.b", "deposed_key": key, "id": id });
            let current = json!({ "address": "a.b", "id": 9 });
            let (one, other) = (object(first, 1), object(second, 2));
            let mut list = [current, one, other];
            if first > second {
                list.swap(1, 2);
            }
            let inner = json!({ "resources": list });
            json!({ "state": { "values": { "root_module": { "child_modules": [inner] } } } })
        };
        let without_keys = |document: Json| {
            comparable(vec![document])
                .to_string()
                .replace("k1", "k")
                .replace("k2", "k")
        };
        let (one, other) = (document("k1", "k2"), document("k2", "k1"));
        assert_ne!(one, other);
        assert_eq!(without_keys(one), without_keys(other));
    }

    #[test]
    fn what_is_replaced_is_as_sensitive_as_its_change() {
        let plan = json!({ "plan": {
            "planned_values": { "root_module": { "resources": [{ "address": "a.b", "sensitive_values": {} }] } },
            "resource_changes": [{
                "address": "a.b",
                "change": { "actions": ["delete", "create"], "after_sensitive": { "s": true } },
            }],
        }});
        let told = comparable(vec![plan]);
        let resource = &told[0]["plan"]["planned_values"]["root_module"]["resources"][0];
        assert_eq!(resource["sensitive_values"], json!({ "s": true }));
    }
}
