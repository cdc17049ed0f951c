//! The kinds' definitions as YAML: what `crds/` holds and `ashlar crd` prints.
//!
//! What the derived schema cannot say is added here, in one visible place.

use kube::CustomResourceExt;
use serde_json::{Value as Json, json};

use crate::Workspace;

/// All definitions, as YAML documents.
pub fn crds() -> String {
    let mut text = String::new();
    text.push_str("---\n");
    write(&workspace(), 0, &mut text);
    text
}

fn workspace() -> Json {
    let mut definition = serde_json::to_value(Workspace::crd()).unwrap_or_default();
    let schema = "/spec/versions/0/schema/openAPIV3Schema/properties";
    if let Some(Json::Object(status)) = definition.pointer_mut(&format!("{schema}/status")) {
        // Else those who wait would take a new object for one that is done.
        status.insert("default".to_owned(), json!({ "observedGeneration": -1 }));
    }
    let variable = format!("{schema}/spec/properties/variables/items");
    if let Some(Json::Object(variable)) = definition.pointer_mut(&variable) {
        // Rules cannot look at a field without a type, such as `value`.
        let alternatives = ["value", "hcl", "valueFrom"].map(|field| json!({ "required": [field] }));
        variable.insert("oneOf".to_owned(), json!(alternatives));
    }
    mend(&mut definition);
    definition
}

/// Has nulls dropped by the API server, so that a template's `approvedPlan: null` counts as absent, and joins the lines of
/// descriptions, which were broken for this source alone.
fn mend(schema: &mut Json) {
    match schema {
        Json::Object(map) => {
            map.remove("nullable");
            if let Some(Json::String(text)) = map.get_mut("description") {
                *text = text.replace('\n', " ");
            }
            map.values_mut().for_each(mend);
        }
        Json::Array(items) => items.iter_mut().for_each(mend),
        _ => {}
    }
}

/// Writes a mapping or a sequence in block style. Texts are written as JSON has them, which YAML reads alike.
fn write(value: &Json, depth: usize, text: &mut String) {
    let pad = "  ".repeat(depth);
    match value {
        Json::Object(map) if !map.is_empty() => {
            for (key, value) in map {
                text.push_str(&format!("{pad}{}:", plain(key)));
                member(value, depth, text);
            }
        }
        Json::Array(items) if !items.is_empty() => {
            for item in items {
                let mut block = String::new();
                write(item, depth + 1, &mut block);
                // The dash takes the place of the first line's indent.
                text.push_str(&format!("{pad}- {}", block.trim_start()));
            }
        }
        scalar => text.push_str(&format!("{pad}{}\n", plain_scalar(scalar))),
    }
}

fn member(value: &Json, depth: usize, text: &mut String) {
    let nested = match value {
        Json::Object(map) => !map.is_empty(),
        Json::Array(items) => !items.is_empty(),
        _ => false,
    };
    if nested {
        text.push('\n');
        write(value, depth + 1, text);
    } else {
        text.push_str(&format!(" {}\n", plain_scalar(value)));
    }
}

fn plain_scalar(value: &Json) -> String {
    match value {
        Json::String(string) => plain(string),
        other => other.to_string(),
    }
}

/// Without quotes where nothing else could be meant.
fn plain(text: &str) -> String {
    let word = |c: char| c.is_ascii_alphanumeric() || "-_./".contains(c);
    let reserved = ["true", "false", "null", "yes", "no", "on", "off", "y", "n"];
    let safe = text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.chars().all(word)
        && !reserved.contains(&text.to_ascii_lowercase().as_str());
    if safe {
        text.to_owned()
    } else {
        Json::from(text).to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn yaml_reads_back_as_the_definition() {
        let text = crds();
        assert!(
            text.contains("\nmetadata:\n  name: workspaces.ashlar.dev\n"),
            "{text}"
        );
        assert!(text.len() < 200_000, "{}", text.len());
        let sample = json!({"a": [1, {"b": "x: y", "c": []}, [true, "no"]], "d": {}, "e-f": -1});
        let mut written = String::new();
        write(&sample, 0, &mut written);
        assert_eq!(
            written,
            "a:\n  - 1\n  - b: \"x: y\"\n    c: []\n  - - true\n    - \"no\"\nd: {}\ne-f: -1\n"
        );
    }

    #[test]
    fn what_is_generated_is_fresh() {
        let kept = [
            include_str!("../../../crds/workspaces.ashlar.dev.yaml"),
            include_str!("../../../charts/ashlar/definitions/workspaces.ashlar.dev.yaml"),
        ];
        for kept in kept {
            let fresh = format!("---\n{kept}") == crds();
            assert!(fresh, "stale: `cargo xtask gen` writes it anew");
        }
    }

    #[test]
    fn every_field_is_documented() {
        fn walk(schema: &Json, path: &str, missing: &mut Vec<String>) {
            for (name, field) in schema["properties"].as_object().into_iter().flatten() {
                let path = format!("{path}.{name}");
                // Kubernetes' own texts, and counts whose names say all.
                if field["description"].is_null() && !path.starts_with(".status.plan.summary") {
                    missing.push(path.clone());
                }
                walk(field, &path, missing);
                walk(&field["items"], &path, missing);
            }
        }
        let mut definition = workspace();
        let schema = definition
            .pointer_mut("/spec/versions/0/schema/openAPIV3Schema/properties")
            .unwrap()
            .take();
        let mut missing = Vec::new();
        for part in ["spec", "status"] {
            walk(&schema[part], &format!(".{part}"), &mut missing);
        }
        assert_eq!(missing, Vec::<String>::new());
    }

    #[test]
    fn the_rules_stand_in_the_schema() {
        let definition = workspace();
        let spec = &definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"];
        assert_eq!(spec["variables"]["x-kubernetes-list-map-keys"], json!(["name"]));
        assert_eq!(spec["variables"]["items"]["oneOf"][1]["required"], json!(["hcl"]));
        assert_eq!(
            spec["variables"]["items"]["properties"]["value"]["x-kubernetes-preserve-unknown-fields"],
            json!(true)
        );
        assert_eq!(spec["variables"]["items"]["required"], json!(["name"]));
        assert_eq!(spec["interval"]["default"], json!("10m"));
        assert_eq!(
            spec["approval"]["properties"]["approvedPlan"]["pattern"],
            json!("^sha256:[0-9a-f]{64}$")
        );
        let sidecars = &spec["providers"]["properties"]["sidecars"];
        assert_eq!(sidecars["x-kubernetes-list-type"], json!("set"));
        assert_eq!(sidecars["maxItems"], json!(64));
        assert_eq!(sidecars["items"]["maxLength"], json!(255));
        assert!(sidecars["items"]["pattern"].is_string(), "{sidecars}");
        for part in ["source", "approval", "interval", "terraformWorkspace"] {
            assert!(spec[part]["x-kubernetes-validations"].is_array(), "{part}");
        }
    }
}
