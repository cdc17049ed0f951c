//! `terraform_remote_state`: the root outputs of another state.
//!
//! Which of them are sensitive, and what may be read at all, is whoever runs this to say.
//! Source: Terraform 1.15.5 `internal/builtin/providers/terraform/data_source_state.go`, `internal/backend/local`,
//! `internal/backend/remote-state/kubernetes`.

use std::{collections::BTreeMap, sync::Arc};

use ashlar_port::{Answer, ClusterAccess, Deferred, ProviderDiag, StatePlace, States};
use ashlar_value::{Data, Path, Type, Value};

use super::{error, get};

const INVALID: &str = "Invalid backend configuration";
/// The workspace where none is named.
const DEFAULT: &str = "default";

/// What can be said of the arguments before anything is read.
pub(super) fn validate(config: &Value) -> Vec<ProviderDiag> {
    let mut diags = Vec::new();
    let (backend, arguments, defaults) = (
        get(config, "backend"),
        get(config, "config"),
        get(config, "defaults"),
    );
    if backend.is_known() && arguments.is_wholly_known() {
        diags.extend(place(config).err());
    } else if !is_object(&arguments) {
        diags.push(at(
            "config",
            INVALID,
            "The configuration of the backend must be an object.",
        ));
    }
    if !is_object(&defaults) {
        let detail = "The default values must be attributes of an object.";
        diags.push(at("defaults", "Invalid default values", detail));
    }
    diags
}

fn is_object(value: &Value) -> bool {
    value.ty() == Type::Dynamic || matches!(value.ty(), Type::Object(_) | Type::Map(_))
}

fn at(name: &str, summary: &str, detail: impl Into<String>) -> ProviderDiag {
    ProviderDiag {
        path: Some(Path::root().attr(name)),
        ..error(summary, detail)
    }
}

/// The backend's place, from its configuration.
fn place(config: &Value) -> Result<StatePlace, ProviderDiag> {
    let backend = get(config, "backend");
    let arguments = get(config, "config");
    if !is_object(&arguments) {
        return Err(at(
            "config",
            INVALID,
            "The configuration of the backend must be an object.",
        ));
    }
    let backend = backend.as_str().map_or("", |name| &**name);
    let known: &[&str] = match backend {
        "local" => &["path", "workspace_dir"],
        "kubernetes" => &["secret_suffix", "namespace", "config_path", "config_context"],
        other => {
            let detail = format!(
                "States of backend {other:?} cannot be read: of all backends only \"local\" and \"kubernetes\" can. Hand the values \
                 over as variables instead."
            );
            return Err(at("backend", INVALID, detail));
        }
    };
    let mut texts: BTreeMap<&str, String> = BTreeMap::new();
    let mut access = ClusterAccess::default();
    for (name, value) in arguments.as_entries().into_iter().flatten() {
        if backend == "kubernetes" && other_argument(name, value, &mut access)? {
            continue;
        }
        let Some(name) = known.iter().copied().find(|known| *known == &**name) else {
            if value.is_null() {
                continue;
            }
            let detail = format!(
                "The argument {:?} is not one that backend {backend:?} is read with here; these are: {}.",
                &**name,
                known.join(", ")
            );
            return Err(at("config", INVALID, detail));
        };
        match value.as_str() {
            Some(text) if !text.is_empty() => {
                texts.insert(name, text.to_string());
            }
            _ if value.is_null() => {}
            Some(_) if backend == "local" => {
                let what = if name == "path" {
                    "state file"
                } else {
                    "workspace directory"
                };
                let summary = format!("Invalid local {what} path");
                return Err(at(
                    name,
                    &summary,
                    format!("The argument {name:?} must not be empty."),
                ));
            }
            _ => {
                let detail =
                    format!("The argument {name:?} of backend {backend:?} must be a text that is not empty.");
                return Err(at("config", INVALID, detail));
            }
        }
    }
    if backend == "local" {
        return Ok(StatePlace::Local {
            path: texts.remove("path"),
            workspace_folder: texts.remove("workspace_dir"),
        });
    }
    let Some(suffix) = texts.remove("secret_suffix") else {
        let detail = "The argument \"secret_suffix\" is required: it is the last part of the Secret's name.";
        return Err(at("config", INVALID, detail));
    };
    access.config_path = texts.remove("config_path");
    access.context = texts.remove("config_context");
    Ok(StatePlace::Kubernetes {
        namespace: texts.remove("namespace"),
        suffix,
        access,
    })
}

/// Reads an argument of backend `kubernetes` that is no text; false if it is none of these.
fn other_argument(name: &str, value: &Value, access: &mut ClusterAccess) -> Result<bool, ProviderDiag> {
    let unfit = |wanted: &str| {
        let detail = format!("The argument {name:?} of backend \"kubernetes\" must be {wanted}.");
        at("config", INVALID, detail)
    };
    match name {
        // They are put on what is written, and nothing is written here; the other one has no effect in Terraform either.
        "labels" | "load_config_file" => {}
        "config_paths" | "in_cluster_config" if value.is_null() => {}
        "in_cluster_config" => {
            access.in_cluster = Some(value.as_bool().ok_or_else(|| unfit("true or false"))?)
        }
        "config_paths" => {
            let (Data::List(_, items) | Data::Tuple(items)) = value.data() else {
                return Err(unfit("a list of texts"));
            };
            let text = |item: &Value| item.as_str().map(|text| text.to_string());
            let texts: Option<Vec<String>> = items.iter().map(text).collect();
            access.config_paths = texts.ok_or_else(|| unfit("a list of texts"))?;
        }
        _ => return Ok(false),
    }
    Ok(true)
}

