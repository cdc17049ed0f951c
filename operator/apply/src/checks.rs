//! Results of conditions as the state file holds them.

use std::collections::BTreeMap;

use ashlar_addr::ResourceInstance;
use ashlar_plan::{Check, CheckStatus, show::declaration};
use serde_json::{Value as Json, json};

/// `check_results` of the state file, from the status of each object by its printed address; `None` if there is none.
/// Source: Terraform `internal/states/statefile/version4.go`.
pub fn check_results(checks: &BTreeMap<String, Check>) -> Option<Json> {
    let mut groups: BTreeMap<(&str, String), Vec<(&String, &Check)>> = BTreeMap::new();
    for (address, check) in checks {
        let key = match (declaration(address), address.parse::<ResourceInstance>()) {
            (Some((module, word, name)), _) => {
                let module = module.config();
                let dot = if module.is_root() { "" } else { "." };
                (word, format!("{module}{dot}{word}.{name}"))
            }
            (None, Ok(instance)) => ("resource", instance.resource.config().to_string()),
            // What has no objects is told by its declaration.
            (None, Err(_)) => ("resource", address.clone()),
        };
        groups.entry(key).or_default().push((address, check));
    }
    if groups.is_empty() {
        return None;
    }
    let results = groups.into_iter().map(|((kind, config), objects)| {
        let worst = objects
            .iter()
            .map(|(_, check)| check.status)
            .reduce(CheckStatus::worse);
        let list: Vec<Json> = objects
            .iter()
            .filter(|(_, check)| !check.vacant)
            .map(|(address, check)| object(address, check))
            .collect();
        json!({
            "object_kind": kind,
            "config_addr": config,
            "status": worst.unwrap_or(CheckStatus::Unknown).as_str(),
            "objects": list,
        })
    });
    Some(Json::Array(results.collect()))
}

fn object(address: &str, check: &Check) -> Json {
    let mut out = json!({ "object_addr": address, "status": check.status.as_str() });
    if !check.problems.is_empty() {
        out["failure_messages"] = check.problems.clone().into();
    }
    out
}