/// Reads it.
pub(super) async fn read(config: &Value, states: &dyn States) -> Answer<(Option<Value>, Option<Deferred>)> {
    match attempt(config, states).await {
        Ok(value) => Answer::ok((Some(value), None)),
        Err(diag) => Answer {
            value: (None, None),
            diags: vec![diag],
        },
    }
}

async fn attempt(config: &Value, states: &dyn States) -> Result<Value, ProviderDiag> {
    let place = place(config)?;
    let workspace = get(config, "workspace");
    let workspace = workspace.as_str().map_or(DEFAULT, |name| &**name);
    let found = states
        .outputs(&place, workspace)
        .await
        .map_err(|why| at("backend", "Error loading state error", why))?;
    let Some(found) = found else {
        let detail = format!("There is no state of workspace {workspace:?} at this place.");
        return Err(at("workspace", "Unable to find remote state", detail));
    };
    let defaults = get(config, "defaults");
    let mut outputs: BTreeMap<Arc<str>, Value> = BTreeMap::new();
    for (name, value) in defaults.as_entries().into_iter().flatten() {
        outputs.insert(name.clone(), value.clone());
    }
    outputs.extend(found);
    let mut read = config.as_entries().cloned().unwrap_or_default();
    read.insert("outputs".into(), Value::object_of(outputs));
    Ok(Value::object_of(read))
}

#[cfg(test)]
mod tests {
    use async_trait::async_trait;

    use super::*;

    /// One state with one output.
    struct One;

    #[async_trait]
    impl States for One {
        async fn outputs(
            &self,
            place: &StatePlace,
            workspace: &str,
        ) -> Result<Option<BTreeMap<Arc<str>, Value>>, String> {
            let there = StatePlace::Local {
                path: Some("there".to_owned()),
                workspace_folder: None,
            };
            if *place != there {
                return Err("It cannot be read.".to_owned());
            }
            let outputs = BTreeMap::from([("o".into(), Value::string("stored"))]);
            Ok((workspace == DEFAULT).then_some(outputs))
        }
    }

    fn null() -> Value {
        Value::null(Type::Dynamic)
    }

    fn config(backend: &str, arguments: Value, defaults: Value, workspace: Value) -> Value {
        Value::object([
            ("backend", Value::string(backend)),
            ("config", arguments),
            ("defaults", defaults),
            ("outputs", null()),
            ("workspace", workspace),
        ])
    }

    fn local(path: &str) -> Value {
        Value::object([("path", Value::string(path))])
    }

    async fn check(config: &Value, want: Result<Value, &str>) {
        let answer = read(config, &One).await;
        match want {
            Ok(outputs) => {
                assert!(answer.diags.is_empty(), "{:?}", answer.diags);
                assert!(get(&answer.value.0.unwrap(), "outputs") == outputs);
            }
            Err(summary) => assert_eq!(answer.diags[0].summary, summary),
        }
    }

    #[tokio::test]
    async fn outputs_win_over_defaults() {
        let defaults = Value::object([("o", Value::string("default")), ("d", Value::string("default"))]);
        let both = Value::object([("o", Value::string("stored")), ("d", Value::string("default"))]);
        check(&config("local", local("there"), defaults, null()), Ok(both)).await;
        let alone = Value::object([("o", Value::string("stored"))]);
        check(&config("local", local("there"), null(), null()), Ok(alone)).await;
    }

    #[tokio::test]
    async fn what_cannot_be_read_is_an_error() {
        let blue = Value::string("blue");
        check(
            &config("local", local("there"), null(), blue),
            Err("Unable to find remote state"),
        )
        .await;
        check(
            &config("local", local("elsewhere"), null(), null()),
            Err("Error loading state error"),
        )
        .await;
        for (backend, arguments) in [
            ("s3", null()),
            ("local", Value::string("x")),
            ("kubernetes", null()),
            (
                "kubernetes",
                Value::object([
                    ("host", Value::string("x")),
                    ("secret_suffix", Value::string("s")),
                ]),
            ),
        ] {
            check(&config(backend, arguments, null(), null()), Err(INVALID)).await;
        }
        let empty = config("local", local(""), null(), null());
        check(&empty, Err("Invalid local state file path")).await;
    }

    #[test]
    fn how_a_cluster_is_reached_is_told() {
        let arguments = Value::object([
            ("secret_suffix", Value::string("s")),
            ("labels", Value::object([("a", Value::string("b"))])),
            ("config_path", Value::string("~/k")),
            ("config_paths", Value::tuple(vec![Value::string("x")])),
            ("config_context", Value::string("c")),
            ("in_cluster_config", Value::bool(false)),
        ]);
        let found = place(&config("kubernetes", arguments, null(), null())).unwrap();
        let wanted = StatePlace::Kubernetes {
            namespace: None,
            suffix: "s".to_owned(),
            access: ClusterAccess {
                config_path: Some("~/k".to_owned()),
                config_paths: vec!["x".to_owned()],
                context: Some("c".to_owned()),
                in_cluster: Some(false),
            },
        };
        assert_eq!(found, wanted);
        let wrong = Value::object([
            ("secret_suffix", Value::string("s")),
            ("config_paths", Value::string("x")),
        ]);
        assert!(place(&config("kubernetes", wrong, null(), null())).is_err());
    }

    #[test]
    fn arguments_are_judged_before_they_are_known() {
        let unknown = Value::object([("path", Value::unknown(Type::String))]);
        assert!(validate(&config("local", unknown, null(), null())).is_empty());
        let found = validate(&config("s3", null(), Value::string("x"), null()));
        assert_eq!(found.len(), 2);
    }
}
